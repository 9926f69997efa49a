"""What links a combination's scores to bytes, components, versions and code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.base import SCORES, Benchmark
from driftledger.benchmarks.registry import benchmark, find_score
from driftledger.benchmarks.score import METRICS, ROWS, SCORE, Score
from driftledger.benchmarks.selection import Selected
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import md5_file, sha256_bytes, sha256_of
from driftledger.core.errors import LedgerError
from driftledger.core.files import OF_VERSION_1, read_json
from driftledger.core.paths import Combination
from driftledger.ledger.code import CodeVersion, code_read
from driftledger.ledger.lock import RESOLVED, LockedFile, LockEntry, locks_here, read_lock


class Lineage(BaseModel):
    """What stands behind one score."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: Score
    score_file: LockedFile
    """``score.json``."""
    rows_file: LockedFile
    """``rows.jsonl`` beside it."""
    data: LockedFile
    """The folder of the dataset or question set."""
    collected: dict[str, LockedFile]
    """Collect stage, ``chain`` for instance → the folder that it wrote."""
    stages: dict[str, LockEntry]
    """The entries of ``dvc.lock`` from the data to the score."""

    @property
    def on(self) -> str:
        """The name of the dataset or question set."""
        return self.score.on

    @property
    def spec(self) -> Benchmark:
        """The benchmark that the score is of."""
        return benchmark(self.score.benchmark)

    @property
    def beside(self) -> dict[str, str]:
        """Setting, ``ratings`` for instance → SHA-256 of the user's file that went into the score beside the records;
        a setting that named none is absent."""
        entry = self.stages.get(self.spec.scores.named(self.score.keys))
        noted = {} if entry is None else entry.params.get(RESOLVED, {})
        digests = {setting: noted.get(f"beside.{self.spec.name}.{setting}", "none") for setting in self.spec.beside}
        return {setting: str(digest) for setting, digest in digests.items() if digest != "none"}

    @property
    def place(self) -> str:
        """Names it among all scores of a run: ``<benchmark>/<on>``, and what further keys its stage has."""
        return place_of(self.spec, self.score.keys)


class Evidence(BaseModel):
    """The evidence of one run.

    ``fingerprint`` depends on the settings and the bytes in the lock entries, not on the code's: code that was changed
    and still gives the same bytes has made no new run. A component's own version is in those bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    combination: Combination
    fingerprint: str
    lineages: list[Lineage]
    """Benchmark by benchmark, in the order of the selection: of several scores of one benchmark on the same data, the
    first is the one that short names mean. Scores without a generator or an encoder are the model's, whatever
    the generator and the encoder."""
    code: CodeVersion

    @property
    def components(self) -> dict[str, ComponentCard]:
        """Role → the first component that played it; a role that no score of the run has is absent."""
        return {role: card for each in reversed(self.lineages) for role, card in each.score.components.items()}


def place_of(spec: Benchmark, keys: Mapping[str, str]) -> str:
    """The benchmark, the data, and whatever else tells its scores of one combination apart."""
    own = [keys[key] for key in spec.scores.keys if key not in Combination._fields]
    return "/".join([spec.name, *own])


def upstream_stages(spec: Benchmark, keys: Mapping[str, str]) -> dict[str, str]:
    """Stage of ``dvc.lock`` → the folder that leads on, relative to the top folder, from the data to the score."""
    return {stage.named(keys): stage.at(keys) for stage in spec.stages}


def read_evidence(root: Path, selected: Selected, combination: Combination) -> Evidence:
    """One combination's evidence; errors as in :func:`read_all_evidence`."""
    [evidence] = read_all_evidence(root, selected, [combination])
    return evidence


def read_all_evidence(
    root: Path,
    selected: Selected,
    combinations: Sequence[Combination],
    code: Callable[[Path], CodeVersion] = code_read,
) -> list[Evidence]:
    """Gather each combination's evidence from the locks, the score files and Git.

    Args:
        code: says which code is at work in the checkout around ``root``.

    Raises:
        LedgerError: a stage has not run, or a score file is not the one that its lock has.
    """
    lock, version = read_lock(root), code(root)
    known: dict[str, Lineage] = {}  # a score without a generator is in several runs
    found = []
    for combination in combinations:
        lineages = []
        for spec, keys in selected.of(combination).scores:
            folder = spec.scores.at(keys)
            if folder not in known:
                known[folder] = read_lineage(root, lock, spec, keys)
            lineages.append(known[folder])
        fingerprint = fingerprint_of(lineages, combination)
        found.append(
            Evidence(
                name=str(combination), combination=combination, fingerprint=fingerprint, lineages=lineages, code=version
            )
        )
    return found


class Unread(NamedTuple):
    """Evidence that may be what it was when it was last read: its files tell that in a fraction of the time."""

    root: Path
    selected: Selected
    combinations: Sequence[Combination]
    code: CodeVersion

    def read(self) -> list[Evidence]:
        """The evidence; errors as in :func:`read_all_evidence`."""
        return read_all_evidence(self.root, self.selected, self.combinations, lambda _: self.code)

    @property
    def key(self) -> str:
        """The hash of all that it follows from: locks, score files, selection, and the code that is at work."""
        asked = {spec.scores.at(keys): [spec.name, dict(keys)] for spec, keys in self.selected.scores}
        files = [self.root / folder / SCORE for folder in asked]
        return sha256_of(
            {
                "locks": {file: sha256_bytes(data) for file, data in locks_here(self.root).items()},
                "scores": [sha256_bytes(file.read_bytes()) if file.is_file() else None for file in files],
                "asked": asked,
                "combinations": [list(each) for each in self.combinations],
                "code": self.code.model_dump(mode="json"),
            }
        )


def fingerprint_of(lineages: Sequence[Lineage], combination: Combination) -> str:
    """The hash of the lock entries, and of what a run shows beyond them."""
    shown: dict[str, Any] = {name: entry.without_code() for each in lineages for name, entry in each.stages.items()}
    firsts: dict[str, list[str]] = {}
    for each in lineages:
        own = [key for key in each.spec.scores.keys if key not in (*Combination._fields, *each.spec.data.keys)]
        if own:  # which of several on the same data short names mean
            firsts.setdefault(f"{each.score.benchmark} first on {each.on}", [each.score.keys[key] for key in own])
    shown |= firsts
    if not any({"generator", "encoder"} & each.score.keys.keys() for each in lineages):
        shown["combination"] = list(combination)  # no entry tells its generator and encoder from others
    return sha256_of(shown)


def read_lineage(root: Path, lock: Mapping[str, LockEntry], spec: Benchmark, keys: Mapping[str, str]) -> Lineage:
    """What stands behind one score; errors as in :func:`read_all_evidence`."""
    apart = {stage.named(keys) for stage in spec.collects if stage.apart}
    way = {name: path for name, path in upstream_stages(spec, keys).items() if name in lock or name not in apart}
    missing = [stage for stage in way if stage not in lock]
    if missing:
        paths = (out.path for entry in lock.values() for out in entry.outs)
        old = next((path for path in paths if is_score_of_version_1(path) and _is_named(path, keys)), None)
        raise LedgerError(
            f"{old} {OF_VERSION_1}" if old else f"no dvc.lock here has a stage {missing[0]!r}; run 'dvc repro' first"
        )
    *folders, score = way.items()
    outs = {stage.partition("@")[0]: lock[stage].out(path) for stage, path in folders}
    stage, folder = score
    score_file, rows_file = (lock[stage].out(f"{folder}/{name}") for name in (SCORE, ROWS))
    _check_md5(root / score_file.path, score_file)
    (_, data), *collected = outs.items()
    return Lineage(
        score=read_json(root / score_file.path, Score),
        score_file=score_file,
        rows_file=rows_file,
        data=data,
        collected=dict(collected),
        stages={stage: lock[stage] for stage in way},
    )


def is_score(path: str) -> bool:
    """Whether a score's record stands at ``path``, relative to the top folder."""
    return path.endswith(f"/{SCORE}") and find_score(path) is not None


def is_score_of_version_1(path: str) -> bool:
    """Whether a score's record of version 0.1, which this version does not read, stands at ``path``: those files were
    called by the last word of their keys."""
    return path.startswith(f"{SCORES}/") and path.endswith(".json") and not path.endswith((f"/{SCORE}", f"/{METRICS}"))


def _is_named(path: str, keys: Mapping[str, str]) -> bool:
    """Whether all of the keys stand in the path of a score of version 0.1."""
    return set(keys.values()) <= set(PurePosixPath(path).with_suffix("").parts)


def folders_behind(path: str, outs: Mapping[str, str]) -> dict[str, str]:
    """Folder → MD5 of what the score at ``path`` was made of, going by ``outs``: every output's MD5 by its path."""
    found = find_score(path)
    return {} if found is None else {each: outs[each] for each in upstream_stages(*found).values() if each in outs}


def _check_md5(path: Path, locked: LockedFile) -> None:
    try:
        md5 = md5_file(path)
    except FileNotFoundError:
        raise LedgerError(f"{locked.path} is missing; run 'dvc repro', or 'git checkout {locked.path}'") from None
    if md5 != locked.md5:
        raise LedgerError(
            f"{locked.path} is not the file that dvc.lock has (md5 {md5}, not {locked.md5}); "
            "run 'dvc repro' to compute it again"
        )

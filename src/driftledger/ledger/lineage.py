"""Links from scores to bytes, components, versions and code."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import not_
from pathlib import Path

from pydantic import Field

from driftledger.benchmarks.base.benchmark import Benchmark, Selected
from driftledger.benchmarks.base.stage import Stage
from driftledger.benchmarks.base.usage import USAGE, parse_score
from driftledger.benchmarks.registry import benchmark
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import Record, load_json, parse_json, read_bytes
from driftledger.core.grouping import grouped
from driftledger.core.made import INPUTS, Made
from driftledger.core.paths import Keys
from driftledger.core.strict import Strict, Version
from driftledger.ledger.links import run_fingerprint
from driftledger.ledger.lock import (
    Lock,
    noted_digest,
    parse_lock,
    read_lock,
    with_settings,
)
from driftledger.ledger.objects.files import Workspace, listing_md5
from driftledger.ledger.objects.git import CommitTree, Git, is_unreadable
from driftledger.project.project import (
    LOCK,
    NOTED_SETTINGS,
    RESOLVED,
    Combination,
    folder_in,
)
from driftledger.scoring.score import ROWS, SCORE, Score

PUBLISHED = "ledger"
"""The folder of the published runs' files, below a project's top folder."""
_WRITTEN = (
    LOCK,
    RESOLVED,
    NOTED_SETTINGS,
    f"{PUBLISHED}/",
    "reports/",
    "data/.gitignore",
    "data/datasets",
    "data/questions",
    "data/records",
    ".dvc/.gitignore",
)
"""Paths that the pipeline writes; a change there does not make a checkout dirty."""


class Folder(Strict):
    """A folder behind a score, in an output of DVC."""

    path: str
    """Relative to the project's top folder."""
    out: str
    """The output in ``dvc.yaml`` that it lies in."""
    md5: str
    """The MD5 of that output in ``dvc.lock``."""


class Lineage(Strict):
    """The folders, stages and versions that one score was made from."""

    score: Score
    folder: Folder
    """Where ``score.json`` and ``rows.jsonl`` are."""
    data: Folder
    """The dataset or question set."""
    collected: dict[str, Folder]
    """Collect stage, ``chain`` for instance → the folder with its records."""
    stages: Lock
    """The entries of ``dvc.lock`` from the data to the score."""

    @property
    def spec(self) -> Benchmark:
        """The benchmark of the score."""
        return benchmark(self.score.benchmark)

    @property
    def place(self) -> str:
        """Its name in a run: ``<benchmark>/<on>``, and further keys of its stage."""
        return place_of(self.spec, self.score.keys)

    @property
    def score_path(self) -> str:
        """``score.json``, relative to the top folder."""
        return f"{self.folder.path}/{SCORE}"

    @property
    def rows_path(self) -> str:
        """``rows.jsonl``, relative to the top folder."""
        return f"{self.folder.path}/{ROWS}"

    @property
    def folders(self) -> dict[str, Folder]:
        """Stage → the folder that it wrote, from the data to the score."""
        spec = self.spec
        return {
            spec.data.name: self.data,
            **self.collected,
            spec.scores.name: self.folder,
        }

    def places(self, root: Path) -> dict[str, Path]:
        """Stage → its folder in the checkout ``root``."""
        return {stage: root / folder.path for stage, folder in self.folders.items()}


class CodeVersion(Strict):
    """The code of a run; ``commit`` is None outside Git or before a first commit."""

    commit: str | None
    dirty: bool
    """Whether a tracked file differed from the commit, or Git could not be read. Pages (``.md``,
    ``.rst``) and files that the pipeline writes do not count."""

    def named(self, git: Git | None) -> str:
        """Return ``commit 1a2b3c4d5e6f of 2026-11-26, with uncommitted changes``."""
        if self.commit is None:
            return "no commit"
        day = git.date(self.commit) if git else ""
        changes = ", with uncommitted changes" if self.dirty else ""
        return f"commit {self.commit[:12]}{day and f' of {day}'}{changes}"


class PublishedScore(Strict):
    """A score of a published run, by the SHA-256 of its files."""

    benchmark: str
    keys: dict[str, str]
    path: str
    """The folder of the score, relative to the top folder."""
    inputs: str
    """SHA-256 of ``inputs`` in ``score.json``, as canonical JSON."""
    score: str
    """SHA-256 of ``score.json``."""
    rows: str
    """SHA-256 of ``rows.jsonl``."""
    components: list[dict[str, str]]
    """``role``, ``name``, ``version`` and ``fingerprint`` of each."""


class Published(Record):
    """The content of ``ledger/<sha256>.json``: a run as it was published."""

    SCHEMA = 1
    schema_: int = Field(default=1, alias="schema", ge=1, le=1)

    driftledger: Version = Field(default="", exclude_if=not_)
    """The version of driftledger that published it; empty before 1.0.0."""
    fingerprint: str
    combination: Combination
    scores: list[PublishedScore]
    code: CodeVersion
    """The code that made the scores, as far as Git knows it."""

    @property
    def file(self) -> str:
        """The path of its file, relative to the top folder."""
        return f"{PUBLISHED}/{sha256_of(self.to_dict())}.json"


class Run(Strict):
    """A combination, its scores and their lineage."""

    name: str
    combination: Combination
    fingerprint: str
    """The hash of what went into the scores; neither code that gives the same scores nor further
    runs change it."""
    lineages: list[Lineage]
    """In the order of the selection: if a benchmark has several scores on the same data, short
    names mean the first. Scores without a generator or encoder belong to every run of a model."""
    code: CodeVersion

    @property
    def folders(self) -> list[Folder]:
        """The folders behind its scores, each once."""
        folders: dict[Folder, None] = {}
        for lineage in self.lineages:
            folders |= dict.fromkeys(lineage.folders.values())
        return list(folders)

    @property
    def stages(self) -> Lock:
        """The entries of ``dvc.lock`` behind its scores."""
        stages: Lock = {}
        for lineage in self.lineages:
            stages |= lineage.stages
        return stages

    @property
    def components(self) -> dict[str, ComponentCard]:
        """Role → the first component that played it in a score."""
        components: dict[str, ComponentCard] = {}
        for lineage in reversed(self.lineages):
            components |= lineage.score.components
        return components


def version_of(card: ComponentCard) -> str:
    """Return ``painter 7eb2a3885c1d``, or ``gpt 7eb2a3885c1d as of 2026-11-26``."""
    version = f"{card.name} {card.fingerprint[:12]}"
    as_of = card.identity.get("as_of")
    return f"{version} as of {as_of}" if as_of else version


def short_version_of(card: ComponentCard) -> str:
    """Return ``painter@7eb2a388``, which ``audit --generator`` takes."""
    return f"{card.name}@{card.fingerprint[:8]}"


def place_of(spec: Benchmark, keys: Keys) -> str:
    """Return the name of a score in its run: benchmark, data, further keys."""
    own = [keys[key] for key in spec.scores.keys if key not in Combination._fields]
    return "/".join([spec.name, *own])


def read_runs(
    root: Path,
    selected: Selected,
    combinations: Sequence[Combination],
    tree: Workspace | CommitTree,
) -> list[Run]:
    """Read the run of each combination from ``dvc.lock``, the score files and Git.

    A combination without a score, because its records held nothing to score, is left out.

    Args:
        tree: the files in the folder ``root``, or those of a commit.

    Raises:
        LedgerError: a stage has not run, not all calls of a model are made, or the scores are not
            those of ``dvc.lock``.
    """
    data = tree.read(LOCK)
    if data is None:
        raise LedgerError(f"{root / LOCK} is missing; run 'dvc repro' first")
    lock = with_settings(parse_lock(data), tree.read(NOTED_SETTINGS))
    published = published_code(root)
    now = code_version(root)
    # a score without a generator belongs to several runs
    scores = []
    for spec, keys in selected:
        if any(combination.shows(keys) for combination in combinations):
            scores.append((spec, keys))
    try:
        _check_outputs(
            tree, [locked_folder(lock, spec.scores, keys) for spec, keys in scores]
        )
    except LedgerError:
        if isinstance(tree, Workspace):
            for why in incomplete_models(root, scores, tree).values():
                raise LedgerError(why) from None
        raise
    lineages = []
    for spec, keys in scores:
        file = f"{spec.scores.at(keys)}/{SCORE}"
        # else its records held nothing to score
        if _is_scored(lock, spec, keys) or tree.read(file) is not None:
            lineages.append((keys, read_lineage(tree, lock, spec, keys)))
    runs = []
    for combination in combinations:
        own = [lineage for keys, lineage in lineages if combination.shows(keys)]
        if own:
            by_path = {lineage.folder.path: lineage.score for lineage in own}
            fingerprint = fingerprint_of(by_path, combination)
            run = Run(
                name=str(combination),
                combination=combination,
                fingerprint=fingerprint,
                lineages=own,
                code=published.get(fingerprint, now),
            )
            runs.append(run)
    return runs


def incomplete_models(
    root: Path, selected: Selected, tree: Workspace
) -> dict[str, str]:
    """Return model → why ``dvc.lock`` lacks its scores: some are still to be made.

    ``driftledger run`` commits no such model. Scores that somebody edited do not count:
    :func:`read_runs` refuses them.

    Raises:
        LedgerError: ``dvc.lock`` is missing, or cannot be read.
    """
    lock = read_lock(root)
    incomplete = {}
    for model, own in grouped(selected, lambda score: score[1]["model"]).items():
        spec, keys = own[0]  # one output has all scores of a model
        with suppress(LedgerError):
            _check_outputs(tree, [locked_folder(lock, spec.scores, keys)])
            continue
        is_lacking = False
        with suppress(ValueError, LookupError, TypeError):  # nothing is noted
            noted = load_json(tree.read(RESOLVED) or b"")
            for kind in ("collect", "score"):
                before = noted_digest(lock, f"{kind}@{model}")
                is_lacking |= noted[kind][model] != before
        for spec, keys in own:
            made = f"{spec.collects.at(keys)}/{INPUTS}"
            with suppress(StoreError):  # it is not here
                is_lacking |= parse_json(tree.read(made) or b"", Made, made).failed > 0
        if is_lacking:
            incomplete[model] = (
                f"{spec.scores.out(keys)} is not in {LOCK}, since not all calls and scores of "
                f"{model} are made; 'driftledger run' makes the rest"
            )
    return incomplete


def _check_outputs(tree: Workspace | CommitTree, folders: Sequence[Folder]) -> None:
    """Raise LedgerError if an output with scores differs from ``dvc.lock``."""
    for out, locked in dict.fromkeys((folder.out, folder.md5) for folder in folders):
        listing = tree.listing(out)
        md5 = listing_md5(listing)
        if (
            md5 != locked and not listing
        ):  # Git keeps the scores of a model, and DVC does not
            raise LedgerError(
                f"{out} is missing; run 'dvc repro', or 'git checkout {out}'"
            )
        if md5 != locked:
            raise LedgerError(
                f"{out} is not what {LOCK} has (md5 {md5}, not {locked}); 'git status {out}' "
                "shows what changed, 'dvc repro' computes it again"
            )


def _is_scored(lock: Lock, spec: Benchmark, keys: Keys) -> bool:
    """Return True if the inputs of the scoring stage name this score."""
    noted = lock[spec.scores.lock(keys)].noted
    inputs = noted.get(f"score.{keys['model']}")
    return isinstance(inputs, dict) and folder_in(spec.scores, keys) in inputs


def fingerprint_of(scores: Mapping[str, Score], combination: Combination) -> str:
    """Return the fingerprint of a run.

    Args:
        scores: by their folders.
    """
    content = {path: score.to_dict() for path, score in scores.items()}
    return run_fingerprint([*combination], content)


def read_lineage(
    tree: Workspace | CommitTree, lock: Lock, spec: Benchmark, keys: Keys
) -> Lineage:
    """Read the lineage of one score, without checking its files.

    Raises:
        LedgerError: a stage has not run, or ``score.json`` cannot be read.
    """
    data, collected, score = (locked_folder(lock, stage, keys) for stage in spec.stages)
    path = f"{score.path}/{SCORE}"
    content = tree.read(path)
    if content is None:
        raise LedgerError(
            f"{path} is missing; run 'dvc repro', or 'git checkout {path}'"
        )
    usage = tree.read(f"{score.path}/{USAGE}")
    return Lineage(
        score=parse_score(content, usage, score.path),
        folder=score,
        data=data,
        collected={spec.collects.name: collected},
        stages={stage.lock(keys): lock[stage.lock(keys)] for stage in spec.stages},
    )


def locked_folder(lock: Lock, stage: Stage, keys: Keys) -> Folder:
    """Return the folder of a stage as ``dvc.lock`` has it.

    Raises:
        LedgerError: the stage has not run.
    """
    name = stage.lock(keys)
    out = stage.out(keys)
    if name not in lock:
        raise LedgerError(f"{LOCK} has no stage {name!r}; run 'dvc repro' first")
    locked = lock[name].out(out)
    if locked is None:
        raise LedgerError(
            f"the stage {name!r} of {LOCK} has no output {out}; run 'dvc repro'"
        )
    return Folder(path=stage.at(keys), out=out, md5=locked.md5)


def code_version(root: Path) -> CodeVersion:
    """Return the state of the checkout around ``root``."""
    git = Git.around(root)
    if git is None:
        return CodeVersion(commit=None, dirty=is_unreadable(root))
    changes = git.changes()
    written = tuple(git.prefix + path for path in _WRITTEN)
    dirty = changes is None
    for path in changes or ():
        if not path.startswith(written) and not path.endswith((".md", ".rst")):
            dirty = True
    return CodeVersion(commit=git.heads()[0], dirty=dirty)


def published_code(root: Path) -> dict[str, CodeVersion]:
    """Return fingerprint → the code of each published run.

    If several files have a fingerprint, clean code counts.

    Files that are not as they were written are left out: verifying reports them.
    """
    files = published_files(root).values()
    runs = [run for run in files if isinstance(run, Published)]
    runs.sort(key=lambda run: not run.code.dirty)
    return {run.fingerprint: run.code for run in runs}


def published_files(root: Path) -> dict[str, Published | str]:
    """Return path → a published run, or a phrase that says what is wrong with it."""
    folder = root / PUBLISHED
    files: dict[str, Published | str] = {}
    if folder.is_symlink():
        return files
    for path in sorted(folder.glob("*.json")):
        name = f"{PUBLISHED}/{path.name}"
        try:
            if path.is_symlink():
                raise ValueError("it is a link")
            files[name] = _parse_published(path.name, read_bytes(path))
        except (StoreError, ValueError, TypeError) as error:
            files[name] = f"is not as it was written ({error})"
    return files


def published_in(tree: CommitTree) -> Iterator[Published]:
    """Yield the published runs of a commit that are as they were written."""
    folder = tree.git.id_at(tree.commit, PUBLISHED)
    for name, blob in sorted(tree.git.files(folder).items()):
        with suppress(StoreError, ValueError, TypeError):
            yield _parse_published(name, tree.git.read(blob) or b"")


def _parse_published(name: str, data: bytes) -> Published:
    content = sha256_of(load_json(data))
    if f"{content}.json" != name:
        raise ValueError(f"it has the content of {content[:12]}…, not of its name")
    return parse_json(data, Published, name)

"""What links a combination's scores to bytes, components, versions and code."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from driftledger.canonical import sha256_of
from driftledger.errors import LedgerError
from driftledger.layout import Combination, Layout, chain_stage, dataset_stage, drift_stage
from driftledger.ledger.code import CodeVersion, code_version
from driftledger.ledger.lock import LockedFile, LockEntry, read_lock
from driftledger.records import ScoreFile, read_json


class Behind(BaseModel):
    """What stands behind one score file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: ScoreFile
    score_file: LockedFile
    images: LockedFile
    """The chain folder with every generated image."""
    dataset: LockedFile
    stages: dict[str, LockEntry]
    """The entries of ``dvc.lock`` from the dataset to the score."""


class Evidence(BaseModel):
    """The evidence of one run.

    ``fingerprint`` hangs on the settings and the bytes in the lock entries, not on the code's: code that was changed
    and still gives the same bytes has made no new run. A component's own version is in those bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    combination: Combination
    fingerprint: str
    behind: list[Behind]
    code: CodeVersion


def read_evidence(layout: Layout, datasets: Sequence[str], combination: Combination) -> Evidence:
    """One combination's evidence; errors as in :func:`read_all_evidence`."""
    [evidence] = read_all_evidence(layout, datasets, [combination])
    return evidence


def read_all_evidence(layout: Layout, datasets: Sequence[str], combinations: Sequence[Combination]) -> list[Evidence]:
    """Gather each combination's evidence from ``dvc.lock``, the score files and Git.

    Raises:
        LedgerError: a stage has not run, or a score file is not the one that ``dvc.lock`` speaks of.
    """
    lock, code = read_lock(layout.root), code_version(layout.root)
    return [_evidence(layout, lock, code, datasets, combination) for combination in combinations]


def _evidence(
    layout: Layout, lock: dict[str, LockEntry], code: CodeVersion, datasets: Sequence[str], combination: Combination
) -> Evidence:
    behind = [_behind(layout, lock, dataset, combination) for dataset in datasets]
    entries = {name: entry.without_code() for each in behind for name, entry in each.stages.items()}
    return Evidence(
        name=str(combination),
        combination=combination,
        fingerprint=sha256_of(entries),
        behind=behind,
        code=code,
    )


def _behind(layout: Layout, lock: dict[str, LockEntry], dataset: str, combination: Combination) -> Behind:
    model, generator, _ = combination
    names = (
        dataset_stage(dataset),
        chain_stage(dataset, model, generator),
        drift_stage(dataset, combination),
    )
    missing = [name for name in names if name not in lock]
    if missing:
        raise LedgerError(f"dvc.lock has no stage {missing[0]!r}; run 'dvc repro' first")
    score_path = layout.scores("genception", dataset, combination)
    locked = lock[names[2]].out(_relative(layout, score_path))
    _check_md5(score_path, locked)
    return Behind(
        score=read_json(score_path, ScoreFile),
        score_file=locked,
        images=lock[names[1]].out(_relative(layout, layout.chain(dataset, model, generator))),
        dataset=lock[names[0]].out(_relative(layout, layout.dataset(dataset))),
        stages={name: lock[name] for name in names},
    )


def _relative(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()


def _check_md5(path: Path, locked: LockedFile) -> None:
    try:
        with path.open("rb") as file:
            md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except FileNotFoundError:
        raise LedgerError(f"{locked.path} is missing; run 'dvc repro', or 'git checkout {locked.path}'") from None
    if md5 != locked.md5:
        raise LedgerError(
            f"{locked.path} is not the file that dvc.lock speaks of (md5 {md5}, not {locked.md5}); "
            "run 'dvc repro' to compute it again"
        )

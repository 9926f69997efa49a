"""What links a combination's scores to bytes, components, versions and code."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.canonical import sha256_of
from driftledger.errors import LedgerError
from driftledger.layout import (
    Combination,
    Layout,
    answer_stage,
    chain_stage,
    dataset_stage,
    drift_stage,
    grade_stage,
    question_set_stage,
    score_stage,
)
from driftledger.ledger.code import CodeVersion, code_version
from driftledger.ledger.lock import LockedFile, LockEntry, read_lock
from driftledger.question_records import QuestionScore
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


class BehindQuestions(BaseModel):
    """What stands behind one question score."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: QuestionScore
    score_file: LockedFile
    question_set: LockedFile
    answers: LockedFile
    grades: LockedFile
    stages: dict[str, LockEntry]
    """The entries of ``dvc.lock`` from the question set to the score."""


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
    questions: list[BehindQuestions] = []
    """One per question set: the scores are the model's, whichever generator and encoder stand beside it."""
    code: CodeVersion


class Selected(NamedTuple):
    """What every combination is evaluated on."""

    datasets: Sequence[str]
    question_sets: Sequence[str] = ()


def read_evidence(layout: Layout, selected: Selected, combination: Combination) -> Evidence:
    """One combination's evidence; errors as in :func:`read_all_evidence`."""
    [evidence] = read_all_evidence(layout, selected, [combination])
    return evidence


def read_all_evidence(layout: Layout, selected: Selected, combinations: Sequence[Combination]) -> list[Evidence]:
    """Gather each combination's evidence from ``dvc.lock``, the score files and Git.

    Raises:
        LedgerError: a stage has not run, or a score file is not the one that ``dvc.lock`` speaks of.
    """
    lock, code = read_lock(layout.root), code_version(layout.root)
    return [_evidence(layout, lock, code, selected, combination) for combination in combinations]


def _evidence(
    layout: Layout, lock: dict[str, LockEntry], code: CodeVersion, selected: Selected, combination: Combination
) -> Evidence:
    behind = [_behind(layout, lock, dataset, combination) for dataset in selected.datasets]
    questions = [_behind_questions(layout, lock, name, combination.model) for name in selected.question_sets]
    stages = [*(each.stages for each in behind), *(each.stages for each in questions)]
    entries = {name: entry.without_code() for each in stages for name, entry in each.items()}
    return Evidence(
        name=str(combination),
        combination=combination,
        fingerprint=sha256_of(entries),
        behind=behind,
        questions=questions,
        code=code,
    )


def _behind(layout: Layout, lock: dict[str, LockEntry], dataset: str, combination: Combination) -> Behind:
    model, generator, _ = combination
    names = (
        dataset_stage(dataset),
        chain_stage(dataset, model, generator),
        drift_stage(dataset, combination),
    )
    _check_have_run(lock, names)
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


def _behind_questions(layout: Layout, lock: dict[str, LockEntry], question_set: str, model: str) -> BehindQuestions:
    names = (
        question_set_stage(question_set),
        answer_stage(question_set, model),
        grade_stage(question_set, model),
        score_stage(question_set, model),
    )
    _check_have_run(lock, names)
    score_path = layout.question_scores(question_set, model)
    locked = lock[names[3]].out(_relative(layout, score_path))
    _check_md5(score_path, locked)
    return BehindQuestions(
        score=read_json(score_path, QuestionScore),
        score_file=locked,
        question_set=lock[names[0]].out(_relative(layout, layout.question_set(question_set))),
        answers=lock[names[1]].out(_relative(layout, layout.answers(question_set, model))),
        grades=lock[names[2]].out(_relative(layout, layout.grades(question_set, model))),
        stages={name: lock[name] for name in names},
    )


def _check_have_run(lock: dict[str, LockEntry], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in lock]
    if missing:
        raise LedgerError(f"dvc.lock has no stage {missing[0]!r}; run 'dvc repro' first")


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

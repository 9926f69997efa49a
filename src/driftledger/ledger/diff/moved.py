"""Which answers are read or graded otherwise than at another Git revision; no model is asked for it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks._questions.records import GradeRecord, GradesCard
from driftledger.core.errors import LedgerError
from driftledger.core.files import parse_json, parse_jsonl
from driftledger.core.paths import Layout, grade_stage
from driftledger.ledger.diff.revision import Snapshot
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents

_FILES = ("components.json", "grades.jsonl")


class Moved(BaseModel):
    """One answer whose reading changed; a reading is an outcome, what was read and the rule that decided."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    variant: int
    repeat: int
    before: str
    now: str


class Readings(BaseModel):
    """One model's grades on one question set, then and now."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_set: str
    model: str
    parsers: tuple[str, str]
    moved: list[Moved]
    """Of the answers that both have."""
    answered: int


def moved_between(contents: Contents, then: Snapshot, now: Snapshot, question_set: str, model: str) -> Readings:
    """One model's grades on one question set at two states of the project.

    Raises:
        LedgerError: the grades of one of them cannot be had.
        StoreError: they are no grades that this version can read.
    """
    (old_card, before), (new_card, after) = (_grades(contents, each, question_set, model) for each in (then, now))
    old = {_key(grade): grade for grade in before}
    moved = [
        _moved(old[_key(grade)], grade)
        for grade in after
        if _key(grade) in old and _worth(old[_key(grade)]) != _worth(grade)
    ]
    parsers = old_card.parser, new_card.parser
    return Readings(question_set=question_set, model=model, parsers=parsers, moved=moved, answered=len(after))


def _moved(old: GradeRecord, new: GradeRecord) -> Moved:
    question, variant, repeat = _key(new)
    return Moved(question=question, variant=variant, repeat=repeat, before=_said(old), now=_said(new))


class _Grades(NamedTuple):
    card: GradesCard
    records: list[GradeRecord]


def _grades(contents: Contents, state: Snapshot, question_set: str, model: str) -> _Grades:
    """Those in the workspace are read as they lie there, those of a revision as its ``dvc.lock`` has them."""
    folder = Layout(state.root).grades(question_set, model).relative_to(state.root).as_posix()
    names = [f"{folder}/{name}" for name in _FILES]
    if state.commit is None:
        files = state.read(names)
    else:
        entry = state.lock.get(grade_stage(question_set, model))
        files = [None, None] if entry is None else _locked(contents, entry.out(folder))
    card, grades = files
    if card is None or grades is None:
        raise LedgerError(f"{folder} is not there at {state.name!r:.100}; run 'dvc fetch', or name another revision")
    where = [f"{name} at {state.name}" for name in names]
    return _Grades(parse_json(card, GradesCard, where[0]), parse_jsonl(grades, GradeRecord, where[1]))


def _locked(contents: Contents, folder: LockedFile) -> list[bytes | None]:
    """The files of a locked folder; the folder is fetched where it is not at hand."""
    contents.fetch([folder])
    try:
        manifest = contents.manifest(folder)
    except LedgerError:
        return [None, None]
    md5s = [(manifest.get(name), f"{folder.path}/{name}") for name in _FILES]
    paths = [contents.path(md5, near) if md5 else None for md5, near in md5s]
    return [path.read_bytes() if path else None for path in paths]


def _key(grade: GradeRecord) -> tuple[str, int, int]:
    return grade.question, grade.variant, grade.repeat


def _worth(grade: GradeRecord) -> tuple[object, ...]:
    return grade.outcome, grade.choice, grade.answer, grade.tenths


def _said(grade: GradeRecord) -> str:
    read = next((str(each) for each in (grade.choice, grade.answer, grade.tenths) if each is not None), "nothing")
    return f"{grade.outcome}: {read} ({grade.how})"


def as_lines(readings: Sequence[Readings], most: int = 20) -> Iterator[str]:
    """For people: a line per model and question set, and the first few answers that moved."""
    for each in readings:
        parsers = f"parser {each.parsers[0]} → {each.parsers[1]}"
        yield f"{each.question_set} · {each.model}: {len(each.moved)} of {each.answered} moved, {parsers}"
        for moved in each.moved[:most]:
            yield f"  {moved.question}, variant {moved.variant}: {moved.before} → {moved.now}"
        if len(each.moved) > most:
            yield f"  and {len(each.moved) - most} more"

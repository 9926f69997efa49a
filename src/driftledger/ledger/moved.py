"""Which answers are read or graded otherwise than at another Git revision; no model is asked for it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.errors import LedgerError
from driftledger.layout import Layout
from driftledger.question_records import GradeRecord, GradesCard
from driftledger.records import parse_json, parse_jsonl, read_json, read_jsonl


class Moved(NamedTuple):
    """One answer whose reading changed; a reading is an outcome, what was read and the rule that decided."""

    question: str
    variant: int
    repeat: int
    before: str
    now: str


class Difference(NamedTuple):
    """One model's grades on one question set, then and now."""

    question_set: str
    model: str
    parsers: tuple[str, str]
    moved: list[Moved]
    answered: int


def moved_since(
    layout: Layout, revision: str, question_sets: Sequence[str], models: Sequence[str]
) -> Iterator[Difference]:
    """Compare the grades here with those that ``dvc.lock`` speaks of at ``revision``, fetched where not cached.

    Raises:
        LedgerError: there is no such revision, or its grades cannot be had.
    """
    then = _at(layout, revision)
    for question_set in question_sets:
        for model in models:
            folder = layout.grades(question_set, model)
            place = folder.relative_to(layout.root).as_posix()
            old = _read(then, f"{place}/grades.jsonl", revision)
            card = _read(then, f"{place}/components.json", revision)
            before = {_key(grade): grade for grade in parse_jsonl(old, GradeRecord, f"{revision}:{place}")}
            now = read_jsonl(folder / "grades.jsonl", GradeRecord)
            moved = [
                Moved(*_key(grade), _said(before[_key(grade)]), _said(grade))
                for grade in now
                if _key(grade) in before and _worth(before[_key(grade)]) != _worth(grade)
            ]
            parsers = (
                parse_json(card, GradesCard, f"{revision}:{place}").parser,
                read_json(folder / "components.json", GradesCard).parser,
            )
            yield Difference(question_set, model, parsers, moved, len(now))


def _at(layout: Layout, revision: str) -> object:
    from dvc.api import DVCFileSystem  # which takes a while to import
    from dvc.exceptions import DvcException
    from dvc.scm import RevError, SCMError

    try:
        then = DVCFileSystem(str(layout.root), rev=revision)
        _ = then.repo  # which is when it looks for the revision
        return then
    except (DvcException, RevError, SCMError) as error:
        raise LedgerError(
            f"the revision {revision!r:.100} cannot be read ({error!s:.200}); name a commit or tag"
        ) from None


def _read(then: object, path: str, revision: str) -> bytes:
    try:
        content: bytes = then.read_bytes(path)  # type: ignore[attr-defined]  # DVC is untyped
    except FileNotFoundError:
        raise LedgerError(
            f"{path} is not there at {revision!r:.100}; run 'dvc fetch', or name another revision"
        ) from None
    return content


def _key(grade: GradeRecord) -> tuple[str, int, int]:
    return grade.question, grade.variant, grade.repeat


def _worth(grade: GradeRecord) -> tuple[object, ...]:
    return grade.outcome, grade.choice, grade.answer, grade.tenths


def _said(grade: GradeRecord) -> str:
    read = next((str(each) for each in (grade.choice, grade.answer, grade.tenths) if each is not None), "nothing")
    return f"{grade.outcome}: {read} ({grade.how})"


def as_lines(differences: Sequence[Difference], most: int = 20) -> Iterator[str]:
    """For people: a line per model and question set, and the first few answers that moved."""
    for each in differences:
        parsers = f"parser {each.parsers[0]} → {each.parsers[1]}"
        yield f"{each.question_set} · {each.model}: {len(each.moved)} of {each.answered} moved, {parsers}"
        for moved in each.moved[:most]:
            yield f"  {moved.question}, variant {moved.variant}: {moved.before} → {moved.now}"
        if len(each.moved) > most:
            yield f"  and {len(each.moved) - most} more"

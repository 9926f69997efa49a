"""What became of each mutation: the lines that a run goes on from, and the report."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from driftledger.core.files import Record


class End(StrEnum):
    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


class Outcome(Record):
    """A line of ``results.jsonl``."""

    id: str
    path: str
    line: int
    operator: str
    end: End
    diff: str
    tests: list[str]
    """The files that were run; none if no test leads to the changed one."""
    first_failure: str
    seconds: float
    source_sha256: str
    """Of the file without the fault."""
    tests_sha256: str
    """Of the marks, and of names and text of the test files."""


class Count(Record):
    """How many of a kind, and how many of them were noticed."""

    mutations: int
    killed: int
    timed_out: int
    survived: int

    @property
    def noticed(self) -> str:
        return f"{100 * (self.killed + self.timed_out) / self.mutations:.1f} %"


class Report(Record):
    """``report.json``."""

    seed: int
    asked_for: int
    possible: int
    """Mutations of all files in question."""
    marks: str
    total: Count
    by_operator: dict[str, Count]
    by_room: dict[str, Count]
    """By the folder below the package."""
    left_out: list[str]
    """Tests that fail without any fault, or when a line without meaning is added."""
    survivors: list[Outcome]


def summarize(
    outcomes: Sequence[Outcome], *, seed: int, asked_for: int, possible: int, marks: str, left_out: Sequence[str]
) -> Report:
    """The report of a run.

    Raises:
        ValueError: there are no outcomes.
    """
    if not outcomes:
        raise ValueError("there is nothing to report")
    survivors = [each for each in outcomes if each.end is End.SURVIVED]
    return Report(
        seed=seed,
        asked_for=asked_for,
        possible=possible,
        marks=marks,
        total=_count(outcomes),
        by_operator=_grouped(outcomes, lambda each: each.operator),
        by_room=_grouped(outcomes, lambda each: each.path.removeprefix("src/driftledger/").rpartition("/")[0]),
        left_out=list(left_out),
        survivors=sorted(survivors, key=lambda each: (each.path, each.line, each.id)),
    )


def as_text(report: Report) -> str:
    """For people: the figures, and then every survivor."""
    lines = [
        f"{report.total.mutations} of {report.possible} mutations, seed {report.seed}, tests: {report.marks}",
        "",
        _row("", "mutations", "killed", "timed out", "survived", "noticed"),
        *_rows({"all": report.total} | report.by_operator),
        "",
        *_rows(report.by_room),
    ]
    if report.left_out:
        lines += ["", "left out, since they fail without any fault:", *(f"  {name}" for name in report.left_out)]
    for each in report.survivors:
        tests = ", ".join(each.tests) or "no test leads to it"
        lines += ["", f"{each.path}:{each.line} ({each.operator}, {each.id}) survived {tests}", each.diff.rstrip()]
    return "\n".join([*lines, ""])


def _count(outcomes: Sequence[Outcome]) -> Count:
    ends = Counter(each.end for each in outcomes)
    return Count(
        mutations=len(outcomes), killed=ends[End.KILLED], timed_out=ends[End.TIMED_OUT], survived=ends[End.SURVIVED]
    )


def _grouped(outcomes: Sequence[Outcome], by: Callable[[Outcome], str]) -> dict[str, Count]:
    names = sorted({by(each) for each in outcomes})
    return {name: _count([each for each in outcomes if by(each) == name]) for name in names}


def _rows(counts: Mapping[str, Count]) -> list[str]:
    return [
        _row(name, each.mutations, each.killed, each.timed_out, each.survived, each.noticed)
        for name, each in counts.items()
    ]


def _row(name: str, *cells: object) -> str:
    return f"{name:32}" + "".join(f"{cell!s:>11}" for cell in cells)

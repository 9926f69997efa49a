"""The numbers of a run by name: as MLflow calls them, or as their score files do."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.audit.formulas import Formula, formula_of
from driftledger.ledger.lineage import AnyScore, Behind

_NEAREST = 3


class Number(NamedTuple):
    """One number of a score file."""

    name: str
    """With its benchmark and data in front, as in MLflow; a step stands after ``@``."""
    key: str
    """As the score file has it."""
    value: float
    behind: Behind[AnyScore]

    @property
    def formula(self) -> Formula | None:
        """How it is computed; None where only an earlier version of the program knew it."""
        score = self.behind.score
        return formula_of(score.benchmark, self.key, score.inputs.settings)


def numbers_in(behind: Behind[AnyScore]) -> Iterator[Number]:
    """Every number of a score file."""
    score = behind.score
    place = f"{score.benchmark}/{behind.on}"
    if isinstance(score, TracScore):
        place = f"{place}/{score.description}/{score.encoder}"
    for key, value in _values(score):
        yield Number(f"{place}/{key}", key, value, behind)


def find_number(behind: Sequence[Behind[AnyScore]], name: str) -> Number:
    """The number of that name, for instance ``genception/photos/gc_at_5``, or ``gc_at_5`` where one score has it.

    Raises:
        LedgerError: there is none, or several score files have one.
    """
    known = {number.name: number for each in behind for number in numbers_in(each)}
    headlines = dict(_headlines(behind, known))
    wanted = headlines.get(name, name)
    found = [known[wanted]] if wanted in known else [number for number in known.values() if number.key == name]
    if len(found) > 1:
        names = for_line(first_few([number.name for number in found]))
        raise LedgerError(f"{len(found)} score files have a {name!r:.100}; name one: {names}")
    if not found:
        whole = name.split("/")[0] in {each.score.benchmark for each in behind}
        every = [*known, *headlines] if whole else dict.fromkeys(number.key for number in known.values())
        nearest = get_close_matches(name, every, n=_NEAREST, cutoff=0.4)
        hint = f"nearest: {for_line(', '.join(nearest))}" if nearest else "'driftledger audit RUN' lists them"
        raise LedgerError(f"there is no metric {name!r:.100}; {hint}")
    return found[0]


def _values(score: AnyScore) -> Iterator[tuple[str, float]]:
    yield from score.metrics.items()
    yield "coverage", score.coverage
    groups: dict[str, dict[str, dict[str, float]]] = {}
    if isinstance(score, ScoreFile):
        groups = {"category": score.by_category, "group": score.by_group}
        for row in score.curve:
            yield from ((f"{key}@{row['t']:.0f}", value) for key, value in row.items() if key != "t")
    elif isinstance(score, FidelityScore):
        groups = {"category": score.by_category}
    elif isinstance(score, TracScore):
        groups = {"class": score.by_class}
        yield from ((f"vote@{row['k']:.0f}", row["vote"]) for row in score.vote)
    elif isinstance(score, QuestionScore):
        groups = score.groups
    for kind, rows in groups.items():
        for name, values in rows.items():
            yield from ((f"{kind}/{name}/{key}", value) for key, value in values.items())


def _headlines(behind: Sequence[Behind[AnyScore]], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """MLflow's short names for the first TRAC score of each dataset."""
    seen: set[str] = set()
    for each in behind:
        score = each.score
        if isinstance(score, TracScore) and each.on not in seen:
            seen.add(each.on)
            place = f"trac/{each.on}/{score.description}/{score.encoder}/"
            yield from (
                (f"trac/{each.on}/{full.removeprefix(place)}", full) for full in known if full.startswith(place)
            )

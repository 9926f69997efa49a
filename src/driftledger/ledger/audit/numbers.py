"""The numbers of a run by name: as MLflow calls them, and as their score files do."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import HIGH, LOW, STD, Interval, interval_of, tracked_key
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.lineage import Lineage

_NEAREST = 3
_OLD_SECTIONS = re.compile(r"\b(interval|deviation)/")


class Number(NamedTuple):
    """One number of a score file."""

    key: str
    """As the score file has it."""
    value: float
    lineage: Lineage

    @property
    def name(self) -> str:
        """With its benchmark and data in front."""
        return f"{self.lineage.place}/{self.key}"

    @property
    def metric(self) -> Metric | None:
        """The row of its benchmark's table; None for one that no table has."""
        return self.lineage.spec.of_curve(self.key.rpartition("/")[2].partition("@")[0])

    @property
    def formula(self) -> str | None:
        """How it is computed."""
        metric = self.metric
        if metric is None:
            return None
        key = self.key.partition("@")[0]
        if key.endswith(STD):
            return f"deviation over orders, gradings or repeats of: {metric.formula}"
        if key.endswith((LOW, HIGH)):
            which = "lower" if key.endswith(LOW) else "upper"
            return f"{which} end of the {self.lineage.score.confidence:.0%} interval of: {metric.formula}"
        return metric.formula

    @property
    def interval(self) -> Interval | None:
        """Its interval, where it has one."""
        group, _, key = self.key.rpartition("/")
        kind, _, name = group.partition("/")
        score = self.lineage.score
        return interval_of(score.groups[kind][name] if group else score.metrics, key)

    def tracked(self, place: str) -> str:
        """MLflow's name for it, of the score at ``place``."""
        metric, at, step = self.key.partition("@")
        headline = not at and metric in self.lineage.spec.headlines(self.lineage.score)
        return f"{tracked_key(place, metric, headline=headline)}{at}{step}"


def numbers_in(lineage: Lineage) -> Iterator[Number]:
    """Every number of a score file; a curve's values stand once, where metrics do not have them."""
    score, spec = lineage.score, lineage.spec
    yield from (Number(key, value, lineage) for key, value in score.numbers())
    for name, points in score.curves.items():
        for point in points:
            key = f"{name}_at_{point.step}"
            if key not in score.metrics and spec.metric(key) is None:
                yield Number(f"{name}@{point.step}", point.value, lineage)


def find_number(lineages: Sequence[Lineage], name: str) -> Number:
    """The number of that name, ``<benchmark>/<on>/gc_at_5`` for instance, or ``gc_at_5`` where one score has it.

    It may be MLflow's name, ``gc_at_5.<benchmark>.<on>``; of several scores of a benchmark on the same data MLflow has
    the first without its further keys. Names that MLflow had before, ``<benchmark>/<on>/interval/gc_at_5_low``, do too.

    Raises:
        LedgerError: there is none, or several score files have one.
    """
    whole: dict[str, Number] = {}
    by_key: dict[str, list[Number]] = {}
    for each in lineages:
        short = f"{each.score.benchmark}/{each.on}"
        is_first = not any(known.startswith(f"{short}/") for known in whole)
        for number in numbers_in(each):
            by_key.setdefault(number.key, []).append(number)
            for place in (each.place, *[short] * is_first):
                whole |= {f"{place}/{number.key}": number, number.tracked(place): number}
    before = _OLD_SECTIONS.sub("", name)
    found = next(([whole[each]] for each in (name, before) if each in whole), by_key.get(name, by_key.get(before, [])))
    if not found:
        nearest = get_close_matches(name, whole if "/" in name else by_key, n=_NEAREST, cutoff=0.4)
        hint = f"nearest: {for_line(', '.join(nearest))}" if nearest else "'driftledger audit RUN' lists them"
        raise LedgerError(f"there is no metric {name!r:.100}; {hint}")
    if len(found) > 1:
        names = for_line(first_few([number.name for number in found]))
        raise LedgerError(f"{len(found)} score files have a {name!r:.100}; name one: {names}")
    return found[0]

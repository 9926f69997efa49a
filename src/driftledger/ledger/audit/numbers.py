"""The numbers of a run by name: as MLflow calls them, and as their score files do."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import HIGH, LOW, STD
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.lineage import Lineage

_NEAREST = 3


class Number(NamedTuple):
    """One number of a score file."""

    name: str
    """With its benchmark and data in front, as in MLflow."""
    key: str
    """As the score file has it."""
    value: float
    lineage: Lineage

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
            bootstrap = self.lineage.score.inputs.settings.get("bootstrap") or {}
            told = ", ".join(f"{name} {bootstrap[name]}" for name in sorted(bootstrap))
            return f"{which} end of the percentile bootstrap interval ({told}) of: {metric.formula}"
        return metric.formula


def numbers_in(lineage: Lineage) -> Iterator[Number]:
    """Every number of a score file; a curve's values stand once, where metrics do not have them."""
    score, place = lineage.score, lineage.place
    yield from (Number(f"{place}/{key}", key, value, lineage) for key, value in score.numbers())
    for name, points in score.curves.items():
        for point in points:
            if (
                f"{name}_at_{point.step}" not in score.metrics
                and lineage.spec.metric(f"{name}_at_{point.step}") is None
            ):
                key = f"{name}@{point.step}"
                yield Number(f"{place}/{key}", key, point.value, lineage)


def find_number(lineages: Sequence[Lineage], name: str) -> Number:
    """The number of that name, ``<benchmark>/<on>/gc_at_5`` for instance, or ``gc_at_5`` where one score has it.

    Raises:
        LedgerError: there is none, or several score files have one.
    """
    known = {number.name: number for each in lineages for number in numbers_in(each)}
    short = dict(_short_names(lineages, known))
    wanted = short.get(name, name)
    found = [known[wanted]] if wanted in known else [number for number in known.values() if number.key == name]
    if len(found) > 1:
        names = for_line(first_few([number.name for number in found]))
        raise LedgerError(f"{len(found)} score files have a {name!r:.100}; name one: {names}")
    if not found:
        whole = name.split("/")[0] in {each.score.benchmark for each in lineages}
        every = [*known, *short] if whole else dict.fromkeys(number.key for number in known.values())
        nearest = get_close_matches(name, every, n=_NEAREST, cutoff=0.4)
        hint = f"nearest: {for_line(', '.join(nearest))}" if nearest else "'driftledger audit RUN' lists them"
        raise LedgerError(f"there is no metric {name!r:.100}; {hint}")
    return found[0]


def _short_names(lineages: Sequence[Lineage], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """MLflow's short names for the first of several scores of a benchmark on the same data."""
    seen: set[str] = set()
    for each in lineages:
        short, place = f"{each.score.benchmark}/{each.on}", each.place
        if place != short and short not in seen:
            seen.add(short)
            begins = f"{place}/"
            yield from ((f"{short}/{full.removeprefix(begins)}", full) for full in known if full.startswith(begins))

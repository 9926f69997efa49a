"""The selected scores side by side, and how far the models behind them can be told apart.

A table that ranks by values ranks noise, too. Here every two models are compared over the units
that both have, as ``compare`` does, with Holm's correction over all pairs. Only numbers that rows
make up are tested: no unit has a share of a distance between two sets of images.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.usage import read_score
from driftledger.core.errors import StoreError
from driftledger.core.files import read_jsonl
from driftledger.core.grouping import grouped
from driftledger.core.paths import Keys
from driftledger.ledger.compare import (
    Units,
    coverage_difference,
    paired_units,
    units_of,
)
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import Groups, Pair, PairDifference, groups, shown
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.metrics.ranks import competition_ranks
from driftledger.project.project import Project
from driftledger.reports.cells import Cell, cell, interval
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import ROWS, SCORE, SPREAD, STD, Row, Score

RowsOf = Callable[[Score], Sequence[Row]]
"""The rows behind a score; none where they are missing."""


def no_rows(score: Score) -> Sequence[Row]:
    """Return no rows: ranks go by value."""
    return ()


_CLOSE = 1e-6
"""How far a score's number may lie from what its rows give, as a share of it."""


def is_stored(project: Project, spec: Benchmark, keys: Keys) -> bool:
    """Return True if a score is there."""
    return (project.root / spec.scores.at(keys) / SCORE).is_file()


def selected_scores(project: Project) -> list[Score]:
    """Read every selected score that is there, in the order of ``run:``.

    Raises:
        StoreError: there is none, or one was computed with other settings than ``params.yaml`` has
            now.
    """
    stored = [entry for entry in project.selected if is_stored(project, *entry)]
    return [selected_score(project, *entry) for entry in stored or project.selected]


def what_is_lacking(project: Project, scores: Sequence[Score]) -> list[str]:
    """List the models without a selected score, or without a rank for lack of coverage.

    Args:
        scores: those that are there.
    """
    lacking = dict[str, None]()  # several scores may be of the same data
    stored = {benchmark(each.benchmark).scores.at(each.keys): each for each in scores}
    for spec, keys in project.selected:
        score = stored.get(spec.scores.at(keys))
        where = f"in {spec.name} on {keys[spec.data.name]}"
        if score is None:
            lacking[f"{keys['model']} has no score {where}"] = None
        elif score.unranked is not None:
            lacking[f"{score.model} has no rank {where}: {score.unranked}"] = None
    return [*lacking]


def selected_score(project: Project, spec: Benchmark, keys: Keys) -> Score:
    """Read one of them; errors as in :func:`selected_scores`."""
    folder = project.root / spec.scores.at(keys)
    score = read_score(folder)
    settings = project.settings
    if score.inputs.settings != spec.scored_with(
        settings.section(spec.name), settings.run.seed
    ):
        raise StoreError(
            f"the score of {spec.name} on {score.on} for {score.model} was computed with other "
            "settings than params.yaml has now; run 'dvc repro'"
        )
    return score


def rows_reader(project: Project) -> RowsOf:
    """Return a function that reads the rows behind a score, each file once."""

    @cache
    def read(path: str) -> list[Row]:
        file = project.root / path / ROWS
        return read_jsonl(file, Row) if file.is_file() else []

    return lambda score: read(benchmark(score.benchmark).scores.at(score.keys))


class Tested(NamedTuple):
    """The result of testing one number of every two models, unit by unit."""

    groups: Groups
    """Ranks and letters of the models that are not controls."""
    doubtful: frozenset[str]
    """Models that are not shown to be better than every control."""


@dataclass(frozen=True, eq=False)
class Block:
    """Scores of one benchmark on the same data, through the same components but models."""

    spec: Benchmark
    scores: Sequence[Score]
    """In the order of the selection."""
    names: Sequence[str]
    """The data and components."""
    apart: Mapping[str, str]
    """Model → why it is not ranked, without a full stop, as in ``compare``: its coverage is below
    ``min_coverage``, or too much more is left out of its score than of the best covered model's."""
    rows_of: RowsOf = lambda score: ()

    @property
    def on(self) -> str:
        """The data and components for people."""
        return " · ".join(self.names)

    @property
    def title(self) -> str:
        return f"{self.spec.name} on {self.on}"

    @property
    def name(self) -> str:
        """The beginning of its files' names."""
        return "-".join([self.spec.name, *self.names])

    @property
    def costs(self) -> list[Metric]:
        """The kinds of cost that are known of some score."""
        return [metric for key, metric in COSTS.items() if self.values(key)]

    def metric(self, number: str) -> Metric | None:
        """Return the metric of a cost, or of a number by its name in
        :meth:`~driftledger.scoring.score.Score.numbers`."""
        return COSTS.get(number) or self.spec.metric(number.rpartition("/")[2])

    def values(self, number: str) -> dict[str, float]:
        """Return model → the value that it is ranked by, or its cost, where it has one."""
        values = {}
        for score in self.scores:
            value = score.costs.get(number)
            if number not in COSTS:
                value = self.spec.value_of(score, number)
            if value is not None:
                values[score.model] = value
        return values

    def cells(self, number: str) -> Mapping[str, Cell]:
        """Return model → a number with its rank, and its deviation or else its interval.

        Ranks go by what tests show, else by the values; controls have none, since no one chooses
        them.
        """
        return _cells(self, number)

    def bounds(self, score: Score, number: str) -> ConfidenceInterval | None:
        """Return the number if all that is missing were worth 0, and if it were worth as much as
        the best of the rest.

        None where nothing is missing, and of a number that rows do not make up or that is better if
        lower.
        """
        metric = self.metric(number)
        if metric is None or not metric.row or not metric.higher_is_better:
            return None
        if number not in score.metrics or score.coverage == 1:
            return None
        by_mean = metric.pairing == "mean"
        found: dict[str, list[list[float | None]]] = {}
        """Group → the values of each of its units; None for a missing one."""
        for row in self.rows_of(score):
            values = []
            for repeat in range(max(1, len(row.repeats))):
                values += metric.values_in(row.alone(repeat), number) or [None]
            found.setdefault(row.group if by_mean else "", []).append(values)
        units = []
        for group, rows in found.items():
            # A group without any value has none at this step: its chains end sooner.
            if any(value is not None for values in rows for value in values):
                units += [(group, values) for values in rows]
        present = [
            value for _, values in units for value in values if value is not None
        ]
        if len(present) == sum(len(values) for _, values in units):
            return None
        own = self.units(metric, score, number)
        if by_mean and not _makes(metric, own, score.metrics[number]):
            return None

        def filled(missing: float) -> float:
            means = []
            for group, values in units:
                whole = [missing if value is None else value for value in values]
                means.append((exact_mean(whole), group))
            return _value(metric, means)

        return ConfidenceInterval(filled(min(0.0, *present)), filled(max(present)))

    def tested(self, number: str) -> Tested | None:
        """Test a number once; None if the metric has no direction or rows do not reproduce it."""
        return _test(self, number)

    def ranked(self, number: str, *, controls: bool = False) -> list[str]:
        """List the models with a value that may be ranked, or the controls to set against them."""
        values = self.values(number)
        models = []
        for score in self.scores:
            has_rank = score.model in values and score.model not in self.apart
            if has_rank and score.is_control is controls:
                models.append(score.model)
        return models

    def ranks_by_value(self, number: str) -> dict[str, int]:
        """Return model → 1 + how many have a better value, as the papers' tables rank.

        Controls have none.
        """
        metric = self.metric(number)
        models = self.ranked(number)
        if metric is None or metric.higher_is_better is None or not models:
            return {}
        values = self.values(number)
        ranks = competition_ranks([values[name] for name in models], metric.is_higher)
        return dict(zip(models, ranks, strict=True))

    def order(self) -> list[Score]:
        """Sort the scores by the first metric that some have: the best first, controls last."""
        for metric in self.spec.metrics:
            key = self.spec.shown_key(metric, self.scores)
            if key is not None:
                values = self.values(key)
                for model in self.apart:
                    values.pop(model, None)
                return best_first(self.scores, values, metric.is_higher)
        return best_first(self.scores, {})

    def units(self, metric: Metric, score: Score, number: str) -> Units:
        """Return the worth of each row of a score in a number; of a group's, of the group's
        rows."""
        kind, _, rest = number.partition("/")
        name, in_group, key = rest.rpartition("/")
        rows = self.rows_of(score)
        if in_group:
            rows = self.spec.rows_in(score, kind, name, rows)
        return units_of(metric, rows, NumberName.read(key or number).t)


def alike(blocks: Sequence[Block], role: str) -> dict[tuple[str, ...], list[Block]]:
    """Group the blocks of a benchmark that differ in this component alone, by the other names."""
    keys = [key for key in blocks[0].spec.scores.keys if key not in ("model", role)]
    return grouped(
        blocks, lambda block: tuple(block.scores[0].keys[key] for key in keys)
    )


@lru_cache(maxsize=10_000)
def _cells(block: Block, number: str) -> Mapping[str, Cell]:
    tested = block.tested(number)
    letters: Mapping[str, str] = {}
    best = frozenset[str]()
    ranks: Mapping[str, int] = block.ranks_by_value(number)
    if tested is not None and len(tested.groups.ranks) > 1:
        ranks = tested.groups.ranks
        letters = tested.groups.letters
        best = tested.groups.best
    metric = block.metric(number)
    worths = block.values(number)
    digits = metric.digits if metric else 2
    group, _, key = number.rpartition("/")
    kind, _, name = group.partition("/")
    cells = {}
    for score in block.scores:
        values = score.groups.get(kind, {}).get(name, {}) if group else score.metrics
        made = cell(worths.get(score.model), score, number=number, digits=digits)
        if number in COSTS:
            made = made._replace(score=None)  # no page and no audit of the score has it
        elif made.value is not None:
            deviation = f"{values[key + STD]:.{digits}f}" if key + STD in values else ""
            made = made._replace(
                rank=ranks.get(score.model),
                bold=score.model in best,
                letters=letters.get(score.model, ""),
                deviation=deviation,
                more="" if deviation else interval(values, key, digits),
            )
        cells[score.model] = made
    return cells


@lru_cache(maxsize=10_000)
def _test(block: Block, number: str) -> Tested | None:
    metric = block.metric(number)
    confidence = block.scores[0].inputs.settings.get("confidence")
    if metric is None or not metric.row or metric.higher_is_better is None:
        return None
    if confidence is None or number.endswith(SPREAD):
        return None
    sign = 1 if metric.is_higher else -1
    values = block.values(number)
    controls = block.ranked(number, controls=True)
    models = sorted(
        block.ranked(number), key=lambda model: (-sign * values[model], model)
    )
    units = {}
    for score in block.scores:
        if score.model in models or score.model in controls:
            units[score.model] = block.units(metric, score, number)
            if not _makes(metric, units[score.model], values[score.model]):
                return None

    def differences(pairs: Iterable[Pair]) -> dict[Pair, PairDifference]:
        found = {}
        for pair in pairs:
            first, second = (units[model] for model in pair)
            paired = paired_units(metric, first, second, confidence)[1]
            found[pair] = PairDifference(0.0, None)
            if paired:
                found[pair] = PairDifference(paired.difference, paired.p_value)
        return found

    doubtful = set()
    against = differences(product(controls, models))
    for (_, model), verdict in shown(against, confidence).items():
        if verdict != sign:
            doubtful.add(model)
    among = differences(combinations(models, 2))
    ranks = groups(models, among, confidence=confidence, higher_is_better=sign > 0)
    return Tested(ranks, frozenset(doubtful))


def best_first(
    scores: Sequence[Score], values: Mapping[str, float], higher: bool = True
) -> list[Score]:
    """Sort scores by the values of their models; then those without one, then controls."""

    def place(score: Score) -> tuple[bool, bool, float, str]:
        value = values.get(score.model, 0.0)
        return (
            score.is_control,
            score.model not in values,
            -value if higher else value,
            score.model,
        )

    return sorted(scores, key=place)


def _makes(metric: Metric, units: Units, value: float) -> bool:
    """Return True if the units reproduce the number that the score has."""
    shares = [(share, group) for share, group, _ in units.values()]
    return bool(shares) and abs(_value(metric, shares) - value) <= _CLOSE * max(
        1.0, abs(value)
    )


def _value(metric: Metric, units: Sequence[tuple[float, str]]) -> float:
    """Compute a number from the worth and the group of each unit."""
    if metric.pairing == "ratio":
        return exact_mean([share for share, _ in units]) * 100.0
    means = []
    for members in grouped(units, lambda unit: unit[1]).values():
        means.append(exact_mean([share for share, _ in members]))
    return exact_mean(means)


Parts: TypeAlias = Mapping[Benchmark, Sequence[Block]]
"""The scores of each benchmark that has some, in the order of the benchmarks."""


def by_benchmark(scores: Sequence[Score], rows_of: RowsOf = lambda score: ()) -> Parts:
    """Set the scores of each benchmark side by side."""
    parts = {}
    for spec in benchmarks():
        blocks = list(blocks_of(spec, scores, rows_of))
        if blocks:
            parts[spec] = blocks
    return parts


def blocks_of(
    spec: Benchmark,
    scores: Sequence[Score],
    rows_of: RowsOf = lambda score: (),
) -> Iterator[Block]:
    """Yield the scores of a benchmark, those with equal keys but the model's together."""
    keys = [key for key in spec.scores.keys if key != "model"]
    own = [score for score in scores if score.benchmark == spec.name]
    by_names = grouped(own, lambda score: tuple(score.keys[key] for key in keys))
    for names, members in by_names.items():
        models = [score for score in members if not score.is_control] or members
        best = max(models, key=lambda score: (score.unranked is None, score.share))
        apart = {}
        for score in members:
            difference = coverage_difference(best, score)
            if difference is not None and difference.why:
                apart[score.model] = difference.reason
        yield Block(
            spec,
            members,
            names=names,
            apart=apart,
            rows_of=rows_of,
        )

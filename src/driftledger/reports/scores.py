"""The selected scores side by side, and how far the models behind them can be told apart.

A table that ranks by values ranks noise, too. Here every two models are compared over the units
that both have, as ``compare`` does, with Holm's correction over all pairs. Only numbers that rows
make up are tested: no unit has a share of a distance between two sets of images.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, product
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, Metric, Place
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.score import ROWS, SCORE, SPREAD, Row, Score
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.grouping import grouped
from driftledger.core.paths import Keys
from driftledger.ledger.compare import Units, coverage_difference, paired_units, units_of
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import Difference, Groups, Pair, groups, shown
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.metrics.ranks import competition_ranks
from driftledger.project.project import Project

RowsOf = Callable[[Score], Sequence[Row]]
"""The rows behind a score; none where they are missing."""

_CLOSE = 1e-6
"""How far a score's number may lie from what its rows give, as a share of it."""


def is_stored(project: Project, spec: Benchmark, keys: Keys) -> bool:
    """Return whether a score is there."""
    return (project.root / spec.scores.at(keys) / SCORE).is_file()


def selected_scores(project: Project) -> list[Score]:
    """Read every selected score that is there, in the order of ``run:``.

    Raises:
        StoreError: there is none, or one was computed with other settings than ``params.yaml`` has
            now.
    """
    stored = [each for each in project.selected if is_stored(project, *each)]
    return [selected_score(project, *each) for each in stored or project.selected]


def what_is_lacking(project: Project, scores: Sequence[Score]) -> list[str]:
    """Say which models have no score where one is selected, or no rank for lack of coverage.

    Args:
        scores: those that are there.
    """
    lacking = dict[str, None]()  # several scores may be of the same data
    for spec, keys in project.selected:
        score = next(
            (each for each in scores if each.benchmark == spec.name and each.keys == keys), None
        )
        where = f"in {spec.name} on {keys[spec.data.name]}"
        if score is None:
            lacking[f"{keys['model']} has no score {where}"] = None
        elif score.unranked is not None:
            lacking[f"{score.model} has no rank {where}: {score.unranked}"] = None
    return [*lacking]


def selected_score(project: Project, spec: Benchmark, keys: Keys) -> Score:
    """Read one of them; errors as in :func:`selected_scores`."""
    score = read_json(project.root / spec.scores.at(keys) / SCORE, Score)
    if score.inputs.settings != spec.scored_with(
        project.settings.section(spec.name), project.settings.run.seed
    ):
        raise StoreError(
            f"the score of {spec.name} on {score.on} for {score.model} was computed with other "
            "settings than params.yaml has now; run 'dvc repro'"
        )
    return score


def rows_beside(project: Project) -> RowsOf:
    """Return a function that reads the rows behind a score, each file once."""

    @cache
    def read(path: str) -> list[Row]:
        file = project.root / path / ROWS
        return read_jsonl(file, Row) if file.is_file() else []

    return lambda score: read(benchmark(score.benchmark).scores.at(score.keys))


class Tested(NamedTuple):
    """What the differences between models, unit by unit, show of one number."""

    groups: Groups
    """Of the models that are not controls."""
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

    def metric(self, number: str) -> Metric | None:
        """The metric of a number, by its name in
        :meth:`~driftledger.benchmarks.score.Score.numbers`."""
        return self.spec.metric(number.rpartition("/")[2])

    def values(self, number: str) -> dict[str, float]:
        """Model → the value that it is ranked by, where it has one."""
        values = {score.model: self.spec.value_of(score, number) for score in self.scores}
        return {model: value for model, value in values.items() if value is not None}

    def bounds(self, score: Score, number: str) -> ConfidenceInterval | None:
        """What a number would be if all that is missing from it were worth 0, or as much as the
        best of the rest.

        None where nothing is missing, and of a number that rows do not make up or that is better if
        lower.
        """
        metric = self.metric(number)
        bounded = (
            metric is not None
            and bool(metric.row)
            and metric.higher_is_better
            and number in score.metrics
        )
        if metric is None or not bounded or score.coverage == 1:
            return None
        by_mean = metric.pairing == "mean"
        rows = []
        for row in self.rows_of(score):
            values = []
            for repeat in range(max(1, len(row.repeats))):
                values += metric.values_in(row.alone(repeat), number) or [None]
            rows.append((row.group if by_mean else "", values))
        # A group without any value has none at this step: its chains end sooner.
        going_on = {group for group, values in rows if any(value is not None for value in values)}
        rows = [(group, values) for group, values in rows if group in going_on]
        present = [value for _, values in rows for value in values if value is not None]
        makes = not by_mean or _makes(
            metric, self.units(metric, score, number), score.metrics[number]
        )
        if not makes or len(present) == sum(len(values) for _, values in rows):
            return None

        def whole(missing: float) -> float:
            filled = [
                ([missing if value is None else value for value in values], group)
                for group, values in rows
            ]
            return _value(metric, [(exact_mean(values), group) for values, group in filled])

        return ConfidenceInterval(whole(min(0.0, *present)), whole(max(present)))

    def tested(self, number: str) -> Tested | None:
        """Test a number once; None where no test can be made: neither direction is better, or rows
        do not make it up."""
        return _test(self, number)

    def ranked(self, number: str, *, controls: bool = False) -> list[str]:
        """The models with a value that may be ranked, or the controls that they may be set
        against."""
        values = self.values(number)
        models = [
            score.model
            for score in self.scores
            if score.is_control is controls and score.model in values
        ]
        return [model for model in models if model not in self.apart]

    def places(self, number: str) -> dict[str, Place]:
        """Model → its place, by what tests show, else by the values; controls have none, since no
        one chooses them."""
        tested = self.tested(number)
        if tested is not None and len(tested.groups.ranks) > 1:
            ranks = tested.groups.ranks
            best = tested.groups.best
            letters = tested.groups.letters
            return {name: Place(rank, name in best, letters[name]) for name, rank in ranks.items()}
        return {name: Place(rank) for name, rank in self.ranks_by_value(number).items()}

    def ranks_by_value(self, number: str) -> dict[str, int]:
        """Model → 1 + how many have a better value, as the papers' tables rank; controls have
        none."""
        metric = self.metric(number)
        models = self.ranked(number)
        if metric is None or metric.higher_is_better is None or not models:
            return {}
        values = self.values(number)
        ranks = competition_ranks([values[name] for name in models], metric.is_higher)
        return dict(zip(models, ranks, strict=True))

    def order(self) -> list[Score]:
        """The scores by the first metric that some have: the best first, controls behind all."""
        for metric in self.spec.metrics:
            key = self.spec.shown_key(metric, self.scores)
            if key is not None:
                values = self.values(key).items()
                ranked = {model: value for model, value in values if model not in self.apart}
                return best_first(self.scores, ranked, metric.is_higher)
        return best_first(self.scores, {})

    def units(self, metric: Metric, score: Score, number: str) -> Units:
        """Return what the rows of a score are worth in a number, of a group's those of the
        group."""
        kind, _, rest = number.partition("/")
        name, in_group, key = rest.rpartition("/")
        rows = self.rows_of(score)
        return units_of(
            metric, self.spec.rows_in(score, kind, name, rows) if in_group else rows, key or number
        )


@lru_cache(maxsize=10_000)
def _test(block: Block, number: str) -> Tested | None:
    metric = block.metric(number)
    confidence = block.scores[0].inputs.settings.get("confidence")
    is_tested = metric is not None and bool(metric.row) and metric.higher_is_better is not None
    if metric is None or confidence is None or not is_tested or number.endswith(SPREAD):
        return None
    sign = 1 if metric.is_higher else -1
    values = block.values(number)
    controls = block.ranked(number, controls=True)
    models = sorted(block.ranked(number), key=lambda model: (-sign * values[model], model))
    units = {
        s.model: block.units(metric, s, number)
        for s in block.scores
        if s.model in {*models, *controls}
    }
    if not all(_makes(metric, of_model, values[model]) for model, of_model in units.items()):
        return None

    def tests(pairs: Iterable[Pair]) -> dict[Pair, Difference]:
        paired = {(a, b): paired_units(metric, units[a], units[b], confidence)[1] for a, b in pairs}
        nothing = Difference(0.0, None)
        return {
            pair: Difference(each.difference, each.p_value) if each else nothing
            for pair, each in paired.items()
        }

    against = shown(tests(product(controls, models)), confidence)
    return Tested(
        groups(
            models, tests(combinations(models, 2)), confidence=confidence, higher_is_better=sign > 0
        ),
        frozenset(model for (_, model), higher in against.items() if higher != sign),
    )


def best_first(
    scores: Sequence[Score], values: Mapping[str, float], higher: bool = True
) -> list[Score]:
    """Order scores by the values of their models, those without one behind them, controls behind
    all."""
    sign = -1 if higher else 1
    return sorted(
        scores,
        key=lambda s: (
            s.is_control,
            s.model not in values,
            sign * values.get(s.model, 0.0),
            s.model,
        ),
    )


def _makes(metric: Metric, units: Units, value: float) -> bool:
    """Whether these make up the number that the score has."""
    pairs = [(share, group) for share, group, _ in units.values()]
    return bool(pairs) and abs(_value(metric, pairs) - value) <= _CLOSE * max(1.0, abs(value))


def _value(metric: Metric, units: Sequence[tuple[float, str]]) -> float:
    """The number that units make up."""
    by_mean = metric.pairing == "mean"
    within = grouped(units, lambda unit: unit[1] if by_mean else "")
    mean = exact_mean([exact_mean([share for share, _ in some]) for some in within.values()])
    return mean * (1.0 if by_mean else 100.0)


class Part(NamedTuple):
    """A benchmark's scores."""

    spec: Benchmark
    scores: Sequence[Score]
    blocks: Sequence[Block]


def by_benchmark(scores: Sequence[Score], rows_of: RowsOf = lambda score: ()) -> list[Part]:
    """The scores of each benchmark that has some, in the order of the benchmarks."""
    own = [
        (spec, [score for score in scores if score.benchmark == spec.name]) for spec in benchmarks()
    ]
    return [Part(spec, some, list(blocks_of(spec, some, rows_of))) for spec, some in own if some]


def blocks_of(
    spec: Benchmark, scores: Sequence[Score], rows_of: RowsOf = lambda score: ()
) -> Iterator[Block]:
    """The scores of a benchmark, those with equal keys but the model's together."""
    places = grouped(
        scores, lambda each: tuple(each.keys[key] for key in spec.scores.keys if key != "model")
    )
    for names, some in places.items():
        models = [score for score in some if not score.is_control] or some
        best = max(models, key=lambda score: (score.unranked is None, score.share))
        differences = {score.model: coverage_difference(best, score) for score in some}
        apart = {
            model: each.reason
            for model, each in differences.items()
            if each is not None and each.why
        }
        yield Block(spec, some, names, apart, rows_of)

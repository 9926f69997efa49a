"""What is correlated: our metrics and other people's benchmarks as columns over the same models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Score, base_key
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.data.leaderboards import Leaderboard
from driftledger.project.correlation import CorrelationSettings


class Column(NamedTuple):
    """A metric or a benchmark with a value for each model that has one."""

    of: str
    """Benchmark and data of ours, or a leaderboard."""
    key: str
    title: str
    values: Mapping[str, float]
    """Model → value. Our catalogue name, or for a model that is none of ours ``leaderboard: name``."""
    higher_is_better: bool | None
    outside: bool
    headline: bool
    """Whether the picture and the tables show it."""
    detail: bool = False
    """Whether it is of a part of a benchmark: such columns are not set against each other."""


def our_columns(scores: Sequence[Score]) -> Iterator[Column]:
    """Every metric of the benchmarks' tables, by the values by which the leaderboard ranks."""
    for spec in benchmarks():
        for block in spec.blocks([score for score in scores if score.benchmark == spec.name]):
            headlines = {key for score in block.scores for key in spec.headlines(score)}
            for key in _keys(block):
                metric = spec.metric(key)
                if metric is not None:
                    ranked = {score.model: spec.ranked(score, key) for score in block.scores}
                    values = {model: value for model, value in ranked.items() if value is not None}
                    title, better = metric.named(key), metric.higher_is_better
                    yield Column(block.title, f"{spec.name}/{key}", title, values, better, False, key in headlines)


def outside_columns(leaderboards: Sequence[Leaderboard], settings: CorrelationSettings) -> Iterator[Column]:
    """Every benchmark of every leaderboard.

    Raises:
        ConfigError: ``correlation.models`` names a leaderboard that is not there, or a model that it does not have.
    """
    check_names(leaderboards, settings)
    for board in leaderboards:
        ours = {outside: own for own, outside in settings.models.get(board.name, {}).items()}
        for benchmark in dict.fromkeys(each.benchmark for each in board.values):
            values = {
                ours.get(each.model, f"{board.name}: {each.model}"): each.value
                for each in board.values
                if each.benchmark == benchmark
            }
            whole, _, part = benchmark.partition("/")
            better = whole not in settings.lower_is_better
            yield Column(board.name, benchmark, benchmark, values, better, True, not part, bool(part))


def check_names(leaderboards: Sequence[Leaderboard], settings: CorrelationSettings) -> None:
    """Refuse a mapping to what is not there; errors as in :func:`outside_columns`."""
    by_name = {board.name: board for board in leaderboards}
    for name, models in settings.models.items():
        if name not in by_name:
            raise ConfigError(unknown_name("params.yaml: correlation.models: leaderboard", name, by_name))
        for own, outside in models.items():
            if outside not in by_name[name].models:
                where = f"params.yaml: correlation.models.{name}.{own}: model"
                raise ConfigError(unknown_name(where, outside, by_name[name].models))


def _keys(block: SideBySide) -> list[str]:
    """The metrics of some score, without their spread."""
    return list(dict.fromkeys(key for score in block.scores for key in score.metrics if base_key(key) == key))

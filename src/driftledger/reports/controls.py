"""What a metric gives for nothing: how it places the controls, and scores between a floor and a ceiling."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.standing import Standing
from driftledger.benchmarks.tables import (
    NOTHING,
    cell,
    direction,
    is_control,
    misplaced,
    name_cell,
    ordered,
    shown_key,
)
from driftledger.metrics.ranks import DECIMALS

_HOW = (
    "Above and below are shown by the differences sample by sample, with Holm's correction over all pairs of a control "
    "and a model; near is what they do not show."
)
_BY_VALUE = "where a row says by value, nothing was tested"


def controls_table(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """How each metric that models are compared by places the controls: a row per metric, a column per control."""
    controls = sorted(filter(is_control, block.scores), key=lambda score: score.model)
    models = [score for score in block.scores if not is_control(score)]
    told = (metric for metric in spec.metrics if metric.headline or metric.compared or metric.key in spec.across)
    rows = [row for metric in told for row in _row(spec, block, metric, models, controls)]
    if rows and models and controls:
        title = "how each metric places the controls, which do not look at the image"
        yield Table(
            title, ["", *(score.model for score in controls)], rows, [f"{_HOW[:-1]}; {_BY_VALUE}."], name="controls"
        )


def _row(
    spec: Benchmark, block: SideBySide, metric: Metric, models: Sequence[Score], controls: Sequence[Score]
) -> Iterator[Cells]:
    key = None if metric.higher_is_better is None else shown_key(spec, metric, block.scores)
    if key is None:
        return
    values = {score.model: spec.ranked(score, key) for score in block.scores}
    there = [score for score in models if values[score.model] is not None]
    if there and any(values[score.model] is not None for score in controls):
        order = ordered(there, values, metric.higher_is_better is not False)
        above = misplaced(block.scores, [values[score.model] for score in block.scores], metric)
        standing = block.standing(key)
        told = [_placed(metric, key, score, order, values, standing) for score in controls]
        yield [f"{metric.named(key)}{direction(metric)}{above}{'' if standing else ', by value'}", *told]


def _placed(
    metric: Metric,
    key: str,
    control: Score,
    models: Sequence[Score],
    values: "dict[str, float | None]",
    standing: Standing | None,
) -> Cell:
    """``28.25: above coarse, near medium, below fine``."""
    own = values[control.model]
    if own is None:
        return Cell(NOTHING)
    kinds: dict[str, list[str]] = {"above": [], "near": [], "below": []}
    for score in models:
        beside = values[score.model]
        assert beside is not None  # those without one are left out
        if standing is None:
            sign = 1 if metric.higher_is_better else -1
            apart = sign * (round(own, DECIMALS) - round(beside, DECIMALS))
        else:
            apart = standing.controls[control.model, score.model]
        kinds["above" if apart > 0 else "below" if apart < 0 else "near"].append(score.model)
    told = [
        f"{where} {'all' if len(names) == len(models) > 1 else ', '.join(names)}"
        for where, names in kinds.items()
        if names
    ]
    return cell(own, digits=metric.digits, more="; ".join(told), of=Origin(control, key))


def normalised_table(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """Scores from 0, what a model has that never looks, to 1, what people have or a describer without faults; where
    both are among the scores, and the ceiling is better than the floor."""
    floor = next((score for score in block.scores if score.components["model"].is_floor), None)
    ceiling = next((score for score in block.scores if score.components["model"].is_ceiling), None)
    if floor is None or ceiling is None:
        return
    head, columns, notes = [""], [], []
    scores = [score for score in block.scores if not is_control(score) and score is not ceiling]
    metrics = [metric for metric in spec.metrics if metric.higher_is_better is not None]
    keys = [(key, metric) for metric in metrics if (key := shown_key(spec, metric, [floor, ceiling])) is not None]
    if not scores or not keys:
        return
    order = ordered(scores, {score.model: spec.ranked(score, keys[0][0]) for score in scores})
    for key, metric in keys:
        ends = spec.ranked(floor, key), spec.ranked(ceiling, key)
        if ends[0] is None or ends[1] is None:
            continue
        if (ends[1] > ends[0]) != metric.higher_is_better or ends[0] == ends[1]:
            notes.append(f"{metric.named(key)} has no scale: {ceiling.model} is not better than {floor.model} by it.")
            continue
        head.append(metric.named(key))
        columns.append([_between(spec, block, key, score, floor, ceiling) for score in order])
    scale = f"0 is {floor.model}, 1 is {ceiling.model}"
    title = f"between floor and ceiling: {scale}; higher is better, in brackets the interval"
    yield Table(title, head, list(zip(map(name_cell, order), *columns, strict=True)), notes, name="normalised")


def _between(spec: Benchmark, block: SideBySide, key: str, score: Score, floor: Score, ceiling: Score) -> Cell:
    value, low, high = (spec.ranked(each, key) for each in (score, floor, ceiling))
    if value is None or low is None or high is None:
        return Cell(NOTHING)
    names = score.model, floor.model, ceiling.model
    ends = None if block.standings is None else block.standings.between(key, *names)
    more = "" if ends is None else "–".join(f"{end:.3f}" for end in ends)
    return cell((value - low) / (high - low), digits=3, more=more)

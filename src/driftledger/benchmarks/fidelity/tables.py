"""Models side by side, as in the paper's Tables 1 and 2: how true descriptions are, and what is drawn of them."""

from collections.abc import Iterator, Mapping, Sequence

from driftledger.benchmarks.base import Benchmark, Cells, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import cell, column, head_of, metrics_in, name_cell, ordered

_FIRST = ("clip_s", "clip_s_i", "image_similarity", "ssim")
"""The first of these that a model has decides where it stands."""

_COLUMNS = ("clip_s", "ssim", "fid", "frechet_{name}", "clip_s_i", "image_similarity", "human")
"""Rows of the table of metrics, in the order of the paper's columns; further ones come after them."""


SSIM_NOTE = (
    "The paper names no size, and its values are not comparable with these: scikit-image's photographs of the Moon and "
    "of bricks have 20.5 at 64 pixels and 54.1 at 512."
)
"""Measured in the tests of the metric."""


def tables(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """A row per model, and how each metric goes with what people say."""
    scores = block.scores
    there = metrics_in(spec, scores)
    columns = (*_COLUMNS, *(metric.key for metric in spec.metrics if metric.key not in _COLUMNS))
    keys = sorted(there, key=lambda key: columns.index(there[key].key))
    decides = next((key for key in _FIRST if key in keys), "")
    order = ordered(scores, {score.model: score.metrics.get(decides) for score in scores})
    yield _values(order, {_COLUMNS[0]: spec.metrics[1]} | {key: there[key] for key in keys}, block)
    yield from _agreement(order, {key: there[key] for key in keys})


def _values(scores: Sequence[Score], metrics: Mapping[str, Metric], block: SideBySide) -> Table:
    columns = (column(scores, key, metric, block) for key, metric in metrics.items())
    sides = sorted({score.inputs.settings["ssim_side"] for score in scores})
    notes = [f"SSIM is of {' and '.join(map(str, sides))} pixels a side. {SSIM_NOTE}"] if "ssim" in metrics else []
    return Table(
        "as in the paper's Tables 1 and 2; in brackets the interval",
        ["", *(head_of(scores, key, metric) for key, metric in metrics.items())],
        list(zip(map(name_cell, scores), *columns, strict=True)),
        [*notes, *_rated(scores)],
        [score.coverage for score in scores],
    )


def _rated(scores: Sequence[Score]) -> list[str]:
    """How many ratings stand behind the column of people's."""
    counts = (
        f"{score.model} {score.details['ratings']['used']} by {score.details['ratings']['raters']}"
        for score in scores
        if "human" in score.metrics
    )
    return [f"Human ratings and raters: {listed}."] if (listed := ", ".join(counts)) else []


def _agreement(scores: Sequence[Score], metrics: Mapping[str, Metric]) -> Iterator[Table]:
    """How each metric goes with what people say, over samples."""
    columns = ("spearman", "kendall", "pearson")
    rated = [
        (score, f"{metric.named(key)}: {score.model}", key, values)
        for key, metric in metrics.items()
        for score in scores
        if (values := score.groups["agreement"].get(key)) is not None
    ]
    rows: list[Cells] = [
        [
            name,
            *(
                cell(values.get(column), digits=digits, of=Origin(score, f"agreement/{key}/{column}"))
                for column, digits in (*((column, 3) for column in columns), ("n", 0))
            ),
        ]
        for score, name, key, values in rated
    ]
    if rows:
        title, coverages = "agreement with human ratings, over samples", [score.coverage for score, *_ in rated]
        yield Table(title, ["", *columns, "samples"], rows, coverages=coverages, name="agreement")

"""Metrics as rows of a table: title, unit, direction, formula."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import partial
from math import inf, isfinite
from typing import Any, Literal

from driftledger.metrics.intervals import Estimate
from driftledger.scoring.number import Number, NumberName, Value
from driftledger.scoring.score import Score

Direction = Literal["higher", "lower", "neither"]
"""Which values are better; neither for counts and for rates that need context."""

ShownIn = Literal[
    "headline", "compared", "glance", "across", "table", "bars", "last", "curve"
]
"""Where a metric is shown.

``headline``: it sums up the benchmark, in ``compare``, gates, and first in MLflow; ``compared``:
``compare`` ranks by it; ``glance``: in the leaderboard's first table; ``across``: in the table of
all data and components; ``table``: in the benchmark's table; ``bars``: in a figure of bars;
``last``, ``curve``: in MLflow and DVC, at the last t and over t."""


FIRST: frozenset[ShownIn] = frozenset(
    {"headline", "compared", "glance", "across", "table", "bars", "last"}
)
"""Where the first metric of a benchmark is shown."""


class Input(StrEnum):
    """A thing that a number may depend on."""

    DATA = "data"
    DESCRIPTIONS = "descriptions"
    DRAWN = "drawn"
    """Images drawn from descriptions."""
    ENCODER = "encoder"
    """What images are seen through."""
    TEXT_ENCODER = "text_encoder"
    ANSWERS = "answers"
    """Answers, with their readings or grades."""
    RATINGS = "ratings"
    """People's ratings of descriptions."""


Estimator = Callable[[Sequence[Value], float], Estimate]
"""Values of one metric and t, a confidence → their number and its interval."""


@dataclass(frozen=True)
class Metric:
    """A row of a benchmark's table of metrics."""

    name: str
    title: str
    """For people; ``{t}`` stands for the iteration."""
    formula: str
    """In words or symbols, in one line."""
    source: str
    """The function that computes it, as a dotted name below ``driftledger.metrics``, and where it
    is published."""
    _: KW_ONLY
    needs: frozenset[Input]
    estimate: Estimator | None = None
    """The function from values to a number; None if the benchmark computes it."""
    unit: str = ""
    scale: float = 1.0
    """The factor from an estimate to the number: 100 for per cent."""
    range: tuple[float, float] = (-inf, inf)
    """In the unit; no end of an interval lies outside."""
    span: float = 0.0
    """How far the best value of a sample is from the worst, in the unit; 0 if unknown."""
    chance: str = ""
    """The metric of the same score that has what guessing gives; empty if none has."""
    reachable: bool = True
    """Whether a model can reach the best end of ``range``; no encoder sees a text as its image."""
    direction: Direction = "higher"
    digits: int = 2
    over_t: bool = False
    """Whether it has a value for each t."""
    in_rows: bool = False
    """Whether :class:`~driftledger.scoring.score.Row` holds its values, under its name, so that
    ``compare`` can pair them."""
    is_ratio: bool = False
    """Whether it is Σ values / Σ those that count over orders or gradings, resampled by cluster;
    else the mean over categories of the mean over samples."""
    shown: frozenset[ShownIn] = frozenset({"table"})
    alias: str = ""
    """Its name in MLflow and DVC, where benchmarks meet; empty is ``name``."""

    @property
    def function(self) -> str:
        """The dotted name of the function that computes it."""
        return f"driftledger.metrics.{self.source.partition(';')[0]}"

    @property
    def published(self) -> str:
        """The place of its publication; empty if it is our own."""
        return self.source.partition(";")[2].strip()

    @property
    def has_direction(self) -> bool:
        """True if some values are better than others."""
        return self.direction != "neither"

    def values_at(self, row: Any, t: int | None) -> list[float | None]:
        """Return the values of a row at an iteration (at most one), or over orders."""
        values: list[float | None] = (
            row.values.get(self.name, []) if self.in_rows else []
        )
        return values if t is None else values[t - 1 : t]

    def titled(self, t: int | None) -> str:
        """Return the title at an iteration: ``GC@5``."""
        return self.title.format(t=t)

    def headed(self, t: int | None) -> str:
        """Return the title with its unit, and a remark if lower is better."""
        unit = f" ({self.unit})" if self.unit else ""
        return self.titled(t) + unit + self.remark

    @property
    def ceiling(self) -> float | None:
        """The best possible value; None if there is none that a model can reach."""
        best = self.range[self.is_higher]
        if self.has_direction and self.reachable and isfinite(best):
            return best
        return None

    @property
    def remark(self) -> str:
        """The remark " (lower is better)", or nothing."""
        return " (lower is better)" if self.direction == "lower" else ""

    @property
    def is_higher(self) -> bool:
        """True if tables put high values first."""
        return self.direction != "lower"


COVERAGE = Metric(
    "coverage",
    "coverage",
    "scored / total",
    "exact.exact_mean",
    needs=frozenset({Input.DATA, Input.DESCRIPTIONS, Input.DRAWN, Input.ANSWERS}),
    direction="neither",
    digits=3,
    shown=frozenset(),
)
"""The metric that every score has."""
_of_cost = partial(Metric, source="", needs=frozenset(), direction="neither")
COSTS: Mapping[str, Metric] = {
    "usd_per_1000": _of_cost("usd_per_1000", "$ / 1,000 samples", "price", digits=3),
    "seconds_per_sample": _of_cost("seconds_per_sample", "s / sample", "seconds"),
    "tokens_per_sample": _of_cost(
        "tokens_per_sample", "tokens / sample", "tokens", digits=0
    ),
}
"""The metrics of costs per sample, which are shown with headlines and never ranked."""


class MetricTable:
    """The metrics of a benchmark, in the order in which tables show them."""

    def __init__(self, *metrics: Metric) -> None:
        self.rows = metrics
        self.by_name = {
            metric.name: metric for metric in (*metrics, COVERAGE, *COSTS.values())
        }
        for name in self.by_name:
            if NumberName.read(name) != NumberName(name):
                raise ValueError(
                    f"a metric cannot be named {name!r}, which reads as another"
                )

    def __iter__(self) -> Iterator[Metric]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Metric:
        if name not in self.by_name:
            raise KeyError(
                f"no metric is named {name!r}; there are {', '.join(self.by_name)}"
            )
        return self.by_name[name]

    def get(self, name: str) -> Metric | None:
        """Return a metric, or None where no row has this name."""
        return self.by_name.get(name)

    @property
    def first(self) -> Metric:
        """The first metric, by which models are put in order."""
        return self.rows[0]

    def shown(self, *places: ShownIn) -> list[Metric]:
        """Return the metrics that are shown in one of these places."""
        return [metric for metric in self if not metric.shown.isdisjoint(places)]

    @property
    def describes(self) -> bool:
        """True if models give descriptions, not answers."""
        return any(Input.DESCRIPTIONS in metric.needs for metric in self)

    @property
    def glanced(self) -> list[Metric]:
        """The metrics that the leaderboard shows at a glance: by default the first."""
        return self.shown("glance") or [self.first]

    @property
    def tracked(self) -> list[Metric]:
        """The metrics that MLflow and DVC show: by default the headlines."""
        return self.shown("last", "curve") or self.shown("headline")

    def headlines(self, score: Score) -> list[Number]:
        """Return the headline numbers of a score, each at its last t."""
        numbers = [score.last(metric.name) for metric in self.shown("headline")]
        return [number for number in numbers if number is not None]

    def headline(self, score: Score) -> Number:
        """Return the first headline number of a score, or a number without a value."""
        return next(iter(self.headlines(score)), Number(metric=self.first.name))

    def title(self, number: Number) -> str:
        """Return a number's title, ``GC@5``; its name if the metric is unknown."""
        metric = self.get(number.metric)
        return number.name if metric is None else metric.titled(number.t)

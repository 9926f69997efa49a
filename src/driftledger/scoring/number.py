"""A number of a score, and the name that people know it by."""

import re
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat

from driftledger.metrics.intervals import ConfidenceInterval


class Value(NamedTuple):
    """The value of a sample in a metric; numbers are made of these."""

    metric: str
    t: int | None
    category: str
    """Samples are averaged within categories first; groups are made of categories."""
    sample: str
    cluster: str
    """Samples with the same name are resampled together: those about one image."""
    repeat: int
    """The number of the repeat, order or grading."""
    value: float
    n: int = 1
    """How many samples stand behind it."""


class Number(BaseModel):
    """A row of ``numbers`` in ``score.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    """The name of a row of the benchmark's table of metrics."""
    t: int | None = None
    """The iteration; None where the metric has none."""
    group_kind: str | None = None
    """``category``, ``subset``, ``capability``, …; None for the whole."""
    group: str | None = None
    value: FiniteFloat | None = None
    """In the metric's unit; None where it could not be computed."""
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    """The ends of the interval."""
    std: FiniteFloat | None = None
    """The standard deviation over repeats, orders or gradings; None for one."""
    n: int | None = None
    """How many samples stand behind the value."""
    why: str | None = None
    """Why there is no value or no interval."""

    @property
    def place(self) -> "Place":
        """The columns that identify it."""
        return Place(self.metric, self.t, self.group_kind, self.group)

    @property
    def is_whole(self) -> bool:
        """True if it is of all samples, not of a group."""
        return self.group_kind is None

    @property
    def interval(self) -> ConfidenceInterval | None:
        """The interval, if it has one."""
        if self.low is None or self.high is None:
            return None
        return ConfidenceInterval(self.low, self.high)

    @property
    def name(self) -> str:
        """The name of its place."""
        return self.place.name


class Place(NamedTuple):
    """The columns that identify a number in a score."""

    metric: str
    t: int | None = None
    group_kind: str | None = None
    group: str | None = None

    @property
    def name(self) -> str:
        """The name in files and on the command line: ``category/living/gc_at_5``."""
        return str(NumberName(*self))


class NumberName(NamedTuple):
    """The name of a number, or of one of its ends.

    >>> str(NumberName("gc", 5, "category", "living", "low"))
    'category/living/gc_at_5_low'
    >>> NumberName.read("gc_at_5")
    NumberName(metric='gc', t=5, group_kind=None, group=None, end='')
    """

    metric: str
    t: int | None = None
    group_kind: str | None = None
    group: str | None = None
    end: str = ""
    """``low``, ``high`` or ``std``; empty for the value."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a name that a person wrote.

        Raises:
            ValueError: it is no name of a number.
        """
        parts = _NAME.fullmatch(text)
        if parts is None:
            raise ValueError(
                f"{text!r:.100} is not the name of a number, such as category/living/gc_at_5"
            )
        t = parts["t"]
        return cls(
            metric=parts["metric"],
            t=None if t is None else int(t),
            group_kind=parts["kind"],
            group=parts["group"],
            end=parts["end"] or "",
        )

    @property
    def place(self) -> Place:
        """The columns of the number that it names."""
        return Place(self.metric, self.t, self.group_kind, self.group)

    def __str__(self) -> str:
        text = self.metric
        if self.t is not None:
            text += f"_at_{self.t}"
        if self.end:
            text += f"_{self.end}"
        if self.group_kind is None:
            return text
        return f"{self.group_kind}/{self.group}/{text}"


_NAME = re.compile(
    r"((?P<kind>[^/]+)/(?P<group>.+)/)?"
    r"(?P<metric>[a-zA-Z][a-zA-Z0-9_]*?)"
    r"(_at_(?P<t>\d+))?"
    r"(_(?P<end>low|high|std))?",
    re.DOTALL,
)

"""A score and the rows behind it.

A metric is explained in its benchmark's table (:class:`driftledger.scoring.metric.Metric`); data
for a benchmark's own tables are in ``details``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from operator import not_
from typing import Any, ClassVar, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from driftledger.components.base import ComponentCard
from driftledger.core.canonical import Json
from driftledger.core.files import Record
from driftledger.core.strict import Name, Version, Words
from driftledger.core.types import Outcome
from driftledger.scoring.number import Number, Place, Value

SCORE = "score.json"
ROWS = "rows.jsonl"
"""The files of a score's folder: the :class:`Score`, and a :class:`Row` per line."""

ALARM = "alarm: "
"""The beginning of a flag that puts the whole score in doubt."""


class Flag(BaseModel):
    """A sentence that a reader of some numbers must know; by default of all numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    role: str | None = None
    """The role that it is about: it concerns the numbers behind which that role is."""
    metrics: tuple[str, ...] = ()
    """Names of the only metrics that it concerns."""
    alarm: bool = False
    """Whether it puts the whole score in doubt."""
    unranks: bool = False
    """Whether it takes the model's rank."""

    @model_validator(mode="before")
    @classmethod
    def _of_sentence(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    def __str__(self) -> str:
        return self.text


AnyFlag = Flag | str
"""A flag, or the sentence of one that concerns all numbers."""


class Inputs(Record):
    """The inputs of a score."""

    data_digest: str
    """The digest in the card of the dataset or question set."""
    records: dict[str, str]
    """Collect stage → SHA-256 of its ``records.jsonl``."""
    protocol: Json
    """How it was asked: prompts, iterations, lengths, seeds; the benchmark's own ``protocol`` model
    says which."""
    settings: Json
    """How it was scored: intervals, sizes, seeds; the benchmark's own ``scoring`` model says
    which."""
    beside: dict[str, str] = Field(default_factory=dict, exclude_if=not_)
    """Setting → SHA-256 of the user's file that went in: ``ratings``."""
    version: int = Field(default=1, exclude_if=lambda version: version == 1)
    """Of the stage that scores."""


class Score(Record):
    """``score.json``: numbers, how many samples are behind them, and inputs."""

    KIND: ClassVar[str] = "score"
    SCHEMA: ClassVar[int] = 3
    EARLIER: ClassVar[str] = (
        "run 'driftledger run', which computes it again from its records and asks nothing"
    )
    schema_: int = Field(default=3, alias="schema", ge=3, le=3)

    driftledger: Version = Field(default="", exclude_if=not_)
    """The version of driftledger that computed it; empty before 1.0.0."""
    benchmark: Name
    keys: dict[str, Name]
    """The words of ``dvc.yaml``'s matrix, which name the score: ``dataset`` or ``question_set``,
    ``model``, …"""
    components: dict[str, ComponentCard]
    """Role → the version at work: ``model``, ``generator``, ``encoder``, ``text_encoder``,
    ``judge``, …"""
    numbers: list[Number]
    """All numbers, each found by its metric, t, and kind and name of group."""
    outcomes: dict[str, int] = Field(default_factory=dict)
    """Outcome → how many units, answers or gradings it ended."""
    scored: int
    """How many units, answers or gradings could be read."""
    counted: int = Field(default_factory=lambda fields: fields["scored"])
    """How many are in the denominators: ``scored``, and unread ones that count as wrong."""
    total: int
    served: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Role → version that the service reported → number of calls; without local components."""
    flags: list[Flag] = Field(default_factory=list, validate_default=True)
    """Sentences that a reader must know, such as marks of components, changed versions, cut
    descriptions."""
    details: Json = Field(default_factory=dict)
    """Data for the benchmark's own tables and figures."""
    inputs: Inputs
    costs: dict[str, FiniteFloat] = Field(default_factory=dict, exclude=True)
    """Key of :data:`~driftledger.scoring.metric.COSTS` → value where it is known. ``usage.json``
    has what they are computed from, and whoever reads that beside the score sets them."""
    uncounted: str = Field(default="", exclude=True)
    """A phrase if services counted only some of the calls, from the same file."""

    @field_validator("flags")
    @classmethod
    def _with_marks(cls, flags: list[Flag], info: ValidationInfo) -> list[Flag]:
        return list(dict.fromkeys([*marks_of(info.data.get("components", {})), *flags]))

    @field_validator("numbers")
    @classmethod
    def _has_each_once(cls, numbers: list[Number]) -> list[Number]:
        places = Counter(number.place for number in numbers)
        for place, count in places.items():
            if count > 1:
                raise ValueError(f"{place.name!r:.100} is there {count} times")
        return numbers

    @field_serializer("numbers", "flags")
    def _without_defaults(self, rows: list[Number | Flag]) -> list[Json]:
        return [row.model_dump(mode="json", exclude_defaults=True) for row in rows]

    @cached_property
    def by_place(self) -> dict[Place, Number]:
        """The numbers, by the columns that find them; coverage is one of them."""
        places = {number.place: number for number in self.numbers}
        coverage = Number(metric="coverage", value=self.coverage, n=self.total)
        places[coverage.place] = coverage
        return places

    def find(
        self,
        metric: str,
        t: int | None = None,
        group_kind: str | None = None,
        group: str | None = None,
    ) -> Number | None:
        """Return a number if it has a value, else None."""
        number = self.by_place.get(Place(metric, t, group_kind, group))
        return None if number is None or number.value is None else number

    def last(self, metric: str) -> Number | None:
        """Return the number of all samples at the last t that has a value."""
        known = [number for number in self.over_t(metric) if number.value is not None]
        return known[-1] if known else None

    def over_t(self, metric: str) -> list[Number]:
        """Return the numbers over all samples in a metric, in the order of t."""
        own = [
            number
            for number in self.by_place.values()
            if number.metric == metric and number.is_whole
        ]
        return sorted(own, key=lambda number: number.t or 0)

    @property
    def coverage(self) -> float:
        """``scored / total``."""
        return self.scored / self.total

    @property
    def on(self) -> str:
        """The dataset or question set."""
        return self.keys.get("dataset") or self.keys["question_set"]

    @property
    def model(self) -> str:
        """The name of the model under evaluation."""
        return self.keys["model"]

    @property
    def is_control(self) -> bool:
        """True if its model ignores the sample."""
        return self.components["model"].control

    @property
    def confidence(self) -> float:
        """The confidence of its intervals."""
        return float(self.inputs.settings["confidence"])

    @property
    def unranked(self) -> str | None:
        """Why the score gives the model no rank; None if it gives one."""
        for flag in self.flags:
            if flag.unranks:
                return flag.text.removeprefix(ALARM)
        least = self.inputs.settings.get("min_coverage", 0.0)
        if self.coverage >= least:
            return None
        return (
            f"{self.how_many} could be scored, and {self.benchmark}.min_coverage asks for "
            f"{least:.0%}"
        )

    @property
    def share(self) -> Fraction:
        """The share that is counted, exactly."""
        return Fraction(self.counted, self.total)

    @property
    def how_many(self) -> str:
        """A phrase, ``59/100``, with how many are counted if that is another number."""
        counted = "" if self.counted == self.scored else f" ({self.counted} counted)"
        return f"{self.scored}/{self.total}{counted}"


Values = dict[str, list[FiniteFloat | None]]
"""Row key of a metric → its values over steps, orders or gradings; None where there is none."""


class RepeatRow(BaseModel):
    """The values of a unit in one of several repeats."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    values: Values = Field(default_factory=dict)


class Row(Record):
    """A line of ``rows.jsonl``: what one sample, question or pair is worth in a score."""

    unit: Words
    """The sample, question or image it is about."""
    group: str
    """Its category, averaged before the mean over categories; ``all`` for a plain mean."""
    cluster: str
    """Units with the same name are resampled together: questions about one image."""
    outcome: Outcome
    values: Values = Field(default_factory=dict)
    """Means over the repeats that have a value."""
    repeats: list[RepeatRow] = Field(default_factory=list, exclude_if=not_)
    """The values of each repeat, if there are several."""
    extra: Json = Field(default_factory=dict)
    """Further facts: a category, a label, readings and their explanations."""

    def values_of(self, metric: str) -> Iterator[Value]:
        """Yield its values in a metric without t, one per order or grading that has one."""
        for repeat, value in enumerate(self.values[metric]):
            if value is not None:
                yield Value(
                    metric,
                    None,
                    category=self.group,
                    sample=self.unit,
                    cluster=self.cluster,
                    repeat=repeat,
                    value=value,
                )

    def alone(self, repeat: int) -> RepeatRow:
        """Return one repeat; the row's own values if there is only one."""
        if self.repeats:
            return self.repeats[repeat]
        return RepeatRow(outcome=self.outcome, values=self.values)


class Answer(NamedTuple):
    """One answer of a model, as a score reads it."""

    unit: str
    """The sample or question whose record holds it."""
    step: int
    """Of that record."""
    reading: str
    """``right``, ``wrong``, ``partly right``, ``refused`` or ``unread``; ``described`` of a
    description."""
    worth: float
    """From 0 to 1; 0 where nothing was read."""
    read: Any
    """The option, grade or text that was read; ``reading`` if nothing was."""


def answer_as(
    unit: str, step: int, outcome: Outcome, *, worth: float | None, read: Any
) -> Answer:
    """Return an answer, with ``reading`` named by its worth and outcome.

    >>> answer_as("q", 1, Outcome.OK, worth=1.0, read="yes").reading
    'right'
    >>> answer_as("q", 1, Outcome.REFUSED, worth=0.0, read=None).reading
    'refused'
    """
    reading = "wrong"
    if worth == 1:
        reading = "right"
    elif outcome in (Outcome.REFUSED, Outcome.FILTERED):
        reading = "refused"
    elif worth is None or not outcome.goes_on:
        reading = "unread"
    elif worth > 0:
        reading = "partly right"
    shown_as = reading if read is None else read
    return Answer(unit, step, reading, worth=worth or 0.0, read=shown_as)


Rows = Sequence[Row]
Scores = Sequence[Score]


def marks_of(components: Mapping[str, ComponentCard]) -> list[Flag]:
    """Return the marks of components as flags; the role is named except for the model."""
    marks = []
    for role, card in components.items():
        if card.mark is not None:
            subject = "" if role == "model" else f"the {role.replace('_', ' ')}: "
            of = None if role == "model" else role
            marks.append(Flag(text=subject + card.mark, role=of))
    return marks

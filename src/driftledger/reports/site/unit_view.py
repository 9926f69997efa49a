"""One unit as a page shows it: a line per model, a column per step, whatever the benchmark.

What a benchmark has to say of its units it says by its traces; here they are only put side by side.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Metric, Origin
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.traces import Option, Shot, Shown, Trace
from driftledger.charts import lines as charts
from driftledger.charts.axes import PlotPoint
from driftledger.charts.palette import colour_of
from driftledger.charts.svg import page
from driftledger.core.files import read_jsonl
from driftledger.core.text import for_line, for_terminal
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import Lineage
from driftledger.reports.site.changed_words import WordRun, changed_words, unmarked
from driftledger.reports.site.provenance import href
from driftledger.reports.site.thumbnails import ShownImage

PROMPT, DESCRIPTION = "prompt", "description"
"""What steps call the words that all of them are asked in, which stand once above all lines, and texts of which each is
to say what the one before said."""

_LONGEST = 5_000
"""Characters of a text."""
_ALL_TEXTS = 500_000
"""Characters of all texts of a page, so that one of a hundred models stays small."""


class Number(NamedTuple):
    """A value out of a score or its rows."""

    title: str
    text: str
    value: float
    share: float | None
    """Of the length of a bar, from 0 to 1; None where the value has no such bounds."""
    by: str = ""
    """What it was seen or read by, where several do."""
    href: str = ""
    """Of the page that tells where it comes from, relative to the top of the site."""


class KeyWords(NamedTuple):
    """A text, and which of its words are other than those of the step before."""

    label: str
    words: Sequence[WordRun]


class Frame(NamedTuple):
    """An image; without a picture where images are left out."""

    picture: ShownImage | None
    says: str
    """What it is, for who does not see it."""


@dataclass
class StepCell:
    """What a model was asked and gave in one step."""

    head: str
    frames: list[Frame] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    options: Sequence[Option] = ()
    said: list[KeyWords] = field(default_factory=list)
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Name → texts; several where it was asked or read several times."""
    troubles: list[tuple[str, str]] = field(default_factory=list)
    """Outcome, and what the error says."""
    good: bool | None = None

    @property
    def told(self) -> list[tuple[str, str]]:
        """The facts, equal ones once."""
        return [
            (
                key,
                ", ".join(
                    text if number == 1 else f"{text} ({number} times)" for text, number in Counter(some).items()
                ),
            )
            for key, some in self.facts.items()
        ]


@dataclass
class ModelLine:
    """What became of the unit in one model's hands."""

    title: str
    through: str
    """What else tells it from other lines: the generator."""
    notes: Sequence[str]
    """What a reader must know of the model."""
    is_control: bool
    outcome: Outcome
    numbers: list[Number] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    cells: list[StepCell] = field(default_factory=list)


@dataclass(frozen=True)
class Group:
    """Scores that were made of the same records: of one model, seen or read by several encoders."""

    title: str
    through: str
    lineages: Sequence[Lineage]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Title of each metric that the scores have → its key."""
        return {title: key for lineage in self.lineages for title, key in titles_of(lineage).items()}

    def by(self, lineage: Lineage) -> str:
        """What tells a score from the others of the group."""
        return " · ".join(_own_keys(lineage)) if len(self.lineages) > 1 else ""


def grouped_by_records(lineages: Sequence[Lineage]) -> list[Group]:
    """Groups in the order of the selection."""
    groups: dict[tuple[str, ...], list[Lineage]] = {}
    for lineage in lineages:
        groups.setdefault(tuple(file.path for file in lineage.collected.values()), []).append(lineage)
    made = []
    for some in groups.values():
        own, spec, names = _own_keys(some[0]), some[0].spec, some[0].score.keys
        through = [
            names[key]
            for key in spec.scores.keys
            if key not in ("model", *spec.data.keys) and (len(some) == 1 or names[key] not in own)
        ]
        made.append(Group(some[0].score.model, " · ".join(through), some))
    return made


def _own_keys(lineage: Lineage) -> list[str]:
    """The names that only the score has, and none of its records."""
    collected = {key for stage in lineage.spec.collects for key in stage.keys}
    return [lineage.score.keys[key] for key in lineage.spec.scores.keys if key not in collected]


def traces_of(root: Path, lineage: Lineage, units: Sequence[str]) -> dict[str, Trace]:
    """The traces of some units."""
    rows = {row.unit: row for row in read_jsonl(root / lineage.rows_path, Row)}
    chosen = [rows[unit] for unit in units if unit in rows]
    traces = lineage.spec.traces(lineage.places(root), lineage.score, chosen) if chosen else ()
    return {trace.unit: trace for trace in traces}


class UnitView(NamedTuple):
    """A unit, before it is rendered."""

    name: str
    pictures: Sequence[Frame]
    asked: Sequence[tuple[str, Sequence[str]]]
    """What all were asked alike: a question, its options."""
    known: Sequence[tuple[str, Sequence[str]]]
    prompt: str
    lines: Sequence[ModelLine]
    chart: str = ""
    """An SVG file's text."""


def unit_view(
    traces: Sequence[tuple[Group, Sequence[Trace]]], pictures: Mapping[Path, ShownImage] | None, *, linked: bool = True
) -> UnitView:
    """A unit by all who were asked about it.

    Args:
        traces: per group one trace for each of its scores.
        pictures: of all images; None leaves them out.
        linked: whether numbers lead to the site's page that tells where they come from.
    """
    first = traces[0][1][0]
    steps = sum(len(trace.steps) for _, some in traces for trace in some)
    drawer = _Drawer(pictures, min(_LONGEST, _ALL_TEXTS // max(1, steps)), linked)
    prompts = dict.fromkeys(str(step.asked[PROMPT]) for step in first.steps if PROMPT in step.asked)
    lines = [drawer.lines(group, some) for group, some in traces]
    curve = next((trace.curve for _, some in traces for trace in some if trace.curve), "")
    return UnitView(
        name=for_line(first.unit),
        pictures=[] if first.start else [drawer.frame(each, "what was asked about") for each in _shots(first.asked)],
        asked=[
            (key, drawer.texts(value))
            for key, value in first.asked.items()
            if drawer.texts(value) and first.unit != value
        ],
        known=[(key, drawer.texts(value)) for key, value in first.known.items() if drawer.texts(value)],
        prompt=for_terminal("\n".join(prompts)),
        lines=[line for some in lines for line in some],
        chart=_chart(f"{curve} of {for_line(first.unit)}", [some[0] for some in lines]) if curve and linked else "",
    )


def _only(trace: Trace, again: str) -> Trace:
    """One of the times that a unit was gone through."""
    steps = [step for step in trace.steps if step.again == again]
    if len(steps) == len(trace.steps):
        return trace
    ended = next((step.outcome for step in steps if step.outcome is not Outcome.OK), Outcome.OK)
    only = replace(trace, steps=steps, outcome=ended)
    return replace(only, values={}, gave={}) if again else only


def _chart(title: str, some: Sequence[ModelLine]) -> str:
    """The numbers of all columns, a line per model; of several readers' the first one's."""
    names = [line.title if not line.through else f"{line.title} · {line.through}" for line in some]
    if len({line.through for line in some}) == 1:
        names = [line.title for line in some]
    series = colour_of(names, {name for name, line in zip(names, some, strict=True) if line.is_control})
    ticks: dict[float, str] = {}
    drawn = []
    for name, line in zip(names, some, strict=True):
        points = [PlotPoint(place, cell.numbers[0].value) for place, cell in enumerate(line.cells) if cell.numbers]
        ticks |= {place: cell.head for place, cell in enumerate(line.cells) if cell.numbers}
        drawn += [charts.Curve(name, series[name], points, digits=3)] if points else []
    return page(charts.lines(title, drawn, across="", ticks=dict(sorted(ticks.items())), height=200)) if drawn else ""


def shots(trace: Trace) -> Iterator[Path]:
    """The files of all images in a trace."""
    for shown in (trace.asked, trace.gave, *(each for step in trace.steps for each in (step.asked, step.gave))):
        yield from (shot.file for shot in _shots(shown))


def _shots(shown: Mapping[str, Shown]) -> Iterator[Shot]:
    return (value for value in shown.values() if isinstance(value, Shot))


class _Drawer(NamedTuple):
    """Puts what traces hold into lines and cells."""

    pictures: Mapping[Path, ShownImage] | None
    longest: int
    linked: bool

    def lines(self, group: Group, traces: Sequence[Trace]) -> list[ModelLine]:
        """A line for each time that the unit was gone through; what it is worth stands in the first."""
        times = dict.fromkeys(step.again for trace in traces for step in trace.steps) or {"": None}
        return [
            self.line(group, [_only(trace, again) for trace in traces], *([again] if again else [])) for again in times
        ]

    def line(self, group: Group, traces: Sequence[Trace], *more: str) -> ModelLine:
        """One trace for each score of the group: what the records say stands once, and each score's numbers beside."""
        card, first = group.lineages[0].score.components["model"], traces[0]
        notes = [for_line(card.mark)] if card.mark else []
        through = " · ".join(filter(None, (group.through, *more)))
        line = ModelLine(for_line(group.title), for_line(through), notes, card.is_control, first.outcome)
        cells: dict[str, StepCell] = {}
        if first.start:
            cells[first.start] = StepCell(
                first.start, [self.frame(each, "the original") for each in _shots(first.asked)]
            )
        for lineage, trace in zip(group.lineages, traces, strict=True):
            by, number = group.by(lineage), self._numbers(group, lineage)
            line.numbers += [number(title, value) for title, value in trace.values.items()]
            told = self._fill(cells, trace, number)
            line.facts += [
                (f"{key}, {by}" if by else key, ", ".join(text for _, text in some))
                for key, value in trace.gave.items()
                if key not in trace.known and (some := self._pairs(key, value)) and not told.issuperset(some)
            ]
        line.cells = list(cells.values())
        return line

    def _numbers(self, group: Group, lineage: Lineage) -> Callable[[str, float], Number]:
        """How the value of that title is written, and where a click on it leads."""

        def number(title: str, value: float) -> Number:
            key = group.titles.get(title)
            metric = None if key is None else lineage.spec.metric(key)
            there = "" if key is None or not self.linked else href(Origin(lineage.score, key))
            return number_of(metric, title, value)._replace(by=for_line(group.by(lineage)), href=there)

        return number

    def _fill(
        self, cells: dict[str, StepCell], trace: Trace, number: Callable[[str, float], Number]
    ) -> set[tuple[str, str]]:
        """Put a trace's steps into the cells of their columns; of a further score of the same records only numbers, and
        columns that are its own. Returns which texts stand somewhere now, by their names."""
        there = {name for name in cells if name != trace.start or cells[name].said}
        told = {pair for key, value in trace.asked.items() for pair in self._pairs(key, value)}
        seen = {shot.file for shot in _shots(trace.asked)}
        before: dict[str, str] = {}
        for step in trace.steps:
            column = step.column or step.name
            cell = StepCell("") if column in there else cells.setdefault(column, StepCell(for_line(column)))
            cell.marks += [for_line(step.mark)] if step.mark else []
            cell.options = step.options or cell.options
            cell.good = cell.good if step.good is None else step.good
            if step.outcome is not Outcome.OK:
                cell.troubles.append((step.outcome, _inert(self.clip(step.error or ""))))
            for key, value in (*step.asked.items(), *step.gave.items()):
                if isinstance(value, Shot):
                    cell.frames += [self.frame(value, f"{key} of {step.name}")] if value.file not in seen else []
                    seen.add(value.file)
                elif isinstance(value, float):
                    cells[column].numbers.append(number(key, value))
                else:
                    pairs = self._pairs(key, value)
                    is_new = key in step.gave or not (step.options or told.issuperset(pairs))
                    if is_new and key not in (PROMPT, *trace.known) and (key, column) not in pairs:
                        self._say(cell, key, [text for _, text in pairs], before)
                    told.update(pairs)
        return told

    def _say(self, cell: StepCell, key: str, texts: Sequence[str], before: dict[str, str]) -> None:
        """A description is shown with the words that have changed since the one before."""
        if key == DESCRIPTION and texts:
            cell.said.append(
                KeyWords(key, changed_words(before[key], texts[0]) if key in before else unmarked(texts[0]))
            )
            before[key] = texts[0]
        elif texts:
            cell.facts.setdefault(key, []).append("\n".join(texts))

    def _pairs(self, key: str, value: Shown) -> list[tuple[str, str]]:
        return [(key, text) for text in self.texts(value)]

    def frame(self, shot: Shot, says: str) -> Frame:
        return Frame(None if self.pictures is None else self.pictures[shot.file], for_line(says))

    def texts(self, value: Shown) -> list[str]:
        """What is text in a value, inert but for markup, which templates escape."""
        if value is None or isinstance(value, Shot | Mapping):
            return []
        if isinstance(value, bool):
            return ["yes" if value else "no"]
        if isinstance(value, str | int | float):
            return [_inert(self.clip(str(value)))]
        return [text for each in value for text in self.texts(each)]

    def clip(self, text: str) -> str:
        if len(text) <= self.longest:
            return text
        return f"{text[: self.longest]} … ({len(text) - self.longest} more characters)"


_inert = lru_cache(10_000)(for_terminal)
"""Orders and models repeat most texts of a page."""


def titles_of(lineage: Lineage) -> dict[str, str]:
    """Title of each metric that a score has → its key."""
    spec, score = lineage.spec, lineage.score
    return {metric.named(key): key for metric in spec.metrics for key in spec.members(metric, score)}


def number_of(metric: Metric | None, title: str, value: float) -> Number:
    """A value as its metric is written; one of no metric with three decimals."""
    digits, unit = (3, "") if metric is None else (metric.digits, metric.unit)
    bounded = metric is not None and bool(metric.higher_is_better) and (unit == "%" or digits == 3)
    share = min(max(value / (100.0 if unit == "%" else 1.0), 0.0), 1.0) if bounded else None
    return Number(for_line(title), f"{value:.{digits}f}{' %' if unit == '%' else ''}", value, share)


def first_headline(lineage: Lineage) -> tuple[str, Metric | None]:
    """The title of a score's first headline, and the row of its benchmark's table."""
    key, _ = lineage.spec.headline(lineage.score)
    metric = lineage.spec.metric(key)
    return (key if metric is None else metric.named(key)), metric

"""Chains side by side: the original, what each iteration drew, what was said, and how alike it still is.

One line per model. Descriptions are a stranger's text and are escaped; pictures are small and stand in the page itself,
so that a notebook can be sent to somebody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.traces import Shot, Trace
from driftledger.core.text import as_many, for_html, for_line
from driftledger.core.types import Outcome
from driftledger.reports.site.thumbnails import inline

SIDE = 160
"""Pixels of a picture's longer side, at most."""
_LONGEST = 1_000
"""Characters of a description."""
_LINE = 88
"""Characters of a line of plain text."""


class ChainStep(NamedTuple):
    """One iteration."""

    title: str
    """``t = 1``."""
    image: Path | None
    """What was drawn; None where nothing was."""
    description: str
    """What it was drawn from, in whole; empty where nothing was said."""
    similarities: Mapping[str, float]
    """Title, ``s(1)`` → the value, by each encoder."""
    trouble: str = ""
    """What ended the chain here, and why."""


@dataclass(frozen=True)
class ChainLine:
    """What became of the sample in one model's hands."""

    title: str
    """The model."""
    through: str
    """The generator."""
    values: Mapping[str, float]
    """Title of a headline metric → what the sample is worth in it, by each encoder."""
    steps: Sequence[ChainStep]

    @classmethod
    def of(cls, title: str, through: str, traces: Mapping[str, Trace]) -> "ChainLine":
        """A line of what several encoders, by name, see of the same chain; further repeats stand behind it."""
        steps: dict[str, ChainStep] = {}
        for encoder, trace in traces.items():
            by = f" by {encoder}" if len(traces) > 1 else ""
            for step in trace.steps:
                name = f"{step.again}, {step.column}" if step.again else step.column
                before = steps.setdefault(name, ChainStep(name, None, "", {}))
                image = next((value.file for value in step.gave.values() if isinstance(value, Shot)), before.image)
                numbers = {f"{key}{by}": value for key, value in step.gave.items() if isinstance(value, float)}
                said = step.gave.get("description")
                trouble = f"{step.outcome}{f': {step.error}' if step.error else ''}"
                steps[name] = ChainStep(
                    name,
                    image,
                    said if isinstance(said, str) else before.description,
                    {**before.similarities, **numbers},
                    before.trouble if step.outcome is Outcome.OK else trouble,
                )
        values = {
            f"{title}{f' by {encoder}' if len(traces) > 1 else ''}": value
            for encoder, trace in traces.items()
            for title, value in trace.values.items()
        }
        return cls(title, through, values, list(steps.values()))


@dataclass(frozen=True, repr=False)
class Chains:
    """One sample's chains, a line per model. In a notebook it shows itself with pictures."""

    sample: str
    original: Path
    lines: Sequence[ChainLine]

    def __repr__(self) -> str:
        told = [for_line(self.sample)]
        for line in self.lines:
            told.append(f"  {for_line(line.title)} · {for_line(line.through)}{_values(line.values, ': ')}")
            for step in line.steps:
                said = as_many([step.trouble or step.description or "nothing was said"], _LINE)
                told.append(f"    {step.title}{_values(step.similarities, ', ')}: {said}")
        return "\n".join(told)

    def _repr_html_(self) -> str:
        start = f"<div>t = 0</div>{_picture(self.original, f'{self.sample}: the original')}"
        rows = "".join(
            f"<tr>{_head(line)}<td {_CELL}>{start}</td>{''.join(self._cell(line, step) for step in line.steps)}</tr>"
            for line in self.lines
        )
        return f"<div {_SCROLL}><b>{for_html(for_line(self.sample))}</b><table>{rows}</table></div>"

    def _cell(self, line: ChainLine, step: ChainStep) -> str:
        says = f"{self.sample}: {step.title}, drawn by {line.through} as {line.title} described it"
        numbers = _values(step.similarities, ", ")
        picture = "" if step.image is None else _picture(step.image, says)
        trouble = f"<div><b>{for_html(_clipped(step.trouble))}</b></div>" if step.trouble else ""
        said = f"<div {_SAID}>{for_html(_clipped(step.description))}</div>"
        return f"<td {_CELL}><div>{for_html(step.title + numbers)}</div>{picture}{trouble}{said}</td>"


_SCROLL = 'style="overflow-x: auto"'
_CELL = f'style="vertical-align: top; text-align: left; min-width: {SIDE}px; max-width: {SIDE + 60}px"'
_SAID = 'style="max-height: 12em; overflow-y: auto; white-space: pre-wrap; font-size: smaller"'


def _head(line: ChainLine) -> str:
    values = "".join(f"<div>{for_html(for_line(f'{title} {value:.3f}'))}</div>" for title, value in line.values.items())
    through = for_html(for_line(line.through))
    return f"<th {_CELL}><div>{for_html(for_line(line.title))}</div><div>{through}</div>{values}</th>"


def _values(values: Mapping[str, float], joint: str) -> str:
    told = ", ".join(for_line(f"{title} {value:.3f}") for title, value in values.items())
    return f"{joint}{told}" if told else ""


def _picture(file: Path, says: str) -> str:
    shown = inline(file, SIDE)
    return (
        f'<img src="{for_html(shown.source)}" width="{shown.width}" height="{shown.height}" '
        f'alt="{for_html(for_line(says))}">'
    )


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"

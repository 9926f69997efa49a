"""How answers and chains are shown: as plain text where a terminal is, as inert HTML in a notebook."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console, RenderableType

from driftledger.benchmarks.traces import Shot, Trace
from driftledger.core.terminal import show
from driftledger.core.text import as_many, for_html, for_line
from driftledger.core.types import Outcome
from driftledger.reports.site.thumbnails import inline

if TYPE_CHECKING:
    import pandas as pd

    from driftledger.ledger.compare import Comparison

WIDTH = 100
"""Columns of an answer's text."""
SIDE = 160
"""Pixels of a picture's longer side, at most."""
_LONGEST, _LINE = 1_000, 88
"""Characters of a description in a notebook, and in a line of plain text."""
_CELL = f'style="vertical-align: top; text-align: left; min-width: {SIDE}px; max-width: {SIDE + 60}px"'
_TEXT = 'style="max-height: 12em; overflow-y: auto; white-space: pre-wrap; font-size: smaller"'


class Answer:
    """An answer of the ledger: its text is what the command of the same name prints, ``data`` what is behind it.

    Args:
        tree: gives all of it, to be drawn.
        as_json: gives it for programs; raises LedgerError where nothing has the name that was asked for.
        short: gives the answer in short; without it, it is all of it.
    """

    def __init__(
        self,
        tree: Callable[[], RenderableType],
        as_json: Callable[[], str],
        short: Callable[[], RenderableType] | None = None,
    ) -> None:
        self._tree, self._json, self._short = tree, as_json, short or tree

    @cached_property
    def tree(self) -> RenderableType:
        """All of it."""
        return self._tree()

    @cached_property
    def answer(self) -> RenderableType:
        """The answer in short."""
        return self._short()

    @cached_property
    def json(self) -> str:
        """All of it for programs, as ``--json`` prints it."""
        return self._json()

    @property
    def data(self) -> dict[str, Any]:
        """The same as a dictionary."""
        data: dict[str, Any] = json.loads(self.json)
        return data

    def __repr__(self) -> str:
        text = io.StringIO()  # inside Jupyter, rich would otherwise draw by itself
        out = Console(file=text, width=WIDTH, color_system=None, force_jupyter=False, markup=False, emoji=False)
        show(self.tree, out)
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{for_html(repr(self))}</pre>"


class Compared(Answer):
    """Two runs, metric by metric, with paired intervals over what both were measured on."""

    def __init__(self, comparison: "Comparison", tree: Callable[[], RenderableType]) -> None:
        super().__init__(tree, lambda: json.dumps(comparison.to_dict(), indent=2))
        self.comparison = comparison

    @property
    def table(self) -> "pd.DataFrame":
        """A row per metric: ``benchmark``, ``on``, ``metric``, both values ``a`` and ``b``, B's less A's over the units
        that both have as ``difference``, its interval from ``low`` to ``high``, how many units these are, ``common``,
        and the ``verdict`` in words."""
        import pandas as pd

        columns = ["metric", "a", "b", "difference", "low", "high", "common", "verdict"]
        rows = [
            {"benchmark": pair.benchmark, "on": pair.on} | {name: getattr(each, name) for name in columns}
            for pair in self.comparison.pairs
            for each in pair.metrics
        ]
        return pd.DataFrame(rows, columns=["benchmark", "on", *columns])


class ChainStep(NamedTuple):
    """One iteration."""

    title: str
    """``t = 1``."""
    image: Path | None
    """What was drawn; None where nothing was."""
    description: str
    """What it was drawn from, in whole; empty where the model answered nothing."""
    similarities: Mapping[str, float]
    """Title, ``s(1)`` → the value, by each encoder."""
    trouble: str = ""
    """What ended the chain here, and why."""


@dataclass(frozen=True)
class ChainLine:
    """One model's chain of a sample."""

    title: str
    """The model."""
    through: str
    """The generator."""
    values: Mapping[str, float]
    """Title of a headline metric → what the sample is worth in it, by each encoder."""
    steps: Sequence[ChainStep]

    @classmethod
    def of(cls, title: str, through: str, traces: Mapping[str, Trace]) -> "ChainLine":
        """A line of what several encoders, by name, see of the same chain; further repeats follow it."""
        steps, values = dict[str, ChainStep](), dict[str, float]()
        for encoder, trace in traces.items():
            by = f" by {encoder}" if len(traces) > 1 else ""
            values |= {f"{name}{by}": value for name, value in trace.values.items()}
            for step in trace.steps:
                name = f"{step.again}, {step.column}" if step.again else step.column
                before = steps.setdefault(name, ChainStep(name, None, "", {}))
                description = step.gave.get("description")
                steps[name] = ChainStep(
                    name,
                    next((value.file for value in step.gave.values() if isinstance(value, Shot)), before.image),
                    description if isinstance(description, str) else before.description,
                    {**before.similarities, **{f"{k}{by}": v for k, v in step.gave.items() if isinstance(v, float)}},
                    before.trouble
                    if step.outcome is Outcome.OK
                    else f"{step.outcome}{f': {step.error}' if step.error else ''}",
                )
        return cls(title, through, values, list(steps.values()))


@dataclass(frozen=True, repr=False)
class Chains:
    """One sample's chains, a line per model. In a notebook it shows itself with pictures, which are in the page."""

    sample: str
    original: Path
    lines: Sequence[ChainLine]

    def __repr__(self) -> str:
        texts = [for_line(self.sample)]
        for line in self.lines:
            texts.append(f"  {for_line(line.title)} · {for_line(line.through)}{_values(line.values, ': ')}")
            for step in line.steps:
                description = as_many([step.trouble or step.description or "nothing was said"], _LINE)
                texts.append(f"    {step.title}{_values(step.similarities, ', ')}: {description}")
        return "\n".join(texts)

    def _repr_html_(self) -> str:
        start = f"<div>t = 0</div>{_picture(self.original, f'{self.sample}: the original')}"
        rows = ""
        for line in self.lines:
            head = [line.title, line.through, *(f"{title} {value:.3f}" for title, value in line.values.items())]
            cells = "".join(self._cell(line, step) for step in line.steps)
            title = "".join(f"<div>{for_html(for_line(text))}</div>" for text in head)
            rows += f"<tr><th {_CELL}>{title}</th><td {_CELL}>{start}</td>{cells}</tr>"
        return f'<div style="overflow-x: auto"><b>{for_html(for_line(self.sample))}</b><table>{rows}</table></div>'

    def _cell(self, line: ChainLine, step: ChainStep) -> str:
        says = f"{self.sample}: {step.title}, drawn by {line.through} as {line.title} described it"
        parts = [f"<div>{for_html(step.title + _values(step.similarities, ', '))}</div>"]
        parts += [] if step.image is None else [_picture(step.image, says)]
        parts += [f"<div><b>{for_html(_clipped(step.trouble))}</b></div>"] if step.trouble else []
        return f"<td {_CELL}>{''.join(parts)}<div {_TEXT}>{for_html(_clipped(step.description))}</div></td>"


def _values(values: Mapping[str, float], joint: str) -> str:
    text = ", ".join(for_line(f"{title} {value:.3f}") for title, value in values.items())
    return f"{joint}{text}" if text else ""


def _picture(file: Path, says: str) -> str:
    shown, alt = inline(file, SIDE), for_html(for_line(says))
    return f'<img src="{for_html(shown.source)}" width="{shown.width}" height="{shown.height}" alt="{alt}">'


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"

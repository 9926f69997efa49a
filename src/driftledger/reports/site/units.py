"""A unit of a score as a page shows it: a strip of steps with pictures, texts and numbers, whatever the benchmark."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, Metric
from driftledger.benchmarks.traces import Option, Shot, Shown, Trace
from driftledger.core.types import Outcome

PROMPT, DESCRIPTION = "prompt", "description"
"""What steps call the words that all of them are asked in, which a unit shows once, and texts that each say again what
the one before said."""
LONGEST = 5_000
"""Characters of a text; longer ones are cut."""
MOST_WORDS = 2_000
"""Words of a text; longer ones, which take seconds to compare, are not marked."""

Words = list[tuple[str, str]]
"""Neighbouring words with the same fate: ``same``, ``gone`` or ``new``."""


class Number(NamedTuple):
    """A value of a unit."""

    title: str
    text: str
    value: float
    share: float | None
    """Length of its bar, from 0 to 1; None where the value has no such bounds."""


@dataclass
class StepCell:
    """What a model was asked and gave in one step."""

    head: str
    pictures: list[tuple[Path, str]] = field(default_factory=list)
    """An image and what it is, for readers who do not see it."""
    numbers: list[Number] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    options: Sequence[Option] = ()
    good: bool | None = None
    words: list[Words] = field(default_factory=list)
    facts: dict[str, Counter[str]] = field(default_factory=dict)
    troubles: list[tuple[Outcome, str]] = field(default_factory=list)


class UnitView(NamedTuple):
    """A unit in one model's hands."""

    name: str
    outcome: Outcome
    numbers: Sequence[Number]
    pictures: Sequence[tuple[Path, str]]
    facts: Sequence[tuple[str, Sequence[str]]]
    """What was asked, and what is known of the unit."""
    prompt: str
    strips: Mapping[str, Sequence[StepCell]]
    """Repeat, empty for the first → steps."""


def files_of(trace: Trace) -> Iterator[Path]:
    """The files of all images in a trace."""
    for shown in (trace.asked, trace.gave, *(each for step in trace.steps for each in (step.asked, step.gave))):
        yield from (value.file for value in shown.values() if isinstance(value, Shot))


def number_of(spec: Benchmark, title: str, value: float) -> Number:
    """A value as its metric is written; without a metric of that title, with three decimals."""
    metric = _metric(spec, title)
    digits, unit = (3, "") if metric is None else (metric.digits, metric.unit)
    bounded = metric is not None and bool(metric.higher_is_better) and (unit == "%" or digits == 3)
    share = min(max(value / (100.0 if unit == "%" else 1.0), 0.0), 1.0) if bounded else None
    return Number(title, f"{value:.{digits}f}{' %' if unit == '%' else ''}", value, share)


@cache
def _metric(spec: Benchmark, title: str) -> Metric | None:
    titles = ((re.sub(r"\\{\w+\\}", ".+", re.escape(metric.title)), metric) for metric in spec.metrics)
    return next((metric for pattern, metric in titles if re.fullmatch(pattern, title)), None)


def unit_view(spec: Benchmark, trace: Trace) -> UnitView:
    """Put the steps of a trace side by side: what is in one column together, and what was asked once."""
    originals = [(shot.file, "what was asked about") for shot in trace.asked.values() if isinstance(shot, Shot)]
    facts = [(key, texts) for key, value in (*trace.asked.items(), *trace.known.items()) if (texts := _texts(value))]
    seen = {(key, text) for key, texts in facts for text in texts}
    strips: dict[str, dict[str, StepCell]] = {}
    before: str | None = None
    for step in trace.steps:
        if step.again not in strips:
            start = StepCell(trace.start, [(file, "the original") for file, _ in originals])
            strips[step.again], before = {trace.start: start} if trace.start else {}, None
        column = step.column or step.name
        cell = strips[step.again].setdefault(column, StepCell(column))
        cell.marks += [step.mark] if step.mark else []
        cell.options, cell.good = step.options or cell.options, cell.good if step.good is None else step.good
        if step.outcome is not Outcome.OK:
            cell.troubles.append((step.outcome, _cut(step.error or "")))
        for key, value in step.asked.items():
            new = [text for text in _texts(value) if (key, text) not in seen]
            if new and key != PROMPT and not step.options:
                cell.facts.setdefault(key, Counter())["\n".join(new)] += 1
            seen |= {(key, text) for text in new}
        for key, value in step.gave.items():
            texts = _texts(value)
            seen |= {(key, text) for text in texts}
            if isinstance(value, Shot):
                cell.pictures.append((value.file, f"{key} of {step.name}"))
            elif isinstance(value, float):
                cell.numbers.append(number_of(spec, key, value))
            elif texts and key == DESCRIPTION:
                cell.words.append(changed_words(before, texts[0]))
                before = texts[0]
            elif texts and key not in trace.known:
                cell.facts.setdefault(key, Counter())["\n".join(texts)] += 1
    return UnitView(
        trace.unit,
        trace.outcome,
        [number_of(spec, title, value) for title, value in trace.values.items()],
        [] if trace.start else originals,
        [(key, texts) for key, texts in facts if texts != [trace.unit]],
        "\n".join(dict.fromkeys(str(step.asked[PROMPT]) for step in trace.steps if PROMPT in step.asked)),
        {again: list(cells.values()) for again, cells in strips.items()},
    )


def _texts(value: Shown) -> list[str]:
    """What is text in a value."""
    if value is None or isinstance(value, Shot | Mapping):
        return []
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, str | int | float):
        return [_cut(str(value))]
    return [text for each in value for text in _texts(each)]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST} more characters)"


def changed_words(before: str | None, after: str) -> Words:
    """Mark the words of a text that are new, and those of the text before it that are gone.

    >>> changed_words("a red cup", "a blue cup")
    [('same', 'a '), ('gone', 'red '), ('new', 'blue '), ('same', 'cup')]
    """
    old, new = (re.findall(r"^\s+|\S+\s*", text) for text in (before or "", after))
    if before is None or before == after or max(len(old), len(new)) > MOST_WORDS:
        return [("same", after)] if after else []
    marked: Words = []
    bare_old, bare_new = ([word.strip() for word in words] for words in (old, new))
    codes = SequenceMatcher(None, bare_old, bare_new, autojunk=False).get_opcodes()
    for tag, start, end, new_start, new_end in codes:
        if tag != "equal" and end > start:
            marked.append(("gone", "".join(old[start:end])))
        if new_end > new_start:
            marked.append(("same" if tag == "equal" else "new", "".join(new[new_start:new_end])))
    return marked

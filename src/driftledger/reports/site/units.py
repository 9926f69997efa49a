"""A unit of a score as a page shows it: a strip of steps with pictures, texts and numbers, whatever
the benchmark."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks.base import Benchmark, Metric
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace

PROMPT = "prompt"
DESCRIPTION = "description"
"""Keys of texts in a step: the prompt, which a unit shows once, and a description, which is set
against the one before it."""
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
class Column:
    """Steps that are shown together."""

    steps: list[Step] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    """Descriptions, with what has changed since the step before."""
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Further texts that a component was sent for the first time, or answered."""


Strips: TypeAlias = dict[str, dict[str, Column]]
"""Repeat, empty for the first → what stands above a column → its steps."""


def files_of(trace: Trace) -> Iterator[Path]:
    """The files of all images in a trace."""
    for shown in (
        trace.inputs,
        trace.outputs,
        *(each for step in trace.steps for each in (step.inputs, step.outputs)),
    ):
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
    titles = (
        (re.sub(r"\\{\w+\\}", ".+", re.escape(metric.title)), metric) for metric in spec.metrics
    )
    return next((metric for pattern, metric in titles if re.fullmatch(pattern, title)), None)


def texts_of(shown: Mapping[str, Shown]) -> dict[str, list[str]]:
    """What is text among values."""
    return {key: texts for key, value in shown.items() if (texts := _texts(value))}


def strips_of(trace: Trace) -> Strips:
    """Set the steps of each repeat side by side."""
    seen = {(key, text) for key, texts in texts_of(trace.inputs).items() for text in texts}
    strips: Strips = {}
    before: str | None = None
    for step in trace.steps:
        before = before if step.again in strips else None
        head = step.column or step.name
        column = strips.setdefault(step.again, {}).setdefault(head, Column())
        column.steps.append(step)
        gave = texts_of(step.outputs)
        for text in gave.pop(DESCRIPTION, []):
            column.words.append(changed_words(before, text))
            seen.add((DESCRIPTION, text))
            before = text
        for key, texts in ({} if step.options else texts_of(step.inputs)).items():
            if key != PROMPT and (
                new := [text for text in texts if text != head and (key, text) not in seen]
            ):
                column.facts.setdefault(key, []).extend(new)
                seen |= {(key, text) for text in new}
        for key, texts in gave.items():
            if key not in trace.facts and not isinstance(step.outputs[key], float):
                column.facts.setdefault(key, []).extend(texts)
                seen |= {(key, text) for text in texts}
    return strips


def _texts(value: Shown) -> list[str]:
    if value is None or isinstance(value, Shot | Mapping):
        return []
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, str | int | float):
        text = str(value)
        return [
            text
            if len(text) <= LONGEST
            else f"{text[:LONGEST]} … ({len(text) - LONGEST} more characters)"
        ]
    return [text for each in value for text in _texts(each)]


def changed_words(before: str | None, after: str) -> Words:
    """Mark the words of a text that are new, and those of the text before it that are gone.

    >>> changed_words("a red cup", "a blue cup")
    [('same', 'a '), ('gone', 'red '), ('new', 'blue '), ('same', 'cup')]
    """
    old = re.findall(r"^\s+|\S+\s*", before or "")
    new = re.findall(r"^\s+|\S+\s*", after)
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

"""A unit of a score on a page: pictures, texts and numbers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.traces import Shot, Shown, Step, Trace
from driftledger.scoring.metric import Metric

PROMPT = "prompt"
DESCRIPTION = "description"
"""Keys of texts in a step: the prompt, which a unit shows once, and a description, which is
compared with the one before it."""
LONGEST = 5_000
"""Characters of a text; longer ones are cut."""
MOST_WORDS = 2_000
"""Words of a text; longer ones, which take seconds to compare, are not marked."""

Words = list[tuple[str, str]]
"""Neighbouring words with the same fate: ``same``, ``gone`` or ``new``."""


class UnitNumber(NamedTuple):
    """A value of a unit."""

    title: str
    text: str
    value: float
    share: float | None
    """The length of its bar, from 0 to 1; None for a value without a ceiling."""


@dataclass
class StepColumn:
    """Steps that a page shows in one column."""

    steps: list[Step] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    """Descriptions, with what has changed since the step before."""
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Further texts that a component was sent for the first time, or answered."""


Strips = dict[str, dict[str, StepColumn]]
"""Repeat, empty for the first → the head of a column → its steps."""


def files_of(trace: Trace) -> Iterator[Path]:
    """Yield the files of all images in a trace."""
    parts: list[Trace | Step] = [trace, *trace.steps]
    for part in parts:
        for value in chain(part.inputs.values(), part.outputs.values()):
            if isinstance(value, Shot):
                yield value.file


def number_of(spec: Benchmark, title: str, value: float) -> UnitNumber:
    """Write a value like its metric, or with three decimals if no metric is found."""
    metric = _metric(spec, title)
    if metric is None:
        return UnitNumber(title, f"{value:.3f}", value=value, share=None)
    text = f"{value:.{metric.digits}f}"
    if metric.unit == "%":
        text += " %"
    share = None
    if metric.ceiling:
        share = min(max(value / metric.ceiling, 0.0), 1.0)
    return UnitNumber(title, text, value=value, share=share)


@cache
def _metric(spec: Benchmark, title: str) -> Metric | None:
    for metric in spec.metrics:
        pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(metric.title))
        if re.fullmatch(pattern, title):
            return metric
    return None


def texts_of(values: Mapping[str, Shown]) -> dict[str, list[str]]:
    """Return the texts among values."""
    texts = {}
    for key, value in values.items():
        if own := _texts(value):
            texts[key] = own
    return texts


def strips_of(trace: Trace) -> Strips:
    """Set the steps of each repeat side by side."""
    seen = {key: {*texts} for key, texts in texts_of(trace.inputs).items()}
    strips: Strips = {}
    before: str | None = None
    for step in trace.steps:
        if step.again not in strips:
            before = None
            strips[step.again] = {}
        head = step.column or step.name
        column = strips[step.again].setdefault(head, StepColumn())
        column.steps.append(step)
        replies = texts_of(step.outputs)
        for text in replies.pop(DESCRIPTION, []):
            column.words.append(changed_words(before, text))
            seen.setdefault(DESCRIPTION, set()).add(text)
            before = text
        sent = {} if step.options else texts_of(step.inputs)
        sent.pop(PROMPT, None)
        facts: dict[str, list[str]] = {}
        for key, texts in sent.items():
            known = {head, *seen.get(key, ())}
            facts[key] = [text for text in texts if text not in known]
        for key, texts in replies.items():
            if key not in trace.facts and not isinstance(step.outputs[key], float):
                facts.setdefault(key, []).extend(texts)
        for key, texts in facts.items():
            if texts:
                column.facts.setdefault(key, []).extend(texts)
                seen.setdefault(key, set()).update(texts)
    return strips


def _texts(value: Shown) -> list[str]:
    if value is None or isinstance(value, Shot | Mapping):
        return []
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, str | int | float):
        text = str(value)
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]} … ({len(text) - LONGEST} more characters)"
        return [text]
    return [*chain.from_iterable(map(_texts, value))]


def changed_words(before: str | None, after: str) -> Words:
    """Compare a text with the one before it, word by word.

    >>> changed_words("a red cup", "a blue cup")
    [('same', 'a '), ('gone', 'red '), ('new', 'blue '), ('same', 'cup')]
    """
    old = re.findall(r"^\s+|\S+\s*", before or "")
    new = re.findall(r"^\s+|\S+\s*", after)
    is_long = max(len(old), len(new)) > MOST_WORDS
    if before is None or before == after or is_long:
        return [("same", after)] if after else []
    marked: Words = []
    bare_old = [word.strip() for word in old]
    bare_new = [word.strip() for word in new]
    matcher = SequenceMatcher(None, bare_old, bare_new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal" and end > start:
            marked.append(("gone", "".join(old[start:end])))
        if new_end > new_start:
            fate = "same" if tag == "equal" else "new"
            marked.append((fate, "".join(new[new_start:new_end])))
    return marked

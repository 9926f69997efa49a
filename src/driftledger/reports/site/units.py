"""A unit of a score as a page shows it: a strip of steps with pictures, texts and numbers, whatever the benchmark."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

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


@dataclass
class Number:
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


@dataclass
class UnitView:
    """A unit in one model's hands."""

    name: str
    outcome: Outcome
    numbers: list[Number]
    pictures: list[tuple[Path, str]]
    facts: list[tuple[str, list[str]]]
    """What was asked, and what is known of the unit."""
    prompt: str
    strips: dict[str, list[StepCell]]
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
    """Put the steps of a trace side by side: what is in one column together, and each text and picture once."""
    seen_texts = {(key, text) for key, value in trace.asked.items() for text in _texts(value)}
    asked_files = [(shot.file, "what was asked about") for shot in trace.asked.values() if isinstance(shot, Shot)]
    seen_files = {file for file, _ in asked_files}
    strips: dict[str, dict[str, StepCell]] = {}
    before: dict[str, str] = {}
    for step in trace.steps:
        if step.again not in strips:
            strips[step.again], before = {}, {}
            if trace.start:
                start = StepCell(trace.start, [(file, "the original") for file, _ in asked_files])
                strips[step.again][trace.start] = start
        column = step.column or step.name
        cell = strips[step.again].setdefault(column, StepCell(column))
        cell.marks += [step.mark] if step.mark else []
        cell.options, cell.good = step.options or cell.options, cell.good if step.good is None else step.good
        if step.outcome is not Outcome.OK:
            cell.troubles.append((step.outcome, _cut(step.error or "")))
        for key, value in (*step.asked.items(), *step.gave.items()):
            texts = _texts(value)
            if isinstance(value, Shot):
                if value.file not in seen_files:
                    cell.pictures.append((value.file, f"{key} of {step.name}"))
                seen_files.add(value.file)
            elif isinstance(value, float):
                cell.numbers.append(number_of(spec, key, value))
            elif texts and key not in (PROMPT, *trace.known) and (key, column) not in [(key, text) for text in texts]:
                repeats_itself = bool(step.options) or seen_texts.issuperset((key, text) for text in texts)
                if key in step.gave or not repeats_itself:
                    if key == DESCRIPTION:
                        cell.words.append(changed_words(before.get(key), texts[0]))
                        before[key] = texts[0]
                    else:
                        cell.facts.setdefault(key, Counter())["\n".join(texts)] += 1
            seen_texts.update((key, text) for text in texts)
    facts = [(key, texts) for key, value in (*trace.asked.items(), *trace.known.items()) if (texts := _texts(value))]
    return UnitView(
        trace.unit,
        trace.outcome,
        [number_of(spec, title, value) for title, value in trace.values.items()],
        [] if trace.start else asked_files,
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
        gone, come = "".join(old[start:end]), "".join(new[new_start:new_end])
        if tag == "equal":
            marked.append(("same", come))
        else:
            marked += [*([("gone", gone)] if gone else []), *([("new", come)] if come else [])]
    return marked

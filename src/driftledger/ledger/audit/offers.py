"""What a text could mean that names no run, file or image: a value on a slide, a metric, a component, a dataset."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Group
from rich.table import Table

from driftledger.benchmarks.base import kind_of
from driftledger.benchmarks.score import base_key
from driftledger.core.terminal import HEAD, figure, line, lines, table
from driftledger.ledger.audit.answer import SHORT, headline_of, value_of
from driftledger.ledger.audit.numbers import Number, numbers_in
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.lineage import Evidence

_MOST = 9
"""Offers that are shown."""


class Offer(NamedTuple):
    """One thing that could be meant."""

    value: str
    on: str
    """The dataset or question set, or what all of it is of."""
    target: str
    """What to type after ``driftledger audit``."""


def meant(sources: Sources, text: str) -> list[Offer]:
    """What ``text`` could mean, the likeliest first, going by the scores here; a value also by those in Git's history.

    A value is meant as it is written: by ``0.72`` all that round to it, percentages of what lies between 0 and 1 too.
    """
    text = text.strip()
    value = re.fullmatch(r"(-?\d*(?:[.,](\d+))?) ?%?", text)
    if value and any(letter.isdigit() for letter in text):
        wanted, digits = float(value[1].replace(",", ".")), len(value[2] or "")
        return _of_value(sources, f"{wanted:.{digits}f}", digits)
    return [*_of_metric(sources, text.casefold()), *_of_name(sources, text)]


def as_offers(asked: str, offers: Sequence[Offer]) -> Group:
    """A line each, with the command to type."""
    shown: Table = table("value", "on", "type", numbers=["value"])
    for each in offers[:_MOST]:
        shown.add_row(line(each.value), line(each.on), line(f"driftledger audit {each.target}"))
    more = [f"and {len(offers) - _MOST} more"] if len(offers) > _MOST else []
    return Group(line(f"{asked:.40} could mean:", HEAD), shown, lines(more))


def _of_value(sources: Sources, wanted: str, digits: int) -> list[Offer]:
    def is_meant(value: float) -> bool:
        percent = 100 * value if 0 <= value <= 1 else value
        return wanted in (f"{value:.{digits}f}", f"{percent:.{digits}f}")

    found = [(run, number) for run, number in _numbers(sources) if is_meant(number.value)]
    if found:
        return [_offered(*each) for each in sorted(found, key=lambda each: _rank(each[1]))]
    offers = []
    for standing in sources.history.scores if sources.history else ():
        facts = sources.history.stored(standing.blob).facts if sources.history else None
        if facts is not None and facts.value is not None and is_meant(facts.value):
            [model, *_] = (each for each in facts.versions if each.role == "model")
            version = shlex.quote(f"{model.name}@{model.fingerprint[:SHORT]}")
            offers.append(Offer(figure(facts.value, max(digits, 4)), facts.on, f"--model {version}"))
    return list(dict.fromkeys(reversed(offers)))


def _of_metric(sources: Sources, name: str) -> list[Offer]:
    """The numbers that are called so: by key, by title, or by the benchmark whose headline they are."""
    found = []
    for run, number in _numbers(sources):
        metric, headline = number.metric, headline_of(number.lineage)
        title = metric.named(number.key) if metric and metric.match(number.key) else ""
        called = {number.key, title, number.name, number.tracked(number.lineage.place)}
        if number.key == headline.key:
            called |= {number.lineage.score.benchmark, number.lineage.spec.title, number.lineage.place}
        if name and name in map(str.casefold, called):
            found.append(_offered(run, number))
    return found


def _of_name(sources: Sources, name: str) -> Iterator[Offer]:
    """The runs and all scores of a component or a dataset."""
    for run in sources.current:
        if name == run.combination.model:
            yield Offer("", "its run", shlex.quote("/".join(run.combination)))
    scores = [lineage.score for run in sources.current for lineage in run.lineages]
    kinds = [kind_of(role) for score in scores for role, card in score.components.items() if card.name == name]
    for kind in dict.fromkeys([*kinds, *("dataset" for score in scores if score.on == name)]):
        yield Offer("", "every score", f"--{kind} {shlex.quote(name)}")


def _numbers(sources: Sources) -> Iterator[tuple[Evidence, Number]]:
    """Every number of the runs here, with the first run that shows it."""
    seen = set[str]()
    for run in sources.current:
        for lineage in run.lineages:
            if lineage.score_file.path not in seen:
                seen.add(lineage.score_file.path)
                yield from ((run, number) for number in numbers_in(lineage) if not _is_twice(number))


def _is_twice(number: Number) -> bool:
    """Whether it is the end of an interval out of a curve, which stands among the metrics as well."""
    curve, step, _ = number.key.partition("@")
    return bool(step) and base_key(curve) != curve


def _offered(run: Evidence, number: Number) -> Offer:
    alone = sum(number.key in {key for key, _ in each.score.numbers()} for each in run.lineages) == 1
    target = f"{'/'.join(run.combination)}:{number.key if alone else number.name}"
    return Offer(value_of(number).partition(" ")[0], number.lineage.on, shlex.quote(target))


def _rank(number: Number) -> tuple[bool, bool, bool]:
    """Headlines first, then what is of a whole score; ends of intervals last."""
    metric, key = number.metric, number.key.partition("@")[0]
    return base_key(key) != key, metric is None or not metric.headline, "/" in number.key

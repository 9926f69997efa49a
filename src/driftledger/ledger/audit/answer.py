"""The short answer of an audit: the value, which versions are behind it, how far it is checked, what to type next.

At most twelve lines of 80 columns; all that is known stands in :mod:`driftledger.ledger.audit.audit`.
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from rich.console import Group

from driftledger.benchmarks.base import NEEDED_FOR, ROLES, base_role, kind_of
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.tables import title_of
from driftledger.components.card import ComponentCard
from driftledger.core.terminal import HEAD, as_many, facts, figure, line
from driftledger.ledger.audit.audit import code_of
from driftledger.ledger.audit.image_audit import image_answer
from driftledger.ledger.audit.numbers import Number
from driftledger.ledger.audit.targets import ImageTarget, Origin, RunTarget
from driftledger.ledger.lineage import Lineage

SHORT = 8
"""Letters of a fingerprint or digest, which ``audit --generator NAME@VERSION`` takes."""

_OF_RUNS = ("model", "generator", "encoder", "text_encoder", "judge")
"""Roles that a whole run's answer names."""

DIGITS = 4
"""Decimals of a number that no table of metrics has."""

_WIDE, _LINES = 62, 12
"""Letters beside a role's name, and lines of an answer."""

_CHECKED: dict[Origin, str] = {
    "dvc.lock": "score.json, against dvc.lock; nothing behind it yet",
    "git": "score.json and dvc.lock are of one commit; nothing behind them",
    "mlflow": "nothing: this is what the run in MLflow says of itself",
}
"""What an audit has compared by itself."""

Facts: TypeAlias = list[tuple[str, str]]


def as_answer(target: RunTarget | ImageTarget) -> Group:
    """The answer to ``audit``."""
    if isinstance(target, ImageTarget):
        head, told = image_answer(target)
    elif number := target.number or (target.lineage and headline_of(target.lineage)):
        head, told = said(number), _of_number(target, number)
    else:
        head, told = f"{target.evidence.name}, fingerprint {target.evidence.fingerprint[:12]}", _of_run(target)
    return Group(line(as_many([head], _WIDE + 14), HEAD), facts(told))


def headline_of(lineage: Lineage) -> Number:
    """The first headline of a score; how much it covers, where it has none."""
    key, value = lineage.spec.headline(lineage.score)
    return Number("coverage", lineage.score.coverage, lineage) if value is None else Number(key, value, lineage)


def said(number: Number) -> str:
    """``GC@5 on photos: 0.743 [0.720, 0.766]``, and of which group it is, where it is of one."""
    metric, (kind, _, rest), key = number.metric, number.key.partition("/"), number.key.rpartition("/")[2]
    title = title_of(key, metric) if metric is not None and metric.match(key) is not None else key
    of = f" of {kind} {rest.rpartition('/')[0]}" if rest else ""
    return f"{title}{of} on {number.lineage.place.partition('/')[2]}: {value_of(number)}"


def value_of(number: Number) -> str:
    """With as many decimals as are known, and its interval."""
    return figure(number.value, number.metric.digits if number.metric else DIGITS, number.interval)


def _of_number(target: RunTarget, number: Number) -> Facts:
    evidence, lineage, score = target.evidence, number.lineage, number.lineage.score
    run = f"{evidence.name}, {evidence.fingerprint[:12]}" if target.is_run else "none that is selected here"
    cards = [
        (base_role(role), _version(card, score.served.get(role, {})))
        for role, card in score.components.items()
        if number.metric is None or NEEDED_FOR[base_role(role)] & number.metric.needs
    ]
    return [
        ("run", as_many([run], _WIDE)),
        *_by_role(cards),
        (lineage.spec.data.name.replace("_", " "), f"{as_many([_data(lineage)], _WIDE)}, {how_many(score)} scored"),
        ("commit", code_of(target, short=True)),
        ("checked", _CHECKED[target.known]),
        *_to_know(score.flags),
        *_next(target),
    ]


def _of_run(target: RunTarget) -> Facts:
    lineages = target.evidence.lineages
    cards = [
        (kind_of(role), _version(card, each.score.served.get(role, {})))
        for each in lineages
        for role, card in each.score.components.items()
        if role in _OF_RUNS
    ]
    below = [
        *_by_role(cards),
        ("data", as_many(list(dict.fromkeys(map(_data, lineages))), _WIDE)),
        ("commit", code_of(target, short=True)),
        *_to_know(dict.fromkeys(flag for each in lineages for flag in each.score.flags)),
        *_next(target),
    ]
    letters = _WIDE * (_LINES - 1 - len(below)) - 20  # lines end where words do
    return [("scores", as_many([said(headline_of(each)) for each in lineages], letters, "; ")), *below]


def _by_role(cards: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """A line for each role."""
    by_role: dict[str, dict[str, None]] = {}
    for role, version in cards:
        by_role.setdefault(role, {})[version] = None
    return ((role.replace("_", " "), as_many(list(by_role[role]), _WIDE)) for role in ROLES if role in by_role)


def _version(card: ComponentCard, served: Iterable[str]) -> str:
    told = ", ".join(served)
    return f"{card.name}@{card.fingerprint[:SHORT]}" + (f" (served as {told})" if told else "")


def _data(lineage: Lineage) -> str:
    return f"{lineage.on}@{lineage.score.inputs.data_digest[:SHORT]}"


def _to_know(flags: Iterable[str]) -> Facts:
    told = list(flags)
    return [("to know", as_many(told, _WIDE - 11))] if told else []


def _next(target: RunTarget) -> Facts:
    """By its fingerprint where the names of a run are long, or another's by now."""
    name = shlex.quote("/".join(target.evidence.combination))
    short = name if target.known == "dvc.lock" and len(name) < 30 else target.evidence.fingerprint[:12]
    verify = f"driftledger verify {short}; " if target.is_run else ""
    return [("next", f"{verify}more: --full")]

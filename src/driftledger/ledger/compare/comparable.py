"""Whether two scores may be ranked: what differs between them, and what each difference does to a comparison.

A difference is *compared* where it is what the comparison is about, *unfair* where it moves the numbers by itself, and
*noted* where a reader should know it. What is compared is one of the model, the generator and the encoder; what is
unfair stands in each benchmark's table of rules, with the reason.
"""

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.base import Benchmark, Input, Rule
from driftledger.benchmarks.coverage import Difference, difference
from driftledger.benchmarks.score import Score
from driftledger.components.card import ComponentCard
from driftledger.core.changes import Change, shown_apart
from driftledger.ledger.changes import component_changes
from driftledger.ledger.lineage import Lineage

Weight = Literal["compared", "unfair", "noted"]

_COMPARED = ("model", "generator")
_DATA = {
    "dataset": "other samples are harder or easier",
    "question_set": "other questions are harder or easier",
}


class Differing(BaseModel):
    """One thing in which A and B differ, and what that does to the comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    a: str
    b: str
    weight: Weight
    why: str | None = None
    """Why it is unfair."""
    concerns: tuple[str, ...] | None = None
    """The metrics that it makes unfair; None is all of them."""

    @property
    def reason(self) -> str:
        """One sentence, without its full stop."""
        return Difference(self.what, self.a, self.b, self.why).reason

    def bars(self, metric: str) -> bool:
        """Whether A and B must not be ranked by this metric."""
        return self.weight == "unfair" and (self.concerns is None or metric in self.concerns)


class _Fact(NamedTuple):
    same: Any
    """Equal where A and B do not differ."""
    said: str | None = None
    """For people; None where the value says it."""


_NOTHING = _Fact(None)


def differing(a: Lineage, b: Lineage, metrics: Collection[str]) -> list[Differing]:
    """Everything in which the scores of one benchmark differ, other than in their values.

    Args:
        metrics: those by which they may be ranked.
    """
    spec = a.spec
    rules = {rule.fact: rule for rule in (*spec.unfair, Rule(spec.data.name, _DATA[spec.data.name]))}
    left, right = _facts(a), _facts(b)
    found = []
    for what in [*left, *(what for what in right if what not in left)]:
        one, two = left.get(what, _NOTHING), right.get(what, _NOTHING)
        if one.same == two.same:
            continue
        rule = rules.get(what)
        weight: Weight = "unfair" if rule else "compared" if what in _COMPARED else "noted"
        apart = shown_apart(one.same, two.same)
        found.append(
            Differing(
                what=what.replace("_", " "),
                a=one.said or apart[0],
                b=two.said or apart[1],
                weight=weight,
                why=rule.why if rule else None,
                concerns=_concerned(spec, metrics, rule.concerns, rule.moves) if rule else None,
            )
        )
    return [*found, *_two_at_once(spec, found, metrics), *_coverage(a.score, b.score)]


def what_changed(a: Lineage, b: Lineage) -> Iterator[str]:
    """What differs below one name: settings and versions of components, and the code of one version."""
    ours, theirs = a.score.components, b.score.components
    for role, one, two in ((role, card, theirs[role]) for role, card in ours.items() if role in theirs):
        if one.fingerprint == two.fingerprint and one.code != two.code:
            code = Change(key="code", old=one.code, new=two.code)
            yield f"{role} {one.name}, {code}, both of version {one.version}"
        elif one.name == two.name and one.fingerprint != two.fingerprint:
            yield from (f"{role} {one.name}, {change}" for change in component_changes(one, two))


def _concerned(
    spec: Benchmark, metrics: Collection[str], named: Collection[str] = (), needed: Input | None = None
) -> tuple[str, ...] | None:
    """Those of the metrics that are ``named``, or else that need an input; None where all are."""
    found = []
    for key in metrics:
        metric = spec.metric(key)
        if metric is not None and (metric.key in named if named else needed is None or needed in metric.needs):
            found.append(key)
    return None if len(found) == len(metrics) else tuple(found)


def _two_at_once(spec: Benchmark, found: list[Differing], metrics: Collection[str]) -> Iterator[Differing]:
    if set(_COMPARED) <= {each.what for each in found}:
        why = "both differ, and a difference could come from either"
        concerns = _concerned(spec, metrics, needed=Input.DRAWN)
        yield Differing(what="model and generator", a="", b="", weight="unfair", why=why, concerns=concerns)


def _coverage(a: Score, b: Score) -> Iterator[Differing]:
    """How much is in the denominators, which must be alike, and how much could be read, which a reader should know."""
    found = difference(a, b)
    if found is not None:
        yield Differing(**found._asdict(), weight="unfair" if found.why else "noted")
    if a.coverage != b.coverage and (found is None or found.what != "coverage"):
        said = [f"{score.scored}/{score.total}, {score.coverage:.1%}" for score in (a, b)]
        yield Differing(what="coverage", a=said[0], b=said[1], weight="noted")


def _facts(lineage: Lineage) -> dict[str, _Fact]:
    score, spec = lineage.score, lineage.spec
    facts = {role: _card(card) for role, card in score.components.items()}
    for role, versions in score.served.items():
        facts[f"served_{role}"] = _Fact(sorted(versions), ", ".join(sorted(versions)))
    facts[spec.data.name] = _Fact(score.inputs.data_digest, score.inputs.data_digest[:12])
    return facts | {name: _Fact(value) for name, value in spec.facts(score).items()} | {"N": _Fact(score.total)}


def _card(card: ComponentCard) -> _Fact:
    return _Fact(card.fingerprint, f"{card.name} {card.fingerprint[:12]}")

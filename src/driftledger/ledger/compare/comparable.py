"""Whether two scores may be ranked: what differs between them, and what each difference does to a comparison.

A difference is *compared* where it is what the comparison is about, *unfair* where it moves the numbers by itself, and
*noted* where a reader should know it. What is compared is one of the model, the generator and the encoder; everything
that is unfair stands in :data:`RULES`, benchmark by benchmark, with the reason.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import DescriptionsCard, FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.components.card import ComponentCard
from driftledger.ledger.changes import component_changes, shown_apart
from driftledger.ledger.lineage import AnyScore, Behind

MOST_COVERAGE = 0.05
"""How far coverages may lie apart: who leaves out what is hard has the better score."""

Weight = Literal["compared", "unfair", "noted"]


class Rule(NamedTuple):
    """A fact in which two scores must agree to be ranked."""

    fact: str
    why: str
    concerns: tuple[str, ...] = ()
    """The metrics that it moves; none stands for all of the benchmark."""


_DATA = (
    Rule("dataset", "other samples are harder or easier"),
    Rule("describe prompt", "another prompt asks for another description"),
    Rule("length", "longer descriptions tell more"),
)
_QUESTIONS = (
    Rule("question set", "other questions are harder or easier"),
    Rule("prompt", "another prompt asks another question"),
    Rule("parser", "another parser reads other answers from the same replies"),
)
_SCALE = "values seen through different encoders are on different scales"

RULES: dict[str, tuple[Rule, ...]] = {
    "genception": (
        *_DATA,
        Rule("generate prompt", "another prompt draws another image"),
        Rule("T", "more iterations drift further"),
        Rule("encoder", _SCALE),
    ),
    "trac": (
        *_DATA,
        Rule("examples", "in-context examples show how to describe"),
        Rule("text encoder", _SCALE),
    ),
    "fidelity": (
        *_DATA,
        Rule("generate prompt", "another prompt draws another image", ("ssim", "clip_s_i", "image_similarity")),
        Rule("encoder", _SCALE, ("clip_s", "clip_s_i", "image_similarity")),
        Rule("SSIM side", "SSIM depends on the size at which it looks", ("ssim",)),
    ),
    "mm_sap": (*_QUESTIONS, Rule("free refusals count", "refusals in free text count in one of them only")),
    "mm_vet": (
        *_QUESTIONS,
        Rule("judge", "another judge grades otherwise"),
        Rule("served judge", "another served version of the judge may grade otherwise"),
        Rule("grade prompt", "another prompt asks for another grade"),
    ),
    "mme": _QUESTIONS,
}
"""Benchmark → what must be equal. Beside these, coverages may differ by :data:`MOST_COVERAGE`, and of the model and the
generator at most one may differ, except for CLIP-S, which is of a description that nobody has drawn yet."""

_COMPARED = ("model", "generator")
_DRAWN = {"genception": (), "fidelity": ("ssim", "clip_s_i", "image_similarity")}
"""Benchmarks with a generator, and which of their metrics it moves."""


class Differing(BaseModel):
    """One thing in which A and B differ, and what that does to the comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    a: str
    b: str
    weight: Weight
    why: str | None = None
    """Why it is unfair."""
    concerns: tuple[str, ...] = ()
    """The metrics that it makes unfair; none stands for all."""

    @property
    def reason(self) -> str:
        """One sentence, without its full stop."""
        return f"{self.what} differs ({self.a} and {self.b}): {self.why}" if self.a else f"{self.what}: {self.why}"

    def bars(self, metric: str) -> bool:
        """Whether A and B must not be ranked by this metric."""
        return self.weight == "unfair" and (not self.concerns or metric in self.concerns)


class _Fact(NamedTuple):
    same: Any
    """Equal where A and B do not differ."""
    said: str | None = None
    """For people; None where the value says it."""


def differing(a: Behind[AnyScore], b: Behind[AnyScore]) -> list[Differing]:
    """Everything in which the scores of one benchmark differ, other than in their values."""
    rules = {rule.fact: rule for rule in RULES[a.score.benchmark]}
    left, right = _facts(a), _facts(b)
    found = []
    for what in [*left, *(what for what in right if what not in left)]:
        one, two = left.get(what, _NONE), right.get(what, _NONE)
        if one.same == two.same:
            continue
        rule = rules.get(what)
        weight: Weight = "unfair" if rule else "compared" if what in _COMPARED else "noted"
        why, concerns = (rule.why, rule.concerns) if rule else (None, ())
        said = one.said or shown_apart(one.same, two.same)[0], two.said or shown_apart(one.same, two.same)[1]
        found.append(Differing(what=what, a=said[0], b=said[1], weight=weight, why=why, concerns=concerns))
    return [*found, *_two_at_once(a.score.benchmark, found), *_coverage(a.score, b.score)]


def what_changed(a: Behind[AnyScore], b: Behind[AnyScore]) -> Iterator[str]:
    """Of components that are called the same and are not: which settings differ."""
    ours, theirs = a.cards, b.cards
    for role in ours.keys() & theirs.keys():
        one, two = ours[role], theirs[role]
        if one.name == two.name and one.fingerprint != two.fingerprint:
            yield from (f"{role} {one.name}, {change}" for change in component_changes(one, two))


def _two_at_once(benchmark: str, found: list[Differing]) -> Iterator[Differing]:
    if benchmark in _DRAWN and {"model", "generator"} <= {each.what for each in found}:
        why = "both differ, and a difference could come from either"
        concerns = _DRAWN[benchmark]
        yield Differing(what="model and generator", a="", b="", weight="unfair", why=why, concerns=concerns)


def _coverage(a: AnyScore, b: AnyScore) -> Iterator[Differing]:
    if a.coverage == b.coverage:
        return
    said = [f"{score.scored}/{score.total}, {score.coverage:.1%}" for score in (a, b)]
    # scored/total of both as integers: 0.95 - 0.9 is above 0.05 as floats
    far = abs(a.scored * b.total - b.scored * a.total) * 100 > round(MOST_COVERAGE * 100) * a.total * b.total
    why = f"more than {MOST_COVERAGE:.0%} apart: what is left out is seldom what is easy" if far else None
    yield Differing(what="coverage", a=said[0], b=said[1], weight="unfair" if far else "noted", why=why)


_NONE = _Fact(None)


def _facts(behind: Behind[AnyScore]) -> dict[str, _Fact]:
    score = behind.score
    facts = {role.replace("_", " "): _card(card) for role, card in behind.cards.items()}
    for role, versions in score.served.items():
        facts[f"served {role}"] = _Fact(sorted(versions), ", ".join(sorted(versions)))
    by_kind: dict[type, Callable[[Any], dict[str, _Fact]]] = {
        ScoreFile: _of_chain,
        FidelityScore: _of_chain,
        TracScore: _of_trac,
        QuestionScore: _of_questions,
    }
    return facts | by_kind[type(score)](score) | {"N": _Fact(score.total)}


def _of_chain(score: ScoreFile | FidelityScore) -> dict[str, _Fact]:
    chain, settings = score.inputs.chain, score.inputs.settings
    facts = {
        "dataset": _digest(score.inputs.dataset_digest),
        "describe prompt": _Fact(chain.describe_prompt),
        "length": _length(chain.max_tokens),
        "generate prompt": _Fact(chain.generate_prompt),
        "seed": _Fact([chain.seed, settings.get("seed")], str(chain.seed)),
    }
    if isinstance(score, ScoreFile):
        return facts | {"T": _Fact(chain.iterations)}
    return facts | {"SSIM side": _Fact(settings.get("ssim_side"))}


def _of_trac(score: TracScore) -> dict[str, _Fact]:
    card = score.inputs.descriptions
    return {
        "dataset": _digest(score.inputs.dataset_digest),
        "describe prompt": _Fact(card.prompt),
        "length": _length(card.max_tokens[0]),
        "examples": _examples(card),
        "seed": _Fact([card.seed, score.inputs.settings.get("seed")], str(card.seed)),
    }


def _examples(card: DescriptionsCard) -> _Fact:
    """Those of the headline, which is the condition with the most of them."""
    shown_with = card.demonstrations
    if shown_with is None:
        return _NONE
    cards = [each.fingerprint if each else None for each in (shown_with.encoder, shown_with.by)]
    by = shown_with.by.name if shown_with.by else "the model itself"
    seen = f" through {shown_with.encoder.name}" if shown_with.encoder else ""
    most = max(shown_with.shots)
    return _Fact([shown_with.choose, most, *cards], f"{most} by {shown_with.choose}{seen}, described by {by}")


def _of_questions(score: QuestionScore) -> dict[str, _Fact]:
    grades, settings = score.inputs.grades, score.inputs.settings
    facts = {
        "question set": _digest(score.inputs.question_set_digest),
        "prompt": _Fact(grades.answers.prompt),
        "parser": _Fact(grades.parser),
        "grade prompt": _Fact(grades.grade_prompt),
        "gradings": _Fact(grades.gradings),
        "permutations": _Fact(grades.answers.variants),
        "seed": _Fact([grades.answers.seed, settings.get("seed")], str(grades.answers.seed)),
    }
    if score.benchmark == "mm_sap":
        facts["free refusals count"] = _Fact(settings.get("count_free_refusals"))
    return facts


def _card(card: ComponentCard) -> _Fact:
    return _Fact(card.fingerprint, f"{card.name} {card.fingerprint[:12]}")


def _digest(digest: str) -> _Fact:
    return _Fact(digest, digest[:12])


def _length(max_tokens: int | None) -> _Fact:
    return _Fact(max_tokens, "the model's own limit" if max_tokens is None else f"{max_tokens} tokens")

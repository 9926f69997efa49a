"""Top-1 by condition: a table as in the paper's Table 3, and lines."""

from collections.abc import Iterator, Sequence
from itertools import chain, product

from driftledger.benchmarks.base import BenchmarkTable, ShownValue
from driftledger.benchmarks.trac.protocol import EXAMPLES, Condition, protocol_of
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.number import Number
from driftledger.scoring.score import Score, Scores

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}


def table_of_conditions(scores: Scores) -> BenchmarkTable:
    """Return top-1 with lengths down and examples across, as in Table 3.

    Without examples, lengths are across.
    """
    protocols = [protocol_of(score) for score in scores]
    shots = sorted({0}.union(*(protocol.shots for protocol in protocols)))
    lengths = chain.from_iterable(protocol.max_tokens for protocol in protocols)
    conditions = [Condition(length) for length in dict.fromkeys(lengths)]
    if len(shots) > 1:
        by = f"examples ({_choice_of_examples(scores[0])}), as in Table 3"
        head = [f"{number}-shot" for number in shots]
        lines = {}
        for each in conditions:
            lines[f" ({each.length})"] = [each._replace(shots=n) for n in shots]
    else:
        by = "length"
        head = [each.length for each in conditions]
        lines = {"": conditions}
    return BenchmarkTable(
        f"top-1 (%) by {by}; in brackets the mean number of words; coverage is the lowest of a row",
        ["", *head, COVERAGE.title],
        rows=[_row(score, *line) for score, line in product(scores, lines.items())],
        name="conditions",
    )


def _row(
    score: Score, label: str, conditions: Sequence[Condition]
) -> list[ShownValue | str]:
    control = " (control)" if score.is_control else ""
    row: list[ShownValue | str] = [f"{score.model}{control}{label}"]
    shares = []
    for condition in conditions:
        values = _values(score, condition)
        words = f"{values['words']:.0f}" if "words" in values else ""
        number = f"condition/{condition.name}/top1"
        row.append(ShownValue(values.get("top1"), score, number=number, more=words))
        if values:
            shares.append(values["scored"] / values["total"])
    share = min(shares, default=score.coverage)
    source = score if share == score.coverage else None
    digits = COVERAGE.digits
    return [*row, ShownValue(share, source, number=COVERAGE.name, digits=digits)]


def _values(score: Score, condition: Condition) -> dict[str, float]:
    """Return metric → its value under a condition."""
    values = {}
    for number in score.numbers:
        is_own = number.group_kind == "condition" and number.group == condition.name
        if is_own and number.value is not None:
            values[number.metric] = number.value
    return values


def _choice_of_examples(score: Score) -> str:
    """Return how examples were chosen, e.g. SIIR through clip, described by gpt_4v."""
    how = _ABBREVIATIONS[score.inputs.protocol["choose"]]
    encoder, by = map(score.components.get, EXAMPLES)
    if encoder:
        how += f" through {encoder.name}"
    if by:
        how += f", described by {by.name}"
    return how


def top1_by_length(score: Score) -> dict[int, Number]:
    """Return top-1 without examples by length, 0 for no limit; none of a single length."""
    return _several(
        {c.max_tokens or 0: top1 for c, top1 in _top1(score) if not c.shots}
    )


def top1_by_examples(score: Score) -> dict[int, Number]:
    """Return top-1 at the headline's length by number of examples; none without examples."""
    length = protocol_of(score).headline.max_tokens
    return _several(
        {c.shots: top1 for c, top1 in _top1(score) if c.max_tokens == length}
    )


def votes(score: Score) -> dict[int, Number]:
    """Return the vote of the k nearest by k."""
    return {number.t: number for number in score.over_t("vote") if number.t is not None}


def _top1(score: Score) -> Iterator[tuple[Condition, Number]]:
    for condition in protocol_of(score).conditions:
        top1 = score.find("top1", None, "condition", condition.name)
        if top1 is not None:
            yield condition, top1


def _several(points: dict[int, Number]) -> dict[int, Number]:
    return points if len(points) > 1 else {}

"""Top-1 by condition: the paper's Table 3, and lines."""

from collections.abc import Mapping, Sequence
from itertools import chain, product

from driftledger.benchmarks.trac.protocol import EXAMPLES, Condition, protocol_of
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import Score, Scores
from driftledger.scoring.table import Cell, Table, number_cell

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}


def table_of_conditions(scores: Scores) -> Table:
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
        for condition in conditions:
            lines[f" ({condition.length})"] = [
                condition._replace(shots=n) for n in shots
            ]
    else:
        by = "length"
        head = [condition.length for condition in conditions]
        lines = {"": conditions}
    return Table(
        f"top-1 (%) by {by}; in brackets the mean number of words; coverage is the lowest of a row",
        ["", *head, COVERAGE.title],
        rows=[_row(score, *line) for score, line in product(scores, lines.items())],
        name="conditions",
    )


def _row(score: Score, label: str, conditions: Sequence[Condition]) -> list[Cell | str]:
    control = " (control)" if score.is_control else ""
    row: list[Cell | str] = [f"{score.model}{control}{label}"]
    shares = []
    for condition in conditions:
        group = "condition", condition.name
        own = [number for number in score.numbers if number.place[2:] == group]
        values = {number.metric: number.value or 0.0 for number in own}
        words = f"{values['words']:.0f}" if "words" in values else ""
        place = Place("top1", group_kind="condition", group=condition.name)
        top1 = values.get("top1")
        row.append(number_cell(top1, more=words, score=score, place=place))
        if values:
            shares.append(values["scored"] / values["total"])
    share = min(shares, default=score.coverage)
    source = score if share == score.coverage else None
    place = Place(COVERAGE.name)
    return [*row, number_cell(share, COVERAGE.digits, score=source, place=place)]


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
    """Return top-1 by length without examples (0: no limit); empty for one length."""
    conditions = protocol_of(score).conditions
    return _top1(score, {c.max_tokens or 0: c for c in conditions if not c.shots})


def top1_by_examples(score: Score) -> dict[int, Number]:
    """Return top-1 at the headline's length by number of examples; empty without any."""
    protocol = protocol_of(score)
    length = protocol.headline.max_tokens
    conditions = [c for c in protocol.conditions if c.max_tokens == length]
    return _top1(score, {c.shots: c for c in conditions})


def _top1(score: Score, steps: Mapping[int, Condition]) -> dict[int, Number]:
    points = {}
    for step, condition in steps.items():
        top1 = score.find("top1", None, "condition", condition.name)
        if top1 is not None:
            points[step] = top1
    return points if len(points) > 1 else {}

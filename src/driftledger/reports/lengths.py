"""TRAC's accuracy over the length of descriptions, as in the paper's Figure 8, and over k, as in its Figure 4."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.description_records import Condition, TracScore
from driftledger.reports.plots import Panel, Point, draw_panels, draw_sentence, even_steps
from driftledger.reports.trac_block import Block, blocks


def draw_lengths(scores: Sequence[TracScore]) -> bytes:
    """A PNG: top-1 with its interval over the maximum length, a line per model, a panel per dataset and way to ask.

    It is of the fewest examples and of the first text encoder. Where no way to ask has several lengths, the picture
    says so.
    """
    title = "TRAC: accuracy by length of the descriptions"
    panels = list(_length_panels(scores))
    if not panels:
        return draw_sentence(
            title,
            "There is nothing to show: of the ways to ask that are selected, none has more than one length. "
            "Give an entry of descriptions in params.yaml several max_tokens, and select it in run.descriptions.",
        )
    return draw_panels(title, "top-1, %", panels)


def draw_votes(scores: Sequence[TracScore]) -> bytes:
    """A PNG: the accuracy of the majority among the k nearest over k, a line per model, a panel per dataset and way.

    It is of the first text encoder. Where no class has more than one support sample, the picture says so.
    """
    title = "TRAC: accuracy of the vote among the k nearest"
    panels = list(_vote_panels(scores))
    if not panels:
        return draw_sentence(
            title, "There is nothing to show: no dataset of TRAC has several support samples per class."
        )
    return draw_panels(title, "accuracy, %", panels)


def _length_panels(scores: Sequence[TracScore]) -> Iterator[Panel]:
    for block in blocks(scores):
        swept = {score.model: _at_fewest_shots(score) for score in block.first}
        lengths = sorted({condition.max_tokens for some in swept.values() for condition in some}, key=_longest_last)
        if len(lengths) > 1:
            ticks = {float(place): "no limit" if each is None else str(each) for place, each in enumerate(lengths)}
            lines = {
                model: [_point(lengths.index(condition.max_tokens), condition) for condition in some]
                for model, some in swept.items()
            }
            yield Panel(_title(block), "longest description allowed, in tokens", ticks, lines, _chance(block))


def _at_fewest_shots(score: TracScore) -> list[Condition]:
    fewest = min(condition.shots for condition in score.conditions)
    there = [condition for condition in score.conditions if condition.shots == fewest]
    return sorted(there, key=lambda condition: _longest_last(condition.max_tokens))


def _longest_last(max_tokens: int | None) -> tuple[bool, int]:
    return max_tokens is None, max_tokens or 0


def _point(place: int, condition: Condition) -> Point:
    metrics = condition.metrics
    return Point(place, metrics["top1"], metrics.get("top1_low"), metrics.get("top1_high"))


def _vote_panels(scores: Sequence[TracScore]) -> Iterator[Panel]:
    for block in blocks(scores):
        lines = {score.model: [Point(row["k"], row["vote"]) for row in score.vote] for score in block.first}
        most = max((int(point.x) for line in lines.values() for point in line), default=1)
        if most > 1:
            step = int(even_steps(most))
            ticks = dict.fromkeys([1, *range(step, most, step), most])
            shown = {float(k): str(k) if k in (1, most) or most - k > step / 2 else "" for k in ticks}
            yield Panel(_title(block), "k", shown, lines, _chance(block))


def _title(block: Block) -> str:
    return f"{block.dataset} · {block.description} · {block.encoders[0]}"


def _chance(block: Block) -> float | None:
    return block.first[0].metrics.get("chance")

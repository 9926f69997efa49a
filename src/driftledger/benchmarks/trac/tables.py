"""Models side by side, as in the paper's Figure 3 and Tables 3 and 5: a row per model, through one text encoder."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Origin, SideBySide, Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import (
    NOTHING,
    cell,
    column,
    head_of,
    interval,
    metrics_in,
    misplaced,
    name_cell,
    name_head,
    ordered,
    places,
)
from driftledger.benchmarks.trac.records import condition_name, length_name

MOST = 5
"""So many pairs of classes, and so many hard classes, are listed."""

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}


_PARTS = {
    "top1_naming": "top-1 naming it",
    "top1_not_naming": "not naming it",
    "top1_without_leaks": "without images that the support set has too",
}
"""Of the test descriptions, as a column's head says it."""

_TOLD = {"top1", "class_mean", "vote_best", "vote_best_k", "chance", "leak_rate", "other_rate", "words", *_PARTS}
"""Metrics with a column of their own; further ones come after the first table's."""


def tables(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """What is told apart, by naming the class or not, under which conditions, and what is not."""
    order = ordered(block.scores, {score.model: score.metrics["top1"] for score in block.scores})
    yield _distinctiveness(spec, order, block)
    yield _naming(order)
    yield from _conditions(order)
    yield from _confusions(order[0])


_WAYS = {"top1": "top-1 (interval)", "class_mean": "class mean", "vote_best": "best vote (its k)"}
"""The paper's, and the heads of their columns."""


def _distinctiveness(spec: Benchmark, scores: Sequence[Score], block: SideBySide) -> Table:
    """The paper's three ways to classify."""
    heads, at = dict(_WAYS), {}
    for key, title in _WAYS.items():
        values, metric = [score.metrics.get(key) for score in scores], spec.metric(key)
        assert metric is not None  # it is in the table
        heads[key] = title + misplaced(scores, values, metric)
        at[key] = places(scores, values, metric, block.standing(key))
    further = {key: metric for key, metric in metrics_in(spec, scores).items() if key not in _TOLD}
    more = [column(scores, key, metric, block) for key, metric in further.items()]

    def row(place: int, score: Score) -> Cells:
        metrics = score.metrics
        vote, best = metrics.get("vote_best"), metrics.get("vote_best_k")
        return [
            name_cell(score),
            cell(metrics.get("top1"), at["top1"][place], 2, interval(metrics, "top1"), Origin(score, "top1")),
            cell(at["top1"][place].rank, digits=0, of=Origin(score, "top1")),
            cell(metrics.get("class_mean"), at["class_mean"][place], of=Origin(score, "class_mean")),
            cell(vote, at["vote_best"][place], 2, "" if best is None else f"{best:.0f}", Origin(score, "vote_best")),
            cell(metrics.get("chance"), of=Origin(score, "chance")),
            *(cells[place] for cells in more),
        ]

    headline = scores[0].details["headline"]
    several = len(scores[0].groups["condition"]) > 1
    return Table(
        "whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5",
        [
            "",
            heads["top1"],
            "rank",
            heads["class_mean"],
            heads["vote_best"],
            "chance",
            *(head_of(scores, key, metric) for key, metric in further.items()),
        ],
        [row(place, score) for place, score in enumerate(scores)],
        [f"Unless a row says otherwise, the values are of {headline}."] if several else [],
        [score.coverage for score in scores],
    )


def _naming(scores: Sequence[Score]) -> Table:
    """Whether descriptions are told apart by what they show, or by the name of the class in them."""
    there = [part for part in _PARTS if any(part in score.metrics for score in scores)]
    rows: list[Cells] = [
        [
            name_cell(score),
            *(cell(score.metrics.get(key), of=Origin(score, key)) for key in ("leak_rate", "other_rate")),
            cell(score.metrics.get("words"), digits=1, of=Origin(score, "words")),
            *(cell(score.metrics.get(part), of=Origin(score, part)) for part in there),
        ]
        for score in scores
    ]
    title = "how many descriptions name a class, in %, and top-1 among those that name their own and those that do not"
    head = ["", "name their class", "name another", "words", *(_PARTS[part] for part in there)]
    return Table(title, head, rows, coverages=[score.coverage for score in scores], name="naming")


def _conditions(scores: Sequence[Score]) -> Iterator[Table]:
    """Lengths down and examples across, as in Table 3; lengths across, where there are no examples."""
    if all(len(score.groups["condition"]) < 2 for score in scores):
        return
    shots = sorted({number for score in scores for number in (0, *score.inputs.protocol["shots"])})
    lengths = list(dict.fromkeys(length for score in scores for length in score.inputs.protocol["max_tokens"]))
    note = "the mean number of words in brackets; coverage is the lowest of a row"
    if len(shots) > 1:
        title = f"top-1 by length and examples ({_how_shown(scores[0])}), as in Table 3; {note}"
        head = [f"{number}-shot" for number in shots]
        asked = [
            (f"{name_head(score)} ({length_name(length)})", score, [condition_name(length, number) for number in shots])
            for score in scores
            for length in lengths
        ]
    else:
        title = f"top-1 by length; {note}"
        head = [length_name(length) for length in lengths]
        asked = [(name_head(score), score, [condition_name(length, 0) for length in lengths]) for score in scores]
    rows: list[Cells] = [[name, *_top1(score, names)] for name, score, names in asked]
    coverages = [_least(score, names) for _, score, names in asked]
    yield Table(title, ["", *head], rows, (), coverages, name="conditions")


def _least(score: Score, names: Sequence[str]) -> float:
    """The lowest coverage of the conditions of these names."""
    there = [score.groups["condition"][name] for name in names if name in score.groups["condition"]]
    return min((each["scored"] / each["total"] for each in there), default=score.coverage)


def _top1(score: Score, names: Sequence[str]) -> Iterator[Cell]:
    """The conditions of these names; no best, since rows are of the headline's condition alone."""
    for name in names:
        metrics = score.groups["condition"].get(name, {})
        words = metrics.get("words")
        more = "" if words is None else f"{words:.0f}"
        yield cell(metrics.get("top1"), more=more, of=Origin(score, f"condition/{name}/top1"))


def _how_shown(score: Score) -> str:
    """How examples were chosen, seen and described, e.g. SIIR through clip, described by gpt_4v."""
    how: str = _ABBREVIATIONS[score.inputs.protocol["choose"]]
    encoder, by = (score.components.get(role) for role in ("example_encoder", "example_model"))
    how += f" through {encoder.name}" if encoder else ""
    return how + (f", described by {by.name}" if by else "")


def _confusions(best: Score) -> Iterator[Table]:
    """What the best model's descriptions do not tell apart."""
    rows: list[Cells] = [
        [
            *(pair["first"], pair["second"], cell(pair["rate"], of=Origin(best, ""))),
            *(cell(pair[key], digits=0, of=Origin(best, "")) for key in ("first_as_second", "second_as_first")),
        ]
        for pair in best.details["confused"][:MOST]
    ]
    classes, notes = best.groups["class"], []
    if len(classes) > 1:
        hardest = sorted(classes.items(), key=lambda item: (item[1]["top1"], item[0]))[:MOST]
        listed = ", ".join(f"{label} {values['top1']:.2f}" for label, values in hardest)
        notes = [f"Hardest classes for {best.model}, by top-1 in %: {listed}."]
    if rows or notes:
        head = ["a class", "and another", "taken for each other, %", "the one for the other", "the other for the one"]
        title = f"classes that are confused most by {best.model}"
        yield Table(title, head, rows or [[NOTHING] * len(head)], notes, name="confused", detail=True)

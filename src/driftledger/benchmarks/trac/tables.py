"""Models side by side, as in the paper's Figure 3 and Tables 3 and 5: a row per model, through one text encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Origin, Table
from driftledger.benchmarks.coverage import Difference, difference
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import (
    NOTHING,
    best_first,
    cell,
    column,
    interval,
    metrics_in,
    ranks_of,
    telling_ranks,
    title_of,
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


def tables(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """What is told apart, by naming the class or not, under which conditions, and what is not."""
    by_model = {score.model: score for score in scores}
    ordered = [by_model[name] for name in best_first({score.model: score.metrics["top1"] for score in scores})]
    yield _distinctiveness(spec, ordered)
    yield _naming(ordered)
    yield from _conditions(ordered)
    yield from _confusions(ordered[0])


def _distinctiveness(spec: Benchmark, scores: Sequence[Score]) -> Table:
    """The paper's three ways to classify."""
    ranks = ranks_of([score.metrics.get("top1") for score in scores])
    class_mean, vote_best = (
        ranks_of([score.metrics.get(key) for score in scores]) for key in ("class_mean", "vote_best")
    )
    further = {key: metric for key, metric in metrics_in(spec, scores).items() if key not in _TOLD}
    more = [column(scores, key, metric) for key, metric in further.items()]

    def row(place: int, score: Score) -> Cells:
        metrics = score.metrics
        vote, best = metrics.get("vote_best"), metrics.get("vote_best_k")
        return [
            score.model,
            cell(metrics.get("top1"), ranks[place], 2, interval(metrics, "top1"), Origin(score, "top1")),
            cell(ranks[place], digits=0, of=Origin(score, "top1")),
            cell(metrics.get("class_mean"), class_mean[place], of=Origin(score, "class_mean")),
            cell(vote, vote_best[place], 2, "" if best is None else f"{best:.0f}", Origin(score, "vote_best")),
            cell(metrics.get("chance"), of=Origin(score, "chance")),
            *(cells[place] for cells in more),
        ]

    headline = scores[0].details["headline"]
    several = len(scores[0].groups["condition"]) > 1
    heads = ["", "top-1 (interval)", "rank", "class mean", "best vote (its k)", "chance"]
    return Table(
        "whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5",
        [*heads, *(title_of(key, metric) for key, metric in further.items())],
        [row(place, score) for place, score in enumerate(scores)],
        [f"Unless a row says otherwise, the values are of {headline}."] if several else [],
        [score.coverage for score in scores],
    )


def _naming(scores: Sequence[Score]) -> Table:
    """Whether descriptions are told apart by what they show, or by the name of the class in them."""
    there = [part for part in _PARTS if any(part in score.metrics for score in scores)]
    rows: list[Cells] = [
        [
            score.model,
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
    note = "each model's best in bold, the mean number of words in brackets; coverage is the lowest of a row"
    if len(shots) > 1:
        title = f"top-1 by length and examples ({_how_shown(scores[0])}), as in Table 3; {note}"
        head = [f"{number}-shot" for number in shots]
        asked = [
            (f"{score.model} ({length_name(length)})", score, [condition_name(length, number) for number in shots])
            for score in scores
            for length in lengths
        ]
    else:
        title = f"top-1 by length; {note}"
        head = [length_name(length) for length in lengths]
        asked = [(score.model, score, [condition_name(length, 0) for length in lengths]) for score in scores]
    rows: list[Cells] = [[name, *_top1(score, names)] for name, score, names in asked]
    notes = [f"No best of {score.model}: {apart.reason}." for score in scores if (apart := _apart(score)) and apart.why]
    coverages = [_least(score, names) for _, score, names in asked]
    yield Table(title, ["", *head], rows, notes, coverages, name="conditions")


class _Counts(NamedTuple):
    """How much of a condition is in its figures."""

    counted: int
    total: int

    @property
    def scored(self) -> int:
        return self.counted

    @classmethod
    def of(cls, condition: Mapping[str, float]) -> "_Counts":
        return cls(round(condition["scored"]), round(condition["total"]))


def _apart(score: Score) -> Difference | None:
    """How far the coverages of a model's conditions lie apart."""
    counts = sorted(map(_Counts.of, score.groups["condition"].values()), key=lambda each: each.counted / each.total)
    return difference(counts[-1], counts[0])


def _least(score: Score, names: Sequence[str]) -> float:
    """The lowest coverage of the conditions of these names."""
    there = [_Counts.of(score.groups["condition"][name]) for name in names if name in score.groups["condition"]]
    return min((each.counted / each.total for each in there), default=score.coverage)


def _top1(score: Score, names: Sequence[str]) -> Iterator[Cell]:
    """The conditions of these names; bold is the best of all that the model was asked under, where these may be ranked
    by their coverages."""
    conditions, apart = score.groups["condition"], _apart(score)
    ranks = telling_ranks([None if apart and apart.why else each["top1"] for each in conditions.values()])
    rank_of = dict(zip(conditions, ranks, strict=True))
    for name in names:
        metrics = conditions.get(name, {})
        words = metrics.get("words")
        more = "" if words is None else f"{words:.0f}"
        yield cell(metrics.get("top1"), rank_of.get(name), 2, more, Origin(score, f"condition/{name}/top1"))


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

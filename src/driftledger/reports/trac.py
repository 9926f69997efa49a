"""TRAC's models side by side, as in the paper's Figure 3 and Tables 3 and 5: a row per model, encoders side by side."""

from collections.abc import Iterator, Sequence
from itertools import chain

from driftledger.benchmarks.description_records import TracScore
from driftledger.core.escaping import for_csv, for_markdown
from driftledger.reports.tables import cell, flag_lines, grouped, interval, markdown_table, telling_ranks
from driftledger.reports.trac_block import Block, asked_how, blocks, condition_name, headline_name, length_name

MOST = 5
"""So many pairs of classes, and so many hard classes, are listed."""


def trac_tables(scores: Sequence[TracScore]) -> list[str]:
    """Markdown lines: per dataset and way to ask, what is told apart, by naming the class or not, and what is not."""
    lines: list[str] = []
    for dataset, some in grouped(blocks(scores), lambda block: block.dataset).items():
        lines += [f"## trac on {dataset}", ""]
        for block in some:
            lines += [f"### {block.description}", "", *_headline(block)]
            lines += [*_distinctiveness(block), *_naming(block), *_conditions(block), *_confusions(block)]
            lines += flag_lines(block.scores.values())
    return lines


def trac_rows(scores: Sequence[TracScore]) -> Iterator[tuple[object, ...]]:
    """Rows of the leaderboard's CSV: the headline with ranks, every class, every condition and every k of the vote."""
    for block in blocks(scores):
        ranks = {
            (model, encoder, metric): rank
            for encoder in block.encoders
            for metric in ("top1", "class_mean", "vote_best")
            for model, rank in zip(block.models, block.ranks(encoder, metric), strict=True)
        }
        for (model, encoder), score in block.scores.items():
            for metric, kind, name, value in _values(score):
                rank = ranks.get((model, encoder, metric)) if kind == "overall" else None
                fixed = (score.dataset, "", encoder, f"trac/{metric}", kind, score.description)
                yield (*fixed, for_csv(name), model, value, "" if rank is None else rank)


def _values(score: TracScore) -> Iterator[tuple[str, str, str, float]]:
    """Metric, kind, name and value."""
    for metric, value in sorted(score.metrics.items()):
        yield metric, "overall", "overall", value
    for label, values in sorted(score.by_class.items()):
        for metric, value in sorted(values.items()):
            yield metric, "class", label, value
    for condition in score.conditions:
        for metric, value in sorted(condition.metrics.items()):
            yield metric, "condition", condition_name(condition), value
    for point in score.vote:
        yield "vote", "k", f"{point['k']:.0f}", point["vote"]


def _headline(block: Block) -> list[str]:
    score = block.of_model(block.models[0])
    if len(score.conditions) < 2:
        return []
    return [f"Where nothing else is said, the values are of {headline_name(score)}.", ""]


def _distinctiveness(block: Block) -> Iterator[str]:
    """The paper's three ways to classify, with every encoder."""
    title = "whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5"
    of_encoder = ("top-1 (interval)", "rank", "class mean", "best vote (its k)")
    head = ["", *chain(*([f"{encoder}: {of_encoder[0]}", *of_encoder[1:]] for encoder in block.encoders))]
    ranks = {(e, m): block.ranks(e, m) for e in block.encoders for m in ("top1", "class_mean", "vote_best")}

    def row(place: int, model: str) -> Iterator[str]:
        yield model
        for encoder in block.encoders:
            score = block.scores.get((model, encoder))
            metrics = score.metrics if score else {}
            rank = {metric: ranks[encoder, metric][place] for metric in ("top1", "class_mean", "vote_best")}
            yield cell(metrics.get("top1"), rank["top1"], more=interval(metrics, "top1"))
            yield cell(rank["top1"], digits=0)
            yield cell(metrics.get("class_mean"), rank["class_mean"])
            best = metrics.get("vote_best_k")
            yield cell(metrics.get("vote_best"), rank["vote_best"], more="" if best is None else f"{best:.0f}")
        said = block.of_model(model)
        yield cell(said.metrics.get("chance"))
        yield f"{said.scored}/{said.total}"

    rows = [list(row(place, model)) for place, model in enumerate(block.models)]
    return markdown_table(title, [*head, "chance", "scored"], rows)


def _naming(block: Block) -> Iterator[str]:
    """Whether descriptions are told apart by what they show, or by the name of the class in them."""
    title = "how many descriptions name a class, in %, and top-1 among those that name their own and those that do not"
    parts = {
        "top1_naming": "top-1 naming it",
        "top1_not_naming": "not naming it",
        "top1_without_leaks": "without images that the support set has too",
    }
    there = [part for part in parts if any(part in score.metrics for score in block.scores.values())]
    head = ["", "name their class", "name another", "words"]
    head += [f"{encoder}: {parts[part]}" for encoder in block.encoders for part in there]

    def row(model: str) -> Iterator[str]:
        said = block.of_model(model).metrics
        yield from (model, cell(said.get("leak_rate")), cell(said.get("other_rate")), cell(said.get("words"), digits=1))
        for encoder in block.encoders:
            score = block.scores.get((model, encoder))
            yield from (cell(score.metrics.get(part) if score else None) for part in there)

    return markdown_table(title, head, [list(row(model)) for model in block.models])


def _conditions(block: Block) -> Iterator[str]:
    """Lengths down and examples across, as in Table 3; lengths across, where there are no examples."""
    scores = block.first
    if all(len(score.conditions) < 2 for score in scores):
        return
    every = [condition for score in scores for condition in score.conditions]
    shots = sorted({condition.shots for condition in every})
    lengths = list(dict.fromkeys(condition.max_tokens for condition in every))
    note = f"through {block.encoders[0]}; each model's best in bold, the mean number of words in brackets"
    if len(shots) > 1:
        title = f"top-1 by length and examples ({asked_how(scores[0])}), as in Table 3, {note}"
        head = [f"{number}-shot" for number in shots]
        rows = [
            [f"{score.model} ({length_name(length)})", *_top1(score, [(length, number) for number in shots])]
            for score in scores
            for length in lengths
        ]
    else:
        title = f"top-1 by length, {note}"
        head = [length_name(length) for length in lengths]
        rows = [[score.model, *_top1(score, [(length, shots[0]) for length in lengths])] for score in scores]
    yield from markdown_table(title, ["", *head], rows)


def _top1(score: TracScore, places: Sequence[tuple[int | None, int]]) -> Iterator[str]:
    """The conditions of these lengths and shots; bold is the best of all that the model was asked under."""
    ranks = telling_ranks([condition.metrics["top1"] for condition in score.conditions])
    there = {
        (condition.max_tokens, condition.shots): (condition.metrics, rank)
        for condition, rank in zip(score.conditions, ranks, strict=True)
    }
    for place in places:
        metrics, rank = there.get(place, ({}, None))
        words = metrics.get("words")
        yield cell(metrics.get("top1"), rank, more="" if words is None else f"{words:.0f}")


def _confusions(block: Block) -> Iterator[str]:
    """What the best model's descriptions do not tell apart, through the first encoder."""
    best = block.first[0]
    through = f"{best.model}, through {block.encoders[0]}"
    if best.confused:
        rows = [
            (
                for_markdown(pair.first),
                for_markdown(pair.second),
                cell(pair.rate),
                str(pair.first_as_second),
                str(pair.second_as_first),
            )
            for pair in best.confused[:MOST]
        ]
        head = ("a class", "and another", "taken for each other, %", "the one for the other", "the other for the one")
        yield from markdown_table(f"classes that are confused most by {through}", head, rows)
    if len(best.by_class) > 1:
        hardest = sorted(best.by_class.items(), key=lambda item: (item[1]["top1"], item[0]))[:MOST]
        said = ", ".join(f"{for_markdown(label)} {values['top1']:.2f}" for label, values in hardest)
        yield f"Hardest classes for {through}, by top-1 in %: {said}."
        yield ""

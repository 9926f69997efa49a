"""Models side by side, as in the paper's Figure 3 and Tables 3 and 5: a row per model, text encoders side by side."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from driftledger.benchmarks.base import Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import NOTHING, best_first, cell, interval, ranks_of, telling_ranks
from driftledger.benchmarks.trac.records import condition_name, length_name
from driftledger.core.escaping import for_markdown

MOST = 5
"""So many pairs of classes, and so many hard classes, are listed."""

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}
_RANKED = ("top1", "class_mean", "vote_best")


class _Asked(NamedTuple):
    """The scores of one dataset and one way to ask; encoders stand as they are selected, models best first."""

    encoders: tuple[str, ...]
    models: tuple[str, ...]
    scores: dict[tuple[str, str], Score]
    """Of a model, with an encoder; a pair that was not scored is not in it."""

    def ranks(self, encoder: str, metric: str) -> tuple[int | None, ...]:
        there = (self.scores.get((model, encoder)) for model in self.models)
        return ranks_of([None if score is None else score.metrics.get(metric) for score in there])

    def of_model(self, model: str) -> Score:
        """The first encoder's score, for what no encoder has a part in."""
        return next(self.scores[model, encoder] for encoder in self.encoders if (model, encoder) in self.scores)

    @property
    def first(self) -> list[Score]:
        """The first encoder's scores, the best first."""
        there = (self.scores.get((model, self.encoders[0])) for model in self.models)
        return [score for score in there if score is not None]


def tables(scores: Sequence[Score]) -> Iterator[Table]:
    """What is told apart, by naming the class or not, under which conditions, and what is not."""
    asked = _asked(scores)
    yield _distinctiveness(asked)
    yield _naming(asked)
    yield from _conditions(asked)
    yield from _confusions(asked)


def _asked(scores: Sequence[Score]) -> _Asked:
    encoders = tuple(dict.fromkeys(score.keys["text_encoder"] for score in scores))
    top1: dict[str, float | None] = {score.model: None for score in scores}
    top1 |= {score.model: score.metrics["top1"] for score in scores if score.keys["text_encoder"] == encoders[0]}
    by_pair = {(score.model, score.keys["text_encoder"]): score for score in scores}
    return _Asked(encoders, best_first(top1), by_pair)


def _distinctiveness(asked: _Asked) -> Table:
    """The paper's three ways to classify, with every encoder."""
    of_encoder = ("top-1 (interval)", "rank", "class mean", "best vote (its k)")
    head = ["", *chain(*([f"{encoder}: {of_encoder[0]}", *of_encoder[1:]] for encoder in asked.encoders))]
    ranks = {(encoder, metric): asked.ranks(encoder, metric) for encoder in asked.encoders for metric in _RANKED}

    def row(place: int, model: str) -> Iterator[str]:
        yield model
        for encoder in asked.encoders:
            score = asked.scores.get((model, encoder))
            metrics = score.metrics if score else {}
            rank = {metric: ranks[encoder, metric][place] for metric in _RANKED}
            yield cell(metrics.get("top1"), rank["top1"], more=interval(metrics, "top1"))
            yield cell(rank["top1"], digits=0)
            yield cell(metrics.get("class_mean"), rank["class_mean"])
            best = metrics.get("vote_best_k")
            yield cell(metrics.get("vote_best"), rank["vote_best"], more="" if best is None else f"{best:.0f}")
        said = asked.of_model(model)
        yield cell(said.metrics.get("chance"))
        yield f"{said.scored}/{said.total}"

    title = "whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5"
    rows = [list(row(place, model)) for place, model in enumerate(asked.models)]
    score = asked.of_model(asked.models[0])
    notes = [f"Where nothing else is said, the values are of {score.details['headline']}."]
    return Table(title, [*head, "chance", "scored"], rows, notes if len(score.groups["condition"]) > 1 else ())


def _naming(asked: _Asked) -> Table:
    """Whether descriptions are told apart by what they show, or by the name of the class in them."""
    parts = {
        "top1_naming": "top-1 naming it",
        "top1_not_naming": "not naming it",
        "top1_without_leaks": "without images that the support set has too",
    }
    there = [part for part in parts if any(part in score.metrics for score in asked.scores.values())]
    head = ["", "name their class", "name another", "words"]
    head += [f"{encoder}: {parts[part]}" for encoder in asked.encoders for part in there]

    def row(model: str) -> Iterator[str]:
        said = asked.of_model(model).metrics
        yield from (model, cell(said.get("leak_rate")), cell(said.get("other_rate")), cell(said.get("words"), digits=1))
        for encoder in asked.encoders:
            score = asked.scores.get((model, encoder))
            yield from (cell(score.metrics.get(part) if score else None) for part in there)

    title = "how many descriptions name a class, in %, and top-1 among those that name their own and those that do not"
    return Table(title, head, [list(row(model)) for model in asked.models])


def _conditions(asked: _Asked) -> Iterator[Table]:
    """Lengths down and examples across, as in Table 3; lengths across, where there are no examples."""
    scores = asked.first
    if all(len(score.groups["condition"]) < 2 for score in scores):
        return
    shots = sorted({number for score in scores for number in (0, *score.inputs.protocol["shots"])})
    lengths = list(dict.fromkeys(length for score in scores for length in score.inputs.protocol["max_tokens"]))
    note = f"through {asked.encoders[0]}; each model's best in bold, the mean number of words in brackets"
    if len(shots) > 1:
        title = f"top-1 by length and examples ({_how_shown(scores[0])}), as in Table 3, {note}"
        head = [f"{number}-shot" for number in shots]
        rows = [
            [f"{score.model} ({length_name(length)})", *_top1(score, [condition_name(length, k) for k in shots])]
            for score in scores
            for length in lengths
        ]
    else:
        title = f"top-1 by length, {note}"
        head = [length_name(length) for length in lengths]
        rows = [[score.model, *_top1(score, [condition_name(each, 0) for each in lengths])] for score in scores]
    yield Table(title, ["", *head], rows)


def _top1(score: Score, names: Sequence[str]) -> Iterator[str]:
    """The conditions of these names; bold is the best of all that the model was asked under."""
    conditions = score.groups["condition"]
    ranks = telling_ranks([metrics["top1"] for metrics in conditions.values()])
    by_name = dict(zip(conditions, ranks, strict=True))
    for name in names:
        metrics = conditions.get(name, {})
        words = metrics.get("words")
        yield cell(metrics.get("top1"), by_name.get(name), more="" if words is None else f"{words:.0f}")


def _how_shown(score: Score) -> str:
    """How examples were chosen, seen and described, e.g. SIIR through clip, described by gpt_4v."""
    said = _ABBREVIATIONS.get(score.inputs.protocol["choose"], "")
    encoder, by = (score.components.get(role) for role in ("example_encoder", "example_model"))
    said += f" through {encoder.name}" if encoder else ""
    return said + (f", described by {by.name}" if by else "")


def _confusions(asked: _Asked) -> Iterator[Table]:
    """What the best model's descriptions do not tell apart, through the first encoder."""
    best = asked.first[0]
    through = f"{best.model}, through {asked.encoders[0]}"
    rows = [
        [
            for_markdown(pair["first"]),
            for_markdown(pair["second"]),
            cell(pair["rate"]),
            str(pair["first_as_second"]),
            str(pair["second_as_first"]),
        ]
        for pair in best.details["confused"][:MOST]
    ]
    notes = []
    if len(best.groups["class"]) > 1:
        hardest = sorted(best.groups["class"].items(), key=lambda item: (item[1]["top1"], item[0]))[:MOST]
        said = ", ".join(f"{for_markdown(label)} {values['top1']:.2f}" for label, values in hardest)
        notes = [f"Hardest classes for {through}, by top-1 in %: {said}."]
    if rows or notes:
        head = ["a class", "and another", "taken for each other, %", "the one for the other", "the other for the one"]
        yield Table(f"classes that are confused most by {through}", head, rows or [[NOTHING] * len(head)], notes)

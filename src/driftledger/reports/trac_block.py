"""TRAC scores that are compared with each other: every model and text encoder over one dataset, asked in one way."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.benchmarks.description_records import Condition, TracScore
from driftledger.reports.tables import best_first, grouped, ranks_of

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}


class Block(NamedTuple):
    """One dataset and one way to ask; encoders stand as they are selected, models from the best to the worst."""

    dataset: str
    description: str
    encoders: tuple[str, ...]
    models: tuple[str, ...]
    scores: dict[tuple[str, str], TracScore]
    """Of a model, with an encoder; a pair that was not scored is not in it."""

    def values(self, encoder: str, metric: str) -> tuple[float | None, ...]:
        """A metric of every model, as far as it has one."""
        there = (self.scores.get((model, encoder)) for model in self.models)
        return tuple(None if score is None else score.metrics.get(metric) for score in there)

    def ranks(self, encoder: str, metric: str) -> tuple[int | None, ...]:
        return ranks_of(self.values(encoder, metric))

    def of_model(self, model: str) -> TracScore:
        """The first encoder's score, for what no encoder has a part in."""
        return next(self.scores[model, encoder] for encoder in self.encoders if (model, encoder) in self.scores)

    @property
    def first(self) -> list[TracScore]:
        """The first encoder's scores, the best first."""
        there = (self.scores.get((model, self.encoders[0])) for model in self.models)
        return [score for score in there if score is not None]


def blocks(scores: Sequence[TracScore]) -> Iterator[Block]:
    """Blocks in the order in which their first scores came; models by top-1 with the first encoder."""
    for (dataset, description), some in grouped(scores, lambda score: (score.dataset, score.description)).items():
        encoders = tuple(dict.fromkeys(score.encoder for score in some))
        by_pair = {(score.model, score.encoder): score for score in some}
        top1: dict[str, float | None] = {score.model: None for score in some}
        top1 |= {score.model: score.metrics["top1"] for score in some if score.encoder == encoders[0]}
        yield Block(dataset, description, encoders, best_first(top1), by_pair)


def length_name(max_tokens: int | None) -> str:
    """A length as the paper writes it, e.g. l30."""
    return "no limit" if max_tokens is None else f"l{max_tokens}"


def condition_name(condition: Condition) -> str:
    """A condition as the paper names it, e.g. l30, 4-shot."""
    return f"{length_name(condition.max_tokens)}, {condition.shots}-shot"


def headline_name(score: TracScore) -> str:
    """The condition that a score's headline is of: the first length, with the most demonstrations."""
    length = score.inputs.descriptions.max_tokens[0]
    most = max(condition.shots for condition in score.conditions if condition.max_tokens == length)
    return f"{length_name(length)}, {most}-shot"


def asked_how(score: TracScore) -> str:
    """How examples were chosen, seen and described, e.g. SIIR through clip, described by gpt_4v; empty without any."""
    shown = score.inputs.descriptions.demonstrations
    if shown is None:
        return ""
    said = _ABBREVIATIONS.get(shown.choose, shown.choose)
    said += f" through {shown.encoder.name}" if shown.encoder else ""
    return said + (f", described by {shown.by.name}" if shown.by else "")

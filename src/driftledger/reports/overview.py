"""The leaderboard at a glance: one row per model, one column per benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.reports.genception import overall
from driftledger.reports.questions import HEADLINES
from driftledger.reports.tables import best_first, cell, ranks_of

_QUESTIONS = {"mm_sap": "MM-SAP score", "mm_vet": "MM-Vet total", "mme": "MME score"}
_FIDELITY = {"ssim": "SSIM", "clip_s": "CLIP-S"}


class Column(NamedTuple):
    """One benchmark's headline: what it is of, and each model's value, where it has one."""

    title: str
    of: str
    values: Mapping[str, float | None]
    digits: int = 2


def overview(
    scores: Sequence[ScoreFile],
    iterations: int,
    questions: Sequence[QuestionScore],
    trac: Sequence[TracScore],
    fidelity: Sequence[FidelityScore],
) -> list[str]:
    """Markdown lines; of datasets, question sets and components, those that come first. Higher is better everywhere."""
    columns = [*_genception(scores, iterations), *_asked(questions), *_trac(trac), *_fidelity(fidelity)]
    if not columns:
        return []
    models = dict.fromkeys(model for column in columns for model in column.values)
    first = columns[0].values
    order = best_first({model: first.get(model) for model in models})
    ranks = [ranks_of([column.values.get(model) for model in order]) for column in columns]
    lines = ["## At a glance", "", "| | " + " | ".join(column.title for column in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for place, model in enumerate(order):
        cells = (
            cell(column.values.get(model), rank[place], column.digits)
            for column, rank in zip(columns, ranks, strict=True)
        )
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    of = "; ".join(f"{column.title}: {column.of}" for column in columns)
    return [*lines, "", f"Higher is better. {of}.", ""]


def _genception(scores: Sequence[ScoreFile], iterations: int) -> Iterator[Column]:
    if not scores:
        return
    first = scores[0].dataset, scores[0].generator, scores[0].encoder
    some = [score for score in scores if (score.dataset, score.generator, score.encoder) == first]
    values = {score.model: overall(score, f"gc_at_{iterations}") for score in some}
    yield Column(f"GC@{iterations}", " · ".join(first), values, digits=3)


def _asked(questions: Sequence[QuestionScore]) -> Iterator[Column]:
    for benchmark, title in _QUESTIONS.items():
        of = next((score.question_set for score in questions if score.benchmark == benchmark), None)
        some = [score for score in questions if (score.benchmark, score.question_set) == (benchmark, of)]
        if of is not None:
            yield Column(title, of, {score.model: score.metrics.get(HEADLINES[benchmark]) for score in some})


def _trac(scores: Sequence[TracScore]) -> Iterator[Column]:
    if not scores:
        return
    first = scores[0].dataset, scores[0].description, scores[0].encoder
    some = [score for score in scores if (score.dataset, score.description, score.encoder) == first]
    yield Column("TRAC top-1", " · ".join(first), {score.model: score.metrics.get("top1") for score in some})


def _fidelity(scores: Sequence[FidelityScore]) -> Iterator[Column]:
    """Each metric through the first encoder that has it; one that none has is no column."""
    if not scores:
        return
    first = scores[0].dataset, scores[0].generator
    for metric, title in _FIDELITY.items():
        able = [s for s in scores if (s.dataset, s.generator) == first and metric in s.metrics]
        if able:
            encoder = able[0].encoder
            values: dict[str, float | None] = {s.model: s.metrics[metric] for s in able if s.encoder == encoder}
            through = (encoder,) if metric != "ssim" else ()
            yield Column(title, " · ".join((*first, *through)), values)

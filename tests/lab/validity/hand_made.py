"""Hand-made scores of three stages of a model and two versions of a generator, as files below a folder."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from driftledger.benchmarks._questions.records import QuestionOutcome
from driftledger.benchmarks.description_records import Redrawn, Retrieved
from driftledger.benchmarks.genception.records import SampleScore
from driftledger.benchmarks.settings import GenCeption
from driftledger.core.files import Record, read_json, write_json, write_jsonl
from driftledger.core.paths import Combination, Layout, questions_file, samples_file
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QUESTIONS, QuestionEntry
from driftledger.project.settings import Run
from lab.validity.assembled import Ranked, Validity, assemble
from lab.validity.ladder import Ladder
from lab.validity.measured import MEASURED, Describer, Interval, Measured, Painter, Retrieval, share
from lab.validity.report import REPORT, write_validity
from tests.reports.description_scores import fidelity_score, trac_score
from tests.support.ledgers import chain_card, score_file
from tests.support.question_ledgers import question_score

LEVELS = {"early": 0.4, "middle": 0.6, "final": 0.8, "blind": 0.2}
LADDER = Ladder({"early": 100, "middle": 300, "final": 900}, {"brush_1": 50, "brush_2": 200}, "blind", "eye")
RUN = Run(
    datasets=("shapes", "signs"),
    genception=("shapes",),
    trac=("signs",),
    fidelity=("shapes",),
    models=("early", "middle", "final", "blind"),
    generators=("brush_1", "brush_2"),
    encoders=("layout", "eye"),
    text_encoders=("words",),
    descriptions=("local",),
    question_sets=("exam", "pairs"),
    judge="rubric",
    seed=7,
)
GENCEPTION = GenCeption(
    iterations=3,
    describe_prompt="Describe it.",
    generate_prompt="{description}",
    min_coverage=0.9,
    bootstrap={"resamples": 200, "confidence": 0.95},
)
SAMPLES = {"a": "one", "b": "one", "c": "one", "d": "two", "e": "two", "f": "two"}
"""Sample → category."""
SCATTER = {"a": -0.02, "b": 0.0, "c": 0.02, "d": -0.1, "e": 0.0, "f": 0.1}
BETTER = {"brush_1": 0.0, "brush_2": 0.1}
SPREAD = 0.05
"""Half of an interval's width."""
EXACT = {"early": 1, "middle": 5, "final": 9}
"""Descriptions without fault, of ten."""


def with_ends(name: str, value: float, half: float) -> dict[str, float]:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def chained(level: float, generator: str, t: int) -> float:
    return level + BETTER[generator] - 0.05 * t


def write_chains(layout: Layout, model: str, generator: str, encoder: str, level: float) -> None:
    file = layout.scores("genception", "shapes", Combination(model, generator, encoder))
    metrics: dict[str, float] = {}
    for t in (1, 2, 3):
        metrics |= with_ends(f"gc_at_{t}", chained(level, generator, t), SPREAD)
    score = score_file(model=model, generator=generator, encoder=encoder, metrics=metrics)
    inputs = score.inputs.model_copy(update={"chain": chain_card(iterations=3)})
    rows: list[Record] = []
    for sample, category in SAMPLES.items():
        gc = [chained(level, generator, t) + SCATTER[sample] for t in (1, 2, 3)]
        rows.append(SampleScore(sample=sample, category=category, similarity=gc, gc=gc, outcome=Outcome.OK))
    write_json(file, score.model_copy(update={"inputs": inputs}))
    write_jsonl(samples_file(file), rows)


def write_redrawings(layout: Layout, model: str, generator: str, encoder: str, level: float) -> None:
    file = layout.scores("fidelity", "shapes", Combination(model, generator, encoder))
    clip, ssim = 100 * level, 50 * (level + BETTER[generator])
    metrics = with_ends("clip_s", clip, 5.0) | with_ends("ssim", ssim, 5.0) | {f"frechet_{encoder}": 100 - ssim}
    rows = [
        Redrawn(
            sample=sample,
            category=category,
            outcome=Outcome.OK,
            metrics={"clip_s": clip + SCATTER[sample], "ssim": ssim + SCATTER[sample]},
        )
        for sample, category in SAMPLES.items()
    ]
    write_json(file, fidelity_score(model, metrics, dataset="shapes", generator=generator, encoder=encoder))
    write_jsonl(samples_file(file), rows)


def write_retrieved(layout: Layout, model: str, level: float) -> None:
    """Of ten test samples the first so many tenths are taken for their own class; an eleventh has no description."""
    file = layout.trac_scores("signs", model, "local", "words")
    right = round(10 * level)
    rows = [
        Retrieved(sample=str(n), label="zero", outcome=Outcome.OK, top1="zero" if n < right else "one")
        for n in range(10)
    ]
    write_json(file, trac_score(model, 100 * level))
    write_jsonl(samples_file(file), [*rows, Retrieved(sample="x", label="zero", outcome=Outcome.REFUSED)])


def write_answers(layout: Layout, model: str, level: float) -> None:
    """MM-SAP: ten questions about five images. MME: two about each of ten images, half of them in each category."""
    right, file = round(10 * level), layout.question_scores("exam", model)
    values = [[1.0, 1.0] if n < right else [0.0, None] for n in range(10)]
    rows = [QuestionOutcome(question=f"q{n}", group={}, values=each, outcomes=[]) for n, each in enumerate(values)]
    write_json(file, question_score(model=model, metrics=with_ends("score", 100 * level, 6.0)))
    write_jsonl(questions_file(file), rows)
    file, both = layout.question_scores("pairs", model), [[1.0, float(n % 5 < right // 2)] for n in range(10)]
    pairs = [
        QuestionOutcome(question=f"p{n}-{side}", group={}, values=[both[n][side]], outcomes=[])
        for n in range(10)
        for side in (0, 1)
    ]
    metrics = {"score": 50 + 150 * (right // 2) / 5}
    write_json(file, question_score(benchmark="mme", question_set="pairs", model=model, metrics=metrics))
    write_jsonl(questions_file(file), pairs)


def write_questions(layout: Layout) -> None:
    plain: dict[str, Any] = {"image": "i.png", "question": "?"}
    exam = [QuestionEntry(id=f"q{n}", image_id=f"{n // 2}", image_sha256=f"{n // 2}", **plain) for n in range(10)]
    pairs = [
        QuestionEntry(id=f"p{n}-{s}", image_id=f"{n % 5}", image_sha256=f"{n}", category=f"c{n // 5}", **plain)
        for n in range(10)
        for s in (0, 1)
    ]
    write_jsonl(layout.question_set("exam") / QUESTIONS, exam)
    write_jsonl(layout.question_set("pairs") / QUESTIONS, pairs)


def measured(**changes: Any) -> Measured:
    """What was measured of the ladder; the ceiling falls from 0.95 by a tenth with every round."""
    ceiling = [Interval(value, value - 0.01, value + 0.01) for value in (0.95, 0.85, 0.75)]
    plain: dict[str, Any] = {
        "describers": {
            name: Describer(steps, share(n < EXACT[name] for n in range(10))) for name, steps in LADDER.models.items()
        },
        "painters": {
            name: Painter(steps, share([True] * 8 + [False] * 2), {"eye": ceiling})
            for name, steps in LADDER.generators.items()
        },
        "retrieval": Retrieval(share([True] * 9 + [False]), share([True] * 10)),
    }
    return Measured(**plain | changes)


def write_scores(root: Path, levels: Mapping[str, float] = LEVELS) -> Layout:
    """Everything that the report reads: models are as good as ``levels`` say, in all benchmarks."""
    layout = Layout(root)
    for model, level in levels.items():
        for generator, encoder in product(RUN.generators, RUN.encoders):
            write_chains(layout, model, generator, encoder, level)
            write_redrawings(layout, model, generator, encoder, level)
        write_retrieved(layout, model, level)
        write_answers(layout, model, level)
    write_questions(layout)
    write_json(layout.root / MEASURED, measured())
    return layout


def assembled(layout: Layout, ladder: Ladder = LADDER) -> Validity:
    """The report over stored scores."""
    return assemble(layout, RUN, GENCEPTION, ladder, read_json(layout.root / MEASURED, Measured))


def files(layout: Layout) -> list[Path]:
    """Those of the report: tables for programs, tables for people, a picture."""
    return [(layout.root / REPORT).with_suffix(suffix) for suffix in (".json", ".md", ".png")]


def written(layout: Layout) -> list[bytes]:
    write_validity(layout, RUN, GENCEPTION, LADDER)
    return [file.read_bytes() for file in files(layout)]


def one(some: list[Ranked], **wanted: str | None) -> Ranked:
    """The only one that is so."""
    (only,) = [each for each in some if all(getattr(each, name) == value for name, value in wanted.items())]
    return only

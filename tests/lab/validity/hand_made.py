"""Hand-made scores of three stages of a model and two versions of a generator, as files below a folder."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from driftledger.benchmarks.score import Row
from driftledger.core.files import read_json, write_json
from driftledger.core.types import Outcome
from driftledger.project.settings import Settings, parse_settings
from lab.validity.assembled import Ranked, Validity, assemble
from lab.validity.measured import MEASURED, Describer, Interval, Measured, Painter, Retrieval, share
from lab.validity.report import REPORT, write_validity
from lab.validity.stages import Stages
from tests.support.description_ledgers import fidelity_score, trac_row, trac_score
from tests.support.ledgers import genception_row, genception_score, varied, write_scored
from tests.support.params import default_params
from tests.support.question_ledgers import question_score

LEVELS = {"early": 0.4, "middle": 0.6, "final": 0.8, "blind": 0.2, "dice": 0.3}
STAGES = Stages({"early": 100, "middle": 300, "final": 900}, {"brush_1": 50, "brush_2": 200}, ("blind", "dice"), "eye")


def selecting(**run: tuple[str, ...]) -> Settings:
    """The settings of the study, with other lists in ``run``."""
    params = default_params()
    params["run"] |= {
        "datasets": ["shapes", "signs"],
        "question_sets": ["exam", "pairs"],
        "genception": ["shapes"],
        "trac": ["signs"],
        "fidelity": ["shapes"],
        "mm_sap": ["exam"],
        "mm_vet": [],
        "mme": ["pairs"],
        "models": ["early", "middle", "final", "blind", "dice"],
        "generators": ["brush_1", "brush_2"],
        "encoders": ["layout", "eye"],
        "text_encoders": ["words"],
        "descriptions": ["local"],
        "seed": 7,
        **run,
    }
    params["genception"] |= {"iterations": 3, "confidence": 0.95}
    params["models"] |= {name: {"provider": "blind"} for name in LEVELS}
    params["generators"] |= {name: {"provider": "painter"} for name in STAGES.generators}
    params["encoders"] |= {"eye": {"provider": "layout"}, "words": {"provider": "tfidf"}}
    params["descriptions"]["local"] = {"prompt": "Describe it."}
    params["datasets"] |= {name: {"provider": "photos"} for name in ("shapes", "signs")}
    questions = {"exam": "mm_sap", "pairs": "mme"}
    params["question_sets"] = {name: {"provider": "scenes", "protocol": each} for name, each in questions.items()}
    return parse_settings(params, "the settings of the study")


SETTINGS = selecting()
RUN = SETTINGS.run
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


def write_chains(root: Path, model: str, generator: str, encoder: str, level: float) -> None:
    metrics: dict[str, float] = {}
    for t in (1, 2, 3):
        metrics |= with_ends(f"gc_at_{t}", chained(level, generator, t), SPREAD)
    score = genception_score(model=model, generator=generator, encoder=encoder, metrics=metrics)
    rows = []
    for sample, category in SAMPLES.items():
        gc = [chained(level, generator, t) + SCATTER[sample] for t in (1, 2, 3)]
        rows.append(genception_row(sample, gc, gc, category))
    write_scored(root, varied(score, iterations=3), rows)


def write_redrawings(root: Path, model: str, generator: str, encoder: str, level: float) -> None:
    clip, ssim = 100 * level, 50 * (level + BETTER[generator])
    metrics = with_ends("clip_s", clip, 5.0) | with_ends("ssim", ssim, 5.0) | {f"frechet_{encoder}": 100 - ssim}
    rows = [
        Row(
            unit=sample,
            group="all",
            cluster=sample,
            outcome=Outcome.OK,
            values={"clip_s": [clip + SCATTER[sample]], "ssim": [ssim + SCATTER[sample]]},
            extra={"category": category},
        )
        for sample, category in SAMPLES.items()
    ]
    write_scored(root, fidelity_score(model=model, generator=generator, encoder=encoder, metrics=metrics), rows)


def write_retrieved(root: Path, model: str, level: float) -> None:
    """Of ten test samples the first so many tenths are taken for their own class; an eleventh has no description."""
    right = round(10 * level)
    rows = [trac_row(str(n), "zero", "zero" if n < right else "one") for n in range(10)]
    metrics = with_ends("top1", 100 * level, 4.0) | {"class_mean": 100 * level - 1}
    score = trac_score("local", "words", dataset="signs", model=model, metrics=metrics)
    write_scored(root, score, [*rows, trac_row("x", "zero", None)])


def write_answers(root: Path, model: str, level: float) -> None:
    """MM-SAP: ten questions about five images. MME: two about each of ten images, half of them in each category."""
    right = round(10 * level)
    values: list[list[float | None]] = [[1.0, 1.0] if n < right else [0.0, None] for n in range(10)]
    rows = [answered(f"q{n}", "all", f"{n // 2}", each) for n, each in enumerate(values)]
    write_scored(root, question_score(model=model, metrics=with_ends("score", 100 * level, 6.0)), rows)
    both = [n % 5 < right // 2 for n in range(10)]
    pairs = [
        answered(f"c{n // 5}/{n}", f"c{n // 5}", f"c{n // 5}/{n}", [200.0 if both[n] else 50.0]) for n in range(10)
    ]
    metrics = {"score": 50 + 150 * (right // 2) / 5}
    write_scored(root, question_score("mme", question_set="pairs", model=model, metrics=metrics), pairs)


def answered(unit: str, group: str, cluster: str, score: list[float | None]) -> Row:
    return Row(unit=unit, group=group, cluster=cluster, outcome=Outcome.OK, values={"score": score})


def measured(**changes: Any) -> Measured:
    """What was measured of the ladder; the ceiling falls from 0.95 by a tenth with every round."""
    ceiling = [Interval(value, value - 0.01, value + 0.01) for value in (0.95, 0.85, 0.75)]
    plain: dict[str, Any] = {
        "describers": {
            name: Describer(steps, share(n < EXACT[name] for n in range(10))) for name, steps in STAGES.models.items()
        },
        "painters": {
            name: Painter(steps, share([True] * 8 + [False] * 2), {"eye": ceiling})
            for name, steps in STAGES.generators.items()
        },
        "retrieval": Retrieval(share([True] * 9 + [False]), share([True] * 10)),
    }
    return Measured(**plain | changes)


def write_scores(root: Path, levels: Mapping[str, float] = LEVELS) -> Path:
    """Everything that the report reads: models are as good as ``levels`` say, in all benchmarks."""
    for model, level in levels.items():
        for generator, encoder in product(RUN.generators, RUN.encoders):
            write_chains(root, model, generator, encoder, level)
            write_redrawings(root, model, generator, encoder, level)
        write_retrieved(root, model, level)
        write_answers(root, model, level)
    write_json(root / MEASURED, measured())
    return root


def assembled(root: Path, stages: Stages = STAGES) -> Validity:
    """The report over stored scores."""
    return assemble(root, SETTINGS, stages, read_json(root / MEASURED, Measured))


def files(root: Path) -> list[Path]:
    """Those of the report: tables for programs, tables for people, a picture."""
    return [(root / REPORT).with_suffix(suffix) for suffix in (".json", ".md", ".svg")]


def written(root: Path) -> list[bytes]:
    write_validity(root, SETTINGS, STAGES)
    return [file.read_bytes() for file in files(root)]


def one(some: list[Ranked], **wanted: str | None) -> Ranked:
    """The only one that is so."""
    (only,) = [each for each in some if all(getattr(each, name) == value for name, value in wanted.items())]
    return only

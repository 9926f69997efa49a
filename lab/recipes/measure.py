"""Evaluates every recipe's checkpoints, and holds their scores against what is known of them."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, write_json
from driftledger.project.project import Project
from lab.recipes.evaluated import evaluated
from lab.recipes.report import REPORT, Found, Untaught, Vague
from lab.recipes.settings import Recipes
from lab.recipes.table import write_page
from lab.recipes.train import checkpoints
from lab.trio.settings import TrioSettings
from lab.trio.train import Workshop
from lab.validity.assembled import RESAMPLES, assemble, held
from lab.validity.collected import Readings, Source, collect
from lab.validity.iterating import iterating
from lab.validity.measured import CONFIDENCE, MEASURED, Describer, Interval, Measured
from lab.validity.measuring import Bench
from lab.validity.ranked import Drawing, Rungs, point_of
from lab.validity.resampled import common_units, resampled_scores
from lab.validity.scores import Reading
from lab.validity.stages import Stages, climb

CONTROLS = ("blind", "random")
FAULTLESS, DRAWING = "faultless", "drawing"
ITERATIONS = 5
"""T of the chains whose captions leave facts out."""

Entries = Mapping[str, Mapping[str, Any]]


def measure_recipes(project: Project, at: Workshop, recipes: Recipes) -> None:
    """Into ``reports/recipes.*``; nothing is written before all of it is there.

    Raises:
        StoreError: a checkpoint is missing, or an evaluation fails.
    """
    run = partial(evaluated, at.place.folder / "evaluated", project.root)
    stages = {name: _steps(name, at, recipes) for name in recipes.by_name}
    entries = {name: _entries(name, at, recipes) for name in recipes.by_name}
    models = {**entries["plain"], **entries["unasked"]}
    plain = run("plain", {"run": {"models": [*models, *CONTROLS]}, "genception": {"cross_check": []}, "models": models})
    vague = run("vague", _only_chains(entries["vague"], checkpoints(at, recipes.vague).painter))
    last, untaught = (climb("models", stages[name] | {"": 0})[-1] for name in ("plain", "unasked"))
    with TemporaryDirectory() as folder:
        bench = Bench(plain.settings, Path(folder), 1)
        exact = {name: bench.exact(plain.settings.model(name)) for name in models}
    known = read_json(project.root / MEASURED, Measured)
    measured = Measured(
        describers={name: Describer(steps, exact[name]) for name, steps in stages["plain"].items()},
        painters=known.painters,
        retrieval=known.retrieval,
    )
    found = Found(
        plain=assemble(plain.root, plain.settings, _stages(stages["plain"], at.trio), measured),
        exact={name: exact[name] for name in (last, untaught)},
        unasked=list(_unasked(plain, at.trio, last, untaught)),
        vague=_vague(vague, stages["vague"]),
    )
    write_json((project.root / REPORT).with_suffix(".json"), found)
    write_page(project.root)


def _steps(name: str, at: Workshop, recipes: Recipes) -> dict[str, int]:
    """Names of a recipe's stages → training steps."""
    return {f"{name}_{steps}": steps for steps in checkpoints(at, recipes.by_name[name]).describers}


def _entries(name: str, at: Workshop, recipes: Recipes) -> dict[str, dict[str, Any]]:
    """Below ``models:`` of ``params.yaml``."""
    found = checkpoints(at, recipes.by_name[name]).describers
    for folder in found.values():
        if not folder.is_dir():
            raise StoreError(f"{folder} is missing; run 'python -m lab.recipes train {name}', which makes it")
    return {
        f"{name}_{steps}": {"provider": "transformers", "path": str(folder), "max_new_tokens": 64, "device": "cpu"}
        for steps, folder in found.items()
    }


def _only_chains(models: Entries, painter: Path | None) -> dict[str, Mapping[str, Any]]:
    """What ``params.yaml`` says of the recipe whose captions leave facts out."""
    faultless = {"provider": "lab.recipes.telling:VaguelyFaultless"}
    drawing = {"provider": "diffusers", "path": str(painter), "steps": 4, "guidance_scale": 1, "device": "cpu"}
    none = (*benchmark_names(), "question_sets", "descriptions")
    selected = {"datasets": ["arrangements"], "genception": ["arrangements"], "generators": [DRAWING]}
    return {
        "run": {key: [] for key in none} | selected | {"models": [FAULTLESS, *models, *CONTROLS]},
        "genception": {"iterations": ITERATIONS, "cross_check": []},
        "models": {FAULTLESS: faultless, **models},
        "generators": {DRAWING: drawing},
    }


def _stages(models: Mapping[str, int], trio: TrioSettings) -> Stages:
    return Stages(models, trio.generators, CONTROLS, trio.measured.retrieval)


def _readings(project: Project, models: list[str], generators: list[str], iterations: int) -> Readings:
    return collect(Source(project.root, project.settings, iterations, models, generators))


def _unasked(project: Project, trio: TrioSettings, last: str, untaught: str) -> Iterator[Untaught]:
    """Every metric of the two models whose recipes differ in one kind of question."""
    iterations = project.settings.section("genception").iterations  # type: ignore[attr-defined]
    readings = _readings(project, [last, untaught], list(trio.generators), iterations)
    for place, taught in sorted(readings.items(), key=lambda item: item[0]):
        other = readings.get(place._replace(model=untaught))
        if place.model != last or other is None:
            continue
        metric = benchmark(place.benchmark).metric(place.metric)
        higher = metric is None or metric.higher_is_better is not False
        yield Untaught(
            place.benchmark,
            place.on,
            place.metric,
            higher,
            place.encoder or None,
            place.generator or None,
            point_of(taught),
            point_of(other),
            _lost(taught, other, 1.0 if higher else -1.0, project.settings.run.seed),
        )


def _lost(taught: Reading, other: Reading, sign: float, seed: int) -> Interval | None:
    """By how much the taught one is better; None without values per sample."""
    columns = [taught.units or {}, other.units or {}]
    common = common_units(columns)
    if not common:
        return None
    scores = resampled_scores(columns, common, resamples=RESAMPLES, seed=seed)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(sign * (scores[:, 0] - scores[:, 1]), [tail, 1 - tail]).tolist()
    return Interval(sign * (taught.value - other.value), low, high)


def _vague(project: Project, stages: Mapping[str, int]) -> Vague:
    """Chains of all models, round by round."""
    others = [FAULTLESS, *CONTROLS]
    readings = _readings(project, [*stages, *others], [DRAWING], ITERATIONS)
    chains = {
        encoder: {
            name: [
                point_of(reading)
                for t in range(1, ITERATIONS + 1)
                for place, reading in readings.items()
                if (place.encoder, place.model, place.metric) == (encoder, name, f"gc_at_{t}")
            ]
            for name in (*stages, *others)
        }
        for encoder in project.settings.run.encoders
    }
    names = climb("models", stages)
    by_model = held(readings, "model", Rungs(names, stages, {}), Drawing(RESAMPLES, project.settings.run.seed))
    return Vague(dict(stages), others, DRAWING, chains, list(iterating(list(by_model), names)))

"""``python -m lab.validity``: hold the scores of the preset neural against what was measured of the checkpoints.

The stage ``validity`` of ``trio/dvc.yaml``; writes ``reports/validity.json``, ``.md`` and ``.svg``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import write_json, write_text
from driftledger.project.presets import preset_settings
from lab.entry import here, new_app, run
from lab.trio.settings import FOLDER, load_trio
from lab.validity.page import draw, tables
from lab.validity.ranking import RESAMPLES, Held, Rungs, families, hold, iterating, point, rounded, together
from lab.validity.scores import Place, Reading, collect

PRESET = "neural"
"""What ``make run-neural`` selects."""
CONTROLS = ("blind", "random")
"""Models that know nothing of what they are shown, which should come last."""
MEASURED, REPORT = "reports/trio.json", "reports/validity"

app = new_app(__doc__ or "")


def climb(what: str, rungs: Mapping[str, int]) -> list[str]:
    """Return names from the fewest training steps to the most.

    Raises:
        ConfigError: there are fewer than two, or two have equally many steps.

    >>> climb("models", {"late": 900, "early": 100})
    ['early', 'late']
    """
    if len(set(rungs.values())) < max(2, len(rungs)):
        raise ConfigError(
            f"ranking needs two or more {what} with different numbers of training steps, not {dict(rungs)}; "
            "change the milestones in trio/params.yaml"
        )
    return sorted(rungs, key=lambda name: rungs[name])


def assemble(root: Path) -> dict[str, Any]:
    """Read all scores of the checkpoints, and rank them.

    Raises:
        ConfigError: fewer than two models or generators, or two with equal steps.
        StoreError: a file is missing or has another T, or the checkpoints were measured after other steps.
    """
    trio, settings = load_trio(root), preset_settings(root, PRESET)
    file = root / MEASURED
    if not file.is_file():
        raise StoreError(f"{file} is missing; run 'python -m lab.trio measure', which writes it")
    measured = json.loads(file.read_bytes())
    genception, seed = cast(GenCeptionSettings, settings.section("genception")), settings.run.seed
    models, generators = climb("models", trio.models), climb("generators", trio.generators)
    for what, steps in (("describers", trio.models), ("painters", trio.generators)):
        if {name: each["steps"] for name, each in measured[what].items()} != dict(steps):
            raise StoreError(
                f"{what} of {MEASURED} are not those of trio/params.yaml; run 'python -m lab.trio measure'"
            )
    readings = collect(root, settings, genception.iterations, [*models, *CONTROLS], generators)
    dataset = settings.run.names("genception", "dataset")[0]
    ceilings = {
        Place("genception", dataset, f"gc_at_{t}", encoder, generator, ""): Reading(*ends, {}, None)
        for generator in sorted(generators)
        for encoder, intervals in sorted(measured["painters"][generator]["ceiling"].items())
        if encoder in settings.run.encoders
        for t, each in enumerate(intervals[: genception.iterations], 1)
        for ends in [(each["value"], each["low"], each["high"])]
    }
    exact = {name: each["exact"]["share"] for name, each in measured["describers"].items()}
    things = {name: each["things"]["share"] for name, each in measured["painters"].items()}
    by_model = _held(readings, "model", Rungs(models, trio.models, exact, CONTROLS), seed)
    drawn = {place: each for place, each in readings.items() if place.generator} | ceilings
    by_generator = _held(drawn, "generator", Rungs(generators, trio.generators, things), seed)
    drift = []
    for place, ceiling in ceilings.items():
        final = readings.get(place._replace(model=models[-1]))
        if final is not None:
            values = {"drift": 1 - final.value, "by_generator": 1 - ceiling.value}
            values["by_model"] = ceiling.value - final.value
            where = {"on": dataset, "generator": place.generator, "encoder": place.encoder}
            points = {"t": int(place.metric.removeprefix("gc_at_")), "ceiling": point(ceiling), "final": point(final)}
            drift.append(where | points | {name: rounded(value) for name, value in values.items()})
    return {
        "schema": 3,
        "models": dict(trio.models),
        "generators": dict(trio.generators),
        "otherwise": sorted(f"{FOLDER}_{n}" for n in trio.polish.milestones if trio.polish.mix != trio.describer.mix),
        "controls": list(CONTROLS),
        "encoder": trio.measured.retrieval,
        "iterations": genception.iterations,
        "bootstrap": {"resamples": RESAMPLES, "confidence": genception.confidence, "seed": seed},
        "describers": {name: each["exact"] for name, each in measured["describers"].items()},
        "painters": {name: each["things"] for name, each in measured["painters"].items()},
        "retrieval": measured["retrieval"],
        "families": families(by_model, models, seed),
        "together": together(by_model, models),
        "iterating": iterating(by_model, models),
        "by_model": [_row(each) for each in by_model],
        "by_generator": [_row(each) for each in by_generator],
        "drift": drift,
    }


def _held(readings: Mapping[Place, Reading], over: str, rungs: Rungs, seed: int) -> list[Held]:
    """Rank every metric over the models or the generators."""
    by_place: dict[Place, dict[str, Reading]] = {}
    for place, reading in readings.items():
        by_place.setdefault(place._replace(**{over: ""}), {})[getattr(place, over)] = reading
    return [hold(place, some, rungs, seed) for place, some in sorted(by_place.items())]


def _row(held: Held) -> dict[str, Any]:
    place = {name: value or None for name, value in held.place._asdict().items()}
    return {**place, "higher_is_better": held.sign > 0, "ranking": held.ranking}


@app.command()
def validity() -> None:
    """Write the report."""
    project = here()
    report = project.root / REPORT
    found = assemble(project.root)
    page = tables(found)
    draw(found, report.with_suffix(".svg"))
    write_json(report.with_suffix(".json"), found)
    write_text(report.with_suffix(".md"), page)


if __name__ == "__main__":
    run(app)

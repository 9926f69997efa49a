"""``python -m lab.validity``: hold the scores of the preset neural against what was measured of the
checkpoints.

The stage ``validity`` of ``lab/checkpoints/dvc.yaml``, which writes ``reports/validity.json``,
``.md`` and ``.svg``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import StoreError
from driftledger.core.files import write_json, write_text
from driftledger.project.presets import with_preset
from lab.entry import here, new_app, run
from lab.trio.settings import FOLDER, PREFIX, genception_of, load_trio
from lab.validity.page import draw, tables
from lab.validity.scores import Place, Reading, collect, rank

PRESET = "neural"
"""What ``make run-neural`` selects."""
CONTROLS = ("blind", "random")
"""Models that know nothing of what they are shown, which should come last."""
MEASURED, REPORT = "reports/trio.json", "reports/validity"

app = new_app(__doc__ or "")


def assemble(root: Path) -> dict[str, Any]:
    """Read all scores of the checkpoints, and rank them.

    Raises:
        StoreError: a file is missing or has another T, or the checkpoints were measured after other
            steps.
    """
    trio, settings = load_trio(root), with_preset(root, PRESET)[1]
    file = root / MEASURED
    if not file.is_file():
        raise StoreError(
            f"{file} is missing; run 'python -m lab.trio measure', which writes it"
        )
    measured = json.loads(file.read_bytes())
    for what, steps in (("describers", trio.models), ("painters", trio.generators)):
        if {name: each["steps"] for name, each in measured[what].items()} != dict(
            steps
        ):
            raise StoreError(
                f"{what} of {MEASURED} are not those of {FOLDER}/params.yaml; run "
                "'python -m lab.trio measure'"
            )
    models, generators, iterations = (
        [*trio.models],
        [*trio.generators],
        genception_of(settings).iterations,
    )
    readings = collect(root, settings, iterations, [*models, *CONTROLS], generators)
    dataset = settings.names(benchmark("genception"), "dataset")[0]
    ceilings = {
        Place("genception", dataset, f"gc_at_{t}", encoder, generator, ""): Reading(
            each["value"], each["low"], each["high"]
        )
        for generator in sorted(generators)
        for encoder, intervals in sorted(
            measured["painters"][generator]["ceiling"].items()
        )
        if encoder in settings.run.encoders
        for t, each in enumerate(intervals[:iterations], 1)
    }
    drift = []
    for place, ceiling in ceilings.items():
        final = readings.get(place._replace(model=models[-1]))
        if final is not None:
            lost = {"drift": 1 - final.value, "by_generator": 1 - ceiling.value}
            lost["by_model"] = ceiling.value - final.value
            where = {
                "on": dataset,
                "generator": place.generator,
                "encoder": place.encoder,
            }
            points = {
                "t": int(place.metric.removeprefix("gc_at_")),
                "ceiling": ceiling.point,
                "final": final.point,
            }
            drift.append(
                where | points | {name: round(value, 6) for name, value in lost.items()}
            )
    drawn = {
        place: each for place, each in readings.items() if place.generator
    } | ceilings
    return {
        "schema": 4,
        "models": dict(trio.models),
        "generators": dict(trio.generators),
        "otherwise": sorted(
            f"{PREFIX}{n}"
            for n in trio.polish.milestones
            if trio.polish.mix != trio.describer.mix
        ),
        "controls": list(CONTROLS),
        "encoder": trio.measured.retrieval,
        "iterations": iterations,
        "describers": {
            name: each["exact"] for name, each in measured["describers"].items()
        },
        "painters": {
            name: each["things"] for name, each in measured["painters"].items()
        },
        "retrieval": measured["retrieval"],
        "by_model": [
            rank(place, some, models, CONTROLS)
            for place, some in _by("model", readings)
        ],
        "by_generator": [
            rank(place, some, generators) for place, some in _by("generator", drawn)
        ],
        "drift": drift,
    }


def _by(
    role: str, readings: Mapping[Place, Reading]
) -> list[tuple[Place, dict[str, Reading]]]:
    """Readings of one metric over the names of a role, by place."""
    by_place: dict[Place, dict[str, Reading]] = {}
    for place, reading in readings.items():
        by_place.setdefault(place._replace(**{role: ""}), {})[getattr(place, role)] = (
            reading
        )
    return sorted(by_place.items())


@app.command()
def validity() -> None:
    """Write the report."""
    project = here()
    report = project.root / REPORT
    results = assemble(project.root)
    draw(results, report.with_suffix(".svg"))
    write_json(report.with_suffix(".json"), results)
    write_text(report.with_suffix(".md"), tables(results))


if __name__ == "__main__":
    run(app)

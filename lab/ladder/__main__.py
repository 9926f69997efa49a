"""``python -m lab.ladder``: the stage ``ladder`` of ``trio/dvc.yaml``."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.core.files import write_json, write_text
from driftledger.project.presets import preset_settings
from lab.entry import here, new_app, run

app = new_app("Do the metrics see what a description has lost?")

_DEFAULT, _NEURAL = "default", "neural"


@app.command()
def ladder() -> None:
    """Damage descriptions by known doses, score them through both sets of components, into reports/ladder.*

    Each rung is kept below .driftledger/ladder as soon as it is scored: stopped, the same command goes on.
    """
    from lab.ladder.bench import ITERATIONS, Bench
    from lab.ladder.climb import KeptRungs, climb, made_of
    from lab.ladder.grounds import grounds
    from lab.ladder.picture import draw_ladder
    from lab.ladder.report import REPORT, assembled
    from lab.ladder.table import ladder_tables

    project = here()
    settings = {_DEFAULT: project.settings, _NEURAL: preset_settings(project.root, _NEURAL)}
    every, climbed = grounds(settings[_DEFAULT], settings[_NEURAL]), {}
    with project.only_one(project.root / REPORT), TemporaryDirectory() as folder:
        for name, ground in every.items():
            state = project.paths.state / "ladder" / name
            bench = Bench(settings[name], ground, Path(folder) / name, state)
            kept = KeptRungs(state / "rungs", made_of(settings[name], ground))
            climbed[name] = climb(bench, kept, lambda rung: print(f"{rung.kind} {rung.dose:.2f}", file=sys.stderr))
        found = assembled(every, climbed, ITERATIONS)
    report = project.root / REPORT
    write_json(report.with_suffix(".json"), found)
    write_text(report.with_suffix(".md"), ladder_tables(found))
    write_text(report.with_suffix(".svg"), draw_ladder(found))


if __name__ == "__main__":
    run(app)

"""``python -m lab.validity``: the stage ``validity`` of ``trio/dvc.yaml``."""

from driftledger.project.presets import preset_settings
from lab.entry import here, new_app, run
from lab.trio.settings import load_trio
from lab.validity.ladder import Ladder
from lab.validity.report import REPORT, write_validity

PRESET = "neural"
"""What ``make run-neural`` selects."""
CONTROL = "blind"

app = new_app("Does each metric rank a better model higher?")


@app.command()
def validity() -> None:
    """Hold the scores of the preset neural against what was measured of the checkpoints, into reports/validity.*"""
    project = here()
    trio, settings = load_trio(project.root), preset_settings(project.root, PRESET)
    ladder = Ladder(trio.models, trio.generators, CONTROL, trio.measured.retrieval)
    with project.only_one(project.root / REPORT):
        write_validity(project.root, settings, ladder)


if __name__ == "__main__":
    run(app)

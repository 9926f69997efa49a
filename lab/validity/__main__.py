"""``python -m lab.validity``: the stage ``validity`` of ``trio/dvc.yaml``."""

from driftledger.project.presets import preset_settings
from lab.entry import here, new_app, run
from lab.trio.settings import load_trio
from lab.validity.report import REPORT, write_validity
from lab.validity.stages import Stages, of_another_mix

PRESET = "neural"
"""What ``make run-neural`` selects."""
CONTROLS = ("blind", "random")

app = new_app("Does each metric rank a better model higher?")


@app.command()
def validity() -> None:
    """Hold the scores of the preset neural against what was measured of the checkpoints, into reports/validity.*"""
    project = here()
    trio, settings = load_trio(project.root), preset_settings(project.root, PRESET)
    stages = Stages(trio.models, trio.generators, CONTROLS, trio.measured.retrieval, of_another_mix(trio))
    with project.only_one(project.root / REPORT):
        write_validity(project.root, settings, stages)


if __name__ == "__main__":
    run(app)

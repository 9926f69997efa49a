"""``python -m lab.trio``: the stages ``train_trio`` and ``measure_trio`` of
``lab/checkpoints/dvc.yaml``.

A change of any other file in this folder makes the training stale, which takes over an hour; what
measures is in ``lab/validity``.
"""

from typing import Annotated

import typer

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.paths import STATE
from driftledger.core.registry import import_extra
from lab.entry import here, new_app, run

app = new_app(
    "Train the small checkpoints in lab/checkpoints/, and measure what each can do."
)


@app.command()
def train(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="describer, painter, pair or looker; else all."),
    ] = None,
) -> None:
    """Train what lab/checkpoints/params.yaml says, or go on where a killed training was."""
    for library in ("diffusers", "open_clip"):
        import_extra(library)
    from lab.trio.settings import FOLDER, load_trio
    from lab.trio.train import PARTS, workshop

    for part in parts or ():
        if part not in PARTS:
            raise ConfigError(unknown_name("part", part, PARTS))
    project = here()
    folder = project.root / FOLDER
    made = workshop(
        project.settings, load_trio(project.root), project.root / STATE / "trio", folder
    )
    if not made.lessons.is_dir():
        raise ConfigError(
            f"{made.lessons} is missing; run 'python -m lab.scenes lessons {FOLDER}/lessons'"
        )
    for part in parts or PARTS:
        PARTS[part](made)


@app.command()
def measure() -> None:
    """Measure every checkpoint where the truth is known, into reports/trio.json."""
    from lab.validity.measuring import measure_trio

    measure_trio(here())


if __name__ == "__main__":
    run(app)

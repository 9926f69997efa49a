"""Draw the shipped question sets, or the trio's lessons about scenes, by the program that drew them
once.

``python -m lab.scenes sets FOLDER`` and ``python -m lab.scenes lessons FOLDER``. The program, of
2,900 lines, is in Git's history alone: it is taken from there and run by itself.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Annotated, Literal

import typer

from driftledger.core.errors import ConfigError
from lab.entry import here, new_app, run

COMMIT = "01777399c015a0a4661c5ce2e6c442f1bb736276"
"""The last one that has the program."""

app = new_app(__doc__ or "")


def draw(what: Literal["sets", "lessons"], folder: Path, repository: Path) -> None:
    """Write the same bytes as at :data:`COMMIT`, with the versions that requirements.txt pins.

    Raises:
        ConfigError: the commit is not in this clone.
    """
    packed = subprocess.run(
        ("git", "archive", COMMIT, "lab", "src"),
        cwd=repository,
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        raise ConfigError(
            f"commit {COMMIT[:8]} is not in this clone; run 'git fetch --unshallow'"
        )
    with (
        tempfile.TemporaryDirectory() as name,
        tarfile.open(fileobj=BytesIO(packed.stdout)) as archive,
    ):
        archive.extractall(name, filter="data")
        words = [*(["lessons"] if what == "lessons" else []), str(folder.resolve())]
        environment = os.environ | {"PYTHONPATH": str(Path(name) / "src")}
        subprocess.run(
            [sys.executable, "-m", "lab.scenes", *words],
            cwd=name,
            env=environment,
            check=True,
        )


@app.command()
def main(
    what: Annotated[Literal["sets", "lessons"], typer.Argument(help="What is drawn.")],
    folder: Annotated[Path, typer.Argument(help="Where it is written.")],
) -> None:
    """Draw again what was drawn once."""
    draw(what, folder, here().root)


if __name__ == "__main__":
    run(app)

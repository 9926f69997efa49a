"""``python -m lab.recipes``: the stage ``recipes`` of ``trio/dvc.yaml``."""

from typing import TYPE_CHECKING, Annotated

import typer

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.extras import import_extra
from driftledger.project.project import Project
from lab.entry import here, new_app, run
from lab.recipes.settings import load_recipes
from lab.trio.settings import FOLDER, load_trio

if TYPE_CHECKING:
    from lab.trio.train import Workshop

app = new_app("Train describers by several recipes, and see what the metrics say of them.")


@app.command()
def train(recipes: Annotated[list[str] | None, typer.Argument(help="By name; else all.")] = None) -> None:
    """Train what trio/recipes.yaml says, or go on where a killed training was; below .driftledger/recipes."""
    from lab.recipes.train import train_recipe

    project = here()
    known = load_recipes(project.root).by_name
    for name in recipes or ():
        if name not in known:
            raise ConfigError(unknown_name("recipe", name, known))
    at = _workshop(project)
    for name in recipes or known:
        with project.only_one(at.place.folder / name):
            train_recipe(at, known[name])


@app.command()
def measure() -> None:
    """Evaluate the checkpoints, into reports/recipes.*"""
    from lab.recipes.measure import measure_recipes
    from lab.recipes.report import REPORT

    project = here()
    with project.only_one(project.root / REPORT):
        measure_recipes(project, _workshop(project), load_recipes(project.root))


@app.command()
def page() -> None:
    """Write reports/recipes.md as reports/recipes.json has it; nothing is trained or evaluated."""
    from lab.recipes.table import write_page

    write_page(here().root)


def _workshop(project: Project) -> "Workshop":
    for library in ("diffusers", "open_clip"):
        import_extra(library)
    from lab.trio.train import workshop

    return workshop(project.settings, load_trio(project.root), project.paths.state / "recipes", project.root / FOLDER)


if __name__ == "__main__":
    run(app)

"""``people``: pages and sheets to describe images and rate descriptions."""

from pathlib import Path
from typing import Annotated

import typer

from driftledger.commands.typed import from_here
from driftledger.core.text import for_terminal

app = typer.Typer(
    help="Write pages on which people describe images and rate descriptions.",
    no_args_is_help=True,
)


def _saved(text: str) -> Path:
    """Read the path of a sheet that is there."""
    path = from_here(text)
    if not path.is_file():
        raise typer.BadParameter(f"{text!r:.200} is not a file")
    return path


Add = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=_saved,
        help="A sheet that a page has saved; its answers are taken over.",
    ),
]


@app.command()
def descriptions(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    model: Annotated[str, typer.Argument(help="A model of provider human.")],
    generator: Annotated[
        str | None, typer.Argument(help="Generator of the images described at t ≥ 2.")
    ] = None,
    add: Add = None,
) -> None:
    """Write the page on which a person describes images, as a model does, and its sheet.

    The page is one file, with the images in it. What people wrote stays.

    Example: driftledger people descriptions photos ann gpt_image_2
    """
    from driftledger.benchmarks.base.stage import DATASET
    from driftledger.benchmarks.genception.human import write_human_sheet
    from driftledger.benchmarks.registry import benchmark
    from driftledger.commands.lock import only_one
    from driftledger.data.build import build

    project = context.obj
    drawing = generator or (*project.settings.run.generators, "")[0]
    keys = {"dataset": dataset, "model": model, "generator": drawing}
    folder = project.root / DATASET.at({"dataset": dataset})
    # 'dvc repro data' needs the sheet, since a person's version is what is written there
    if not folder.is_dir():
        build(dataset, project.settings.build("datasets", dataset), folder)
    # a person who has no sheet yet has no fingerprint to be resolved
    project.components["models", model] = project.settings.build("models", model)
    collecting = project.collecting(benchmark("genception"), keys)
    with (
        only_one(project, "driftledger people descriptions"),
        project.store(writes=False) as store,
    ):
        typer.echo(for_terminal(write_human_sheet(collecting, store, add)))


@app.command()
def ratings(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    samples: Annotated[
        int,
        typer.Option(
            min=1, help="The number of samples; the same ones for every model."
        ),
    ] = 20,
    rater: Annotated[
        str | None,
        typer.Option(
            help="Who rates; a page and rows of one's own. By default 'me', or who has saved the "
            "sheet to add."
        ),
    ] = None,
    add: Add = None,
) -> None:
    """Write the page on which a person rates descriptions from 1 to 5, and its sheet.

    The page is one file, with the images in it. What people rated stays.

    Example: driftledger people ratings photos --samples 30 --rater ann
    """
    from importlib.resources import files

    from driftledger.benchmarks import fidelity
    from driftledger.benchmarks.fidelity.ratings import write_ratings
    from driftledger.benchmarks.registry import benchmark
    from driftledger.commands.lock import only_one
    from driftledger.core.errors import ConfigError

    project = context.obj
    spec = benchmark("fidelity")
    run = project.settings.run
    sheet = project.settings.section(spec.name).ratings
    if sheet is None:
        raise ConfigError(
            "fidelity.ratings in params.yaml names no file; set it, e.g. to ratings.csv; if "
            f"there is no section fidelity, copy it whole from {files(fidelity)}/settings.yaml"
        )
    keys = {"dataset": dataset, "generator": (*run.generators, "")[0]}
    folders = []
    for name in run.models:
        folders.append(project.root / spec.collects.at({**keys, "model": name}))
    with only_one(project, "driftledger people ratings"):
        counts = write_ratings(
            project.root / sheet,
            data=project.root / spec.data.at(keys),
            folders=folders,
            rater=rater,
            seed=run.seed,
            samples=samples,
            add=add,
        )
    page = sheet.with_suffix(".html")
    typer.echo(for_terminal(f"{sheet}: {counts}\nopen {page} to rate"))

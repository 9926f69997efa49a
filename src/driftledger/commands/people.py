"""``people``: sheets to describe images and rate descriptions."""

from typing import Annotated

import typer

from driftledger.core.text import for_terminal

app = typer.Typer(
    help="Write sheets in which people describe images and rate descriptions.",
    no_args_is_help=True,
)


@app.command()
def descriptions(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    model: Annotated[str, typer.Argument(help="A model of provider human.")],
    generator: Annotated[
        str | None, typer.Argument(help="Generator of the images described at t ≥ 2.")
    ] = None,
) -> None:
    """Write the sheet in which a person describes images, as a model does.

    What is written in it stays.

    Example: driftledger people descriptions photos ann gpt_image_2
    """
    from driftledger.benchmarks.base.stage import DATASET
    from driftledger.benchmarks.genception.human import write_human_sheet
    from driftledger.benchmarks.registry import benchmark
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
    with project.store(writes=False) as store:
        typer.echo(for_terminal(write_human_sheet(collecting, store)))


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
        typer.Option(help="The rater's name; several people can fill in one file."),
    ] = None,
) -> None:
    """Write the sheet in which people rate descriptions from 1 to 5.

    What is written in it stays.

    Example: driftledger people ratings photos --samples 30 --rater ann
    """
    from driftledger.benchmarks.fidelity.ratings import (
        RUBRIC,
        descriptions_to_rate,
        write_sheet,
    )
    from driftledger.benchmarks.registry import benchmark
    from driftledger.core.errors import ConfigError

    project = context.obj
    spec = benchmark("fidelity")
    run = project.settings.run
    section = project.settings.section(spec.name)
    if section.ratings is None:
        raise ConfigError(
            "fidelity.ratings in params.yaml names no file; set it, e.g. to ratings.csv"
        )
    keys = {"dataset": dataset, "generator": (*run.generators, "")[0]}
    folders = {}
    for name in run.models:
        folders[name] = project.root / spec.collects.at({**keys, "model": name})
    sheet = project.root / section.ratings
    rows = descriptions_to_rate(dataset, folders, run.seed, samples)
    waiting, rated = write_sheet(sheet, rows, rater)
    images = f"{spec.data.at({'dataset': dataset})}/images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    counts = f"{section.ratings}: {waiting} descriptions to rate, {rated} rated"
    typer.echo(
        for_terminal(f"{counts}; the images are {images}/<sample>.png\n{meaning}")
    )

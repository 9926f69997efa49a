"""``driftledger human`` and ``driftledger ratings``: sheets in which people describe images and rate descriptions."""

from typing import Annotated, Any

import typer

from driftledger.core.escaping import for_terminal

human = typer.Typer(help="Let people describe images, as a row in every table.", no_args_is_help=True)
ratings = typer.Typer(help="Let people say how faithful descriptions are.", no_args_is_help=True)


@human.command("sheet")
def human_sheet(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    model: Annotated[str, typer.Argument(help="A model of provider human.")],
    generator: Annotated[str | None, typer.Argument(help="Whose drawings are described from t = 2 on.")] = None,
) -> None:
    """Write the sheet to fill in, with the images beside it; what people wrote stays."""
    from driftledger.benchmarks.genception.human import write_human_sheet  # stages are processes that have to start
    from driftledger.benchmarks.registry import benchmark
    from driftledger.project.inputs import stage_inputs

    project = context.obj
    keys = {"dataset": dataset, "model": model, "generator": generator or project.settings.run.generators[0]}
    with project.store(writes=False) as store:
        typer.echo(for_terminal(write_human_sheet(stage_inputs(project, benchmark("genception"), keys), store)))


@ratings.command("sheet")
def ratings_sheet(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    samples: Annotated[int, typer.Option(min=1, help="How many, the same of every model.")] = 20,
    rater: Annotated[str | None, typer.Option(help="Whose sheet it is; several people can fill in one file.")] = None,
) -> None:
    """Write the sheet in which descriptions are rated from 1 to 5; what people wrote stays."""
    from driftledger.benchmarks.fidelity.ratings import RUBRIC, to_rate, write_sheet
    from driftledger.benchmarks.registry import benchmark
    from driftledger.core.errors import ConfigError

    project, spec = context.obj, benchmark("fidelity")
    run, section = project.settings.run, project.settings.section(spec.name)
    if section.ratings is None:
        raise ConfigError("fidelity.ratings in params.yaml names no file; set it, e.g. to ratings.csv")
    folders: dict[str, Any] = {
        name: project.root / spec.collects[0].at({"dataset": dataset, "model": name, "generator": run.generators[0]})
        for name in run.models
    }
    rows = to_rate(dataset, folders, run.seed, samples)
    summary = write_sheet(project.root / section.ratings, rows, rater)
    images = f"{spec.data.at({'dataset': dataset})}/images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    summarised = f"{section.ratings}: {summary.to_rate} descriptions to rate, {summary.rated} rated"
    typer.echo(for_terminal(f"{summarised}; the images are {images}/<sample>.png\n{meaning}"))

"""``people``: sheets to describe images and rate descriptions."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from driftledger.core.text import for_terminal

if TYPE_CHECKING:
    from driftledger.project.project import Project

FEWEST = 10
"""The fewest samples that ``--choose`` accepts."""

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
    choose: Annotated[
        int | None,
        typer.Option(
            help="Rate so many samples, drawn at random, more where models differ.",
        ),
    ] = None,
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
        chosen_before,
        chosen_only,
        descriptions_to_rate,
        write_sheet,
    )
    from driftledger.benchmarks.registry import benchmark
    from driftledger.core.errors import ConfigError
    from driftledger.metrics.ratings import smallest_correlation

    if choose is not None and choose < FEWEST:
        raise ConfigError(
            f"--choose {choose}: fewer than {FEWEST} samples show nothing; choose more"
        )
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
    rows = descriptions_to_rate(dataset, folders, run.seed, None if choose else samples)
    if choose:
        samples_here = {row.sample for row in rows}
        before = chosen_before(sheet, dataset)
        choice = before
        if len(before) < min(choose, len(samples_here)):
            choice = _choice(project, dataset, samples_here, choose)
        if not before.keys() <= choice.keys():
            raise ConfigError(
                f"{section.ratings} has {len(before)} samples of {dataset}, chosen before scores "
                f"changed, and a choice of {choose} would leave some out; rate these "
                f"{len(before)}, or empty the column 'chance' to choose again"
            )
        rows = chosen_only(rows, choice)
    waiting, rated = write_sheet(sheet, rows, rater)
    images = f"{spec.data.at({'dataset': dataset})}/images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    counts = f"{section.ratings}: {waiting} descriptions to rate, {rated} rated"
    if choose:
        # two thirds from one half weigh as 8/9 as many that are drawn alike
        least = smallest_correlation(len(choice) * 8 / 9, section.confidence)
        number = f"{len(choice)} samples"
        if len(choice) < choose:
            number = f"all {number} with a description"
        if len(choice) > choose:
            number += ", as many as were chosen before"
        counts += f", of {number}, which show a correlation of {least:.2f}"
    typer.echo(
        for_terminal(f"{counts}; the images are {images}/<sample>.png\n{meaning}")
    )


def _choice(
    project: "Project", dataset: str, samples: Collection[str], total: int
) -> dict[str, str]:
    """Choose samples, more of them where models differ.

    Raises:
        ConfigError: fewer than two models have scores.
    """
    from driftledger.benchmarks.fidelity.ratings import choose
    from driftledger.core.errors import ConfigError
    from driftledger.reports.ratings import model_spreads
    from driftledger.reports.scores import rows_reader, selected_scores
    from driftledger.reports.tests import with_ranks
    from driftledger.scoring.frame import frame, rows_in

    numbers = rows_in(with_ranks(frame(selected_scores(project))))
    spreads = model_spreads(numbers, rows_reader(project), dataset)
    if not spreads:
        raise ConfigError(
            f"--choose needs scores of at least two models, and {dataset} has fewer; evaluate "
            "more, or use --samples"
        )
    known = {sample: spreads.get(sample, 0.0) for sample in samples}
    return choose(known, project.settings.run.seed, total)

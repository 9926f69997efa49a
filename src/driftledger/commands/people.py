"""``driftledger people``: sheets in which people describe images and rate descriptions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftledger.core.text import for_terminal

if TYPE_CHECKING:
    from driftledger.benchmarks.fidelity.ratings import Rating
    from driftledger.project.project import Project

app = typer.Typer(
    help="Write sheets in which people describe and rate.", no_args_is_help=True
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
    """Write the sheet in which people describe images, as a row in every table; what they wrote
    stays."""
    from driftledger.benchmarks.base import DATASET
    from driftledger.benchmarks.registry import benchmarks
    from driftledger.data.build import build

    project = context.obj
    drawing = generator or (*project.settings.run.generators, "")[0]
    keys = {"dataset": dataset, "model": model, "generator": drawing}
    folder = project.root / DATASET.at({"dataset": dataset})
    # 'dvc repro data' needs the sheet, since a person's version is what is written there
    if not folder.is_dir():
        build(dataset, project.settings.build("datasets", dataset), folder)
    spec = next(spec for spec in benchmarks() if spec.human_models)
    inputs = project.stage_inputs(spec, keys)
    given = replace(inputs, model=lambda name: project.settings.build("models", name))
    # a person who has no sheet yet has no fingerprint to be resolved
    with project.store(writes=False) as store:
        typer.echo(for_terminal(spec.write_human_sheet(given, store)))


@app.command()
def ratings(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    samples: Annotated[
        int, typer.Option(min=1, help="How many; the same ones for every model.")
    ] = 20,
    choose: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="How many instead, at random, more of them where models differ most.",
        ),
    ] = None,
    rater: Annotated[
        str | None, typer.Option(help="A person's name; several can fill in one file.")
    ] = None,
) -> None:
    """Write the sheet in which descriptions are rated from 1 to 5; what people wrote stays."""
    from driftledger.benchmarks.fidelity.ratings import (
        RUBRIC,
        in_choice,
        to_rate,
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
    folders = dict[str, Any]()
    for name in run.models:
        folders[name] = project.root / spec.collects.at({**keys, "model": name})
    sheet = project.root / section.ratings
    rows = to_rate(dataset, folders, run.seed, None if choose else samples)
    choice = _choice(project, sheet, rows, choose) if choose else {}
    if choose:
        rows = in_choice(rows, choice)
    waiting, rated = write_sheet(sheet, rows, rater, choice)
    images = f"{spec.data.at({'dataset': dataset})}/images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    counts = f"{section.ratings}: {waiting} descriptions to rate, {rated} rated"
    typer.echo(
        for_terminal(f"{counts}; the images are {images}/<sample>.png\n{meaning}")
    )


def _choice(
    project: "Project", sheet: Path, rows: Sequence["Rating"], total: int
) -> dict[str, str]:
    """Return sample → its chance: as the sheet has it, or chosen anew if it has none.

    Raises:
        ConfigError: the sheet has another number of samples, or models have no scores to differ in.
    """
    from driftledger.benchmarks.fidelity.ratings import choose, read_choice
    from driftledger.core.errors import ConfigError
    from driftledger.reports.ratings import model_spreads
    from driftledger.reports.scores import by_benchmark, rows_reader, selected_scores

    dataset = rows[0].dataset if rows else ""
    samples = {row.sample for row in rows}
    choice = read_choice(sheet, dataset) if sheet.exists() else {}
    if choice and len(choice) != min(total, len(samples)):
        raise ConfigError(
            f"{sheet} holds a choice of {len(choice)} samples of {dataset}; give --choose "
            f"{len(choice)}, or remove their chances to choose again"
        )
    if choice:
        return choice
    parts = by_benchmark(selected_scores(project), rows_reader(project))
    spreads = model_spreads([*chain.from_iterable(parts.values())], dataset)
    if not spreads:
        raise ConfigError(
            f"--choose {total} needs scores of two models or more on {dataset}, to see where "
            "they differ; evaluate them, or use --samples"
        )
    known = {sample: spreads.get(sample, 0.0) for sample in samples}
    return choose(known, project.settings.run.seed, total)

"""``driftledger ratings``: people say how faithful descriptions are."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from driftledger.core.text import for_terminal

if TYPE_CHECKING:
    from driftledger.project.project import Project

app = typer.Typer(help="Let people say how faithful descriptions are.", no_args_is_help=True)


@app.command()
def sheet(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    samples: Annotated[int, typer.Option(min=1, help="How many, the same of every model.")] = 20,
    rater: Annotated[str | None, typer.Option(help="Whose sheet it is; several people can fill in one file.")] = None,
) -> None:
    """Write the sheet in which descriptions are rated from 1 to 5; what people wrote stays."""
    typer.echo(for_terminal(ratings_sheet(context.obj, dataset, samples, rater)))


def ratings_sheet(project: "Project", dataset: str, samples: int, rater: str | None) -> str:
    """Write the sheet in which the selected models' descriptions of some samples are rated, and say how.

    Raises:
        ConfigError: ``fidelity.ratings`` names no file.
        StoreError: the images have not been described yet.
    """
    # Every stage is a process that has to start, and needs none of this.
    from driftledger.benchmarks._chains.records import ChainRecord, by_repeat
    from driftledger.benchmarks.fidelity.ratings import RUBRIC, ToRate, write_sheet
    from driftledger.benchmarks.fidelity.settings import FidelitySettings
    from driftledger.benchmarks.fidelity.spec import Fidelity
    from driftledger.benchmarks.records import RECORDS
    from driftledger.core.canonical import sha256_of
    from driftledger.core.errors import ConfigError
    from driftledger.core.files import read_jsonl

    spec, run = Fidelity(), project.settings.run
    path = cast(FidelitySettings, project.settings.section(spec.name)).ratings
    if path is None:
        raise ConfigError("fidelity.ratings in params.yaml names no file; set it, e.g. to ratings.csv")
    rows = []
    for model in run.models:
        keys = {"dataset": dataset, "model": model, "generator": run.generators[0]}
        every = read_jsonl(project.root / spec.collects[0].at(keys) / RECORDS, ChainRecord)
        records = by_repeat(every, 1)[0]
        chosen = sorted(records, key=lambda record: sha256_of([run.seed, "rating", record.sample]))[:samples]
        rows += [ToRate(dataset, record.sample, model, record.description) for record in chosen if record.description]
    summary = write_sheet(project.root / path, rows, rater)
    images = f"{spec.data.at({'dataset': dataset})}/images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    summarised = f"{path}: {summary.to_rate} descriptions to rate, {summary.rated} rated"
    return f"{summarised}; the images are {images}/<sample>.png\n{meaning}"

"""Arguments → stages. No logic: a mistake becomes one sentence and exit code 2, a bug keeps its traceback."""

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from driftledger import stages
from driftledger.errors import DriftledgerError
from driftledger.layout import Combination
from driftledger.shown import for_line, for_terminal

app = typer.Typer(
    help="Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
calls = typer.Typer(help="Look into the call store.", no_args_is_help=True)
app.add_typer(calls, name="calls")

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

Name = Annotated[str, typer.Argument(help="A catalogue name of params.yaml.")]


def _project() -> stages.Project:
    return stages.Project(Path.cwd())


@app.command()
def resolve() -> None:
    """DVC stage: note what the selected names stand for now."""
    stages.resolve(_project())


@app.command()
def dataset(dataset: Name) -> None:
    """DVC stage: read, check and store a dataset."""
    stages.dataset(_project(), dataset)


@app.command()
def chain(dataset: Name, model: Name, generator: Name) -> None:
    """DVC stage: collect describe → generate chains."""
    stages.chain(_project(), dataset, model, generator)


@app.command()
def drift(dataset: Name, model: Name, generator: Name, encoder: Name) -> None:
    """DVC stage: score chains with an encoder."""
    stages.drift(_project(), dataset, Combination(model, generator, encoder))


@app.command()
def report() -> None:
    """DVC stage: write the leaderboard."""
    stages.report(_project())


@app.command()
def track() -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    typer.echo(stages.track(_project()))


@app.command()
def audit(
    run: Annotated[str, typer.Argument(help="An MLflow run's id or name, or model/generator/encoder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the evidence as JSON.")] = False,
) -> None:
    """Where does a score come from? From the run back to images, generator version, dataset and commit."""
    from driftledger.ledger.audit import as_text  # rich is only needed here

    evidence = stages.audit(_project(), run)
    typer.echo(evidence.model_dump_json(indent=2, by_alias=True) if as_json else as_text(evidence))


@calls.command()
def why(
    call: Annotated[str, typer.Argument(metavar="KEY-OR-SAMPLE", help="The start of a call's key, or a sample's id.")],
) -> None:
    """Which part of a call's key differs from the nearest stored call?"""
    typer.echo(for_terminal(stages.why(_project(), call)))


def main() -> None:
    """The ``driftledger`` command."""
    try:
        app()
    except DriftledgerError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        _fail(f"{error.filename or 'a file'}: {error.strerror}; mend that and run again")


def _fail(sentence: str) -> None:
    print(f"driftledger: {for_line(sentence)}", file=sys.stderr)
    sys.exit(2)

"""How a study's command ends: a mistake is one sentence and exit code 2, a bug keeps its
traceback."""

import sys
from pathlib import Path

import typer

from driftledger.core.errors import DriftledgerError
from driftledger.core.text import for_line
from driftledger.project.project import Project


def new_app(purpose: str) -> typer.Typer:
    """An application without commands yet."""
    return typer.Typer(
        help=purpose,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )


def here() -> Project:
    """The checkout in which the command runs."""
    return Project(Path.cwd())


def run(app: typer.Typer) -> None:
    """Run the command that the arguments name."""
    try:
        app()
    except DriftledgerError as error:
        print(for_line(str(error)), file=sys.stderr)
        sys.exit(2)

"""Arguments → stages. No logic: a mistake becomes one sentence and exit code 2, a bug keeps its traceback."""

import errno
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from driftledger.benchmarks.registry import benchmarks, imported
from driftledger.commands import stages
from driftledger.core.errors import DriftledgerError
from driftledger.core.escaping import for_line, for_terminal
from driftledger.core.paths import Combination
from driftledger.project.presets import apply_preset, preset_names
from driftledger.project.project import Project

app = typer.Typer(
    help="Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
calls = typer.Typer(help="Look into the call store.", no_args_is_help=True)
app.add_typer(calls, name="calls")
for group, place in (each for spec in benchmarks() for each in spec.commands.items()):
    app.add_typer(imported(place), name=group)

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

Name = Annotated[str, typer.Argument(help="A catalogue name of params.yaml.")]


def _project() -> Project:
    return Project(Path.cwd())


@app.callback()
def top(context: typer.Context) -> None:
    context.obj = _project()  # for the commands of benchmarks


def _questions() -> ModuleType:
    """What stages, each of which is a process that has to start, do not need."""
    from driftledger.commands import prepare as questions

    return questions


def _inquiries() -> ModuleType:
    """The same."""
    from driftledger.commands import ask as inquiries

    return inquiries


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
def describe(dataset: Name, model: Name, description: Name) -> None:
    """DVC stage: collect descriptions of a labelled dataset."""
    stages.describe(_project(), dataset, model, description)


@app.command()
def trac(dataset: Name, model: Name, description: Name, encoder: Name) -> None:
    """DVC stage: score how distinctive descriptions are, with a text encoder."""
    stages.trac(_project(), dataset, model, description, encoder)


@app.command()
def redraw(dataset: Name, model: Name, generator: Name) -> None:
    """DVC stage: collect one description and one redrawing per image."""
    stages.redraw(_project(), dataset, model, generator)


@app.command()
def fidelity(dataset: Name, model: Name, generator: Name, encoder: Name) -> None:
    """DVC stage: score how faithful descriptions and redrawings are, with an encoder."""
    stages.fidelity(_project(), dataset, Combination(model, generator, encoder))


@app.command(name="question_set")
def question_set(question_set: Name) -> None:
    """DVC stage: read, check and store a question set."""
    stages.question_set(_project(), question_set)


@app.command()
def answer(question_set: Name, model: Name) -> None:
    """DVC stage: put the questions to a model."""
    stages.answer(_project(), question_set, model)


@app.command()
def grade(question_set: Name, model: Name) -> None:
    """DVC stage: read what was chosen, or have the judge grade it."""
    stages.grade(_project(), question_set, model)


@app.command()
def score(question_set: Name, model: Name) -> None:
    """DVC stage: score a model's answers."""
    stages.score(_project(), question_set, model)


@app.command()
def report() -> None:
    """DVC stage: write the leaderboard."""
    stages.report(_project())


@app.command()
def track() -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    typer.echo(stages.track(_project()))


@app.command()
def preset(
    name: Annotated[str | None, typer.Argument(help="A file of presets/, without its ending.")] = None,
) -> None:
    """Select a published protocol in params.yaml; without a name, list them."""
    root = _project().root
    if name is None:
        typer.echo("\n".join(preset_names(root / "presets")))
    else:
        typer.echo("\n".join(apply_preset(root, name)) or f"params.yaml is as {name} wants it")


@app.command()
def plan(
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """What would the selected runs still ask of each component, and what may that cost? Nothing is asked."""
    from driftledger.reports.plan import plan_table  # rich is only needed here

    planned = {name: calls.to_dict() for name, calls in _questions().plan(_project()).items()}
    typer.echo(json.dumps(planned, indent=2) if as_json else plan_table(planned))


@app.command()
def collect(
    benchmarks: Annotated[
        list[str] | None, typer.Argument(help="genception, trac, fidelity or questions; else all.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="One of run.models; may be repeated; else all.")] = None,
) -> None:
    """Make every call that the selected runs still need in one process, which loads each checkpoint once.

    What they say, draw and see waits beside the call store: 'dvc repro' then writes its files without loading any.
    """
    from driftledger.commands import collect as collecting  # stages, each a process that has to start, do not need it

    collecting.collect(_project(), benchmarks or (), model or ())


JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@app.command()
def audit(
    target: Annotated[str | None, typer.Argument(help="A run, a score file, an image, or RUN:METRIC.")] = None,
    model: Annotated[str | None, typer.Option(help="NAME, NAME@VERSION: every score it stands behind.")] = None,
    generator: Annotated[str | None, typer.Option(help="The same; a version is a fingerprint's start.")] = None,
    encoder: Annotated[str | None, typer.Option(help="The same.")] = None,
    judge: Annotated[str | None, typer.Option(help="The same.")] = None,
    dataset: Annotated[str | None, typer.Option(help="NAME or NAME@DIGEST.")] = None,
    image: Annotated[Path | None, typer.Option(help="A file, known by its bytes wherever it was copied to.")] = None,
    since: Annotated[str | None, typer.Option(help="A date or a Git revision.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Where does a score come from, and what did a version touch? Back to images, versions, dataset and commit."""
    if target is not None:
        typer.echo(_inquiries().audit(_project(), target, as_json=as_json))
    else:
        asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
        typer.echo(_inquiries().touched(_project(), **asked, image=image, since=since, as_json=as_json))


@app.command()
def verify(
    run: Annotated[str | None, typer.Argument(help="A run; without it, all that params.yaml selects.")] = None,
    regenerate: Annotated[int, typer.Option(min=0, help="How many random calls are made again.")] = 0,
    ledger: Annotated[bool, typer.Option("--ledger", help="Check the chain of ledger.jsonl alone.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Does every byte and every number behind a run still hold? Exit code 1 if something does not."""
    from driftledger.commands import verify as verifying  # which stages do not need

    project = _project()
    found = verifying.verify_ledger(project) if ledger else verifying.verify(project, run, regenerated=regenerate)
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else for_terminal("\n".join(found.lines())))
    raise typer.Exit(0 if found.result.holds else 1)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A run.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Rank also what is not comparable.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Is one run better than another, and are they comparable at all? With paired intervals over common samples."""
    comparison = _inquiries().compare(_project(), a, b, anyway=anyway)
    typer.echo(json.dumps(comparison.to_dict(), indent=2) if as_json else _inquiries().compare_table(comparison))


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help="A Git commit, tag or branch.")],
    new: Annotated[str | None, typer.Argument(help="Another; without it, the working tree.")] = None,
    as_json: JsonOption = False,
) -> None:
    """What changed between two revisions: components, data, scores, and how answers are read."""
    typer.echo(_inquiries().diff(_project(), old, new, as_json=as_json))


@calls.command()
def why(
    call: Annotated[str, typer.Argument(metavar="KEY-OR-SAMPLE", help="The start of a call's key, or a sample's id.")],
) -> None:
    """Which part of a call's key differs from the nearest stored call?"""
    typer.echo(for_terminal(_inquiries().why(_project(), call)))


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

"""Arguments → commands. No logic: a mistake becomes one sentence and exit code 2, a bug keeps its traceback.

Each command imports what it needs when it is called: a run starts a hundred stages, each in a process of its own.
"""

import errno
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from driftledger.benchmarks.registry import benchmarks, imported
from driftledger.core.errors import DriftledgerError
from driftledger.core.escaping import for_line, for_terminal
from driftledger.project.project import Project
from driftledger.tracking.connection import PORT

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

PANELS = EVALUATE, ASK, VIEW, PEOPLE, STAGES = ("Evaluate", "Ask", "Publish and view", "With people", "DVC's stages")
"""The panels of ``--help``: what people type first comes first."""


class _ByPanel(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        panels = {name: getattr(command, "rich_help_panel", None) for name, command in self.commands.items()}
        return sorted(panels, key=lambda name: PANELS.index(panels[name]) if panels[name] in PANELS else len(PANELS))


app = typer.Typer(
    cls=_ByPanel,
    help="Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
calls = typer.Typer(help="Look into the call store.", no_args_is_help=True)
app.add_typer(calls, name="calls", rich_help_panel=ASK)
for group, place in (each for spec in benchmarks() for each in spec.commands.items()):
    app.add_typer(imported(place), name=group, rich_help_panel=PEOPLE)

JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@app.callback()
def top(context: typer.Context) -> None:
    context.obj = Project(Path.cwd())


@app.command(rich_help_panel=STAGES)
def resolve(context: typer.Context) -> None:
    """DVC stage: note what the selected names stand for now, and which code is behind each stage."""
    from driftledger.commands import resolve as resolving

    resolving.resolve(context.obj)


@app.command(rich_help_panel=STAGES)
def dataset(context: typer.Context, dataset: Annotated[str, typer.Argument(help="An entry of datasets.")]) -> None:
    """DVC stage: read, check and store a dataset."""
    from driftledger.commands import stages

    stages.dataset(context.obj, dataset)


@app.command(name="question_set", rich_help_panel=STAGES)
def question_set(
    context: typer.Context, question_set: Annotated[str, typer.Argument(help="An entry of question_sets.")]
) -> None:
    """DVC stage: read, check and store a question set."""
    from driftledger.commands import stages

    stages.question_set(context.obj, question_set)


@app.command(hidden=True)
def stage(
    context: typer.Context,
    benchmark: Annotated[str, typer.Argument(help="A benchmark.")],
    stage: Annotated[str, typer.Argument(help="One of its stages.")],
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="What the keys of the stage stand for.")],
) -> None:
    """DVC stage: run a stage of a benchmark, as its pipeline in pipelines/ does."""
    from driftledger.commands import stages

    stages.run_stage(context.obj, benchmark, stage, names)


@app.command(rich_help_panel=VIEW)
def report(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--open", help="Open the pages in a browser.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the pages alone, into this folder.")] = None,
    images: Annotated[bool, typer.Option("--images/--no-images", help="With --out: show images of the data.")] = True,
) -> None:
    """DVC stage: write the leaderboard, the pages of the report, and what DVC shows of the scores."""
    from driftledger.commands import stages

    if show or out or not images:
        stages.pages(context.obj, out, images=images, show=show)
    else:
        stages.report(context.obj)


@app.command(rich_help_panel=VIEW)
def figures(
    context: typer.Context,
    pdf: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to; files of the same names are written anew.")],
) -> None:
    """Write every figure of reports/figures as PDF, for papers; the extra 'pdf' installs what it takes."""
    from driftledger.reports.figures import write_pdfs

    typer.echo(f"{write_pdfs(context.obj.paths.figures, pdf)} figures are written to {for_line(str(pdf))}")


@app.command(rich_help_panel=STAGES)
def correlation(context: typer.Context) -> None:
    """DVC stage: set our metrics against each other and against the leaderboards in data/leaderboards."""
    from driftledger.commands import stages

    typer.echo(for_terminal(stages.correlation(context.obj)))


@app.command(rich_help_panel=VIEW)
def track(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what MLflow holds otherwise; merge doubles.")] = False,
) -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    from driftledger.commands import stages

    typer.echo(stages.track(context.obj, repair))


@app.command(rich_help_panel=VIEW)
def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of 127.0.0.1.")] = PORT,
) -> None:
    """Open MLflow on the scores: serve its pages on this machine, and say where they are."""
    from driftledger.tracking.ui import serve

    for line in serve(context.obj.settings.tracking, port):
        typer.echo(line)


@app.command(rich_help_panel=EVALUATE)
def preset(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The preset to select.")] = None,
) -> None:
    """Select a published protocol in params.yaml; without a name, list them."""
    from driftledger.core.terminal import facts, lines, show
    from driftledger.project.presets import apply_preset, presets_in_words

    root = context.obj.root
    if name is None:
        show(facts(presets_in_words(root)))
    else:
        show(lines(apply_preset(root, name) or [f"params.yaml is as {name} wants it"]))


@app.command(rich_help_panel=EVALUATE)
def plan(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """What would the selected runs still ask of each component, and what may that cost? Nothing is asked."""
    from driftledger.commands import collect as collecting
    from driftledger.core.terminal import show
    from driftledger.reports.plan import plan_table

    planned = {name: calls.to_dict() for name, calls in collecting.plan(context.obj).items()}
    show(json.dumps(planned, indent=2) if as_json else plan_table(planned))


@app.command(rich_help_panel=EVALUATE)
def collect(
    context: typer.Context,
    benchmarks: Annotated[
        list[str] | None, typer.Argument(metavar="[BENCHMARK]...", help="Only what these need; else all.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="One of run.models; may be repeated; else all.")] = None,
) -> None:
    """Make every call that the selected runs still need in one process, which loads each checkpoint once.

    What they say, draw and see waits beside the call store: 'dvc repro' then writes its files without loading any.
    """
    from driftledger.commands import collect as collecting

    collecting.collect(context.obj, benchmarks or (), model or ())


@app.command(rich_help_panel=ASK)
def audit(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(help="A run, a score, an image, RUN:METRIC; or a value or name, to see what it could mean."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All files, settings, versions and lock entries.")] = False,
    model: Annotated[str | None, typer.Option(help="NAME or NAME@VERSION: the scores of this model.")] = None,
    generator: Annotated[str | None, typer.Option(help="NAME or NAME@VERSION, a fingerprint's start.")] = None,
    encoder: Annotated[str | None, typer.Option(help="NAME or NAME@VERSION, of image and text encoders.")] = None,
    judge: Annotated[str | None, typer.Option(help="NAME or NAME@VERSION: the scores that it graded.")] = None,
    dataset: Annotated[str | None, typer.Option(help="NAME or NAME@DIGEST, of a dataset or a question set.")] = None,
    image: Annotated[Path | None, typer.Option(help="A file, known by its bytes wherever it was copied to.")] = None,
    since: Annotated[str | None, typer.Option(help="A date or a Git revision.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Where does a score come from, and what did a version touch? Back to images, versions, dataset and commit."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    if target is not None:
        show(ask.audit(context.obj, target, full=full, as_json=as_json))
    else:
        asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
        show(ask.touched(context.obj, **asked, image=image, since=since, as_json=as_json))


@app.command(rich_help_panel=ASK)
def verify(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(help="A run; without it, all that params.yaml selects.")] = None,
    regenerate: Annotated[int, typer.Option(min=0, help="How many random calls are made again.")] = 0,
    ledger: Annotated[bool, typer.Option("--ledger", help="Check the chain of ledger.jsonl alone.")] = False,
    mlflow: Annotated[bool, typer.Option("--mlflow", help="Check too what MLFLOW_TRACKING_URI shows of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Does every byte and every number behind a run still hold? Exit code 1 if something does not."""
    from driftledger.commands import verify as verifying
    from driftledger.core.terminal import show

    project = context.obj
    if ledger:
        verified = verifying.verify_ledger(project)
    else:
        verified = verifying.verify(project, run, regenerated=regenerate, mlflow=mlflow)
    show(json.dumps(verified.to_dict(), indent=2) if as_json else verified.as_table())
    raise typer.Exit(0 if verified.result.holds else 1)


@app.command(rich_help_panel=ASK)
def compare(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="A run.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Rank also what is not comparable.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Is one run better than another, and are they comparable at all? With paired intervals over common samples."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.compare(context.obj, a, b, anyway=anyway, as_json=as_json))


@app.command(rich_help_panel=ASK)
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="A Git commit, tag or branch.")],
    new: Annotated[str | None, typer.Argument(help="Another; without it, the working tree.")] = None,
    as_json: JsonOption = False,
) -> None:
    """What changed between two revisions: components, data, scores, and how answers are read."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.diff(context.obj, old, new, as_json=as_json))


@calls.command()
def why(
    context: typer.Context,
    call: Annotated[str, typer.Argument(metavar="KEY-OR-SAMPLE", help="The start of a call's key, or a sample's id.")],
) -> None:
    """Which part of a call's key differs from the nearest stored call?"""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.why(context.obj, call))


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

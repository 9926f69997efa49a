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
from driftledger.core.missing import MissingSourceError
from driftledger.ledger.objects.reach import Reach
from driftledger.project.project import Project
from driftledger.tracking.connection import PORT

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

PANELS = ("Evaluate", "Ask", "Prove", "Show and export", "With people", "DVC's stages")
"""The panels of ``--help``: what people type first comes first."""
EVALUATE, ASK, PROVE, VIEW, PEOPLE, STAGES = PANELS


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

RemoteOption = Annotated[
    str | None, typer.Option(metavar="URL", help="A DVC remote to fetch from: none that the checkout names is asked.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="This checkout is my own: ask the remote and the MLflow that it names.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
TimestampOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL", envvar="DRIFTLEDGER_TIMESTAMP", help="An RFC 3161 authority that says when; may be repeated."
    ),
]
UnsignedOption = Annotated[bool, typer.Option("--unsigned", help="Without a signature.")]


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
def export(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="every-eval-ever, inspect, in-toto, croissant or hf-model-card."),
    ],
    run: Annotated[str, typer.Argument(help="A selected run: MODEL/GENERATOR/ENCODER.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Files of the same names are replaced.")],
) -> None:
    """Write a run in the format of another tool."""
    from driftledger.commands import export as exporting

    typer.echo(f"{exporting.export(context.obj, kind, run, out)} files are written to {for_line(str(out))}")


@app.command(rich_help_panel=PROVE)
def publish(context: typer.Context, timestamp: TimestampOption = None, unsigned: UnsignedOption = False) -> None:
    """Sign a checkpoint over ledger.jsonl with your Git signing key: who keeps it can tell what was changed since."""
    from driftledger.commands import publish as publishing

    typer.echo(for_terminal(publishing.publish(context.obj, timestamp or (), unsigned=unsigned)))


@app.command(rich_help_panel=PROVE)
def preregister(
    context: typer.Context,
    runs: Annotated[int, typer.Option(min=1, help="How many published attempts the plan allows.")] = 1,
    timestamp: TimestampOption = None,
    unsigned: UnsignedOption = False,
) -> None:
    """Sign what params.yaml selects before it is run; what is tried from then on is noted in ledger.jsonl."""
    from driftledger.commands import publish as publishing

    typer.echo(for_terminal(publishing.preregister(context.obj, runs, timestamp or (), unsigned=unsigned)))


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
    on: Annotated[str | None, typer.Option(metavar="here|ray", help="Instead of collect.where in params.yaml.")] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of a Ray cluster: auto or HOST:PORT; else one here."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only the I-th of N parts, counted from 0; with --into.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --shard: where its calls go, for 'driftledger merge'.")
    ] = None,
) -> None:
    """Make every call that the selected runs still need in one go, which loads each checkpoint once.

    What they say, draw and see waits beside the call store: 'dvc repro' then writes its files without loading any.
    """
    from driftledger.commands import collect as collecting

    if shard is not None or into is not None:
        from driftledger.commands import shards

        part, spool = shards.named_part(shard, into)
        typer.echo(for_terminal(shards.collect_shard(context.obj, part, spool, benchmarks or (), model or ())))
        return
    collecting.collect(context.obj, benchmarks or (), model or (), on, address)


@app.command(rich_help_panel=EVALUATE)
def unlock(context: typer.Context) -> None:
    """Let 'dvc repro' go on after a kill: clear the lock file that nobody can read or holds any more."""
    from driftledger.project.rwlock import clear

    for cleared in clear(context.obj.root):
        typer.echo(cleared)


@app.command(rich_help_panel=EVALUATE)
def merge(
    context: typer.Context,
    spools: Annotated[list[Path], typer.Argument(metavar="SPOOL...", help="Spools, or folders that hold some.")],
) -> None:
    """Bring what shards made into the call store; a spool may be merged again, and changes nothing then."""
    from driftledger.commands import shards

    typer.echo(for_terminal(shards.merge(context.obj, spools)))


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
    remote: RemoteOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Where does a score come from, and what did a version touch? Back to images, versions, dataset and commit."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    if target is not None:
        show(ask.audit(context.obj, target, Reach(remote, trust), full=full, as_json=as_json))
    else:
        asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
        show(ask.touched(context.obj, Reach(remote, trust), **asked, image=image, since=since, as_json=as_json))


@app.command(rich_help_panel=PROVE)
def verify(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(help="A run; without it, all that params.yaml selects.")] = None,
    regenerate: Annotated[int, typer.Option(min=0, help="How many random calls of each run are made again.")] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the calls of an earlier verification.")] = None,
    ask_again: Annotated[
        int, typer.Option(min=0, help="How many random calls of each run services are asked again; costs money.")
    ] = 0,
    ledger: Annotated[bool, typer.Option("--ledger", help="Check the chain of ledger.jsonl alone.")] = False,
    remote: RemoteOption = None,
    trust: TrustOption = False,
    since: Annotated[Path | None, typer.Option(metavar="FILE", help="A checkpoint that you kept.")] = None,
    allowed_signers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Whom you trust, as ssh-keygen has it; one must have signed.")
    ] = None,
    authorities: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificates of timestamp authorities that you trust, in PEM.")
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow", help="Check too what MLFLOW_TRACKING_URI shows of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Does every byte and every number behind a run still hold? Exit code 1 if something does not."""
    from driftledger.commands import verify as verifying
    from driftledger.core.terminal import show
    from driftledger.ledger.attest.check import Trust

    project = context.obj
    if ledger:
        verified = verifying.verify_ledger(project)
    else:
        verified = verifying.verify(
            project, run, Reach(remote, trust), regenerated=regenerate, seed=seed, asked_again=ask_again, mlflow=mlflow
        )
    verified = verifying.by_whose_history(project, verified, Trust(allowed_signers, authorities, since))
    show(json.dumps(verified.to_dict(), indent=2) if as_json else verified.as_table())
    raise typer.Exit(0 if verified.result.holds else 1)


@app.command(rich_help_panel=PROVE)
def bundle(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run that was published.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="A bundle that is there is written anew.")],
    images: Annotated[bool, typer.Option("--with-images/--without-images", help="Or only their hashes.")] = True,
    sign: Annotated[bool, typer.Option("--sign", help="With the key that Git signs commits with.")] = False,
) -> None:
    """Write one file with all that is behind a run, for people without this checkout: 'driftledger check' reads it."""
    from driftledger.commands import bundle as bundling
    from driftledger.core.terminal import lines, show

    show(lines(bundling.bundle(context.obj, run, out, images=images, sign=sign)))


@app.command(rich_help_panel=PROVE)
def check(
    bundle: Annotated[Path, typer.Argument(help="A file that 'driftledger bundle' wrote, anybody's.")],
    allowed_signers: Annotated[Path | None, typer.Option(help="Whose signatures you trust, as SSH lists them.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A checkpoint of the ledger that you kept.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a bundle without its repository: bytes, links and numbers. Exit code 1 if something differs."""
    from driftledger_check.cli import run

    raise typer.Exit(run(bundle, allowed_signers=allowed_signers, checkpoint=checkpoint, as_json=as_json))


@app.command(rich_help_panel=PROVE)
def reproduce(
    context: typer.Context,
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle; with --note, somebody's statement.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where the statement is written.")] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="How many calls are made again; else all.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the calls of an earlier reproduction.")] = None,
    note: Annotated[bool, typer.Option("--note", help="Note a statement about your run in ledger.jsonl.")] = False,
) -> None:
    """Make the calls behind somebody's bundle again with your own components, and sign what came of it."""
    from driftledger.commands import reproduce as reproducing

    if note:
        typer.echo(for_terminal(reproducing.note_reproduction(context.obj, bundle)))
        return
    said, reproduced = reproducing.reproduce(context.obj, bundle, out, calls, seed)
    typer.echo(for_terminal("\n".join(said)))
    raise typer.Exit(0 if reproduced else 1)


@app.command(rich_help_panel=ASK)
def compare(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="A run.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Rank also what is not comparable.")] = False,
    remote: RemoteOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Is one run better than another, and are they comparable at all? With paired intervals over common samples."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.compare(context.obj, a, b, Reach(remote, trust), anyway=anyway, as_json=as_json))


@app.command(rich_help_panel=ASK)
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="A Git commit, tag or branch.")],
    new: Annotated[str | None, typer.Argument(help="Another; without it, the working tree.")] = None,
    remote: RemoteOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """What changed between two revisions: components, data, scores, and how answers are read."""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.diff(context.obj, old, new, Reach(remote, trust), as_json=as_json))


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
    except MissingSourceError as error:
        _fail(f"{error}; or 'dvc pull', if your team keeps it with DVC")
    except DriftledgerError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        _fail(f"{error.filename or 'a file'}: {error.strerror}; mend that and run again")


def _fail(sentence: str) -> None:
    print(f"driftledger: {for_line(sentence)}", file=sys.stderr)
    sys.exit(2)

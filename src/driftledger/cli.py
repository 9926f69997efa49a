"""Arguments → commands. No logic: a mistake becomes one sentence and exit code 2, a bug keeps its traceback.

Each command imports what it needs when it is called: a run starts a hundred stages, each in a process of its own.
"""

import errno
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from driftledger import __version__
from driftledger.benchmarks.registry import benchmark_names, command_groups, imported
from driftledger.core.errors import DriftledgerError
from driftledger.core.escaping import for_line, for_terminal
from driftledger.core.missing import MissingSourceError
from driftledger.core.parent import end_under_run
from driftledger.ledger.objects.reach import Reach
from driftledger.tracking.addresses import PORT

if TYPE_CHECKING:
    from driftledger.project.project import Project

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
PLACE_ERRORS = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST, errno.ENAMETOOLONG)
"""Something else lies where a file or a folder should; a sentence only if the error names the place."""

RUNS_OWN_CODE = frozenset(
    {"init", "upgrade", "run", "stage", "collect", "merge", "plan", "design", "preset", "preregister"}
    | {"check-component", "watch", *command_groups()}
)
"""The commands that evaluate: what a project's params.yaml names of its own code is theirs to run. All others may be
used to look at what strangers made."""

PANELS = ("Evaluate", "Ask", "People", "Publish")
"""The panels of ``--help``, in the order in which people come to them."""
EVALUATE, ASK, PEOPLE, PUBLISH = PANELS

_FIRST = ("init", "run", "preset", "plan", "audit", "compare")
"""What people type first stands first in its panel; all else as it is defined."""

_EXAMPLES = """Examples:
driftledger init --images photos  begin with your images
driftledger run                   evaluate, and show scores
driftledger audit 0.743           where is a score from?
driftledger compare one other     which run is better?"""


class _ByPanel(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        def place(name: str) -> tuple[int, int]:
            panel = getattr(self.commands[name], "rich_help_panel", None)
            return (
                PANELS.index(panel) if panel in PANELS else len(PANELS),
                _FIRST.index(name) if name in _FIRST else len(_FIRST),
            )

        return sorted(self.commands, key=place)


app = typer.Typer(
    cls=_ByPanel,
    help="Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score.",
    epilog=_EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
calls = typer.Typer(help="Look into the call store.", no_args_is_help=True)
app.add_typer(calls, name="calls", rich_help_panel=ASK)
stage = typer.Typer(help="Run one stage, as the pipelines of DVC do: 'driftledger run' runs all that is needed.")
app.add_typer(stage, name="stage", hidden=True)
for group, place in command_groups().items():
    app.add_typer(imported(place), name=group, rich_help_panel=PEOPLE)

RemoteOption = Annotated[
    str | None, typer.Option(metavar="URL", help="A DVC remote to fetch from: none that the checkout names is asked.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="This checkout is my own: ask the remote and MLflow it names, run its code.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="End at once, with exit code 2, if another process uses the call store.")
]
TimestampOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL", envvar="DRIFTLEDGER_TIMESTAMP", help="An RFC 3161 authority that says when; may be repeated."
    ),
]
UnsignedOption = Annotated[bool, typer.Option("--unsigned", help="Without a signature.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"driftledger {__version__}")
        raise typer.Exit


@app.callback()
def top(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    from driftledger.project.project import Project

    context.obj = Project(Path.cwd(), own_code=context.invoked_subcommand in RUNS_OWN_CODE)


def trusted(project: "Project", trust: bool) -> "Project":
    """The project of a command that reads, whose own code may be run only where the reader says so."""
    return replace(project, own_code=True) if trust else project


@app.command(rich_help_panel=ASK)
def report(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--open", help="Open the pages in a browser.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the pages alone, into this folder.")] = None,
    images: Annotated[bool, typer.Option("--images/--no-images", help="With --out: show images of the data.")] = True,
) -> None:
    """Write the leaderboard, the pages of the report, and what DVC shows of the scores."""
    from driftledger.commands import stages

    if show or out or not images:
        stages.pages(context.obj, out, images=images, show=show)
    else:
        stages.report(context.obj)


@app.command(rich_help_panel=PUBLISH)
def figures(
    context: typer.Context,
    pdf: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to; files of the same names are written anew.")],
) -> None:
    """Write every figure of reports/figures as PDF, for papers; the extra 'pdf' installs what it takes."""
    from driftledger.reports.figures import write_pdfs

    typer.echo(f"{write_pdfs(context.obj.paths.figures, pdf)} figures are written to {for_line(str(pdf))}")


@app.command(rich_help_panel=PUBLISH)
def track(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what MLflow holds otherwise; merge doubles.")] = False,
) -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    from driftledger.commands import stages

    stages.track(context.obj, repair)


@app.command(rich_help_panel=PUBLISH)
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


@app.command(rich_help_panel=PUBLISH)
def publish(context: typer.Context, timestamp: TimestampOption = None, unsigned: UnsignedOption = False) -> None:
    """Sign a checkpoint over ledger.jsonl with your Git signing key: who keeps it can tell what was changed since."""
    from driftledger.commands import publish as publishing

    typer.echo(for_terminal(publishing.publish(context.obj, timestamp or (), unsigned=unsigned)))


@app.command(rich_help_panel=PUBLISH)
def preregister(
    context: typer.Context,
    runs: Annotated[int, typer.Option(min=1, help="How many published attempts the plan allows.")] = 1,
    timestamp: TimestampOption = None,
    unsigned: UnsignedOption = False,
) -> None:
    """Sign what params.yaml selects before it is run; what is tried from then on is noted in ledger.jsonl."""
    from driftledger.commands import publish as publishing

    typer.echo(for_terminal(publishing.preregister(context.obj, runs, timestamp or (), unsigned=unsigned)))


@app.command(rich_help_panel=ASK)
def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of 127.0.0.1.")] = PORT,
) -> None:
    """Open MLflow on the scores: serve its pages on this machine, and say where they are."""
    from driftledger.tracking.ui import serve

    for line in serve(context.obj.settings.tracking, port):
        typer.echo(line)


@app.command(rich_help_panel=EVALUATE)
def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[STAGE]...", help="Only these and what they need; else all.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run every stage again, also those up to date.")] = False,
    plain: Annotated[bool, typer.Option("--plain", "-v", help="Show the text of DVC and of the stages.")] = False,
) -> None:
    """Evaluate what params.yaml selects: run what is new, and end with the scores and where they are."""
    from driftledger.commands import run as running

    raise typer.Exit(running.run(context.obj, targets or (), force=force, plain=plain))


@app.command(rich_help_panel=EVALUATE)
def preset(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The preset to select.")] = None,
) -> None:
    """Select a published protocol in params.yaml; without a name, list what each is, needs and costs."""
    from driftledger.core.terminal import lines, show
    from driftledger.project.presets import apply_preset, presets_in_words
    from driftledger.reports.presets import presets_table

    root = context.obj.root
    if name is None:
        show(presets_table(presets_in_words(root)))
    else:
        show(lines(apply_preset(root, name) or [f"params.yaml is as {name} wants it"]))


@app.command(rich_help_panel=EVALUATE)
def plan(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """What would the selected runs still ask of each component, and what may that cost? Nothing is asked.

    Where scores of several models are stored, the smallest difference between two that a run of this size can show.
    """
    from driftledger.commands import collect as collecting
    from driftledger.commands.variance import least_detectable
    from driftledger.core.terminal import lines, show
    from driftledger.reports.plan import plan_table

    project = replace(context.obj, asks=False)
    planned = {name: calls.to_dict() for name, calls in collecting.plan(project).items()}
    show(json.dumps(planned, indent=2) if as_json else plan_table(planned))
    if not as_json:
        show(lines(least_detectable(project)))


@app.command(rich_help_panel=EVALUATE)
def design(
    context: typer.Context,
    detect: Annotated[float, typer.Option(help="The difference between two models, in the unit of the score.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="By how these vary: MODEL/GENERATOR/ENCODER, with * for any."),
    ] = None,
    power: Annotated[float, typer.Option(help="The probability of finding it.")] = 0.8,
    benchmark: Annotated[str | None, typer.Option(help="Else the first with several models.")] = None,
    metric: Annotated[str | None, typer.Option(help="By its key, as in score files; else the first headline.")] = None,
    as_json: JsonOption = False,
) -> None:
    """How many images, repeats and generators tell two models apart that differ by this much, and at what cost?"""
    from driftledger.commands import design as designing
    from driftledger.core.terminal import show

    asked: dict[str, Any] = {"detect": detect, "power": power, "benchmark": benchmark, "metric": metric}
    show(designing.design(context.obj, runs or (), **asked, in_json=as_json))


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
    no_wait: NoWaitOption = False,
) -> None:
    """Make every call that the selected runs still need in one go, which loads each checkpoint once.

    What they say, draw and see waits beside the call store: 'dvc repro' then writes its files without loading any.
    """
    from driftledger.commands import collect as collecting

    project = replace(context.obj, waits=not no_wait)
    if shard is not None or into is not None:
        from driftledger.commands import shards

        part, folder = shards.named_part(shard, into)
        typer.echo(for_terminal(shards.collect_shard(project, part, folder, benchmarks or (), model or ())))
        return
    collecting.collect(project, benchmarks or (), model or (), on, address)


@app.command(rich_help_panel=EVALUATE)
def init(
    folder: Annotated[Path, typer.Argument(help="Made where it is missing.")] = Path(),
    images: Annotated[Path | None, typer.Option(metavar="DIR", help="Your images, which become a dataset.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="What is selected.")] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="Little is selected, and there is nothing else.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there; a ledger never is.")] = False,
) -> None:
    """Make a folder a project: params.yaml, pipelines and an empty ledger, in your Git repository or a new one."""
    from driftledger.commands.init import init as make

    said = make(folder, images=images, preset=preset, minimal=minimal, force=force)
    typer.echo(for_terminal("\n".join(said)))


@app.command(rich_help_panel=EVALUATE)
def upgrade(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: exit code 1 and the files that differ.")
    ] = False,
) -> None:
    """Renew the files that 'driftledger init' wrote, after the package has changed; what you edited is merged."""
    from driftledger.commands import upgrade as upgrading

    if check:
        differing = upgrading.differing(context.obj)
        typer.echo("".join(f"{for_line(path)} differs from what driftledger writes\n" for path in differing), nl=False)
        raise typer.Exit(1 if differing else 0)
    typer.echo(for_terminal("\n".join(upgrading.upgrade(context.obj))))


@app.command(rich_help_panel=EVALUATE)
def unlock(context: typer.Context) -> None:
    """Let 'dvc repro' go on after a kill: clear the lock file that nobody can read or holds any more."""
    from driftledger.project.rwlock import clear

    for cleared in clear(context.obj.root):
        typer.echo(cleared)


@app.command(rich_help_panel=EVALUATE)
def merge(
    context: typer.Context,
    stores: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Stores of shards, or folders of them.")],
    no_wait: NoWaitOption = False,
) -> None:
    """Bring what shards made into the call store; merging a store again changes nothing."""
    from driftledger.commands import shards

    typer.echo(for_terminal(shards.merge(replace(context.obj, waits=not no_wait), stores)))


@app.command(name="check-component", rich_help_panel=EVALUATE)
def check_component(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="An entry of models, generators or encoders.")],
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="model, generator, encoder or judge, where several have the name."),
    ] = None,
    paid: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask a service, up to N times; without it, none is asked.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Does a component keep its contract: shapes, determinism, order, errors, memory? Exit code 1 if it does not."""
    from driftledger.commands import check_component as checking
    from driftledger.core.terminal import show

    checked = checking.check(context.obj, name, kind, paid)
    if not as_json:
        checking.note(context.obj, checked)
    show(json.dumps(checked.to_dict(), indent=2) if as_json else checked.as_table())
    raise typer.Exit(1 if checked.report.problems else 0)


@app.command(rich_help_panel=ASK)
def watch(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[SERVICE]...", help="Of those that params.yaml selects; else all.")
    ] = None,
    paid: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask, with up to N calls; without it, none is asked.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Does a service still answer as it did? Asks the same small probe again, and compares. Exit code 1 if not."""
    from driftledger.commands import watch as watching
    from driftledger.core.terminal import show

    found = watching.watch(context.obj, names or (), paid)
    show(json.dumps(watching.to_dict(found), indent=2) if as_json else watching.as_table(found, asked=paid is not None))
    raise typer.Exit(1 if any(each.watched and each.watched.changed for each in found) else 0)


@app.command(rich_help_panel=EVALUATE)
def new(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help="model, generator, encoder, dataset or question_set.")],
    name: Annotated[str, typer.Argument(help="Of the module; nothing that is there is overwritten.")],
    package: Annotated[
        bool, typer.Option("--package", help="A folder that pip installs, with an entry point.")
    ] = False,
) -> None:
    """Write a component or data of your own that works at once, and its test; and say what to put into params.yaml."""
    from driftledger.commands import new as making

    for told in making.new(context.obj.root, kind, name, package=package):
        typer.echo(told)


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
    from driftledger.core.terminal import show

    if target is not None:
        from driftledger.notebook.opened import OpenedProject

        found = OpenedProject(trusted(context.obj, trust), Reach(remote, trust)).audit(target)
        show(found.json if as_json else found.tree if full else found.answer)
    else:
        from driftledger.commands import ask

        asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
        show(
            ask.touched(
                trusted(context.obj, trust), Reach(remote, trust), **asked, image=image, since=since, as_json=as_json
            )
        )


@app.command(rich_help_panel=ASK)
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

    project = trusted(context.obj, trust)
    if ledger:
        verified = verifying.verify_ledger(project)
    else:
        verified = verifying.verify(
            project, run, Reach(remote, trust), regenerated=regenerate, seed=seed, asked_again=ask_again, mlflow=mlflow
        )
    verified = verifying.by_whose_history(project, verified, Trust(allowed_signers, authorities, since))
    show(json.dumps(verified.to_dict(), indent=2) if as_json else verified.as_table())
    raise typer.Exit(0 if verified.result.holds else 1)


@app.command(rich_help_panel=PUBLISH)
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


@app.command(rich_help_panel=PUBLISH)
def check(
    bundle: Annotated[Path, typer.Argument(help="A file that 'driftledger bundle' wrote, anybody's.")],
    allowed_signers: Annotated[Path | None, typer.Option(help="Whose signatures you trust, as SSH lists them.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A checkpoint of the ledger that you kept.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a bundle without its repository: bytes, links and numbers. Exit code 1 if something differs."""
    from driftledger_check.cli import run

    raise typer.Exit(run(bundle, allowed_signers=allowed_signers, checkpoint=checkpoint, as_json=as_json))


@app.command(rich_help_panel=PUBLISH)
def reproduce(
    context: typer.Context,
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle; with --note, somebody's statement.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where the statement is written.")] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="How many calls are made again; else all.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the calls of an earlier reproduction.")] = None,
    note: Annotated[bool, typer.Option("--note", help="Note a statement about your run in ledger.jsonl.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="This checkout is my own: run its code.")] = False,
) -> None:
    """Make the calls behind somebody's bundle again with your own components, and sign what came of it."""
    from driftledger.commands import reproduce as reproducing

    if note:
        typer.echo(for_terminal(reproducing.note_reproduction(context.obj, bundle)))
        return
    said, reproduced = reproducing.reproduce(trusted(context.obj, trust), bundle, out, calls, seed)
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
    from driftledger.core.terminal import show
    from driftledger.notebook.opened import OpenedProject

    found = OpenedProject(trusted(context.obj, trust), Reach(remote, trust)).compare(a, b, anyway=anyway)
    show(found.json if as_json else found.shown)


@app.command(rich_help_panel=ASK)
def variance(
    context: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="MODEL/GENERATOR/ENCODER, with * for any; else all that are selected."),
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only of this one.")] = None,
    metric: Annotated[str | None, typer.Option(help="By its key, as in score files; else the first headline.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Where does the variance of scores come from: models, generators, encoders, images, repeats?"""
    from driftledger.commands import variance as finding
    from driftledger.core.terminal import show

    show(finding.variance(context.obj, runs or (), benchmark=benchmark, metric=metric, in_json=as_json))


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

    show(ask.diff(trusted(context.obj, trust), old, new, Reach(remote, trust), as_json=as_json))


@calls.command()
def why(
    context: typer.Context,
    call: Annotated[str, typer.Argument(metavar="KEY-OR-SAMPLE", help="The start of a call's key, or a sample's id.")],
) -> None:
    """Which part of a call's key differs from the nearest stored call?"""
    from driftledger.commands import ask
    from driftledger.core.terminal import show

    show(ask.why(context.obj, call))


@stage.callback()
def below() -> None:
    end_under_run()


@stage.command(name="resolve")
def stage_resolve(context: typer.Context) -> None:
    """Note what the selected names stand for now, and which code is behind each stage."""
    from driftledger.commands import resolve as resolving

    resolving.resolve(context.obj)


@stage.command(name="dataset")
def stage_dataset(
    context: typer.Context, dataset: Annotated[str, typer.Argument(help="An entry of datasets.")]
) -> None:
    """Read, check and store a dataset."""
    from driftledger.commands import stages

    stages.dataset(context.obj, dataset)


@stage.command(name="question_set")
def stage_question_set(
    context: typer.Context, question_set: Annotated[str, typer.Argument(help="An entry of question_sets.")]
) -> None:
    """Read, check and store a question set."""
    from driftledger.commands import stages

    stages.question_set(context.obj, question_set)


def _add_stages_of(benchmark: str) -> None:
    @stage.command(name=benchmark, help=f"Run a stage of {benchmark}, as pipelines/{benchmark}/dvc.yaml does.")
    def run_stage(
        context: typer.Context,
        name: Annotated[str, typer.Argument(metavar="STAGE", help="One of its stages.")],
        names: Annotated[list[str], typer.Argument(metavar="NAME...", help="What the keys of the stage stand for.")],
    ) -> None:
        from driftledger.commands import stages

        stages.run_stage(context.obj, benchmark, name, names)


for each in benchmark_names():
    _add_stages_of(each)


@stage.command(name="report")
def stage_report(context: typer.Context) -> None:
    """Write the leaderboard, the pages of the report, and what DVC shows of the scores."""
    from driftledger.commands import stages

    stages.report(context.obj)


@stage.command(name="correlation")
def stage_correlation(context: typer.Context) -> None:
    """Set our metrics against each other and against the leaderboards in data/leaderboards."""
    from driftledger.commands import stages

    typer.echo(for_terminal(stages.correlation(context.obj)))


@stage.command(name="track")
def stage_track(context: typer.Context) -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    from driftledger.commands import stages

    stages.track(context.obj)


def main() -> None:
    """The ``driftledger`` command."""
    if sys.platform != "win32":  # ignored by whoever has started it, no child would say how it ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        app()
    except MissingSourceError as error:
        _fail(f"{error}; or 'dvc pull', if your team keeps it with DVC")
    except DriftledgerError as error:
        _fail(str(error))
    except OSError as error:
        place = error.filename2 or error.filename
        if error.errno not in (DISK_ERRORS + PLACE_ERRORS if place else DISK_ERRORS):
            raise
        _fail(f"{place or 'a file'}: {error.strerror}; mend that and run again")


def _fail(sentence: str) -> None:
    print(f"driftledger: {for_line(sentence)}", file=sys.stderr)
    sys.exit(2)

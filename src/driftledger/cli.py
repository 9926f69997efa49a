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
from driftledger.commands.grades import app as grades
from driftledger.commands.people import human, ratings
from driftledger.core.errors import DriftledgerError, MissingSourceError
from driftledger.core.escaping import for_line, for_terminal
from driftledger.ledger.objects.reach import Reach
from driftledger.tracking.addresses import PORT

if TYPE_CHECKING:
    from driftledger.project.project import Project

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
PLACE_ERRORS = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST, errno.ENAMETOOLONG)
"""Something else lies where a file or a folder should; a sentence only if the error names the place."""

RUNS_OWN_CODE = frozenset(
    {"init", "upgrade", "run", "stage", "collect", "merge", "plan", "preset", "human", "ratings", "grades"}
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
stage = typer.Typer(help="Run one stage, as the pipelines of DVC do: 'driftledger run' runs all that is needed.")
app.add_typer(stage, name="stage", hidden=True)
for group, sheets in (("human", human), ("ratings", ratings), ("grades", grades)):
    app.add_typer(sheets, name=group, rich_help_panel=PEOPLE)

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
) -> None:
    """Show every selected combination in MLflow; nothing is written twice."""
    from driftledger.commands import stages

    stages.track(context.obj)


@app.command(rich_help_panel=PUBLISH)
def export(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="csv, every-eval-ever or inspect."),
    ],
    run: Annotated[str, typer.Argument(help="A selected run: MODEL/GENERATOR/ENCODER.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Files of the same names are replaced.")],
) -> None:
    """Write a run in the format of another tool."""
    from driftledger import exports

    typer.echo(f"{exports.export(context.obj, kind, run, out)} files are written to {for_line(str(out))}")


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
    """What would the selected runs still ask of each component, and what may that cost? Nothing is asked."""
    from driftledger.commands import collect as collecting
    from driftledger.core.terminal import show
    from driftledger.reports.plan import plan_table

    project = replace(context.obj, asks=False)
    planned = {name: calls.to_dict() for name, calls in collecting.plan(project).items()}
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
    no_wait: NoWaitOption = False,
) -> None:
    """Make every call that the selected models still need in one process, and write their records."""
    from driftledger.commands import collect as collecting

    project = replace(context.obj, waits=not no_wait)
    if shard is not None or into is not None:
        from driftledger.commands import shards

        part, folder = shards.named_part(shard, into)
        typer.echo(for_terminal(shards.collect_shard(project, part, folder, benchmarks or (), model or ())))
        return
    collecting.collect(project, model or context.obj.settings.run.models, benchmarks or (), on, address)


@app.command(rich_help_panel=EVALUATE)
def init(
    folder: Annotated[Path, typer.Argument(help="Made where it is missing.")] = Path(),
    images: Annotated[Path | None, typer.Option(metavar="DIR", help="Your images, which become a dataset.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="What is selected.")] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="Select little.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Make a folder a project: params.yaml and dvc.yaml, in your Git repository or a new one."""
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
    rev: Annotated[str | None, typer.Option(metavar="COMMIT", help="The scores of this commit, read from Git.")] = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Where does a score come from, and what did a version touch? Back to images, versions, dataset and commit."""
    from driftledger.core.terminal import show

    if target is not None:
        from driftledger.notebook.opened import OpenedProject

        found = OpenedProject(trusted(context.obj, trust), Reach(trust=trust)).audit(target, rev)
        show(found.json if as_json else found.tree if full else found.answer)
    else:
        from driftledger.commands import ask

        asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
        show(ask.touched(trusted(context.obj, trust), Reach(trust=trust), asked, as_json=as_json))


@app.command(rich_help_panel=ASK)
def verify(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(help="A run; without it, all that params.yaml selects.")] = None,
    regenerate: Annotated[int, typer.Option(min=0, help="How many random calls of each run are made again.")] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the calls of an earlier verification.")] = None,
    ledger: Annotated[bool, typer.Option("--ledger", help="Check the files in ledger/ alone.")] = False,
    remote: RemoteOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Does every byte and every number behind a run still hold? Exit code 1 if something does not."""
    from driftledger.commands import verify as verifying
    from driftledger.core.terminal import show

    project = trusted(context.obj, trust)
    if ledger:
        verified = verifying.verify_ledger(project)
    else:
        verified = verifying.verify(project, run, Reach(remote, trust), regenerated=regenerate, seed=seed)
    show(json.dumps(verified.to_dict(), indent=2) if as_json else verified.as_table())
    raise typer.Exit(0 if verified.result.holds else 1)


@app.command(rich_help_panel=PUBLISH)
def bundle(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run that was published.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="A bundle that is there is written anew.")],
    images: Annotated[bool, typer.Option("--with-images/--without-images", help="Or only their hashes.")] = True,
) -> None:
    """Write one file with all that is behind a run, for people without this checkout: 'driftledger check' reads it."""
    from driftledger.commands.ask import sources
    from driftledger.core.terminal import lines, show
    from driftledger.ledger.audit import find_run
    from driftledger.ledger.bundle import write_bundle

    evidence = find_run(sources(context.obj, Reach(trust=True)), run)
    show(lines(write_bundle(context.obj, evidence, out, images=images)))


@app.command(rich_help_panel=PUBLISH)
def check(
    bundle: Annotated[Path, typer.Argument(help="A file that 'driftledger bundle' wrote, anybody's.")],
    as_json: JsonOption = False,
) -> None:
    """Check a bundle without its repository: bytes, links and numbers. Exit code 1 if something differs."""
    from driftledger_check.cli import run

    raise typer.Exit(run(bundle, as_json=as_json))


@app.command(rich_help_panel=ASK)
def compare(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="A run.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    anyway: Annotated[bool, typer.Option("--anyway", help="Rank also what is not comparable.")] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Is one run better than another, and are they comparable at all? With paired intervals over common samples."""
    from driftledger.core.terminal import show
    from driftledger.notebook.opened import OpenedProject

    found = OpenedProject(trusted(context.obj, trust), Reach(trust=trust)).compare(a, b, anyway=anyway)
    show(found.json if as_json else found.shown)


@stage.command(name="resolve")
def stage_resolve(context: typer.Context) -> None:
    """Note what the selected names stand for now."""
    from driftledger.commands import resolve as resolving

    resolving.resolve(context.obj)


@stage.command(name="data")
def stage_data(context: typer.Context) -> None:
    """Read, check and store the selected datasets and question sets."""
    from driftledger.commands import stages

    stages.data(context.obj)


@stage.command(name="collect")
def stage_collect(context: typer.Context, model: Annotated[str, typer.Argument(help="One of run.models.")]) -> None:
    """Make the calls of all benchmarks for a model, and write its records."""
    from driftledger.commands import collect as collecting

    collecting.collect(context.obj, [model])


@stage.command(name="score")
def stage_score(context: typer.Context, model: Annotated[str, typer.Argument(help="One of run.models.")]) -> None:
    """Compute the scores of a model from its records."""
    from driftledger.commands import stages

    stages.score(context.obj, model)


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

"""Arguments → commands; a user's mistake is one sentence.

A user's mistake becomes one sentence and exit code 2; a bug keeps its traceback.

Each command imports what it needs when it is called, since each stage of a run is a process of its
own.
"""

import atexit
import gc
import inspect
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from driftledger import __version__
from driftledger.commands import people
from driftledger.commands.signals import stops_as_exits
from driftledger.commands.typed import begin, from_here, name_or_path
from driftledger.core.errors import (
    ConfigError,
    DriftledgerError,
    MissingSourceError,
    explain_disk,
    is_of_disk,
    unknown_name,
)
from driftledger.core.text import for_line, for_terminal

PANELS = EVALUATE, ASK, SHOW = "Evaluate", "Ask", "Show and publish"
"""The panels of ``--help``; commands are defined in the order in which people come to them."""
_EXAMPLES = """Examples:

- `driftledger init --images photos` begins with your images

- `driftledger run` evaluates, and shows scores

- `driftledger audit 0.743` says where a score is from

- `driftledger compare one other` says which run is better"""


app = typer.Typer(
    help=(
        "Evaluate multimodal LLMs on data that no one had to label, with a ledger behind every "
        "score."
    ),
    epilog=_EXAMPLES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # paragraphs are filled
)
app.add_typer(people.app, name="people", rich_help_panel=EVALUATE)

TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="This checkout is my own: follow its links, use its DVC cache, run its code.",
    ),
]
FILES = "Files of results, by any tool: .jsonl, .csv, .parquet"
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
NoWaitOption = Annotated[
    bool,
    typer.Option("--no-wait", help="End with exit code 2 if the call store is in use."),
]
AgainOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Ask this service again, as of today, and compare. May be repeated.",
    ),
]

VersionOption = Annotated[
    str | None,
    typer.Option(help="NAME or NAME@VERSION: list its scores."),
]


def _column(text: str, *names: str) -> Any:
    """Return the option of ``compare`` that names a column of files of results."""
    return typer.Option(*names, metavar="COLUMN", rich_help_panel=FILES, help=text)


_GIVEN = (
    "A name that 'driftledger models' lists, PROVIDER/MODEL such as openai/gpt-5.4-mini, or a "
    "folder."
)
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The address of these services, up to and including /v1."
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --base-url: the environment variable that holds the key.",
    ),
]


def _versions() -> dict[str, str]:
    """Return versions for a bug report, of libraries that are installed."""
    import platform
    from importlib import metadata

    versions = {
        "driftledger": __version__,
        "platform": platform.platform(),
        "python": platform.python_version(),
    }
    for library in ("dvc", "mlflow", "torch"):
        with suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return versions


def _print_version(wanted: bool) -> None:
    if wanted:
        # options after this one are not parsed yet
        if "--json" in sys.argv:
            typer.echo(json.dumps(_versions(), indent=2, sort_keys=True))
        else:
            typer.echo(f"driftledger {__version__}")
        raise typer.Exit


@app.callback()
def top(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version; with --json, of libraries too.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    from driftledger.project.project import Project

    if as_json:
        raise ConfigError("--json goes with --version, or after a command")
    begin(in_project=context.invoked_subcommand != "init")
    context.obj = Project(Path.cwd(), own_code=True)


def _own(context: typer.Context, trust: bool) -> None:
    """Set whether the checkout is the reader's own.

    Otherwise no code of the checkout is run, no link out of it is followed, and no host that it
    names is asked.
    """
    if not trust:
        # else repositories that it names are asked for, with the reader's token
        os.environ["HF_HUB_OFFLINE"] = "1"
    context.obj = replace(context.obj, own_code=trust)


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command read checkouts of others, and give it the option ``--trust``."""

    @wraps(command)
    def guarded(context: typer.Context, trust: bool, **options: Any) -> None:
        _own(context, trust)
        command(context, **options)

    signature = inspect.signature(command)
    option = inspect.Parameter(
        "trust", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=TrustOption
    )
    guarded.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    return guarded


@app.command(rich_help_panel=EVALUATE)
def init(
    folder: Annotated[Path, typer.Argument(help="Created if it is missing.")] = Path(),
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder of images, which becomes a dataset."
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions, which become a question set."),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="B",
            help="The benchmark of the questions: mme (default), mm_sap or mm_vet.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="M", help=f"{_GIVEN} May be repeated.")
    ] = None,
    generator: Annotated[
        list[str] | None,
        typer.Option(metavar="G", help="A generator; as with --model."),
    ] = None,
    encoder: Annotated[
        list[str] | None, typer.Option(metavar="E", help="An encoder; as with --model.")
    ] = None,
    base_url: BaseUrlOption = None,
    key_env: KeyOption = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A preset that 'driftledger preset' lists."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing files.")
    ] = False,
) -> None:
    """Make a folder a project, in your Git repository or a new one.

    Example: driftledger init --images photos --model gpt_5_4_mini --model gemini_3_8_flash
    """
    from driftledger.commands.init import init
    from driftledger.project.catalogue import selectable

    selected = {"models": model, "generators": generator, "encoders": encoder}
    chosen = {}
    for section, names in selected.items():
        if names:
            entries = [selectable(section, name, base_url, key_env) for name in names]
            chosen[section] = dict(entries)
    sentences = init(
        folder,
        images=images,
        questions=questions,
        benchmark=benchmark,
        preset=preset,
        chosen=chosen,
        force=force,
    )
    _say(*sentences)


@app.command(rich_help_panel=EVALUATE)
def add(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help="model, generator or encoder.")],
    given: Annotated[
        str, typer.Argument(metavar="NAME", parser=name_or_path, help=_GIVEN)
    ],
    only: Annotated[
        bool, typer.Option("--only", help="Select it alone, in place of the others.")
    ] = False,
    base_url: BaseUrlOption = None,
    key_env: KeyOption = None,
    sees_nothing: Annotated[
        bool,
        typer.Option(
            "--sees-nothing",
            help="Select the same model without its images, as a control.",
        ),
    ] = False,
) -> None:
    """Select one more model, generator or encoder in params.yaml.

    Example: driftledger add model gpt_5_4_mini
    """
    from driftledger.commands.models import add

    if kind not in (kinds := ("model", "generator", "encoder")):
        raise ConfigError(unknown_name("kind", kind, kinds))
    _say(
        *add(
            context.obj,
            f"{kind}s",
            given,
            only=only,
            base_url=base_url,
            key=key_env,
            sees_nothing=sees_nothing,
        )
    )


@app.command(rich_help_panel=EVALUATE)
def run(
    context: typer.Context,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Make records and scores again, also those up to date."
        ),
    ] = False,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Show the output of the stages."),
    ] = False,
    again: AgainOption = None,
    no_wait: NoWaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate what params.yaml selects, and show the scores.

    Only what is new is run, and no call is paid for twice. The exit code is 1 if a model failed or
    has no rank and the others are done, and 2 if nothing could be done.

    Example: driftledger run --plain
    """
    from driftledger.commands.run import outcome, run

    project = replace(context.obj, waits=not no_wait)
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        code = run(project, force=force, plain=plain, again=again or ())
    if as_json:
        print(json.dumps(outcome(project, code), indent=2))
    raise typer.Exit(code)


@app.command(rich_help_panel=EVALUATE)
def plan(
    context: typer.Context,
    local: Annotated[
        bool,
        typer.Option(
            "--local", help="For a checkout of others: only read, and ask no host."
        ),
    ] = False,
    again: AgainOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the calls to make, their price, and what is missing.

    The exit code is 1 if something is missing.

    Example: driftledger plan --json
    """
    from driftledger.commands.again import dated
    from driftledger.commands.plan import plan, plan_table
    from driftledger.commands.terminal import show

    _own(context, not local)
    project = context.obj
    if again and local:
        raise ConfigError("--again is for a checkout of your own; leave out --local")
    if again:
        project, _ = dated(project, again)
    preview = plan(project)
    planned = {name: calls.to_dict() for name, calls in preview.calls.items()}
    table = plan_table(planned, preview.replies)
    if as_json:
        data = {"calls": planned, "missing": preview.missing, "notes": preview.notes}
        show(json.dumps(data, indent=2))
    elif len(table.columns) > 1:
        show(table)
    for sentence in (
        *preview.notes,
        *(f"missing: {calls}" for calls in preview.missing),
    ):
        typer.echo(for_line(sentence), err=True)
    raise typer.Exit(1 if preview.missing else 0)


@app.command(rich_help_panel=EVALUATE)
def models(
    words: Annotated[
        str,
        typer.Argument(
            metavar="[FILTER]",
            help="A part of a name, or a section such as generators or datasets.",
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List the catalogue: what each needs, what it costs, checked when.

    Example: driftledger models generators
    """
    from driftledger.commands.models import catalogue_rows, catalogue_table
    from driftledger.commands.terminal import show

    rows = catalogue_rows(words)
    show(json.dumps(rows, indent=2) if as_json else catalogue_table(rows))


@app.command(rich_help_panel=EVALUATE)
def preset(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The preset to select.")] = None,
) -> None:
    """Select a published protocol in params.yaml, or list them.

    Example: driftledger preset neural
    """
    from driftledger.commands.terminal import facts, show
    from driftledger.project.presets import apply_preset, presets_in_words

    if name is None:
        show(facts(presets_in_words(context.obj.root).items()))
    else:
        _say(
            *(
                apply_preset(context.obj.root, name)
                or [f"params.yaml selects {name} already"]
            )
        )


@app.command(rich_help_panel=EVALUATE)
def upgrade(
    context: typer.Context,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only list files that differ; then exit code 1."),
    ] = False,
) -> None:
    """Write dvc.yaml and other generated files again.

    Run it after an update of the package. 'git diff' shows what changed; uncommitted changes in
    these files are refused, and params.yaml is left alone.

    Example: driftledger upgrade --check
    """
    from driftledger.commands.init import upgrade

    lines = upgrade(context.obj, check=check)
    if lines:
        _say(*lines)
    raise typer.Exit(1 if check and lines else 0)


@app.command(rich_help_panel=EVALUATE)
def new(
    context: typer.Context,
    kind: Annotated[
        str, typer.Argument(help="model, generator, encoder, dataset or question_set.")
    ],
    name: Annotated[
        str, typer.Argument(help="The module's name; no existing file is overwritten.")
    ],
) -> None:
    """Write a component or data of your own that works, and its test.

    The output says what to put into params.yaml.

    Example: driftledger new model my_model
    """
    from driftledger.commands.new import new

    _say(*new(context.obj.root, kind, name))


@app.command(rich_help_panel=EVALUATE)
def collect(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Only this one of run.models; may be repeated."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Only part I of N, from 0; with --into."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", parser=from_here, help="With --shard: where its calls go."
        ),
    ] = None,
    no_wait: NoWaitOption = False,
) -> None:
    """Make the missing calls alone, or one of several shards of them.

    Without --shard, the records of the models are written too.

    Example: driftledger collect --shard 0/4 --into shards
    """
    from driftledger.commands.collect import collect
    from driftledger.commands.lock import only_one
    from driftledger.commands.plan import selected_now
    from driftledger.commands.shards import collect_shard

    project = selected_now(replace(context.obj, waits=not no_wait))
    if shard is None and into is None:
        with only_one(project, "driftledger collect"):
            collect(project, model or ())
    elif shard is None or into is None:
        raise ConfigError(
            "--shard i/n and --into FOLDER go together: a shard keeps its calls in a store there"
        )
    else:
        _say(collect_shard(project, shard, into, model or ()))


@app.command(hidden=True)  # what a shard says at its end names it
def merge(
    context: typer.Context,
    stores: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            parser=from_here,
            help="Stores of shards, or folders of them.",
        ),
    ],
    no_wait: NoWaitOption = False,
) -> None:
    """Bring what shards made into the call store.

    Merging a store again changes nothing.

    Example: driftledger merge shards
    """
    from driftledger.commands.shards import merge

    _say(merge(replace(context.obj, waits=not no_wait), stores))


@app.command("gc", rich_help_panel=EVALUATE)
def remove_unused(
    context: typer.Context,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Remove them; without --yes they are only counted."
        ),
    ] = False,
    no_wait: NoWaitOption = False,
) -> None:
    """Remove stored calls and images that no run uses any more.

    Runs that params.yaml selects, in any worktree, and published runs keep theirs. 'dvc gc' cleans
    DVC's own cache.

    Example: driftledger gc --yes
    """
    from driftledger.commands.gc import remove_unused

    _say(remove_unused(replace(context.obj, waits=not no_wait), yes=yes))


@app.command(rich_help_panel=ASK)
@reads
def audit(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            parser=name_or_path,
            help="A run, an id in MLflow, RUN:METRIC, a score, image, value or name.",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="All files, settings, versions and lock entries."),
    ] = False,
    model: VersionOption = None,
    generator: VersionOption = None,
    encoder: VersionOption = None,
    judge: VersionOption = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="NAME or NAME@DIGEST; also a question set."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say where a score comes from, or which scores a version shaped.

    The answer goes back to images, versions, dataset and commit.

    Example: driftledger audit 0.743
    """
    from driftledger.commands.audit import audit
    from driftledger.commands.terminal import show

    versions = {
        "model": model,
        "generator": generator,
        "encoder": encoder,
        "judge": judge,
        "dataset": dataset,
    }
    show(audit(context.obj, target, versions, full=full, as_json=as_json))


@app.command(rich_help_panel=ASK)
@reads
def compare(
    context: typer.Context,
    a: Annotated[
        str,
        typer.Argument(help="A run, its fingerprint, REF:RUN of a commit, or a file."),
    ],
    b: Annotated[str, typer.Argument(help="The run or file to compare with A.")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also rank what is not comparable.")
    ] = False,
    fail_if: Annotated[
        Literal["worse", "not-as-good", "changed"] | None,
        typer.Option(help="Exit with 1 if B is that, with 3 if it cannot be decided."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="How much worse B may be, for 'not-as-good'."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Judge by this metric, not by all headlines.")
    ] = None,
    show_changes: Annotated[
        int,
        typer.Option(
            "--show", min=0, help="The number of changes to print, with both texts."
        ),
    ] = 0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table for a pull request.")
    ] = False,
    as_json: JsonOption = False,
    ids: Annotated[
        list[str] | None,
        _column("What names a row; several together may.", "--id"),
    ] = None,
    values: Annotated[
        list[str] | None,
        _column(
            "A number, true or false, or a grade of Inspect. May be repeated.",
            "--value",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        _column("Rows about one thing, such as an image, share its value."),
    ] = None,
    group: Annotated[
        str | None,
        _column("Average within each value of it first."),
    ] = None,
    higher: Annotated[
        bool | None,
        typer.Option(
            "--higher/--lower",
            rich_help_panel=FILES,
            help="Which values are better.",
            show_default="higher",
        ),
    ] = None,
) -> None:
    """Say if one run or file of results is better than another, and if they are comparable.

    Differences have paired intervals over the samples that both have.
    COLUMN may be a path into nested fields: scores.exact.value

    Example: driftledger compare main:gpt/sdxl/vit gpt/sdxl/vit --fail-if worse

    Example: driftledger compare a.jsonl b.jsonl --id doc_id --value exact_match --fail-if worse
    """
    from driftledger.commands.terminal import show
    from driftledger.data.tables import KINDS
    from driftledger.ledger.gate import Gate

    gate = Gate(fail_if, margin, metric)
    has_options = ids or values or cluster or group or higher is not None
    if has_options or any(name.lower().endswith(KINDS) for name in (a, b)):
        from driftledger.commands.compared import compare_files
        from driftledger.ledger.result_files import Columns

        columns = Columns(ids or [], values or [], cluster, group, higher is not False)
        one = (from_here(a), a)
        two = (from_here(b), b)
        compared = compare_files(one, two, columns, anyway=anyway, gate=gate)
    else:
        from driftledger.commands.compare import compare

        compared = compare(context.obj, a, b, anyway=anyway, gate=gate)
    if as_json:
        show(compared.as_json())
    elif markdown:
        show(compared.as_markdown(show_changes))
    else:
        show(compared.as_text(show_changes))
    raise typer.Exit(compared.verdict)


@app.command(rich_help_panel=ASK)
@reads
def verify(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run; without it, all that params.yaml selects."),
    ] = None,
    regenerate: Annotated[
        int,
        typer.Option(
            min=0, help="The number of random calls of each run to make again."
        ),
    ] = 0,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="The seed of an earlier verification, to check the same calls."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every byte and every number behind a run.

    The exit code is 1 if something does not hold.

    Example: driftledger verify --regenerate 5
    """
    from driftledger.commands.terminal import show
    from driftledger.commands.verify import verify

    verified = verify(context.obj, run, regenerated=regenerate, seed=seed)
    show(json.dumps(verified.to_dict(), indent=2) if as_json else verified.as_text())
    raise typer.Exit(0 if verified.result.holds else 1)


@app.command(rich_help_panel=SHOW)
@reads
def report(
    context: typer.Context,
    show: Annotated[
        bool, typer.Option("--open", help="Open the pages in a browser.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            parser=from_here,
            help="Write the pages alone, into this folder.",
        ),
    ] = None,
    images: Annotated[
        bool,
        typer.Option(
            "--images/--no-images", help="With --out: show the data's images."
        ),
    ] = True,
) -> None:
    """Write the leaderboard and the pages of the report.

    Example: driftledger report --out public --no-images
    """
    from driftledger.commands.lock import only_one
    from driftledger.commands.stages import report
    from driftledger.reports.report import SITE, write_report

    project = context.obj
    site = project.root / SITE
    if out is not None:
        write_report(project, out, images=images)
    elif not images:
        raise ConfigError(
            "--no-images needs --out FOLDER, since reports/site is an output that DVC keeps"
        )
    elif not (show and site.is_dir()):
        with only_one(project, "driftledger report"):
            report(project)
    if show:
        import webbrowser

        webbrowser.open(((out or site) / "index.html").absolute().as_uri())


@app.command(rich_help_panel=SHOW)
def ui(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Port on 127.0.0.1 (default: 5000, or the next free one).",
        ),
    ] = None,
) -> None:
    """Serve MLflow on this machine, and say where the scores are.

    Example: driftledger ui --port 5001
    """
    from driftledger.tracking.store import serve

    for line in serve(context.obj.settings.tracking, port):
        typer.echo(line)


@app.command(rich_help_panel=SHOW)
def track(context: typer.Context) -> None:
    """Show the selected runs in MLflow; nothing is written twice.

    Example: driftledger track
    """
    from driftledger.commands.lock import only_one
    from driftledger.commands.stages import track

    with only_one(context.obj, "driftledger track"):
        track(context.obj)


@app.command(rich_help_panel=SHOW)
@reads
def bundle(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run that was published.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            parser=from_here,
            help="The file to write; an existing bundle is replaced.",
        ),
    ],
    images: Annotated[
        bool,
        typer.Option(
            "--with-images/--without-images", help="Store images, or only their hashes."
        ),
    ] = True,
) -> None:
    """Write one file with everything behind a run.

    'driftledger check' reads it, also without this checkout.

    Example: driftledger bundle gpt/sdxl/vit --out score.zip
    """
    from driftledger.ledger.bundles.writing import write_bundle
    from driftledger.ledger.sources import Sources, find_run

    project = context.obj
    _say(*write_bundle(project, find_run(Sources(project), run), out, images=images))


@app.command(rich_help_panel=SHOW)
def check(
    bundle: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            parser=from_here,
            help="A file written by 'driftledger bundle'.",
        ),
    ],
    as_json: JsonOption = False,
    trust_features: Annotated[
        bool,
        typer.Option(
            "--trust-features",
            help="Accept headlines that are from the bundle's own features.",
        ),
    ] = False,
) -> None:
    """Check a bundle without its repository.

    Exit codes: 0 every headline is reproduced, 1 something differs, 2 not a bundle,
    3 something is not checked or a headline is from the bundle's own features.

    Example: driftledger check score.zip
    """
    from driftledger.ledger.bundles.checking import run

    raise typer.Exit(run(bundle, as_json=as_json, trust_features=trust_features))


@app.command(hidden=True)
def stage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A stage of dvc.yaml.")],
    model: Annotated[str | None, typer.Argument(help="One of run.models.")] = None,
) -> None:
    """Run one stage, as dvc.yaml does: 'driftledger run' runs all that is needed.

    Example: driftledger stage score gpt
    """
    from driftledger.commands import collect, stages
    from driftledger.commands.lock import only_one

    project = context.obj
    what = " ".join(filter(None, (name, model)))
    with only_one(project, f"driftledger stage {what}"):
        match name, model:
            case "resolve", None:
                from driftledger.project.resolve import resolve

                resolve(project)
            case "data" | "report" | "track", None:
                getattr(stages, name)(project)
            case "collect", str():
                collect.collect(project, [model])
                collect.refuse_failed_calls(project, model)
            case "score", str():
                stages.score(project, model)
            case _:
                raise ConfigError(f"dvc.yaml has no stage {what!r:.100}")


def main() -> None:
    """Run the ``driftledger`` command."""
    # by Python's own 700 new objects, looking for garbage takes a fifth of what imports take
    gc.set_threshold(50_000)
    # likewise at the end, of all that was imported: an eighth of a short command
    atexit.register(gc.freeze)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal need not have every character that models and tables use
        sys.stdout.reconfigure(errors="replace")
    # if our parent ignores it, no child would report how it ended
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        command: Any = typer.main.get_command(app)
        for option in command.params:
            option.hidden |= "completion" in option.name
        # else Ctrl-C would end with 1, which has another meaning
        with stops_as_exits():
            command()
    except MissingSourceError as error:
        _fail(f"{error}; or 'dvc pull', if your team keeps it with DVC")
    except DriftledgerError as error:
        _fail(*error.args)
    except OSError as error:
        if not is_of_disk(error):
            raise
        _fail(explain_disk(error))


def _say(*sentences: str) -> None:
    typer.echo(for_terminal("\n".join(sentences)))


def _fail(*sentences: str) -> None:
    for sentence in sentences:
        print(f"driftledger: {for_line(sentence)}", file=sys.stderr)
    sys.exit(2)

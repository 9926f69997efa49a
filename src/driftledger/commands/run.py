"""``driftledger run``: bring everything that ``params.yaml`` selects up to date, and show the
scores.

First one process makes the calls that are missing, of all models; then ``dvc repro`` runs as a
child. DVC's text, and that of the stages, goes to a log, from which the names of stages are read. A
model that could not be asked has no score until a later run; all others have theirs.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from configparser import ConfigParser
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock, Timeout
from rich.console import Group, RenderableType
from rich.text import Text

from driftledger.benchmarks.base import COVERAGE, RECORDS_OF, SCORES
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ALARM
from driftledger.collect.progress import COUNTS, read_counts
from driftledger.commands.again import ask_again, show_what_changed
from driftledger.commands.collect import (
    FAILED,
    RUN_LOCK,
    plan,
    refuse,
    require_readiness,
    stops_as_exits,
    tasks_of,
)
from driftledger.commands.folders import new_files, note_new_files
from driftledger.commands.stages import data, track
from driftledger.commands.terminal import HEAD, QUIET, line, show, table
from driftledger.core.canonical import Json
from driftledger.core.errors import (
    ConfigError,
    DataError,
    DriftledgerError,
    LedgerError,
    StoreError,
    first_few,
)
from driftledger.core.files import (
    CONFLICT,
    INPUTS,
    keep_only,
    load_json,
    made_from,
    read_regular,
    write_json,
)
from driftledger.core.paths import STATE
from driftledger.core.text import for_line, say
from driftledger.ledger.lineage import place_of
from driftledger.ledger.lock import parse_lock
from driftledger.ledger.objects.git import is_unreadable, why_unread
from driftledger.project.project import LOCK, Project
from driftledger.project.resolve import resolve
from driftledger.project.settings import read_yaml
from driftledger.reports.cells import Cell, ReportTable, interval

if TYPE_CHECKING:
    from driftledger.reports.scores import Parts

LOG = "run.log"
"""In the folder of the checkout's state."""
MISTAKE = 2
"""The exit code of a command of ours after a sentence that says what to correct."""
ALWAYS = ("resolve", "track")
"""Stages that do not count as work."""

Start = Callable[..., "subprocess.Popen[str]"]

_STAGE = re.compile(r"(Running stage|Stage) '([^']+)'")
_TROUBLE = re.compile(r"(driftledger|\w*(?:Error|Exception)): (.+)")
_DVCS_TROUBLE = re.compile(r"ERROR: (?:failed to reproduce '([^']+)': )?(.+)")
_BLOCKER = re.compile(r"  \(PID (\d+)\): (.+)")
"""A process that uses what a stage needs."""
_COLUMNS = 5
"""Of the closing table; more follow in a second one below it."""
_BUSY = 30.0
"""Seconds in which other processes may let go of what DVC needs."""
_WATCHED = (
    "/bin/sh",
    "-c",
    """
    exec 3<&0
    {
        read -r nothing # until the process at the other end is gone
        kill -s INT 0
        seconds=0
        while kill -0 $$ && [ $((seconds += 1)) -le 20 ]; do sleep 1; done
        kill -s KILL 0
    } <&3 >/dev/null 2>&1 &
    exec "$@" </dev/null 3<&-
    """,
    "sh",
)
"""Becomes the command that follows, beside a process that ends their group once nobody holds the
input's other end.

It does so as Ctrl-C does, and harder after 20 seconds, or where something outlives the command.
"""


def run(
    project: Project,
    targets: Sequence[str] = (),
    *,
    force: bool = False,
    plain: bool = False,
    again: Sequence[str] = (),
    until: Literal["ranked"] | None = None,
) -> int:
    """Bring everything up to date, or ``targets`` of DVC, end with the scores, and return the exit
    code.

    It is 1 where a model failed and others are done, or where one has no rank for lack of coverage,
    and 2 where all failed.

    Args:
        force: whether records and scores are made again; calls that are stored are not repeated.
        plain: whether DVC's text is shown as it is.
        again: services that are asked again, as of today; see
            :func:`~driftledger.commands.again.ask_again`.
        until: for a race, which comes first; see :func:`~driftledger.commands.race.race`.

    Raises:
        ConfigError: the settings are wrong, this is not a DVC project, a folder of data is old, or
            another run is under way.
    """
    _require_project(project)
    if until is not None:
        from driftledger.commands.race import keys_of_race

        keys_of_race(project.settings)
    began = time.monotonic()
    former: dict[str, str] = {}
    try:
        with _only_one_run(project.root), stops_as_exits():
            new_files(project)  # or an old folder is refused
            if again:
                former = ask_again(project, again)
                project = replace(project)
            _prepare(project, force=force)
            start = _children_of(project)
            pull = _has_remote(project.root)
            if until is not None:
                failed = _make_calls(project, start, pull=pull, until=until)
                if failed:
                    return failed
                project = replace(project)
            failed = 0 if targets else _make_calls(project, start, pull=pull)
            complete = _stages_of_complete_models(project) if failed == MISTAKE else []
            if failed and not complete:
                return failed
            options = ["--pull"] if pull else []
            options += ["--single-item"] if complete else []
            options += ["--force"] if force else []
            command = ["dvc", "repro", *options, *targets, *complete]
            code, ran = _follow(project, start, command, plain=plain)
    except SystemExit as stopped:
        say("stopped; 'driftledger run' goes on from here")
        return int(stopped.code or 0)
    if code:
        return code
    _say_what_was_done(project, ran, time.monotonic() - began)
    lacking = show_scores(project)
    if targets:
        return 0
    _fill_mlflow(project)
    if not failed:
        show_what_changed(project, former)
    if lacking:
        say(for_line(f"driftledger: {first_few(lacking)}"))
    return 1 if lacking or failed else 0


def _require_project(project: Project) -> None:
    """Find mistakes in the project's files before anything starts."""
    assert project.settings  # which are checked when they are read
    if not (project.root / ".dvc").is_dir():
        raise ConfigError(
            f"{project.root} is not a DVC project; 'driftledger init' makes it one"
        )
    # DVC would not say where the conflict of a merge is
    read_yaml(project.root / "dvc.yaml")


@contextmanager
def _only_one_run(root: Path) -> Iterator[None]:
    """Hold the lock of the checkout's run, whose calls are counted from 0.

    Raises:
        ConfigError: another run is under way; its calls so far are printed.
    """
    log = root / STATE / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    counts = log.with_name(COUNTS)
    try:
        lock = FileLock(log.with_name(RUN_LOCK)).acquire(timeout=0)
    except Timeout:
        for name, value in read_counts(counts).items():
            say(f"{name}: {round(value, 2):,}")
        raise ConfigError(
            f"another 'driftledger run' is under way here; its log is {log}"
        ) from None
    with lock:
        counts.unlink(missing_ok=True)
        yield


def _prepare(project: Project, *, force: bool) -> None:
    """Remove what an earlier run left behind, and with ``force`` the marks of what it made."""
    _set_cut_files_aside(project.root)
    write_json(project.root / STATE / FAILED, {})
    if force:
        _forget_what_was_made(project.root, project.settings.run.models)


def _stages_of_complete_models(project: Project) -> list[str]:
    """List the stages of the models that have their records; empty without any. Remove the scores
    of all others.

    Each is to run by itself: to DVC, the report depends on every model.
    """
    scores = []
    collects = []
    complete = []
    for model in project.settings.run.models:
        if all(task.made() for task in tasks_of(project, [model])):
            complete.append(project.root / SCORES / model)
            collects.append(f"collect@{model}")
            scores.append(f"score@{model}")
    if not complete:
        return []
    keep_only(project.root / SCORES, complete)
    return ["resolve", "data", *collects, *scores, "report", "track"]


def _say_what_was_done(project: Project, ran: Sequence[str], seconds: float) -> None:
    work = [name for name in ran if name not in ALWAYS]
    count = "1 stage ran" if len(work) == 1 else f"{len(work)} stages ran"
    if not work:
        count = "nothing had to be done"
    say(
        f"{count}, in {timedelta(seconds=round(seconds))}; DVC's text is in {STATE}/{LOG}"
    )
    if failed := _failed_records(project):
        say(
            f"{failed} records failed and are in no score; 'driftledger run' makes failed calls "
            "again"
        )
    if is_unreadable(project.root):
        say(f"no commit is noted: {why_unread(project.root)}")


def _forget_what_was_made(root: Path, models: Sequence[str]) -> None:
    """Remove the marks of the folders of records and scores, so that each is made again."""
    records = [RECORDS_OF.format(model=model) for model in models]
    for name in (*records, SCORES):
        for manifest in (root / name).rglob(INPUTS):
            manifest.unlink()


def _children_of(project: Project) -> Start:
    """Return what starts a child: in a group of processes of its own, which :func:`_end` can end.

    With :data:`_WATCHED`, a kill of this process ends the group, too: it must not go on paying.
    """
    own = str(Path(sys.executable).parent)  # the commands of this Python
    path = os.environ.get("PATH", "")
    if own not in path.split(os.pathsep):
        path = os.pathsep.join([own, path])
    return partial(
        subprocess.Popen,
        cwd=project.root,
        stdout=sys.stdout,  # which may be stderr, where one document goes to stdout
        env=os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )


def _has_remote(root: Path) -> bool:
    """Return True if DVC's configuration names a default remote."""
    config = ConfigParser(strict=False, interpolation=None)
    config.read(
        [root / ".dvc" / name for name in ("config", "config.local")], encoding="utf-8"
    )
    return bool(config.get("core", "remote", fallback=""))


def _failed_records(project: Project) -> int:
    """Count the records that a score calls failed: of a failed call, or graded by a judge that gave
    nothing."""
    from driftledger.reports.scores import selected_score

    failed: dict[Path, int] = {}
    for task in tasks_of(project):
        mark = made_from(task.folder)
        failed[task.folder] = mark.failed if mark else 0
    for spec, keys in project.selected:
        folder = project.root / spec.collects.at(keys)
        with suppress(DriftledgerError):
            outcomes = selected_score(project, spec, keys).outcomes
            failed[folder] = max(failed.get(folder, 0), outcomes.get("failed", 0))
    return sum(failed.values())


def _set_cut_files_aside(root: Path) -> None:
    """Rename DVC's list of locks and ``dvc.lock`` if they cannot be read and no one holds them.

    DVC empties them before it writes them, so that a kill in between leaves a file that every later
    ``dvc repro`` refuses to read (treeverse/dvc#7615). Without ``dvc.lock``, all stages run again,
    and no call is made again.

    Raises:
        LedgerError: ``dvc.lock`` holds the conflict of a merge.
    """
    held = root / ".dvc" / "tmp"
    readers: dict[Path, tuple[str, Callable[[bytes], object]]] = {
        held / "rwlock": ("rwlock.lock", json.loads),
        root / LOCK: ("lock", parse_lock),
    }
    held.mkdir(exist_ok=True)
    for file, (lock, read) in readers.items():
        try:
            read(file.read_bytes())
        except FileNotFoundError:
            pass
        except (ValueError, LedgerError) as error:
            if CONFLICT in str(error):  # for people
                raise
            # DVC holds it for milliseconds
            with suppress(Timeout), FileLock(held / lock, timeout=5):
                aside = file.replace(file.with_name(f"{file.name}.unreadable"))
                say(
                    f"{file.relative_to(root)} cannot be read, as after a kill; it is now "
                    f"{aside.name}"
                )


def _make_calls(
    project: Project, start: Start, *, pull: bool, until: str | None = None
) -> int:
    """Make the calls that are missing, of all models in one process, and return its exit code.

    Args:
        until: for a race, which makes some of them.
    """
    models = project.settings.run.models
    try:
        resolve(project)
        records = [project.root / RECORDS_OF.format(model=model) for model in models]
        if pull and not all(folder.is_dir() for folder in records):
            # What others have paid for comes first. Stages that no one has pushed are left out.
            stages = ["data", *(f"collect@{model}" for model in models)]
            command = ["dvc", "pull", "--quiet", "--allow-missing", *stages]
            _wait(start([*_WATCHED, *command], stderr=subprocess.DEVNULL))
        data(project)
    except (ConfigError, DataError):
        refuse(plan(project).missing)  # not the first such thing alone
        raise
    note_new_files(project)
    if until is None and all(task.is_made() for task in tasks_of(project)):
        return 0
    require_readiness(project, of_all=False)
    with project.store():
        pass  # one that cannot be used is no model's trouble
    command = [sys.executable, "-P", "-m", "driftledger", "collect"]
    if until is not None:
        command += ["--until", until]
    if not project.waits:
        command.append("--no-wait")
    return _wait(start([*_WATCHED, *command]))


def _fill_mlflow(project: Project) -> None:
    """Show the selected runs in MLflow where its store is not the one that the stage ``track``
    filled last."""
    from driftledger.ledger.objects.files import Workspace
    from driftledger.ledger.published import mlflow_state
    from driftledger.tracking.track import TRACKED, fill_of

    if not (project.root / TRACKED).is_file():
        return  # a pipeline without that stage
    filled = mlflow_state(Workspace(project.root)).filled
    if filled != fill_of(project.root, project.settings.tracking):
        say("filling MLflow")
        with redirect_stdout(sys.stderr):
            track(project)


def _follow(
    project: Project, start: Start, command: Sequence[str], *, plain: bool
) -> tuple[int, list[str]]:
    """Run DVC with its text in the log; return the exit code, 2 for a mistake, and the stages that
    ran.

    Once a process that uses what a stage needs has ended, DVC runs again.
    """
    ran = list[str]()
    blockers = list[int]()
    stage = ""
    trouble = ""
    mistake = False
    process = start(
        [*_WATCHED, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        with (project.root / STATE / LOG).open("w", encoding="utf-8") as log:
            for row in process.stdout or ():
                print(row, end="", file=log, flush=True)
                text = row.rstrip()
                if plain:
                    print(text, flush=True)
                if match := _STAGE.match(text):
                    stage = match[2]
                    trouble = ""
                    mistake = False
                    if match[1] == "Running stage":
                        ran.append(stage)
                        if not plain:
                            say(f"running {stage}")
                elif match := _TROUBLE.match(text):
                    # the last one: a note may stand above a traceback
                    trouble = match[2]
                    mistake = match[1] == "driftledger"
                elif match := _DVCS_TROUBLE.match(text):
                    if match[1] not in (None, stage):  # one that could not begin
                        stage = match[1]
                        trouble = ""
                        mistake = False
                    trouble = trouble or match[2]
                elif match := _BLOCKER.match(text):
                    blockers.append(int(match[1]))
                    trouble += f" {match[2]} (process {match[1]})"
        code = process.wait()
    finally:
        _end(process)
    what = f"{stage + ': ' if stage else ''}{trouble or 'DVC ended without saying why'}"
    if blockers and project.waits:
        say(f"waiting: {what}")
        deadline = time.monotonic() + _BUSY
        while any(map(_is_alive, blockers)) and time.monotonic() < deadline:
            time.sleep(0.1)
        if time.monotonic() < deadline:
            code, more = _follow(project, start, command, plain=plain)
            return code, [*ran, *more]
    if code:
        say(f"driftledger: {what}; the whole text is in {STATE}/{LOG}")
        if stage == "track":
            show_scores(project)
    return (MISTAKE if code and (mistake or blockers) else code), ran


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # somebody else's
    return True


def show_scores(project: Project) -> list[str]:
    """Print the models at a glance, where to look further, and a command that audits the first
    number.

    Return a sentence about each model that lacks scores or a rank.
    """
    from driftledger.reports.leaderboard import overview
    from driftledger.reports.report import SITE
    from driftledger.reports.scores import (
        by_benchmark,
        rows_reader,
        selected_scores,
        what_is_lacking,
    )
    from driftledger.tracking.store import where_to_look

    try:
        scores = selected_scores(project)
    except DriftledgerError as error:
        show(for_line(f"no scores to show: {error}"))
        return []
    parts = by_benchmark(scores, rows_reader(project))
    shown = overview(parts, every=True)
    further = list[str]()
    if shown is not None:
        show(glance(shown, parts))
        numbers = [(each.score, each.number) for each in _cells(shown) if each.score]
        for score, key in numbers[:1]:
            run = next(each for each in project.combinations if each.shows(score.keys))
            same = [
                each
                for each in scores
                if each.model == score.model and key in each.metrics
            ]
            number = key
            if len(same) > 1:
                number = f"{place_of(benchmark(score.benchmark), score.keys)}/{key}"
            further = [f"next: driftledger audit {shlex.quote(f'{run.path}:{number}')}"]
    pages = f"report: {project.root / SITE / 'index.html'}"
    print(
        "\n".join(
            map(
                for_line,
                ["", where_to_look(project.settings.tracking), pages, *further],
            )
        ),
        flush=True,
    )
    return what_is_lacking(project, scores)


def outcome(project: Project, code: int) -> Json:
    """Return how a run ended, for JSON: the headlines that are there, and why models failed."""
    from driftledger.notebook import OpenedProject
    from driftledger.reports.report import SITE

    headlines: Any = []
    with suppress(StoreError):
        scores = OpenedProject(project.root, trust=True).scores()
        headlines = scores[scores.headline].to_json(
            orient="records", double_precision=15
        )
        headlines = json.loads(headlines)
    failed = load_json(read_regular(project.root / STATE / FAILED))
    return {
        "exit_code": code,
        "scores": headlines,
        "failed": failed,
        "report": str(project.root / SITE),
    }


def glance(shown: ReportTable, parts: "Parts") -> RenderableType:
    """Lay the overview of the leaderboard out for a terminal: controls and unranked models below
    the others."""
    from driftledger.reports.leaderboard import at_a_glance, by_kind

    kinds = by_kind(shown, parts)
    tables = list[RenderableType]()
    for at in range(1, len(shown.head), _COLUMNS):
        heads = shown.head[at : at + _COLUMNS]
        drawn = table("", *heads, numbers=heads)
        for column, head in zip(drawn.columns[1:], heads, strict=True):
            column.header = Text("\n").join(
                map(line, head.replace(" / ", "\xa0/\xa0").split(" "))
            )
            column.vertical = "bottom"
        for kind, rows in kinds.items():
            if kind != "models":
                drawn.add_row(line(f"{kind}:", QUIET))
            for row in rows:
                shown_here = row[at : at + _COLUMNS]
                drawn.add_row(*map(_in_terminal, [row[0], *shown_here]))
        tables += [drawn, line("")]
    notes = [*shown.notes[1:]]
    if any(each.letters for each in _cells(shown)):
        notes.append(
            "models that share a letter cannot be told apart; ± is half the interval; an uneven "
            "one is printed whole"
        )
    data = dict.fromkeys(column.block.scores[0].on for column in at_a_glance(parts))
    where = f"on {first_few([*data], 10)}; reports/leaderboard.md has all"
    notes.append(
        f"controls ignore the sample; {where}" if "controls" in kinds else where
    )
    styled = (line(each, HEAD if ALARM in each else QUIET) for each in notes)
    return Group(*tables[:-1], *styled)


def _cells(shown: ReportTable) -> list[Cell]:
    """List the cells of a table that are numbers, row by row."""
    return [each for row in shown.rows for each in row if isinstance(each, Cell)]


def _in_terminal(each: Cell | str) -> Text:
    """Show a name; or a number over half its interval, the interval if it is lopsided, and a
    coverage below 1."""
    if isinstance(each, str) or each.score is None:
        return line(each if isinstance(each, str) else each.text)
    score = each.score
    key = each.number
    metric = benchmark(score.benchmark).metric(key)
    ends = score.interval(key)
    texts = [line(str(each._replace(more="")), HEAD if each.bold else "")]
    if metric is not None and ends is not None:
        shown = f"±{(ends.high - ends.low) / 2:.{metric.digits}f}"
        lopsided = ends.low + ends.high - 2 * score.metrics[key]
        if round(lopsided, metric.digits):
            shown = interval(score.metrics, key, metric.digits)
        texts.append(line(shown, QUIET))
    if score.coverage != 1:
        texts.append(line(f"{score.coverage:.{COVERAGE.digits}f}", QUIET))
    return Text("\n").join(texts)


def _wait(process: "subprocess.Popen[str]") -> int:
    try:
        return process.wait()
    finally:
        _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """End a child that still runs, and whatever it has started, as a kill of this process would."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait()
    except SystemExit:  # a second stop
        os.killpg(process.pid, signal.SIGKILL)

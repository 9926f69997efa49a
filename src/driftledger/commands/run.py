"""``run``: bring all that is selected up to date.

The scores are shown at the end.

One process does all stages, and then lets DVC write ``dvc.lock``. What could not be made of a model
has no score until a later run; all else has.
"""

import gc
import io
import json
import sys
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout

from driftledger.benchmarks.base.stage import DATASET, RECORDS_OF, SCORES
from driftledger.collect.features import release_all
from driftledger.commands.again import ask_again, show_what_changed
from driftledger.commands.books import (
    REPORTS,
    Books,
    commit,
    facts_of,
    lock_digest,
    note_books,
    noted_books,
    outputs_of,
    pull,
    setting_of_dvc,
)
from driftledger.commands.collect import FAILED, collect, refuse, tasks_of
from driftledger.commands.folders import new_files, note_new_files
from driftledger.commands.glance import show_scores
from driftledger.commands.lock import only_one
from driftledger.commands.plan import plan
from driftledger.commands.stages import data, report, score, track
from driftledger.core.canonical import Json
from driftledger.core.errors import (
    ConfigError,
    DataError,
    DriftledgerError,
    LedgerError,
    StoreError,
    explain_disk,
    first_few,
    is_of_disk,
)
from driftledger.core.files import conflict_in, load_json, read_regular, write_json
from driftledger.core.made import INPUTS, made_from
from driftledger.core.paths import STATE
from driftledger.core.text import for_line, say
from driftledger.ledger.lock import locked_now, noted_digest, parse_lock
from driftledger.ledger.objects.git import NO_REPOSITORY, why_unread
from driftledger.project.project import LOCK, Project
from driftledger.project.resolve import resolve
from driftledger.project.settings import read_yaml

LOG = "run.log"
"""In the folder of the checkout's state."""
MISTAKE = 2
"""The exit code of a command of ours after a sentence that says what to correct."""


def run(
    project: Project,
    *,
    force: bool = False,
    plain: bool = False,
    again: Sequence[str] = (),
) -> int:
    """Bring everything up to date, end with the scores, and return the exit code.

    It is 1 where a model failed and others are done, or where one has no rank for lack of coverage,
    and 2 where nothing could be done.

    Args:
        force: whether records and scores are made again; calls that are stored are not repeated.
        plain: whether the text of the stages is shown as it is.
        again: services that are asked again, as of today; see
            :func:`~driftledger.commands.again.ask_again`.

    Raises:
        ConfigError: the settings are wrong, this is not a DVC project, a folder of data is old, or
            another run is under way.
    """
    stages = _stages_of(project)
    began = time.monotonic()
    former = {}
    try:
        with only_one(project, "driftledger run"):
            new_files(project)  # or an old folder is refused
            if again:
                former = ask_again(project, again)
                project = replace(project)
            _set_cut_files_aside(project.root)
            write_json(project.root / STATE / FAILED, {})
            if force:
                _forget_what_was_made(project.root, project.settings.run.models)
            terminals = [sys.stdout] if plain else []
            with (
                (project.root / STATE / LOG).open("w", encoding="utf-8") as file,
                redirect_stdout(_Log(file, *terminals)),
            ):
                work = _Run(project, stages, plain=plain)
                work.do()
    except SystemExit as stopped:
        say("stopped; 'driftledger run' goes on from here")
        return int(stopped.code or 0)
    if work.is_hopeless:
        return MISTAKE
    made = [stage for stage in work.made if stage not in work.failed]
    _say_what_was_done(project, made, time.monotonic() - began)
    lacking = show_scores(project)
    if not work.failed:
        show_what_changed(project, former)
    if lacking:
        say(for_line(f"driftledger: {first_few(lacking)}"))
    return 1 if lacking or work.failed else 0


class _Run:
    """The stages, one after the other; a failure of one model stops no other."""

    def __init__(
        self, project: Project, stages: Collection[str], *, plain: bool
    ) -> None:
        """Take the stages of ``dvc.yaml``.

        Args:
            plain: whether what they print is on the terminal.
        """
        self._root = project.root
        self._stages = stages
        self._plain = plain
        self._noted = noted_books(project.root)
        models = project.settings.run.models
        self._project = replace(project, unchanged=self._unchanged(outputs_of(models)))
        self.made = dict[str, None]()
        """The stages that had something to make, in order."""
        self.failed = list[str]()
        """The stages in which something failed."""
        self.is_hopeless = False
        """True if there is nothing to show."""

    def _unchanged(self, outs: Collection[str]) -> list[str]:
        """List the outputs whose files have the sizes and times that were noted."""
        known = self._noted.outs
        return [out for out in outs if known.get(out) == facts_of(self._root, out)]

    def begins(self, stage: str) -> None:
        """Say that a stage has something to make, once."""
        if stage not in self.made:
            self.made[stage] = None
            print(f"making {stage}", flush=True)
            if not self._plain:
                say(f"making {stage}")

    def _build(self) -> None:
        """Resolve names, fetch what the team has made, and build data.

        Raises:
            ConfigError, DataError: something is missing; it names all of that.
        """
        project = self._project
        try:
            resolve(project)
            if setting_of_dvc(project.root, "remote") and (stages := self._to_pull()):
                pull(project.root, stages)
            data(project, begins=self.begins)
        except (ConfigError, DataError):
            # not the first such thing alone
            refuse(plan(project, holds=True).missing)
            raise
        note_new_files(project)

    def _to_pull(self) -> list[str]:
        """List the stages that others ran and that lack outputs here.

        They ran them with what is selected now.
        """
        project = self._project
        lock = locked_now(project.root)
        noted = project.noted()
        lacking = []
        for model in project.settings.run.models:
            stage = f"collect@{model}"
            is_locked = noted_digest(lock, stage) == noted["collect"][model]
            made = [task.made() for task in tasks_of(project, [model])]
            if is_locked and not all(made):
                lacking.append(stage)
        is_built = (project.root / DATASET.out({})).is_dir()
        is_locked = noted_digest(lock, "data") == noted["data"]
        if is_locked and (lacking or not is_built):
            lacking.insert(0, "data")
        return lacking

    def do(self) -> None:
        """Bring everything up to date."""
        self._build()
        project = self._project
        if not all(task.is_whole() for task in tasks_of(project)):
            self._try("", lambda: collect(project, begins=self.begins))
        tasks = tasks_of(project)
        left = [task for task in tasks if task.made() is None]
        without = [task.folder for task in left]
        stages = [task.spec.collects.lock(task.keys) for task in left]
        self.failed += dict.fromkeys(stages)
        if self.failed and len(left) == len(tasks):
            self.is_hopeless = True
            return
        for model in project.settings.run.models:
            work = partial(score, project, model, without=without, begins=self.begins)
            self._try(f"score@{model}", work)
        release_all(project.components.values())
        gc.collect()  # what was collected and scored makes room for DVC and MLflow
        self._show(self._complete_models())

    def _try(self, stage: str, work: Callable[[], object]) -> None:
        """Do a part of a stage; if it fails, print the reason and note the stage."""
        try:
            work()
        except Exception as error:
            self.failed.append(stage)
            sentence = "".join(traceback.format_exception(error))
            if isinstance(error, OSError) and is_of_disk(error):
                error = ConfigError(explain_disk(error))
            if isinstance(error, DriftledgerError):
                sentence = f"driftledger: {f'{stage}: ' if stage else ''}{error}"
            print(sentence, flush=True)
            say(sentence)

    def _complete_models(self) -> list[str]:
        """List the models that have all their calls and scores."""
        complete = []
        for model in self._project.settings.run.models:
            is_scored = f"score@{model}" not in self.failed
            if is_scored and all(
                task.is_made() for task in tasks_of(self._project, [model])
            ):
                complete.append(model)
        return complete

    def _commit(self, models: Sequence[str]) -> None:
        """Write into ``dvc.lock`` all that the report reads of these models."""
        first = ["resolve", "data"]
        by_model = [
            f"{stage}@{model}" for stage in ("collect", "score") for model in models
        ]
        if len(models) == len(self._project.settings.run.models):
            # else a model was selected meanwhile
            with suppress(ConfigError):
                self._lock([*first, "collect", "score"])
                return
        self._try("dvc.lock", partial(self._lock, [*first, *by_model]))

    def _lock(self, stages: Sequence[str]) -> None:
        commit(self._root, stages, waits=self._project.waits)

    def _show(self, models: Sequence[str]) -> None:
        """Write ``dvc.lock``, the report and MLflow.

        Args:
            models: the complete ones, which ``dvc.lock`` has.
        """
        root = self._root
        outs = outputs_of(self._project.settings.run.models)
        is_locked = self._noted.lock == lock_digest(root)
        is_unchanged = is_locked and self._unchanged(outs) == outs
        if not is_unchanged:
            self._commit(models)
        before = facts_of(root, REPORTS)
        is_shown = is_unchanged and self._noted.outs.get(REPORTS) == before
        if not is_shown:
            self._try("report", partial(report, self._project))
            if facts_of(root, REPORTS) != before:
                self.begins("report")
            gc.collect()
        if "track" in self._stages:
            self._try("track", partial(track, self._project, again=False))
        if is_shown and facts_of(root, REPORTS) == before:
            return
        last = []
        for stage in ("report", "track"):
            if stage in self._stages and stage not in self.failed:
                last.append(stage)
        self._try("dvc.lock", partial(self._lock, last))
        noted = {out: facts_of(root, out) for out in (*outs, REPORTS)}
        if "report" in self.failed:
            del noted[REPORTS]
        lock = "" if "dvc.lock" in self.failed else lock_digest(root)
        note_books(root, Books(lock=lock, outs=noted))


class _Log(io.TextIOBase):
    """A stream that writes to several others; one that is broken raises nothing."""

    def __init__(self, *places: TextIO) -> None:
        self._places = places

    def write(self, text: str) -> int:
        for place in self._places:
            with suppress(OSError):
                place.write(text)
        return len(text)

    def flush(self) -> None:
        for place in self._places:
            with suppress(OSError):
                place.flush()


def _stages_of(project: Project) -> list[str]:
    """List the stages of ``dvc.yaml``.

    Raises:
        ConfigError: there is a mistake in the project's files, or this is not a DVC project.
    """
    assert project.settings  # which are checked when they are read
    if not (project.root / ".dvc").is_dir():
        raise ConfigError(
            f"{project.root} is not a DVC project; 'driftledger init' makes it one"
        )
    no_git = why_unread(project.root) == NO_REPOSITORY
    if no_git and not setting_of_dvc(project.root, "no_scm"):
        raise ConfigError(
            f"{project.root} is not in a Git repository, which DVC needs; run 'git init', or 'dvc "
            "config core.no_scm true'"
        )
    # DVC would not say where the conflict of a merge is
    pipeline = read_yaml(project.root / "dvc.yaml")
    return [*(pipeline.get("stages") or ())] if isinstance(pipeline, dict) else []


def _say_what_was_done(project: Project, made: Sequence[str], seconds: float) -> None:
    duration = timedelta(seconds=round(seconds))
    count = "1 stage was made" if len(made) == 1 else f"{len(made)} stages were made"
    if made:
        say(f"{count}, in {duration}; their text is in {STATE}/{LOG}")
    else:
        say(f"nothing had to be done, in {duration}")
    if failed := _failed_records(project):
        say(
            f"{failed} records failed and are in no score; 'driftledger run' makes failed calls "
            "again"
        )


def _forget_what_was_made(root: Path, models: Sequence[str]) -> None:
    """Remove all manifests, so that everything is made again."""
    from driftledger.tracking.track import TRACKED

    records = [RECORDS_OF.format(model=model) for model in models]
    for name in (*records, SCORES):
        for manifest in (root / name).rglob(INPUTS):
            manifest.unlink()
    note_books(root, Books())
    (root / TRACKED).unlink(missing_ok=True)


def _failed_records(project: Project) -> int:
    """Count the records that a failed call ended or that the judge did not grade."""
    from driftledger.reports.scores import selected_score

    failed = {}
    for task in tasks_of(project):
        made = made_from(task.folder)
        failed[task.folder] = made.failed if made else 0
    for spec, keys in project.selected:
        folder = project.root / spec.collects.at(keys)
        with suppress(DriftledgerError):
            outcomes = selected_score(project, spec, keys).outcomes
            failed[folder] = max(failed.get(folder, 0), outcomes.get("failed", 0))
    return sum(failed.values())


def _set_cut_files_aside(root: Path) -> None:
    """Rename ``dvc.lock`` and DVC's list of locks if they cannot be read.

    Files that another process holds are left alone.

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
        if not file.is_file():
            continue
        content = file.read_bytes()
        try:
            read(content)
        except (ValueError, LedgerError):
            if conflict_in(content.decode(errors="replace")):  # for people
                raise
            # DVC holds it for milliseconds
            with suppress(Timeout), FileLock(held / lock, timeout=5):
                aside = file.replace(file.with_name(f"{file.name}.unreadable"))
                say(
                    f"{file.relative_to(root)} cannot be read, as after a kill; it is now "
                    f"{aside.name}"
                )


def outcome(project: Project, code: int) -> Json:
    """Return for JSON how a run ended: the headline numbers, and why models failed."""
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

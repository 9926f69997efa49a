"""The stages of ``dvc.yaml``: read, work, write whole files.

``driftledger run`` does them one after the other, and ``dvc repro`` starts a process for each.
"""

import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeAlias

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.stage import DATASET, QUESTION_SET, SCORES, Stage
from driftledger.benchmarks.registry import question_rules
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import (
    ConfigError,
    CoverageError,
    DriftledgerError,
    LedgerError,
    StoreError,
    unknown_name,
)
from driftledger.core.files import keep_only, write_json
from driftledger.core.grouping import grouped
from driftledger.core.made import make
from driftledger.core.text import for_line, for_terminal, say
from driftledger.project.project import Project

Begins: TypeAlias = Callable[[str], object]
"""Called with the name of a stage, as ``score@mine``, before it makes a folder."""


def unsaid(_: str) -> None:
    """Print nothing when a stage begins: ``dvc repro`` does."""


def data(
    project: Project,
    missing: dict[str, str] | None = None,
    begins: Begins = unsaid,
) -> None:
    """Read, check and store the selected datasets and question sets.

    Args:
        missing: entries to leave out, with the reason; entries that cannot be built are added.
            Without it, the first of these raises.
        begins: called before anything is made.
    """
    from driftledger.data.build import build, build_questions
    from driftledger.data.records import notes_of

    settings = project.settings
    noted = project.noted_settings(project.noted().get("data", ""))
    folders = []
    for section, stage in (("datasets", DATASET), ("question_sets", QUESTION_SET)):
        for name in getattr(settings.run, section):
            folder = project.root / stage.at({stage.name: name})
            folders.append(folder)
            if name not in noted.get(section, {}):
                raise StoreError(
                    f"data/resolved.json does not know {section}.{name}; run 'dvc repro resolve'"
                )

            def write(
                name: str = name, folder: Path = folder, stage: Stage = stage
            ) -> None:
                begins("data")
                print(f"reading {name}", flush=True)
                if stage is DATASET:
                    dataset = settings.build("datasets", name)
                    card = build(name, dataset, folder)
                    notes = notes_of(card, card.samples, f"{dataset.medium}s")
                else:
                    provider = settings.build("question_sets", name)
                    questions = build_questions(
                        name, provider, question_rules(provider), folder
                    )
                    notes = notes_of(
                        questions, questions.questions, "questions' images"
                    )
                for note in notes:
                    say(for_line(f"{stage.name.replace('_', ' ')} {name}: {note}"))

            entry = f"{section}.{name}"
            inputs = sha256_of([noted["version"], noted[section][name]])
            try:
                if entry not in (missing or ()):
                    is_unchanged = stage.out({}) in project.unchanged
                    make(folder, inputs, write, is_unchanged=is_unchanged)
            except DriftledgerError as error:
                if missing is None:
                    raise
                missing[entry] = str(error)
    for stage in (DATASET, QUESTION_SET):
        top = project.root / stage.out({})
        top.mkdir(parents=True, exist_ok=True)
        keep_only(top, folders)


def score(
    project: Project,
    model: str,
    *,
    without: Collection[Path] = (),
    begins: Begins = unsaid,
) -> list[CoverageError]:
    """Compute the scores of a model from its records.

    Print and return the errors of those with nothing to score.

    A score that fails stops none of the others.

    Args:
        without: folders of incomplete records, which get no score.
        begins: called before anything is made.

    Raises:
        ConfigError: the model is not selected.
        DriftledgerError: some scores could not be computed; it has the class of the first reason.
    """
    from driftledger.benchmarks.base.scoring import write_score
    from driftledger.benchmarks.base.usage import usage_behind
    from driftledger.project.resolve import inputs_of

    if model not in project.settings.run.models:
        raise ConfigError(
            unknown_name("selected model", model, project.settings.run.models)
        )
    folders = []
    empty = []
    failed = {}
    top = project.root / SCORES / model
    top.mkdir(parents=True, exist_ok=True)
    is_unchanged = f"{SCORES}/{model}" in project.unchanged
    for spec in project.settings.benchmarks:
        for keys in project.settings.keys_of(spec, model=model):
            if project.root / spec.collects.at(keys) in without:
                continue
            folder = project.root / spec.scores.at(keys)
            named = " · ".join(keys[key] for key in spec.scores.keys)
            title = f"{spec.title} on {named}"

            def write(
                spec: Benchmark = spec,
                keys: Mapping[str, str] = keys,
                folder: Path = folder,
            ) -> None:
                begins(f"score@{model}")
                scored = spec.score(project.to_score(spec, keys))
                usage = usage_behind(project.root / spec.collects.at(keys))
                write_score(folder, spec, scored, usage)

            try:
                inputs = inputs_of(project, spec.scores, keys, spec.stages[:-1])
                make(folder, inputs, write, is_unchanged=is_unchanged)
            except CoverageError as error:
                say(for_line(f"{title} has no score: {error}"))
                empty.append(error)
            except Exception as error:  # a bug, too, takes one score alone
                failed[title] = error
            else:
                folders.append(folder)
    keep_only(top, folders)
    raise_all(failed)
    return empty


def raise_all(failed: Mapping[str, Exception]) -> None:
    """Raise one error for what failed, by its name, if anything did.

    A bug is raised as it is, with its traceback, after the tracebacks of others are printed.
    """
    errors = failed.values()
    bugs = [error for error in errors if not isinstance(error, DriftledgerError)]
    for bug in bugs[1:]:
        say("".join(traceback.format_exception(bug)))
    if bugs:
        raise bugs[0]
    if failed:
        reasons = {name: str(error) for name, error in failed.items()}
        sentences = []
        for reason, names in grouped(reasons, reasons.__getitem__).items():
            sentences.append(f"{', '.join(names)}: {reason}")
        raise type(failed[next(iter(failed))])("; ".join(sentences))


def report(project: Project) -> None:
    """Write the report; errors as in :func:`~driftledger.reports.report.write_report`."""
    from driftledger.reports.report import write_report

    if missing := write_report(project):
        print(for_terminal(missing), flush=True)
    print("the scores side by side: reports/leaderboard.md", flush=True)


def track(project: Project, *, again: bool = True) -> None:
    """Show the selected runs in MLflow, publish them, and print a line about each.

    Models with calls or scores still to be made are left out.

    Args:
        again: whether MLflow is asked even if its store was last filled with the same runs.

    Raises:
        LedgerError: the evidence cannot be read, or files of published runs were deleted.
    """
    from driftledger.ledger.lineage import incomplete_models, read_runs
    from driftledger.ledger.objects.files import Workspace
    from driftledger.ledger.objects.git import is_unreadable, why_unread
    from driftledger.ledger.published import note_mlflow, publish, refuse_if_deleted
    from driftledger.tracking.track import TRACKED, fill_of, is_filled
    from driftledger.tracking.track import track as show_in_mlflow

    root = project.root
    if is_unreadable(root):
        say(f"no commit is noted: {why_unread(root)}")
    refuse_if_deleted(root)
    files = Workspace(root)
    incomplete = incomplete_models(root, project.selected, files)
    complete = [
        combination
        for combination in project.combinations
        if combination.model not in incomplete
    ]
    for why in incomplete.values():
        if not complete:
            raise LedgerError(why)
        say(for_line(f"not in MLflow: {why}"))
    runs = read_runs(root, project.selected, complete, files)
    tracked = {run.name: run.fingerprint for run in runs}
    tracking = project.settings.tracking
    if not again and is_filled(root, tracking, tracked):
        return
    print(show_in_mlflow(root, runs, tracking), flush=True)
    written = [path for run in runs if (path := publish(root, run)) is not None]
    print(f"{len(written)} new files in ledger/", flush=True)
    write_json(root / TRACKED, tracked)
    note_mlflow(root, {}, fill_of(root, tracking))

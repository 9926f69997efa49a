"""One function per DVC stage: read, call the part that does the work, write whole files.

Each takes names, as ``dvc.yaml`` passes them, and a :class:`~driftledger.project.Project` that finds everything else.
"""

from pathlib import Path

from driftledger.benchmarks.genception import chain as chains
from driftledger.benchmarks.genception import drift as drifts
from driftledger.benchmarks.questions import answers, grading, scoring
from driftledger.calls import CallStore
from driftledger.canonical import sha256_file
from driftledger.components import Component
from driftledger.datasets.build import build
from driftledger.errors import StoreError
from driftledger.layout import Combination, questions_file, samples_file
from driftledger.ledger.evidence import read_all_evidence
from driftledger.project import Project
from driftledger.question_records import AnswerRecord, AnswersCard, Calibration, QuestionScore
from driftledger.question_sets.build import build as build_question_set
from driftledger.question_sets.files import read_questions
from driftledger.records import (
    ScoreFile,
    new_folder,
    read_json,
    read_jsonl,
    read_samples,
    write_bytes,
    write_json,
    write_jsonl,
)
from driftledger.remote.component import RemoteComponent
from driftledger.reports.chains_picture import draw_chains
from driftledger.reports.leaderboard import write_leaderboard

PICTURED = 4
"""Models in the picture of chains, the first of the selection."""


def resolve(project: Project) -> None:
    """Note what every selected name stands for now: a source's digest, a component's fingerprint.

    Other stages depend on their entry in it, so that DVC sees a changed image, a replaced weight file or a new version
    of a component, and nothing else.
    """
    settings = project.settings
    noted = {
        "datasets": {name: settings.dataset(name).source_digest() for name in settings.run.datasets},
        "question_sets": {name: settings.question_set(name).source_digest() for name in settings.run.question_sets},
        "judge": settings.model(settings.run.judge).fingerprint if settings.needs_judge else "none",
        "models": {name: settings.model(name).fingerprint for name in settings.run.models},
        "generators": {name: settings.generator(name).fingerprint for name in settings.run.generators},
        "encoders": {name: settings.encoder(name).fingerprint for name in settings.run.encoders},
    }
    write_json(project.layout.resolved, noted)


def dataset(project: Project, name: str) -> None:
    """Read, check and store one dataset."""
    target = project.layout.dataset(name)
    with project.only_one(target):
        build(name, project.settings.dataset(name), target)


def chain(project: Project, dataset: str, model: str, generator: str) -> None:
    """Collect one model's and generator's chains over a dataset."""
    source, target = project.layout.dataset(dataset), project.layout.chain(dataset, model, generator)
    protocol = project.chain_protocol(dataset, project.model(model), project.generator(generator))
    with project.only_one(target), project.store() as store:
        collected = chains.collect(protocol, read_samples(source), store, f"{dataset} · {model} · {generator}")
        for component in (protocol.model, protocol.generator):
            _say_spent(component, store)
        chains.check_failures(collected, project.settings.genception.min_coverage)
        with new_folder(target) as folder:
            chains.write_chains(folder, protocol, (model, generator), collected)


def _say_spent(component: Component, store: CallStore) -> None:
    if isinstance(component, RemoteComponent):
        spent = store.spent(component.fingerprint)
        cost = f", cost {spent.cost:.2f}" if component.prices else ""
        print(f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True)


def drift(project: Project, dataset: str, combination: Combination) -> None:
    """Score one combination's chains over a dataset."""
    settings, layout = project.settings, project.layout
    target = layout.scores("genception", dataset, combination)
    with project.only_one(target):
        score_file, rows = drifts.score(
            layout.dataset(dataset),
            layout.chain(dataset, combination.model, combination.generator),
            combination,
            project.encoder(combination.encoder),
            settings.genception,
            settings.run.seed,
        )
        write_jsonl(samples_file(target), rows)
        write_json(target, score_file)


def question_set(project: Project, name: str) -> None:
    """Read, check and store one question set."""
    target = project.layout.question_set(name)
    with project.only_one(target):
        build_question_set(name, project.settings.question_set(name), target)


def answer(project: Project, question_set: str, model: str) -> None:
    """Put every question of a set to one model."""
    target = project.layout.answers(question_set, model)
    protocol = project.answer_protocol(question_set, project.model(model))
    with project.only_one(target), project.store() as store:
        collected = answers.collect(protocol, read_questions(protocol.folder), store, f"{question_set} · {model}")
        _say_spent(protocol.model, store)
        answers.check_failures(collected, project.settings.questions.min_coverage)
        with new_folder(target) as folder:
            answers.write_answers(folder, protocol, model, collected)


def grade(project: Project, question_set: str, model: str) -> None:
    """Say what each answer of a model is worth."""
    layout = project.layout
    target, source = layout.grades(question_set, model), layout.answers(question_set, model)
    questions = {question.id: question for question in read_questions(layout.question_set(question_set))}
    card = read_json(source / "components.json", AnswersCard)
    given = read_jsonl(source / "answers.jsonl", AnswerRecord)
    with project.only_one(target), project.store() as store:
        judging: tuple[str, grading.Judging] | None = None
        calibration: list[Calibration] = []
        if card.protocol == "mm_vet":
            judging = project.settings.run.judge, project.judging(question_set, project.judge())
            title = f"{question_set} · {model} · {judging[0]}"
            grades, calibration = grading.judge(judging[1], questions, given, store, title)
            _say_spent(judging[1].judge, store)
        else:
            grades = grading.read_choices(questions, given) if card.protocol == "mm_sap" else grading.read_yes_no(given)
        grading.check_failures(grades, project.settings.questions.min_coverage)
        with new_folder(target) as folder:
            digest = sha256_file(source / "answers.jsonl")
            grading.write_grades(folder, grades, calibration, (card, digest), judging)


def score(project: Project, question_set: str, model: str) -> None:
    """Score one model's answers."""
    layout, settings = project.layout, project.settings
    target = layout.question_scores(question_set, model)
    with project.only_one(target):
        score_file, rows = scoring.score(
            layout.question_set(question_set),
            layout.answers(question_set, model),
            layout.grades(question_set, model),
            settings.questions,
            settings.run.seed,
        )
        write_jsonl(questions_file(target), rows)
        write_json(target, score_file)


def report(project: Project) -> None:
    """Write the leaderboard of what is selected, and a picture of one sample's chains."""
    target = project.layout.leaderboard
    with project.only_one(target):
        scores = [_current(project, read_json(path, ScoreFile)) for path in selected_score_files(project)]
        run = project.settings.run
        answered = [project.layout.question_scores(each, model) for each in run.question_sets for model in run.models]
        asked = [read_json(path, QuestionScore) for path in answered]
        write_leaderboard(target, scores, project.settings.genception.iterations, asked)
        picture = draw_chains(
            project.layout, run.datasets[0], run.models[:PICTURED], run.generators[0], run.encoders[0]
        )
        write_bytes(project.layout.chains_picture, picture)


def _current(project: Project, score: ScoreFile) -> ScoreFile:
    if score.inputs.chain.iterations != project.settings.genception.iterations:
        raise StoreError(
            f"the score of {score.model} on {score.dataset} is of another T than params.yaml; run 'dvc repro'"
        )
    return score


def selected_score_files(project: Project) -> list[Path]:
    """The score file of every selected combination, by dataset, in the order of ``run:``."""
    datasets = project.settings.run.datasets
    return [project.layout.scores("genception", dataset, each) for dataset in datasets for each in project.combinations]


def track(project: Project) -> str:
    """Show what is selected in MLflow, and say in a line what that took."""
    from driftledger.tracking import project as tracking  # MLflow takes a second to import

    evidence = read_all_evidence(project.layout, project.selected, project.combinations)
    return tracking.show(project.layout, evidence, project.settings.tracking)

"""MM-SAP, MM-Vet and MME: answers, what they are worth, and scores."""

from driftledger.benchmarks._questions import answers, grading, scoring
from driftledger.benchmarks._questions.answers import AnswerProtocol
from driftledger.benchmarks._questions.records import AnswerRecord, AnswersCard, Calibration
from driftledger.commands.stages.spending import say_spent
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.files import new_folder, read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.paths import question_set_stage, questions_file
from driftledger.data.question_sets.files import CARD, QuestionSetCard, read_questions
from driftledger.project.project import Project


def answer(project: Project, question_set: str, model: str) -> None:
    """Put every question of a set to one model."""
    target = project.layout.answers(question_set, model)
    protocol = answer_protocol(project, question_set, project.model(model))
    with project.only_one(target), project.store() as store:
        collected = answers.collect(protocol, read_questions(protocol.folder), store, f"{question_set} · {model}")
        say_spent(protocol.model, store)
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
            judging = project.settings.run.judge, judging_of(project, question_set, project.judge())
            title = f"{question_set} · {model} · {judging[0]}"
            grades, calibration = grading.judge(judging[1], questions, given, store, title)
            say_spent(judging[1].judge, store)
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


def answer_protocol(project: Project, question_set: str, model: Model) -> AnswerProtocol:
    """How a question set that is built is put to a model.

    Raises:
        StoreError: the question set's stage has not run.
    """
    folder, settings = project.layout.question_set(question_set), project.settings.questions
    if not folder.is_dir():
        raise StoreError(
            f"question set {question_set} is not built yet; run 'dvc repro {question_set_stage(question_set)}', "
            "which asks no model"
        )
    card = read_json(folder / CARD, QuestionSetCard)
    return AnswerProtocol(
        card=card,
        folder=folder,
        model=model,
        variants=settings.variants_of(card.protocol),
        prompt=settings.prompt_for(card.protocol),
        seed=project.settings.run.seed,
    )


def judging_of(project: Project, question_set: str, judge: Model) -> grading.Judging:
    """How a judge grades the answers to a question set."""
    settings = project.settings.questions
    return grading.Judging(question_set, judge, settings.grade_prompt, settings.gradings)

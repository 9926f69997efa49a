"""The question benchmarks' part of a run in MLflow. They are the model's scores, shown on each of its combinations."""

from functools import partial

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord, QuestionScore
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout
from driftledger.ledger.lineage import Behind
from driftledger.reports.questions import HEADLINES
from driftledger.tracking.components import components_of
from driftledger.tracking.content import Metric
from driftledger.tracking.part import Part, lock_tags, note_lines


def question_part(layout: Layout, behind: Behind[QuestionScore]) -> Part:
    """Everything that the score file holds flat, and every answer with what it was read as, in a table."""
    score = behind.score
    folder = f"{score.benchmark}/{score.question_set}"
    key, judge = HEADLINES[score.benchmark], behind.cards.get("judge")
    said = f"**{score.question_set}**: {score.benchmark} {key} = {score.metrics[key]:.1f}"
    values = {**score.metrics, "coverage": score.coverage}
    return Part(
        metrics=[Metric(f"{folder}/{name}", value, dataset=score.question_set) for name, value in values.items()],
        note=note_lines(said, score.flags),
        components=components_of(behind),
        params={"seed": str(score.inputs.grades.answers.seed)},
        tags=lock_tags(behind) | ({"judge": judge.name, "judge.fingerprint": judge.fingerprint} if judge else {}),
        artifacts={f"{folder}/answers.csv": partial(_answers_csv, layout, behind)},
    )


def _answers_csv(layout: Layout, behind: Behind[QuestionScore]) -> bytes:
    answers = read_jsonl(layout.root / behind.collected["answer"].path / "answers.jsonl", AnswerRecord)
    grades = read_jsonl(layout.root / behind.collected["grade"].path / "grades.jsonl", GradeRecord)
    texts = {(answer.question, answer.variant): answer for answer in answers}
    rows = []
    for grade in grades:
        answer = texts[grade.question, grade.variant]
        worth = next((each for each in (grade.choice, grade.answer, grade.tenths) if each is not None), "")
        said = (grade.question, str(grade.variant), str(grade.repeat), answer.text or "", grade.outcome, grade.how)
        rows.append([*map(for_csv, said), str(worth), for_csv(answer.error or "")])
    head = ["question", "variant", "repeat", "answer", "outcome", "how", "read as", "error"]
    return csv_text(head, rows).encode()

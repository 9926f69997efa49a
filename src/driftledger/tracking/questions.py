"""The question benchmarks' part of a run in MLflow. They are the model's scores, shown on each of its combinations."""

from collections.abc import Callable, Iterator
from functools import partial

from driftledger.canonical import canonical_json
from driftledger.layout import Layout
from driftledger.ledger.evidence import BehindQuestions
from driftledger.question_records import AnswerRecord, GradeRecord
from driftledger.records import read_jsonl
from driftledger.reports.questions import HEADLINES
from driftledger.shown import csv_text, for_csv, for_markdown
from driftledger.tracking.content import DatasetInput, Metric


def question_metrics(answered: BehindQuestions) -> Iterator[Metric]:
    """Everything that the score file holds flat: totals, subsets or capabilities, with their deviations."""
    score = answered.score
    for key, value in {**score.metrics, "coverage": score.coverage}.items():
        yield Metric(f"{score.benchmark}/{score.question_set}/{key}", value, dataset=score.question_set)


def question_dataset(answered: BehindQuestions) -> DatasetInput:
    """The question set as an input of the run."""
    return DatasetInput(
        name=answered.score.question_set,
        digest=answered.question_set.md5,
        source=answered.question_set.path,
        samples=answered.score.total,
    )


def question_tags(answered: BehindQuestions) -> dict[str, str]:
    """What of ``dvc.lock`` is behind the score, and which judge."""
    tags = {
        f"dvc.lock/{stage.partition('@')[0]}/{answered.score.question_set}": canonical_json(
            {"stage": stage, "outs": {out.path: out.md5 for out in entry.outs}}
        )
        for stage, entry in answered.stages.items()
    }
    judge = answered.score.inputs.grades.judge
    return tags | ({"judge": judge.name, "judge.fingerprint": judge.fingerprint} if judge else {})


def question_note(answered: BehindQuestions) -> str:
    """A line of the run's description."""
    score = answered.score
    key = HEADLINES[score.benchmark]
    lines = [f"- **{score.question_set}**: {score.benchmark} {key} = {score.metrics[key]:.1f}"]
    return "\n".join([*lines, *(f"  - {for_markdown(flag)}" for flag in score.flags)])


def question_artifacts(layout: Layout, answered: BehindQuestions) -> dict[str, Callable[[], bytes]]:
    """Every answer, and what it was read as, in a table."""
    folder = f"{answered.score.benchmark}/{answered.score.question_set}"
    return {f"{folder}/answers.csv": partial(_answers_csv, layout, answered)}


def _answers_csv(layout: Layout, answered: BehindQuestions) -> bytes:
    answers = read_jsonl(layout.root / answered.answers.path / "answers.jsonl", AnswerRecord)
    grades = read_jsonl(layout.root / answered.grades.path / "grades.jsonl", GradeRecord)
    texts = {(answer.question, answer.variant): answer for answer in answers}
    rows = []
    for grade in grades:
        answer = texts[grade.question, grade.variant]
        worth = next((each for each in (grade.choice, grade.answer, grade.tenths) if each is not None), "")
        said = (grade.question, str(grade.variant), str(grade.repeat), answer.text or "", grade.outcome, grade.how)
        rows.append([*map(for_csv, said), str(worth), for_csv(answer.error or "")])
    head = ["question", "variant", "repeat", "answer", "outcome", "how", "read as", "error"]
    return csv_text(head, rows).encode()

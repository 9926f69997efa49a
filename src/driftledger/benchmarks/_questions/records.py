"""The files of the question benchmarks: questions, answers, what the answers are worth, and scores."""

from typing import Any

from pydantic import Field, FiniteFloat

from driftledger.components.card import ComponentCard
from driftledger.core.files import Record
from driftledger.core.types import Outcome


class AnswerRecord(Record):
    """A line of ``answers.jsonl``: one reply to one question."""

    question: str
    variant: int = Field(ge=0)
    """Which of the stored permutations of the options was shown; 0 where there are no options."""
    order: list[int] = Field(default_factory=list)
    """Option ids in the order in which they were shown as A, B, C, …"""
    outcome: Outcome
    text: str | None = None
    served_model: str | None = None
    system_fingerprint: str | None = None
    notes: list[str] = Field(default_factory=list)
    error: str | None = None


class AnswersCard(Record):
    """``components.json`` beside the answers: everything that they stand on."""

    question_set: str
    question_set_digest: str
    protocol: str
    model: ComponentCard
    variants: int
    prompt: str
    seed: int


class GradeRecord(Record):
    """A line of ``grades.jsonl``: what one answer is worth, as the parser or a judge sees it."""

    question: str
    variant: int = Field(ge=0)
    repeat: int = Field(default=0, ge=0)
    """Which of the repeated gradings by a judge."""
    outcome: Outcome
    choice: int | None = None
    """MM-SAP: the chosen option's id."""
    answer: bool | None = None
    """MME: yes or no."""
    tenths: int | None = Field(default=None, ge=0, le=10)
    """MM-Vet: the grade, from 0 (totally wrong) to 10 (totally right)."""
    how: str
    """The rule by which it was read."""
    judge_text: str | None = None
    served_judge: str | None = None


class Calibration(Record):
    """A fixed answer with a known grade, and what the judge gave it, once per grading; None where unreadable."""

    question: str
    answer: str
    known: int
    given: list[int | None]


class GradesCard(Record):
    """``components.json`` beside the grades."""

    parser: str
    judge: ComponentCard | None = None
    grade_prompt: str | None = None
    gradings: int = 1
    answers_sha256: str
    answers: AnswersCard


class QuestionInputs(Record):
    """What a question score was computed from."""

    question_set_digest: str
    answers_sha256: str
    grades_sha256: str
    grades: GradesCard
    settings: dict[str, Any]


class QuestionScore(Record):
    """``reports/scores/<benchmark>/<question set>/<model>.json``."""

    benchmark: str
    question_set: str
    model: str
    metrics: dict[str, FiniteFloat]
    """Flat name → value: percentages as the papers print them, 0 to 100 (MME's score 0 to 200)."""
    groups: dict[str, dict[str, dict[str, FiniteFloat]]]
    """``subset``, ``subtask``, ``capability``, ``combination`` or ``category`` → its name → metrics."""
    positions: list[dict[str, FiniteFloat]] = Field(default_factory=list)
    """MM-SAP: per letter, how often it was chosen, and how often the right option stood there, in percent."""
    outcomes: dict[str, int]
    """Outcome → how many answers."""
    scored: int
    total: int
    coverage: FiniteFloat
    absent: dict[str, str]
    served: dict[str, dict[str, int]] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    calibration: list[Calibration] = Field(default_factory=list)
    inputs: QuestionInputs


class QuestionOutcome(Record):
    """A line of ``….questions.jsonl``: what became of one question, over its variants or gradings."""

    question: str
    group: dict[str, str]
    values: list[FiniteFloat | None]
    """1 or 0 for right or wrong, or a grade from 0 to 1; None where nothing could be read."""
    outcomes: list[Outcome]

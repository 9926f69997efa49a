"""What the benchmarks over questions share: settings, how questions are put, and what is made of
the answers."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._questions.parsing.reply import Parsed
from driftledger.benchmarks.base import (
    QUESTION_SET,
    RECORDS_OF,
    Benchmark,
    Input,
    Rule,
    Stage,
    score_stage,
)
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult, read_records
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import PERCENT, FromRecords, ToScore, outcome_counts
from driftledger.benchmarks.settings import Section, holding
from driftledger.benchmarks.traces import Option, Shot, Shown, Step, Trace, values_of
from driftledger.collect.call import Ask, Planned, Steps
from driftledger.core.canonical import sha256_of
from driftledger.core.files import read_json
from driftledger.core.grouping import grouped
from driftledger.core.types import Conversation, Medium, Outcome, Subject
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.records import (
    QUESTION_SET_CARD,
    QuestionEntry,
    QuestionSetCard,
    blank_notes,
    read_questions,
)

READ = frozenset({Input.ANSWERS, Input.DATA})
"""What every number of a question benchmark depends on."""

ANOTHER_PROMPT = Rule("prompt", "another prompt asks another question")

Flags = NDArray[np.bool_]
"""Questions × variants or gradings."""


class QuestionSection(Section):
    """How questions are put, and what their denominators are."""

    prompt: Annotated[str, holding("{question}")]


class ReadAnswer(NamedTuple):
    """An answer, and what it is read or graded as."""

    record: CollectedRecord
    outcome: Outcome
    read: Any
    """An option's id, a yes, a grade; None where nothing could be read."""
    how: str
    """The rule by which it was read."""


class QuestionBenchmark(Benchmark):
    """Asks every question of a set, and scores what the answers are read or graded as."""

    data = QUESTION_SET
    questions: ClassVar[QuestionRules]
    settings: ClassVar[type[QuestionSection]] = QuestionSection
    parser: ClassVar[str]
    """The version of what reads answers, or a judge's grades, unless the section selects another
    reader."""

    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
    )

    def steps(self, collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
        """Yield question by question, and per question variant by variant."""
        for question in collecting.questions:
            for variant in range(int(collecting.protocol.get("permutations", 1))):
                ask, order = put(collecting, question, variant)
                yield Planned(partial(_answered, ask, order), [(ask.component, ask.conversation)])

    def selected_parser(self, section: Any) -> str:
        """Return the version of the reader that a section selects; a part of each score's
        protocol."""
        return self.parser

    @abstractmethod
    def parsed(self, question: QuestionEntry, record: CollectedRecord, parser: str) -> Parsed[Any]:
        """Read an answer that :func:`is_readable`, or its grade, by the reader of this version."""

    def read(self, question: QuestionEntry, record: CollectedRecord, parser: str) -> ReadAnswer:
        """Read an answer; pure, so that scoring and traces do it whenever they need it."""
        if not is_readable(answer := answer_of(record)):
            return ReadAnswer(record, answer.outcome, None, "no answer")
        return ReadAnswer(record, *self.parsed(question, record, parser))

    def traces(
        self, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]
    ) -> Iterator[Trace]:
        """Yield the questions of these rows, with every answer to them and what it was read or
        graded as."""
        folder, judged = folders["question_set"], self.collects.judged
        questions = {entry.id: entry for entry in read_questions(folder)}
        records = [
            each
            for each in read_records(folders[self.collects.name], self.collects.holds)
            if each.step
        ]
        by_question = grouped(records, lambda record: record.unit)
        values = values_of(self, score)
        parser = score.inputs.protocol["parser"]
        for row in rows:
            about = [questions[name] for name in row.extra.get("questions", [row.unit])]
            answers = [
                (entry, repeats)
                for entry in about
                for repeats in grouped(by_question[entry.id], lambda each: each.step).values()
            ]
            worth = [] if judged else row.values.get(self.metrics[0].row, [])
            verdicts = worth if len(worth) == len(answers) else [None] * len(answers)
            steps, given = list[Step](), set[str]()
            for number, ((entry, repeats), verdict) in enumerate(
                zip(answers, verdicts, strict=True), 1
            ):
                in_turn = sorted(repeats, key=lambda each: each.repeat)
                grades = [self.read(entry, record, parser) for record in in_turn]
                order = f"order {repeats[0].step}" if len(answers) > 1 else "answer"
                column = entry.question if len(about) > 1 else order
                steps.append(
                    _answer_step(
                        number, entry, repeats[0], {grade.read for grade in grades}, column
                    )
                )
                for grade in grades:
                    read, right = _in_words(entry, grade.read), _right(entry)
                    given.add(read)
                    accepted = (
                        read.casefold() == right.casefold() if verdict is None else verdict > 0
                    )
                    step = Step(
                        f"grade {number}"
                        + (f", grading {grade.record.repeat + 1}" if len(grades) > 1 else ""),
                        "judge" if judged else "",
                        {"answer": grade.record.text},
                        {"read as": read, "by the rule": grade.how, "right": right},
                        grade.outcome,
                        column=column,
                        good=None if judged else accepted,
                    )
                    steps.append(step)
            put_as: dict[str, Shown] = {"questions": [entry.question for entry in about]}
            if len(about) == 1:
                [only] = about
                put_as = {"question": only.question} | (
                    {"options": only.options} if only.options else {}
                )
            [image] = {entry.image for entry in about}
            truth = {"right": [_right(entry) for entry in about]}
            yield Trace(
                unit=row.unit,
                name="question" if len(about) == 1 else "questions",
                inputs={**put_as, "image": Shot(folder / image)},
                outputs={"read as": sorted(given), **truth},
                outcome=row.outcome,
                steps=steps,
                values=values(row),
                facts=truth,
            )


class GradedAnswers(FromRecords):
    """What a score over questions is computed from: the answers, each read or graded.

    Raises:
        CoverageError: no answer is in the denominators.
        StoreError: an answer or grading has no record.
    """

    def __init__(self, given: ToScore, spec: QuestionBenchmark) -> None:
        super().__init__(given, spec)
        self._parser = spec.selected_parser(given.section)
        self.questions = read_questions(self.data)
        by_id = {question.id: question for question in self.questions}
        answers = sorted(
            (each for each in self.records if each.step), key=lambda each: (each.step, each.repeat)
        )
        self.require(
            product(by_id, {each.step for each in answers}, {each.repeat for each in answers})
        )
        self.grades = [spec.read(by_id[record.unit], record, self._parser) for record in answers]
        unread = [
            grade
            for grade in self.grades
            if grade.read is None and grade.outcome is not Outcome.REFUSED
        ]
        lost = [f"{grade.record.unit}: {grade.outcome}, {grade.how}" for grade in unread]
        read, total = len(self.grades) - len(unread), len(self.grades)
        unread_is_wrong = given.section.unread == "worst"
        wrong = [
            grade for grade in unread if unread_is_wrong and grade.outcome is not Outcome.FAILED
        ]
        self._flags = self.too_little(
            read, total, "answers could be read", lost, counted=read + len(wrong)
        )
        card = read_json(self.data / QUESTION_SET_CARD, QuestionSetCard)
        self.digest, self.groups = card.digest, card.groups
        self.data_notes = blank_notes(card.blank, card.questions, "questions' images")
        self.by_question = grouped(self.grades, lambda grade: grade.record.unit)
        """Each question's grades, by variant and grading."""
        came = [
            [grade.outcome is not Outcome.FAILED for grade in self.by_question[each.id]]
            for each in self.questions
        ]
        self.wrong: Flags = np.array(came) & unread_is_wrong
        """Which answers count as wrong where nothing could be read in them: all of them or none,
        but those of a failed call, which says nothing of the model."""
        ended = [grade.outcome for grade in self.grades if grade.outcome is not Outcome.FAILED]
        self.refused = PERCENT * sum(outcome is Outcome.REFUSED for outcome in ended) / len(ended)
        """How many of the answers decline, in percent; a failed call gave none."""

    def score(
        self,
        metrics: dict[str, float],
        groups: dict[str, dict[str, dict[str, float]]],
        read: Flags,
        absent: dict[str, str],
        *,
        flags: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Score:
        """Return the score, with where its numbers come from.

        Args:
            read: which answers could be read.
        """
        return Score(
            **self.origin(int(read.sum()), read.size, [*self._flags, *flags], parser=self._parser),
            metrics=metrics,
            groups=groups,
            outcomes=outcome_counts(grade.outcome for grade in self.grades),
            counted=int((read | self.wrong).sum()),
            absent=absent,
            details=dict(details or {}),
        )


def question_row(
    question: QuestionEntry,
    grades: Sequence[ReadAnswer],
    values: dict[str, list[float | None]],
    **extra: str,
) -> Row:
    """The row of a question that is worth ``values``, one per grade, with what was read."""
    ended = [grade.outcome for grade in grades]
    return Row(
        unit=question.id,
        group="all",
        cluster=question.image_sha256,
        outcome=joint_outcome(ended),
        values=values,
        extra={**extra, "outcomes": ended, "read": [grade.read for grade in grades]},
    )


def joint_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """That of a question or pair: ok if any of its answers or gradings is, else that of the
    first."""
    return Outcome.OK if Outcome.OK in outcomes else outcomes[0]


def flow(
    name: str,
    *asked: str,
    scored: tuple[str, ...] = (),
    judged: bool = False,
    version: int = 5,
) -> tuple[Stage, Stage]:
    """The stage that asks the model, and the judge where there is one; and the stage that scores
    the answers.

    Args:
        asked: settings of the benchmark's section that the first depends on; ``scored``: those of
            the second.
        judged: whether a judge grades the answers.
        version: of the stage that scores.
    """
    keys = ("question_set", "model")
    folder = f"{RECORDS_OF}/{name}/{{question_set}}"
    holds = ("order",) if "permutations" in asked else ()
    answer = Stage("answer", keys, folder, 2, ("prompt", *asked), judged, holds)
    return answer, score_stage(name, keys, *scored, version=version)


def put(collecting: Collecting, question: QuestionEntry, variant: int = 0) -> tuple[Ask, list[int]]:
    """Return the call for one question, and its option ids in the order in which this variant shows
    them."""
    order = permutation(collecting.protocol["seed"], question.id, variant, len(question.options))
    image = Medium(collecting.data / question.image, question.image_sha256)
    shown = [question.options[option] for option in order]
    text = rendered(collecting.protocol["prompt"], question.question, shown)
    context = Subject(question.id, variant + 1, collecting.on)
    conversation = Conversation.ask(text, image, context, options=shown)
    return Ask(collecting.model(), "answer", conversation, context), order


def _answered(ask: Ask, order: list[int]) -> Steps[list[CollectedRecord]]:
    result = yield ask
    answer, extra = RecordedResult.of("model", ask, result), {"order": order} if order else {}
    return [
        CollectedRecord(unit=ask.context.sample, step=ask.context.t, results=[answer], extra=extra)
    ]


def permutation(seed: int, question: str, variant: int, options: int) -> list[int]:
    """Option ids in the order of one variant, by hashes; it does not depend on the model: all are
    shown the same."""
    return sorted(
        range(options), key=lambda option: sha256_of([seed, "options", question, variant, option])
    )


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold;
    one line each."""
    lettered = zip(ascii_uppercase, options, strict=False)
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in lettered)
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)


def answer_of(record: CollectedRecord) -> RecordedResult:
    """Return what the model answered."""
    return next(each for each in record.results if each.role == "model")


def is_readable(answer: RecordedResult) -> bool:
    """Whether there is something to read; a refusal in free text may still choose."""
    return answer.outcome.goes_on or (answer.outcome is Outcome.REFUSED and bool(answer.text))


def _answer_step(
    number: int, entry: QuestionEntry, record: CollectedRecord, read: set[Any], column: str
) -> Step:
    """What the model was asked and answered; ``read`` holds what was read in it."""
    answer, letters = (
        answer_of(record),
        [*zip(ascii_uppercase, record.extra.get("order", ()), strict=False)],
    )
    shown = [f"{letter}. {entry.options[option]}" for letter, option in letters]
    correct = entry.refusal if entry.answer is None else entry.answer
    return Step(
        f"answer {number}",
        "model",
        {"question": entry.question} | ({"options": shown} if shown else {}),
        {"answer": answer.text},
        answer.outcome,
        answer.error,
        column,
        [
            Option(letter, entry.options[option], option in read, option == correct)
            for letter, option in letters
        ],
    )


def _right(entry: QuestionEntry) -> str:
    """What is right, in words; that refusing is, where no option is right."""
    if entry.answer is None and entry.refusal is not None:
        return f"refusing: {entry.options[entry.refusal]}"
    return entry.options[entry.answer] if isinstance(entry.answer, int) else str(entry.answer)


def _in_words(entry: QuestionEntry, read: Any) -> str:
    if read is None or isinstance(read, bool):
        return "nothing" if read is None else "yes" if read else "no"
    return entry.options[read] if isinstance(read, int) and entry.options else f"{read:g}"

"""The base of benchmarks over questions."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from string import ascii_uppercase
from typing import Annotated, Any, ClassVar, NamedTuple

from driftledger.benchmarks.base.benchmark import Collecting, Rule, Scoring
from driftledger.benchmarks.base.one_call import OneCall
from driftledger.benchmarks.base.parsing.reply import Parsed
from driftledger.benchmarks.base.records import (
    CollectedRecord,
    Folders,
    RecordedResult,
    stream_records,
)
from driftledger.benchmarks.base.scoring import PERCENT
from driftledger.benchmarks.base.settings import Section, holding
from driftledger.benchmarks.base.stage import (
    QUESTION_SET,
    RECORDS_OF,
    Stage,
    score_stage,
)
from driftledger.benchmarks.base.traces import (
    Option,
    Shot,
    Shown,
    Step,
    Trace,
    values_of,
)
from driftledger.collect.call import Ask
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.grouping import grouped
from driftledger.core.types import Conversation, Outcome, Subject, Turn
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.question_sets.places import with_images
from driftledger.data.records import QuestionEntry, read_questions
from driftledger.scoring.means import ratio
from driftledger.scoring.metric import Input, Metric
from driftledger.scoring.number import Number, Value
from driftledger.scoring.score import AnyFlag, Row, Rows, Score, Values

READ = frozenset({Input.ANSWERS, Input.DATA})
"""The inputs of every number of a question benchmark."""

Share = partial(
    Metric,
    needs=READ,
    estimate=ratio,
    is_ratio=True,
    unit="%",
    scale=PERCENT,
    range=(0, 100),
)
"""A metric that is a share of answers."""

ANOTHER_PROMPT = Rule("prompt", "another prompt asks another question")


class QuestionSection(Section):
    """The way to put questions, and their denominators."""

    prompt: Annotated[str, holding("{question}")]


class ReadAnswer(NamedTuple):
    """An answer with its reading or grade, and its worth in a score."""

    question: QuestionEntry
    record: CollectedRecord
    outcome: Outcome
    read: Any
    """An option's id, True for yes, a grade; None if nothing could be read."""
    how: str
    """The rule by which it was read."""
    explanation: str
    """That rule and the words that were read, for people."""
    scored_reading: Any = None
    """The reading that is scored, which a refusal may have; else None."""
    worth: float | None = None
    """From 0 to 1; None if it is not in the denominators."""
    category: str = ""
    cluster: str = ""
    """Answers with the same name are resampled together."""

    @property
    def variant(self) -> int:
        """The number of the order of options, or of the grading, from 0."""
        return self.record.step - 1 + self.record.repeat

    def value(self, metric: str, worth: float) -> Value:
        """Return its value in a metric."""
        return Value(
            metric=metric,
            t=None,
            category=self.category,
            sample=self.question.id,
            cluster=self.cluster,
            repeat=self.variant,
            value=worth,
        )


class QuestionBenchmark(OneCall):
    """Asks every question of a set, and scores the answers as read or graded."""

    data = QUESTION_SET
    questions: ClassVar[QuestionRules]
    settings: ClassVar[type[QuestionSection]] = QuestionSection
    parser: ClassVar[str]
    """The version of the parser of answers or grades, unless the section selects another."""

    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
    )

    def asks(self, collecting: Collecting) -> Iterator[tuple[Ask, Json]]:
        """Yield the calls, question by question and variant by variant."""
        for question in collecting.questions:
            for variant in range(int(collecting.protocol.get("permutations", 1))):
                ask, order = question_call(collecting, question, variant)
                yield ask, {"order": order} if order else {}

    def selected_parser(self, section: Any) -> str:
        """Return the version of the parser that a section selects."""
        return self.parser

    @abstractmethod
    def parsed(
        self, question: QuestionEntry, record: CollectedRecord, parser: str
    ) -> Parsed[Any]:
        """Read an answer that :func:`is_readable`, or its grade, by this parser version."""

    def read(
        self, question: QuestionEntry, record: CollectedRecord, parser: str
    ) -> ReadAnswer:
        """Read an answer; a pure function, used by scores and traces."""
        answer = answer_of(record)
        reading = Parsed[Any](answer.outcome, None, "no answer")
        if is_readable(answer):
            reading = self.parsed(question, record, parser)
        words = _in_words(question, reading.value)
        if reading.outcome is Outcome.REFUSED:
            words = "refusal"
        return ReadAnswer(
            question,
            record,
            outcome=reading.outcome,
            read=reading.value,
            how=reading.how,
            explanation=reading.explained(words),
        )

    def scored_reading(self, answer: ReadAnswer, section: Any) -> Any:
        """Return the reading to score; subclasses decide what a refusal counts as."""
        return answer.read

    @abstractmethod
    def worth(self, question: QuestionEntry, scored_reading: Any) -> float:
        """Return the worth of a reading, 0 to 1; None is a wrong answer."""

    @abstractmethod
    def category(self, question: QuestionEntry) -> str:
        """Return the category of a question; groups are made of categories."""

    def cluster(self, question: QuestionEntry) -> str:
        """Return the name of the cluster that it is resampled with: its image."""
        return question.cluster

    def graded(
        self, scoring: Scoring, records: Iterable[CollectedRecord]
    ) -> list[ReadAnswer]:
        """Return every answer with its worth, by question, then by order or grading.

        An unread answer is wrong if ``unread`` is worst; a failed call never counts.

        Raises:
            StoreError: an answer or grading has no record.
        """
        places = {entry.id: place for place, entry in enumerate(scoring.questions)}
        own = [record for record in records if record.step]
        own.sort(key=lambda record: (places[record.unit], record.step, record.repeat))
        steps = {record.step for record in own}
        scoring.require(product(places, steps, {record.repeat for record in own}))
        parser = self.selected_parser(scoring.section)
        unread_is_wrong = scoring.section.unread == "worst"
        answers = []
        for record in own:
            question = scoring.questions[places[record.unit]]
            answer = self.read(question, record, parser)
            scored_reading = self.scored_reading(answer, scoring.section)
            worth = None
            is_wrong = unread_is_wrong and answer.outcome is not Outcome.FAILED
            if scored_reading is not None or is_wrong:
                worth = self.worth(question, scored_reading)
            graded = answer._replace(
                scored_reading=scored_reading,
                worth=worth,
                category=self.category(question),
                cluster=self.cluster(question),
            )
            answers.append(graded)
        return answers

    def score_of(
        self,
        scoring: Scoring,
        answers: Sequence[ReadAnswer],
        numbers: Sequence[Number],
        *,
        flags: Sequence[AnyFlag] = (),
        details: Json | None = None,
    ) -> Score:
        """Return a score with these numbers, made of these answers.

        Raises:
            CoverageError: no answer is in the denominators.
        """
        scored = sum(answer.scored_reading is not None for answer in answers)
        counted = sum(answer.worth is not None for answer in answers)
        total = len(answers)
        lost = []
        for answer in sorted(answers, key=lambda answer: answer.variant):
            if answer.read is None and answer.outcome is not Outcome.REFUSED:
                lost.append(f"{answer.record.unit}: {answer.outcome}, {answer.how}")
        notes = scoring.coverage_flags(
            total - len(lost), total, "answers could be read", lost, counted
        )
        return scoring.score(
            numbers,
            scored=scored,
            counted=counted,
            total=total,
            outcomes=(answer.outcome for answer in answers),
            flags=[*notes, *flags],
            details=details,
            parser=self.selected_parser(scoring.section),
        )

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator[Trace]:
        """Yield a trace per row: its questions, the answers and how they were read."""
        folder = folders["question_set"]
        questions = {entry.id: entry for entry in read_questions(folder)}
        records = [*stream_records(folders[self.collects.name], self.collects.holds)]
        records.sort(key=lambda record: (record.step, record.repeat))
        by_unit = grouped(records, lambda record: record.unit)
        values = values_of(self.metrics, score)
        parser = score.inputs.protocol["parser"]
        for row in rows:
            about = [questions[name] for name in row.extra.get("questions", [row.unit])]
            own = [record for entry in about for record in by_unit[entry.id]]
            answers = []
            for record, worth in zip(own, self.worths(row), strict=False):
                answer = self.read(questions[record.unit], record, parser)
                answers.append(answer._replace(worth=worth))
            inputs: dict[str, Shown] = {
                "questions": [entry.question for entry in about]
            }
            if len(about) == 1:
                inputs = _put_as(about[0].question, about[0].options)
            for number, medium in enumerate(about[0].media(folder), 1):
                name = f"image {number}" if number > 1 else "image"
                inputs[name] = Shot(medium.path)
            truth = {"right": [_right(entry) for entry in about]}
            readings = {_in_words(answer.question, answer.read) for answer in answers}
            yield Trace(
                unit=row.unit,
                name="question" if len(about) == 1 else "questions",
                inputs=inputs,
                outputs={"read as": sorted(readings), **truth},
                outcome=row.outcome,
                steps=[*self._steps(answers)],
                values=values(row),
                facts=truth,
            )

    def _steps(self, answers: Sequence[ReadAnswer]) -> Iterator[Step]:
        """Yield each answer of the model, followed by its reading or its gradings."""
        questions = {answer.question.id for answer in answers}
        calls = grouped(
            answers, lambda answer: (answer.question.id, answer.record.step)
        )
        for number, gradings in enumerate(calls.values(), 1):
            first = gradings[0]
            column = "answer"
            if len(questions) > 1:
                column = first.question.question
            elif len(calls) > 1:
                column = f"order {first.record.step}"
            yield _answer_step(f"answer {number}", gradings, column)
            for answer in gradings:
                name = f"grade {number}"
                if len(gradings) > 1:
                    name += f", grading {answer.record.repeat + 1}"
                judged = self.collects.judged
                yield Step(
                    name,
                    "judge" if judged else "",
                    inputs={"answer": answer.record.text},
                    outputs={
                        "read as": _in_words(answer.question, answer.read),
                        "explanation": answer.explanation,
                        "right": _right(answer.question),
                    },
                    outcome=answer.outcome,
                    column=column,
                    good=None if judged else bool(answer.worth),
                )


def worths(answers: Iterable[ReadAnswer], metric: str) -> Iterator[Value]:
    """Yield the worth of each answer that counts."""
    for answer in answers:
        if answer.worth is not None:
            yield answer.value(metric, answer.worth)


def refusals(answers: Iterable[ReadAnswer], metric: str) -> Iterator[Value]:
    """Yield 1 for each answer that declines and 0 for others, without failed calls.

    They have no category, so that no group counts them.
    """
    for answer in answers:
        if answer.outcome is not Outcome.FAILED:
            declines = float(answer.outcome is Outcome.REFUSED)
            yield answer.value(metric, declines)._replace(category="", repeat=0)


def by_question(answers: Iterable[ReadAnswer]) -> Iterable[list[ReadAnswer]]:
    """Return the answers to each question."""
    return grouped(answers, lambda answer: answer.question.id).values()


def row_of(
    own: Sequence[ReadAnswer],
    values: Values,
    *,
    unit: str,
    group: str = "all",
    **extra: Any,
) -> Row:
    """Return the row of a question or an image, made of its answers."""
    outcomes = [answer.outcome for answer in own]
    readings: Json = {"outcomes": outcomes}
    readings["read"] = [answer.read for answer in own]
    readings["explanation"] = [answer.explanation for answer in own]
    return Row(
        unit=unit,
        group=group,
        cluster=own[0].cluster,
        outcome=joint_outcome(outcomes),
        values=values,
        extra=extra | readings,
    )


def joint_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """Return ok if any outcome is ok, else the first outcome."""
    return Outcome.OK if Outcome.OK in outcomes else outcomes[0]


def question_stages(
    name: str,
    *asked: str,
    scored: tuple[str, ...] = (),
    judged: bool = False,
    asking: int = 3,
    version: int = 8,
) -> tuple[Stage, Stage]:
    """Return the stages that ask (the model and a judge) and score.

    Args:
        asked, scored: the settings that the stage that asks, and the one that scores, depend on.
        judged: whether a judge grades the answers.
        asking, version: the versions of these two stages.
    """
    keys = ("question_set", "model")
    folder = f"{RECORDS_OF}/{name}/{{question_set}}"
    holds = ("order",) if "permutations" in asked else ()
    answer = Stage("answer", keys, folder, asking, ("prompt", *asked), judged, holds)
    return answer, score_stage(name, keys, *scored, version=version)


def question_call(
    collecting: Collecting, question: QuestionEntry, variant: int = 0
) -> tuple[Ask, list[int]]:
    """Return the call for a question, and its option ids in the order shown."""
    order = permutation(
        collecting.protocol["seed"], question.id, variant, len(question.options)
    )
    options = [question.options[option] for option in order]
    text = rendered(collecting.protocol["prompt"], question.question, options)
    context = Subject(question.id, variant + 1, collecting.on)
    parts = with_images(text, question.media(collecting.data))
    conversation = Conversation((Turn("user", parts),), context, options=tuple(options))
    return Ask(collecting.model(), "answer", conversation, context), order


def permutation(seed: int, question: str, variant: int, options: int) -> list[int]:
    """Return option ids in the order of one variant, by hashes.

    It does not depend on the model: all are shown the same.
    """
    return sorted(
        range(options),
        key=lambda option: sha256_of([seed, "options", question, variant, option]),
    )


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """Return a prompt with the question and its options, a lettered line each."""
    lettered = zip(ascii_uppercase, options, strict=False)
    lines = "\n".join(
        f"{letter}. {' '.join(text.split())}" for letter, text in lettered
    )
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)


def answer_of(record: CollectedRecord) -> RecordedResult:
    """Return the model's answer."""
    return next(result for result in record.results if result.role == "model")


def is_readable(answer: RecordedResult) -> bool:
    """Return True if there is text to read; a refusal may still choose an option."""
    return answer.outcome.goes_on or (
        answer.outcome is Outcome.REFUSED and bool(answer.text)
    )


def _answer_step(name: str, gradings: Sequence[ReadAnswer], column: str) -> Step:
    """Return the trace's step of an answer, with all its readings."""
    entry = gradings[0].question
    record = gradings[0].record
    answer = answer_of(record)
    chosen = {grading.read for grading in gradings}
    correct = entry.refusal if entry.answer is None else entry.answer
    options = []
    order = record.extra.get("order", ())
    for letter, option in zip(ascii_uppercase, order, strict=False):
        text = entry.options[option]
        options.append(
            Option(letter, text, chosen=option in chosen, right=option == correct)
        )
    lettered = [f"{option.letter}. {option.text}" for option in options]
    return Step(
        name,
        "model",
        inputs=_put_as(entry.question, lettered),
        outputs={"answer": answer.text},
        outcome=answer.outcome,
        error=answer.error,
        column=column,
        options=options,
    )


def _put_as(question: str, options: Sequence[str]) -> dict[str, Shown]:
    if not options:
        return {"question": question}
    return {"question": question, "options": options}


def _right(entry: QuestionEntry) -> str:
    """Return the correct answer as text, or the refusal if no option is right."""
    if entry.answer is None and entry.refusal is not None:
        return f"refusing: {entry.options[entry.refusal]}"
    return (
        entry.options[entry.answer]
        if isinstance(entry.answer, int)
        else str(entry.answer)
    )


def _in_words(question: QuestionEntry, read: Any) -> str:
    """Return a reading in words: an option's text, yes or no, a grade."""
    if read is None:
        return "nothing"
    if isinstance(read, bool):
        return "yes" if read else "no"
    return question.options[read] if question.options else f"{read:g}"

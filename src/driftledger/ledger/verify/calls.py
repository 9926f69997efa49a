"""The calls that the records behind a score tell of, each as it was made: what was asked or drawn, and what it gave."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.benchmarks._questions.answers import AnswerProtocol
from driftledger.benchmarks._questions.grading import Judging
from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord, GradesCard, QuestionScore
from driftledger.benchmarks.description_records import DescriptionRecord, DescriptionsCard, FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord, generation_prompt
from driftledger.benchmarks.settings import Description
from driftledger.benchmarks.trac.describe import DescribeProtocol, Shown
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask, Call, Draw, Steps
from driftledger.components.base import Component, Generator, Model
from driftledger.components.card import ComponentCard
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.question_sets.files import CARD, QuestionSetCard, read_questions
from driftledger.data.records import DatasetCard, read_samples
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.verify.components import Section
from driftledger.ledger.verify.scoring import Where


class RecordedCall(NamedTuple):
    """A call, and the text or the image that is stored for it."""

    kind: str
    """What it was for, e.g. ``draw``."""
    component: Component
    where: str
    """The file and the record in it."""
    call: Callable[[], Call]
    """Gives the call as it was; put together when it is needed."""
    gave: str | ImageFile


class Role(NamedTuple):
    """A component at work behind a score, and the calls that were made to it."""

    name: str
    card: ComponentCard
    section: Section
    folder: str
    """The output that tells of the calls."""
    calls: Callable[..., Iterator[RecordedCall]]
    """Given the component, and the model that is needed beside it."""
    needs: ComponentCard | None = None
    """The model that said what no record holds, and that has to say it again: a description shown as an example."""


def roles_of(behind: Behind[AnyScore], where: Where) -> Iterator[Role]:
    """Who was called on the way to a score.

    Raises:
        LedgerError: the records are not at hand.
        DriftledgerError: they cannot be read.
    """
    score = behind.score
    if isinstance(score, QuestionScore):
        yield from _question_roles(behind, where, score.inputs.grades)
    elif isinstance(score, TracScore):
        yield from _trac_roles(behind, where)
    else:
        stage = "redraw" if isinstance(score, FidelityScore) else "chain"
        chain = _Chain(stage, behind.collected[stage].path, where(behind.data), where(behind.collected[stage]))
        yield Role("model", chain.card.model, "models", chain.path, chain.described)
        yield Role("generator", chain.card.generator, "generators", chain.path, chain.drawn)


class _Chain:
    """The calls of a folder of chains; a redrawing is one of a single iteration."""

    def __init__(self, stage: str, path: str, data: Path, folder: Path) -> None:
        self.path = path
        self.card = read_json(folder / "components.json", ChainCard)
        self._stage, self._folder = stage, folder
        self._records = read_jsonl(folder / "records.jsonl", ChainRecord)
        drawn = {(each.sample, each.t): self._image(each) for each in self._records if each.image is not None}
        self._shown = drawn | {(sample.id, 0): sample.image for sample in read_samples(data)}

    def _image(self, record: ChainRecord) -> ImageFile:
        return ImageFile(self._folder / (record.image or ""), record.image_sha256 or "")

    def _context(self, record: ChainRecord) -> Context:
        return Context(self.card.dataset, record.sample, record.t)

    def described(self, model: Model) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.description:
                place = f"{self.path}/records.jsonl: {record.sample}, t={record.t}: description"
                ask = partial(self._ask, model, record)
                yield RecordedCall(f"{self._stage}: describe", model, place, ask, record.description)

    def _ask(self, model: Model, record: ChainRecord) -> Ask:
        shown, subject = self._shown[record.sample, record.t - 1], Subject(record.sample, record.t)
        asked = Conversation.ask(self.card.describe_prompt, shown, subject, self.card.max_tokens)
        return Ask(model, "describe", asked, self._context(record))

    def drawn(self, generator: Generator) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.image is not None:
                draw = partial(self._draw, generator, record)
                place = f"{self.path}/{record.image}"
                yield RecordedCall(f"{self._stage}: draw", generator, place, draw, self._image(record))

    def _draw(self, generator: Generator, record: ChainRecord) -> Draw:
        prompt = generation_prompt(self.card.generate_prompt, record.description)
        return Draw(generator, prompt, record.seed, self._context(record))


def _trac_roles(behind: Behind[AnyScore], where: Where) -> Iterator[Role]:
    folder = behind.collected["describe"]
    descriptions = _Descriptions(folder.path, where(behind.data), where(folder))
    card = descriptions.card
    yield Role("model", card.model, "models", descriptions.path, descriptions.plain)
    if card.demonstrations is not None:
        by = card.demonstrations.by
        yield Role("model", card.model, "models", descriptions.path, descriptions.with_examples, by)


class _Descriptions:
    """The calls of a folder of descriptions of a labelled dataset."""

    def __init__(self, path: str, data: Path, folder: Path) -> None:
        self.path = path
        self.card = read_json(folder / "components.json", DescriptionsCard)
        self._dataset = read_json(data / "dataset.json", DatasetCard)
        self._samples = {sample.id: sample for sample in read_samples(data)}
        self._records = read_jsonl(folder / "descriptions.jsonl", DescriptionRecord)
        self._said = {
            (each.sample, each.max_tokens): each.description for each in self._records if not each.demonstrations
        }

    def plain(self, model: Model) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.description and not record.demonstrations:
                longer = record.max_tokens != self.card.max_tokens[0]
                kind = "describe: another length" if longer else "describe"
                yield self._recorded(kind, model, record)

    def with_examples(self, model: Model, by: Model | None = None) -> Iterator[RecordedCall]:
        """``by`` said the descriptions that were shown, if they are not the model's own."""
        for record in self._records:
            if record.description and record.demonstrations:
                yield self._recorded("describe: examples", model, record, by)

    def _recorded(self, kind: str, model: Model, record: DescriptionRecord, by: Model | None = None) -> RecordedCall:
        length = "" if record.max_tokens is None else f", {record.max_tokens} tokens"
        shots = f", {record.shots} examples" if record.shots else ""
        place = f"{self.path}/descriptions.jsonl: {record.sample}{length}{shots}: description"
        return RecordedCall(kind, model, place, partial(self._ask, model, by, record), record.description or "")

    def _ask(self, model: Model, by: Model | None, record: DescriptionRecord) -> Ask:
        asked = Description(prompt=self.card.prompt)  # with the general category in it already
        protocol = DescribeProtocol(self._dataset, model, self.card.description, asked, None, self.card.seed)
        shown = [self._shown(self._samples[name], by, record) for name in record.demonstrations]
        return next(protocol.ask(self._samples[record.sample], record.max_tokens, shown))  # type: ignore[return-value]

    def _shown(self, sample: Sample, by: Model | None, record: DescriptionRecord) -> Shown:
        if by is not None:
            asked = Conversation.ask(self.card.prompt, sample.image, Subject(sample.id, 1))
            return Shown(sample, by.respond([asked])[0].text)
        return Shown(sample, self._said[sample.id, record.max_tokens] or "")


def _question_roles(behind: Behind[AnyScore], where: Where, grades: GradesCard) -> Iterator[Role]:
    answers = behind.collected["answer"]
    data, given = where(behind.data), read_jsonl(where(answers) / "answers.jsonl", AnswerRecord)
    yield Role(
        "model", grades.answers.model, "models", answers.path, partial(_answered, answers.path, data, grades, given)
    )
    if grades.judge is not None:
        graded = behind.collected["grade"]
        stored = read_jsonl(where(graded) / "grades.jsonl", GradeRecord)
        by_answer = {(each.question, each.variant): each for each in given}
        calls = partial(_graded, graded.path, data, grades, by_answer, stored)
        yield Role("judge", grades.judge, "models", graded.path, calls)


def _answered(
    path: str, data: Path, grades: GradesCard, given: list[AnswerRecord], model: Model
) -> Iterator[RecordedCall]:
    questions = {question.id: question for question in read_questions(data)}
    card, asked = read_json(data / CARD, QuestionSetCard), grades.answers
    protocol = AnswerProtocol(card, data, model, asked.variants, asked.prompt, asked.seed)
    for answer in given:
        if answer.text and answer.outcome is not Outcome.FAILED:
            place = f"{path}/answers.jsonl: {answer.question}, variant {answer.variant}: text"
            run = partial(protocol.run, questions[answer.question], answer.variant)
            yield RecordedCall("answer", model, place, partial(_first, run), answer.text)


def _graded(
    path: str,
    data: Path,
    grades: GradesCard,
    given: Mapping[tuple[str, int], AnswerRecord],
    stored: list[GradeRecord],
    judge: Model,
) -> Iterator[RecordedCall]:
    questions = {question.id: question for question in read_questions(data)}
    judging = Judging(grades.answers.question_set, judge, grades.grade_prompt or "", grades.gradings)
    for grade in stored:
        if grade.judge_text and grade.outcome is not Outcome.FAILED:
            place = f"{path}/grades.jsonl: {grade.question}, grading {grade.repeat}: judge_text"
            answer = given[grade.question, grade.variant]
            run = partial(judging.run, questions[grade.question], answer, grade.repeat)
            yield RecordedCall("grade", judge, place, partial(_first, run), grade.judge_text)


def _first(run: Callable[[], Steps[Any]]) -> Call:
    """The one call that a protocol makes."""
    return next(run())

"""The collecting half: every question to one model, with its options in each of the stored orders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftledger.benchmarks._questions.records import AnswerRecord, AnswersCard
from driftledger.collect.call_result import Context
from driftledger.collect.call_store import CallStore
from driftledger.collect.failures import refuse_failures
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, ImageFile, Outcome, Subject
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard


@dataclass(frozen=True)
class AnswerProtocol:
    """What is fixed for all questions of an answer stage."""

    card: QuestionSetCard
    folder: Path
    """Of the question set."""
    model: Model
    variants: int
    prompt: str
    seed: int

    def run(self, question: QuestionEntry, variant: int) -> Steps[AnswerRecord]:
        """One question, with its options in one order."""
        order = permutation(self.seed, question.id, variant, len(question.options))
        image = ImageFile(self.folder / question.image, question.image_sha256)
        said = rendered(self.prompt, question.question, [question.options[option] for option in order])
        asked = Conversation.ask(said, image, Subject(question.id, variant + 1))
        result = yield Ask(self.model, "answer", asked, Context(self.card.name, question.id, variant + 1))
        return AnswerRecord(
            question=question.id,
            variant=variant,
            order=order,
            outcome=result.outcome,
            text=result.text,
            served_model=result.served_model,
            system_fingerprint=result.system_fingerprint,
            notes=[result.note] if result.note else [],
            error=result.error,
        )


def permutation(seed: int, question: str, variant: int, options: int) -> list[int]:
    """Option ids in the order of one variant. It hangs on no model, so that all models are shown the same."""
    return sorted(range(options), key=lambda option: sha256_of([seed, "options", question, variant, option]))


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold; one line each."""
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in zip(LETTERS, options, strict=False))
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def collect(
    protocol: AnswerProtocol, questions: Sequence[QuestionEntry], store: CallStore, title: str
) -> list[AnswerRecord]:
    """Ask everything that is not stored yet; question by question, and per question variant by variant."""
    pairs = [(question, variant) for question in questions for variant in range(protocol.variants)]
    with Progress(title, total=len(pairs)) as progress:
        return run_protocols([protocol.run(*pair) for pair in pairs], store, progress, most_calls=1)


def check_failures(answers: Sequence[AnswerRecord], min_coverage: float) -> None:
    """Refuse answers of which too many failed; errors as in :func:`refuse_failures`."""
    failed = [f"{a.question}: {a.error or 'no reason given'}" for a in answers if a.outcome is Outcome.FAILED]
    refuse_failures(failed, len(answers), min_coverage, "answers", "questions.min_coverage")


def write_answers(folder: Path, protocol: AnswerProtocol, model: str, answers: Sequence[AnswerRecord]) -> None:
    """Write ``answers.jsonl`` and ``components.json`` into ``folder``."""
    write_jsonl(folder / "answers.jsonl", answers)
    card = AnswersCard(
        question_set=protocol.card.name,
        question_set_digest=protocol.card.digest,
        protocol=protocol.card.protocol,
        model=ComponentCard.of(model, protocol.model),
        variants=protocol.variants,
        prompt=protocol.prompt,
        seed=protocol.seed,
    )
    write_json(folder / "components.json", card)

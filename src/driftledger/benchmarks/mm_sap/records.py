"""What an answer to a question of MM-SAP is read as."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord, permutation
from driftledger.benchmarks.records import CollectedCard, Linked

SIZES = "subsets"
"""Of a score's details: subset → how many questions it has."""


class ChoiceRecord(GradeRecord):
    """The option that an answer chooses."""

    choice: int | None = None
    """Its id, whatever letter it stood at."""

    @property
    def read(self) -> int | None:
        return self.choice


def check_orders(answers: Sequence[AnswerRecord], card: CollectedCard) -> Iterator[Linked]:
    """Every answer is to options in the order that follows from the seed."""
    for answer in answers:
        if answer.order != permutation(card.protocol["seed"], answer.question, answer.variant, len(answer.order)):
            yield Linked(answer.place, "the order of its options is not the one that follows from run.seed")

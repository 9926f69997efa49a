"""What makes a set of MME's questions whole."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from driftledger.data.question_sets.base import QuestionFacts, QuestionRules, SourceQuestion, folded

YES_NO = ("yes", "no")
SUBTASKS = {
    "perception": (
        *("existence", "count", "position", "color", "posters"),
        *("celebrity", "scene", "landmark", "artwork", "OCR"),
    ),
    "cognition": ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
}
"""MME's fourteen, by the ability whose score is the sum of theirs."""
PER_IMAGE = 2
"""Questions that are asked about each image; accuracy+ counts images of which both are answered right."""


class MMEQuestions(QuestionRules):
    """Yes or no, twice about each image, in one category."""

    needed: ClassVar[tuple[str, ...]] = ("question", "image", "answer", "category")
    optional: ClassVar[tuple[str, ...]] = ("id", "image_id")

    def problem(self, question: SourceQuestion) -> str | None:
        if not question.category:
            return "has no category (name one)"
        if question.answer is None:
            return "has no answer (write yes or no)"
        if folded(question.answer) not in YES_NO:
            return f"has the answer {question.answer!r:.80}, which is neither yes nor no (correct it)"
        return None

    def problems_of_images(self, images: Iterable[Sequence[QuestionFacts]]) -> Iterator[str]:
        for asked in images:
            name, categories = asked[0].name, {each.category for each in asked}
            if len(asked) != PER_IMAGE:
                many = "only one question" if len(asked) == 1 else f"{len(asked)} questions"
                yield (
                    f"{name} is about an image with {many}, where MME asks {PER_IMAGE} (mend the rows, or name the "
                    "column that tells images apart as image_id)"
                )
            elif len(categories) > 1:
                yield f"{name} and {asked[1].name} share an image but not the category (give them the same)"

    def answer(self, question: SourceQuestion) -> str:
        return folded(question.answer or "")

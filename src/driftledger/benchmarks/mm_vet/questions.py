"""What makes a set of MM-Vet's questions whole."""

from collections import Counter
from typing import ClassVar

from driftledger.core.errors import unknown_name
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
"""Recognition, OCR, knowledge, language generation, spatial awareness, math."""


class MMVetQuestions(QuestionRules):
    """A ground truth with ``<AND>`` and ``<OR>``, which stays text, and the capabilities that it takes."""

    needed: ClassVar[tuple[str, ...]] = ("question", "image", "answer", "capabilities")
    optional: ClassVar[tuple[str, ...]] = ("id", "image_id")
    forms: ClassVar[tuple[str, ...]] = ("capability_separator",)

    def problem(self, question: SourceQuestion) -> str | None:
        if not (question.answer or "").strip():
            return "has no answer (write one, or remove the question)"
        if not question.capabilities:
            return f"has no capability (name some of {', '.join(CAPABILITIES)})"
        for name, count in Counter(question.capabilities).items():
            if name not in CAPABILITIES:
                return f"names no capability of MM-Vet ({unknown_name('capability', name[:80], CAPABILITIES)})"
            if count > 1:
                return f"names the capability {name!r} twice (keep one)"
        return None

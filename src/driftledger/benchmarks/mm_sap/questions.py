"""What makes a set of MM-SAP's questions whole; section 3.2 of the paper."""

from typing import ClassVar

from driftledger.core.errors import unknown_name
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.rules import QuestionRules, folded

SUBSETS = ("basic", "know", "beyond")
"""basic accepts the right option, know also the refusal, beyond the refusal only."""
OPTIONS = 5
"""Of a question, the refusal included."""


class MMSAPQuestions(QuestionRules):
    """Five options, of which one refuses and, but in beyond, one is right; stored by index, so that no later step has
    to compare texts."""

    needed: ClassVar[tuple[str, ...]] = ("question", "image", "options", "refusal", "subset")
    # without an answer, since a table of beyond alone has none
    optional: ClassVar[tuple[str, ...]] = ("answer", "subtask", "id", "image_id")
    forms: ClassVar[tuple[str, ...]] = ("answer_is", "refusal_is")

    def problem(self, question: SourceQuestion) -> str | None:
        if question.subset not in SUBSETS:
            return f"is in no subset of MM-SAP ({unknown_name('subset', (question.subset or '')[:80], SUBSETS)})"
        options = [folded(option) for option in question.options]
        return (
            _options_problem(options)
            or _refusal_problem(question, options)
            or _duplicate_problem(question, options)
            or _answer_problem(question, options)
        )

    def answer(self, question: SourceQuestion) -> int | None:
        return None if question.answer is None else _index(question, question.answer)

    def refusal(self, question: SourceQuestion) -> int:
        return _index(question, question.refusal or "")


def _index(question: SourceQuestion, text: str) -> int:
    return [folded(option) for option in question.options].index(folded(text))


def _options_problem(options: list[str]) -> str | None:
    if len(options) != OPTIONS:
        return f"has {len(options)} options, where MM-SAP has {OPTIONS} (add or remove some)"
    if "" in options:
        return f"has an empty option, number {options.index('') + 1} of {OPTIONS} (write one)"
    return None


def _refusal_problem(question: SourceQuestion, options: list[str]) -> str | None:
    if question.refusal is None:
        return "has no refusal option (say which of its options refuses to answer)"
    found = options.count(folded(question.refusal))
    if not found:
        return f"has the refusal {question.refusal!r:.80}, which is not among its options (add it to them)"
    if found > 1:
        return f"has {found} refusal options, {question.refusal!r:.80} (keep one)"
    return None


def _duplicate_problem(question: SourceQuestion, options: list[str]) -> str | None:
    for index, option in enumerate(options):
        if option in options[:index]:
            return f"has the option {question.options[index]!r:.80} twice, case and white space aside (change one)"
    return None


def _answer_problem(question: SourceQuestion, options: list[str]) -> str | None:
    if question.subset == "beyond":
        if question.answer is None:
            return None
        return f"is in beyond, where only refusing is right, but has the answer {question.answer!r:.80} (remove it)"
    if question.answer is None:
        return f"is in {question.subset} and has no answer (say which of its options is right)"
    if question.refusal is not None and folded(question.answer) == folded(question.refusal):
        return "has the refusal for its answer (say which option is right, or move it to beyond without an answer)"
    if folded(question.answer) not in options:
        return f"has the answer {question.answer!r:.80}, which is not among its options (correct one of them)"
    return None

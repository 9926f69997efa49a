"""What makes a set of MM-SAP's questions whole; section 3.2 of the paper."""

from collections.abc import Iterator
from typing import ClassVar

from driftledger.core.errors import unknown_name
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion, folded

SUBSETS = ("basic", "know", "beyond")
"""basic accepts the right option, know also the refusal, beyond the refusal only."""
OPTIONS = 5
"""Of a question, the refusal included."""
SIZES = "subsets"
"""Of a score's details: subset → how many questions it has."""
_LETTERS = "abcde"
"""With which options are shown, in an order of chance: a reply that says one would be read for another's text."""


class MMSAPQuestions(QuestionRules):
    """Five options, of which one refuses and, but in beyond, one is right; stored by index, so that no later step has
    to compare texts."""

    needed: ClassVar[tuple[str, ...]] = ("question", "image", "options", "refusal", "subset")
    # without an answer, since a table of beyond alone has none
    optional: ClassVar[tuple[str, ...]] = ("answer", "subtask", "id", "image_id")
    forms: ClassVar[tuple[str, ...]] = ("answer_is", "refusal_is")

    def problem(self, question: SourceQuestion) -> str | None:
        return next(_problems(question), None)

    def answer(self, question: SourceQuestion) -> int | None:
        """The index of the right option; beyond has none, even where a table writes the refusal for it."""
        beyond = question.subset == "beyond" or question.answer is None
        return None if beyond else _index(question, question.answer or "")

    def refusal(self, question: SourceQuestion) -> int:
        return _index(question, question.refusal or "")


def _index(question: SourceQuestion, text: str) -> int:
    return [folded(option) for option in question.options].index(folded(text))


def _problems(question: SourceQuestion) -> Iterator[str]:
    """What is wrong, of which whoever asks takes the first: what follows may go by what precedes."""
    subset, refusal, answer = question.subset or "", question.refusal, question.answer
    if subset not in SUBSETS:
        yield f"is in no subset of MM-SAP ({unknown_name('subset', subset[:80], SUBSETS)})"
    options = [folded(option) for option in question.options]
    if len(options) != OPTIONS:
        yield f"has {len(options)} options, where MM-SAP has {OPTIONS} (add or remove some)"
    if "" in options:
        yield f"has an empty option, number {options.index('') + 1} of {OPTIONS} (write one)"
    for option in options:
        if option in tuple(_LETTERS):
            shown = f"a letter that one of its {OPTIONS} options is shown with"
            yield f"has the option {option.upper()!r}, {shown} (write what it stands for, as in 'the letter A')"
    if refusal is None:
        yield "has no refusal option (say which of its options refuses to answer)"
    found = options.count(folded(refusal or ""))
    if not found:
        yield f"has the refusal {refusal!r:.80}, which is not among its options (add it to them)"
    if found > 1:
        yield f"has {found} refusal options, {refusal!r:.80} (keep one)"
    for index, option in enumerate(options):
        if option in options[:index]:
            yield f"has the option {question.options[index]!r:.80} twice, case and white space aside (change one)"
    if subset == "beyond":
        if answer is not None and folded(answer) != folded(refusal or ""):
            yield f"is in beyond, where only refusing is right, but has the answer {answer!r:.80} (remove it)"
    elif answer is None:
        yield f"is in {subset} and has no answer (say which of its options is right)"
    elif folded(answer) == folded(refusal or ""):
        yield "has the refusal for its answer (say which option is right, or move it to beyond without an answer)"
    elif folded(answer) not in options:
        yield f"has the answer {answer!r:.80}, which is not among its options (correct one of them)"

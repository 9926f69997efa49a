"""What makes a question set whole: the rules of each benchmark, checked before any model is asked.

A question that cannot be scored as its paper says would still give a number. So one wrong question refuses the set,
in one sentence that names the first few and counts the rest.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.data.datasets.build import SAFE_ID
from driftledger.data.question_sets.base import Protocol, SourceQuestion

SUBSETS = ("basic", "know", "beyond")
"""Of MM-SAP: basic accepts the right option, know also the refusal, beyond the refusal only."""
OPTIONS = 5
"""Of an MM-SAP question, the refusal included (section 3.2 of the paper)."""
CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
"""Of MM-Vet: recognition, OCR, knowledge, language generation, spatial awareness, math."""
YES_NO = ("yes", "no")
PER_IMAGE = 2
"""Questions that MME asks about each image; accuracy+ counts images of which both are answered right."""


def folded(text: str) -> str:
    """``text`` as it is compared: without differences of case, of white space or of how Unicode composes it.

    >>> folded(" A  Blue\\nTruck ")
    'a blue truck'
    """
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


class Checker:
    """Checks questions one at a time, as they are read, and the set as a whole at its end."""

    def __init__(self, name: str, protocol: Protocol) -> None:
        self._name, self._protocol = name, protocol
        self._questions = 0
        self._problems: list[str] = []
        self._ids: dict[str, str] = {}
        self._of_image: dict[str, list[tuple[str, str | None]]] = {}

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self._problems

    def add(self, question: SourceQuestion) -> None:
        """Check ``question`` by itself and against those before it."""
        self._questions += 1
        problem = self._id_problem(question) or question_problem(self._protocol, question)
        if problem:
            self.note(f"{question.name} {problem}")
        self._of_image.setdefault(question.image_id, []).append((question.name, question.category))

    def note(self, problem: str) -> None:
        """Enter what somebody else found; it names its question."""
        self._problems.append(problem)

    def finish(self) -> None:
        """Check what only the whole set shows.

        Raises:
            DataError: anything was wrong, or there was no question.
        """
        if not self._questions:
            raise DataError(f"question set {self._name!r} has no questions; check where its settings point")
        problems = self._problems or (self._unpaired() if self._protocol == "mme" else [])
        if problems:
            raise DataError(f"question set {self._name!r}: {first_few(problems)}")

    def _id_problem(self, question: SourceQuestion) -> str | None:
        if not SAFE_ID.fullmatch(question.id):
            return (
                f"has the id {question.id!r:.200}, which is no safe file name "
                "(use up to 100 of A-Z a-z 0-9 _ - . and no leading dot)"
            )
        first = self._ids.get(question.id.casefold())
        if first is not None:
            return f"has the id {question.id!r} of {first}, capitals aside (rename one, or name another column as id)"
        self._ids[question.id.casefold()] = question.name
        return None

    def _unpaired(self) -> list[str]:
        problems = []
        for asked in self._of_image.values():
            name, categories = asked[0][0], {category for _, category in asked}
            if len(asked) != PER_IMAGE:
                many = "only one question" if len(asked) == 1 else f"{len(asked)} questions"
                problems.append(
                    f"{name} is about an image with {many}, where MME asks {PER_IMAGE} (mend the rows, or name the "
                    "column that tells images apart as image_id)"
                )
            elif len(categories) > 1:
                problems.append(f"{name} and {asked[1][0]} share an image but not the category (give them the same)")
        return problems


def check(name: str, protocol: Protocol, questions: Iterable[SourceQuestion]) -> None:
    """Check the question set called ``name``, without reading its images.

    Raises:
        DataError: at least one question cannot be scored, or there is none.
    """
    checker = Checker(name, protocol)
    for question in questions:
        checker.add(question)
    checker.finish()


def question_problem(protocol: Protocol, question: SourceQuestion) -> str | None:
    """What is wrong with ``question`` by itself, and what to do; None where nothing is."""
    if not question.question.strip():
        return "has an empty question (write one, or remove it)"
    rules: dict[Protocol, Callable[[SourceQuestion], str | None]]
    rules = {"mm_sap": _mm_sap_problem, "mm_vet": _mm_vet_problem, "mme": _mme_problem}
    return rules[protocol](question)


def _mm_sap_problem(question: SourceQuestion) -> str | None:
    if question.subset not in SUBSETS:
        return f"is in no subset of MM-SAP ({unknown_name('subset', (question.subset or '')[:80], SUBSETS)})"
    options = [folded(option) for option in question.options]
    return (
        _options_problem(question, options)
        or _refusal_problem(question, options)
        or _duplicate_problem(question, options)
        or _answer_problem(question, options)
    )


def _options_problem(question: SourceQuestion, options: list[str]) -> str | None:
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


def _mm_vet_problem(question: SourceQuestion) -> str | None:
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


def _mme_problem(question: SourceQuestion) -> str | None:
    if not question.category:
        return "has no category (name one)"
    if question.answer is None:
        return "has no answer (write yes or no)"
    if folded(question.answer) not in YES_NO:
        return f"has the answer {question.answer!r:.80}, which is neither yes nor no (correct it)"
    return None

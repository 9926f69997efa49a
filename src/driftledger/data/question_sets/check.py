"""What makes a question set whole: the rules of each benchmark, checked before any model is asked.

A question that cannot be scored as its paper says would still give a number. So one wrong question refuses the set,
in one sentence that names the first few and counts the rest.
"""

from driftledger.core.errors import DataError, first_few
from driftledger.data.datasets.build import SAFE_ID
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.rules import QuestionFacts, QuestionRules


class Checker:
    """Checks questions one at a time, as they are read, and the set as a whole at its end."""

    def __init__(self, name: str, rules: QuestionRules) -> None:
        self._name, self._rules = name, rules
        self._questions = 0
        self._problems: list[str] = []
        self._ids: dict[str, str] = {}
        self._of_image: dict[str, list[QuestionFacts]] = {}

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self._problems

    def add(self, question: SourceQuestion) -> None:
        """Check ``question`` by itself and against those before it."""
        self._questions += 1
        problem = self._id_problem(question) or question_problem(self._rules, question)
        if problem:
            self.note(f"{question.name} {problem}")
        self._of_image.setdefault(question.image_id, []).append(QuestionFacts(question.name, question.category))

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
        problems = self._problems or list(self._rules.problems_of_images(self._of_image.values()))
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


def question_problem(rules: QuestionRules, question: SourceQuestion) -> str | None:
    """What is wrong with ``question`` by itself, and what to do; None where nothing is."""
    if not question.question.strip():
        return "has an empty question (write one, or remove it)"
    return rules.problem(question)

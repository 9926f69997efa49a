"""A question set provider's questions → a folder of checked questions and RGB PNGs, whole or not at all.

Everything after this point may rely on what is checked here: every question can be scored as its benchmark says, ids
are unique on every disk, and each image is an upright RGB PNG known by its hash.
A question that cannot be scored as its paper says would still give a number, so one wrong question refuses the set.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.strict import ID_RULE, is_id
from driftledger.data.datasets.base import MAX_PIXELS
from driftledger.data.datasets.decode import decode
from driftledger.data.question_sets.base import QuestionFacts, QuestionProvider, QuestionRules, SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions
from driftledger.data.question_sets.files import CARD, QUESTIONS, QuestionEntry, QuestionSetCard, questions_digest


def build(name: str, provider: QuestionProvider, rules: QuestionRules, target: Path) -> None:
    """Write the question set called ``name`` to the folder ``target``, whose questions must keep ``rules``.

    Holds one image in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say, or has other columns.
        DataError: a question cannot be scored, an image cannot be used, there is no question, a group's category has
            none, or there are other numbers than the settings expect; nothing is written.
    """
    with new_folder(target) as folder:
        entries = _store(name, provider, rules, folder)
        card = _card(name, provider, entries)
        if isinstance(provider, ColumnQuestions):
            _check_expected(card, provider.expect)
        write_jsonl(folder / QUESTIONS, entries)
        write_json(folder / CARD, card)


def _store(name: str, provider: QuestionProvider, rules: QuestionRules, folder: Path) -> list[QuestionEntry]:
    checker = Checker(name, rules)
    images = _Images(folder, provider.max_pixels if isinstance(provider, ColumnQuestions) else MAX_PIXELS)
    entries = []
    for question in provider.questions(rules):
        checker.add(question)
        try:
            data = question.read()
            if checker.fine:  # the rest is only read to say what else is wrong
                entries.append(_entry(rules, question, images.put(data, question)))
        except DataError as error:
            checker.note(str(error))
    checker.finish()
    return entries


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
        if not is_id(question.id):
            return f"has the id {question.id!r:.200}, which is no safe file name ({ID_RULE})"
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


class _Stored(NamedTuple):
    file: str
    sha256: str
    notes: tuple[str, ...]


class _Images:
    """The images of a question set: decoded once per file, and stored once per picture."""

    def __init__(self, folder: Path, max_pixels: int) -> None:
        self._folder, self._max_pixels = folder, max_pixels
        self._by_source: dict[str, _Stored] = {}
        self._files: dict[str, str] = {}
        self._by_id: dict[str, tuple[str, str]] = {}
        (folder / "images").mkdir()

    def put(self, data: bytes, question: SourceQuestion) -> _Stored:
        """Store the image of ``question``, whose file holds ``data``.

        Raises:
            DataError: it cannot be decoded, or is another than an earlier question's with the same ``image_id``.
        """
        source = sha256_bytes(data)
        if source not in self._by_source:
            self._by_source[source] = self._decoded(data, question.name)
        stored = self._by_source[source]
        first, sha256 = self._by_id.setdefault(question.image_id, (question.name, stored.sha256))
        if sha256 != stored.sha256:
            shared = f"the image_id {question.image_id!r:.80} of {first}"
            raise DataError(f"{question.name} has {shared}, and another image (correct one)")
        return stored

    def _decoded(self, data: bytes, name: str) -> _Stored:
        image, notes = decode(data, name, self._max_pixels)
        png = png_bytes(image)
        sha256 = sha256_bytes(png)
        if sha256 not in self._files:
            self._files[sha256] = f"images/{len(self._files)}.png"
            (self._folder / self._files[sha256]).write_bytes(png)
        return _Stored(self._files[sha256], sha256, notes)


def _entry(rules: QuestionRules, question: SourceQuestion, image: _Stored) -> QuestionEntry:
    return QuestionEntry(
        id=question.id,
        image=image.file,
        image_sha256=image.sha256,
        image_id=question.image_id,
        question=question.question,
        options=list(question.options),
        answer=rules.answer(question),
        refusal=rules.refusal(question),
        subset=question.subset,
        subtask=question.subtask,
        capabilities=list(question.capabilities),
        category=question.category,
        source=question.source,
        notes=list(image.notes),
    )


def _card(name: str, provider: QuestionProvider, entries: list[QuestionEntry]) -> QuestionSetCard:
    subsets, categories = _counts(entry.subset for entry in entries), _counts(entry.category for entry in entries)
    groups = provider.groups if isinstance(provider, ColumnQuestions) else {}
    for group, members in groups.items():
        for category in members:
            if category not in categories:
                raise DataError(unknown_name(f"question set {name!r}: group {group!r}: category", category, categories))
    subtasks = {subset: _counts(entry.subtask for entry in entries if entry.subset == subset) for subset in subsets}
    return QuestionSetCard(
        name=name,
        provider=provider.provider,
        protocol=provider.protocol,
        settings=provider.model_dump(mode="json", exclude={"path", "images", "protocol"}),
        source=provider.source(),
        questions=len(entries),
        images=len({entry.image_sha256 for entry in entries}),
        subsets=subsets,
        subtasks={subset: counts for subset, counts in subtasks.items() if counts},
        capabilities=_counts(name for entry in entries for name in entry.capabilities),
        categories=categories,
        groups=groups,
        digest=questions_digest(entries),
    )


def _check_expected(card: QuestionSetCard, expected: Mapping[str, int]) -> None:
    counted = {"questions": card.questions, "images": card.images, **card.subsets, **card.categories}
    others = [
        f"{count} {key} (has {counted.get(key, 0)})" for key, count in expected.items() if counted.get(key, 0) != count
    ]
    if others:
        said = f"question set {card.name!r} should have {', '.join(others)}, as its expect says"
        raise DataError(f"{said}; get the whole set, or mend expect")


def _counts(names: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(name for name in names if name is not None).items()))

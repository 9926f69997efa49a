"""A question set provider's questions → a folder of checked questions and RGB PNGs, whole or not at all.

Nothing after this point checks the data again: every question can be scored as its benchmark says, ids are unique on
every disk, and each image is an upright RGB PNG known by its hash. A question that breaks the rules of its paper would
still give a number, so one such question refuses the set.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.data.datasets.base import MAX_PIXELS, id_problem
from driftledger.data.datasets.decode import decode
from driftledger.data.question_sets.base import QuestionFacts, QuestionProvider, QuestionRules, SourceQuestion
from driftledger.data.question_sets.files import CARD, QUESTIONS, QuestionEntry, QuestionSetCard, questions_digest
from driftledger.data.question_sets.table import ColumnQuestions


def build(name: str, provider: QuestionProvider, rules: QuestionRules, target: Path) -> None:
    """Write the question set called ``name`` to the folder ``target``; its questions must keep ``rules``.

    Holds one image in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say, or has other columns.
        DataError: a question or an image cannot be used, or there are not as many as expected; nothing is written.
    """
    with new_folder(target) as folder:
        images = _Images(folder, getattr(provider, "max_pixels", MAX_PIXELS))
        entries, problems, ids = list[QuestionEntry](), list[str](), dict[str, str]()
        by_image: dict[str, list[QuestionFacts]] = {}
        for question in provider.questions(rules):
            by_image.setdefault(question.image_id, []).append(QuestionFacts(question.name, question.category))
            problem = None if question.question.strip() else "has an empty question (write one, or remove it)"
            if problem := problem or rules.problem(question):
                problems.append(f"{question.name} {problem}")
            elif problem := id_problem(question.id, question.name, ids):
                problems.append(problem)
            try:
                file, sha256, notes = images.put(question)
            except DataError as error:
                problems.append(str(error))
            if not problems:
                copied = {field: getattr(question, field) for field in _COPIED}
                answer, refusal = rules.answer(question), rules.refusal(question)
                entries.append(
                    QuestionEntry(
                        **copied, image=file, image_sha256=sha256, answer=answer, refusal=refusal, notes=[*notes]
                    )
                )
        if not by_image:
            raise DataError(f"question set {name!r} has no questions; check where its settings point")
        if problems := problems or list(rules.problems_of_images(by_image.values())):
            raise DataError(f"question set {name!r}: {first_few(problems)}")
        write_jsonl(folder / QUESTIONS, entries)
        write_json(folder / CARD, _card(name, provider, entries))


_COPIED = ("id", "image_id", "question", "options", "subset", "subtask", "capabilities", "category", "source")
"""Fields of a question that are stored as their source has them."""


class _Images:
    """The images of a question set: decoded once per file, and stored once per picture."""

    def __init__(self, folder: Path, max_pixels: int) -> None:
        self._folder, self._max_pixels = folder, max_pixels
        self._by_source: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        self._files: dict[str, str] = {}
        self._by_id: dict[str, tuple[str, str]] = {}
        (folder / "images").mkdir()

    def put(self, question: SourceQuestion) -> tuple[str, str, tuple[str, ...]]:
        """Store a question's image, and return its name, its SHA-256 and what was repaired."""
        data = question.read()
        source = sha256_bytes(data)
        if source not in self._by_source:
            image, notes = decode(data, question.name, self._max_pixels)
            png = png_bytes(image)
            sha256 = sha256_bytes(png)
            if sha256 not in self._files:
                self._files[sha256] = f"images/{len(self._files)}.png"
                (self._folder / self._files[sha256]).write_bytes(png)
            self._by_source[source] = self._files[sha256], sha256, notes
        stored = self._by_source[source]
        first, sha256 = self._by_id.setdefault(question.image_id, (question.name, stored[1]))
        if sha256 != stored[1]:
            shared = f"the image_id {question.image_id!r:.80} of {first}"
            raise DataError(f"{question.name} has {shared}, and another image (correct one)")
        return stored


def _card(name: str, provider: QuestionProvider, entries: list[QuestionEntry]) -> QuestionSetCard:
    where = f"question set {name!r}"
    subsets, categories = _counts(entry.subset for entry in entries), _counts(entry.category for entry in entries)
    images = len({entry.image_sha256 for entry in entries})
    groups = provider.groups if isinstance(provider, ColumnQuestions) else {}
    for group, members in groups.items():
        for category in members:
            if category not in categories:
                raise DataError(unknown_name(f"{where}: group {group!r}: category", category, categories))
    expected = provider.expect if isinstance(provider, ColumnQuestions) else {}
    counted = {"questions": len(entries), "images": images, **subsets, **categories}
    others = [f"{n} {key} (has {counted.get(key, 0)})" for key, n in expected.items() if counted.get(key, 0) != n]
    if others:
        raise DataError(
            f"{where} should have {', '.join(others)}, as its expect says; get the whole set, or correct expect"
        )
    subtasks = {subset: _counts(entry.subtask for entry in entries if entry.subset == subset) for subset in subsets}
    return QuestionSetCard(
        name=name,
        provider=provider.provider,
        protocol=provider.protocol,
        settings=provider.model_dump(mode="json", exclude={"path", "images", "protocol"}),
        source=provider.source(),
        questions=len(entries),
        images=images,
        subsets=subsets,
        subtasks={subset: counts for subset, counts in subtasks.items() if counts},
        capabilities=_counts(name for entry in entries for name in entry.capabilities),
        categories=categories,
        groups=groups,
        digest=questions_digest(entries),
    )


def _counts(names: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(name for name in names if name is not None).items()))

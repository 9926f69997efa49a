"""A provider's samples or questions → a folder of checked entries and their PNGs or WAVs, whole or
not at all.

Nothing after this point checks the data again. Ids are safe file names and unique on every disk,
each image is an upright RGB PNG and each sound a WAV, known by its hash, every group's categories
exist, and every class of a test set has support. Every question can be scored as its benchmark
says: one that breaks the rules of its paper would still give a number, so one such question refuses
the set.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.media import Sound, encoded, png_bytes
from driftledger.core.strict import ID_RULE, is_id
from driftledger.core.types import Split
from driftledger.data.datasets.base import MAX_PIXELS, DatasetProvider
from driftledger.data.datasets.decode import NOTHING_LEFT, decode
from driftledger.data.question_sets.base import QuestionProvider, QuestionRules, SourceQuestion
from driftledger.data.records import (
    DATASET_CARD,
    QUESTION_SET_CARD,
    QUESTIONS,
    SAMPLES,
    Counts,
    DatasetCard,
    Labels,
    QuestionEntry,
    QuestionSetCard,
    SampleEntry,
    dataset_digest,
    questions_digest,
)


def build(name: str, dataset: DatasetProvider, target: Path) -> DatasetCard:
    """Write the dataset called ``name`` to the folder ``target`` and return its ``dataset.json``.

    Holds one sample in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say.
        DataError: a file, an id, a group or a split cannot be used, or the dataset is empty;
            nothing is written.
    """
    ids = dict[str, str]()
    entries = []
    unread = list[str]()
    with new_folder(target) as folder:
        (folder / f"{dataset.medium}s").mkdir()
        for item in dataset.kept_items():
            if problem := _id_problem(item.id, item.name, ids):
                raise DataError(f"{name}: {problem}")
            try:
                medium, notes = dataset.decode(item.read(), item.name)
            except DataError as error:
                unread.append(str(error))
                continue
            if isinstance(medium, Sound):
                file = f"sounds/{item.id}.wav"
                size = {"seconds": medium.seconds}
            else:
                file = f"images/{item.id}.png"
                size = {"width": medium.width, "height": medium.height}
            (folder / file).write_bytes(data := encoded(medium))
            entries.append(
                SampleEntry(
                    id=item.id,
                    category=item.category,
                    label=item.label,
                    split=item.split,
                    source=item.source,
                    file=file,
                    sha256=sha256_bytes(data),
                    **size,
                    notes=notes,
                )
            )
        if unread:
            raise DataError(f"{name}: {first_few(unread, 50)}")
        entries.sort(key=lambda entry: entry.id)
        if not entries:
            raise DataError(f"dataset {name!r} has no samples; check where its settings point")
        card = _dataset_card(name, dataset, entries)
        first: dict[str, str] = {}
        for entry in entries:
            twin = first.setdefault(entry.sha256, entry.id)
            leak = card.leaks.get(entry.id)
            if leak:
                entry.notes.append(f"same {dataset.medium} as {leak} of the support set")
            if twin not in (entry.id, leak):
                entry.notes.append(f"same {dataset.medium} as {twin}")
        write_jsonl(folder / SAMPLES, entries)
        write_json(folder / DATASET_CARD, card)
    return card


def _dataset_card(
    name: str, dataset: DatasetProvider, entries: Sequence[SampleEntry]
) -> DatasetCard:
    where = f"dataset {name!r}"
    categories = _counts(entry.category for entry in entries)
    _check_groups(where, dataset.groups, categories, dataset.first)
    for category, count in Counter(
        each for members in dataset.groups.values() for each in members
    ).items():
        if count > 1:
            raise DataError(
                f"{where}: category {category!r} is listed in groups {count} times; list it once"
            )
    # the first wins
    support = {entry.sha256: entry.id for entry in reversed(entries) if entry.split == "support"}
    tested = [entry for entry in entries if entry.split == "test"]
    return DatasetCard(
        name=name,
        provider=dataset.provider,
        settings=dataset.model_dump(mode="json", exclude={"path", *dataset.unused}),
        source=dataset.source(),
        samples=len(entries),
        categories=categories,
        groups=dataset.groups,
        general_category=dataset.general_category,
        labels=_label_counts(where, entries),
        leaks={entry.id: support[entry.sha256] for entry in tested if entry.sha256 in support},
        blank=_blank(entries),
        digest=dataset_digest(entries),
    )


def _label_counts(where: str, entries: Sequence[SampleEntry]) -> Labels:
    """Label → split → how many samples; empty where no sample has a split.

    Raises:
        DataError: a sample lacks its split or label, a set is empty, or a class has test samples
            and no support: it is retrieved from the support set alone, and could never be right.
    """
    counts: Labels = {}
    if not any(entry.split for entry in entries):
        return counts
    for entry in entries:
        if entry.split is None:
            raise DataError(
                f"{where}: {entry.id} has no split, and other samples have one; give all a split, "
                "or none"
            )
        if not (entry.label or "").strip():
            raise DataError(
                f"{where}: {entry.id} is in the {entry.split} set without a label; add one, or "
                "remove it"
            )
        counts.setdefault(str(entry.label), {"support": 0, "test": 0})[entry.split] += 1
    splits: tuple[Split, Split] = ("support", "test")
    for split in splits:
        if not any(count[split] for count in counts.values()):
            raise DataError(f"{where} has no {split} set; add samples to it")
    if alone := [
        f"{label!r:.80}"
        for label, count in sorted(counts.items())
        if count["test"] and not count["support"]
    ]:
        raise DataError(
            f"{where}: class without support: {first_few(alone)}; add images of it to the support "
            "set"
        )
    return dict(sorted(counts.items()))


def build_questions(
    name: str, provider: QuestionProvider, rules: QuestionRules, target: Path
) -> QuestionSetCard:
    """Write the question set called ``name`` to the folder ``target``, and return its card.

    Its questions must keep ``rules``.

    Holds one image in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say, or has other columns.
        DataError: a question or an image cannot be used, or there are not as many as expected;
            nothing is written.
    """
    with new_folder(target) as folder:
        (folder / "images").mkdir()
        images = _Images(folder)
        entries = []
        problems = []
        ids = dict[str, str]()
        by_image: dict[str, list[SourceQuestion]] = {}
        for question in provider.kept_questions(rules):
            # without the image
            by_image.setdefault(question.image_id, []).append(replace(question, read=bytes))
            problem = (
                None
                if question.question.strip()
                else "has an empty question (write one, or remove it)"
            )
            if problem := problem or rules.problem(question):
                problems.append(f"{question.name} {problem}")
            elif problem := _id_problem(question.id, question.name, ids):
                problems.append(problem)
            try:
                stored = images.put(question)
            except DataError as error:
                problems.append(str(error))
            if not problems:
                copied = {key: getattr(question, key) for key in _COPIED}
                answer, refusal = rules.stored(question)
                entries.append(QuestionEntry(**copied, answer=answer, refusal=refusal, **stored))
        if not by_image:
            raise DataError(
                f"question set {name!r} has no questions; check where its settings point"
            )
        if problems := problems or list(rules.problems_of_images(by_image.values())):
            raise DataError(f"question set {name!r}: {first_few(problems)}")
        write_jsonl(folder / QUESTIONS, entries)
        card = _question_set_card(name, provider, entries)
        write_json(folder / QUESTION_SET_CARD, card)
    return card


_COPIED = (
    "id",
    "image_id",
    "question",
    "options",
    "subset",
    "subtask",
    "capabilities",
    "category",
    "source",
)
"""Fields of a question that are stored as their source has them."""


@dataclass
class _Images:
    """The images of a question set: decoded once per file, and stored once per picture."""

    folder: Path
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    """SHA-256 of a file → the fields that entries have from it."""
    files: dict[str, str] = field(default_factory=dict)
    """SHA-256 of a picture → where it is stored."""
    by_id: dict[str, tuple[str, str]] = field(default_factory=dict)
    """``image_id`` → its first question, and the SHA-256 of its picture."""

    def put(self, question: SourceQuestion) -> dict[str, Any]:
        """Store a question's image, and return the fields of its entry."""
        data = question.read()
        source = sha256_bytes(data)
        if source not in self.stored:
            image, notes = decode(data, question.name, MAX_PIXELS)
            png = png_bytes(image)
            sha256 = sha256_bytes(png)
            if sha256 not in self.files:
                self.files[sha256] = f"images/{len(self.files)}.png"
                (self.folder / self.files[sha256]).write_bytes(png)
            self.stored[source] = {
                "image": self.files[sha256],
                "image_sha256": sha256,
                "notes": notes,
            }
        stored = self.stored[source]
        first, sha256 = self.by_id.setdefault(
            question.image_id, (question.name, stored["image_sha256"])
        )
        if sha256 != stored["image_sha256"]:
            shared = f"the image_id {question.image_id!r:.80} of {first}"
            raise DataError(f"{question.name} has {shared}, and another image (correct one)")
        return stored


def _question_set_card(
    name: str, provider: QuestionProvider, entries: Sequence[QuestionEntry]
) -> QuestionSetCard:
    where = f"question set {name!r}"
    subsets = _counts(entry.subset for entry in entries)
    categories = _counts(entry.category for entry in entries)
    images = len({entry.image_sha256 for entry in entries})
    # which a provider without a table has no settings for
    groups = getattr(provider, "groups", {})
    expected = {} if provider.first else getattr(provider, "expect", {})
    _check_groups(where, groups, categories, provider.first)
    counted = {"questions": len(entries), "images": images, **subsets, **categories}
    others = [
        f"{n} {key} (has {counted.get(key, 0)})"
        for key, n in expected.items()
        if counted.get(key, 0) != n
    ]
    if others:
        raise DataError(
            f"{where} should have {', '.join(others)}, as its expect says; get the whole set, or "
            "correct expect"
        )
    subtasks = {
        subset: _counts(entry.subtask for entry in entries if entry.subset == subset)
        for subset in subsets
    }
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
        blank=_blank(entries),
        digest=questions_digest(entries),
    )


def _blank(entries: Sequence[SampleEntry] | Sequence[QuestionEntry]) -> list[str]:
    """Return the ids of those in which a conversion left nothing to see or to hear."""
    ids = []
    for entry in entries:
        if any(note.startswith(NOTHING_LEFT) for note in entry.notes):
            ids.append(entry.id)
    return ids


def _id_problem(id_: str, name: str, names: dict[str, str]) -> str | None:
    """Say why the item ``name`` cannot have this id, or note it in ``names``: folded id → name of
    its item."""
    if not is_id(id_):
        return f"{name} has the id {id_!r:.200}, which is not a safe file name ({ID_RULE})"
    folded = id_.casefold()  # some disks keep one file for both
    if folded in names:
        return f"{name} has the id {id_!r} of {names[folded]}, capitals aside (rename one of them)"
    names[folded] = name
    return None


def _check_groups(
    where: str,
    groups: Mapping[str, Sequence[str]],
    categories: Mapping[str, int],
    first: int | None,
) -> None:
    hint = f" (first: {first} may have left it out; raise that)" if first else ""
    for group, members in groups.items():
        for category in members:
            if category not in categories:
                unknown = unknown_name(f"{where}: group {group!r}: category", category, categories)
                raise DataError(f"{unknown}{hint}")


def _counts(names: Iterable[str | None]) -> Counts:
    return dict(sorted(Counter(name for name in names if name is not None).items()))

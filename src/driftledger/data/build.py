"""Build a folder of checked entries from a provider, or none.

Nothing after this point checks the data again. Ids are safe file names and unique on every disk,
each image is an upright RGB PNG and each text UTF-8, known by its hash, every group's categories
exist, and every class of a test set has support. Every question can be scored as
its benchmark says: one that breaks the rules of its paper would still give a number, so one such
question refuses the set.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import get_args

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.strict import ID_RULE, is_id
from driftledger.core.types import Split
from driftledger.data.datasets.base import MAX_PIXELS, DatasetProvider
from driftledger.data.datasets.decode import decode, losses
from driftledger.data.question_sets.base import (
    QuestionProvider,
    QuestionRules,
    SourceQuestion,
)
from driftledger.data.question_sets.places import numbered
from driftledger.data.records import (
    DATASET_CARD,
    QUESTION_SET_CARD,
    QUESTIONS,
    SAMPLES,
    Counts,
    DatasetCard,
    Labels,
    QuestionEntry,
    QuestionImage,
    QuestionSetCard,
    SampleEntry,
    dataset_digest,
    leaks_of,
    questions_digest,
)


def build(name: str, dataset: DatasetProvider, target: Path) -> DatasetCard:
    """Write a dataset to the folder ``target`` and return its card.

    Holds one sample in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say.
        DataError: a file, an id, a group or a split cannot be used, or the dataset is empty;
            nothing is written.
    """
    ids = dict[str, str]()
    entries = []
    unread = dict[str, None]()
    with new_folder(target) as folder:
        (folder / f"{dataset.medium}s").mkdir()
        for item in dataset.kept_items():
            problem = id_problem(item.id, item.name, ids)
            if problem:
                raise DataError(f"{name}: {problem}")
            try:
                content, notes = dataset.decode(item.read(), item.name)
            except DataError as error:
                unread[str(error)] = None
                continue
            if isinstance(content, str):
                file = f"texts/{item.id}.txt"
                size = {}
                data = content.encode()
            else:
                file = f"images/{item.id}.png"
                size = {"width": content.width, "height": content.height}
                data = png_bytes(content)
            (folder / file).write_bytes(data)
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
            raise DataError(f"{name}: {first_few([*unread], 50)}")
        entries.sort(key=lambda entry: entry.id)
        if not entries:
            raise DataError(
                f"dataset {name!r} has no samples; check where its settings point"
            )
        card = _dataset_card(name, dataset, entries)
        _note_twins(entries, card.leaks, dataset.medium)
        write_jsonl(folder / SAMPLES, entries)
        write_json(folder / DATASET_CARD, card)
    return card


def _note_twins(
    entries: Sequence[SampleEntry], leaks: Mapping[str, str], medium: str
) -> None:
    """Note in each entry the first one with equal bytes, and that of the support set."""
    firsts: dict[str, str] = {}
    for entry in entries:
        twin = firsts.setdefault(entry.sha256, entry.id)
        leak = leaks.get(entry.id)
        if leak:
            entry.notes.append(f"same {medium} as {leak} of the support set")
        if twin not in (entry.id, leak):
            entry.notes.append(f"same {medium} as {twin}")


def _dataset_card(
    name: str, dataset: DatasetProvider, entries: Sequence[SampleEntry]
) -> DatasetCard:
    where = f"dataset {name!r}"
    categories = _counts(entry.category for entry in entries)
    _check_groups(where, dataset.groups, categories, dataset.first)
    for category, count in Counter(chain(*dataset.groups.values())).items():
        if count > 1:
            raise DataError(
                f"{where}: category {category!r} is listed in groups {count} times; list it once"
            )
    lost = losses((entry.id, entry.notes) for entry in entries)
    rows = [entry.to_dict() for entry in entries]
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
        leaks=leaks_of(rows),
        blank=lost.blank,
        frames=lost.frames,
        digest=dataset_digest(rows),
    )


def _label_counts(where: str, entries: Sequence[SampleEntry]) -> Labels:
    """Count the samples of each label by split; empty if no sample has a split.

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
    for split in get_args(Split):
        if not any(count[split] for count in counts.values()):
            raise DataError(f"{where} has no {split} set; add samples to it")
    alone = []
    for label, count in sorted(counts.items()):
        if count["test"] and not count["support"]:
            alone.append(f"{label!r:.80}")
    if alone:
        raise DataError(
            f"{where}: class without support: {first_few(alone)}; add images of it to the support "
            "set"
        )
    return dict(sorted(counts.items()))


def build_questions(
    name: str, provider: QuestionProvider, rules: QuestionRules, target: Path
) -> QuestionSetCard:
    """Write a question set to the folder ``target`` and return its card.

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
            # keeps no image in memory
            by_image.setdefault(question.image_id, []).append(
                replace(question, read=bytes)
            )
            problem = _problem(question, rules, ids)
            if problem:
                problems.append(problem)
            try:
                read = question.read() or b""
                files = read if isinstance(read, list) else [read]
                stored, notes = images.put(question, files)
                texts = numbered(question, len(files))
                if not problems:
                    entries.append(_entry(question, rules, texts, stored, notes))
            except DataError as error:
                problems.append(str(error))
        if not by_image:
            raise DataError(
                f"question set {name!r} has no questions; check where its settings point"
            )
        if not problems:
            problems.extend(rules.problems_of_images(by_image.values()))
        if problems:
            raise DataError(f"question set {name!r}: {first_few(problems)}")
        write_jsonl(folder / QUESTIONS, entries)
        card = _question_set_card(name, provider, entries, len(images.files))
        write_json(folder / QUESTION_SET_CARD, card)
    return card


def _problem(
    question: SourceQuestion, rules: QuestionRules, ids: dict[str, str]
) -> str | None:
    """Say what is wrong with a question by itself, or add its id to ``ids``."""
    problem = rules.problem(question)
    if not question.question.strip():
        problem = "has an empty question (write one, or remove it)"
    if problem:
        return f"{question.name} {problem}"
    return id_problem(question.id, question.name, ids)


def _entry(
    question: SourceQuestion,
    rules: QuestionRules,
    texts: Sequence[str],
    images: list[QuestionImage],
    notes: list[str],
) -> QuestionEntry:
    """Return a question as it is stored, with these images.

    Args:
        texts: the question and its options, with a number in each place.
    """
    answer, refusal = rules.stored(question)
    return QuestionEntry(
        id=question.id,
        image=images[0].file,
        image_sha256=images[0].sha256,
        images=images if len(images) > 1 else [],
        image_id=question.image_id,
        question=texts[0],
        options=[*texts[1:]],
        answer=answer,
        refusal=refusal,
        subset=question.subset,
        subtask=question.subtask,
        capabilities=list(question.capabilities),
        category=question.category,
        source=question.source,
        notes=notes,
    )


@dataclass
class _Images:
    """The images of a question set: each file decoded once, each picture stored once."""

    folder: Path
    stored: dict[str, tuple[QuestionImage, list[str]]] = field(default_factory=dict)
    """SHA-256 of a file at its source → its image, and what was repaired."""
    files: dict[str, str] = field(default_factory=dict)
    """SHA-256 of a picture → where it is stored."""
    by_id: dict[str, tuple[str, list[QuestionImage]]] = field(default_factory=dict)
    """``image_id`` → its first question, and its images."""

    def put(
        self, question: SourceQuestion, files: Sequence[bytes]
    ) -> tuple[list[QuestionImage], list[str]]:
        """Store the images of a question; return them, and what was repaired."""
        stored = []
        repaired = []
        for number, data in enumerate(files, 1):
            source = sha256_bytes(data)
            if source not in self.stored:
                which = f", image {number}," if len(files) > 1 else ""
                image, notes = decode(data, question.name + which, MAX_PIXELS)
                png = png_bytes(image)
                sha256 = sha256_bytes(png)
                if sha256 not in self.files:
                    self.files[sha256] = f"images/{len(self.files)}.png"
                    (self.folder / self.files[sha256]).write_bytes(png)
                file = QuestionImage(file=self.files[sha256], sha256=sha256)
                self.stored[source] = (file, notes)
            file, notes = self.stored[source]
            stored.append(file)
            repaired += notes
        own = (question.name, stored)
        first, images = self.by_id.setdefault(question.image_id, own)
        if images != stored:
            raise DataError(
                f"{question.name} has the image_id {question.image_id!r:.80} like {first}, "
                "but another image (correct one)"
            )
        return stored, repaired


def _question_set_card(
    name: str,
    provider: QuestionProvider,
    entries: Sequence[QuestionEntry],
    images: int,
) -> QuestionSetCard:
    where = f"question set {name!r}"
    subsets = _counts(entry.subset for entry in entries)
    categories = _counts(entry.category for entry in entries)
    # a provider without a table has no such settings
    groups = getattr(provider, "groups", {})
    expected = {} if provider.first else getattr(provider, "expect", {})
    _check_groups(where, groups, categories, provider.first)
    counted = Counter(
        {"questions": len(entries), "images": images, **subsets, **categories}
    )
    others = []
    for key, number in expected.items():
        if counted[key] != number:
            others.append(f"{number} {key} (has {counted[key]})")
    if others:
        raise DataError(
            f"{where} should have {', '.join(others)}, as its expect says; get the whole set, or "
            "correct expect"
        )
    subtasks = {}
    for subset in subsets:
        counts = _counts(entry.subtask for entry in entries if entry.subset == subset)
        if counts:
            subtasks[subset] = counts
    lost = losses((entry.id, entry.notes) for entry in entries)
    return QuestionSetCard(
        name=name,
        provider=provider.provider,
        protocol=provider.protocol,
        settings=provider.model_dump(
            mode="json", exclude={"path", "images", "protocol"}
        ),
        source=provider.source(),
        questions=len(entries),
        images=images,
        subsets=subsets,
        subtasks=subtasks,
        capabilities=_counts(chain(*(entry.capabilities for entry in entries))),
        categories=categories,
        groups=groups,
        blank=lost.blank,
        frames=lost.frames,
        digest=questions_digest(entry.to_dict() for entry in entries),
    )


def id_problem(id_: str, name: str, names: dict[str, str]) -> str | None:
    """Say why an item cannot have this id, or add the id to ``names``.

    Args:
        name: what errors call the item.
        names: id in small letters → the name of its item.
    """
    if not is_id(id_):
        return (
            f"{name} has the id {id_!r:.200}, which is not a safe file name ({ID_RULE})"
        )
    folded = id_.casefold()  # some disks keep one file for both
    if folded in names:
        return (
            f"{name} has the id {id_!r} like {names[folded]}, apart from capitals (rename one of "
            "them)"
        )
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
                what = f"{where}: group {group!r}: category"
                raise DataError(unknown_name(what, category, categories) + hint)


def _counts(names: Iterable[str | None]) -> Counts:
    """Count each name, sorted by name, without None."""
    counts = Counter(name for name in names if name is not None)
    return dict(sorted(counts.items()))

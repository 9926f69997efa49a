"""A dataset provider's items → a dataset folder of checked RGB PNGs, whole or not at all.

Everything after this point may rely on what is checked here: ids are safe file names and unique on every disk, each
image is an upright RGB PNG known by its hash, every group's categories exist, and every class that is asked about can
be retrieved: from the support set alone, so a class without support could never be right, and an image that is also in
the support set can hardly be wrong.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.strict import ID_RULE, is_id
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger.data.datasets.decode import decode
from driftledger.data.records import SAMPLES, DatasetCard, SampleEntry, dataset_digest


def build(name: str, dataset: DatasetProvider, target: Path) -> DatasetCard:
    """Write the dataset called ``name`` to the folder ``target`` and return its ``dataset.json``.

    Holds one image in memory at a time. Equal sources give equal bytes.

    Raises:
        ConfigError: the source is not where the settings say.
        DataError: an image, an id, a group or a split cannot be used, or there is no sample; nothing is written.
    """
    with new_folder(target) as folder:
        (folder / "images").mkdir()
        entries = sorted(_store(name, dataset, folder), key=lambda entry: entry.id)
        if not entries:
            raise DataError(f"dataset {name!r} has no samples; check where its settings point")
        card = _card(name, dataset, entries)
        write_jsonl(folder / SAMPLES, _with_twins(entries, card.leaks))
        write_json(folder / "dataset.json", card)
    return card


def _store(name: str, dataset: DatasetProvider, folder: Path) -> Iterable[SampleEntry]:
    seen: dict[str, str] = {}
    for item in dataset.kept_items():
        _check_id(name, item, seen)
        image, notes = decode(item.read(), f"{name}: {item.name}", dataset.max_pixels)
        png = png_bytes(image)
        file = f"images/{item.id}.png"
        (folder / file).write_bytes(png)
        yield SampleEntry(
            id=item.id,
            file=file,
            category=item.category,
            label=item.label,
            split=item.split,
            sha256=sha256_bytes(png),
            width=image.width,
            height=image.height,
            source=item.source,
            notes=list(notes),
        )


def _check_id(name: str, item: SourceItem, seen: dict[str, str]) -> None:
    """Check an id before it becomes a file name, and enter it into ``seen``: folded id → name of its source."""
    if not is_id(item.id):
        raise DataError(f"{name}: {item.name} has the id {item.id!r:.200}, which is no safe file name; {ID_RULE}")
    folded = item.id.casefold()
    if folded in seen:
        raise DataError(
            f"{name}: {seen[folded]} and {item.name} both get the id {item.id!r}, capitals aside; rename one of them"
        )
    seen[folded] = item.name


def _with_twins(entries: list[SampleEntry], leaked: dict[str, str]) -> list[SampleEntry]:
    """Note which image is the same as an earlier one, or as one that it could be told by, pixel for pixel."""
    first: dict[str, str] = {}
    noted = []
    for entry in entries:
        twin, leak = first.setdefault(entry.sha256, entry.id), leaked.get(entry.id)
        more = [f"same image as {leak} of the support set"] if leak else []
        if twin not in (entry.id, leak):
            more.append(f"same image as {twin}")
        noted.append(entry.model_copy(update={"notes": entry.notes + more}))
    return noted


def _card(name: str, dataset: DatasetProvider, entries: list[SampleEntry]) -> DatasetCard:
    categories = dict(sorted(Counter(entry.category for entry in entries if entry.category is not None).items()))
    _check_groups(name, dataset.groups, categories)
    _check_label_names(name, dataset.label_names, {entry.label for entry in entries if entry.label is not None})
    return DatasetCard(
        name=name,
        provider=dataset.provider,
        settings=dataset.model_dump(mode="json", exclude={"path", *dataset.unused}),
        source=dataset.source(),
        samples=len(entries),
        categories=categories,
        groups=dataset.groups,
        general_category=dataset.general_category,
        labels=label_counts(name, entries),
        label_names=dataset.label_names,
        leaks=leaks(entries),
        digest=dataset_digest(entries),
    )


def _check_groups(name: str, groups: dict[str, list[str]], categories: Iterable[str]) -> None:
    home: dict[str, str] = {}
    for group, members in groups.items():
        for category in members:
            if category not in categories:
                raise DataError(unknown_name(f"dataset {name!r}: group {group!r}: category", category, categories))
            if category in home:
                raise DataError(
                    f"dataset {name!r}: category {category!r} is listed in the groups {home[category]!r} and "
                    f"{group!r}; list it once"
                )
            home[category] = group


def _check_label_names(name: str, label_names: Iterable[str], labels: Iterable[str]) -> None:
    for label in label_names:
        if label not in labels:
            raise DataError(unknown_name(f"dataset {name!r}: label_names: label", label, labels))


def label_counts(name: str, entries: Sequence[SampleEntry]) -> dict[str, dict[Split, int]]:
    """Label → split → how many samples; empty where no sample of the dataset called ``name`` has a split.

    Raises:
        DataError: only some samples have a split, one has no label, one of the two sets is empty, or a class has test
            samples and no support.
    """
    if not any(entry.split for entry in entries):
        return {}
    counts: dict[str, dict[Split, int]] = {}
    for entry in entries:
        if entry.split is None:
            raise DataError(
                f"dataset {name!r}: {entry.id} is neither in the support nor in the test set, where others are; "
                "give every sample a split, or none"
            )
        if not (entry.label or "").strip():
            raise DataError(
                f"dataset {name!r}: {entry.id} is in the {entry.split} set and has no label; give it one, or remove it"
            )
        counts.setdefault(str(entry.label), {"support": 0, "test": 0})[entry.split] += 1
    _check_sets(name, counts)
    return dict(sorted(counts.items()))


def _check_sets(name: str, counts: dict[str, dict[Split, int]]) -> None:
    splits: tuple[Split, Split] = ("support", "test")
    for split, other in zip(splits, reversed(splits), strict=True):
        if not any(count[split] for count in counts.values()):
            raise DataError(f"dataset {name!r} has a {other} set and no {split} set; add samples to the {split} set")
    alone = [f"{label!r:.80}" for label, count in sorted(counts.items()) if count["test"] and not count["support"]]
    if alone:
        raise DataError(
            f"dataset {name!r}: class without support: {first_few(alone)}; add images to the support set, or remove "
            "the class from the test set"
        )


def leaks(entries: Sequence[SampleEntry]) -> dict[str, str]:
    """Id of a test sample → id of the first support sample that is the same image, pixel for pixel."""
    support: dict[str, str] = {}
    for entry in entries:
        if entry.split == "support":
            support.setdefault(entry.sha256, entry.id)
    return {entry.id: support[entry.sha256] for entry in entries if entry.split == "test" and entry.sha256 in support}

"""A dataset provider's items → a dataset folder of checked RGB PNGs, whole or not at all.

Nothing after this point checks the data again. Ids are safe file names and unique on every disk, each image is an
upright RGB PNG known by its hash, every group's categories exist, and every class of the test set has support.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, first_few, unknown_name
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, id_problem
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
        entries = sorted(_stored(name, dataset, folder), key=lambda entry: entry.id)
        if not entries:
            raise DataError(f"dataset {name!r} has no samples; check where its settings point")
        card = _card(name, dataset, entries)
        write_jsonl(folder / SAMPLES, _with_twins(entries, card.leaks))
        write_json(folder / "dataset.json", card)
    return card


def _stored(name: str, dataset: DatasetProvider, folder: Path) -> Iterator[SampleEntry]:
    ids: dict[str, str] = {}
    for item in dataset.kept_items():
        if problem := id_problem(item.id, item.name, ids):
            raise DataError(f"{name}: {problem}")
        image, notes = decode(item.read(), f"{name}: {item.name}", dataset.max_pixels)
        png, file = png_bytes(image), f"images/{item.id}.png"
        (folder / file).write_bytes(png)
        copied = {field: getattr(item, field) for field in ("id", "category", "label", "split", "source")}
        size = {"width": image.width, "height": image.height}
        yield SampleEntry(**copied, **size, file=file, sha256=sha256_bytes(png), notes=[*notes])


def _with_twins(entries: list[SampleEntry], leaks: dict[str, str]) -> Iterator[SampleEntry]:
    """Note the samples with the same pixels as an earlier one, or as one of the support set."""
    first: dict[str, str] = {}
    for entry in entries:
        twin, leak = first.setdefault(entry.sha256, entry.id), leaks.get(entry.id)
        more = [f"same image as {leak} of the support set"] if leak else []
        if twin not in (entry.id, leak):
            more.append(f"same image as {twin}")
        yield entry.model_copy(update={"notes": entry.notes + more})


def _card(name: str, dataset: DatasetProvider, entries: list[SampleEntry]) -> DatasetCard:
    categories = dict(sorted(Counter(entry.category for entry in entries if entry.category is not None).items()))
    listed = [(group, category) for group, members in dataset.groups.items() for category in members]
    for group, category in listed:
        if category not in categories:
            raise DataError(unknown_name(f"dataset {name!r}: group {group!r}: category", category, categories))
    for category, count in Counter(category for _, category in listed).items():
        if count > 1:
            raise DataError(f"dataset {name!r}: category {category!r} is listed in groups {count} times; list it once")
    support = {entry.sha256: entry.id for entry in reversed(entries) if entry.split == "support"}  # the first wins
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
        labels=_label_counts(f"dataset {name!r}", entries),
        leaks={entry.id: support[entry.sha256] for entry in tested if entry.sha256 in support},
        digest=dataset_digest(entries),
    )


def _label_counts(where: str, entries: Sequence[SampleEntry]) -> dict[str, dict[Split, int]]:
    """Label → split → how many samples; empty where no sample has a split.

    Raises:
        DataError: a sample lacks its split or label, a set is empty, or a class has test samples and no support: it
            is retrieved from the support set alone, and could never be right.
    """
    counts: dict[str, dict[Split, int]] = {}
    if not any(entry.split for entry in entries):
        return counts
    for entry in entries:
        if entry.split is None:
            raise DataError(f"{where}: {entry.id} has no split, and other samples have one; give all a split, or none")
        if not (entry.label or "").strip():
            raise DataError(f"{where}: {entry.id} is in the {entry.split} set without a label; add one, or remove it")
        counts.setdefault(str(entry.label), {"support": 0, "test": 0})[entry.split] += 1
    splits: tuple[Split, Split] = ("support", "test")
    for split in splits:
        if not any(count[split] for count in counts.values()):
            raise DataError(f"{where} has no {split} set; add samples to it")
    if alone := [f"{label!r:.80}" for label, count in sorted(counts.items()) if count["test"] and not count["support"]]:
        raise DataError(f"{where}: class without support: {first_few(alone)}; add images of it to the support set")
    return dict(sorted(counts.items()))

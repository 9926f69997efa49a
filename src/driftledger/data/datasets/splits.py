"""The support and the test set of a labelled dataset: whether they fit together, and which images are in both.

Classes are told apart by retrieval, from the support set alone: a class without support could never be right, and an
image that is also in the support set can hardly be wrong.
"""

from collections.abc import Sequence

from driftledger.core.errors import DataError, first_few
from driftledger.core.types import Split
from driftledger.data.records import SampleEntry

SPLIT_NAMES: dict[str, Split] = {"train": "support", "support": "support", "test": "test"}
"""What folders and manifests may call the two sets."""


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

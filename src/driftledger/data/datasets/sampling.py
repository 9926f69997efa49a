"""A few samples per class of a large dataset, the same ones on every machine.

They are chosen by a hash and by no library's random generator, so that a choice can be repeated from what is written
down: the seed, and which rows or files there are.
"""

from collections.abc import Hashable, Iterable
from typing import TypeVar

from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider

Key = TypeVar("Key", int, str)


class SampledProvider(DatasetProvider):
    """A provider whose support and test set may be thinned to a few samples of each class."""

    support_per_label: int | None = Field(default=None, ge=1)
    """How many samples of each label the support set keeps; all, where a label has no more or nothing is set."""
    test_per_label: int | None = Field(default=None, ge=1)
    """The same for the test set."""
    sample_seed: int = Field(default=0, ge=0)
    """Another seed keeps others."""

    @property
    def is_sampled(self) -> bool:
        """Whether a set is thinned."""
        return self.support_per_label is not None or self.test_per_label is not None

    def kept(self, split: Split, rows: Iterable[tuple[Key, Hashable]]) -> set[Key]:
        """The keys of one set's rows that stay; as in :func:`choose`, a row is a key and a label."""
        most = self.support_per_label if split == "support" else self.test_per_label
        return {key for key, _ in rows} if most is None else choose(self.sample_seed, split, rows, most)


def choose(seed: int, split: Split, rows: Iterable[tuple[Key, Hashable]], most: int) -> set[Key]:
    """Of each label the ``most`` keys of the smallest SHA-256 of seed, split and key.

    Neither the order of the rows nor what other labels have changes a label's choice, and more of them only add to it.

    Args:
        rows: a key, its row's number or its file's name, and a label; no key twice.

    >>> sorted(choose(0, "test", [(0, "cat"), (1, "cat"), (2, "cat"), (3, "dog")], most=1))
    [2, 3]
    """
    by_label: dict[Hashable, list[tuple[str, Key]]] = {}
    for key, label in rows:
        by_label.setdefault(label, []).append((sha256_of([seed, split, key]), key))
    return {key for found in by_label.values() for _, key in sorted(found)[:most]}

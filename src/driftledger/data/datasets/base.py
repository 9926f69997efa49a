"""What a dataset provider is: where samples come from, before anything is decoded or checked.

A provider only names and reads; :mod:`driftledger.data.datasets.build` decodes, checks and stores. So every rule about
images and ids holds for every provider, and a new provider is two short methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeVar

from pydantic import Field

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import LARGEST_TEXT
from driftledger.core.registry import Provided
from driftledger.core.types import Split

Key = TypeVar("Key", int, str)

MAX_PIXELS = 50_000_000
"""What images may have where the settings say nothing else."""
SPLIT_NAMES: dict[str, Split] = {"train": "support", "support": "support", "test": "test"}
"""What folders and manifests may call the two sets."""
PILLOW_LIMIT = 2 * 89_478_485
"""Above this many pixels Pillow itself refuses an image, whatever we allow."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One sample at its source. ``read`` gives the image file's bytes; ``name`` says in errors which one it is."""

    id: str
    name: str
    read: Callable[[], bytes]
    category: str | None = None
    label: str | None = None
    split: Split | None = None
    source: dict[str, str] = field(default_factory=dict)


class Provider(Provided, ABC):
    """A frozen specification of a source. ``provider`` is its name in the registry, or else its place."""

    @abstractmethod
    def source_digest(self) -> str:
        """Hex SHA-256 that changes whenever what the source holds changes; errors as in reading it."""

    @abstractmethod
    def source(self) -> dict[str, str]:
        """What the card of what is built says about the origin; the same on every machine, so no absolute paths."""


class DatasetProvider(Provider, ABC):
    """A frozen specification of where a dataset comes from."""

    groups: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Group name → categories whose means are averaged in it, e.g. the paper's visual and textual."""
    general_category: str | None = Field(default=None, pattern=r"\S")
    """What all classes are, e.g. bird: ``{category}`` in a prompt."""
    label_names: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Label → what else a description may call the class."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image of more pixels is refused unread, as a decompression bomb."""
    per_category: int | None = Field(default=None, ge=1)
    """How many samples of each category are kept; all, where a category has no more or nothing is set."""
    sample_seed: int = Field(default=0, ge=0)
    """Another seed keeps others."""

    @property
    def unused(self) -> set[str]:
        """Settings that choose among the samples, where nothing is chosen: no card has them then."""
        return set() if self.per_category is not None else {"per_category", "sample_seed"}

    def kept_items(self) -> Iterator[SourceItem]:
        """:meth:`items`, thinned to :attr:`per_category`; gone through twice, so that no image is held."""
        if self.per_category is None:
            return self.items()
        rows = ((item.id, item.category) for item in self.items())
        kept = choose(self.sample_seed, None, rows, self.per_category)
        return (item for item in self.items() if item.id in kept)

    @abstractmethod
    def items(self) -> Iterator[SourceItem]:
        """The samples, one at a time, in any order.

        Raises:
            ConfigError: the source is not where the settings say.
            DataError: the source cannot be read.
        """


class SampledProvider(DatasetProvider):
    """A provider whose support and test set may be thinned to a few samples of each class."""

    support_per_label: int | None = Field(default=None, ge=1)
    """How many samples of each label the support set keeps; all, where a label has no more or nothing is set."""
    test_per_label: int | None = Field(default=None, ge=1)
    """The same for the test set."""

    @property
    def unused(self) -> set[str]:
        return set() if self.is_sampled else super().unused

    @property
    def is_sampled(self) -> bool:
        """Whether a set is thinned."""
        return self.support_per_label is not None or self.test_per_label is not None

    def kept(self, split: Split, rows: Iterable[tuple[Key, Hashable]]) -> set[Key]:
        """The keys of one set's rows that stay; as in :func:`choose`, a row is a key and a label."""
        most = self.support_per_label if split == "support" else self.test_per_label
        return {key for key, _ in rows} if most is None else choose(self.sample_seed, split, rows, most)


def choose(seed: int, split: Split | None, rows: Iterable[tuple[Key, Hashable]], most: int) -> set[Key]:
    """Of each label, or category, the ``most`` keys of the smallest SHA-256 of seed, split and key.

    No library's random generator has a part in it, so that a choice can be repeated on every machine from what is
    written down: the seed, and which rows or files there are.

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


def read_file(path: Path, name: str) -> bytes:
    """The bytes of an image file that errors call ``name``.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(name, error) from None


def digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Hex SHA-256 over each file's name, size and content.

    Raises:
        DataError: one of them cannot be read.
    """
    rows = []
    for name, path in files:
        try:
            rows.append([name, path.stat().st_size, sha256_file(path)])
        except OSError as error:
            raise unreadable(name, error) from None
    return sha256_of(rows)


def reached(path: Path, fits: Callable[[Path], bool], otherwise: str, setting: str, what: str = "") -> Path:
    """The absolute path that a setting names, ``~`` included.

    Args:
        fits: whether it is of the kind that is looked for; ``otherwise`` says that it is not.
        setting: what to set, and to what.
        what: what errors call it, before its path.

    Raises:
        ConfigError: it is missing, or does not fit.
    """
    try:
        found = path.expanduser().absolute()
        if fits(found):
            return found
        trouble = otherwise if found.exists() else "is missing"
    except (OSError, RuntimeError, ValueError) as error:
        trouble = f"cannot be reached ({error!s:.200})"
    raise ConfigError(f"{what}{str(path)!r:.200} {trouble}; set {setting}")


def inside(
    folder: Path, name: str, *, outside: str = "lies outside of the folder", missing: str = "is missing"
) -> Path | str:
    """The file that is called ``name`` in ``folder``, with links resolved; or what is wrong with that name."""
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return outside
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):  # what comes from somebody else may come with links
            return outside
        return path if path.is_file() else missing
    except (OSError, RuntimeError, ValueError):
        return "can be no file"


def read_text(path: Path, name: str, most: int = LARGEST_TEXT) -> str:
    """The text of a table that errors call ``name``, with or without a byte order mark.

    Raises:
        DataError: it cannot be read, has more than ``most`` bytes, or is not UTF-8.
    """
    try:
        if path.stat().st_size > most:
            raise DataError(f"{name} is larger than {most >> 20} MiB; convert it to parquet or split it")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise unreadable(name, error) from None


def unreadable(name: str, error: OSError) -> DataError:
    return DataError(f"{name} cannot be read ({error.strerror or error}); mend its rights or remove it")

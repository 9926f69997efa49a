"""The base of providers of samples.

A provider names and reads; :mod:`driftledger.data.build` decodes, checks and stores. So the rules
about images and ids hold for every provider, and a new provider is two short methods.
"""

import os
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal, TypeVar

from PIL import Image
from pydantic import Field, NonNegativeInt, PositiveInt

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, DataError, MissingSourceError
from driftledger.core.files import read_regular
from driftledger.core.grouping import grouped
from driftledger.core.media import PILLOW_LIMIT, Kind
from driftledger.core.paths import leads_out
from driftledger.core.registry import Provided
from driftledger.core.strict import is_none
from driftledger.core.types import Split
from driftledger.data.datasets.decode import decode

Group = TypeVar("Group", bound=Hashable)

MAX_PIXELS = 50_000_000
"""The default of the most pixels of an image."""
MOST_BYTES = 2**29
"""The largest file that is read."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One sample at its source; ``read`` returns its bytes, and ``name`` is its name in errors."""

    id: str
    name: str
    read: Callable[[], bytes]
    category: str | None = None
    label: str | None = None
    split: Split | None = None
    source: dict[str, str] = field(default_factory=dict)


class Provider(Provided, ABC):
    """A frozen specification of a source."""

    first: PositiveInt | None = Field(default=None, exclude_if=is_none)
    """How many samples are kept, in the order of :func:`first_of`; support sets are kept whole.

    For a question set it counts questions, or images with both questions for MME, and ``expect`` is
    ignored."""

    @abstractmethod
    def source_digest(self) -> str:
        """Return a hex SHA-256 that changes with the content of the source; errors as in reading
        it."""

    @abstractmethod
    def source(self) -> dict[str, str]:
        """Return the origin for the card: the same on every machine, so without absolute paths."""


class DatasetProvider(Provider, ABC):
    """A frozen specification of where a dataset comes from."""

    medium: ClassVar[Kind] = "image"

    groups: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Group → the categories that are averaged in it, e.g. the paper's visual and textual."""
    general_category: str | None = Field(default=None, pattern=r"\S")
    """The kind that all classes belong to, e.g. bird; it replaces ``{category}`` in a prompt."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image whose header says more pixels is refused, as a decompression bomb."""
    per_category: PositiveInt | dict[Split, PositiveInt] | None = Field(
        default=None, exclude_if=is_none
    )
    """The most samples of each category that are kept. A support and a test set are thinned by
    label, and may have a number each: ``{support: 10, test: 5}``."""
    sample_seed: NonNegativeInt = 0
    """Another seed keeps other samples."""

    @property
    def unused(self) -> set[str]:
        """Settings that are left out of the card, because they choose nothing."""
        is_used = self.per_category or self.first or self.sample_seed
        return set() if is_used else {"sample_seed"}

    def decode(self, data: bytes, name: str) -> tuple[Image.Image | str, list[str]]:
        """Decode a file; return its content, and a note on each conversion.

        Raises:
            DataError: it cannot be used.
        """
        return decode(data, name, self.max_pixels)

    def kept_items(self) -> Iterator[SourceItem]:
        """Return :meth:`items`, thinned to :attr:`per_category`, then to :attr:`first`.

        Every machine keeps the same samples, and a larger number only adds some. Items are listed
        twice, so that no image is held in memory.
        """
        most = self.per_category
        if most is None and self.first is None:
            return self.items()
        kinds = {}
        for item in self.items():
            kinds[item.id] = item.split, item.label if item.split else item.category
        if isinstance(most, dict) and not all(split for split, _ in kinds.values()):
            raise ConfigError(
                "per_category names support and test, and this dataset has no such sets; give one "
                "number"
            )
        kept = set()
        categories = dict[str, str | None]()
        for (split, category), ids in in_order(kinds, self.sample_seed).items():
            number = most.get(split or "test") if isinstance(most, dict) else most
            if split == "support":
                kept.update(ids[:number])
            else:
                categories |= dict.fromkeys(ids[:number], category)
        kept |= first_of(categories, self.first, self.sample_seed)
        return (item for item in self.items() if item.id in kept)

    @abstractmethod
    def items(self) -> Iterator[SourceItem]:
        """Yield the samples, in any order.

        Raises:
            ConfigError: the source is not where the settings say.
            DataError: the source cannot be read.
        """


def in_order(kinds: Mapping[str, Group], seed: int) -> dict[Group, list[str]]:
    """Sort the ids of each kind by the SHA-256 of the JSON ``[seed,null,id]`` without blanks."""
    ids = sorted(kinds, key=lambda id_: sha256_of([seed, None, id_]))
    return grouped(ids, kinds.__getitem__)


def first_of(
    categories: Mapping[str, str | None], number: int | None, seed: int = 0
) -> set[str]:
    """Return the first ids of a seeded order, in proportion over categories.

    Ids of a category are sorted as in :func:`in_order` and counted from 0: number r of k is at
    place (r + 0.5) / k. All ids are sorted by place, those at one place by the name of their
    category. A larger number only adds ids.

    >>> animals = {"a": "cat", "b": "cat", "c": "cat", "d": "dog"}
    >>> in_order(animals, 0)  # at 1/6, 3/6 and 5/6; the dog at 1/2
    {'cat': ['a', 'c', 'b'], 'dog': ['d']}
    >>> [sorted(first_of(animals, number)) for number in (1, 2, 3)]
    [['a'], ['a', 'c'], ['a', 'c', 'd']]

    Args:
        categories: id → category; None counts as a category with an empty name.
        number: None for all.
        seed: ``sample_seed`` of a dataset; 0 for questions.
    """
    places = []
    for category, ids in in_order(categories, seed).items():
        for rank, id_ in enumerate(ids):
            places.append(((rank + 0.5) / len(ids), category or "", id_))
    return {id_ for _, _, id_ in sorted(places)[:number]}


def read_file(path: Path, name: str) -> bytes:
    """Read a file of at most :data:`MOST_BYTES`; ``name`` is its name in errors.

    Raises:
        DataError: it cannot be read, or is larger.
    """
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        raise unreadable(name, error) from None
    except ValueError as error:  # it is too large, or its path is not valid
        raise DataError(
            f"{name} cannot be read ({error!s:.200}); correct its path, cut it into parts, or "
            "remove it"
        ) from None


def unreadable(name: str, error: OSError) -> DataError:
    return DataError(
        f"{name} cannot be read ({error.strerror or error}); correct its rights or remove it"
    )


def digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Return the hex SHA-256 over name, size and content of each file; errors as in
    :func:`read_file`."""
    rows = []
    for name, path in files:
        try:
            rows.append([name, path.stat().st_size, sha256_file(path)])
        except OSError as error:
            raise unreadable(name, error) from None
    return sha256_of(rows)


def reached(
    path: Path, kind: Literal["file", "folder"], setting: str, what: str = ""
) -> Path:
    """Return the absolute path of the file or folder that a setting names, ``~`` included.

    Args:
        setting: what errors tell the user to set.

    Raises:
        MissingSourceError: it is missing.
        ConfigError: it is of the other kind, or cannot be reached.
    """
    shown = f"{what}{str(path)!r:.200}"
    try:
        absolute = path.expanduser().absolute()
        if absolute.is_file() if kind == "file" else absolute.is_dir():
            return absolute
        is_missing = not absolute.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"{shown} cannot be reached ({error!s:.200}); set {setting}"
        ) from None
    if is_missing:
        raise MissingSourceError(f"{shown} is missing; set {setting}")
    raise ConfigError(f"{shown} is not a {kind}; set {setting}")


def inside(folder: Path, name: str, place: str) -> Path:
    """Return the file called ``name`` in ``folder``, with links resolved.

    A table may come from somebody else. So the file must lie in its folder, or be a link into a
    cache of DVC.

    Args:
        place: where the name stands, for errors.
    """
    try:
        path = (folder / name).resolve()
        if {"/", ".."} & {*PurePosixPath(name).parts} or leads_out(path, folder):
            trouble = "lies outside of its folder"
        elif path.is_file():
            return path
        else:
            trouble = "is missing there"
    except (OSError, RuntimeError, ValueError):
        trouble = "cannot be a file"
    raise DataError(f"{place} names {name!r:.200}, which {trouble}; correct it")


def printable(name: str) -> str:
    """Return a file name as text: in Unicode's form NFC, with undecodable bytes written out."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", text)

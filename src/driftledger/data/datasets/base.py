"""What a dataset provider is: where samples come from, before anything is decoded or checked.

A provider only names and reads; :mod:`driftledger.data.datasets.build` decodes, checks and stores. So every rule about
images and ids holds for every provider, and a new provider is two short methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import DataError
from driftledger.core.strict import Strict
from driftledger.core.types import Split

MAX_PIXELS = 50_000_000
"""What images may have where the settings say nothing else."""
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


class DatasetProvider(Strict, ABC):
    """A frozen specification of where a dataset comes from. ``provider`` is its name in the registry."""

    provider: ClassVar[str]

    groups: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Group name → categories whose means are averaged in it, e.g. the paper's visual and textual."""
    general_category: str | None = Field(default=None, pattern=r"\S")
    """What all classes are, e.g. bird: ``{category}`` in a prompt."""
    label_names: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Label → what else a description may call the class."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image of more pixels is refused unread, as a decompression bomb."""

    @abstractmethod
    def items(self) -> Iterator[SourceItem]:
        """The samples, one at a time, in any order.

        Raises:
            ConfigError: the source is not where the settings say.
            DataError: the source cannot be read.
        """

    @abstractmethod
    def source_digest(self) -> str:
        """Hex SHA-256 that changes whenever what the source holds changes; errors as in :meth:`items`."""

    @abstractmethod
    def source(self) -> dict[str, str]:
        """What ``dataset.json`` says about the origin; the same on every machine, so no absolute paths."""


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


def unreadable(name: str, error: OSError) -> DataError:
    return DataError(f"{name} cannot be read ({error.strerror or error}); mend its rights or remove it")

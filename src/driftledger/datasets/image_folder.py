"""A folder of images as a dataset: the data nobody had to label, as it lies on a disk."""

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from PIL import Image

from driftledger.canonical import sha256_bytes
from driftledger.datasets.base import DatasetProvider, SourceItem, digest_files, read_file, unreadable
from driftledger.datasets.decode import FORMATS
from driftledger.errors import ConfigError, DataError

UNCATEGORISED = "uncategorised"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_ID = 100


class ImageFolder(DatasetProvider):
    """The images below ``path``; a subfolder directly in it is a category, however deep an image lies in it.

    Without subfolders no sample has a category. With them, images beside the subfolders form the category
    ``uncategorised``, so that every sample is in some category's mean. Hidden files and files without the suffix
    of a format that is read are passed over.
    """

    provider: ClassVar[str] = "image_folder"

    path: Path
    """Relative to the working directory, or absolute, or in the home directory (``~``)."""

    def items(self) -> Iterator[SourceItem]:
        files = self._files()
        has_categories = any("/" in name for name, _ in files)
        for name, path in files:
            top, _, below = name.partition("/")
            yield SourceItem(
                id=safe_id(name),
                name=name,
                read=partial(read_file, path, name),
                category=(top if below else UNCATEGORISED) if has_categories else None,
                source={"file": name},
            )

    def source_digest(self) -> str:
        return digest_files(self._files())

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "folder": printable(self._folder.name)}

    @property
    def _folder(self) -> Path:
        try:
            folder = self.path.expanduser().absolute()
            if folder.is_dir():
                return folder
            trouble = "is not a folder" if folder.exists() else "is missing"
        except (OSError, RuntimeError) as error:
            trouble = f"cannot be reached ({error})"
        raise ConfigError(f"the image folder {str(self.path)!r} {trouble}; set path to the folder of the images")

    def _files(self) -> list[tuple[str, Path]]:
        """Each image's name, relative to the folder and the same on every machine, and where it is."""
        folder = self._folder
        found = sorted((printable(path.relative_to(folder).as_posix()), path) for path in _images(folder, ()))
        if not found:
            raise DataError(f"the folder {str(self.path)!r} holds no images ({', '.join(FORMATS)}); put some there")
        return found


def safe_id(name: str) -> str:
    """The id of the image called ``name`` below its folder: without suffix, ``_`` for what an id may not hold.

    Names that would mostly turn into ``_``, or are too long, keep apart by the start of a hash.
    """
    stem = name.removesuffix(Path(name).suffix)
    safe = _UNSAFE.sub("_", stem)
    if stem.isascii() and len(safe) <= _LONGEST_ID:
        return safe
    return f"{safe[: _LONGEST_ID - 9]}-{sha256_bytes(stem.encode())[:8]}"


def printable(name: str) -> str:
    """A file name as text that can be stored: composed as Unicode prefers, undecodable bytes written out."""
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))


def _images(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:
        raise DataError(f"{folder} is a link to a folder that it lies in; remove it")
    try:
        inside = [(path, path.is_dir(), path.is_file()) for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise unreadable(str(folder), error) from None
    for path, is_folder, is_file in inside:
        if is_folder:
            yield from _images(path, (*above, real))
        elif path.suffix.lower() in _suffixes():
            if not is_file:
                raise DataError(f"{path} is a broken link or no file; mend or remove it")
            yield path


@cache
def _suffixes() -> frozenset[str]:
    return frozenset(suffix for suffix, known in Image.registered_extensions().items() if known in FORMATS)

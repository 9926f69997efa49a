"""A folder of images as a dataset, as it lies on a disk: data nobody had to label, or with a class for every image."""

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import ClassVar, Self

from PIL import Image
from pydantic import Field, model_validator

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, may_be_missing
from driftledger.core.paths import leads_out
from driftledger.core.types import Split
from driftledger.data.datasets.base import (
    SPLIT_NAMES,
    SampledProvider,
    SourceItem,
    digest_files,
    reached,
    read_file,
    unreadable,
)
from driftledger.data.datasets.decode import FORMATS
from driftledger.data.datasets.manifest import FolderImage, read_manifest

UNCATEGORISED = "uncategorised"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_ID = 100


class ImageFolder(SampledProvider):
    """The images below ``path``; a subfolder directly in it is a category, however deep an image lies in it.

    Without subfolders no sample has a category. With them, images beside the subfolders form the category
    ``uncategorised``, so that every sample is in some category's mean. Hidden files and files without the suffix
    of a format that is read are passed over.

    With ``labelled`` or ``manifest`` it is a dataset with a support and a test set instead, without categories but
    those of the manifest.
    """

    provider: ClassVar[str] = "image_folder"

    path: Path
    """Relative to the working directory, or absolute, or in the home directory (``~``)."""
    labelled: bool = False
    """Whether it holds ``train/<label>/`` (or ``support/<label>/``) and ``test/<label>/``, and nothing else."""
    manifest: str | None = Field(default=None, min_length=1)
    """A file below ``path`` that lists the images; :func:`~.manifest.read_manifest` says how."""

    @model_validator(mode="after")
    def _one_source_of_labels(self) -> Self:
        if self.labelled and self.manifest is not None:
            raise ValueError("labelled takes labels from folders, and manifest from a file; set one of them")
        if self.is_sampled and not self.labelled and self.manifest is None:
            raise ValueError("support_per_label and test_per_label need labelled or manifest; set one of those")
        return self

    def items(self) -> Iterator[SourceItem]:
        for image in self._chosen():
            yield SourceItem(
                id=image.id or safe_id(image.file),
                name=image.place,
                read=partial(read_file, image.path, image.place),
                category=image.category,
                label=image.label,
                split=image.split,
                source={"file": image.file},
            )

    def source_digest(self) -> str:
        listed = [] if self.manifest is None else [("", self._folder / self.manifest)]
        return digest_files([*((image.file, image.path) for image in self._chosen()), *listed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "folder": printable(self._folder.name)}

    @property
    def _folder(self) -> Path:
        setting = "path to the folder of the images"
        with may_be_missing(self.path):
            return reached(self.path, Path.is_dir, "is not a folder", setting, "the image folder ")

    def _chosen(self) -> list[FolderImage]:
        if self.manifest is not None:
            rows = ((row, printable(row.file)) for row in read_manifest(self._folder, self.manifest))
            found = [row._replace(file=name, place=f"{row.place} ({name})") for row, name in rows]
        else:
            found = self._from_label_folders() if self.labelled else self._from_category_folders()
        if not self.is_sampled:
            return found
        sets: dict[Split, list[tuple[str, str | None]]] = {}
        for image in found:
            if image.split is not None:
                sets.setdefault(image.split, []).append((image.file, image.label))
        kept = {(split, name) for split, rows in sets.items() for name in self.kept(split, rows)}
        return [image for image in found if (image.split, image.file) in kept]

    def _from_category_folders(self) -> list[FolderImage]:
        files = self._files()
        has_categories = any("/" in name for name, _ in files)
        found = []
        for name, path in files:
            top, _, below = name.partition("/")
            category = (top if below else UNCATEGORISED) if has_categories else None
            found.append(FolderImage(name, name, path, category=category))
        return found

    def _from_label_folders(self) -> list[FolderImage]:
        found = []
        for name, path in self._files():
            top, _, below = name.partition("/")
            label, _, file = below.partition("/")
            if top not in SPLIT_NAMES or not file:
                raise DataError(
                    f"{name} is in no folder of a class; move it into train/<label>/ or test/<label>/ of "
                    f"{str(self.path)!r}, or remove it"
                )
            found.append(FolderImage(name, name, path, label, SPLIT_NAMES[top]))
        self._check_no_class_is_empty({(image.file.partition("/")[0], image.label) for image in found})
        return found

    def _check_no_class_is_empty(self, filled: set[tuple[str, str | None]]) -> None:
        for top in SPLIT_NAMES:
            folder = self._folder / top
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                label = printable(path.name)
                if path.is_dir() and not label.startswith(".") and (top, label) not in filled:
                    raise DataError(f"the class {top}/{label} has no images; put some there, or remove the folder")

    def _files(self) -> list[tuple[str, Path]]:
        """Each image's name, relative to the folder and the same on every machine, and where it is."""
        folder = self._folder
        found = sorted((printable(path.relative_to(folder).as_posix()), path) for path in _images(folder, folder, ()))
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


def _images(top: Path, folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:
        raise DataError(f"{folder} is a link to a folder that it lies in; remove it")
    try:
        inside = [(path, path.is_dir(), path.is_file()) for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise unreadable(str(folder), error) from None
    for path, is_folder, is_file in inside:
        if path.is_symlink() and (is_folder or is_file) and leads_out(path, top):
            raise DataError(f"{path} is a link out of {top}; put what it leads to into the folder, or remove the link")
        if is_folder:
            yield from _images(top, path, (*above, real))
        elif path.suffix.lower() in _suffixes():
            if not is_file:
                raise DataError(f"{path} is a broken link or no file; mend or remove it")
            yield path


@cache
def _suffixes() -> frozenset[str]:
    return frozenset(suffix for suffix, known in Image.registered_extensions().items() if known in FORMATS)

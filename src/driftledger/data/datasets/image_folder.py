"""A folder of images as a dataset: unlabelled as it lies on a disk, or with a class for every image."""

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from PIL import Image
from pydantic import Field, model_validator

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, unknown_name
from driftledger.core.paths import leads_out
from driftledger.core.types import Split
from driftledger.data.datasets.base import (
    SPLIT_NAMES,
    SampledProvider,
    SourceItem,
    digest_files,
    inside,
    printable,
    reached,
    read_file,
    unreadable,
)
from driftledger.data.datasets.decode import FORMATS
from driftledger.data.tables import as_text, read_table

UNCATEGORISED = "uncategorised"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_ID = 100


class FolderImage(NamedTuple):
    """An image below a folder, and what its place or a manifest says about it."""

    file: str
    """Its name below the folder."""
    path: Path
    name: str
    """What errors call it."""
    label: str | None = None
    split: Split | None = None
    id: str | None = None
    category: str | None = None


class ImageFolder(SampledProvider):
    """The images below ``path``; a subfolder directly in it is a category, however deep an image lies in it.

    Without subfolders no sample has a category. With them, images beside the subfolders form the category
    ``uncategorised``, so that every sample is in some category's mean. Hidden files, and files without the suffix of a
    format that is read, are ignored.

    With ``labelled`` or ``manifest`` it is a dataset with a support and a test set; only a manifest names categories
    then.
    """

    provider: ClassVar[str] = "image_folder"

    path: Path
    """Relative to the working directory, or absolute, or in the home directory (``~``)."""
    labelled: bool = False
    """Whether it holds ``train/<label>/`` (or ``support/<label>/``) and ``test/<label>/``, and nothing else."""
    manifest: str | None = Field(default=None, min_length=1)
    """A file below ``path`` that lists the images; :func:`read_manifest` says how."""

    @model_validator(mode="after")
    def _one_source_of_labels(self) -> Self:
        if self.labelled and self.manifest is not None:
            raise ValueError("labelled takes labels from folders, and manifest from a file; set one of them")
        if self.is_sampled and not self.labelled and self.manifest is None:
            raise ValueError("support_per_label and test_per_label need labelled or manifest; set one of those")
        return self

    def items(self) -> Iterator[SourceItem]:
        for image in self._images():
            yield SourceItem(
                id=image.id or safe_id(image.file),
                name=image.name,
                read=partial(read_file, image.path, image.name),
                category=image.category,
                label=image.label,
                split=image.split,
                source={"file": image.file},
            )

    def source_digest(self) -> str:
        listed = [] if self.manifest is None else [("", self._folder / self.manifest)]
        return digest_files([*((image.file, image.path) for image in self._images()), *listed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "folder": printable(self._folder.name)}

    @property
    def _folder(self) -> Path:
        return reached(
            self.path, Path.is_dir, "is not a folder", "path to the folder of the images", "the image folder "
        )

    def _images(self) -> list[FolderImage]:
        if self.manifest is not None:
            images = list(read_manifest(self._folder, self.manifest))
        else:
            images = [FolderImage(name, path, name) for name, path in sorted(_files(self._folder))]
            has_categories = any("/" in image.file for image in images)
            images = [self._placed(image, has_categories=has_categories) for image in images]
        if not images:
            raise DataError(f"the folder {str(self.path)!r} holds no images ({', '.join(FORMATS)}); put some there")
        if self.is_sampled:
            sets: dict[Split | None, list[tuple[str, str | None]]] = {}
            for image in images:
                sets.setdefault(image.split, []).append((image.file, image.label))
            kept = {(split, file) for split, rows in sets.items() if split for file in self.kept(split, rows)}
            images = [image for image in images if (image.split, image.file) in kept]
        return images

    def _placed(self, image: FolderImage, *, has_categories: bool) -> FolderImage:
        """Add what the folders say that an image lies in."""
        top, *below = image.file.split("/")
        if not self.labelled:
            return image._replace(category=(top if below else UNCATEGORISED) if has_categories else None)
        if top not in SPLIT_NAMES or len(below) < 2:
            place = f"train/<label>/ or test/<label>/ of {str(self.path)!r}"
            raise DataError(f"{image.file} is not in the folder of a class; move it into {place}, or remove it")
        return image._replace(label=below[0], split=SPLIT_NAMES[top])


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Find the images below a folder: the name of each, the same on every machine, and its path.

    Links inside the folder are followed. The folder may come from somebody else, so a link out of it is refused.
    """
    seen = set[Path]()

    def fail(error: OSError) -> None:
        raise unreadable(str(error.filename), error)

    for top, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        real = Path(top).resolve()
        if real in seen:
            raise DataError(f"{top} is a link to a folder that is read already; remove it")
        seen.add(real)
        folders[:] = [each for each in folders if not each.startswith(".")]
        images = [each for each in files if not each.startswith(".") and Path(each).suffix.lower() in _suffixes()]
        for path in (Path(top, each) for each in (*folders, *images)):
            if path.is_symlink() and path.exists() and leads_out(path, folder):
                raise DataError(f"{path} is a link out of {folder}; put its target into the folder, or remove the link")
        for path in (Path(top, each) for each in images):
            if not path.is_file():
                raise DataError(f"{path} is a broken link or not a file; correct or remove it")
            yield printable(path.relative_to(folder).as_posix()), path


def read_manifest(folder: Path, manifest: str) -> Iterator[FolderImage]:
    """Read a table below ``folder`` that says which image is of which class and in which set.

    Its columns are ``file`` (below ``folder``, separated by ``/``), ``label``, ``split`` (train or support, test), and
    optionally ``id`` and ``category``; others are ignored.
    """
    seen: dict[Path, str] = {}
    for place, cells in read_table(inside(folder, manifest, "manifest")).rows(
        ["file", "label", "split", "id", "category"]
    ):
        texts = {column: as_text(cells.get(column), f"{place}: {column}") or "" for column in FolderImage._fields}
        row = {column: unicodedata.normalize("NFC", text.strip()) for column, text in texts.items()}
        file = texts["file"].strip()
        for column in ("file", "label", "split"):
            if not row[column]:
                raise DataError(f"{place} has no {column}; fill it in")
        if row["split"] not in SPLIT_NAMES:
            raise DataError(unknown_name(f"{place}: split", f"{row['split']:.80}", SPLIT_NAMES))
        path, split = inside(folder, file, place), SPLIT_NAMES[row["split"]]
        if path in seen:
            raise DataError(f"{place} names the image of {seen[path]} again, {file!r}; remove one")
        seen[path] = place
        name = printable(file)
        yield FolderImage(
            name, path, f"{place} ({name})", row["label"], split, row["id"] or None, row["category"] or None
        )


def safe_id(name: str) -> str:
    """Make an id of an image's name below its folder: without suffix, ``_`` for each character that no id has.

    Names that would mostly turn into ``_``, or are too long, get the start of a hash to keep them apart.
    """
    stem = name.removesuffix(Path(name).suffix)
    safe = _UNSAFE.sub("_", stem)
    if stem.isascii() and len(safe) <= _LONGEST_ID:
        return safe
    return f"{safe[: _LONGEST_ID - 9]}-{sha256_bytes(stem.encode())[:8]}"


@cache
def _suffixes() -> frozenset[str]:
    return frozenset(suffix for suffix, known in Image.registered_extensions().items() if known in FORMATS)

"""A folder of images as a dataset: unlabelled as it lies on a disk, or with a class for every image."""

import os
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from PIL import Image
from pydantic import model_validator

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError
from driftledger.core.paths import leads_out
from driftledger.core.types import Split
from driftledger.data.datasets.base import (
    SPLIT_NAMES,
    SampledProvider,
    SourceItem,
    digest_files,
    printable,
    reached,
    read_file,
    unreadable,
)
from driftledger.data.datasets.decode import FORMATS

UNCATEGORISED = "uncategorised"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_ID = 100


class _Place(NamedTuple):
    """What the folders say that an image lies in."""

    category: str | None = None
    label: str | None = None
    split: Split | None = None


class ImageFolder(SampledProvider):
    """The images below ``path``; a subfolder directly in it is a category, however deep an image lies in it.

    Without subfolders no sample has a category. With them, images beside the subfolders form the category
    ``uncategorised``, so that every sample is in some category's mean. Hidden files, and files without the suffix of a
    format that is read, are ignored. With ``labelled`` it is a dataset with a support and a test set.
    """

    provider: ClassVar[str] = "image_folder"

    path: Path
    """Relative to the working directory, or absolute, or in the home directory (``~``)."""
    labelled: bool = False
    """Whether it holds ``train/<label>/`` (or ``support/<label>/``) and ``test/<label>/``, and nothing else."""

    @model_validator(mode="after")
    def _sampled_by_label(self) -> Self:
        if self.is_sampled and not self.labelled:
            raise ValueError("support_per_label and test_per_label need labelled; set it")
        return self

    def items(self) -> Iterator[SourceItem]:
        for file, (path, place) in self._images().items():
            read = partial(read_file, path, file)
            yield SourceItem(safe_id(file), file, read, place.category, place.label, place.split, {"file": file})

    def source_digest(self) -> str:
        return digest_files((file, path) for file, (path, _) in self._images().items())

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "folder": printable(self._folder.name)}

    @property
    def _folder(self) -> Path:
        return reached(
            self.path, Path.is_dir, "is not a folder", "path to the folder of the images", "the image folder "
        )

    def _images(self) -> dict[str, tuple[Path, _Place]]:
        """The images that are kept, by their names below the folder."""
        files = dict(sorted(_files(self._folder)))
        if not files:
            raise DataError(f"the folder {str(self.path)!r} holds no images ({', '.join(FORMATS)}); put some there")
        has_categories = any("/" in file for file in files)
        images = {file: (path, self._place(file, has_categories=has_categories)) for file, path in files.items()}
        if self.is_sampled:
            sets: dict[Split, list[tuple[str, str | None]]] = {"support": [], "test": []}
            for file, (_, place) in images.items():
                if place.split is not None:
                    sets[place.split].append((file, place.label))
            kept = {file for split, rows in sets.items() for file in self.kept(split, rows)}
            images = {file: image for file, image in images.items() if file in kept}
        return images

    def _place(self, file: str, *, has_categories: bool) -> _Place:
        top, *below = file.split("/")
        if not self.labelled:
            return _Place(category=(top if below else UNCATEGORISED) if has_categories else None)
        if top not in SPLIT_NAMES or len(below) < 2:
            place = f"train/<label>/ or test/<label>/ of {str(self.path)!r}"
            raise DataError(f"{file} is not in the folder of a class; move it into {place}, or remove it")
        return _Place(label=below[0], split=SPLIT_NAMES[top])


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

"""A folder of images as a dataset, with or without labels."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias

from PIL import Image

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.errors import DataError, DriftledgerError, first_few
from driftledger.core.paths import leads_out, walk
from driftledger.core.types import Split
from driftledger.data.datasets.base import (
    DatasetProvider,
    SourceItem,
    digest_files,
    printable,
    reached,
    read_file,
    unreadable,
)
from driftledger.data.datasets.decode import FORMATS, losses
from driftledger.data.datasets.pages import PagedProvider, count_pages, is_pdf

UNCATEGORISED = "uncategorised"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_ID = 100
_LEAST_DPI = 36
_SETS: dict[str, Split] = {"train": "support", "support": "support", "test": "test"}
"""Name of a folder → the set that it holds."""
NO_PHOTOGRAPHS = frozenset(
    {
        *("@eadir", "@recently-snapshot", "@recycle", "@sharebin", "@tmp", "@__thumb"),
        *("#recycle", "#snapshot", "~snapshot", "$recycle.bin", "recycler", "recycled"),
        *("lost+found", "found.000", "system volume information", "__macosx"),
        *("network trash folder", "temporary items"),
    }
)
"""Folders, in small letters, for thumbnails, old versions and deleted files, as file servers and
systems make them."""
ByName: TypeAlias = dict[str, Path]
"""Name below a folder → the file; a name that ends in a slash is a folder."""


class ImageFolder(PagedProvider, DatasetProvider):
    """The images below ``path``, and each page of its PDF files; its subfolders are categories.

    An image belongs to the subfolder of ``path`` that it lies in, at any depth. Without subfolders
    no sample has a category. With them, images outside of all form the category ``uncategorised``,
    so that every sample is in some category's mean. Hidden files are ignored. Files with another
    suffix than those of the formats are left out and named, and so are folders of
    :data:`NO_PHOTOGRAPHS`. With ``labelled`` it is a dataset with a support and a test set.
    """

    formats: ClassVar[tuple[str, ...]] = (*FORMATS, "PDF")

    path: Path
    """Absolute, relative to the working directory, or in the home directory (``~``)."""
    labelled: bool = False
    """Whether it holds ``train/<label>/`` (or ``support/<label>/``) and ``test/<label>/``, and
    nothing else."""

    def items(self) -> Iterator[SourceItem]:
        files, _ = self.files()
        has_categories = any("/" in file for file in files)
        for file, path in files.items():
            (top, *below) = file.split("/")
            category = label = None
            split = _SETS.get(top) if self.labelled else None
            if split and len(below) > 1:
                label = below[0]
            elif self.labelled:
                raise DataError(
                    f"{file} is not in the folder of a class; move it into train/<label>/ or "
                    f"test/<label>/ of {str(self.path)!r}, or remove it"
                )
            elif has_categories:
                category = top if below else UNCATEGORISED
            for id_, name, page in _images(file, path):
                yield SourceItem(
                    id_,
                    name,
                    partial(self.read_image, path, page, name),
                    category=category,
                    label=label,
                    split=split,
                    source={"file": self.recorded(name)},
                )

    def source_digest(self) -> str:
        files, left_out = self.files()
        folders = [name for name in left_out if name.endswith("/")]
        rows = files | {
            name: left_out[name] for name in left_out if name not in folders
        }
        more = [self.pdf_dpi] if any(map(is_pdf, files)) else []
        digest = digest_files(rows.items())
        return sha256_of([digest, *more, *folders]) if more or folders else digest

    def source(self) -> dict[str, str]:
        _, left_out = self.files()
        source = {"kind": self.provider, "folder": printable(self._folder.name)}
        if left_out:
            source["left_out"] = first_few([*left_out])
        return source

    def is_read(self, name: str) -> bool:
        """Return True if the suffix of a file is that of one of the formats."""
        suffix = Path(name).suffix.lower()
        return Image.registered_extensions().get(suffix) in self.formats

    def blank(self) -> list[str]:
        """Return the names of images that show nothing after they are read."""
        return losses(self.noted()).blank

    def noted(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each image and its notes, if reading it may lose something.

        Other images are not read. The build refuses what cannot be read.
        """
        for file, path in self.files()[0].items():
            with suppress(DriftledgerError):
                for _, name, page in _images(file, path):
                    yield name, self._notes(path, page, name)

    def _notes(self, path: Path, page: str, name: str) -> list[str]:
        with suppress(Exception):  # Pillow answers broken bytes with any exception
            small = self
            if page:  # a small one is drawn fast
                small = self.model_copy(update={"pdf_dpi": _LEAST_DPI})
            else:
                with Image.open(path, formats=FORMATS) as header:
                    frames = getattr(header, "n_frames", 1)
                    if header.mode in ("RGB", "L") and frames == 1:
                        return []
            _, notes = self.decode(small.read_image(path, page, name), name)
            return notes
        return []

    @property
    def _folder(self) -> Path:
        return reached(
            self.path,
            "folder",
            f"path to the folder of the {self.medium}s",
            f"the {self.medium} folder ",
        )

    def files(self) -> tuple[ByName, ByName]:
        """Find the files that are read, and those that are left out.

        Their names below the folder are the same on every machine. Links inside the folder and into
        a cache of DVC are followed. The folder may come from somebody else, so no other link may
        lead out of it.
        """

        def fail(error: OSError) -> None:
            raise unreadable(str(error.filename), error)

        folder = self._folder
        read = ByName()
        left_out = ByName()
        for top, folders, files in walk(folder, DataError, onerror=fail):
            for name in [each for each in folders if each.lower() in NO_PHOTOGRAPHS]:
                folders.remove(name)
                path = Path(top, name)
                left_out[f"{printable(path.relative_to(folder).as_posix())}/"] = path
            for name in (*folders, *files):
                path = Path(top, name)
                is_folder = name in folders
                is_read = self.is_read(name)
                leaves = path.is_symlink() and path.exists() and leads_out(path, folder)
                if leaves and (is_folder or is_read):
                    raise DataError(
                        f"{path} is a link out of {folder}; put its target into the folder, or "
                        "remove the link"
                    )
                if is_read and not path.is_file() and not is_folder:
                    raise DataError(
                        f"{path} is a broken link or not a file; correct or remove it"
                    )
                if path.is_file() and not leaves:
                    kept = read if is_read else left_out
                    kept[printable(path.relative_to(folder).as_posix())] = path
        if not read:
            raise DataError(
                f"the folder {str(self.path)!r} holds no {self.medium}s "
                f"({', '.join(self.formats)}); put some there"
            )
        return dict(sorted(read.items())), dict(sorted(left_out.items()))


def _images(file: str, path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield id, name and page of an image file, or of each page of a PDF file."""
    if not is_pdf(file):
        yield safe_id(file), file, ""
        return
    pages = count_pages(read_file(path, file), file)
    for page in range(1, pages + 1):
        id_ = safe_id(f"{file[:-4]}-{page:0{len(str(pages))}}.pdf")
        yield id_, f"{file}#{page}", str(page)


def safe_id(name: str) -> str:
    """Make an id of an image's name below its folder.

    The suffix is dropped, and a character that no id has becomes ``_``. A name that is too long, or
    not ASCII, gets the start of a hash, so that ids differ.
    """
    stem = name.removesuffix(Path(name).suffix)
    safe = _UNSAFE.sub("_", stem)
    if stem.isascii() and len(safe) <= _LONGEST_ID:
        return safe
    return f"{safe[: _LONGEST_ID - 9]}-{sha256_bytes(stem.encode())[:8]}"

"""Pages of PDF files as images."""

import re
from pathlib import Path

from pydantic import Field

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.data.datasets.base import MAX_PIXELS, Provider, read_file
from driftledger.data.datasets.decode import DrawnPage
from driftledger.data.datasets.drawing import DRAWER, Drawn

MOST_PAGES = 10_000
"""The most pages of a file in a dataset."""
_NUMBER = re.compile("[1-9][0-9]{0,8}")
_FAILED: dict[tuple[str, int], str] = {}
"""SHA-256 of a PDF and its resolution → the error of a page that took too much.

No other page of the file is tried then."""


class PagedProvider(Provider):
    """A provider whose images may be pages of PDF files."""

    pdf_dpi: int = Field(default=150, ge=36, le=600, exclude_if=lambda dpi: dpi == 150)
    """Pixels per inch, for an image that is a page: ``report.pdf#3``."""

    def recorded(self, name: str) -> str:
        """Return an image's name as records have it; a page's with its resolution."""
        return f"{name} at {self.pdf_dpi} dpi" if file_and_page(name)[1] else name

    def read_image(self, path: Path, page: str, name: str) -> bytes:
        """Read an image file, or draw a page of a PDF file; errors call it ``name``."""
        data = read_file(path, name)
        return page_png(data, page, name, dpi=self.pdf_dpi) if page else data


def is_pdf(name: str) -> bool:
    return name.lower().endswith(".pdf")


def file_and_page(name: str) -> tuple[str, str]:
    """Split a page's name into file and number; the number of any other name is empty.

    >>> file_and_page("report.pdf#3"), file_and_page("report.pdf#3.png")
    (('report.pdf', '3'), ('report.pdf#3.png', ''))
    """
    file, _, page = name.rpartition("#")
    return (file, page) if is_pdf(file) and "." not in page else (name, "")


def count_pages(pdf: bytes, name: str) -> int:
    """Count the pages of a PDF, at most :data:`MOST_PAGES`; errors as in :func:`page_png`."""
    pages = _drawn(pdf, 0, name, 0).pages
    if pages > MOST_PAGES:
        raise DataError(
            f"{name} has {pages:,} pages, and {MOST_PAGES:,} are read; cut it into parts"
        )
    return pages


def page_png(pdf: bytes, page: str, name: str, *, dpi: int) -> DrawnPage:
    """Draw a page as PNG, with the contents of its forms.

    Args:
        page: its number as written, counted from 1.
        name: its name in errors.

    Raises:
        DataError: there is no such page, it is too large or takes too much to draw, or the PDF
            cannot be read.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    number = int(page) if _NUMBER.fullmatch(page) else -1
    return DrawnPage(_drawn(pdf, number, name, dpi).png)


def _drawn(pdf: bytes, page: int, name: str, dpi: int) -> Drawn:
    """Draw a page, or count pages; errors as in :func:`page_png`."""
    import_extra("pypdfium2")
    key = (sha256_bytes(pdf), dpi)
    if key not in _FAILED:
        drawn = DRAWER.draw(pdf, key[0], page, dpi=dpi, most=MAX_PIXELS)
        if not drawn.error:
            return drawn
        sentence = f"{name} {for_line(drawn.error)}"
        if not drawn.error.startswith("takes"):
            raise DataError(sentence)
        _FAILED[key] = sentence
    raise DataError(_FAILED[key])

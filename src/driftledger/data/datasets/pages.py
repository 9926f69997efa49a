"""Pages of PDF files as images, drawn by pypdfium2: ``report.pdf#3`` is the third page."""

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.data.datasets.base import MAX_PIXELS, Provider, read_file
from driftledger.data.datasets.decode import DrawnPage
from driftledger.data.datasets.drawing import DRAWER, DrawingError, Drawn

MOST_PAGES = 10_000
"""The most pages of a file of which each is an image."""
_NUMBER = re.compile("[1-9][0-9]{0,8}")
_FAILED: dict[tuple[str, float | None], str] = {}
"""SHA-256 of a PDF and a scale → why a page could not be drawn; no other of its pages is tried."""


class PagedProvider(Provider):
    """A provider whose images may be pages of PDF files."""

    pdf_dpi: int = Field(default=150, ge=36, le=600, exclude_if=lambda dpi: dpi == 150)
    """Pixels per inch of pages, where an image is one: ``report.pdf#3``."""

    def recorded(self, name: str) -> str:
        """Return an image's name as it is recorded: that of a page with its resolution."""
        return f"{name} at {self.pdf_dpi} dpi" if file_and_page(name)[1] else name

    def read_image(self, path: Path, page: str, name: str) -> bytes:
        """Read an image file, or draw a page of a PDF file; errors call it ``name``."""
        data = read_file(path, name)
        return page_png(data, page, name, dpi=self.pdf_dpi) if page else data


def is_pdf(name: str) -> bool:
    return name.lower().endswith(".pdf")


def file_and_page(name: str) -> tuple[str, str]:
    """Split the name of a page into its file and its number; other names have no number.

    >>> file_and_page("report.pdf#3"), file_and_page("report.pdf#3.png")
    (('report.pdf', '3'), ('report.pdf#3.png', ''))
    """
    file, _, page = name.rpartition("#")
    return (file, page) if is_pdf(file) and "." not in page else (name, "")


def count_pages(pdf: bytes, name: str) -> int:
    """Count the pages of a PDF, at most :data:`MOST_PAGES`; errors as in :func:`page_png`."""
    pages = _drawn(pdf, name).pages
    if pages > MOST_PAGES:
        raise DataError(
            f"{name} has {pages:,} pages, and {MOST_PAGES:,} are read; cut it into parts"
        )
    return pages


def page_png(pdf: bytes, page: str, name: str, *, dpi: int) -> DrawnPage:
    """Draw a page, with what is filled into its forms, as PNG.

    Args:
        page: its number as it is written, counted from 1.
        name: what errors call it.

    Raises:
        DataError: there is no such page, it is too large or takes too much to draw, or the PDF
            cannot be read.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    number = int(page) - 1 if _NUMBER.fullmatch(page) else -1
    # points per inch
    drawn = _drawn(pdf, name, page=number, scale=dpi / 72, most=MAX_PIXELS)
    if drawn.is_too_large:
        raise DataError(
            f"{name} has over {MAX_PIXELS:,} pixels at {dpi} dpi; lower pdf_dpi, or remove it"
        )
    if not drawn.png:
        raise DataError(
            f"{name} names no page of the PDF, which has {drawn.pages}; write a number from 1 on, "
            "as in report.pdf#1"
        )
    return DrawnPage(drawn.png)


def _drawn(pdf: bytes, name: str, **page: Any) -> Drawn:
    """Count the pages of a PDF, and draw one; errors as in :func:`page_png`."""
    import_extra("pypdfium2")
    remedy = "print it into a simpler file, or remove it"
    key = (sha256_bytes(pdf), page.get("scale"))
    if key in _FAILED:
        raise DataError(_FAILED[key])
    try:
        drawn = DRAWER.draw(pdf, **page)
    except DrawingError as error:
        _FAILED[key] = f"{name} {error}; {remedy}"
        raise DataError(_FAILED[key]) from None
    if drawn.error:
        raise DataError(
            f"{name} cannot be read as a PDF ({for_line(drawn.error)}); repair it, or save it "
            "without a password"
        )
    return drawn

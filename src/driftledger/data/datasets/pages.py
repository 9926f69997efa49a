"""Pages of PDF files as images, drawn by pypdfium2: ``report.pdf#3`` is the third page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from driftledger.core.errors import DataError
from driftledger.core.media import png_bytes
from driftledger.core.registry import import_extra
from driftledger.data.datasets.base import MAX_PIXELS, Provider, read_file

MOST_PAGES = 10_000
"""The most pages of a file of which each is an image."""


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
    with _opened(pdf, name) as document:
        pages = len(document)
    if pages > MOST_PAGES:
        raise DataError(
            f"{name} has {pages:,} pages, and {MOST_PAGES:,} are read; cut it into parts"
        )
    return pages


def page_png(pdf: bytes, page: str, name: str, *, dpi: int) -> bytes:
    """Draw a page, with what is filled into its forms, as PNG.

    Args:
        page: its number as it is written, counted from 1.
        name: what errors call it.

    Raises:
        DataError: there is no such page, it is too large, or the PDF cannot be read.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    with _opened(pdf, name) as document:
        document.init_forms()
        if page not in map(str, range(1, len(document) + 1)):
            raise DataError(
                f"{name} names no page of the PDF, which has {len(document)}; write a number from "
                "1 on, as in report.pdf#1"
            )
        sheet = document[int(page) - 1]
        width, height = sheet.get_size()
        scale = dpi / 72  # points per inch
        pixels = max(width * scale, 1) * max(height * scale, 1)
        if not pixels <= MAX_PIXELS:  # which includes what is not a number
            raise DataError(
                f"{name} has over {MAX_PIXELS:,} pixels at {dpi} dpi; lower pdf_dpi, or remove it"
            )
        return png_bytes(sheet.render(scale=scale).to_pil())


@contextmanager
def _opened(pdf: bytes, name: str) -> Iterator[Any]:
    pdfium = import_extra("pypdfium2")
    try:
        with pdfium.PdfDocument(pdf) as document:
            yield document
    except pdfium.PdfiumError as error:
        raise DataError(
            f"{name} cannot be read as a PDF ({error!s:.200}); repair it, or save it without a "
            "password"
        ) from None

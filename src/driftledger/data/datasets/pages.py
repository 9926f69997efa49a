"""Pages of PDF files as images, drawn by pypdfium2: ``report.pdf#3`` is the third page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from driftledger.core.errors import DataError
from driftledger.core.media import png_bytes
from driftledger.core.registry import import_extra
from driftledger.data.datasets.base import read_file

DPI = 150
"""Pixels per inch where the settings name no other number: A4 has 1241×1754 pixels."""
MOST_PAGES = 10_000
"""Pages of a file."""
Resolution = Annotated[int, Field(ge=36, le=600)]
"""Pixels per inch of a page."""

_POINTS = 72
"""Points per inch, in which a PDF measures."""
_PAGE = re.compile(r"(.+\.pdf)(?:#([^./]*))?", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"0*[1-9][0-9]{0,99}")


def page_of(name: str) -> tuple[str, str | None]:
    """Split the name of a page into its file and its number; None for a file of another kind.

    >>> page_of("report.pdf#3"), page_of("report.pdf"), page_of("photo.png")
    (('report.pdf', '3'), ('report.pdf', ''), ('photo.png', None))
    """
    match = _PAGE.fullmatch(name)
    return (match[1], match[2] or "") if match else (name, None)


def renderer(dpi: int) -> str:
    """Return what draws pages, as entries note it: the library, its version and the resolution."""
    pdfium = import_extra("pypdfium2")
    return f"pypdfium2 {pdfium.PYPDFIUM_INFO}, PDFium {pdfium.PDFIUM_INFO}, {dpi} dpi"


@contextmanager
def open_pdf(path: Path, name: str) -> Iterator[Any]:
    """Open a PDF that errors call ``name``, with what is filled into its forms.

    Raises:
        DataError: it cannot be read, or has too many pages.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    pdfium = import_extra("pypdfium2")
    try:
        with pdfium.PdfDocument(read_file(path, name)) as document:
            if len(document) > MOST_PAGES:
                raise DataError(
                    f"{name} is of a PDF with over {MOST_PAGES:,} pages; cut it into parts"
                )
            document.init_forms()
            yield document
    except pdfium.PdfiumError as error:
        trouble = f"cannot be read as a PDF ({error!s:.200}); replace or remove it"
        if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
            trouble = "is encrypted; save it without a password"
        raise DataError(f"{name} {trouble}") from None


def images_in(file: str, path: Path) -> Iterator[tuple[str, Path]]:
    """Yield a file's name and place, or those of each page of a PDF; errors as of
    :func:`open_pdf`."""
    if page_of(file)[1] is None:
        yield file, path
    else:
        with open_pdf(path, file) as document:
            pages = range(1, len(document) + 1)
        yield from ((f"{file}#{page:03}", path) for page in pages)


def read_image(
    path: Path, page: str | None, name: str, *, dpi: int, max_pixels: int
) -> bytes:
    """Return the bytes of a file, or a page of a PDF as PNG.

    Args:
        page: the page's number as it is written, counted from 1; None reads the file.
        name: what errors call it.
        max_pixels: refuse more pixels of a page, going by its size, before any are drawn.

    Raises:
        DataError: there is no such page, it is too large, or the file cannot be read.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    if page is None:
        return read_file(path, name)
    with open_pdf(path, name) as document:
        if not _NUMBER.fullmatch(page) or int(page) > len(document):
            raise DataError(
                f"{name} names no page of the PDF, which has {len(document):,}; write a number "
                "from 1 on, as in report.pdf#1"
            )
        sheet = document[int(page) - 1]
        width, height = sheet.get_size()
        pixels = width * height * (dpi / _POINTS) ** 2
        if not 1 <= pixels <= max_pixels:  # nor is it a number, perhaps
            raise DataError(
                f"{name} has {pixels:,.0f} pixels at {dpi} dpi, and at most {max_pixels:,} are "
                "read; lower pdf_dpi, or remove it"
            )
        return png_bytes(sheet.render(scale=dpi / _POINTS).to_pil())

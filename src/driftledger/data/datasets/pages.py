"""Pages of PDF files as images, drawn by pypdfium2: ``report.pdf#3`` is the third page."""

from driftledger.core.errors import DataError
from driftledger.core.media import png_bytes
from driftledger.core.registry import import_extra
from driftledger.data.datasets.base import MAX_PIXELS


def file_and_page(name: str) -> tuple[str, str]:
    """Split the name of a page into its file and its number; other names have no number.

    >>> file_and_page("report.pdf#3"), file_and_page("photo#3.png")
    (('report.pdf', '3'), ('photo#3.png', ''))
    """
    file, _, page = name.rpartition("#")
    return (file, page) if file.lower().endswith(".pdf") else (name, "")


def page_png(pdf: bytes, page: str, name: str, *, dpi: int) -> bytes:
    """Draw a page, with what is filled into its forms, as PNG.

    Args:
        page: its number as it is written, counted from 1.
        name: what errors call it.

    Raises:
        DataError: there is no such page, it is too large, or the PDF cannot be read.
        MissingExtraError: ``pypdfium2`` is not installed.
    """
    pdfium = import_extra("pypdfium2")
    try:
        with pdfium.PdfDocument(pdf) as document:
            document.init_forms()
            if page not in map(str, range(1, len(document) + 1)):
                raise DataError(
                    f"{name} names no page of the PDF, which has {len(document)}; write a "
                    "number from 1 on, as in report.pdf#1"
                )
            sheet = document[int(page) - 1]
            width, height = sheet.get_size()
            scale = dpi / 72  # points per inch
            pixels = max(width * scale, 1) * max(height * scale, 1)
            if not pixels <= MAX_PIXELS:  # which includes what is not a number
                raise DataError(
                    f"{name} has over {MAX_PIXELS:,} pixels at {dpi} dpi; lower pdf_dpi, or "
                    "remove it"
                )
            return png_bytes(sheet.render(scale=scale).to_pil())
    except pdfium.PdfiumError as error:
        raise DataError(
            f"{name} cannot be read as a PDF ({error!s:.200}); repair it, or save it without a "
            "password"
        ) from None

"""A bounded child process that draws pages of PDF files.

A PDF of a kilobyte can fill a machine's memory, or keep it at work for ever: PDFium has no bounds,
and ends its process when it runs out of memory. So only this child loads PDFs.
"""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from threading import Lock
from typing import Any, NamedTuple

MOST_MEMORY = 2**31
"""Bytes of the child's address space; a page of 50 million pixels takes a third."""
MOST_CPU = 8
"""Seconds of CPU for a page, on systems that count them."""
MOST_SECONDS = 15
"""Seconds that a page may take."""


class Drawn(NamedTuple):
    """The answer of the child."""

    pages: int = 0
    """The number of pages of the file."""
    error: str = ""
    """The end of a sentence that starts with the file's name: what is wrong and what to do."""
    png: bytes = b""
    """The drawn page; empty if none is drawn."""


class Drawer:
    """Draws pages in a child, which starts at the first page and keeps the last file open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._child: Any = None
        self._held = ""
        """SHA-256 of the file that the child has open."""

    def draw(self, pdf: bytes, sha256: str, page: int, *, dpi: int, most: int) -> Drawn:
        """Draw a page of a file.

        Args:
            page: counted from 1; 0 only counts pages.
            most: the most pixels of a page.
        """
        with self._lock:
            if self._child is None:
                self._start()
            try:
                drawn = self._answer(pdf, sha256, page, dpi, most)
            except BaseException:  # else the next page would get this answer
                self.close()
                raise
            if drawn is not None:
                return drawn
            code = self._child.wait()
            self.close()
        reason = f"{MOST_MEMORY >> 20:,} MiB of memory, or breaks PDFium ({code})"
        if code == -signal.SIGXCPU:
            reason = f"{MOST_CPU} seconds of computing"
        elif code == -signal.SIGALRM:
            reason = f"{MOST_SECONDS} seconds"
        return Drawn(
            error=f"takes more than {reason}; print it into a simpler file, or remove it"
        )

    def _answer(self, pdf: bytes, sha256: str, *asked: int) -> Drawn | None:
        """Ask the child; None if it has ended."""
        is_new = sha256 != self._held
        self._held = sha256
        question = json.dumps([len(pdf) if is_new else -1, *asked])
        with suppress(BrokenPipeError):
            self._child.stdin.write(question.encode() + b"\n")
            if is_new:
                self._child.stdin.write(pdf)
            self._child.stdin.flush()
        # not a pickle: a stranger's file may have taken over the child
        head = self._child.stdout.readline(2**16)
        if not head:
            return None
        pages, error, size = json.loads(head)
        png = self._child.stdout.read(size)
        return Drawn(pages, error, png) if len(png) == size else None

    def _start(self) -> None:
        """Start a child with this process's path of imports."""
        code = (
            f"import sys; sys.path[:] = {sys.path}; "
            "from driftledger.data.datasets.drawing import serve; "
            f"serve({MOST_MEMORY}, {MOST_CPU}, {MOST_SECONDS})"
        )
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for the parent, which decides
        )

    def close(self) -> None:
        """End the child, even at work."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
        self._child = None
        self._held = ""


DRAWER = Drawer()


def serve(memory: int, cpu: int, seconds: int) -> None:
    """Answer questions in the child.

    Args:
        memory: bytes of its address space.
        cpu: seconds of CPU for an answer.
        seconds: for an answer.
    """
    _bound("RLIMIT_AS", memory)
    _bound("RLIMIT_CORE", 0)
    document = None
    while question := sys.stdin.buffer.readline():
        size, *asked = json.loads(question)
        _bound("RLIMIT_CPU", int(time.process_time()) + 1 + cpu)
        signal.alarm(seconds)
        try:
            if size >= 0:
                pdf = sys.stdin.buffer.read(size)
                document = None
            document = document or import_module("pypdfium2").PdfDocument(pdf)
            drawn = _drawn(document, *asked)
        except MemoryError:
            raise
        except Exception as error:  # PDFium's own, or a size that is not one
            words = str(error)[:200].rstrip(".")
            reason = f"cannot be read as a PDF ({words})"
            drawn = Drawn(error=f"{reason}; repair it, or save it without a password")
        signal.alarm(0)
        head = json.dumps([drawn.pages, drawn.error, len(drawn.png)])
        sys.stdout.buffer.write(head.encode() + b"\n" + drawn.png)
        sys.stdout.buffer.flush()


def _bound(limit: str, most: int) -> None:
    """Bound a resource of this process, if the system can."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        resource: Any = import_module("resource")
        kind = getattr(resource, limit)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _drawn(document: Any, page: int, dpi: int, most: int) -> Drawn:
    """Draw a page, or count pages, in the child."""
    pages = len(document)
    if page == 0:
        return Drawn(pages)
    if not 0 < page <= pages:
        problem = f"names no page of the PDF, which has {pages}"
        return Drawn(error=f"{problem}; write a number from 1 on, as in report.pdf#1")
    document.init_forms()
    sheet = document[page - 1]
    scale = dpi / 72  # points per inch
    width, height = sheet.get_size()
    pixels = max(width * scale, 1) * max(height * scale, 1)
    if not pixels <= most:  # true for NaN, too
        problem = f"has over {most:,} pixels at {dpi} dpi"
        return Drawn(error=f"{problem}; lower pdf_dpi, or remove it")
    file = BytesIO()
    image = sheet.render(scale=scale).to_pil().convert("RGB")
    image.save(file, "PNG", compress_level=1)  # it is decoded at once
    sheet.close()
    return Drawn(pages, png=file.getvalue())

"""A child process that draws pages of PDF files, bounded in memory and time.

A PDF of a kilobyte can fill the memory of a machine, or keep it at work for ever: PDFium has no
bounds of its own, and when it runs out of memory, it ends its process. So nothing else loads a PDF.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from multiprocessing.connection import Connection, Pipe
from threading import Lock
from typing import Any, NamedTuple

MOST_MEMORY = 2**31
"""Bytes of addresses of the child; a page of 50 million pixels takes a third."""
MOST_CPU = 10
"""Seconds of computing a page."""
MOST_SECONDS = 20
"""Seconds until a page is there: the bound where a system does not count those of computing."""
_IDLE = 30
"""Seconds after which a child that is asked nothing ends."""
_MOST_ASKED = 200
"""Pages that one child draws: what PDFium keeps of a file does not grow without end."""


class Drawn(NamedTuple):
    """The answer of the child."""

    pages: int = 0
    """Of the file."""
    size: int = 0
    """Bytes of the image; 0 where nothing is drawn."""
    error: str = ""
    """Why the file cannot be read."""
    is_too_large: bool = False
    png: bytes = b""


class DrawingError(Exception):
    """A page takes more than the child may use, or ends it."""


class Drawer:
    """Draws pages in a child, which starts with the first and keeps the last file open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        """The process that has started the child: after a fork, it is not this one's."""
        self._held = ""
        """SHA-256 of the file that the child has open."""
        self._asked = 0

    def draw(
        self, pdf: bytes, page: int | None = None, scale: float = 1.0, most: int = 0
    ) -> Drawn:
        """Draw a page of a file.

        Args:
            page: counted from 0; without one, or where the file lacks it, pages are only counted.
            scale: pixels per point.
            most: pixels that are drawn.

        Raises:
            DrawingError: it takes too much.
        """
        with self._lock:
            is_running = self._child is not None and self._child.poll() is None
            is_own = self._owner == os.getpid()
            if not (is_running and is_own) or self._asked >= _MOST_ASKED:
                self._start()
            try:
                return self._answer(pdf, {"page": page, "scale": scale, "most": most})
            except (
                BaseException
            ):  # what is still to come would be taken for the next answer
                self.close()
                raise

    def _answer(self, pdf: bytes, question: dict[str, Any]) -> Drawn:
        """Ask the child; errors as of :meth:`draw`."""
        self._asked += 1
        digest = sha256(pdf).hexdigest()
        is_new = digest != self._held
        self._held = digest
        try:
            self._pipe.send_bytes(json.dumps({**question, "is_new": is_new}).encode())
            if is_new:
                self._pipe.send_bytes(pdf)
            if not self._pipe.poll(MOST_SECONDS):
                raise DrawingError(f"takes more than {MOST_SECONDS} seconds")
            # not a pickle: a stranger's file may have taken over the child
            drawn = Drawn(**json.loads(self._pipe.recv_bytes(2**16)))
            if drawn.size:
                drawn = drawn._replace(png=self._pipe.recv_bytes(4 * question["most"]))
            return drawn
        except (EOFError, OSError):  # it has ended
            pass
        assert self._child is not None
        code = self._child.wait()
        if code == 0 and self._asked > 1:  # as nothing was asked for a while
            self._start()
            return self._answer(pdf, question)
        if code == -signal.SIGXCPU:
            raise DrawingError(f"takes more than {MOST_CPU} seconds of computing")
        memory = f"takes more than {MOST_MEMORY >> 30} GiB of memory"
        raise DrawingError(f"{memory}, or breaks PDFium (exit code {code})")

    def _start(self) -> None:
        """Start a child with this process's path of imports."""
        self.close()
        self._pipe, other = Pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path}; "
            "from driftledger.data.datasets.drawing import serve; "
            f"serve({other.fileno()}, {MOST_MEMORY}, {MOST_CPU})"
        )
        with other:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                start_new_session=True,  # an interrupt is for the parent, which decides
            )
        self._owner = os.getpid()
        self._held = ""
        self._asked = 0

    def close(self) -> None:
        """End the child, even at work."""
        if self._child and self._owner == os.getpid():
            self._pipe.close()
            self._child.kill()
            self._child.wait()
        self._child = None


DRAWER = Drawer()
atexit.register(DRAWER.close)


def serve(descriptor: int, memory: int, cpu: int) -> None:
    """Answer what comes through a pipe, in the child, within so many bytes and seconds."""
    pipe = Connection(descriptor)
    _bound("RLIMIT_AS", memory)
    _bound("RLIMIT_CORE", 0)
    document = None
    pdf = b""
    with suppress(EOFError, OSError):
        while pipe.poll(_IDLE):
            question = json.loads(pipe.recv_bytes())
            if question.pop("is_new"):
                document = None
                pdf = pipe.recv_bytes()
            _bound("RLIMIT_CPU", int(time.process_time()) + 1 + cpu)
            document, drawn = _drawn(document, pdf, **question)
            head = drawn._asdict()
            png = head.pop("png")
            pipe.send_bytes(json.dumps(head).encode())
            if png:
                pipe.send_bytes(png)


def _bound(limit: str, most: int) -> None:
    """Bound what this process may use, where the system can."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        kind = getattr(resource, limit)
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most, hard))


def _drawn(
    document: Any, pdf: bytes, page: int | None, scale: float, most: int
) -> tuple[Any, Drawn]:
    """Return a document, opened where it is not yet, and the answer; as of :meth:`Drawer.draw`."""
    try:
        document = document or import_module("pypdfium2").PdfDocument(pdf)
        pages = len(document)
        if page is None or not 0 <= page < pages:
            return document, Drawn(pages)
        document.init_forms()
        sheet = document[page]
        width, height = sheet.get_size()
        pixels = max(width * scale, 1) * max(height * scale, 1)
        if not pixels <= most:  # which includes what is not a number
            return document, Drawn(pages, is_too_large=True)
        image = BytesIO()
        drawn = sheet.render(scale=scale).to_pil().convert("RGB")
        drawn.save(image, "PNG", compress_level=1)  # it is decoded at once
        sheet.close()
    except MemoryError:
        raise
    except Exception as error:  # PDFium's own, or what is no size
        return document, Drawn(error=f"{error!s:.200}" or type(error).__name__)
    png = image.getvalue()
    return document, Drawn(pages, len(png), png=png)

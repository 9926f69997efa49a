"""A server with one answer, for statuses, headers and bodies that no other server of these tests
gives."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class OnLoopback:
    """A server in a thread of its own, on a free port of this machine, while the context lasts."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Canned(OnLoopback):
    """Answers every GET and POST alike, and keeps each request's path, headers with names in lower
    case, and body."""

    def __init__(
        self, status: int, body: str | bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        content = body.encode() if isinstance(body, str) else body
        requests = self.requests = []  # type: list[tuple[str, dict[str, str]]]
        bodies = self.bodies = []  # type: list[bytes]

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                requests.append(
                    (
                        self.path,
                        {name.lower(): value for name, value in self.headers.items()},
                    )
                )
                bodies.append(
                    self.rfile.read(int(self.headers.get("content-length", 0)))
                )
                self.send_response(status)
                for name, value in {
                    "content-length": str(len(content)),
                    **(headers or {}),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)

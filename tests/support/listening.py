"""Servers that answer as no server should, byte by byte."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def listening(answer: Any, host: str = "127.0.0.1") -> Iterator[int]:
    """A server that gives each connection to ``answer``."""
    server = socket.create_server((host, 0))
    threads = list[threading.Thread]()

    def handle(connection: socket.socket) -> None:
        with connection:
            answer(connection)

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=handle, args=(connection,), daemon=True))
            threads[-1].start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()

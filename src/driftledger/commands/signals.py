"""Signals that stop a process."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stops_as_exits() -> Iterator[None]:
    """Let the signals that stop a process raise SystemExit.

    So calls and children are ended first.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """

    def stop(number: int, _: Any) -> None:
        sys.exit(128 + number)

    handlers = {number: signal.getsignal(number) for number in _STOPS}
    try:
        for number, handler in handlers.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, stop)
            elif number == signal.SIGINT:
                # 'command &' of a script ignores it, and its children are to obey it
                signal.signal(number, lambda *_: None)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)

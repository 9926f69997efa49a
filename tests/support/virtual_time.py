"""Event loops in which waiting takes no time: what a busy machine cannot delay, no test has to
measure."""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar
from unittest import mock

R = TypeVar("R")

STARTED = 1000.0
"""What ``time.monotonic()`` gives as a run begins."""


class _Clock(selectors.DefaultSelector):
    """Instead of waiting for a timer, moves the time to it; a thread or a socket without one is
    waited for."""

    now = STARTED

    def time(self) -> float:
        return self.now

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout is not None:
            self.now += max(timeout, 0.0)
        return ready


def run(main: Coroutine[Any, Any, R]) -> R:
    """As :func:`asyncio.run`; ``time.monotonic()`` is the loop's time, which passes only while
    nothing can be done."""
    clock = _Clock()
    with (
        mock.patch.object(time, "monotonic", clock.time),
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(clock)) as runner,
    ):
        return runner.run(main)

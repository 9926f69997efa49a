"""When an attempt has failed for a reason that may pass, wait and try again; not for ever."""

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from driftledger.components.remote.limits import Limits
from driftledger.core.errors import ServiceError

R = TypeVar("R")

_BACKOFF = wait_random_exponential(multiplier=1.0, min=0.1, max=60.0)
_APART = 0.1
"""Calls that were told to come back at the same time come back a little apart."""


class TransientError(Exception):
    """One attempt failed for a reason that may pass: 408, 409, 429, 5xx, a timeout, a lost connection, half an answer.

    ``retry_after`` is how many seconds the service asks to wait. ``billed`` says that it may have done the work.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, billed: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.billed = billed


async def patiently(
    attempt: Callable[[], Awaitable[R]], limits: Limits, hold: Callable[[float], None] = lambda seconds: None
) -> R:
    """The first result of ``attempt`` that is not a :class:`TransientError`.

    Waits as long as the service asks for, else exponentially longer with jitter; ``hold`` is told what it asks for.

    Raises:
        TransientError: the last one, when attempts or the time for a call are used up.
        ServiceError: the service asks to wait longer than a call may take at all.
    """

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, TransientError) else None
        if asked is None:
            return _BACKOFF(state)
        if asked > limits.deadline:
            raise ServiceError(
                f"{error}; the service asks to wait {asked:.0f} s, and limits.deadline is {limits.deadline:g} s: "
                "finished calls are stored, run again later"
            )
        hold(asked)
        return asked * (1 + random.uniform(0, _APART))

    async def once() -> R:  # tenacity awaits what it can see to be a coroutine function
        return await attempt()

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(TransientError),
        stop=stop_after_attempt(limits.attempts) | stop_before_delay(limits.deadline),
        wait=pause,
        reraise=True,
    )
    return await retrying(once)

"""Never more calls at once, requests or tokens a minute than a service allows."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from driftledger.components.remote.limits import Limits

_MINUTE = 60.0


class _Window:
    """Amounts of the last minute, of which no more than ``most`` may be in any 60 seconds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: deque[list[float]] = deque()  # [when, amount]

    def wait(self, amount: float, now: float) -> float:
        """Seconds until ``amount`` has room; an amount above the limit goes alone."""
        while self._taken and self._taken[0][0] <= now - _MINUTE:
            self._taken.popleft()
        room, wait = self._most - sum(taken for _, taken in self._taken), 0.0
        for when, taken in self._taken:
            if room >= amount:
                break
            room += taken
            wait = when + _MINUTE - now
        return wait

    def take(self, amount: float, now: float) -> list[float]:
        self._taken.append([now, amount])
        return self._taken[-1]


class _Slots:
    """So many calls at once. Whoever gave its slot away for a while comes before those who never had one: behind a long
    queue its deadline would pass."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._back: deque[asyncio.Future[None]] = deque()
        self._new: deque[asyncio.Future[None]] = deque()

    async def take(self, *, back: bool = False) -> None:
        if self._free > 0:
            self._free -= 1
            return
        queue = self._back if back else self._new
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                queue.remove(turn)
            else:  # it was given one that it has no use for
                self.give()
            raise

    def take_at_once(self) -> None:
        """Even where none is free, so that whoever is on its way out has one to give."""
        self._free -= 1

    def give(self) -> None:
        self._free += 1
        for queue in (self._back, self._new):
            turn = next((each for each in queue if not each.done()), None)
            if turn is not None and self._free > 0:
                queue.remove(turn)
                self._free -= 1
                turn.set_result(None)


class Pace:
    """The pace of one service in one run; used inside one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._slots = _Slots(limits.concurrency)
        self._turn = asyncio.Lock()
        self._requests = _Window(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = _Window(limits.tokens_per_minute) if limits.tokens_per_minute else None
        self._held_until = 0.0
        self._awake = asyncio.Event()

    def hold(self, seconds: float) -> None:
        """Let no request start for so long: the service has asked for it."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def wake(self) -> None:
        """Let nobody sleep any longer, since no request will start."""
        self._awake.set()

    async def sleep(self, seconds: float) -> None:
        """Wait for so long, or until :meth:`wake`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._awake.wait()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """One of the calls that may be on their way at once."""
        await self._slots.take()
        try:
            yield
        finally:
            self._slots.give()

    async def rest(self, seconds: float) -> None:
        """Let others have the :meth:`slot` that this is called in for so long, and be the first to get one back."""
        self._slots.give()
        try:
            await self.sleep(seconds)
            await self._slots.take(back=True)
        except BaseException:
            self._slots.take_at_once()
            raise

    async def start(self, tokens: int) -> list[float] | None:
        """Wait until one more request of about ``tokens`` tokens may start, or until :meth:`wake`.

        Returns:
            What :meth:`settle` needs once the tokens have been counted.
        """
        async with self._turn:
            while (wait := self._wait(tokens)) > 0 and not self._awake.is_set():
                await self.sleep(wait)
            now = time.monotonic()
            if self._requests:
                self._requests.take(1, now)
            return self._tokens.take(tokens, now) if self._tokens else None

    @staticmethod
    def settle(taken: list[float] | None, tokens: int | None) -> None:
        """Put the service's own count in the place of the estimate."""
        if taken is not None and tokens is not None:
            taken[1] = tokens

    def _wait(self, tokens: int) -> float:
        now = time.monotonic()
        waits = [self._held_until - now]
        waits += [self._requests.wait(1, now)] if self._requests else []
        waits += [self._tokens.wait(tokens, now)] if self._tokens else []
        return max(waits)

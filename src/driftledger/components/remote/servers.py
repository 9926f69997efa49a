"""Several servers of one model: a call goes to the one with the fewest under way, and past those that are down.

Limits, budget and pace are the line's, and hold over all of them together.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from driftledger.components.remote.client import TransientError
from driftledger.components.remote.openai_failures import AnsweredError, OpenAIFailures, UnreachedError
from driftledger.components.remote.openai_service import A, Service
from driftledger.core.errors import ServiceError

_REST = 30.0
"""Seconds for which a server that is lost or overloaded is left out; then a single call tries it."""
_SHORT_REST = 1.0
"""After one call that went wrong in it, which may be the call's fault; twice as long with each more in a row."""


@dataclass(eq=False)
class _Server:
    service: Service
    begun: int = 0
    under_way: int = 0
    failures: int = 0
    """In a row; the first answer to a call that began after the last of them ends it."""
    failed_at: float = 0.0
    rests_until: float = 0.0
    checked: bool = False

    @property
    def rank(self) -> tuple[float, int, int]:
        """Whoever does not rest comes first, then whoever rests shortest; among equals, whoever has fewest calls."""
        rests = self.rests
        if self.failures and self.under_way:  # one call is on its way to find out
            rests = max(rests, _REST)
        return rests, self.under_way, self.begun

    @property
    def rests(self) -> float:
        """Seconds for which it is to be left alone."""
        return max(0.0, self.rests_until - time.monotonic())

    def rest(self, seconds: float) -> None:
        self.failures += 1
        self.failed_at = time.monotonic()
        self.rests_until = self.failed_at + seconds

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """One call; how it ends says how the server is."""
        began = time.monotonic()
        self.begun += 1
        self.under_way += 1
        try:
            yield
            if began > self.failed_at:
                self.failures, self.rests_until = 0, 0.0
        except AnsweredError as error:
            self.rest(error.retry_after or min(_REST, _SHORT_REST * 2 ** min(self.failures, 9)))
            raise
        except TransientError as error:
            self.rest(error.retry_after or _REST)
            raise
        except asyncio.CancelledError:  # an attempt's time is up
            self.rest(_REST)
            raise
        finally:
            self.under_way -= 1


class Servers(Service):
    """The servers of one model as if they were one.

    What no server has seen is given to the next one within the same attempt; whatever else may pass is the line's to
    try again, which then meets another server.
    """

    def __init__(self, services: Sequence[Service], failures: OpenAIFailures, version: str | None) -> None:
        self._servers = [_Server(service) for service in services]
        self._declared = version
        self._version = version
        self.failures = failures

    async def check(self) -> None:
        """Ask every server that can be reached for its version; the others are asked before their first call.

        Raises:
            ServiceError: a version is not the declared one, or not that of the others.
        """
        await asyncio.gather(*map(self._check_if_there, self._servers))

    async def post(self, path: str, body: Mapping[str, Any], answer: type[A]) -> A:
        untried = list(self._servers)
        while True:
            server = min(untried, key=lambda each: each.rank)
            untried.remove(server)
            try:
                async with server.at_work():
                    await self._check(server)
                    return await server.service.post(path, body, answer)
            except UnreachedError:
                if not untried:
                    raise
            except TransientError as error:
                if error.retry_after is not None:  # as long as there is nobody else
                    error.retry_after = min(each.rests for each in self._servers) or None
                raise

    async def fetch(self, url: str, most: int) -> bytes:
        import httpx2

        try:
            origin = httpx2.Origin(httpx2.URL(url))
        except httpx2.InvalidURL:
            origin = None
        services = [server.service for server in self._servers]
        own = [service for service in services if httpx2.Origin(httpx2.URL(service.url)) == origin]
        return await (own or services)[0].fetch(url, most)

    async def _check_if_there(self, server: _Server) -> None:
        try:
            await self._check(server)
        except UnreachedError:
            server.rest(_REST)

    async def _check(self, server: _Server) -> None:
        if server.checked:
            return
        found = await server.service.version()
        server.checked = True
        who, say = server.service.failures.who, server.service.failures.say
        if found is None and self._declared is not None:
            raise ServiceError(f"{who} does not say its version at /version; remove server_version and run again")
        if found is not None and self._version not in (None, found):
            told = "its entry says" if self._declared is not None else "another of its servers is"
            this, other = say(found), say(str(self._version))
            raise ServiceError(
                f"{who} is version {this:.80}, and {told} {other:.100}; start the same version everywhere, or mend "
                "server_version: what another version answers is another component's"
            )
        self._version = self._version or found

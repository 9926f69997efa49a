"""Calls that a service makes in batches: submitted, waited for and collected, by any later run.

A batch is stored before it is sent, under a name that the service keeps as well. After a kill it is
looked for by that name, and its calls are submitted again only where the service's list does not
hold it. Budgets, outcomes and further attempts are as of single calls.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from driftledger.collect.batches import set_error
from driftledger.collect.call import Batch, Call
from driftledger.collect.store import CallStore
from driftledger.components.openai_batches import ENDED, OpenAIBatches
from driftledger.components.service import (
    AttemptError,
    RemoteComponent,
    ServiceClient,
    TransientError,
    moment,
)
from driftledger.core.errors import ServiceError
from driftledger.core.text import for_line, say
from driftledger.core.types import Result

GATHERING = 5.0
"""Seconds in which calls gather before they are submitted."""
POLL = 60.0
"""Seconds between two looks at the batches under way."""
SETTLED = 60.0
"""Seconds after which the service's list holds every batch that it was sent."""
_DAY = 86_400.0
_KEPT = 7 * _DAY
"""Seconds in which a service has all answers; what is missing then is submitted again."""
_AT_ONCE = 64
"""Answers that are read into results at once."""


def under_way(batches: Sequence[Batch]) -> str:
    """Return how many batches and calls there are, and until when."""
    calls = sum(len(batch.keys) for batch in batches)
    until = moment(max(batch.sent for batch in batches) + _DAY - time.time())
    number = "1 batch" if len(batches) == 1 else f"{len(batches)} batches"
    return f"{number}, {calls:,} calls, until {until}"


@dataclass
class Submitted:
    """The batches of one component, in one event loop."""

    store: CallStore
    component: RemoteComponent
    client: ServiceClient
    service: OpenAIBatches
    _waiting: dict[str, tuple[Call, "asyncio.Future[tuple[int, str]]"]] = field(
        default_factory=dict
    )
    """Key → call, and HTTP status and text of its answer."""
    _driver: "asyncio.Task[None] | None" = None
    _room: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(_AT_ONCE)
    )

    async def attempt(self, call: Call) -> Result:
        """Return the result of a call out of a batch; errors as of a single attempt."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting[call.key] = call, answer
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        status, text = await answer
        try:
            result: Result = await self.service.heard(status, text, *call.given)
            return result
        except (AttemptError, ServiceError):
            self.store.forget([call.key])
            raise
        finally:
            self._room.release()

    async def _drive(self) -> None:
        """Submit what waits, and look at batches, until nothing waits any more."""
        shown = ""
        try:
            while self._waiting:
                await self.client.pause(GATHERING)
                await self._submit()
                try:
                    for batch in self._batches():
                        await self._look(batch)
                except TransientError as error:
                    self._say(f"{error}; batches are looked at again")
                if batches := self._batches():
                    if shown != under_way(batches):
                        shown = under_way(batches)
                        self._say(
                            f"{shown}; stop this run, and the next one collects them"
                        )
                    await self.client.pause(POLL)
        except BaseException as error:
            set_error((answer for _, answer in self._waiting.values()), error)
            self._waiting.clear()

    def _say(self, text: str) -> None:
        say(for_line(f"{self.component.title}: {text}"))

    def _batches(self) -> list[Batch]:
        """Return the batches that hold calls that wait."""
        batches = self.store.submitted(self.component.fingerprint)
        return [each for each in batches if self._waiting.keys() & each.keys]

    async def _submit(self) -> None:
        """Submit calls in parts that the service takes, each stored before it is sent."""
        held = set[str]().union(*(batch.keys for batch in self._batches()))
        due = [call for key, (call, _) in self._waiting.items() if key not in held]
        while due:
            await self.client.pause(0)
            keys, lines = await asyncio.to_thread(self._part, due)
            due = due[len(keys) :]
            batch = Batch(uuid4().hex, time.time(), None, keys)
            self.store.submit(self.component.fingerprint, batch)
            try:
                job = await self.service.submit(batch.name, lines)
            except TransientError:
                continue  # it may have been taken: the next look tells
            except ServiceError:
                self.store.forget(keys)
                raise
            self.store.submit(self.component.fingerprint, batch._replace(id=job.id))

    def _part(self, calls: Sequence[Call]) -> tuple[list[str], bytes]:
        """Return the keys of the calls that fit into one file, and the file."""
        limits = self.component.limits
        keys = list[str]()
        lines = bytearray()
        for call in calls[: limits.batch_calls]:
            line = self.service.line(call.key, *call.given)
            if keys and len(lines) + len(line) > limits.batch_bytes:
                break
            lines += line
            keys.append(call.key)
        return keys, bytes(lines)

    async def _look(self, batch: Batch) -> None:
        """Answer the calls of a batch that has ended, and let go of those that it has not made."""
        if batch.id is None:
            await self.client.pause(SETTLED)
        job = await self.service.look(batch.name, batch.id)
        keys = set(batch.keys)
        answered = {""}
        reason = "the service does not know its batch"
        strange = 0
        if job is not None:
            if batch.id is None:
                known = batch._replace(id=job.id)
                self.store.submit(self.component.fingerprint, known)
            if job.status not in ENDED:
                return
            reason = f"its batch is {job.status}"
            async for key, status, text in self.service.answers(job):
                if key not in keys or key in answered:
                    strange += key != ""
                elif key in self._waiting:
                    await self._room.acquire()
                    self._waiting.pop(key)[1].set_result((status, text))
                answered.add(key)
            made = job.request_counts.completed if job.request_counts else 0
            if made >= len(answered) and time.time() - batch.sent < _KEPT:
                raise TransientError(f"answers of batch {batch.name} are missing")
        if strange:
            self._say(
                f"{strange:,} answers are to no call that waits, and are left out"
            )
        lost = keys - answered
        self.store.forget(lost)
        unmade = [self._waiting.pop(key)[1] for key in lost & self._waiting.keys()]
        set_error(unmade, TransientError(reason))

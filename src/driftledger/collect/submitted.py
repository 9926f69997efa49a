"""Batches that a service works on, until a run collects them.

The id of an uploaded file is stored with its calls before the batch is created. After a kill, the
batch is looked for by that file; if the service does not list it, it is created again from the
file, which the key of another project does not see. If this run cannot collect a batch, it looks
at the others, and then ends with advice. Budgets, outcomes and further attempts are those of single
calls.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from driftledger.collect.batches import set_error
from driftledger.collect.call import Batch, Call, Spent
from driftledger.collect.store import CallStore
from driftledger.components.openai import OpenAIComponent
from driftledger.components.openai_batches import Job, OpenAIBatches
from driftledger.components.service import (
    AttemptError,
    RefusedError,
    ServiceClient,
    TransientError,
    time_after,
)
from driftledger.core.errors import ServiceError
from driftledger.core.text import for_line, say
from driftledger.core.types import Result, Usage

CALLS = 50_000
"""Calls in a batch."""
BYTES = 200_000_000
"""Bytes of a batch's file. Both are OpenAI's bounds."""
GATHERING = 10.0
"""Seconds in which calls gather before they are submitted, such as those of a lost batch."""
POLL = 60.0
"""Seconds between two looks at the batches under way, and before lost calls are asked again."""
SETTLED = 300.0
"""Seconds after which the service lists every batch that was created."""
LOOKS = 10
"""Failed looks at a batch, one after the other, that end the run."""
_DAY = 86_400.0
_LATE = ": look at it at the service; run again to collect it, or cancel it there to ask again"
_ADVICE = {
    "completed": ", and results are missing: run again to ask, and pay, once more",
    "cancelled": ", so that this run ends: run again to ask what it has not answered",
    "under way": _LATE,
    "": _LATE,
}
"""State of a batch that this run cannot collect, though the next one may → what to do."""


def under_way(batches: Sequence[Batch]) -> str:
    """Say how many batches and calls are under way, and until when."""
    calls = sum(len(batch.keys) for batch in batches)
    left = max(batch.sent for batch in batches) + _DAY - time.time()
    until = "until" if left > 0 else "due since"
    number = "1 batch" if len(batches) == 1 else f"{len(batches)} batches"
    return f"{number}, {calls:,} calls, {until} {time_after(left)}"


class _Waiting(NamedTuple):
    call: Call
    expected: Usage
    result: "asyncio.Future[Result]"


@dataclass
class WaitingCalls:
    """The calls of one component that wait for an answer out of a batch."""

    store: CallStore
    component: OpenAIComponent
    client: ServiceClient
    by_key: dict[str, _Waiting] = field(default_factory=dict)
    unstored: dict[str, Spent] = field(default_factory=dict)
    """Key → attempts and cost of an answer that are stored with its result."""

    def say(self, text: str) -> None:
        """Print a line about the component."""
        say(for_line(f"{self.component.title}: {text}"))

    def batches(self) -> list[Batch]:
        """Return the batches with calls that wait."""
        batches = self.store.submitted(self.component.fingerprint)
        return [batch for batch in batches if self.by_key.keys() & batch.keys]

    def due(self) -> list[str]:
        """Return the keys of the calls that wait and are in no batch."""
        held = set[str]().union(*(batch.keys for batch in self.batches()))
        return [key for key in self.by_key if key not in held]

    async def answer(self, key: str, status: int, text: str) -> None:
        """Give a call its answer; after a useless one it is asked again, and paid again."""
        call, expected, waiting = self.by_key[key]
        try:
            result = await self.component.result_in(status, text, *call.arguments)
        except AttemptError as error:
            self.note({key: self.client.most(expected) if error.billed else 0.0})
            self.end([key], error)
            return
        except ServiceError:
            self.drop([key])
            raise
        cost = self.client.cost_of(result, expected)
        if result.is_empty:
            self.note({key: cost})
        else:
            self.unstored[key] = Spent(1, cost)
        del self.by_key[key]
        waiting.set_result(result)

    def end(self, keys: Collection[str], error: BaseException) -> None:
        """End the attempts at calls by an error."""
        ended = [key for key in keys if key in self.by_key]
        set_error([self.by_key.pop(key).result for key in ended], error)

    def note(self, costs: Mapping[str, float]) -> None:
        """Take calls out of their batches, and store the cost of an attempt at each."""
        spent = Spent(len(costs), sum(costs.values()))
        self.store.put((), {self.component.fingerprint: spent}, dropped=costs)

    def drop(self, keys: Collection[str]) -> None:
        """Take calls out of their batches, so that they are due again."""
        self.store.put((), dropped=keys)


@dataclass
class Submitted:
    """The batches of one component, in one event loop."""

    calls: WaitingCalls
    service: OpenAIBatches
    _size: int | None = None
    """The most calls of a batch, once the service had no room for more."""
    _most: float = math.inf
    """The most batches under way at once: as many as the service has had room for."""
    _failed_looks: Counter[str] = field(default_factory=Counter)
    """File of a batch → failed looks, one after the other."""
    _driver: "asyncio.Task[None] | None" = None

    async def attempt(self, call: Call, expected: Usage) -> Result:
        """Return the result of a call out of a batch; errors as of a single attempt."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.calls.by_key[call.key] = _Waiting(call, expected, result)
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        return await result

    def unstored(self, key: str) -> Spent:
        """Return the attempts and the cost of a finished call that are not stored yet."""
        return self.calls.unstored.pop(key, Spent())

    async def _drive(self) -> None:
        """Submit what waits, and look at batches, until nothing waits any more."""
        last = ""
        try:
            while self.calls.by_key:
                await self.calls.client.pause(GATHERING)
                try:
                    await self._submit()
                except TransientError as error:
                    self.calls.say(str(error))
                await self._look_at_all()
                if batches := self.calls.batches():
                    state = f"{under_way(batches)}; stop this run, and the next one collects them"
                    if state != last:
                        self.calls.say(state)
                    last = state
                    await self.calls.client.pause(POLL)
        except BaseException as error:
            self.calls.end([*self.calls.by_key], error)

    async def _submit(self) -> None:
        """Submit what is due, in parts that the service takes, as long as it has room."""
        while (due := self.calls.due()) and len(self.calls.batches()) < self._most:
            await self.calls.client.pause(0)
            keys, lines = await asyncio.to_thread(self._part, due)
            try:
                file = await self.service.upload(lines)
                await self._create(Batch(file, time.time(), None, keys), dropped=keys)
            except TransientError as error:
                if not error.full:
                    # an upload costs nothing
                    error.billed = False
                    # calls of a batch that may exist wait for it
                    self.calls.end(keys.keys() & self.calls.due(), error)
                    raise
                self._wait_for_room(keys, error)
                await self.calls.client.pause(POLL)

    async def _create(self, batch: Batch, dropped: Collection[str] = ()) -> None:
        """Store a batch, then create it at the service from its file.

        Args:
            dropped: keys of calls to take out of the batch if the service refuses it.
        """
        component = self.calls.component.fingerprint
        self.calls.store.submit(component, batch._replace(sent=time.time()))
        try:
            job = await self.service.create(batch.file)
        except (RefusedError, ServiceError):
            self.calls.store.submit(component, batch)
            self.calls.drop(dropped)
            raise
        self.calls.store.submit(component, batch._replace(sent=time.time(), id=job.id))

    def _wait_for_room(self, keys: Collection[str], error: TransientError) -> None:
        """Take calls out of a batch that the service has no room for; they stay due.

        The next batch waits until one of ours has ended. If none is under way, it has half as many
        calls.

        Raises:
            ServiceError: there is no room for a single call.
        """
        self.calls.drop(keys)
        reason = f"the service takes no more batches now ({error}); run again later"
        under_way = len(self.calls.batches())
        if not under_way:
            if self._size == 1:
                raise ServiceError(f"{self.calls.component.title}: {reason}")
            self._size = max(1, len(keys) // 2)
        self._most = max(1, under_way)
        self.calls.say(f"{reason}, or let this run wait")

    def _part(self, due: Sequence[str]) -> tuple[dict[str, float], bytes]:
        """Return the file of a batch, and the keys in it with their largest costs."""
        keys = dict[str, float]()
        lines = bytearray()
        for key in due[: self._size or CALLS]:
            call, expected, _ = self.calls.by_key[key]
            line = self.service.line(key, *call.arguments)
            if keys and len(lines) + len(line) > BYTES:
                break
            lines += line
            keys[key] = self.calls.client.most(expected)
        return keys, bytes(lines)

    async def _look_at_all(self) -> None:
        """Look at each batch, and then raise if one of them cannot be collected.

        Raises:
            ServiceError: this run can do nothing more for the calls of a batch.
        """
        reason: ServiceError | None = None
        for batch in self.calls.batches():
            try:
                await self._look(batch)
            except ServiceError as error:
                reason = error
            except AttemptError as error:
                self._failed_looks[batch.file] += 1
                may_pass = isinstance(error, TransientError)
                if not may_pass or self._failed_looks[batch.file] == LOOKS:
                    advice = "run again to look at it again"
                    reason = self._error(batch, f": {error}; {advice}")
        if reason is not None:
            raise reason

    def _error(self, batch: Batch, reason: str) -> ServiceError:
        """Return the error that ends this run for the calls of a batch."""
        name = self.calls.component.redacted(batch.id or f"of file {batch.file}")
        return ServiceError(f"{self.calls.component.title}: batch {name}{reason}")

    async def _look(self, batch: Batch) -> None:
        """If a batch has ended, answer its calls, and give up those without an answer.

        Raises:
            TransientError: the batch or its results may be there later.
            ServiceError: this run can do nothing more for its calls.
        """
        if batch.id is None and time.time() < batch.sent + SETTLED:
            return
        job = await self.service.look(batch.file, batch.id)
        if job is None:
            await self._create_again(batch)
            return
        if batch.id is None:
            batch = batch._replace(id=job.id)
            self.calls.store.submit(self.calls.component.fingerprint, batch)
        is_late = time.time() > batch.sent + _DAY + SETTLED
        if job.state == "under way" and not is_late:
            del self._failed_looks[batch.file]
            return
        lost = dict(batch.keys)
        async for key, status, text in self.service.answers(job):
            if lost.pop(key, None) is not None and key in self.calls.by_key:
                await self.calls.answer(key, status, text)
        if lost:
            self._give_up(batch._replace(keys=lost), job)

    async def _create_again(self, batch: Batch) -> None:
        """Create a batch again that the service does not know and never confirmed.

        Raises:
            ServiceError: it was confirmed, or this key does not see its file.
        """
        left = batch.sent + 2 * _DAY - time.time()
        if left < 0:
            reason = "the service does not know a batch: its calls are paid for again"
            self.calls.say(reason)
            self.calls.note(batch.keys)
            self.calls.end(batch.keys, TransientError(reason, billed=True))
            return
        if batch.id is None:
            with suppress(RefusedError, ServiceError):
                await self._create(batch)
                return
        advice = "run again with the key that submitted it"
        later = f"after {time_after(left)}, its calls are paid for again"
        raise self._error(batch, f" is not known to this key: {advice}; {later}")

    def _give_up(self, lost: Batch, job: Job) -> None:
        """Give up the calls that an ended batch has not answered: they are asked again.

        Raises:
            TransientError: the results may be there later.
            ServiceError: this run does not submit the calls again.
        """
        keys = lost.keys
        advice = _ADVICE.get(job.state)
        if job.state == "completed":
            if self._failed_looks[lost.file] + 1 < LOOKS:
                raise TransientError("results are missing")
            self.calls.note(keys)
        elif advice is None or job.state == "cancelled":
            self.calls.drop(keys)
        if advice is not None:
            status = self.calls.component.redacted(job.status)
            raise self._error(lost, f" is {status!r}{advice}")
        try:
            self.service.lost(job)
        except TransientError as error:
            if error.full:
                self._wait_for_room(keys, error)
                return
            error.retry_after = POLL
            self.calls.end(keys, error)
        except (RefusedError, ServiceError) as error:
            self.calls.end(keys, error)

"""Calls that a service makes in batches: submitted, waited for and collected, by any later run.

The id of an uploaded file is stored with its calls before the batch is created. After a kill, the
batch is looked for by that file; where the service's list does not hold it, it is created again
from the file, which another project's key does not see. Where this run cannot collect a batch, it
ends with what to do, once it has looked at the others. Budgets, outcomes and further attempts are
as of single calls.
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
from driftledger.components.openai_batches import Job, OpenAIBatches
from driftledger.components.service import (
    AttemptError,
    RefusedError,
    RemoteComponent,
    ServiceClient,
    TransientError,
    moment,
)
from driftledger.core.errors import ServiceError
from driftledger.core.text import for_line, say
from driftledger.core.types import Result, Usage

CALLS = 50_000
"""Calls in a batch."""
BYTES = 200_000_000
"""Bytes of a batch's file. Both are OpenAI's bounds."""
GATHERING = 10.0
"""Seconds in which calls gather before they are submitted: all that were lost at once."""
POLL = 60.0
"""Seconds between two looks at the batches under way, and before lost calls are asked again."""
SETTLED = 300.0
"""Seconds after which the service's list holds every batch that it was sent."""
LOOKS = 10
"""Looks at a batch in vain, after which the run ends."""
_DAY = 86_400.0
_LATE = ": look at it at the service; run again to collect it, or cancel it there to ask again"
_ADVICE = {
    "completed": ", and results are missing: run again to ask, and pay, once more",
    "cancelled": ", so that this run ends: run again to ask what it has not answered",
    "under way": _LATE,
    "": _LATE,
}
"""State of a batch that this run does not collect → what to do; the next run may."""


def under_way(batches: Sequence[Batch]) -> str:
    """Return how many batches and calls there are, and until when."""
    calls = sum(len(batch.keys) for batch in batches)
    left = max(batch.sent for batch in batches) + _DAY - time.time()
    until = "until" if left > 0 else "due since"
    number = "1 batch" if len(batches) == 1 else f"{len(batches)} batches"
    return f"{number}, {calls:,} calls, {until} {moment(left)}"


class _Waiting(NamedTuple):
    call: Call
    expected: Usage
    result: "asyncio.Future[Result]"


@dataclass
class Submitted:
    """The batches of one component, in one event loop."""

    store: CallStore
    component: RemoteComponent
    client: ServiceClient
    service: OpenAIBatches
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _answered: dict[str, Spent] = field(default_factory=dict)
    """Key → the cost of an answer that is stored with its result."""
    _size: int | None = None
    """Calls in a batch, at most, where the service has no room for more."""
    _most: float = math.inf
    """Batches under way at once, at most: as many as the service has had room for."""
    _vain: Counter[str] = field(default_factory=Counter)
    """File of a batch → looks in vain, one after the other."""
    _driver: "asyncio.Task[None] | None" = None

    async def attempt(self, call: Call, expected: Usage) -> Result:
        """Return the result of a call out of a batch; errors as of a single attempt."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting[call.key] = _Waiting(call, expected, result)
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        return await result

    def unstored(self, key: str) -> Spent:
        """Return the attempts and the cost of a finished call that are not stored yet."""
        return self._answered.pop(key, Spent())

    async def _drive(self) -> None:
        """Submit what waits, and look at batches, until nothing waits any more."""
        last = ""
        try:
            while self._waiting:
                await self.client.pause(GATHERING)
                try:
                    await self._submit()
                except TransientError as error:
                    self._say(str(error))
                await self._look_at_all()
                if batches := self._batches():
                    state = f"{under_way(batches)}; stop this run, and the next one collects them"
                    if state != last:
                        self._say(state)
                    last = state
                    await self.client.pause(POLL)
        except BaseException as error:
            set_error((each.result for each in self._waiting.values()), error)
            self._waiting.clear()

    def _say(self, text: str) -> None:
        say(for_line(f"{self.component.title}: {text}"))

    def _batches(self) -> list[Batch]:
        """Return the batches that hold calls that wait."""
        batches = self.store.submitted(self.component.fingerprint)
        return [batch for batch in batches if self._waiting.keys() & batch.keys]

    def _due(self) -> list[str]:
        """Return the keys of the calls that wait and are in no batch."""
        held = set[str]().union(*(batch.keys for batch in self._batches()))
        return [key for key in self._waiting if key not in held]

    async def _submit(self) -> None:
        """Submit what is due, in parts that the service takes, as long as it has room."""
        while (due := self._due()) and len(self._batches()) < self._most:
            await self.client.pause(0)
            keys, lines = await asyncio.to_thread(self._part, due)
            try:
                file = await self.service.upload(lines)
                await self._create(Batch(file, time.time(), None, keys), dropped=keys)
            except TransientError as error:
                if not error.full:
                    # an upload costs nothing
                    error.billed = False
                    # calls of a batch that may exist wait for it
                    self._end(keys.keys() & self._due(), error)
                    raise
                self._wait_for_room(keys, error)
                await self.client.pause(POLL)

    async def _create(self, batch: Batch, dropped: Collection[str] = ()) -> None:
        """Create the batch of a file, which is stored before.

        Args:
            dropped: keys of calls to take out of it if the service refuses it.
        """
        component = self.component.fingerprint
        self.store.submit(component, batch._replace(sent=time.time()))
        try:
            job = await self.service.create(batch.file)
        except (RefusedError, ServiceError):
            self.store.submit(component, batch)
            self.store.put((), dropped=dropped)
            raise
        self.store.submit(component, batch._replace(sent=time.time(), id=job.id))

    def _wait_for_room(self, keys: Collection[str], error: TransientError) -> None:
        """Take calls out of a batch that the service has no room for; they stay due.

        The next batch waits until one of ours has ended. If none is under way, it has half as many
        calls.

        Raises:
            ServiceError: there is no room for a single call.
        """
        self.store.put((), dropped=keys)
        reason = f"the service takes no more batches now ({error}); run again later"
        under_way = len(self._batches())
        if not under_way:
            if self._size == 1:
                raise ServiceError(f"{self.component.title}: {reason}")
            self._size = max(1, len(keys) // 2)
        self._most = max(1, under_way)
        self._say(f"{reason}, or let this run wait")

    def _part(self, due: Sequence[str]) -> tuple[dict[str, float], bytes]:
        """Return the keys of the calls that fit into one file, with largest costs, and the file."""
        keys = dict[str, float]()
        lines = bytearray()
        for key in due[: self._size or CALLS]:
            call, expected, _ = self._waiting[key]
            line = self.service.line(key, *call.arguments)
            if keys and len(lines) + len(line) > BYTES:
                break
            lines += line
            keys[key] = self.client.most(expected)
        return keys, bytes(lines)

    async def _look_at_all(self) -> None:
        """Look at each batch.

        Raises:
            ServiceError: this run cannot do more for the calls of one.
        """
        reason: ServiceError | None = None
        for batch in self._batches():
            try:
                await self._look(batch)
            except ServiceError as error:
                reason = error
            except AttemptError as error:
                self._vain[batch.file] += 1
                may_pass = isinstance(error, TransientError)
                if not may_pass or self._vain[batch.file] == LOOKS:
                    advice = "run again to look at it again"
                    reason = self._error(batch, f": {error}; {advice}")
        if reason is not None:
            raise reason

    def _error(self, batch: Batch, reason: str) -> ServiceError:
        """Return the end of this run for the calls of a batch."""
        name = self.service.component.redacted(batch.id or f"of file {batch.file}")
        return ServiceError(f"{self.component.title}: batch {name}{reason}")

    async def _look(self, batch: Batch) -> None:
        """Answer the calls of a batch that has ended, and let go of those without an answer.

        Raises:
            TransientError: it, or its results, may be there later.
            ServiceError: this run cannot do more for its calls.
        """
        if batch.id is None and time.time() < batch.sent + SETTLED:
            return
        job = await self.service.look(batch.file, batch.id)
        if job is None:
            await self._seek(batch)
            return
        if batch.id is None:
            batch = batch._replace(id=job.id)
            self.store.submit(self.component.fingerprint, batch)
        is_late = time.time() > batch.sent + _DAY + SETTLED
        if job.state == "under way" and not is_late:
            del self._vain[batch.file]
            return
        lost = dict(batch.keys)
        async for key, status, text in self.service.answers(job):
            if lost.pop(key, None) is not None and key in self._waiting:
                await self._answer(key, status, text)
        if lost:
            self._let_go(batch._replace(keys=lost), job)

    async def _seek(self, batch: Batch) -> None:
        """Create a batch that is not known again, unless the service has confirmed it before.

        Raises:
            ServiceError: it was confirmed, or this key does not see its file.
        """
        left = batch.sent + 2 * _DAY - time.time()
        if left < 0:
            reason = "the service does not know a batch: its calls are paid for again"
            self._say(reason)
            self._note(batch.keys)
            self._end(batch.keys, TransientError(reason, billed=True))
            return
        if batch.id is None:
            with suppress(RefusedError, ServiceError):
                await self._create(batch)
                return
        advice = "run again with the key that submitted it"
        later = f"after {moment(left)}, its calls are paid for again"
        raise self._error(batch, f" is not known to this key: {advice}; {later}")

    def _let_go(self, lost: Batch, job: Job) -> None:
        """Let go of the calls that a batch which has ended has not answered.

        Raises:
            TransientError: its results may be there later.
            ServiceError: this run does not submit them again.
        """
        keys = lost.keys
        advice = _ADVICE.get(job.state)
        if job.state == "completed":
            if self._vain[lost.file] + 1 < LOOKS:
                raise TransientError("results are missing")
            self._note(keys)
        elif advice is None or job.state == "cancelled":
            self.store.put((), dropped=keys)
        if advice is not None:
            status = self.service.component.redacted(job.status)
            raise self._error(lost, f" is {status!r}{advice}")
        try:
            self.service.lost(job)
        except TransientError as error:
            if error.full:
                self._wait_for_room(keys, error)
                return
            error.retry_after = POLL
            self._end(keys, error)
        except (RefusedError, ServiceError) as error:
            self._end(keys, error)

    async def _answer(self, key: str, status: int, text: str) -> None:
        """Give a call its answer; of a useless one, note the cost, since it is asked again."""
        call, expected, waiting = self._waiting[key]
        try:
            result = await self.service.component.heard(status, text, *call.arguments)
        except AttemptError as error:
            self._note({key: self.client.most(expected) if error.billed else 0.0})
            self._end([key], error)
            return
        except ServiceError:
            self.store.put((), dropped=[key])
            raise
        cost = self.client.cost_of(result, expected)
        if result.is_empty:
            self._note({key: cost})
        else:
            self._answered[key] = Spent(1, cost)
        del self._waiting[key]
        waiting.set_result(result)

    def _end(self, keys: Collection[str], error: Exception) -> None:
        """End attempts at calls that stay without a result."""
        ended = [key for key in keys if key in self._waiting]
        set_error([self._waiting.pop(key).result for key in ended], error)

    def _note(self, costs: Mapping[str, float]) -> None:
        """Take calls out of their batches, and store the cost of an attempt at each, at once."""
        spent = Spent(len(costs), sum(costs.values()))
        self.store.put((), {self.component.fingerprint: spent}, dropped=costs)

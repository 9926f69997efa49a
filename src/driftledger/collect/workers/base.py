"""Where the scheduler has batches made: in this process, or by replicas of a component elsewhere."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from driftledger.collect.call_result import Finished
from driftledger.collect.local import LocalCalls
from driftledger.collect.steps import Ask, Call
from driftledger.components.base import Component
from driftledger.core.types import Conversation


class Workers(Protocol):
    """An async context; what it started is gone when it ends."""

    def has_room(self, component: Component) -> bool:
        """Whether one more batch of it may be made now."""

    async def make(self, calls: Sequence[Call]) -> list[Finished]:
        """Make one batch of calls to one component; it takes its room before it waits for anything.

        Raises:
            DriftledgerError, MemoryError, ContractError: as :meth:`LocalCalls.make`.
        """

    def expect(self, calls: Sequence[Call]) -> None:
        """Know that this batch will probably be made next, beside the one that is being made."""

    def replicas(self, component: Component) -> int | None:
        """How many replicas of it there are now; None where it has none."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Prepares(Protocol):
    """A model that can get a batch ready beside the one that it computes, e.g. decode and resize its images."""

    def prepare(self, conversations: Sequence[Conversation]) -> None:
        """Begin, and return at once."""


class InThisProcess:
    """One batch after the other, in a thread of this process: :class:`Workers` for a single device."""

    def __init__(self) -> None:
        self._local = LocalCalls()
        self._busy = False

    def has_room(self, component: Component) -> bool:
        return not self._busy

    async def make(self, calls: Sequence[Call]) -> list[Finished]:
        self._busy = True
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._local.make, calls)
        finally:
            self._busy = False

    def expect(self, calls: Sequence[Call]) -> None:
        if isinstance(calls[0].component, Prepares):
            calls[0].component.prepare([call.conversation for call in calls if isinstance(call, Ask)])

    def replicas(self, component: Component) -> int | None:
        return None

    async def __aenter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-calls")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()

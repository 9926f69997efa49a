"""Work for the next call, done in a thread while this one computes: images are decoded and resized on the host."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST = 2
"""Results that are kept: of the batch that is about to be made, and of the one after it."""


class Ahead(Generic[T]):
    """One thread, which does all such work of one component, since tokenizers do not bear two."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ahead")
        self._lock = Lock()
        self._begun: dict[Hashable, Future[T]] = {}

    def begin(self, key: Hashable, work: Callable[[], T]) -> None:
        """Start on what will be taken under ``key``; what nobody has taken for long is dropped."""
        with self._lock:
            if key not in self._begun:
                self._begun[key] = self._thread.submit(work)
            while len(self._begun) > _MOST:
                self._begun.pop(next(iter(self._begun))).cancel()

    def take(self, key: Hashable, work: Callable[[], T]) -> T:
        """What ``work`` gives, begun before or not; whatever it raises is raised."""
        with self._lock:
            future = self._begun.pop(key, None) or self._thread.submit(work)
        return future.result()

    def close(self) -> None:
        """What is under way ends by itself, and nothing else begins."""
        with self._lock:
            self._begun.clear()
            self._thread.shutdown(wait=False, cancel_futures=True)

"""The store beside an event loop: what is asked together is done together, and nothing that was asked is lost."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.disk import Disk
from driftledger.core.errors import StoreError
from driftledger.core.types import Outcome
from tests.collect.test_call_store import key
from tests.support.fakes.services import FarModel

MODEL = FarModel()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[Callable[..., Any]]:
    """What was handed to threads."""
    handed: list[Callable[..., Any]] = []
    submit = ThreadPoolExecutor.submit

    def counting(self: ThreadPoolExecutor, work: Callable[..., Any], *given: Any, **named: Any) -> Future[Any]:
        handed.append(work)
        return submit(self, work, *given, **named)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counting)
    return handed


def test_what_is_asked_together_is_done_in_one_turn(tmp_path: Path, turns: list[Callable[..., Any]]) -> None:
    async def claimed(disk: Disk) -> list[bool]:
        digests = [f"{number:064x}" for number in range(50)]
        claims = await asyncio.gather(*(disk.claim([digest]) for digest in [*digests, digests[0]]))
        await disk.close()
        return [claim.mine for claim in claims]

    with CallStore(tmp_path) as store:
        assert asyncio.run(claimed(Disk(store))) == [True] * 50 + [False]
    assert len(turns) == 1


def test_an_error_is_its_askers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(self: CallStore, digests: list[str]) -> dict[str, Any]:
        if digests == ["b"]:
            raise StoreError("damaged")
        return {}

    async def claimed(disk: Disk) -> list[Any]:
        claims = await asyncio.gather(*(disk.claim([digest]) for digest in "abc"), return_exceptions=True)
        await disk.close()
        return claims

    monkeypatch.setattr(CallStore, "get", get)
    with CallStore(tmp_path) as store:
        one, other, third = asyncio.run(claimed(Disk(store)))
    assert (one.mine, str(other), third.mine) == (True, "damaged", True)


def test_what_nobody_waits_for_any_more_is_not_claimed(tmp_path: Path) -> None:
    async def dropped(disk: Disk) -> None:
        asking = asyncio.create_task(disk.claim(["a"]))
        await asyncio.sleep(0)
        asking.cancel()
        assert (await disk.claim(["a"])).mine
        await disk.close()

    with CallStore(tmp_path) as store:
        asyncio.run(dropped(Disk(store)))


def test_an_attempt_is_settled_even_where_the_run_ends_at_once(tmp_path: Path) -> None:
    async def settled(disk: Disk) -> None:
        admission = await disk.admit(MODEL, 1.0)
        assert admission is not None
        disk.settle(admission, 0.25)
        await disk.close()

    with CallStore(tmp_path) as store:
        asyncio.run(settled(Disk(store)))
        assert store.spent(MODEL.fingerprint) == (1, 0.25)


def test_an_attempt_is_settled_even_where_a_second_interrupt_ends_the_run(tmp_path: Path) -> None:
    async def interrupted(disk: Disk) -> None:
        admission = await disk.admit(MODEL, 1.0)
        assert admission is not None
        disk.settle(admission, 0.25)
        closing = asyncio.create_task(disk.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing

    with CallStore(tmp_path) as store:
        asyncio.run(interrupted(Disk(store)))
        assert store.spent(MODEL.fingerprint) == (1, 0.25)


def test_an_attempt_that_cannot_be_settled_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: CallStore, admission: object, cost: float | None) -> None:
        raise StoreError("make room")

    async def settled(disk: Disk) -> None:
        admission = await disk.admit(MODEL, 1.0)
        assert admission is not None
        disk.settle(admission, 0.25)
        await disk.claim(["a"])
        with pytest.raises(StoreError, match="make room"):
            await disk.put([])
        with pytest.raises(StoreError, match="make room"):
            await disk.close()

    monkeypatch.setattr(CallStore, "settle", full)
    with CallStore(tmp_path) as store:
        asyncio.run(settled(Disk(store)))


def test_an_image_that_is_ready_waits_for_none_that_just_arrives(tmp_path: Path) -> None:
    """Those that arrive are decoded in the loop's own threads, of which none is free here."""
    png = Finished(key("a"), Context("d", "s", 1), Result(Outcome.OK), b"png", Cost(0.1))
    arrived = threading.Event()

    async def kept(disk: Disk) -> list[Result]:
        arriving = [asyncio.create_task(asyncio.to_thread(arrived.wait, 60)) for _ in range(100)]
        try:
            finished = await asyncio.wait_for(disk.with_image(lambda: png), 30)
            return [*await disk.put([finished]), *await disk.put([png])]
        finally:
            arrived.set()
            await asyncio.gather(*arriving)
            await disk.close()

    with CallStore(tmp_path) as store:
        results = asyncio.run(kept(Disk(store)))
    assert [each.image.path.read_bytes() for each in results if each.image] == [b"png"] * 2

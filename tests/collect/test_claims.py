"""Several processes on one call store: who makes a call, what becomes of the claims of the dead, whose budget it is."""

import errno
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from driftledger.collect import claims
from driftledger.collect.call_result import Context, Cost, Finished, Result, Spent
from driftledger.collect.call_store import CallStore
from driftledger.components.service import Limits
from driftledger.core.errors import BudgetError
from driftledger.core.types import Outcome
from tests.collect.test_call_store import key

PATIENCE = 60.0
SPAWN = multiprocessing.get_context("spawn")


def stored(store: CallStore, text: str, outcome: Outcome = Outcome.OK) -> None:
    store.put([Finished(key(text), Context("d", "s", 1), Result(outcome, text="answer"), None, Cost(0.1))])


def digest(text: str) -> str:
    return key(text).digest


def wait_for(condition: Callable[[], bool]) -> None:
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < PATIENCE
        time.sleep(0.02)


def test_of_two_only_one_has_a_call_to_make(tmp_path: Path) -> None:
    with CallStore(tmp_path) as one, CallStore(tmp_path) as other:
        assert one.claim([digest("a"), digest("b")])
        assert not other.claim([digest("b"), digest("c")])
        assert other.claim([digest("c")])  # what was refused together with b


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.FAILED])
def test_a_result_gives_the_claim_back_also_where_it_is_a_failure(tmp_path: Path, outcome: Outcome) -> None:
    with CallStore(tmp_path) as one, CallStore(tmp_path) as other:
        assert one.claim([digest("a")])
        stored(one, "a", outcome)
        assert other.claim([digest("a")])
        assert bool(other.get([digest("a")])) == (outcome is Outcome.OK)


def test_what_is_released_or_closed_is_free(tmp_path: Path) -> None:
    with CallStore(tmp_path) as other:
        with CallStore(tmp_path) as one:
            assert one.claim([digest("a"), digest("b")])
            one.release([digest("a")])
            assert other.claim([digest("a")])
            assert not other.claim([digest("b")])
        assert other.claim([digest("b")])
    assert not list((tmp_path / "owners").iterdir())


def hold(folder: Path, held: Event) -> None:
    store = CallStore(folder)
    store.claim([digest("a")])
    store.admit("f1", "far model", 2.5, Limits())
    held.set()
    time.sleep(10 * PATIENCE)


@pytest.fixture
def holder(tmp_path: Path):  # type: ignore[no-untyped-def]
    held = SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(tmp_path, held))
    process.start()
    assert held.wait(PATIENCE)
    yield process
    process.kill()
    process.join()


def test_the_claims_of_a_killed_process_are_free_at_once_and_its_attempt_counts_at_its_dearest(
    tmp_path: Path, holder: multiprocessing.Process
) -> None:
    with CallStore(tmp_path) as store:
        assert not store.claim([digest("a")])
        assert store.spent("f1") == Spent(1, 0.0)
        holder.kill()
        holder.join()
        assert store.claim([digest("a")])
        assert store.spent("f1") == Spent(1, 2.5)
        assert len({file.stem for file in (tmp_path / "owners").iterdir()}) == 1


def test_the_claims_of_a_stopped_process_are_free_when_its_lease_is_over(
    tmp_path: Path, holder: multiprocessing.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGSTOP)
    with CallStore(tmp_path) as store:
        assert not store.claim([digest("a")])
        monkeypatch.setattr(claims, "LEASE", 0.1)
        wait_for(lambda: store.claim([digest("a")]))


def test_an_owner_that_was_taken_for_dead_appears_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_BEAT", 0.02)
    owner = claims.Owner(tmp_path)
    first = owner.name
    (tmp_path / f"{first}.beat").unlink()
    wait_for(lambda: owner.name != first and claims.is_alive(tmp_path, owner.name))
    assert not claims.is_alive(tmp_path, first)
    owner.leave()
    assert not claims.is_alive(tmp_path, owner.name)


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[claims.Owner]:
    """One that gives signs often."""
    monkeypatch.setattr(claims, "_BEAT", 0.02)
    owner = claims.Owner(tmp_path / "owners")
    yield owner
    owner.leave()


def test_an_owner_whose_disk_fails_for_a_while_keeps_its_lock_and_its_name(
    tmp_path: Path, owner: claims.Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, utime, failures = owner.name, os.utime, list[Path]()

    def fails(file: Path) -> None:
        failures.append(file)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "utime", fails)
    wait_for(lambda: len(failures) > 3)
    assert owner.name == first
    assert claims.is_alive(tmp_path / "owners", first)
    monkeypatch.setattr(os, "utime", utime)
    wait_for_a_sign(tmp_path / "owners" / f"{first}.beat")


def wait_for_a_sign(beat: Path) -> None:
    before = beat.stat().st_mtime_ns
    wait_for(lambda: beat.stat().st_mtime_ns != before)


def test_an_owner_that_cannot_appear_anew_keeps_its_lock_and_tries_again(tmp_path: Path, owner: claims.Owner) -> None:
    first, away = owner.name, tmp_path / "away"
    (tmp_path / "owners").rename(away)
    time.sleep(0.2)
    assert owner.name == first
    assert claims.is_alive(away, first)
    (away / f"{first}.beat").unlink()
    away.rename(tmp_path / "owners")
    wait_for(lambda: owner.name != first)
    assert claims.is_alive(tmp_path / "owners", owner.name)


def test_while_a_laptop_sleeps_nobody_dies(tmp_path: Path) -> None:
    """The clock on the wall goes on, and no process gives a sign."""
    with CallStore(tmp_path) as one:
        assert one.claim([digest("a")])
        [beat] = (tmp_path / "owners").glob("*.beat")
        before_sleep = time.time() - 8 * 3600
        os.utime(beat, (before_sleep, before_sleep))
        with CallStore(tmp_path) as other:
            assert not other.claim([digest("a")])
        assert beat.exists()


def test_an_owner_without_claims_keeps_its_files_while_it_holds_its_lock(tmp_path: Path, owner: claims.Owner) -> None:
    dead = tmp_path / "owners" / "0123456789abcdef.beat"
    dead.touch()
    owner._over.set()  # it gives no further sign
    owner._beating.join()
    for beat in (dead, tmp_path / "owners" / f"{owner.name}.beat"):
        os.utime(beat, (0, 0))
    with CallStore(tmp_path) as store:
        store.claim([digest("a")])
    assert not dead.exists()
    assert claims.is_alive(tmp_path / "owners", owner.name)


@pytest.mark.parametrize("table", ["claims", "attempts"])
@pytest.mark.parametrize("name", ["../../../victim", "{}/victim", "", "0123456789ABCDEF", 5, b"0123456789abcdef"])
def test_a_claim_of_nobody_is_free_and_leads_to_no_file(tmp_path: Path, table: str, name: str | int | bytes) -> None:
    victims = [tmp_path / "victim.lock", tmp_path / "victim.beat"]
    for victim in victims:
        victim.write_bytes(b"mine")
    store_at = tmp_path / "checkout" / "store"
    CallStore(store_at).close()
    owner = name.format(tmp_path) if isinstance(name, str) else name
    with closing(sqlite3.connect(store_at / "calls.db")) as db:
        rows = {"claims": (digest("a"), owner), "attempts": (1, "f1", owner, 2.5)}
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[table]))})", rows[table])
        db.commit()
    with CallStore(store_at) as store:
        assert store.claim([digest("a")])
    assert [victim.read_bytes() for victim in victims] == [b"mine"] * 2


def spend(folder: Path, limits: Limits, cost: float) -> None:
    with CallStore(folder) as store:
        for _ in range(100):
            try:
                admission = store.admit("f1", "far model", 1.0, limits)
            except BudgetError:
                return
            if admission is not None:
                store.settle(admission, cost)


@pytest.mark.parametrize(
    ("limits", "cost", "expected"),
    [(Limits(max_calls=40), 0.25, Spent(40, 10.0)), (Limits(max_cost=10.0), 0.25, Spent(37, 9.25))],
)
def test_several_processes_spend_one_budget(tmp_path: Path, limits: Limits, cost: float, expected: Spent) -> None:
    """With 9.25 spent, the next call, which may cost 1, does not fit into 10 any more."""
    workers = [SPAWN.Process(target=spend, args=(tmp_path, limits, cost)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with CallStore(tmp_path) as store:
        assert store.spent("f1") == expected


def test_an_attempt_that_is_not_made_after_all_is_not_counted(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        admission = store.admit("f1", "far model", 1.0, Limits(max_calls=1))
        assert admission is not None
        store.settle(admission, None)
        assert store.spent("f1") == Spent(0, 0.0)
        assert store.admit("f1", "far model", 1.0, Limits(max_calls=1))


def test_a_budget_waits_while_what_is_under_way_may_turn_out_cheaper(tmp_path: Path) -> None:
    with CallStore(tmp_path) as one, CallStore(tmp_path) as other:
        first = one.admit("f1", "far model", 1.0, Limits(max_cost=1.5))
        assert first is not None
        assert other.admit("f1", "far model", 1.0, Limits(max_cost=1.5)) is None
        one.settle(first, 0.2)
        assert other.admit("f1", "far model", 1.0, Limits(max_cost=1.5)) is not None
        with pytest.raises(BudgetError, match=r"far model: limits\.max_calls = 2 is used up"):
            one.admit("f1", "far model", 1.0, Limits(max_calls=2))

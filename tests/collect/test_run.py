"""The loop: calls to services in the company of calls to components on this machine."""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path

import pytest
from tenacity import wait_none

from driftledger.collect.batches import Workers
from driftledger.collect.call import Ask, walk
from driftledger.collect.drive import Driver
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.components import service as patience
from driftledger.components.budget import Limits, Prices
from driftledger.components.openai_chat import OpenAIChat
from driftledger.core.errors import (
    BudgetError,
    DriftledgerError,
    ServiceError,
    StoreError,
)
from driftledger.core.types import Conversation, Subject
from tests.collect.chains import (
    EXPECTED,
    STORE,
    chain,
    chains,
    eight_images,
    run,
    run_protocols,
)
from tests.support import virtual_time
from tests.support.cases import cases, each_case
from tests.support.fakes import SEEN, EchoModel, SizeGenerator
from tests.support.fakes.services import ASKED, AT_ONCE, FarGenerator, FarModel
from tests.support.server import Server

PATIENCE = 60.0
"""Seconds after which what should have happened is taken not to happen; what is right waits for
none of them."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ASKED.clear()
    AT_ONCE[:] = [0, 0]
    SEEN.clear()
    monkeypatch.setattr(patience, "BACKOFF", wait_none())


@pytest.fixture
def images(tmp_path):
    return eight_images(tmp_path)


def stored_calls(images, model, generator):
    with CallStore(STORE, writes=False) as store:
        all_steps = chains(model, generator, images)
        return sum(walk(steps, store.answer).answered for steps in all_steps)


def test_every_call_is_made_once_and_results_keep_their_order(images):
    assert run(FarModel(), FarGenerator(), images) == EXPECTED
    # describing 21x30 and drawing 20x30 are told apart by what was asked
    assert len(ASKED) == 48 - 24
    assert set(ASKED.values()) == {2}
    ASKED.clear()
    assert run(FarModel(), FarGenerator(), images) == EXPECTED
    assert not ASKED


BATCHES = {
    tuple(f"{20 + 10 * number + t}x30" for number in block)
    for t in range(3)
    for block in ([0, 1, 2], [3, 4, 5], [6, 7])
}


@pytest.mark.parametrize("transactions", range(1, 21, 2))
def test_a_run_that_is_cut_off_goes_on_with_the_same_batches(
    images, monkeypatch, transactions
):
    """Three describe in a batch and two draw, so that after a kill neighbours have come to
    different steps."""
    put, written = CallStore.put, Counter()

    def cut_off(self, finished, spent):
        written["transactions"] += 1
        if written["transactions"] > transactions:
            raise StoreError("killed")
        return put(self, finished)

    model, generator = EchoModel(batch_size=3), SizeGenerator(batch_size=2)
    monkeypatch.setattr(CallStore, "put", cut_off)
    try:
        run(model, generator, images)
    except StoreError:
        monkeypatch.setattr(CallStore, "put", put)
        assert stored_calls(images, model, generator) < 48
        assert run(model, generator, images) == EXPECTED
    assert {tuple(batch) for batch in SEEN} == BATCHES
    assert len(SEEN) <= len(BATCHES) + 3  # what was in flight


def test_a_unit_goes_on_while_others_wait_for_a_service(images):
    """The first unit's first answer comes last: when all others are at the end of their chains."""
    asked = []
    last_step, all_others = Counter(), asyncio.Event()

    class Uneven(FarModel):
        async def attempt(self, conversation):
            width = conversation.last_medium.open().size[0]
            asked.append(width)
            if width == 20:
                await asyncio.wait_for(all_others.wait(), PATIENCE)
            reply = await super().attempt(conversation)
            last_step[width % 10] += 1
            if last_step[2] == 7:
                all_others.set()
            return reply

    eight = Limits(concurrency=8)
    model, generator = Uneven(limits=eight), FarGenerator(limits=eight)
    assert run(model, generator, images) == EXPECTED
    assert asked[0] == 20
    assert asked[-2:] == [21, 22]


def test_a_call_that_two_units_need_is_made_once(images):
    for n, model in enumerate((FarModel(seconds=0.01), EchoModel(batch_size=2))):
        texts = run(model, FarGenerator(), [images[n]] * 4)
        assert texts == [EXPECTED[n]] * 4
    # one description; four drawings, each with its own seed
    assert ASKED["20x30"] == 1 + 4
    assert sum(batch.count("30x30") for batch in SEEN) == 1


def once(model, image, number):
    asked, about = Conversation.ask(f"{number}", image), Subject(f"s{number}", 0, "d")
    return (yield Ask(model, "answer", asked, about)).text


def all_once(model, images):
    return [once(model, image, n) for n, image in enumerate(images)]


def seconds_of(*models, images, folder):
    """How long runs of one model each, side by side in one collector, would take without what
    computing takes."""

    async def main():
        started = time.monotonic()
        with CallStore(folder) as store:
            driver = Driver(store, Workers())
            runs = (
                driver.drive(
                    [once(model, images[0], n) for n in range(40)], Progress("test", 0)
                )
                for model in models
            )
            await asyncio.gather(*runs)
            await driver.aclose()
        return time.monotonic() - started

    return virtual_time.run(main())


async def at_once(work, *given):
    """In place of ``asyncio.to_thread``: time would pass while a thread works and a timer runs."""
    return work(*given)


class OtherModel(FarModel):
    provider = "other_model"


def test_services_are_asked_side_by_side_as_fast_as_their_limits_allow(
    images, monkeypatch
):
    monkeypatch.setattr(asyncio, "to_thread", at_once)
    one = FarModel(seconds=1, limits=Limits(concurrency=8))
    other = OtherModel(seconds=2, limits=Limits(concurrency=16))
    together = seconds_of(one, other, images=images, folder=Path("both"))
    assert AT_ONCE[1] == 24
    # three rounds of 16 that take two seconds; five of 8 that take one
    assert together == pytest.approx(6, rel=0.1)
    twice = seconds_of(one, one, images=images, folder=Path("twice"))
    assert twice == pytest.approx(5, rel=0.1)


def test_one_collector_serves_several_threads_of_which_one_fails(images):
    """Each describes by a model of its own and draws by the same local generator; equal calls are
    made once."""
    with CallStore(STORE) as store, Collector(store) as collector:

        def job(model):
            steps = chains(model, SizeGenerator(batch_size=4), images)
            return collector.run(steps, Progress("test", 0))

        jobs = [
            partial(job, model)
            for model in (FarModel(), OtherModel(), EchoModel(batch_size=3), FarModel())
        ]
        with pytest.raises(ServiceError, match="set FAR_KEY"):
            collector.side_by_side([partial(job, FarModel(breaks_at=50)), *jobs])
        ASKED.clear()
        assert collector.side_by_side(jobs) == [EXPECTED] * 4
    assert not ASKED
    assert {tuple(batch) for batch in SEEN} == BATCHES


class SlowModel(EchoModel):
    def respond(self, conversations):
        time.sleep(0.2)
        return super().respond(conversations)


def test_a_run_that_stops_leaves_what_another_needs_too(images):
    """Its batch waits for a turn when its service breaks."""
    slow = SlowModel(batch_size=1)
    models = [slow, slow, EchoModel(batch_size=1), FarModel(breaks_at=50)]

    async def main(driver):
        own = [once(model, images[3], number) for number, model in enumerate(models)]
        drives = [
            driver.drive(each, Progress("test", 0))
            for each in (own, [once(models[2], images[3], 2)])
        ]
        ended = await asyncio.gather(*drives, return_exceptions=True)
        await driver.aclose()
        return ended

    with CallStore(STORE) as store:
        broken, [text] = asyncio.run(main(Driver(store, Workers())))
    assert isinstance(broken, ServiceError)
    assert text.startswith("50x30")


@each_case(cases(__file__, "services"))
def test_what_a_service_does_in_one_run_after_the_other(case, images):
    """``texts`` are those of a run, where the model does not say all sizes."""
    generator = FarGenerator() if case.get("far") else SizeGenerator()
    for step in case["runs"]:
        model = FarModel.model_validate(step["model"])
        part = slice(*step.get("images", [0, 8]))
        if "raises" in step:
            with pytest.raises(DriftledgerError) as raised:
                run(model, generator, images[part])
            assert step["raises"] in f"{type(raised.value).__name__}: {raised.value}"
        else:
            texts = step.get("texts", EXPECTED[part])
            assert run(model, generator, images[part]) == texts
        if "spent" in step:
            with CallStore(STORE, writes=False) as kept:
                assert kept.spent(model.fingerprint) == tuple(step["spent"])
        stored = stored_calls(images, model, generator)
        assert stored >= step.get("stored", 0)


def test_a_broken_service_ends_the_run_and_keeps_what_was_under_way(images):
    under_way, broken = Counter(), asyncio.Event()

    class Breaking(FarModel):
        async def attempt(self, conversation):
            under_way["calls"] += 1
            if under_way["calls"] == 8:
                broken.set()
            await asyncio.wait_for(broken.wait(), PATIENCE)
            return await super().attempt(conversation)

    model = Breaking(breaks_at=90, limits=Limits(concurrency=8))
    with pytest.raises(ServiceError, match="set FAR_KEY"):
        run(model, SizeGenerator(), images)
    assert sum(ASKED.values()) == 7
    assert stored_calls(images, model, SizeGenerator()) == 7


def test_an_attempt_is_in_the_budget_before_it_is_made(images):
    """At the most that it may cost, so that a kill forgets none of those that were under way."""
    costs = []

    class Watching(FarModel):
        async def attempt(self, conversation):
            with CallStore(STORE, writes=False) as store:
                costs.append(store.spent(self.fingerprint))
            return await super().attempt(conversation)

    model = Watching(
        prices=Prices(input=1e6), limits=Limits(max_cost=1e9, concurrency=1)
    )
    run(model, SizeGenerator(), images[:1])
    assert costs == [(1, 100.0), (2, 80.0 + 100.0), (3, 2 * 80.0 + 100.0)]


@pytest.mark.parametrize(
    ("limit", "part"),
    [({"max_calls": 10}, "max_calls = 2"), ({"max_cost": 880.0}, "max_cost = 213.33")],
)
def test_a_shard_may_spend_its_part_of_what_is_left(images, limit, part):
    """After 3 of 10 calls, or 240 of 880 dollars."""
    shard = Path("shard")
    model = FarModel(limits=Limits(**limit, concurrency=1), prices=Prices(input=1e6))
    run(model, SizeGenerator(), images[:1])  # 3 of 10
    with (
        CallStore(STORE, writes=False) as main,
        CallStore(shard, fallback=main) as store,
        Collector(store, shards=3) as collector,
        pytest.raises(BudgetError, match=part),
    ):
        collector.run(all_once(model, images), Progress("test", 0))
    with CallStore(shard, writes=False) as store:
        assert store.spent(model.fingerprint).attempts == 2


def test_a_full_disk_stops_new_calls_in_all_runs(images, monkeypatch):
    def full(self, finished, spent):
        raise StoreError("a finished call cannot be stored; make room")

    no_room = partial(pytest.raises, StoreError, match="make room")
    with CallStore(STORE) as store, Collector(store) as collector:

        def job(model):
            return collector.run(all_once(model, images), Progress("test", 0))

        two = Limits(concurrency=2)
        model, other = (
            FarModel(seconds=0.1, limits=two),
            OtherModel(seconds=0.5, limits=two),
        )
        monkeypatch.setattr(CallStore, "put", full)
        with no_room():
            collector.side_by_side([partial(job, model), partial(job, other)])
        assert len(ASKED) <= 6
        ASKED.clear()
        with no_room():
            job(FarModel())
    assert not ASKED
    with no_room():
        run(FarModel(seconds=0.01, limits=two), FarGenerator(), images)
    assert 1 <= sum(ASKED.values()) <= 4
    with no_room():
        run(EchoModel(batch_size=1), SizeGenerator(), images)
    assert len(SEEN) < 8


def test_after_an_interrupt_no_thread_waits_for_the_loop():
    """A thread that frees a component then would keep the process from ending."""
    asked = []

    def interrupted():
        with collector:
            endless = asyncio.Event().wait()
            asked.append(asyncio.run_coroutine_threadsafe(endless, collector._loop))
            raise SystemExit

    with CallStore(STORE) as store:
        collector = Collector(store)
        with pytest.raises(SystemExit):
            interrupted()
    with pytest.raises(CancelledError):
        asked[0].result(PATIENCE)
    freeing = threading.Thread(target=collector.release, args=[EchoModel()])
    freeing.start()
    freeing.join(PATIENCE)
    assert not freeing.is_alive()


def test_calls_are_made_where_another_loop_runs_as_in_a_notebook(images):
    async def cell():
        return run(FarModel(), FarGenerator(), images)

    assert asyncio.run(cell()) == EXPECTED


def test_an_interrupt_lets_calls_under_way_arrive(images, capsys):
    under_way = Counter()

    class Slow(FarModel):
        async def attempt(self, conversation):
            under_way["calls"] += 1
            if under_way["calls"] == 3:
                os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.3)
            return await super().attempt(conversation)

    model = Slow(limits=Limits(concurrency=3))
    with pytest.raises(KeyboardInterrupt):
        run(model, SizeGenerator(), images)
    assert sum(ASKED.values()) == 3
    assert (
        "finishing the calls under way; interrupt again to drop them"
        in capsys.readouterr().err
    )
    assert stored_calls(images, model, SizeGenerator()) == 3
    names = ("local-calls", "collector", "asyncio")
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith(names)
    ]


def test_a_refused_setting_ends_the_run_unless_the_component_has_answered_before(
    images,
):
    settings = {"model": "m", "api_key_env": None, "service_name": "ours"}

    def answer(status, body, image):
        with (
            Server({"status": status, "body": body}) as server,
            CallStore(STORE) as store,
        ):
            model = OpenAIChat(base_url=server.base_url, **settings)
            [said] = run_protocols([chain(model, FarGenerator(), image, 0, 1)], store)
        return said

    refused = {"error": {"message": "`temperature` is deprecated for this model."}}
    with pytest.raises(ServiceError, match="set `temperature: null`"):
        answer(400, refused, images[0])
    described = {"choices": [{"message": {"content": "20x30"}}]}
    assert answer(200, described, images[0]) == ["20x30"]
    assert answer(400, refused, images[1])[0].startswith("failed: ")

"""Calls to services in the company of calls to components on this machine."""

import asyncio
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tenacity import wait_none

from driftledger.collect import scheduler as run_module
from driftledger.collect.call_result import Context, Finished
from driftledger.collect.call_store import CallStore
from driftledger.collect.disk import Disk
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.services import Services
from driftledger.collect.steps import Ask, Draw, Steps, stored_in, walk
from driftledger.components import service as patience
from driftledger.components.base import Generator, Model
from driftledger.components.service import Limits, Prices
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import BudgetError, ServiceError, StoreError
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, ImageFile
from tests.conftest import draw
from tests.support.fakes import SEEN, EchoModel, SizeGenerator
from tests.support.fakes.services import ASKED, AT_ONCE, FarGenerator, FarModel

PATIENCE = 60.0
"""Seconds after which what should have happened is taken not to happen; what is right waits for none of them."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    ASKED.clear()
    AT_ONCE[:] = [0, 0]
    SEEN.clear()
    monkeypatch.setattr(patience, "_BACKOFF", wait_none())


@pytest.fixture
def images(tmp_path: Path) -> list[ImageFile]:
    paths = [draw(tmp_path / f"{number}.png", number, (20 + 10 * number, 30)) for number in range(8)]
    return [ImageFile(path, sha256_file(path)) for path in paths]


def chain(model: Model, generator: Generator, image: ImageFile, number: int, length: int = 3) -> Steps[list[str]]:
    """Describe and draw; what was said."""
    said: list[str] = []
    for t in range(length):
        context = Context("d", f"s{number}", t)
        described = yield Ask(model, "describe", Conversation.ask("What is it?", image), context)
        if not described.outcome.goes_on:
            return [*said, f"{described.outcome}: {described.error}"]
        said.append((described.text or "").split(" ")[0])
        prompt = said[-1] if isinstance(generator, FarGenerator) else f"draw {said[-1]}"
        drawn = yield Draw(generator, prompt, number, context)
        if drawn.image is None:
            return [*said, f"{drawn.outcome}: {drawn.error}"]
        image = drawn.image
    return said


def run(model: Model, generator: Generator, images: list[ImageFile], folder: Path) -> list[list[str]]:
    with CallStore(folder) as store, Progress("test", total=6 * len(images)) as progress:
        protocols = [chain(model, generator, image, number) for number, image in enumerate(images)]
        return run_protocols(protocols, store, progress, most_calls=6)


EXPECTED = [[f"{20 + 10 * number + t}x30" for t in range(3)] for number in range(8)]


def test_every_call_is_made_once_and_results_keep_their_order(images: list[ImageFile], tmp_path: Path) -> None:
    assert run(FarModel(), FarGenerator(), images, tmp_path / "store") == EXPECTED
    assert len(ASKED) == 48 - 24  # describing 21x30 and drawing 20x30 are told apart by what was asked
    assert set(ASKED.values()) == {2}
    ASKED.clear()
    assert run(FarModel(), FarGenerator(), images, tmp_path / "store") == EXPECTED
    assert not ASKED


@pytest.mark.parametrize(
    ("model", "generator"),
    [
        (FarModel(), SizeGenerator(batch_size=3)),
        (EchoModel(batch_size=3), FarGenerator()),
        (FarModel(seconds=0.01), FarGenerator(seconds=0.005)),
    ],
)
def test_local_and_remote_components_work_together(
    model: Model, generator: Generator, images: list[ImageFile], tmp_path: Path
) -> None:
    assert run(model, generator, images, tmp_path / "store") == EXPECTED


def test_batches_of_a_local_model_stay_the_same_beside_a_service(images: list[ImageFile], tmp_path: Path) -> None:
    run(EchoModel(batch_size=3), FarGenerator(seconds=0.002), images, tmp_path / "store")
    batches = {tuple(batch) for batch in SEEN}
    assert batches == {
        tuple(f"{20 + 10 * number + t}x30" for number in block)
        for t in range(3)
        for block in ([0, 1, 2], [3, 4, 5], [6, 7])
    }


def test_a_sample_moves_on_while_others_still_wait(images: list[ImageFile], tmp_path: Path) -> None:
    """With as many slots as samples, nobody waits for the slowest sample of a step: here it is asked first, and
    answered once all others are at the end of their chains."""
    asked: list[int] = []
    last_step, all_others = Counter[int](), asyncio.Event()

    class Uneven(FarModel):
        async def _reply(self, conversation):  # type: ignore[no-untyped-def]
            width = conversation.last_image.open().size[0]
            asked.append(width)
            if width == 20:
                await asyncio.wait_for(all_others.wait(), PATIENCE)
            reply = await super()._reply(conversation)
            last_step[width % 10] += 1
            if last_step[2] == 7:
                all_others.set()
            return reply

    chains = run(
        Uneven(limits=Limits(concurrency=8)), FarGenerator(limits=Limits(concurrency=8)), images, tmp_path / "store"
    )
    assert chains == EXPECTED
    assert asked[0] == 20
    assert asked[-2:] == [21, 22]


def test_a_call_that_two_samples_need_is_made_once(images: list[ImageFile], tmp_path: Path) -> None:
    same = [images[0]] * 4
    assert run(FarModel(seconds=0.01), FarGenerator(), same, tmp_path / "store") == [EXPECTED[0]] * 4
    assert ASKED["20x30"] == 1 + 4  # one description; four drawings, each with its own seed


def test_hiccups_change_nothing_but_are_counted(images: list[ImageFile], tmp_path: Path) -> None:
    model = FarModel(hiccups=2, prices=Prices(input=1e6, output=0))
    assert run(model, SizeGenerator(), images, tmp_path / "store") == EXPECTED
    with CallStore(tmp_path / "store") as store:
        assert store.spent(model.fingerprint) == (72, 80.0 * 24)


def test_a_call_that_cannot_be_had_fails_alone_and_is_tried_by_the_next_run(
    images: list[ImageFile], tmp_path: Path
) -> None:
    model = FarModel(hiccups=3, limits=Limits(attempts=3))
    ended = run(model, SizeGenerator(), images, tmp_path / "store")
    assert ended == [["failed: 503: come back later (3 attempts)"]] * 8
    assert run(model, SizeGenerator(), images[:1], tmp_path / "store")[0][0] == "20x30"


def test_an_image_that_cannot_be_had_says_why(images: list[ImageFile], tmp_path: Path) -> None:
    generator = FarGenerator(hiccups=2, limits=Limits(attempts=2))
    ended = run(EchoModel(), generator, images[:1], tmp_path / "store")
    assert ended == [["20x30", "failed: 503: no ink (2 attempts)"]]


def test_a_broken_service_ends_the_run_and_keeps_what_was_under_way(images: list[ImageFile], tmp_path: Path) -> None:
    under_way, broken = Counter[int](), asyncio.Event()

    class Breaking(FarModel):
        provider = FarModel.provider

        async def _reply(self, conversation):  # type: ignore[no-untyped-def]
            under_way["calls"] += 1
            if under_way["calls"] == 8:
                broken.set()
            await asyncio.wait_for(broken.wait(), PATIENCE)
            return await super()._reply(conversation)

    model = Breaking(breaks_at=90, limits=Limits(concurrency=8))
    with pytest.raises(ServiceError, match="set FAR_KEY"):
        run(model, SizeGenerator(), images, tmp_path / "store")
    assert sum(ASKED.values()) == 7
    mended = FarModel(breaks_at=90, limits=Limits(concurrency=1))
    assert mended.fingerprint == model.fingerprint
    with CallStore(tmp_path / "store") as store:
        stored = [walk(chain(model, SizeGenerator(), image, 0), stored_in(store)).known for image in images]
    assert stored == [1] * 7 + [0]


def test_a_spent_budget_ends_the_run_and_a_larger_one_goes_on(images: list[ImageFile], tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="max_calls = 10"):
        run(FarModel(limits=Limits(max_calls=10)), FarGenerator(), images, tmp_path / "store")
    with pytest.raises(BudgetError):
        run(FarModel(limits=Limits(max_calls=10)), FarGenerator(), images, tmp_path / "store")
    assert run(FarModel(limits=Limits(max_calls=24)), FarGenerator(), images, tmp_path / "store") == EXPECTED
    with CallStore(tmp_path / "store") as store:
        assert store.spent(FarModel().fingerprint).attempts == 24


def test_a_full_disk_stops_new_calls(images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused, refuse = asyncio.Event(), Services.refuse

    def full(self: CallStore, finished: object) -> list[object]:
        raise StoreError("a finished call cannot be stored; make room")

    def and_say_so(self: Services, reason: BaseException) -> None:
        refuse(self, reason)
        refused.set()

    class Slow(FarModel):
        async def _reply(self, conversation):  # type: ignore[no-untyped-def]
            if sum(ASKED.values()) >= 2:
                await asyncio.wait_for(refused.wait(), PATIENCE)
            return await super()._reply(conversation)

    monkeypatch.setattr(CallStore, "put", full)
    monkeypatch.setattr(Services, "refuse", and_say_so)
    with pytest.raises(StoreError, match="make room"):
        run(Slow(limits=Limits(concurrency=2)), FarGenerator(), images, tmp_path / "store")
    assert 2 <= sum(ASKED.values()) <= 4


def test_an_interrupt_lets_calls_under_way_arrive(
    images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, three, interrupted = Counter[str](), asyncio.Event(), asyncio.Event()

    class Slow(FarModel):
        async def _reply(self, conversation):  # type: ignore[no-untyped-def]
            under_way["calls"] += 1
            if under_way["calls"] == 3:
                three.set()
            await asyncio.wait_for(interrupted.wait(), PATIENCE)
            return await super()._reply(conversation)

    model, real = Slow(limits=Limits(concurrency=3)), run_module.asyncio.run

    def interrupted_at_three(coroutine):  # type: ignore[no-untyped-def]
        async def cancelled() -> None:
            task = asyncio.ensure_future(coroutine)
            await asyncio.wait_for(three.wait(), PATIENCE)
            task.cancel()
            await asyncio.sleep(0)  # in which the run hears of it
            interrupted.set()
            await task

        return real(cancelled())

    monkeypatch.setattr(run_module.asyncio, "run", interrupted_at_three)
    with pytest.raises(asyncio.CancelledError):
        run(model, SizeGenerator(), images, tmp_path / "store")
    assert sum(ASKED.values()) == 3
    with CallStore(tmp_path / "store") as store:
        assert sum(walk(chain(model, SizeGenerator(), image, 0), stored_in(store)).known for image in images) == 3
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("call-store", "local-calls"))]


def test_results_that_arrive_together_are_written_together(
    images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever of the first eight has not come with the first is there while that is written."""
    sizes: list[int] = []
    eight, put, arrive = threading.Event(), CallStore.put, Disk.put

    async def watched(self: Disk, finished):  # type: ignore[no-untyped-def]
        arriving = asyncio.ensure_future(arrive(self, finished))
        while not (eight.is_set() or arriving.done()):
            if sum(sizes) + len(self._due) == 8:
                eight.set()
            await asyncio.sleep(0.001)
        return await arriving

    def slow(self: CallStore, finished):  # type: ignore[no-untyped-def]
        batch = list(finished)
        sizes.append(len(batch))
        assert eight.wait(PATIENCE)
        return put(self, batch)

    monkeypatch.setattr(CallStore, "put", slow)
    monkeypatch.setattr(Disk, "put", watched)
    assert run(FarModel(), SizeGenerator(), images, tmp_path / "store") == EXPECTED
    assert sum(sizes) == 48
    assert 8 in (sizes[0], sum(sizes[:2]))


def test_a_call_whose_answer_is_there_leaves_its_slot(
    images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next drawing is asked for while the one before is encoded; no third one is, as long as neither is kept."""
    another, keep, waiting = threading.Event(), CallStore.keep_image, Counter[str]()

    class Slow(FarGenerator):
        async def _draw(self, prompt, seed):  # type: ignore[no-untyped-def]
            waiting["asked"] += 1
            if waiting["asked"] == 2:
                another.set()
            waiting["most"] = max(waiting["most"], waiting["asked"] - waiting["kept"])
            return await super()._draw(prompt, seed)

    def slow(self: CallStore, item: Finished) -> Finished:
        if item.png is None:
            return keep(self, item)
        assert another.wait(PATIENCE)
        time.sleep(0.02)  # in which a third one would be asked for
        kept = keep(self, item)
        waiting["kept"] += 1
        return kept

    monkeypatch.setattr(CallStore, "keep_image", slow)
    assert run(FarModel(), Slow(limits=Limits(concurrency=1)), images, tmp_path / "store") == EXPECTED
    assert waiting["most"] == 2


def test_a_walk_makes_no_call(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        fresh_walk = walk(chain(FarModel(), FarGenerator(), images[0], 0), stored_in(store))
    assert (fresh_walk.known, fresh_walk.returned) == (0, None)
    assert isinstance(fresh_walk.pending, Ask)
    run(FarModel(), FarGenerator(), images, tmp_path / "store")
    ASKED.clear()
    with CallStore(tmp_path / "store") as store:
        done = walk(chain(FarModel(), FarGenerator(), images[0], 0), stored_in(store))
    assert (done.known, done.pending, done.returned) == (6, None, EXPECTED[0])
    assert not ASKED

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import ClassVar

import pytest

from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Call, Draw, Steps
from driftledger.core.canonical import sha256_file
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Generated, ImageFile, Outcome, Reply
from tests.conftest import draw
from tests.support.fakes import SEEN, EchoModel, SizeGenerator
from tests.support.fakes.services import FarModel

PATIENCE = 60.0
"""Seconds after which what should have happened is taken not to happen; what is right waits for none of them."""


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


@pytest.fixture
def images(tmp_path: Path) -> list[ImageFile]:
    paths = [draw(tmp_path / f"{number}.png", number, (20 + number, 30)) for number in range(7)]
    return [ImageFile(path, sha256_file(path)) for path in paths]


def ask(model: EchoModel, image: ImageFile) -> Ask:
    return Ask(model, "describe", Conversation.ask("What is it?", image), Context("d", "s", 1))


def asked_twice(model: EchoModel, image: ImageFile) -> Steps[str]:
    first = yield ask(model, image)
    if not first.outcome.goes_on:
        return f"{first.outcome}"
    second = yield ask(model.model_copy(update={"batch_size": 2}), image)
    return f"{first.text} {second.text}"


def run(model: EchoModel, images: list[ImageFile], store: CallStore) -> list[str]:
    with Progress("test", total=2 * len(images)) as progress:
        done = run_protocols([asked_twice(model, image) for image in images], store, progress, most_calls=2)
        assert progress.n == progress.total
    return done


def perform(calls: Sequence[Call], store: CallStore) -> list[Result]:
    """Each call by itself, as a protocol of one step."""

    def once(call: Call) -> Steps[Result]:
        return (yield call)

    with Progress("test", total=len(calls)) as progress:
        return run_protocols([once(call) for call in calls], store, progress, most_calls=1)


def test_waves_keep_order_and_batches(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        done = run(EchoModel(batch_size=3), images, store)
    assert [text[:5] for text in done] == [f"{20 + number}x30" for number in range(7)]
    assert [len(batch) for batch in SEEN] == [3, 3, 1, 2, 2, 2, 1]


def test_a_chain_that_ends_early_moves_no_other_into_another_batch(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        done = run(EchoModel(batch_size=3, refuses=21), images, store)
    assert done[1] == "refused"
    assert SEEN[3:] == [["20x30"], ["22x30", "23x30"], ["24x30", "25x30"], ["26x30"]]


def test_stored_calls_are_not_made_again_and_batches_stay(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        perform([ask(EchoModel(batch_size=3), image) for image in images[3:6]], store)
        SEEN.clear()
        run(EchoModel(batch_size=3), images, store)
        assert SEEN[:2] == [["20x30", "21x30", "22x30"], ["26x30"]]
        SEEN.clear()
        run(EchoModel(batch_size=3), images, store)
        assert SEEN == []


def test_a_failure_is_tried_again_by_the_next_run(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        assert run(EchoModel(fails=22), images, store)[2] == "failed"
        SEEN.clear()
        assert run(EchoModel(fails=22), images, store)[2] == "failed"
        assert SEEN == [["22x30"]]


def test_equal_calls_in_a_batch_are_made_once(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        results = perform([ask(EchoModel(), images[0])] * 3, store)
        assert SEEN == [["20x30"]]
        assert results[0] == results[1] == results[2]


def test_text_that_utf8_cannot_hold_is_mended(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        [result] = perform([ask(EchoModel(), images[0])], store)
    assert result.text == "20x30 ? \x1b[31m \u2028 <b>"


@pytest.mark.parametrize("most", [1, 2])
def test_batches_stay_however_few_samples_wait_at_once(
    most: int, images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = EchoModel(batch_size=3, refuses=21)
    with CallStore(tmp_path / "wide") as store:
        done = run(model, images, store)
    batches, waves = sorted(SEEN), list(SEEN)
    SEEN.clear()
    monkeypatch.setattr("driftledger.collect.scheduler.MOST_WAITING", most)
    monkeypatch.setattr("driftledger.collect.scheduler._FULL", 0)
    with CallStore(tmp_path / "narrow") as store:
        assert run(model, images, store) == done
    assert sorted(SEEN) == batches
    assert waves != SEEN


def test_a_protocol_begins_when_it_is_due(
    images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("driftledger.collect.scheduler.MOST_WAITING", 2)
    monkeypatch.setattr("driftledger.collect.scheduler._FULL", 1)
    model, open_now, most_open = EchoModel(batch_size=1), set[ImageFile](), 0

    def noted(image: ImageFile) -> Steps[str]:
        nonlocal most_open
        open_now.add(image)
        most_open = max(most_open, len(open_now))
        result = yield from asked_twice(model, image)
        open_now.remove(image)
        return result

    with CallStore(tmp_path / "store") as store, Progress("test", total=2 * len(images)) as progress:
        protocols, positions = (noted(image) for image in images), range(len(images))
        done = run_protocols(protocols, store, progress, 2, positions=positions)
    assert [text[:5] for text in done] == [f"{20 + number}x30" for number in range(7)]
    assert most_open == 2 + 2  # two wait while a batch of two is made


class Heavy(EchoModel):
    """Lets go of weights."""

    def release(self) -> None:
        """As nothing is loaded, nothing goes."""


@pytest.mark.parametrize(("kind", "in_two_waves"), [(EchoModel, False), (Heavy, True)])
def test_what_may_be_loaded_anew_is_asked_by_all_before_another(
    kind: type[EchoModel], in_two_waves: bool, images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models by turns: each change may load one."""
    monkeypatch.setattr("driftledger.collect.scheduler.MOST_WAITING", 1)
    monkeypatch.setattr("driftledger.collect.scheduler._FULL", 1)
    first, second = kind(batch_size=1), kind(batch_size=1, refuses=99)
    asked: list[str] = []
    respond = EchoModel.respond

    def watched(model: EchoModel, conversations: Sequence[Conversation]) -> list[Reply]:
        asked.append(model.fingerprint)
        return respond(model, conversations)

    def both(image: ImageFile) -> Steps[str]:
        yield ask(first, image)
        result = yield ask(second, image)
        return result.text or ""

    monkeypatch.setattr(EchoModel, "respond", watched)
    with CallStore(tmp_path / "store") as store, Progress("test", total=2 * len(images)) as progress:
        run_protocols((both(image) for image in images), store, progress, 2, positions=range(len(images)))
    assert len(asked) == 2 * len(images)
    assert (len([*groupby(asked)]) == 2) is in_two_waves


class Forgetful(SizeGenerator):
    def generate(self, prompts, seeds):  # type: ignore[no-untyped-def]
        return super().generate(prompts, seeds)[1:]


class Empty(SizeGenerator):
    def generate(self, prompts, seeds):  # type: ignore[no-untyped-def]
        return [Generated(None, Outcome.OK) for _ in prompts]


@pytest.mark.parametrize(("generator", "said"), [(Forgetful(), "gave 0 results for 1 calls"), (Empty(), "no image")])
def test_a_component_that_breaks_its_contract_is_a_bug(generator: SizeGenerator, said: str, tmp_path: Path) -> None:
    with CallStore(tmp_path) as store, pytest.raises(ValueError, match=said):
        perform([Draw(generator, "draw 3x4", 1, Context("d", "s", 1))], store)


def test_progress_in_a_pipe_prints_few_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("chain", total=1000) as progress:
        for _ in range(1000):
            progress.update(1)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 3
    assert "1000/1000" in lines[-1]
    assert "\r" not in "".join(lines)


def test_two_runs_on_one_store_make_each_batch_once(images: list[ImageFile], tmp_path: Path) -> None:
    def one_run() -> list[str]:
        with CallStore(tmp_path / "store") as store:
            return run(EchoModel(batch_size=3), images, store)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(one_run), pool.submit(one_run)
        assert one.result() == other.result()
    assert sorted(len(batch) for batch in SEEN) == sorted([3, 3, 1, 2, 2, 2, 1])
    with CallStore(tmp_path / "store") as store:
        assert {row.made for row in store.rows()} == {1}


def test_what_another_process_makes_is_waited_for_and_the_rest_is_made_meanwhile(
    images: list[ImageFile], tmp_path: Path
) -> None:
    model = EchoModel(batch_size=3)
    with CallStore(tmp_path / "store") as other:
        taken = [ask(model, image) for image in images[:3]]
        assert other.claim([call.key.digest for call in taken])
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(lambda: perform_in(tmp_path / "store", [ask(model, image) for image in images]))
            while len(SEEN) < 2:
                time.sleep(0.01)
            assert not running.done()
            other.put(
                [Finished(call.key, call.context, Result(Outcome.OK, "theirs"), None, Cost(0.1)) for call in taken]
            )
            results = running.result()
    assert [result.text == "theirs" for result in results] == [True] * 3 + [False] * 4
    assert [len(batch) for batch in SEEN] == [3, 1]


def test_a_call_that_another_process_gives_up_is_made_here(images: list[ImageFile], tmp_path: Path) -> None:
    model = EchoModel(batch_size=4)
    with CallStore(tmp_path / "store") as other:
        assert other.claim([ask(model, images[0]).key.digest])
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(lambda: perform_in(tmp_path / "store", [ask(model, image) for image in images]))
            while not SEEN:
                time.sleep(0.01)
            other.close()
            results = running.result()
    assert all(result.outcome.goes_on for result in results)
    assert sorted(len(batch) for batch in SEEN) == [3, 4]


SPAWN = multiprocessing.get_context("spawn")


class Slow(EchoModel):
    """Says when it has begun, and takes a while."""

    began: ClassVar[Event]

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        self.began.set()
        time.sleep(0.5)
        return super().respond(conversations)


def perform_slowly(folder: Path, images: list[ImageFile], began: Event) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Slow.began = began
    perform_in(folder, [ask(Slow(batch_size=3), image) for image in images])


def test_an_interrupt_waits_for_calls_that_are_made_here_and_for_no_others(
    images: list[ImageFile], tmp_path: Path
) -> None:
    digests, began = [ask(Slow(batch_size=3), image).key.digest for image in images[:6]], SPAWN.Event()
    with CallStore(tmp_path / "store") as other:
        assert other.claim(digests[:3])
        process = SPAWN.Process(target=perform_slowly, args=(tmp_path / "store", images[:6], began))
        process.start()
        assert process.pid is not None
        assert began.wait(PATIENCE)
        os.kill(process.pid, signal.SIGINT)
        process.join(PATIENCE)
        try:
            assert process.exitcode == 1
        finally:
            process.kill()
        assert set(other.get(digests)) == set(digests[3:])


def test_an_error_waits_for_no_call_of_another_process(images: list[ImageFile], tmp_path: Path) -> None:
    """Of a service or of a model."""
    taken = [ask(model, images[0]) for model in (EchoModel(batch_size=1), FarModel())]
    with CallStore(tmp_path / "store") as other, ThreadPoolExecutor(1) as pool:
        assert other.claim([call.key.digest for call in taken])
        broken = Draw(Forgetful(batch_size=1), "draw 3x4", 1, Context("d", "s", 1))
        running = pool.submit(lambda: perform_in(tmp_path / "store", [*taken, broken]))
        try:
            with pytest.raises(ValueError, match="gave 0 results for 1 calls"):
                running.result(PATIENCE)
        finally:
            other.release([call.key.digest for call in taken])


def perform_in(folder: Path, calls: Sequence[Call]) -> list[Result]:
    with CallStore(folder) as store:
        return perform(calls, store)


def test_a_shard_puts_no_call_into_other_company(images: list[ImageFile], tmp_path: Path) -> None:
    model, mine = EchoModel(batch_size=3), (3, 4, 5, 6)
    with CallStore(tmp_path / "store") as store, Progress("shard", total=8) as progress:
        protocols = [asked_twice(model, images[position]) for position in mine]
        run_protocols(protocols, store, progress, most_calls=2, positions=mine)
    assert SEEN == [
        ["23x30", "24x30", "25x30"],
        ["26x30"],
        ["23x30"],
        ["24x30", "25x30"],
        ["26x30"],
    ]


class Preparing(EchoModel):
    prepared: ClassVar[list[list[str]]] = []

    def prepare(self, conversations: Sequence[Conversation]) -> None:
        self.prepared.append([each.last_image.sha256 for each in conversations if each.last_image])


def test_a_model_prepares_the_next_batch_while_one_is_made(images: list[ImageFile], tmp_path: Path) -> None:
    calls = [ask(Preparing(batch_size=3), image) for image in images]
    perform_in(tmp_path / "store", calls)
    assert Preparing.prepared == [[image.sha256 for image in some] for some in (images[3:6], images[6:])]
    Preparing.prepared.clear()
    perform_in(tmp_path / "store", calls)
    assert not Preparing.prepared  # what is stored is not decoded


def test_progress_says_what_each_component_is_at(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("chain", total=10) as progress:
        share = progress.share("echo")
        share.expected, share.done, share.made, share.batches, share.replicas = 10, 6, 4, 2, 3
        progress.update(6)
    said = capsys.readouterr().err.splitlines()[-1]
    assert "6/10" in said
    assert re.search(r"echo: 6/10 in 2 batches, [\d.]+ calls/s on 3 replicas, \d+:\d\d left", said)


def test_each_component_has_its_share_of_the_calls(images: list[ImageFile], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store, Progress("test", total=4) as progress:
        for _ in range(2):
            run_protocols([asked_twice(EchoModel(batch_size=3), images[0])], store, progress, most_calls=2)
        share = progress.share("echo")
    assert (share.done, share.made, share.batches, share.replicas) == (4, 2, 2, None)

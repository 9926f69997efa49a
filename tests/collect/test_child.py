"""Components with weights are called in a process of their own, which takes nothing with it."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from threading import Lock

import pytest

from driftledger.collect.batches import Workers
from driftledger.collect.call import Ask
from driftledger.collect.child import ChildCalls
from driftledger.collect.database import DATABASE
from driftledger.collect.features import (
    encode_media,
    encode_texts,
    read_texts,
    release_all,
)
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.core.errors import ComponentError, OutOfMemoryError
from driftledger.core.types import Conversation, PromptUsage, Subject, Turn
from tests.collect.chains import EXPECTED, chains, eight_images
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case
from tests.support.fakes import EchoModel
from tests.support.fakes.services import FarModel
from tests.support.fakes.weights import (
    Crashing,
    HeldEncoder,
    HeldGenerator,
    HeldModel,
    LearningEncoder,
    Looker,
    OtherEncoder,
    OtherModel,
    is_gone,
)

PATIENCE = 60.0
"""Seconds after which what should have happened is taken not to happen."""


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return str(folder)


@pytest.fixture
def collector(tmp_path):
    with CallStore(tmp_path / "store") as store, Collector(store) as collector:
        yield collector


def question(model, text, *images):
    asked = Conversation((Turn("user", (text, *images)),))
    return Ask(model, "answer", asked, Subject(text, 0, "d"))


def ask(collector, model, *texts, images=()):
    def one(text):
        return (yield question(model, text, *images))

    return collector.run(map(one, texts), Progress("test", 0))


def process_of(result):
    return int(result.text.split()[0])


def wait_until(happened):
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def process_in(pid):
    """Wait for a process that is at work, and return it."""
    wait_until(lambda: pid.is_file() and pid.read_text())
    return int(pid.read_text())


def test_results_are_those_of_one_process(tmp_path, path):
    images = eight_images(tmp_path)
    rows = []
    for name, workers in (("child", None), ("here", Workers())):
        model = Looker(path=path, batch_size=3)
        generator = HeldGenerator(path=path, batch_size=2)
        with CallStore(tmp_path / name) as store, Collector(store, workers) as all_:
            steps = chains(model, generator, images)
            assert all_.run(steps, Progress("test", 0)) == EXPECTED
        with closing(sqlite3.connect(tmp_path / name / DATABASE)) as db:
            rows.append(db.execute("SELECT key, result, image FROM calls").fetchall())
    assert len(rows[0]) == 48
    assert sorted(rows[0]) == sorted(rows[1])


def test_weights_are_loaded_once_until_released_and_gone_at_the_end(tmp_path, path):
    model = HeldModel(path=path, batch_size=1)
    with CallStore(tmp_path / "store") as store, Collector(store) as collector:
        results = ask(collector, model, "a", "b", "c")
        results += ask(collector, HeldModel(path=path, batch_size=1), "d")
        collector.release(model)
        results += ask(collector, model, "e")
    assert [result.text.split()[1] for result in results] == ["1", "1", "1", "1", "2"]
    [process] = {process_of(result) for result in results}
    assert process != os.getpid()
    assert is_gone(process)


@each_case(cases(__file__, "crashes"))
def test_a_crash_fails_the_calls_of_one_component(
    case, collector, tmp_path, path, capfd
):
    command, sentence = case["command"], case["says"]
    images = eight_images(tmp_path)[:1]
    model, other = HeldModel(path=path, batch_size=2), OtherModel(path=path)
    [before] = ask(collector, model, "a")
    answers = {}

    def job(name, component, *texts):
        answers[name] = ask(collector, component, *texts, images=images)

    jobs = [
        partial(job, "far", FarModel(seconds=0.01), *"abcdef"),
        partial(job, "crash", model, "b", command, "c", "d"),
        partial(job, "here", EchoModel(), "x"),
        partial(job, "other", other, *"efg"),
    ]
    with pytest.raises(ComponentError, match=f"held_model.* {sentence}"):
        collector.side_by_side(jobs)
    assert answers.keys() == {"far", "here", "other"}
    assert is_gone(process_of(before))
    [later] = ask(collector, other, "h")
    assert process_of(later) != process_of(before)
    # none of its calls is stored, and later ones start no process
    for text in ("c", command, "z"):
        with pytest.raises(ComponentError, match=sentence):
            ask(collector, model, text)
    assert ask(collector, model, "a")[0].text == before.text
    assert process_of(ask(collector, other, "i")[0]) == process_of(later)
    assert case.get("prints", "") in capfd.readouterr().err


def test_what_is_raised_comes_back(collector, path):
    model = HeldModel(path=path, batch_size=1)
    [before] = ask(collector, model, "a")
    [failed] = ask(collector, model, "index 7 is too large")
    assert (failed.outcome, failed.error) == ("failed", "IndexError: 7 is too large")
    full = r"^full; not even one call to held_model fits"
    with pytest.raises(OutOfMemoryError, match=full):
        ask(collector, model, "memory full")
    assert process_of(ask(collector, model, "b")[0]) == process_of(before)


def test_weights_that_are_loaded_here_are_not_sent(collector, path):
    model = HeldModel(path=path)
    model.__dict__["loaded"] = Lock()
    [result] = ask(collector, model, "a")
    assert process_of(result) != os.getpid()


def test_a_class_of_a_function_is_called_here(collector, path):
    class Local(HeldModel):
        pass

    [result] = ask(collector, Local(path=path), "a")
    assert process_of(result) == os.getpid()


IN_SCRIPT = """
import os, sys
from driftledger.collect.child import ChildCalls
from tests.collect.test_child import question
from tests.support.fakes.weights import HeldModel

class OfScript(HeldModel):
    pass

[result] = ChildCalls().make([question(OfScript(path=sys.argv[1]), "a")])
print(result.text, os.getpid())
"""


def test_a_class_of_a_script_is_called_there(path):
    script = [sys.executable, "-c", IN_SCRIPT, path]
    said = subprocess.check_output(script, cwd=REPOSITORY, text=True).split()
    assert said[0] == said[2]


def test_what_it_prints_goes_to_stderr(collector, path, capfd):
    ask(collector, HeldModel(path=path), "print 17 lines")
    printed = capfd.readouterr()
    assert "17 lines" in printed.err
    assert not printed.out


def test_a_crash_while_it_is_released_fails_nothing(collector, path):
    model = Crashing(path=path, batch_size=1)
    [before] = ask(collector, model, "a")
    collector.release(model)
    assert is_gone(process_of(before))


def test_closing_ends_a_batch_at_work(tmp_path, path):
    pid = tmp_path / "pid"
    calls = ChildCalls()
    asked = question(HeldModel(path=path), f"wait {pid}")
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(calls.make, [asked])
        process = process_in(pid)
        calls.close()
        assert is_gone(process)
        with pytest.raises(ComponentError):
            made.result(PATIENCE)


@pytest.fixture
def no_encoders():
    release_all([])
    yield
    release_all([])


def test_encoders_with_weights_compute_in_a_child_until_they_are_released(
    tmp_path, path, no_encoders
):
    media = eight_images(tmp_path)
    encoder = HeldEncoder(path=path, batch_size=3)
    sizes = [medium.open().size for medium in media]
    assert encode_media(encoder, media).tolist() == [list(size) for size in sizes]
    ((process, loads),) = encode_texts(encoder, ["a"]).tolist()
    assert process != os.getpid()
    equal = HeldEncoder(path=path, batch_size=3)
    assert encode_texts(equal, ["b"]).tolist() == [[process, loads]]
    assert read_texts(encoder, ["four"]) == [PromptUsage(int(process), 4)]
    local = HeldEncoder(path=path)
    local.__dict__["held"] = True
    release_all([local])
    assert is_gone(int(process))
    assert "held" not in local.__dict__
    assert encode_texts(encoder, ["a"]).tolist()[0][0] != process


@pytest.mark.parametrize("command", ["kill 11", "runtime CUDA error: assert"])
def test_a_crash_of_an_encoder_leaves_the_others(path, no_encoders, command):
    encoder, other = HeldEncoder(path=path), OtherEncoder(path=path)
    ((process, _),) = encode_texts(encoder, ["a"])
    for text in (command, "a"):
        with pytest.raises(ComponentError, match="held_encoder"):
            encode_texts(encoder, [text])
    assert is_gone(int(process))
    assert encode_texts(other, ["a"])[0][0] != process
    release_all([])
    assert encode_texts(encoder, ["a"])[0][1] == 1


def test_an_encoder_that_learns_is_not_mistaken_for_another(path, no_encoders):
    encoder = LearningEncoder(path=path)
    learnt = [encoder.fitted(["a"] * count) for count in (1, 2)]
    rows = [encode_texts(each, ["a"]).tolist() for each in learnt]
    assert rows == [[[os.getpid(), 1]], [[os.getpid(), 2]]]


def test_an_interrupted_answer_is_not_taken_for_the_next(tmp_path, path, no_encoders):
    pid = tmp_path / "pid"
    encoder = HeldEncoder(path=path)

    def interrupt():
        process_in(pid)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            encode_texts(encoder, [f"wait {pid}"])
    assert is_gone(int(pid.read_text()))
    assert encode_texts(encoder, ["a"])[0][1] == 1


KILLED = """
import sys
from pathlib import Path
from threading import Lock
from driftledger.collect.run import Collector
from driftledger.collect.database import DATABASE
from driftledger.collect.store import CallStore
from tests.collect.test_child import ask
from tests.support.fakes.weights import HeldModel
folder = Path(sys.argv[1])
with CallStore(folder / "store") as store, Collector(store) as collector:
    ask(collector, HeldModel(path=str(folder / "weights")), f"wait {folder / 'pid'}")
"""


def test_it_ends_with_a_killed_parent(tmp_path, path):
    pid = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], cwd=REPOSITORY)
    process = process_in(pid)
    parent.kill()
    parent.wait()
    wait_until(lambda: is_gone(process))

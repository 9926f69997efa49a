"""Components as actors of a Ray cluster of two nodes, one of which is lost."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from driftledger.collect.call import Ask, Draw
from driftledger.collect.ray import FOLDERS, RayWorkers, WorkersError, _Actor
from driftledger.collect.settings import WorkerSettings
from driftledger.collect.store import CallStore
from driftledger.commands.collect import collect
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.types import Conversation, Medium, Result, Subject
from driftledger_demo.sounds import Listener, Sounds, Synthesiser
from tests.collect.chains import run_protocols
from tests.conftest import draw
from tests.support.evaluation import build
from tests.support.fakes.sleeping import SleepingGenerator, SleepingModel, shifts
from tests.support.ray_cluster import add_node, end_node, two_nodes
from tests.support.small import changed, make_small
from tests.support.stores import comparable, stored_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    with two_nodes() as cluster:
        yield cluster


def workers(address, replicas):
    return RayWorkers(
        address, lambda _: WorkerSettings(replicas=replicas, num_cpus=0.25)
    )


def pair(log, seconds=0.0):
    model = SleepingModel(log=str(log), batch_size=2, seconds=seconds)
    return model, SleepingGenerator(log=str(log), batch_size=2, seconds=seconds)


def chain(model, generator, image, number):
    results: list[Result] = []
    for t in (1, 2):
        context = Subject(f"s{number}", t, "d")
        results.append(
            (
                yield Ask(
                    model, "describe", Conversation.ask(f"s{number}", image), context
                )
            )
        )
        results.append((yield Draw(generator, results[-1].text or "", number, context)))
        assert results[-1].medium is not None
        image = results[-1].medium
    return results


def images(folder, count):
    paths = [
        draw(folder / "images" / f"{number}.png", number) for number in range(count)
    ]
    return [Medium(path, sha256_file(path)) for path in paths]


def run(model, generator, shown, folder, workers=None):
    with CallStore(folder) as store:
        protocols = [
            chain(model, generator, image, number) for number, image in enumerate(shown)
        ]
        results = run_protocols(protocols, store, workers=workers)
    return [[comparable(result) for result in each] for each in results]


@contextmanager
def killing(log, store, cluster):
    """Kill an actor in the middle of a batch, and then a node with all of its actors; yields a dict
    for when, and what the model had been asked and was stored by then."""
    before = {}

    def kill():
        at_work = stored = []
        while not (at_work and stored):
            time.sleep(0.05)
            if log.exists():
                at_work = [shift for shift in shifts(log) if shift.ended is None]
                stored = [
                    f"{row['sample']} {json.loads(row['result'])['text']}"
                    for row in stored_rows(store).values()
                    if row["image"] is None
                ]
        before["stored"] = set(stored)
        before["at"] = time.time()
        os.kill(at_work[-1].pid, signal.SIGKILL)
        time.sleep(1)
        end_node(cluster)

    thread = threading.Thread(target=kill)
    thread.start()
    yield before
    thread.join()
    add_node(cluster)


def test_actors_and_a_node_are_lost_and_no_call_is(cluster, tmp_path):
    shown, log = images(tmp_path, 12), tmp_path / "log"
    with killing(log, tmp_path / "there", cluster) as before:
        there = run(
            *pair(log, seconds=0.5),
            shown,
            tmp_path / "there",
            workers(cluster.address, 2),
        )
    assert there == run(*pair(tmp_path / "alone.log"), shown, tmp_path / "here")
    batches = shifts(log)
    killed = {shift.pid for shift in batches if shift.ended is None}
    assert killed
    assert {shift.pid for shift in batches if shift.ended} - killed
    assert {shift.asked for shift in batches} == {
        shift.asked for shift in shifts(tmp_path / "alone.log")
    }
    after = [shift.asked for shift in batches if shift.began > before["at"]]
    assert after
    assert not before["stored"] & {each for asked in after for each in asked}


def test_sounds_go_to_actors_and_come_back(cluster, tmp_path):
    shown = []
    for item in list(Sounds().items())[::7]:
        (file := tmp_path / f"{item.id}.wav").write_bytes(item.read())
        shown.append(Medium(file, sha256_file(file)))
    pair = Listener(detail="fine"), Synthesiser()
    there = run(*pair, shown, tmp_path / "there", workers(cluster.address, 1))
    assert there == run(*pair, shown, tmp_path / "here")
    assert len({sha256 for chain in there for _, sha256 in chain if sha256}) == 2 * len(
        shown
    )


def test_a_batch_that_takes_every_actor_down_ends_the_run(cluster, tmp_path):
    model, generator = pair(tmp_path / "log")
    deadly = model.model_copy(update={"deadly": "s2 "})
    with pytest.raises(
        WorkersError,
        match=r"5 actors were lost over the batch of 2 calls that begins with d/s2",
    ):
        run(
            deadly,
            generator,
            images(tmp_path, 4),
            tmp_path / "store",
            workers(cluster.address, 1),
        )
    assert {row["sample"] for row in stored_rows(tmp_path / "store").values()} == {
        "s0",
        "s1",
    }


@pytest.mark.parametrize(
    ("needs", "sentence"),
    [
        (
            {"replicas": 2},
            "2 x generators.painter and 2 x models.regions_medium and 1 x models.rubric are at "
            "work at the same time and ask for 5 CPU, of which the Ray cluster has 2; take fewer "
            "replicas or smaller amounts in `workers`",
        ),
        (
            {"num_cpus": 1.5},
            "an actor of generators.painter asks for 1.5 CPU, and no node of the Ray cluster has "
            "more than 1; take less in `workers`",
        ),
        (
            {"resources": {"tpu": 1}},
            "an actor of generators.painter asks for 1 tpu, and no node of the Ray cluster has "
            "more than 0; take less in `workers`",
        ),
    ],
    ids=["all of them", "one on a node", "a resource"],
)
def test_actors_that_do_not_fit_are_refused_before_the_first_call(
    needs, sentence, cluster, tmp_path, monkeypatch
):
    """Also before those of another benchmark, which asks the model alone."""
    monkeypatch.chdir(tmp_path)
    build(make_small(tmp_path))

    def change(params):
        params["collect"] = {"where": "ray", "address": cluster.address}
        entries = [("models", "regions_medium"), ("generators", "painter")]
        for section, name in entries:
            params[section][name] |= {"workers": needs}

    project = changed(tmp_path, change)
    with pytest.raises(WorkersError, match=re.escape(sentence)):
        collect(project, ["regions_medium"])
    assert not stored_rows(project.state)


@pytest.fixture
def ended():
    """The id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_an_actor_removes_what_killed_ones_left(ended, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for process in (ended, os.getpid()):
        (tmp_path / f"{FOLDERS}{process}-x").mkdir()
    _Actor("a:B", None, {}, {}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{FOLDERS}{os.getpid()}-x"]


def test_a_cluster_of_this_machine_leaves_no_folder(ended, tmp_path, monkeypatch):
    """Nor those of a killed run, and of its actors; the folders of others stay."""
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("RAY_TMPDIR", short)
        monkeypatch.setattr("tempfile.tempdir", short)
        for number, process in enumerate((ended, os.getpid())):
            session = Path(short, "ray", f"session_{number}")
            session.mkdir(parents=True)
            (session / f"{FOLDERS}{process}-").touch()
        Path(short, f"{FOLDERS}{ended}-x").mkdir()
        run(
            *pair(tmp_path / "log"),
            images(tmp_path, 1),
            tmp_path / "store",
            workers(None, 1),
        )
        left = {path.name for path in Path(short).rglob("*")}
    assert left == {"ray", "session_1", f"{FOLDERS}{os.getpid()}-"}


def test_a_node_with_another_component_is_refused(cluster, tmp_path):
    model, generator = pair(tmp_path / "log")
    model.spec["identity"] |= {"code": "of yesterday"}
    with pytest.raises(
        ConfigError, match=r"is another component.*identity.code: .of yesterday. → "
    ):
        run(
            model,
            generator,
            images(tmp_path, 1),
            tmp_path / "store",
            workers(cluster.address, 1),
        )


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(
        WorkersError, match=r"Ray cluster at 127\.0\.0\.1:9 cannot be used"
    ):
        run(
            *pair(tmp_path / "log"),
            images(tmp_path, 1),
            tmp_path / "store",
            workers("127.0.0.1:9", 1),
        )

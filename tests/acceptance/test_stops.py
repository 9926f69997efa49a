"""Whatever stops a command, what it has started ends, asks nothing more, and keeps what is paid."""

import signal
import subprocess
import time
from contextlib import contextmanager
from uuid import uuid4

import pytest

from tests.acceptance.service import Service
from tests.acceptance.test_running import asking, kill_all, marked

pytestmark = pytest.mark.slow

PATIENCE = 60.0
IMAGES = 8
AT_ONCE = 4
SHARD = ("collect", "--shard", "0/1", "--into", "shards")
IGNORING = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh", "driftledger")
"""As a script's ``command &`` is started."""
PLAIN = ("driftledger",)


def wait_for(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Make a project with built data, and return it with the port of its service."""
    with Service() as service:
        folder = tmp_path_factory.mktemp("built")
        checkout = asking(service, folder, iterations=1, images=IMAGES)
        limits = {"concurrency": AT_ONCE}
        checkout.params(lambda params: params["models"]["eyes"].update(limits=limits))
        checkout.run("dvc", "repro", "-s", "resolve", "data")
        return checkout, service.port


@pytest.fixture
def service(built):
    with Service(built[1]) as service:
        yield service


@pytest.fixture
def checkout(built, tmp_path):
    return built[0].copy(tmp_path)


@contextmanager
def started(checkout, service, *command):
    """Run a command until the service has its first calls; in the end nothing of it is left."""
    mark = uuid4().hex
    env = checkout.env | {"ACCEPTANCE_RUN": mark}
    log = (checkout.root.parent / "log").open("w")
    process = subprocess.Popen(
        command, cwd=checkout.root, env=env, stdout=log, stderr=log
    )
    try:
        wait_for(lambda: len(service.arrived) == AT_ONCE)
        yield process
        wait_for(lambda: not marked(f"ACCEPTANCE_RUN={mark}"))
    finally:
        kill_all(f"ACCEPTANCE_RUN={mark}")


def said(checkout):
    return (checkout.root.parent / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("prefix", "command", "number", "code"),
    [
        (PLAIN, ("collect",), signal.SIGINT, 130),
        (PLAIN, ("collect",), signal.SIGTERM, 143),
        (PLAIN, ("collect",), signal.SIGHUP, 129),
        (PLAIN, SHARD, signal.SIGTERM, 143),
        (PLAIN, ("stage", "collect", "eyes"), signal.SIGTERM, 143),
        (PLAIN, ("run",), signal.SIGTERM, 143),
        (IGNORING, ("run",), signal.SIGTERM, 143),
        (("nohup", "driftledger"), ("collect",), signal.SIGHUP, 0),
    ],
)
def test_calls_under_way_are_kept_and_no_more_are_made(
    prefix, command, number, code, checkout, service
):
    service.seconds = 2.0
    with started(checkout, service, *prefix, *command) as process:
        process.send_signal(number)
        assert process.wait(PATIENCE) == code, said(checkout)
    calls = AT_ONCE if code else 2 * IMAGES
    assert (len(service.arrived), sum(service.answered.values())) == (calls, calls)
    service.seconds = 0.0
    checkout.driftledger(*(command if command == SHARD else ("collect",)))
    assert set(service.answered.values()) == {1}
    assert service.kinds == {"completions": IMAGES, "generations": IMAGES}


def test_after_a_kill_nothing_more_is_asked(checkout, service):
    """What was under way is lost with the process that waits for it, and asked again."""
    service.allow(0)
    with started(checkout, service, "driftledger", "run") as process:
        process.kill()
        process.wait(PATIENCE)
    service.allow(None)
    checkout.driftledger("collect")
    assert service.kinds == {"completions": IMAGES, "generations": IMAGES}
    assert len(service.arrived) == AT_ONCE + 2 * IMAGES


def test_a_second_signal_drops_the_calls_under_way(checkout, service):
    service.seconds = 10 * PATIENCE
    with started(checkout, service, "driftledger", "collect") as process:
        process.terminate()
        wait_for(lambda: "finishing the calls under way" in said(checkout))
        process.terminate()
        assert process.wait(PATIENCE) == 143

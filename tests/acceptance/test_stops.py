"""Whatever stops a command, what it has started ends, asks nothing more, and keeps what is paid."""

import signal
import subprocess
import time
from uuid import uuid4

import pytest

from tests.acceptance.service import Service
from tests.acceptance.test_running import asking, kill_all, marked

PATIENCE = 60.0
IMAGES = 8
SHARD = ("collect", "--shard", "0/1", "--into", "shards")
IGNORING = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh", "driftledger")
"""As a script's ``command &`` is started."""
PLAIN = ("driftledger",)


def wait_for(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


@pytest.mark.slow
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
    prefix, command, number, code, tmp_path
):
    with Service() as service:
        checkout = asking(service, tmp_path, iterations=1, images=IMAGES)
        checkout.params(
            lambda params: params["models"]["eyes"].update(limits={"concurrency": 4})
        )
        checkout.run("dvc", "repro", "-s", "resolve", "data")
        service.seconds = 2.0
        mark = uuid4().hex
        env = checkout.env | {"ACCEPTANCE_RUN": mark}
        log = (tmp_path / "log").open("w")
        process = subprocess.Popen(
            [*prefix, *command], cwd=checkout.root, env=env, stdout=log, stderr=log
        )
        try:
            wait_for(lambda: len(service.arrived) == 4)
            process.send_signal(number)
            assert process.wait(PATIENCE) == code, (tmp_path / "log").read_text(
                encoding="utf-8"
            )
            wait_for(lambda: not marked(f"ACCEPTANCE_RUN={mark}"))
        finally:
            kill_all(f"ACCEPTANCE_RUN={mark}")
        calls = 4 if code else 2 * IMAGES
        assert (len(service.arrived), sum(service.answered.values())) == (calls, calls)
        service.seconds = 0.0
        checkout.driftledger(*(command if command == SHARD else ("collect",)))
        assert set(service.answered.values()) == {1}
        assert service.kinds == {"completions": IMAGES, "generations": IMAGES}


@pytest.mark.slow
def test_after_a_kill_nothing_more_is_asked(tmp_path):
    """What was under way is lost with the process that waits for it, and asked again."""
    with Service() as service:
        checkout = asking(service, tmp_path, iterations=1, images=IMAGES)
        checkout.params(
            lambda params: params["models"]["eyes"].update(limits={"concurrency": 4})
        )
        service.allow(0)
        process = subprocess.Popen(
            ["driftledger", "run"],
            cwd=checkout.root,
            env=checkout.env,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: len(service.arrived) == 4)
        process.kill()
        process.wait(PATIENCE)
        service.allow(None)
        checkout.driftledger("run")
        assert service.kinds == {"completions": IMAGES, "generations": IMAGES}
        assert len(service.arrived) == 4 + 2 * IMAGES


@pytest.mark.slow
def test_a_second_signal_drops_the_calls_under_way(tmp_path):
    with Service() as service:
        checkout = asking(service, tmp_path, iterations=1, images=IMAGES)
        checkout.run("dvc", "repro", "-s", "resolve", "data")
        service.seconds = 10 * PATIENCE
        command = ["driftledger", "collect"]
        process = subprocess.Popen(
            command,
            cwd=checkout.root,
            env=checkout.env,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: len(service.arrived) == IMAGES)
        process.terminate()
        assert process.stderr is not None
        assert any("finishing the calls under way" in row for row in process.stderr)
        process.terminate()
        assert process.wait(PATIENCE) == 143

"""A process that is killed in the middle of its calls: by the service's own log, no finished call
is made again."""

import json
import os
import re
import signal
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from functools import partial
from io import BytesIO

import pytest
from PIL import Image

pytest.importorskip("openai")

from driftledger.collect.store import CallStore
from driftledger.components.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_of
from tests.collect.chains import EXPECTED, eight_images, run
from tests.support.fakes import SizeGenerator
from tests.support.forked import ended, fork
from tests.support.server import ChatAnswer, Server
from tests.support.stores import stored_rows

DESCRIPTIONS = 24

THREADS = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from driftledger.collect.store import CallStore
from tests.collect.test_store import finished

def store_calls(first):
    for number in range(first, 10**6, 16):
        store.put([finished(number, png=b"\\x89PNG%d" % number)])
        os.write(1, b"%d\\n" % number)

with CallStore(Path(sys.argv[1])) as store, ThreadPoolExecutor(16) as threads:
    list(threads.map(store_calls, range(16)))
"""


def seer(base_url):
    limits = {"concurrency": 2, "max_calls": 1000}
    return OpenAIChat(
        model="vision-1", base_url=base_url, api_key_env=None, limits=limits
    )


def collect(base_url, folder):
    """Three descriptions by a service and three local drawings of each of eight images."""
    images = eight_images(folder / "images")
    generator = SizeGenerator(batch_size=2)
    return run(seer(base_url), generator, images, folder / "store")


def size_of(body):
    """Answer with the size of the image in a request."""
    [url] = re.findall(r"base64,([^\"]+)", json.dumps(body))
    width, height = Image.open(BytesIO(b64decode(url))).size
    return ChatAnswer(f"{width}x{height}")


def drawings(folder):
    """Return the digest of each stored drawing by the key of its call."""
    rows = stored_rows(folder / "store").items()
    return {key: row["image"] for key, row in rows if row["image"]}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the drawings of a run that nobody killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Server(reply=size_of) as server:
        collect(server.base_url, folder)
    return drawings(folder)


def be_killed(base_url, folder, at):
    """Collect, and be killed once so many calls are stored."""
    put = CallStore.put
    stored = []

    def counted(self, finished, spent=None):
        results = put(self, finished, spent)
        stored.extend(results)
        if len(stored) >= at:
            os.kill(os.getpid(), signal.SIGKILL)
        return results

    CallStore.put = counted
    collect(base_url, folder)


@pytest.mark.parametrize("at", [1, 8, 20])
def test_a_killed_run_goes_on_and_repeats_no_finished_call(tmp_path, at, undisturbed):
    with Server(reply=size_of) as server:
        killed = fork(partial(be_killed, server.base_url, tmp_path, at))
        assert ended(killed) == -signal.SIGKILL
        rows = stored_rows(tmp_path / "store")
        assert len(rows) >= at
        answered = sum(row["image"] is None for row in rows.values())
        with CallStore(tmp_path / "store", writes=False) as store:
            attempts = store.spent(seer(server.base_url).fingerprint).attempts
        before = len(server.requests)
        assert before <= attempts <= before + 2
        assert collect(server.base_url, tmp_path) == EXPECTED
        assert drawings(tmp_path) == undisturbed
        # two requests of the killed run may be read after they were counted
        late = len(server.requests) - before - (DESCRIPTIONS - answered)
        assert 0 <= late <= 2
        again = Counter(request.digest for request in server.requests)
        # those that were under way
        assert sum(count - 1 for count in again.values()) <= 2


@pytest.mark.parametrize("lines", [1, 40, 300])
def test_what_was_reported_as_stored_in_a_group_outlives_a_kill(tmp_path, lines):
    command = [sys.executable, "-c", THREADS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as killed:
        reported = [killed.stdout.readline() for _ in range(lines)]
        killed.kill()
        reported += killed.stdout.readlines()
    assert len(reported) >= lines
    with CallStore(tmp_path) as store:
        for number in map(int, reported):
            stored = store.find(sha256_of(number))
            assert stored.medium.path.read_bytes() == b"\x89PNG%d" % number


FAULTS = ("drop", "", "reset", "", "", "drop_midway", "drop")


def test_a_lost_connection_is_tried_again_and_costs_no_finished_call(
    undisturbed, tmp_path
):
    script = [{"times": 1, "fault": fault} for fault in FAULTS]
    with Server(*script, reply=size_of) as server:
        assert collect(server.base_url, tmp_path) == EXPECTED
        assert drawings(tmp_path) == undisturbed
        assert not any(rule["times"] for rule in server.script)
        assert server.answered == DESCRIPTIONS

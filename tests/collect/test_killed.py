"""A process that is killed in the middle of its calls: by the service's own log, no finished call
is made again."""

import signal
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("openai")

from driftledger.collect.call import Ask, Draw
from driftledger.collect.store import CallStore
from driftledger.components.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.types import Conversation, Medium, Subject
from tests.collect.chains import run_protocols
from tests.conftest import draw
from tests.support.fakes import SizeGenerator
from tests.support.server import ChatAnswer, Server
from tests.support.stores import comparable, stored_rows

COUNT = 6

KILLED = """
import os, signal, sys
from pathlib import Path
from driftledger.collect.store import CallStore
from tests.collect.test_killed import collect
put, stored, at = CallStore.put, [], int(sys.argv[3])

def counted(self, finished, spent=None):
    results = put(self, finished, spent)
    stored.extend(results)
    if len(stored) >= at:
        os.kill(os.getpid(), signal.SIGKILL)
    return results

CallStore.put = counted
collect(sys.argv[1], Path(sys.argv[2]))
"""

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


def chain(model, generator, image, number):
    results = []
    for t in (1, 2):
        context = Subject(f"s{number}", t, "d")
        results.append(
            (
                yield Ask(
                    model, "describe", Conversation.ask(f"{number}", image), context
                )
            )
        )
        results.append(
            (yield Draw(generator, f"draw {20 + number}x{10 * t}", number, context))
        )
        assert results[-1].medium is not None
        image = results[-1].medium
    return results


def seer(base_url):
    limits = {"concurrency": 2, "max_calls": 1000}
    return OpenAIChat.model_validate(
        {
            "model": "vision-1",
            "base_url": base_url,
            "api_key_env": None,
            "limits": limits,
        }
    )


def collect(base_url, folder):
    """Two descriptions by a service and two local drawings of each of six images."""
    model = seer(base_url)
    paths = [
        draw(folder / "images" / f"{number}.png", number) for number in range(COUNT)
    ]
    images = [Medium(path, sha256_file(path)) for path in paths]
    with CallStore(folder / "store") as store:
        generator = SizeGenerator(batch_size=2)
        protocols = [
            chain(model, generator, image, number)
            for number, image in enumerate(images)
        ]
        return run_protocols(protocols, store)


def says(request):
    return ChatAnswer("a cat")


@pytest.fixture
def reference(tmp_path):
    with Server(reply=says) as server:
        return rows(collect(server.base_url, tmp_path / "reference"))


def rows(results):
    return [[comparable(result) for result in chain] for chain in results]


@pytest.mark.parametrize("at", [1, 8, 20])
def test_a_killed_run_goes_on_and_repeats_no_finished_call(tmp_path, reference, at):
    with Server(reply=says) as server:
        command = [
            sys.executable,
            "-c",
            KILLED,
            server.base_url,
            str(tmp_path / "killed"),
            str(at),
        ]
        killed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        before = len(server.requests)
        with CallStore(tmp_path / "killed" / "store", writes=False) as store:
            answered = sum(
                row["image"] is None
                for row in stored_rows(tmp_path / "killed" / "store").values()
            )
            assert store.database.count() >= at
            assert (
                before
                <= store.spent(seer(server.base_url).fingerprint).attempts
                <= before + 2
            )
        assert rows(collect(server.base_url, tmp_path / "killed")) == reference
        assert len(server.requests) - before == 2 * COUNT - answered
        again = Counter(request.digest for request in server.requests)
        assert (
            sum(count - 1 for count in again.values()) <= 2
        )  # those that were in flight


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
    tmp_path, reference
):
    with Server(
        *[{"times": 1, "fault": fault} for fault in FAULTS], reply=says
    ) as server:
        assert rows(collect(server.base_url, tmp_path / "shaky")) == reference
        assert not any(rule["times"] for rule in server.script)
        assert server.answered == 2 * COUNT

"""Shards as processes of their own, one of which is killed: the service's own log shows no call twice."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

pytest.importorskip("openai")

from driftledger.collect.spool import spools_in
from driftledger.commands import stages
from driftledger.commands.collect import collect
from driftledger.commands.shards import merge
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.openai_server import OpenAIServer
from tests.support.params import default_params

CHAINS = ["my_images", "seer", "painter"]

SHARD = """
import os, signal, sys
from driftledger.collect.spool import Spool
killed_at, put = int(sys.argv.pop(1)), Spool.put

def counted(self, finished):
    results = put(self, finished)
    if killed_at and self.made >= killed_at and results[-1].text:  # the one call that is under way is stored
        os.kill(os.getpid(), signal.SIGKILL)
    return results

Spool.put = counted
from driftledger.cli import main
main()
"""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, server: OpenAIServer) -> Project:
    """A model behind a service that is asked one call at a time by each process, and a generator of this machine."""
    root = tmp_path / "project"
    for number in range(20, 34):
        draw(root / "my_images" / f"{number}.png", number)
    params = default_params()
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(root / "my_images")}}
    params["question_sets"] = {}
    nothing: dict[str, list[str]] = {
        name: [] for name in ("fidelity", "trac", "descriptions", "question_sets", "mm_sap", "mm_vet", "mme")
    }
    params["run"] |= {**nothing, "datasets": ["my_images"], "genception": ["my_images"]}
    params["run"] |= {"models": ["seer"], "generators": ["painter"]}
    params["genception"] |= {"iterations": 2, "cross_check": []}
    params["models"]["seer"] = {
        **{"provider": "openai", "model": "vision-1", "base_url": server.base_url, "api_key_env": None},
        "limits": {"concurrency": 1},
    }
    params["generators"]["painter"] = {"provider": "painter", "batch_size": 2}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    made = Project(root)
    stages.dataset(made, "my_images")
    return made


def start(project: Project, shard: str, into: Path, killed_at: int = 0) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SHARD, str(killed_at), "collect", "--shard", shard, "--into", str(into)]
    return subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def chains(project: Project) -> dict[str, bytes]:
    stages.run_stage(project, "genception", "chain", CHAINS)
    folder = project.root / "data" / "chains"
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_killed_and_started_again_with_another_number_no_call_is_repeated(
    project: Project, server: OpenAIServer, tmp_path: Path
) -> None:
    collect(project)
    reference, calls = chains(project), Counter(request.digest for request in server.requests)
    assert [*calls.values()] == [1] * 28  # no two samples come to the same call
    project.paths.state.rename(tmp_path / "reference")

    into = tmp_path / "spool"
    first = [start(project, f"{number}/3", into, killed_at=5 if number == 1 else 0) for number in range(3)]
    said = [process.communicate() for process in first]
    assert [process.returncode for process in first] == [0, -signal.SIGKILL, 0], said
    assert len(spools_in(into)) == 3
    for folder in spools_in(into):
        with (folder / "calls.jsonl").open("ab") as file:
            file.write(b'{"call":"' + b"0" * 30)  # as if the machine had gone in the middle of a line

    second = [start(project, f"{number}/2", into) for number in range(2)]
    said = [process.communicate() for process in second]
    assert [process.returncode for process in second] == [0, 0], said

    both = Counter(request.digest for request in server.requests)
    assert both == dict.fromkeys(calls, 2)  # once for the reference, once by all shards together
    assert not project.paths.state.exists()
    merge(project, [into])
    merge(project, [into])
    assert chains(Project(project.root)) == reference
    assert Counter(request.digest for request in server.requests) == both
    with project.store() as store:
        assert {row.made for row in store.rows()} == {1}
        assert store.observations() == {}
        assert store.spent(project.model("seer").fingerprint).attempts == len(calls)

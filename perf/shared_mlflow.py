"""Eight clones that track 20 runs to one MLflow server at once, undisturbed and with kills in between: what is there?

Run as ``python perf/shared_mlflow.py [sqlite] [postgres]``; each clone is a process with a lock file of its own that
pushes all runs. Killed ones begin anew until enough have been killed; then one clone pushes once more, and what the
server shows is compared with what it shows of runs that one clone alone has pushed.
"""

import argparse
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from _report import write

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Experiment  # noqa: E402

from driftledger.tracking import connection, store, turn  # noqa: E402
from driftledger.tracking.content import CURRENT, FINGERPRINT, RunContent  # noqa: E402
from tests.support import postgres  # noqa: E402
from tests.tracking.contents import generator, judge, model, run  # noqa: E402
from tests.tracking.dump import dump  # noqa: E402

CLONES = 8
RUNS = 20
KILLS = 8
EXPERIMENT = "shared"
SPAWN = multiprocessing.get_context("spawn")


def runs() -> list[RunContent]:
    """Of 5 models, 4 generators and a judge: 10 versions."""
    painters = [generator(f"painter{number}", f"a{number}") for number in range(4)]
    models = [model(f"regions{number}", f"c{number}") for number in range(5)]
    pairs = [(painter, each) for painter in painters for each in models]
    return [
        replace(run(f"f{number}", components=(*pair, judge())), name=f"run {number}")
        for number, pair in enumerate(pairs)
    ]


def clone(uri: str, folder: str, experiment: str = EXPERIMENT) -> None:
    """Push all runs, as ``driftledger track`` does."""
    print(store.push(runs(), tracking_uri=uri, experiment=experiment, lock=Path(folder, "track.lock")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--kills", type=int, nargs="+", default=[0, KILLS], help="in one measurement each")
    arguments = parser.parse_args()
    os.environ |= connection.ENVIRONMENT | {"NO_PROXY": "127.0.0.1"}
    results: dict[str, Any] = {"clones": CLONES, "runs": RUNS, "lease_seconds": turn.LEASE}
    for backend in arguments.backends:
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            alone = opened.enter_context(server(backend, folder / "alone"))
            clone(alone, str(folder / "one"))
            expected = shown(alone)
            results[backend] = [
                measured(backend, folder / f"{kills} kills", kills, expected) for kills in arguments.kills
            ]
    write("shared_mlflow", results, libraries=("mlflow", "sqlalchemy", "psycopg"))


def measured(backend: str, folder: Path, kills: int, expected: dict[str, Any]) -> dict[str, Any]:
    with server(backend, folder) as uri:
        started = time.perf_counter()
        codes = together(uri, folder, kills)
        seconds = time.perf_counter() - started
        clone(uri, str(folder / "clone0"))
        counted = {**counts(uri), "is_what_one_clone_shows": shown(uri) == expected}
    told = {"seconds": round(seconds, 1), "ended": dict(sorted(codes.items())), **counted}
    print(f"{backend}, {kills} kills: {told}", flush=True)
    return told


def together(uri: str, folder: Path, kills: int) -> "Counter[str]":
    """All clones at once; once the first run is written, so many are killed at moments drawn by chance, every other
    time the one that is writing, and begin anew."""
    random, codes = Random(18), Counter[str]()
    processes = {f"clone{number}": started(uri, folder / f"clone{number}") for number in range(CLONES)}
    while processes:
        time.sleep(random.uniform(0.5, 2))
        for name in [name for name, each in processes.items() if not each.is_alive()]:
            codes[str(processes.pop(name).exitcode)] += 1
        alive = [name for name, each in processes.items() if each.is_alive()]
        if codes["killed"] < kills and alive and some_run_is_finished(uri):
            now = writer(uri, folder)
            chosen = now if now in alive and codes["killed"] % 2 else random.choice(alive)
            codes["killed"] += 1
            codes["killed while writing"] += chosen == now
            processes[chosen].kill()
            processes[chosen].join()
            processes[chosen] = started(uri, folder / chosen)
    return codes


def some_run_is_finished(uri: str) -> bool:
    client = connection.connect(uri, create=False)
    held = client.get_experiment_by_name(EXPERIMENT)
    return bool(held and client.search_runs([held.experiment_id], "attributes.status = 'FINISHED'", max_results=1))


def writer(uri: str, folder: Path) -> str | None:
    """The clone whose turn it is, by the tags and by the notes that clones keep of their own."""
    held = experiment_of(connection.connect(uri, create=False))
    tags = [(turn._number(value), key) for key, value in held.tags.items() if key.startswith(turn.PREFIX)]
    first = min(((number, key) for number, key in tags if number), default=(0, ""))[1]
    notes = {note.read_text(): note.parent.name for note in folder.glob("clone*/*.writer")}
    return notes.get(first)


def experiment_of(client: MlflowClient) -> Experiment:
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        raise RuntimeError(f"MLflow has no experiment {EXPERIMENT}")
    return found


def started(uri: str, folder: Path) -> Any:
    process = SPAWN.Process(target=clone, args=(uri, str(folder)))
    process.start()
    return process


def counts(uri: str) -> dict[str, Any]:
    """Runs and versions, and how often the most frequent stands there."""
    client = connection.connect(uri, create=False)
    experiment = experiment_of(client)
    found = connection.all_pages(client.search_runs, [experiment.experiment_id])
    versions = connection.all_pages(client.search_model_versions)
    models = connection.all_pages(client.search_logged_models, [experiment.experiment_id])
    return {
        "runs": len(found),
        "current": sum(each.data.tags[CURRENT] == "true" for each in found),
        "finished": sum(each.info.status == "FINISHED" for each in found),
        "versions": len(versions),
        "each_at_most": max(
            *Counter(each.data.tags[FINGERPRINT] for each in found).values(),
            *Counter((each.name, each.tags[FINGERPRINT]) for each in versions).values(),
            *Counter((each.model_type, each.name, each.tags[FINGERPRINT]) for each in models).values(),
        ),
        "tags_left": sum(key.startswith(turn.PREFIX) for key in experiment.tags),
    }


def shown(uri: str) -> dict[str, Any]:
    """What is not in MLflow's trash."""
    held = dump(uri, EXPERIMENT)
    return held | {"runs": [each for each in held["runs"] if each["lifecycle"] == "active"]}


@contextmanager
def server(backend: str, folder: Path) -> Iterator[str]:
    """A real ``mlflow server``, and behind it a new database."""
    folder.mkdir()
    with ExitStack() as opened:
        if backend == "postgres":
            programs = postgres.installed()
            if programs is None:
                raise SystemExit("there is no PostgreSQL server: make postgres")
            held = opened.enter_context(postgres.running(programs)).database("shared")
        else:
            held = f"sqlite:///{folder}/server.db"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "2"]
        command += ["--backend-store-uri", held, "--artifacts-destination", str(folder / "artifacts")]
        log = opened.enter_context((folder / "server.log").open("wb"))
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            answered(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answered(address: str, process: "subprocess.Popen[bytes]") -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while process.poll() is None:
        try:
            with opener.open(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    main()

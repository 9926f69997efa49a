"""What does ``track`` cost beside MLflow's own ``log_batch``, and how does that grow with the runs of an experiment?

Run: python perf/track.py [RUNS ...]  (10, 100 and 1,000 where none are given: a few minutes)

CPU seconds of one process on a new SQLite file each. *Rows*: a run with 3,000 metrics of three components on a dataset
against the same rows given to ``log_batch`` by the thousand, which links them to nothing, and against as many rows as
there are links, each of which names its component; the median of the ratios of several pairs. *Growth*: what a run of
60 metrics takes that is pushed to an experiment of so many, and what a push takes that finds nothing to do: where the
newest ten of them are selected, and where all are.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from _report import write

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from driftledger.tracking import connection, store  # noqa: E402
from driftledger.tracking.content import METRICS_PER_CALL, LoggedMetric, RunContent  # noqa: E402
from tests.tracking.contents import PHOTOS, generator, judge, model, run  # noqa: E402

ROWS, COMPONENTS = 3000, (generator(), model(), judge())
METRICS = 60
PAIRS = 5
LAST = 3
"""Runs whose median is told."""
SELECTED = 10
"""Runs, the newest, where not all are selected."""
EXPERIMENT = "measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=int, default=[10, 100, 1000])
    sizes = sorted(parser.parse_args().runs)
    os.environ |= connection.ENVIRONMENT
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        measured = {"rows": rows(Path(folder)), "growth": growth(Path(folder), sizes)}
    write("track", measured, libraries=("mlflow", "sqlalchemy"))


def rows(folder: Path) -> dict[str, Any]:
    """Of the same metrics, in turn: bare, linked to nothing, and linked to three components."""
    bare, bare_linked, unlinked, linked = [], [], [], []
    for number in range(1 + PAIRS):
        of: tuple[str, ...] = tuple(each.key for each in COMPONENTS)
        bare.append(bare_rows(new_store(folder, f"bare{number}")))
        bare_linked.append(bare_rows(new_store(folder, f"bare_linked{number}"), len(COMPONENTS)))
        unlinked.append(pushed_rows(folder, f"unlinked{number}", ()))
        linked.append(pushed_rows(folder, f"linked{number}", of))
    for each in (bare, bare_linked, unlinked, linked):
        del each[0]  # which prepares MLflow's statements
    found = {
        "metrics": ROWS,
        "components": len(COMPONENTS),
        "log_batch_ms_per_metric": per_metric(bare),
        "log_batch_of_each_link_ms_per_metric": per_metric(bare_linked),
        "unlinked_ms_per_metric": per_metric(unlinked),
        "linked_ms_per_metric": per_metric(linked),
        "unlinked_over_log_batch": ratio(unlinked, bare),
        "linked_over_log_batch": ratio(linked, bare),
        "linked_over_log_batch_of_each_link": ratio(linked, bare_linked),
    }
    print(found, flush=True)
    return found


def metrics(count: int, of: tuple[str, ...]) -> tuple[LoggedMetric, ...]:
    return tuple(LoggedMetric(f"genception/photos/gc_{number}", number / 7, 0, "photos", of) for number in range(count))


def pushed_rows(folder: Path, name: str, of: tuple[str, ...]) -> float:
    """Of a push of all metrics, less that of the same run without any."""
    empty = replace(plain_run("empty"), metrics=())
    full = replace(plain_run("full"), metrics=metrics(ROWS, of))
    uri = new_store(folder, name)
    push(uri, [replace(empty, fingerprint="first", name="first")])  # makes experiment and versions
    without = cpu(lambda: push(uri, [empty]))
    return cpu(lambda: push(uri, [full])) - without


def plain_run(fingerprint: str) -> RunContent:
    return replace(run(fingerprint), components=COMPONENTS, datasets=(PHOTOS,), artifacts={}, traces=tuple, metrics=())


def bare_rows(uri: str, models: int = 0) -> float:
    """Of ``log_batch`` alone; with a row that names it for each of so many models."""
    from mlflow.entities import Metric

    client = connection.connect(uri, create=False)
    experiment = client.create_experiment(EXPERIMENT)
    held = client.create_run(experiment).info.run_id
    linked = [client.create_logged_model(experiment, f"model{number}").model_id for number in range(models)]
    some = [
        Metric(f"{each.key}_of_{place}" if place else each.key, each.value, 1, each.step, model_id=model_id)
        for each in metrics(ROWS, ())
        for place, model_id in enumerate(linked or [None])
    ]

    def log() -> None:
        for start in range(0, len(some), METRICS_PER_CALL):
            client.log_batch(held, metrics=some[start : start + METRICS_PER_CALL], synchronous=True)

    return cpu(log)


def growth(folder: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Over the number of runs that are there, in one store."""
    uri, found = new_store(folder, "growth"), list[dict[str, Any]]()
    some = metrics(METRICS, tuple(each.key for each in COMPONENTS))
    contents = [replace(plain_run(f"f{number}"), metrics=some) for number in range(max(sizes))]
    for size in sizes:
        at: dict[str, Any] = {"runs": size}
        before = size - 2 * LAST
        at |= {f"all_selected_{key}": value for key, value in pushed_last(uri, contents, before, 0).items()}
        at |= pushed_last(uri, contents, size - LAST, SELECTED)
        print(at, flush=True)
        found.append(at)
    for earlier, after in pairwise(found):
        for what in [key.removesuffix("_seconds") for key in earlier if key.endswith("_seconds")]:
            times = after[f"{what}_seconds"] / earlier[f"{what}_seconds"]
            after[f"{what}_exponent"] = round(math.log(times) / math.log(after["runs"] / earlier["runs"]), 2)
    return found


def pushed_last(uri: str, contents: list[RunContent], before: int, selected: int) -> dict[str, float]:
    """What some more runs take one after the other, and then nothing; all are selected where no number is given."""

    def selection(end: int) -> list[RunContent]:
        return contents[max(0, end - selected) if selected else 0 : end]

    push(uri, selection(before))
    new = median(cpu(partial(push, uri, selection(before + number + 1))) for number in range(LAST))
    again = median(cpu(partial(push, uri, selection(before + LAST))) for _ in range(LAST))
    return {"new_run_seconds": round(new, 3), "no_op_seconds": round(again, 3)}


def push(uri: str, contents: list[RunContent]) -> None:
    store.push(contents, tracking_uri=uri, experiment=EXPERIMENT, lock=Path(uri.removeprefix("sqlite:///") + ".push"))


def new_store(folder: Path, name: str) -> str:
    uri = f"sqlite:///{folder}/{name}.db"
    connection.connect(uri, create=True)
    return uri


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    before = time.process_time()
    work()
    return time.process_time() - before


def per_metric(seconds: list[float]) -> float:
    return round(1000 * median(seconds) / ROWS, 3)


def ratio(ours: list[float], theirs: list[float]) -> float:
    return round(median(one / other for one, other in zip(ours, theirs, strict=True)), 2)


if __name__ == "__main__":
    main()

"""What does DVC cost in a run, and how does it grow with stages? ``driftledger run`` beside ``dvc repro``.

Run: python perf/run.py [clean] [nothing] [growth] (half an hour of CPU; of parts that are not named, what was measured
before stays)

*clean* evaluates the default selection in two new clones, once by each. *nothing* runs each again where nothing is to
be done, beside ``dvc repro`` of as many stages that do nothing at all. *growth* runs stages that write one line, of
which the time per stage is told: what is left after that of a project of one stage, by the number of stages. Seconds
are of CPU, of all processes together, since others may share the machine; those of *clean* on the clock as well, since
``driftledger run`` uses two cores, where nobody else does, and what of them models and generators take.
"""

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from _report import FOLDER, machine, rows, write

from driftledger.commands.run import stages_of
from driftledger.core.files import write_text
from driftledger.project.project import Project

ROOT = Path(__file__).parents[1]
WAYS = {
    "dvc repro": ("dvc", "repro"),
    "driftledger run": (sys.executable, "-P", "-m", "driftledger.repro"),
}
RUN = {"dvc repro": ("dvc", "repro"), "driftledger run": ("driftledger", "run")}
STAGES = {"dvc repro": (100, 300), "driftledger run": (100, 300, 1000)}
"""DVC alone would take an hour for a thousand."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="only these")
    parser.add_argument("--most", type=int, default=1000, help="no project of more stages, in growth")
    asked = parser.parse_args()
    parts = asked.parts or list(PARTS)
    before = (row["results"] for row in rows(FOLDER / "run.json") if row["machine"] == machine())
    results: dict[str, Any] = next(before, {})
    with tempfile.TemporaryDirectory(prefix="driftledger-", ignore_cleanup_errors=True) as name:
        for part in PARTS:
            if part in parts:
                results[part] = PARTS[part](Path(name), asked.most)
                print(part, results[part], flush=True)
    write("run", results, libraries=("dvc", "ruamel.yaml"))


def cpu(command: Sequence[str], folder: Path) -> float:
    """Seconds of CPU that a command and all that it starts take."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DVC_SITE_CACHE_DIR": str(folder.parent / f"site of {folder.name}"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{command} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def clone(top: Path, way: str) -> Path:
    folder = top / way.replace(" ", "_")
    if not folder.is_dir():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def clean(top: Path, _: int) -> dict[str, Any]:
    took, clock, components = {}, {}, {}
    for way, command in RUN.items():
        folder, began = clone(top, way), time.monotonic()
        took[way] = round(cpu(command, folder), 1)
        clock[way] = round(time.monotonic() - began, 1)
        components[way] = round(in_components(folder), 1)
    stages = len(stages_of(Project(ROOT)))
    return {"stages": stages, "cpu_seconds": took, "clock_seconds": clock, "seconds_in_components": components}


def in_components(folder: Path) -> float:
    """Seconds that models and generators took for all calls, by the call store; where nobody else uses a core, these
    are seconds of CPU."""
    with closing(sqlite3.connect(folder / ".driftledger/calls.db")) as store:
        return float(store.execute("SELECT SUM(seconds) FROM calls").fetchone()[0])


def nothing(top: Path, _: int) -> dict[str, Any]:
    """After :func:`clean`, in the same clones; without it, they are evaluated first."""
    stages = len(stages_of(Project(ROOT)))
    took = {}
    for way, command in RUN.items():
        folder = clone(top, way)
        cpu(command, folder)
        took[way] = round(cpu(command, folder), 2)
    bare = trivial(top / "bare", stages)
    cpu(WAYS["driftledger run"], bare)
    took["bare dvc repro"] = round(cpu(WAYS["dvc repro"], bare), 2)
    return {"stages": stages, "cpu_seconds": took}


def growth(top: Path, most: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for way, command in reversed(WAYS.items()):
        alone = cpu(command, trivial(top / f"{way} 1", 1))
        told[way] = {
            str(count): round((cpu(command, trivial(top / f"{way} {count}", count)) - alone) / (count - 1), 3)
            for count in STAGES[way]
            if count <= most
        }
    return {"cpu_seconds_per_stage": told}


def trivial(folder: Path, count: int) -> Path:
    """A project of so many stages, each of which writes a line into a folder of its own."""
    folder.mkdir(parents=True)
    for command in (("git", "init", "--quiet"), ("dvc", "init", "--quiet")):
        cpu(command, folder)
    settings = {"names": [f"s{number}" for number in range(count)], "read": {f"k{n}": n for n in range(100)}}
    write_text(folder / "params.yaml", yaml.safe_dump(settings))
    write_text(folder / "dep", "x\n")
    stage = {
        "matrix": {"name": "${names}"},
        "cmd": "mkdir -p out/${item.name} && echo ${item.name} > out/${item.name}/file",
        "deps": ["dep"],
        "params": ["read.k1", "read.k2"],
        "outs": ["out/${item.name}/file"],
    }
    write_text(folder / "dvc.yaml", yaml.safe_dump({"stages": {"write": stage}}))
    return folder


PARTS: dict[str, Callable[[Path, int], dict[str, Any]]] = {"clean": clean, "nothing": nothing, "growth": growth}

if __name__ == "__main__":
    main()

"""``dvc repro`` killed at random moments: does ``make run`` always go on, and is any call made twice?

Run as ``python -m lab.kills --count 100`` in the top folder; it writes ``reports/perf/kills.json``. A small project is
evaluated in a folder of its own, again and again; each ``make run`` there is ended by SIGKILL, until one comes to its
end before its moment. All it has written must then be what an undisturbed run writes, and a new project begins.

What was finished before a kill is not done again, so that moments in the first half of a run's time reach all of it.
Killed are the whole group of processes, ``dvc`` alone, whose stage goes on without it, or any one below it. Every fifth
kill is aimed: at the moment in which DVC has emptied its ``.dvc/tmp/rwlock`` and not written it yet.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import psutil  # type: ignore[import-untyped]  # comes with DVC
import typer
import yaml
from PIL import Image

from driftledger.benchmarks.registry import benchmark_names, lock_files
from driftledger.core.files import write_json
from driftledger.project.settings import PARAMS
from lab.entry import new_app, run

RESULTS = "reports/perf/kills.json"
RUN = ("make", "--assume-old=.venv/installed", "run")
"""As people type it, with what is installed already."""

Victim = Literal["all", "dvc", "one"]
VICTIMS: tuple[Victim, ...] = ("all", "dvc", "one")
_AIMED = 5
_RWLOCK = Path(".dvc/tmp/rwlock")
_PATIENCE = 600

app = new_app(__doc__ or "")


class Project:
    """A small project in a folder of its own: one model, one generator, eight images, one benchmark."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = os.environ | {
            "DVC_SITE_CACHE_DIR": str(root.parent / "site"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def make(self, repository: Path) -> "Project":
        """Copy what a project has, select little of it, and commit that."""
        self.root.mkdir(parents=True)
        pipelines = [name.replace(".lock", ".yaml") for name in lock_files()]
        for name in (*pipelines, PARAMS, "Makefile", ".gitignore", ".dvcignore", ".dvc/config"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repository / name, self.root / name)
        shutil.copytree(repository / "data" / "leaderboards", self.root / "data" / "leaderboards")
        _select(self.root / PARAMS)
        for number in range(8):
            file = self.root / "images" / f"{number % 2}" / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.linear_gradient("L").rotate(40 * number).convert("RGB").resize((96, 72)).save(file)
        for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "a project")):
            author = ("-c", "user.name=kills", "-c", "user.email=kills@localhost")
            subprocess.run(["git", *author, *command], cwd=self.root, env=self.environment, check=True)
        return self

    def start(self, log: Path) -> "subprocess.Popen[bytes]":
        """``make run``, as the head of a group of processes."""
        with log.open("wb") as told:
            return subprocess.Popen(
                RUN, cwd=self.root, env=self.environment, stdout=told, stderr=told, start_new_session=True
            )

    def outputs(self) -> dict[str, bytes]:
        """Every output and every lock, by its path."""
        files = [file for top in ("data", "reports") for file in (self.root / top).rglob("*") if file.is_file()]
        files += [file for name in lock_files() if (file := self.root / name).is_file()]
        return {str(file.relative_to(self.root)): file.read_bytes() for file in files}

    def calls(self) -> tuple[int, int]:
        """How many calls are stored, and how often they were made in all."""
        return self._row(self.root / ".driftledger" / "calls.db", "SELECT count(*), coalesce(sum(made), 0) FROM calls")

    def runs(self) -> tuple[int, int]:
        """How many runs MLflow shows, and how many of these are finished."""
        shown = "SELECT count(*), coalesce(sum(status = 'FINISHED'), 0) FROM runs WHERE lifecycle_stage = 'active'"
        return self._row(self.root / "mlflow.db", shown)

    def rwlock_is_unreadable(self) -> bool:
        """Whether every ``dvc repro`` would now fail."""
        try:
            json.loads((self.root / _RWLOCK).read_bytes())
        except FileNotFoundError:
            return False
        except ValueError:
            return True
        return False

    def _row(self, file: Path, query: str) -> tuple[int, int]:
        with closing(sqlite3.connect(file, timeout=60)) as db:
            first, second = db.execute(query).fetchone()
            return first, second


def _select(params: Path) -> None:
    chosen = yaml.safe_load(params.read_text(encoding="utf-8"))
    chosen["run"] |= {name: [] for name in benchmark_names() if name in chosen["run"]}
    chosen["run"] |= {"datasets": ["mine"], "genception": ["mine"], "models": ["regions_medium"], "question_sets": []}
    chosen["datasets"] = {"mine": {"provider": "image_folder", "path": "images"}}
    chosen["genception"] |= {"iterations": 3, "cross_check": ["regions_medium"]}
    chosen["genception"]["bootstrap"]["resamples"] = 200
    params.write_text(yaml.safe_dump(chosen, sort_keys=False), encoding="utf-8")


def _from_dvc_on(head: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The ``dvc`` that runs now, then the processes below it."""
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(head.pid).children(recursive=True):
            if any(Path(word).name == "dvc" for word in process.cmdline()[:3]):
                return [process, *process.children(recursive=True)]
    return []


def _kill(head: "subprocess.Popen[bytes]", victim: Victim, lots: random.Random) -> None:
    """End the group, or the ``dvc`` in it, or one below that; where there is no such process now, the group."""
    dvc, *below = _from_dvc_on(head) or [None]
    chosen = dvc if victim == "dvc" or not below else lots.choice(below)
    if victim == "all" or chosen is None:
        os.killpg(head.pid, signal.SIGKILL)
        return
    with suppress(psutil.NoSuchProcess):
        chosen.kill()


def _wait_for_the_moment(head: "subprocess.Popen[bytes]", seconds: float, rwlock: Path | None) -> bool:
    """Until the time has come and, with a file, it is empty; False where the run has ended before that."""
    with suppress(subprocess.TimeoutExpired):
        head.wait(seconds)
        return False
    while rwlock is not None and head.poll() is None:
        with suppress(FileNotFoundError):
            if rwlock.stat().st_size == 0:
                return True
    return head.poll() is None


def _differences(project: Project, expected: dict[str, bytes]) -> list[str]:
    found = project.outputs()
    return sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))


@app.command()
def kills(
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the moments and the victims.")] = 18,
    minutes: Annotated[float, typer.Option(help="Begin no project after so many.")] = 240.0,
) -> None:
    """Kill, go on, compare; exit code 1 where a run did not go on, differed, or made a call again."""
    lots, repository, end = random.Random(seed), Path.cwd(), time.monotonic() + 60 * minutes
    told: Counter[str] = Counter()
    stuck: list[str] = []
    different: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        log = Path(folder) / "log"
        undisturbed = Project(Path(folder) / "undisturbed" / "project").make(repository)
        began = time.monotonic()
        assert undisturbed.start(log).wait(_PATIENCE) == 0, log.read_text(encoding="utf-8")
        duration, expected = time.monotonic() - began, undisturbed.outputs()
        while told["kills"] < count and not stuck and time.monotonic() < end:
            project = Project(Path(folder) / f"{told['projects']}" / "project").make(repository)
            told["projects"] += 1
            while True:
                told["unreadable"] += project.rwlock_is_unreadable()
                head = project.start(log)
                victim = lots.choice(VICTIMS)
                rwlock = project.root / _RWLOCK if lots.randrange(_AIMED) == 0 else None
                if told["kills"] < count and _wait_for_the_moment(head, lots.uniform(0, duration / 2), rwlock):
                    _kill(head, "dvc" if rwlock else victim, lots)
                    told["kills"] += 1
                    told["aimed" if rwlock else victim] += 1
                    with suppress(subprocess.TimeoutExpired):
                        head.wait(_PATIENCE)
                    continue
                if head.wait(_PATIENCE) != 0:
                    stuck.append(log.read_text(encoding="utf-8")[-2000:])
                break
            if stuck:
                break
            stored, made = project.calls()
            told["again"] += made - stored
            told["lost"] += undisturbed.calls()[0] - stored
            told["other_runs"] += project.runs() != undisturbed.runs()
            different |= {*_differences(project, expected)}
            print(f"{told['kills']} kills, {told['projects']} projects: {dict(told)}", flush=True)
            shutil.rmtree(project.root.parent, ignore_errors=True)
    results: dict[str, Any] = {
        "kills": told["kills"],
        "of": {name: told[name] for name in (*VICTIMS, "aimed")},
        "projects": told["projects"],
        "seconds_undisturbed": round(duration, 1),
        "rwlock_left_unreadable": told["unreadable"],
        "did_not_go_on": len(stuck),
        "calls_made_again": told["again"],
        "calls_lost": told["lost"],
        "files_that_differ": sorted(different),
        "projects_with_other_runs_in_mlflow": told["other_runs"],
    }
    write_json(repository / RESULTS, results)
    print(json.dumps(results, indent=2), *stuck, sep="\n")
    raise typer.Exit(1 if stuck or different or told["again"] or told["lost"] or told["other_runs"] else 0)


if __name__ == "__main__":
    run(app)

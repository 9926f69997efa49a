"""``dvc repro`` killed at random moments: does ``make run`` always go on, and is any call made twice?

Run as ``python -m lab.kills --count 100`` in the top folder; it writes ``reports/perf/kills.json``. A small project is
evaluated in a folder of its own, again and again; each ``make run`` there is ended by SIGKILL, until one comes to its
end before its moment. All it has written must then be what an undisturbed run writes, and a new project begins.

What was finished before a kill is not done again, so that a run's first moments reach, kill by kill, all of it.
Killed are the whole group of processes, ``dvc`` alone, whose stage goes on without it, or any one below it. In every
fourth run ``dvc`` ends itself so, in a random one of the moments in which it has emptied its ``.dvc/tmp/rwlock`` and
has not written it yet: by chance, one kill in twenty meets them.
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

from driftledger.benchmarks.registry import benchmark_names
from driftledger.commands.run import REPRO
from driftledger.core.files import write_json, write_text
from driftledger.project.rwlock import FILES
from driftledger.project.settings import PARAMS
from lab.entry import new_app, run

RESULTS = "reports/perf/kills.json"
RUN = ("make", "--assume-old=.venv/installed", "run")
"""As people type it, with what is installed already."""

Victim = Literal["all", "dvc", "one"]
VICTIMS: tuple[Victim, ...] = ("all", "dvc", "one")
SEED = 18
"""Of the moments and the victims."""
_AIMED = 4
_WRITES = 8
_PATIENCE = 600

_AIM = """
import json, os, signal

left, dump = int(os.environ["KILLED_AT_WRITE"]), json.dump


def dump_or_die(value, file, **how):
    global left
    if str(getattr(file, "name", "")).endswith("/.dvc/tmp/rwlock"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    dump(value, file, **how)


json.dump = dump_or_die
"""
"""Python runs it at its start, from ``sitecustomize.py`` in a folder of ``PYTHONPATH``."""

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
        pipelines = ["dvc.yaml"]
        for name in (*pipelines, PARAMS, "Makefile", ".gitignore", ".dvcignore", ".dvc/config"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repository / name, self.root / name)
        _select(self.root / PARAMS)
        for number in range(8):
            file = self.root / "images" / f"{number % 2}" / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.linear_gradient("L").rotate(40 * number).convert("RGB").resize((96, 72)).save(file)
        for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "a project")):
            author = ("-c", "user.name=kills", "-c", "user.email=kills@localhost")
            subprocess.run(["git", *author, *command], cwd=self.root, env=self.environment, check=True)
        return self

    def start(self, log: Path, at_write: int = 0) -> "subprocess.Popen[bytes]":
        """``make run``, as the head of a group of processes.

        Args:
            at_write: which writing of its lock file ends ``dvc``, the first one being 1; 0 lets it live.
        """
        environment = self.environment
        if at_write:
            aim = self.root.parent / "aim" / "sitecustomize.py"
            write_text(aim, _AIM)
            path = os.pathsep.join(filter(None, (str(aim.parent), environment.get("PYTHONPATH"))))
            environment = environment | {"PYTHONPATH": path, "KILLED_AT_WRITE": str(at_write)}
        with log.open("wb") as told:
            return subprocess.Popen(
                RUN, cwd=self.root, env=environment, stdout=told, stderr=told, start_new_session=True
            )

    def outputs(self) -> dict[str, bytes]:
        """Every output and every lock, by its path."""
        files = [file for top in ("data", "reports") for file in (self.root / top).rglob("*") if file.is_file()]
        files += [file for name in ("dvc.lock",) if (file := self.root / name).is_file()]
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
            json.loads((self.root / FILES[0]).read_bytes())
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
    params.write_text(yaml.safe_dump(chosen, sort_keys=False), encoding="utf-8")


def _from_dvc_on(head: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The ``dvc`` that runs now, then the processes below it."""
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(head.pid).children(recursive=True):
            if any(Path(word).name in ("dvc", REPRO) for word in process.cmdline()[:4]):
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


class Trial:
    """One project after the other, each killed until it comes to its end, and compared with an undisturbed one."""

    def __init__(self, repository: Path, folder: Path, count: int, seconds: float, minutes: float) -> None:
        self._repository, self._folder, self._most = repository, folder, count
        self._seconds, self._end = seconds, time.monotonic() + 60 * minutes
        self._lots = random.Random(SEED)
        self._log = folder / "log"
        self._told: Counter[str] = Counter()
        self._stuck: list[str] = []
        self._different: set[str] = set()
        self._undisturbed = Project(folder / "undisturbed" / "project").make(repository)
        assert self._undisturbed.start(self._log).wait(_PATIENCE) == 0, self._log.read_text(encoding="utf-8")

    @property
    def is_over(self) -> bool:
        return self._told["kills"] >= self._most or bool(self._stuck) or time.monotonic() > self._end

    def go_through_a_project(self) -> None:
        """Kill, go on, and compare where it has come to its end."""
        project = Project(self._folder / f"{self._told['projects']}" / "project").make(self._repository)
        self._told["projects"] += 1
        while (ended := self._run(project)) is None:
            self._told["unreadable"] += project.rwlock_is_unreadable()
        if ended == 0:
            self._compare(project)
        else:
            self._stuck.append(self._log.read_text(encoding="utf-8")[-2000:])
        shutil.rmtree(project.root.parent, ignore_errors=True)

    def _run(self, project: Project) -> int | None:
        """The exit code of ``make run``; None if it was killed."""
        if self.is_over:
            return project.start(self._log).wait(_PATIENCE)
        if self._lots.randrange(_AIMED) == 0:
            code = project.start(self._log, at_write=self._lots.randint(1, _WRITES)).wait(_PATIENCE)
            if not project.rwlock_is_unreadable():
                return code
            self._count_kill("aimed")
            return None
        head, victim = project.start(self._log), self._lots.choice(VICTIMS)
        with suppress(subprocess.TimeoutExpired):
            return head.wait(self._lots.uniform(0, self._seconds))
        _kill(head, victim, self._lots)
        head.wait(_PATIENCE)
        self._count_kill(victim)
        return None

    def _count_kill(self, victim: str) -> None:
        self._told["kills"] += 1
        self._told[victim] += 1
        print(f"{self._told['kills']} of {self._most} kills, {self._told['projects']} projects", flush=True)

    def _compare(self, project: Project) -> None:
        (stored, made), (expected, _) = project.calls(), self._undisturbed.calls()
        self._told["again"] += made - stored
        self._told["lost"] += expected - stored
        self._told["other_runs"] += project.runs() != self._undisturbed.runs()
        mine, theirs = project.outputs(), self._undisturbed.outputs()
        self._different |= {name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)}

    def results(self) -> dict[str, Any]:
        return {
            "kills": self._told["kills"],
            "of": {name: self._told[name] for name in (*VICTIMS, "aimed")},
            "projects": self._told["projects"],
            "within_seconds": self._seconds,
            "rwlock_left_unreadable": self._told["unreadable"],
            "did_not_go_on": self._stuck,
            "calls_made_again": self._told["again"],
            "calls_lost": self._told["lost"],
            "files_that_differ": sorted(self._different),
            "projects_with_other_runs_in_mlflow": self._told["other_runs"],
        }


WRONG = ("did_not_go_on", "calls_made_again", "calls_lost", "files_that_differ", "projects_with_other_runs_in_mlflow")


@app.command()
def kills(
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    seconds: Annotated[float, typer.Option(help="The latest moment of a kill.")] = 15.0,
    minutes: Annotated[float, typer.Option(help="None after so many.")] = 240.0,
) -> None:
    """Kill, go on, compare; exit code 1 where a run did not go on, differed, or made a call again."""
    repository = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as folder:
        trial = Trial(repository, Path(folder), count, seconds, minutes)
        while not trial.is_over:
            trial.go_through_a_project()
    results = trial.results()
    write_json(repository / RESULTS, results)
    print(json.dumps(results, indent=2))
    raise typer.Exit(1 if any(results[name] for name in WRONG) else 0)


if __name__ == "__main__":
    run(app)

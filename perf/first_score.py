"""From nothing to the first score of somebody's own images: which commands, and how long each takes.

Run: python perf/first_score.py (a few minutes, 1 GB of disk)

The wheel is built and installed by pip into an empty environment, from an index that has been asked before: what it
downloads is in pip's cache after a first installation, which is not measured. Ten photographs that come with
scikit-image and scikit-learn are in a folder of an empty Git repository, outside of this one. The first score is there
when the first score file is.
"""

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _report import write

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.wheels import build_wheel, new_environment, photograph  # noqa: E402

IMAGES = 10
MOST_COMMANDS = 4


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="driftledger-") as name:
        folder = Path(name)
        wheel = build_wheel(ROOT, folder / "wheel")
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python")
        what = ("install", "--constraint", str(ROOT / "requirements.txt"), str(wheel))
        for environment in ("before", "measured"):
            new_environment(folder / environment)
            install = (*pip, str(folder / environment / "bin" / "python"), *what)
            installed = step(install, "pip install driftledger", folder, folder)
        repository = folder / "repository"
        photograph(repository / "photos", IMAGES)
        step(("git", "init", "--quiet"), "git init", repository, folder)
        command = str(folder / "measured" / "bin" / "driftledger")
        steps = [installed]
        steps.append(
            step((command, "init", "--images", "photos"), "driftledger init --images photos", repository, folder)
        )
        first = FirstScore(repository)
        steps.append(step((command, "run"), "driftledger run", repository, folder))
        after_start = first.seconds()
        scores = sorted((repository / "reports" / "scores" / "genception").glob("*/*/*/*/score.json"))
        run = "/".join(scores[0].parent.parts[-3:])
        steps.append(step((command, "audit", run), "driftledger audit MODEL/GENERATOR/ENCODER", repository, folder))
    before = sum(each["seconds"] for each in steps[:2])
    results = {
        "images": IMAGES,
        "commands_to_the_first_score": 3,
        "steps": steps,
        "scores": len(scores),
        "seconds_to_the_first_score": round(before + after_start, 1),
        "seconds_in_all": round(sum(each["seconds"] for each in steps), 1),
    }
    for each in steps:
        print(f"{each['command']:<44}{each['seconds']:>8} s{each['cpu_seconds']:>8} s of a processor")
    print(f"first score after {results['seconds_to_the_first_score']} s, all after {results['seconds_in_all']} s")
    if len(steps) > MOST_COMMANDS:
        raise RuntimeError(f"more than {MOST_COMMANDS} commands")
    write("first_score", results, libraries=("dvc", "mlflow", "numpy", "pip"))


class FirstScore:
    """Watches for the first score file of a repository from the moment that it is made."""

    def __init__(self, repository: Path) -> None:
        self._folder = repository / "reports" / "scores"
        self._started = time.perf_counter()
        self._seconds = float("nan")
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def seconds(self) -> float:
        """How long after the start it was there; call it when the run is over.

        Raises:
            RuntimeError: there is no score.
        """
        self._thread.join(timeout=1)
        if self._thread.is_alive():
            raise RuntimeError("the run has written no score")
        return self._seconds

    def _watch(self) -> None:
        while not any(self._folder.rglob("score.json")):
            time.sleep(0.05)
        self._seconds = time.perf_counter() - self._started


def step(command: Sequence[str], shown: str, at: Path, home: Path) -> dict[str, Any]:
    """Run a command as somebody whose environment knows nothing of this repository."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_")) or name == "TMPDIR"}
    env = kept | {
        "PATH": f"{Path(command[0]).parent}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(home) if at != home else os.environ["HOME"],  # pip's cache is the user's
        "DVC_SITE_CACHE_DIR": str(home / "site"),
        "DVC_NO_ANALYTICS": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=at, env=env, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{shown} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"command": shown, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)}


if __name__ == "__main__":
    main()

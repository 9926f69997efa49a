"""What does a command cost before and beside its work? CPU seconds of commands in a checkout that is evaluated.

Run: python perf/start.py [--checkout FOLDER]  (after 'make run' there; three minutes)

Each command is a process of its own, its children among it; the least of several is told, since whatever else a
machine does only adds. ``python -c pass`` and ``dvc --version`` are measured beside them, in turn. The stage is asked
for data that nobody has, so that it starts, reads params.yaml and says so in a sentence.
"""

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from _report import write

ROUNDS = 5
MOST = 3
"""Seconds of CPU above which a command is measured twice."""


class Measured(NamedTuple):
    """A command, the goal for it in seconds of CPU, and how it ends."""

    words: Sequence[str]
    goal: float | None = None
    code: int = 0


def commands(run: str, other: str) -> dict[str, Measured]:
    """By what they are called in the report."""
    ours = Path(sys.executable).with_name("driftledger")
    return {
        "python -c pass": Measured([sys.executable, "-c", "pass"]),
        "dvc --version": Measured([str(Path(sys.executable).with_name("dvc")), "--version"]),
        "--version": Measured([str(ours), "--version"], 0.2),
        "--help": Measured([str(ours), "--help"], 0.2),
        "stage": Measured([str(ours), "stage", "dataset", "nobody"], code=2),
        "audit": Measured([str(ours), "audit", run], 1),
        "compare": Measured([str(ours), "compare", run, other], 1),
        "plan": Measured([str(ours), "plan"], 1),
        "verify, one run": Measured([str(ours), "verify", run], 5),
        "verify, all": Measured([str(ours), "verify"], 8),
        "track, nothing to do": Measured([str(ours), "track"], 0.5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[1])
    checkout = parser.parse_args().checkout.resolve()
    os.environ |= {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    run, other = runs(checkout)
    measured = commands(run, other)
    cpu(measured["track, nothing to do"], checkout)  # which may have something to do
    least = dict.fromkeys(measured, 0.0)
    for number in range(ROUNDS):
        for name, each in measured.items():
            if number < 2 or least[name] < MOST:
                seconds = cpu(each, checkout)
                least[name] = min(least[name], seconds) if number else seconds
    results = {
        name: {"cpu_seconds": round(least[name], 3)} | ({} if each.goal is None else {"goal": each.goal})
        for name, each in measured.items()
    }
    for name, told in results.items():
        print(f"{name:<22} {told}")
    write("start", {"commands": results}, libraries=("dvc", "mlflow", "typer", "pydantic"))


def runs(checkout: Path) -> tuple[str, str]:
    """Two runs that params.yaml selects there, which differ in the model."""
    from driftledger.project.project import Project

    first, *rest = Project(checkout, own_code=True).combinations
    other = next(each for each in rest if each.model != first.model)
    return "/".join(first), "/".join(other)


def cpu(command: Measured, checkout: Path) -> float:
    """Seconds of CPU of the command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command.words, cwd=checkout, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != command.code:
        raise SystemExit(
            f"{' '.join(command.words)} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()

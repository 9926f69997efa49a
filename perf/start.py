"""What do commands cost before and beside their work? CPU seconds of commands in a checkout that is evaluated.

Run: python perf/start.py [FOLDER]  (after 'make run' there; three minutes)

Each command is a process of its own; the least of several counts, since whatever else a machine does only adds.
``dvc --version`` is measured beside them, in turn.
"""

import argparse
import sys
from pathlib import Path

from _report import ROOT, quiet, took, write

from driftledger.project.project import Project

ROUNDS = 5
LONG = 3
"""Seconds of CPU above which a command is measured twice."""
GOALS = {"--version": 0.2, "--help": 0.2, "audit": 1, "compare": 1, "plan": 1}
GOALS |= {"verify, one run": 5, "verify, all": 8, "track, nothing to do": 0.5}
"""Seconds of CPU."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?", default=ROOT)
    checkout = parser.parse_args().checkout.resolve()
    first, *rest = Project(checkout, own_code=True).combinations
    run, other = ("/".join(each) for each in (first, next(each for each in rest if each.model != first.model)))
    words = {"audit": ["audit", run], "compare": ["compare", run, other], "verify, one run": ["verify", run]}
    words |= {"verify, all": ["verify"], "track, nothing to do": ["track"]}
    ours, dvc = (str(Path(sys.executable).with_name(name)) for name in ("driftledger", "dvc"))
    commands = {name: [ours, *words.get(name, [name])] for name in GOALS}
    commands["dvc --version"] = [dvc, "--version"]
    environment = quiet(checkout)
    took(commands["track, nothing to do"], checkout, environment)  # which may have something to do
    least: dict[str, float] = {}
    for number in range(ROUNDS):
        for name, command in commands.items():
            if number < 2 or least[name] < LONG:
                seconds = took(command, checkout, environment).cpu_seconds
                least[name] = min(least.get(name, seconds), seconds) if number else seconds
    results = {
        name: {"cpu_seconds": round(seconds, 3)} | ({"goal": GOALS[name]} if name in GOALS else {})
        for name, seconds in least.items()
    }
    write("start", {"commands": results}, libraries=("dvc", "mlflow", "typer", "pydantic"))


if __name__ == "__main__":
    main()

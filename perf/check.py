"""Bundles and their checker: how large, how long, how much memory, what came of each line, how much code to read.

Run: python perf/check.py RUN... (in an evaluated checkout; a minute a run)

The checker runs as a process of its own, from a copy of its folder with nothing else of this repository on its path.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _report import write

from driftledger.commands.ask import sources
from driftledger.ledger.audit import find_run
from driftledger.ledger.bundle import write_bundle
from driftledger.project.project import Project

CHECKER = Path(__file__).parents[1] / "src" / "driftledger_check"
SECONDS = 10
PROGRAM = """
import pathlib, sys
from driftledger_check.cli import main
try:
    main()
finally:  # of this process alone, which a fork of a large one does not tell by its resource usage
    print(next(line for line in pathlib.Path("/proc/self/status").open() if line.startswith("VmHWM")), file=sys.stderr)
"""


def main(runs: list[str]) -> None:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        shutil.copytree(CHECKER, Path(folder) / "alone" / CHECKER.name)
        for run in runs:
            for name, images in ((run, True), (f"{run}, without images", False)):
                results[name] = measure(Path(folder), run, images=images)
                print(name, results[name])
    write("check", {"runs": results, "lines of the checker": lines_of_code()}, libraries=("numpy", "pillow"))
    if slow := [name for name, each in results.items() if each["check_cpu_s"] > SECONDS]:
        raise RuntimeError(f"checking took more than {SECONDS} s of CPU: {slow}")


def measure(folder: Path, run: str, *, images: bool) -> dict[str, Any]:
    """Bundle a run and check it."""
    file = folder / "score.zip"
    file.unlink(missing_ok=True)
    started, busy = time.perf_counter(), time.process_time()
    project = Project(Path.cwd())
    write_bundle(project, find_run(sources(project), run), file, images=images)
    written, cpu = time.perf_counter() - started, time.process_time() - busy
    command = [sys.executable, "-c", PROGRAM, str(file), "--json"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "alone"), "OMP_NUM_THREADS": "1"}
    started = time.perf_counter()
    with (folder / "said").open("w") as said, (folder / "memory").open("w") as memory:
        process = subprocess.Popen(command, stdout=said, stderr=memory, env=environment, cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, told = time.perf_counter() - started, json.loads((folder / "said").read_text())
    if process.returncode not in (0, 1):
        raise RuntimeError(f"the checker ended with {process.returncode}")
    return {
        "mb": round(file.stat().st_size / 1e6, 1),
        "write_s": round(written, 1),
        "write_cpu_s": round(cpu, 1),
        "check_s": round(seconds, 1),
        "check_cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "check_mb": round(int((folder / "memory").read_text().split()[1]) / 1e3),
        **{status: told["counts"].get(status, 0) for status in ("reproduced", "differs", "not checkable")},
    }


def lines_of_code() -> dict[str, int]:
    """Lines of the checker by its parts; all of them, docstrings and blanks too."""
    files = {file: len(file.read_text().splitlines()) for file in CHECKER.rglob("*.py")}
    compute = sum(lines for file, lines in files.items() if file.parent != CHECKER)
    return {"compute": compute, "all": sum(files.values())}


if __name__ == "__main__":
    main(sys.argv[1:])

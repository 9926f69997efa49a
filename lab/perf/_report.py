"""Commands measured, and results written: a JSON file each, with rows for every machine."""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.files import write_json

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]
IDLE = 0.5
"""Load of a machine on which CPU seconds are the command's own: a load of 2 on two cores makes them
a fifth to two thirds more."""
_PATIENCE = 300
"""Seconds to wait for it."""

# with it, each command compiles all modules again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class Took(NamedTuple):
    """CPU seconds of a command with all its processes, seconds, and MiB of the largest process."""

    cpu: float
    seconds: float
    memory: float


def took(
    command: str | Sequence[str], folder: Path, root: Path = ROOT, codes: str = "0"
) -> Took:
    """Run a command of the checkout ``root`` in ``folder``; it must end with one of ``codes``."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DVC_SITE_CACHE_DIR": str(folder.parent / f"site of {folder.name}"),
        "DVC_NO_ANALYTICS": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(root / "src"),
    }
    words = command.split() if isinstance(command, str) else command
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=out, stderr=out
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if str(process.returncode) not in codes:
            out.seek(0)
            said = out.read()[-2000:].decode()
            raise RuntimeError(f"{words} ended with {process.returncode}: {said}")
    return Took(used.ru_utime + used.ru_stime, seconds, used.ru_maxrss / 1024)


def wait_until_idle() -> float:
    """Wait some minutes until the machine is idle, and return the load of the last minute."""
    end = time.monotonic() + _PATIENCE
    while os.getloadavg()[0] >= IDLE and time.monotonic() < end:
        print(f"waiting for a load under {IDLE}: {os.getloadavg()[0]:.1f}", flush=True)
        time.sleep(20)
    return os.getloadavg()[0]


def row(
    what: str, value: float, unit: str, goal: float | None = None, beside: str = ""
) -> Row:
    """Return a row of the page, and print it."""
    value = round(value, 3 if value < 10 else 1)
    print(what, value, unit, beside, sep=" | ", flush=True)
    return {"what": what, "value": value, "unit": unit, "goal": goal, "beside": beside}


def write(
    name: str, rows: Sequence[Row], libraries: Sequence[str], load: float | None = None
) -> None:
    """Write rows to ``reports/perf/<name>.json`` as those of this machine; others' stay.

    Args:
        load: the machine's when it began, if it was looked at.
    """
    versions = {library: version(library) for library in libraries}
    measured: dict[str, Any] = {
        "results": {"rows": rows},
        "machine": machine(),
        "versions": versions | {"python": platform.python_version()},
        "load": f"{os.getloadavg()[2]:.1f}",
        "date": datetime.now(UTC).date().isoformat(),
    }
    if load is not None:
        measured["load_at_start"] = round(load, 1)
    path = ROOT / f"reports/perf/{name}.json"
    machines = json.loads(path.read_bytes())["machines"] if path.is_file() else []
    machines = [each for each in machines if each["machine"] != measured["machine"]]
    machines.append(measured)
    machines.sort(key=lambda each: json.dumps(each["machine"], sort_keys=True))
    write_json(path, {"machines": machines})


def machine() -> dict[str, Any]:
    """Return processor, cores and system, and the GPU if torch is loaded and sees one."""
    names = [platform.machine()]
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names += [line.split(": ")[1] for line in lines if "model name" in line]
    found = {"cpu": names[-1], "cores": os.cpu_count()}
    found["system"] = f"{platform.system()} {platform.machine()}"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found

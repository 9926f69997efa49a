"""Where measurements go: one JSON file each, with a row and versions for every machine they were
taken on."""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.files import write_json

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "reports/perf"

# with it, each command compiles anew all that was not compiled before
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class Took(NamedTuple):
    """What a command and all that it starts took."""

    seconds: float
    cpu_seconds: float


def took(
    command: Sequence[str], at: Path, environment: Mapping[str, str], *, code: int = 0
) -> Took:
    """Run a command to its end.

    Raises:
        RuntimeError: it ends with another exit code.
    """
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=at,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, after = (
        time.monotonic() - began,
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    if done.returncode != code:
        raise RuntimeError(
            f"{' '.join(command)} ended with {done.returncode}: "
            f"{(done.stdout + done.stderr)[-2000:]}"
        )
    return Took(
        seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )


def quiet(folder: Path) -> dict[str, str]:
    """Return an environment for commands in a folder of their own."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DVC_SITE_CACHE_DIR": str(folder.parent / f"site of {folder.name}"),
        "DVC_NO_ANALYTICS": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }


def write(name: str, results: Mapping[str, Any], libraries: Sequence[str]) -> None:
    """Write ``results`` to ``reports/perf/<name>.json`` as the row of this machine, with the
    versions of ``libraries``.

    Rows of other machines stay. No host name, path or date: a file changes only when what it says
    does.
    """
    load = f"{os.getloadavg()[2]:.1f}"
    versions = {
        "python": platform.python_version(),
        **{library: version(library) for library in libraries},
    }
    row = {
        "results": dict(results),
        "machine": machine(),
        "versions": versions,
        "load": load,
    }
    path = FOLDER / f"{name}.json"
    rows = json.loads(path.read_bytes())["machines"] if path.is_file() else []
    others = [each for each in rows if each["machine"] != row["machine"]]
    write_json(
        path,
        {
            "machines": sorted(
                [*others, row],
                key=lambda each: json.dumps(each["machine"], sort_keys=True),
            )
        },
    )
    print(json.dumps(results, indent=2))


def machine() -> dict[str, Any]:
    """What a measurement depends on: processor, cores, system, and the GPU if torch is loaded and
    sees one."""
    cpus = (
        Path("/proc/cpuinfo").read_text(encoding="utf-8")
        if Path("/proc/cpuinfo").is_file()
        else ""
    )
    names = [
        line.partition(":")[2].strip()
        for line in cpus.splitlines()
        if line.startswith("model name")
    ]
    found = {"cpu": (names or [platform.machine()])[0], "cores": os.cpu_count()}
    found["system"] = f"{platform.system()} {platform.machine()}"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found

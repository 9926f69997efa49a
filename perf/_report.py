"""Where measurements go: one JSON file each, with a row and versions for every machine they were taken on."""

import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from driftledger.core.files import write_json

FOLDER = Path(__file__).parents[1] / "reports/perf"

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each command compiles anew all that was not compiled before


def write(name: str, results: dict[str, Any], libraries: Sequence[str] = ("numpy", "scipy")) -> None:
    """Write ``results`` to ``reports/perf/<name>.json`` as the row of this machine, with the versions of ``libraries``.

    Rows of other machines stay. No host name, path or date: a file changes only when what it says does.
    """
    versions = {library: version(library) for library in libraries}
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    row = {
        "results": results,
        "machine": machine(),
        "versions": {"python": platform.python_version(), blas["name"]: blas["version"], **versions},
    }
    path = FOLDER / f"{name}.json"
    others = [each for each in rows(path) if each["machine"] != row["machine"]]
    write_json(path, {"machines": sorted([*others, row], key=lambda each: json.dumps(each["machine"], sort_keys=True))})


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a report; of none, or of one that is not made of rows, there are none."""
    try:
        found = json.loads(path.read_bytes()).get("machines", [])
    except FileNotFoundError:
        return []
    return [each for each in found if "machine" in each]


def machine() -> dict[str, Any]:
    """What a measurement depends on: processor, cores, system, and the GPU where torch is loaded and sees one."""
    found = {"cpu": _cpu(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found


def _cpu() -> str:
    """The CPU's name as Linux gives it, elsewhere its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()

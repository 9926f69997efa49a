"""Where measurements go: one JSON file each, with the machine and the versions they were measured on."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from driftledger.core.files import write_json

FOLDER = Path(__file__).parents[1] / "reports/perf"


def write(name: str, results: dict[str, Any], libraries: Sequence[str] = ("numpy", "scipy")) -> None:
    """Write ``reports/perf/<name>.json``: ``results``, the machine, and the versions of ``libraries``.

    No host name, path or date: a file changes only when what it says does.
    """
    versions = {library: version(library) for library in libraries}
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    report = {
        "results": results,
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"},
        "versions": {"python": platform.python_version(), blas["name"]: blas["version"], **versions},
    }
    write_json(FOLDER / f"{name}.json", report)


def _cpu() -> str:
    """The CPU's name as Linux gives it, elsewhere its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()

"""The page of speed and memory has the numbers of the reports."""

import json
from pathlib import Path

from lab.marked import put_between
from lab.performance import FOLDER, MARKS, PAGE, made
from tests.conftest import REPOSITORY

MACHINE = {"cpu": "Some", "cores": 2, "system": "Linux"}


def test_the_page_has_what_the_reports_have() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    assert put_between(page, MARKS, made(REPOSITORY / FOLDER)) == page
    assert "| `driftledger audit` |" in page


def test_what_misses_its_goal_is_bold_and_what_is_not_measured_is_left_out(tmp_path: Path) -> None:
    def write(name: str, machine: object, results: object) -> None:
        path = tmp_path / f"{name}.json"
        machines = json.loads(path.read_bytes())["machines"] if path.is_file() else []
        path.write_text(json.dumps({"machines": [*machines, {"machine": machine, "results": results}]}))

    seconds = {"audit": (0.5, 1), "plan": (1.25, 1), "--version": (0.09, 0.2)}
    commands = {name: {"cpu_seconds": took, "goal": goal} for name, (took, goal) in seconds.items()}
    write("start", MACHINE, {"commands": commands | {"dvc --version": {"cpu_seconds": 0.13}}})
    write("start", MACHINE | {"gpu": "Large"}, {"commands": {"audit": {"cpu_seconds": 0.25, "goal": 1}}})
    (tmp_path / "old.json").write_text('{"results": {}}')
    assert made(tmp_path).splitlines() == [
        "## Some, 2 cores, Linux, Large",
        "",
        "| what | measured | goal | beside it | by |",
        "|---|---:|---:|---|---|",
        "| `driftledger audit` | 0.25 s of CPU | ≤ 1 |  | `perf/start.py` |",
        "",
        "## Some, 2 cores, Linux, no GPU",
        "",
        "| what | measured | goal | beside it | by |",
        "|---|---:|---:|---|---|",
        "| `driftledger --version` | 0.09 s of CPU | ≤ 0.2 | `dvc --version`: 0.13 | `perf/start.py` |",
        "| `driftledger audit` | 0.5 s of CPU | ≤ 1 |  | `perf/start.py` |",
        "| `driftledger plan` | **1.25 s of CPU** | ≤ 1 |  | `perf/start.py` |",
    ]

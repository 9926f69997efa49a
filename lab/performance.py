"""The page of what was measured: ``docs/method/performance.md`` keeps a table for each machine in ``reports/perf/``.

Run as ``python -m lab.performance`` in the top folder, which measures nothing; ``make perf`` does so at its end. A goal
is the project's own, and what misses it is in bold.
"""

import json
from pathlib import Path
from typing import Any

from driftledger.core.files import write_text

FOLDER, PAGE = Path("reports/perf"), Path("docs/method/performance.md")
BEGIN, END = "<!-- python -m lab.performance: begin -->", "<!-- python -m lab.performance: end -->"
HEAD = "| what | measured | goal | by |\n|---|---:|---:|---|\n"
OF_RUNS = {
    "clean": "in a clean clone",
    "nothing": "nothing to do",
    "iterations": "after one iteration less",
}


def rows(report: str, results: dict[str, Any]) -> list[tuple[str, float, str, float | None]]:
    """Return what a report measured: what, how much, its unit, and the goal."""
    if report == "start":
        commands = []
        for name, each in results["commands"].items():
            command, comma, how = name.partition(",")
            shown = f"`{command if command.startswith('dvc') else f'driftledger {command}'}`{comma}{how}"
            commands.append((shown, each["cpu_seconds"], "s of CPU", each.get("goal")))
        return commands
    if report == "run":
        goals = {("clean", "driftledger run"): 60, ("nothing", "dvc repro"): 5}
        return [
            (f"`{way}`, {title}", seconds, "s of CPU", goals.get((part, way)))
            for part, title in OF_RUNS.items()
            for way, seconds in results[part]["cpu_seconds"].items()
        ]
    if report == "services":
        return [
            ("services, 32 calls at a time, 1 s each", results["ratio_to_ideal"], "× ideal", 1.5),
            ("services", results["cpu_ms_per_call"], "ms of CPU a call", 9),
        ]
    if report == "engines":
        return [
            (f"{results['checkpoint']}, {name}", value, "calls a second", None)
            for name, value in results["calls_per_second"].items()
        ]
    if report == "first_score":
        what = "from an empty environment to the first score of ten images"
        return [(what, results["seconds_to_the_first_score"], "s on the clock", None)]
    return []


def page_of(folder: Path) -> str:
    """Return the tables, one for each machine."""
    tables: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_bytes()).get("machines", []):
            machine = row["machine"]
            parts = [machine["cpu"], f"{machine['cores']} cores", machine["system"], machine.get("gpu", "no GPU")]
            for what, value, unit, goal in rows(path.stem, row["results"]):
                shown = f"{value:.3g} {unit}" if goal is None or value <= goal else f"**{value:.3g} {unit}**"
                wanted = "" if goal is None else f"≤ {goal:.3g}"
                line = f"| {what} | {shown} | {wanted} | `perf/{path.stem}.py` |\n"
                tables[", ".join(parts)] = tables.get(", ".join(parts), HEAD) + line
    return "\n".join(f"## {name}\n\n{text}" for name, text in sorted(tables.items()))


def main() -> None:
    """Write the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    write_text(PAGE, f"{before}{BEGIN}\n\n{page_of(FOLDER)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()

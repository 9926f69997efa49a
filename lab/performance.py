"""What was measured: ``reports/speed.md`` has a table for each machine in
``reports/perf/``.

Run as ``python -m lab.performance`` in the top folder, which measures nothing; ``make perf`` does
so at its end. A goal is the project's own, and what misses it is in bold.
"""

import json
from pathlib import Path

from driftledger.core.files import write_text
from lab.perf._report import IDLE

FOLDER, PAGE = Path("reports/perf"), Path("reports/speed.md")
BEGIN, END = (
    "<!-- python -m lab.performance: begin -->",
    "<!-- python -m lab.performance: end -->",
)
HEAD = "| what | measured | goal | beside |\n|---|---:|---:|---|\n"


def page_of(folder: Path) -> str:
    """Return the tables of waits, growth and engines, one for each machine."""
    files = [folder / f"{name}.json" for name in ("waits", "growth", "engines")]
    tables = []
    for measured in (
        each
        for file in files
        if file.is_file()
        for each in json.loads(file.read_bytes())["machines"]
    ):
        machine, versions = measured["machine"], measured["versions"]
        parts = [
            machine["cpu"],
            f"{machine['cores']} cores",
            machine["system"],
            machine.get("gpu", "no GPU"),
        ]
        text = f"## {', '.join(parts)}\n\n{HEAD}"
        for each in measured["results"]["rows"]:
            value, goal = f"{each['value']:.3g} {each['unit']}", each["goal"]
            value = value if goal is None or each["value"] <= goal else f"**{value}**"
            text += (
                f"| {each['what']} | {value} | {'' if goal is None else f'≤ {goal:g}'} | "
                f"{each['beside']} |\n"
            )
        load = f"mean load over the last 15 minutes {measured['load']}"
        at_start = measured.get("load_at_start", 0.0)
        if at_start >= IDLE:
            load += f"; the machine was not idle: its load was {at_start} at the start"
        taken = f"Measured on {measured['date']} with" if "date" in measured else "With"
        used = ", ".join(f"{name} {version}" for name, version in versions.items())
        tables.append(f"{text}\n{taken} {used}; {load}.\n")
    return "\n".join(tables)


def main() -> None:
    """Write the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    write_text(
        PAGE, f"{before}{BEGIN}\n\n{page_of(FOLDER)}\n{END}{rest.partition(END)[2]}"
    )


if __name__ == "__main__":
    main()

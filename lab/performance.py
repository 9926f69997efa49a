"""The page of what was measured: ``docs/method/performance.md`` keeps a table for each machine in ``reports/perf/``.

Run as ``python -m lab.performance`` in the top folder, which measures nothing; ``make perf`` does so at its end. A goal
is the project's own, and what misses it is in bold; beside it stand opponents, measured in the same run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.entry import here, new_app, run
from lab.marked import write_between

FOLDER, PAGE = Path("reports/perf"), Path("docs/method/performance.md")
MARKS = "<!-- python -m lab.performance: begin -->", "<!-- python -m lab.performance: end -->"
HEAD = "| what | measured | goal | beside it | by |\n|---|---:|---:|---|---|\n"
At = tuple[str | int, ...]
"""Where a number stands in the results of a report."""

app = new_app(__doc__ or "")


class Row(NamedTuple):
    """A number of a report."""

    what: str
    report: str
    at: At
    unit: str = ""
    goal: float | At | None = None
    """The most that it is to be, or where the report says so."""
    least: bool = False
    """Whether the goal is to have at least as much."""
    beside: Mapping[str, At] = {}
    """Numbers of others, in the same unit, by whose they are."""


def of_commands() -> Iterator[Row]:
    """Commands that people wait for, in the default run's project."""
    commands = ("--version", "--help", "audit", "compare", "plan")
    beside: dict[str, dict[str, At]] = {"--version": {"`dvc --version`": ("commands", "dvc --version", "cpu_seconds")}}
    for command in (*commands, "verify, one run", "verify, all", "track, nothing to do"):
        name, comma, how = command.partition(",")
        at, goal = (("commands", command, key) for key in ("cpu_seconds", "goal"))
        yield Row(f"`driftledger {name}`{comma}{how}", "start", at, "s of CPU", goal, beside=beside.get(command, {}))


def of_runs() -> Iterator[Row]:
    """Stages, and what DVC costs."""
    at: At = ("clean", "cpu_seconds")
    beside: dict[str, At] = {"`dvc repro`": (*at, "dvc repro")}
    within: dict[str, At] = {"in models and generators": ("clean", "seconds_in_components", "driftledger run")}
    what = "`driftledger run` in a clean clone"
    yield Row(what, "run", (*at, "driftledger run"), "s of CPU", 35, beside=beside | within)
    beside = {"`dvc repro`": ("clean", "clock_seconds", "dvc repro")}
    yield Row(what, "run", ("clean", "clock_seconds", "driftledger run"), "s on the clock", beside=beside)
    at = ("nothing", "cpu_seconds")
    beside = {"`dvc repro`": (*at, "dvc repro"), "of stages that do nothing at all": (*at, "bare dvc repro")}
    yield Row("`driftledger run`, nothing to do", "run", (*at, "driftledger run"), "s of CPU", 3, beside=beside)
    for stages in ("100", "300", "1000"):
        at = ("growth", "cpu_seconds_per_stage")
        theirs: dict[str, At] = {"`dvc repro`": (*at, "dvc repro", stages)}
        yield Row(f"a stage, of {int(stages):,}", "run", (*at, "driftledger run", stages), "s of CPU", beside=theirs)


def of_samples() -> Iterator[Row]:
    """Whole stages by the number of samples, with components that do nothing."""
    stages = {"answer": "MME's answers", "grade": "MME's readings", "score": "MME's score"}
    stages |= {"chain": "chains of two iterations", "chain score": "GenCeption's score"}
    for stage, what in stages.items():
        sizes = (1_000, 10_000, 100_000)
        beside: dict[str, At] = {f"ms of CPU, of {size:,}": (stage, "cpu_ms_per_sample", f"{size}") for size in sizes}
        beside["KiB of memory a sample"] = (stage, "kib_per_sample")
        yield Row(f"{what}, growth by samples", "samples", (stage, "exponent"), goal=1.1, beside=beside)


def of_services() -> Iterator[Row]:
    """Services, and checkpoints on a device."""
    loops = ("bare httpx2", "bare openai")
    loads: dict[str, tuple[str, float | None]] = {
        "width_32": ("32 calls at a time, 1 s each", 1.1),
        "width_200": ("200 at a time", 1.5),
    }
    loads |= {"width_500": ("500 at a time", None), "width_32_failing": ("32 at a time, 30 % of answers a 503", 2)}
    for load, (what, goal) in loads.items():
        beside: dict[str, At] = {loop: (load, loop, "ratio_to_ideal") for loop in loops}
        beside |= {"the longest chain alone": (load, "least_ratio")} if load == "width_32_failing" else {}
        yield Row(f"services, {what}", "remote", (load, "ours", "ratio_to_ideal"), "× ideal", goal, beside=beside)
    for key, unit, goal in (("calls_per_second", "calls a second", 120), ("cpu_ms_per_call", "ms of CPU a call", 9)):
        theirs: dict[str, At] = {loop: ("no_latency", loop, key) for loop in loops}
        at: At = ("no_latency", "ours", key)
        yield Row("services that answer at once", "remote", at, unit, goal, least=goal == 120, beside=theirs)
    for batch in (1, 16):
        at = ("engines", f"batches of {batch}", "around_generate_percent")
        yield Row(f"around `model.generate`, batches of {batch}, small shapes", "engines_reduced", at, "%", 3)


def of_metrics() -> Iterator[Row]:
    """Searches and distances."""
    what, numpy, faiss = "TRAC's votes, 12,000 × 8,580 × 768, every k to 100", "numpy, float64", "faiss, IndexFlatIP"
    others = (numpy, "numpy, float32", faiss, "torch, topk of blocks", "scikit-learn, brute")
    ratios: dict[str, At] = {f"× {name}": ("sides", name, "ours_takes_times_as_long") for name in others[1:]}
    yield Row(what, "retrieval", ("sides", numpy, "ours_takes_times_as_long"), f"× {numpy}", 1.2, beside=ratios)
    memory: dict[str, At] = {name: ("sides", name, "peak_mib") for name in others}
    yield Row(what, "retrieval", ("sides", "votes for every k", "peak_mib"), "MiB", beside=memory)
    for at, samples in enumerate((60, 300, 1000, 3000)):
        seconds: dict[str, At] = {"seconds": ("sizes", at, "sides", "frechet_distance", "seconds")}
        ratio: At = ("sizes", at, "ours_takes_times_as_long")
        what = f"the Fréchet distance of {samples:,} × 2,048"
        yield Row(what, "frechet", ratio, "× the fastest other way", 1.2, beside=seconds)


def table(of: Mapping[str, Any]) -> str:
    """Of the results of one machine, by report."""
    lines = []
    for row in (*of_runs(), *of_samples(), *of_commands(), *of_services(), *of_metrics()):
        value = _number(of.get(row.report), row.at)
        if value is None:
            continue
        goal = _number(of[row.report], row.goal) if isinstance(row.goal, tuple) else row.goal
        missed = goal is not None and (value < goal if row.least else value > goal)
        told = f"{_short(value)} {row.unit}".strip()
        wanted = "" if goal is None else f"{'≥' if row.least else '≤'} {_short(goal)}"
        others = ((name, _number(of[row.report], at)) for name, at in row.beside.items())
        beside = ", ".join(f"{name}: {_short(theirs)}" for name, theirs in others if theirs is not None)
        measured = f"**{told}**" if missed else told
        script = f"`perf/{row.report.removesuffix('_reduced')}.py`"
        lines.append(f"| {row.what} | {measured} | {wanted} | {beside} | {script} |\n")
    return HEAD + "".join(lines)


def _number(results: Any, at: Sequence[str | int]) -> float | None:
    """What stands there; None where a report has no such number."""
    for step in at:
        try:
            results = results[step]
        except (KeyError, IndexError, TypeError):
            return None
    return float(results)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def made(folder: Path) -> str:
    """What stands between the marks: a table for each machine."""
    by_machine: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        for row in json.loads(path.read_bytes()).get("machines", []):
            machine = row["machine"]
            gpu = machine.get("gpu", "no GPU")
            name = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, {gpu}"
            by_machine.setdefault(name, {})[path.stem] = row["results"]
    tables = {name: table(reports) for name, reports in sorted(by_machine.items())}
    return "\n".join(f"## {name}\n\n{text}" for name, text in tables.items() if text != HEAD)


@app.command(help=__doc__)
def main() -> None:
    """Write the page."""
    top = here().root
    write_between(top / PAGE, {MARKS: made(top / FOLDER)})


if __name__ == "__main__":
    run(app)

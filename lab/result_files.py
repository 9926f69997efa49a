"""How often files that do not differ are told apart, and how long 10,000 rows take.

Run as ``python -m lab.result_files`` in the top folder, five minutes of CPU; it prints a table. Two
files are drawn from one distribution and compared as ``driftledger compare`` compares files. In
clusters, a model answers all four questions about an image alike; the last row is the control,
which counts each question as independent.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from driftledger.ledger.gate import Gate, Verdict
from driftledger.ledger.result_files import CONFIDENCE, Columns, compare_files

DRAWS = 20_000
IMAGES = 25
QUESTIONS = 4
ROWS = 10_000
PLAIN = Columns(["id"], ["right"])
CLUSTERED = PLAIN._replace(cluster="image")
KINDS: Mapping[str, tuple[bool, Columns]] = {
    "independent rows": (False, PLAIN),
    "clusters, with --cluster": (True, CLUSTERED),
    "clusters, without --cluster": (True, PLAIN),
}
"""Whether questions about an image are answered alike, and how the files are compared."""


class Errors(NamedTuple):
    """How many draws without a difference are said to have one."""

    differ: int = 0
    """A and B are told apart: 5 % by definition."""
    worse: int = 0
    """B fails ``--fail-if worse``: half of them."""


def errors(folder: Path, draws: int) -> dict[str, Errors]:
    """Compare so many pairs of files of each kind."""
    dice = np.random.default_rng(7)
    counts = dict.fromkeys(KINDS, Errors())
    for _ in range(draws):
        for kind, (alike, columns) in KINDS.items():
            files = []
            for side in ("a", "b"):
                path = folder / f"{side}.jsonl"
                write_draw(path, dice, IMAGES * QUESTIONS, alike=alike)
                files.append((path, side))
            comparison = compare_files(files[0], files[1], columns)
            [judgement] = Gate("worse").judge(comparison)
            is_worse = judgement.verdict is Verdict.FAILS
            [metric] = comparison.pairs[0].metrics
            is_other = metric.p_value is not None and metric.p_value <= 1 - CONFIDENCE
            differ, worse = counts[kind]
            counts[kind] = Errors(differ + is_other, worse + is_worse)
    return counts


def write_draw(
    path: Path, dice: np.random.Generator, rows: int, *, alike: bool
) -> None:
    """Write answers of which 7 in 10 are right."""
    right = dice.random(rows) < 0.7
    if alike:
        right = np.repeat(right[::QUESTIONS], QUESTIONS)
    lines = []
    for number, is_right in enumerate(right):
        row = {"id": number, "image": number // QUESTIONS, "right": bool(is_right)}
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def seconds(folder: Path) -> float:
    """Return the CPU seconds of the command for files of 10,000 rows."""
    dice = np.random.default_rng(7)
    for side in ("a", "b"):
        write_draw(folder / f"{side}.jsonl", dice, ROWS, alike=False)
    options = ["--id", "id", "--value", "right"]
    command = [sys.executable, "-m", "driftledger", "compare", "a.jsonl", "b.jsonl"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        print(f"CPU seconds of {ROWS:,} rows: {seconds(folder):.2f}")
        print(f"{DRAWS:,} draws without a difference:")
        for kind, count in errors(folder, DRAWS).items():
            differ = f"told apart in {count.differ / DRAWS:.1%}"
            print(f"  {kind}: {differ}, called worse in {count.worse / DRAWS:.1%}")


if __name__ == "__main__":
    main()

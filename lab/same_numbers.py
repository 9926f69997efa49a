"""Compare every number of this checkout with another revision's.

Run as ``python -m lab.same_numbers REVISION [TOLERANCE]`` in the top folder, after ``driftledger
run``. Two kinds of scores are compared: those in ``reports/scores``, and those that the code of
either version gives folders of records with faults (:mod:`lab.made_folders`). It reads JSON alone
and imports nothing of the program, so that it cannot agree with it by sharing a mistake.
"""

import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import unpack_archive
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from lab.made_folders import make_folders, read_lines

SCORES = "reports/scores"
ALLOWED: Mapping[str, str] = {}
"""A pattern of a line about a difference → its reason."""
WRONG = "differ"
MOST_SHOWN = 50

Table: TypeAlias = dict[str, Any]
"""Score and name → the number, count or text of a score or of its rows."""


def values_of(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield every value of a score and of its rows."""
    score = json.loads((folder / "score.json").read_text())
    if "error" in score:
        yield "error", score["error"]
        return
    yield from numbers_of(score)
    for part in ("scored", "counted", "total", "outcomes", "details"):
        yield from leaves(score.get(part), part)
    for flag in score["flags"]:
        yield f"flag: {flag['text']}", True
    for row in read_lines(folder / "rows.jsonl"):
        yield from leaves(row, f"row {row['unit']}")


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested JSON by the way to each; null is none."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}/{key}")
    elif value is not None:
        yield name, value


def numbers_of(score: Table) -> Iterator[tuple[str, Any]]:
    """Yield numbers that are rows, by names such as ``category/living/gc_at_5_low``."""
    for row in score["numbers"]:
        name = row["metric"]
        if "group" in row:
            name = f"{row['group_kind']}/{row['group']}/{name}"
        yield f"{name}_n", row.get("n")  # the last t's stays
        if "t" in row:
            name += f"_at_{row['t']}"
        yield name, row.get("value")
        for end in ("low", "high", "std"):
            yield f"{name}_{end}", row.get(end)


def scores_of(tree: Path, folders: Path, target: Path) -> Table:
    """Return the values of a checkout's scores, and of those that it gives made folders."""
    target.mkdir()
    driver = Path(__file__).with_name("score_folders.py")
    arguments = map(str, (driver, tree, folders, target))
    environment = os.environ | {"PYTHONPATH": f"{tree.resolve() / 'src'}"}
    subprocess.run([sys.executable, "-P", *arguments], env=environment, check=True)
    table: Table = {}
    for top in (tree / SCORES, target):
        for path in top.rglob("score.json"):
            score = path.parent.relative_to(top).as_posix()
            for name, value in values_of(path.parent):
                if value is not None:
                    table[f"{score}: {name.removeprefix('/')}"] = value
    return table


def reason_of(line: str) -> str:
    """Return why a value may differ, by the first pattern that its line has."""
    for pattern, reason in ALLOWED.items():
        if re.search(pattern, line):
            return f"differ as they may: {reason}"
    return WRONG


def main() -> int:
    """Print what differs; exit code 1 if something does without a reason."""
    revision = sys.argv[1]
    tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-12
    with TemporaryDirectory() as temporary:
        top = Path(temporary)
        packed = f"{top / 'tree.tar'}"
        archive = ["git", "archive", f"--output={packed}", revision]
        subprocess.run([*archive, "src", "params.yaml", SCORES], check=True)
        unpack_archive(packed, top / "tree")
        make_folders(top / "folders")
        old = scores_of(top / "tree", top / "folders", top / "old")
        new = scores_of(Path(), top / "folders", top / "new")
    counts = Counter({WRONG: 0})
    for name in sorted(old.keys() | new.keys()):
        one = old.get(name)
        two = new.get(name)
        is_same = one == two
        if isinstance(one, float) and isinstance(two, float):
            is_same = math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance)
        if not is_same:
            line = f"{name} is {two!r}, was {one!r}"
            reason = reason_of(line)
            counts[reason] += 1
            if reason == WRONG and counts[WRONG] <= MOST_SHOWN:
                print(line)
    for reason, count in {"values": len(new), **counts}.items():
        print(f"{count:>8,} {reason}")
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())

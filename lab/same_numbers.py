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
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from lab.made_folders import make_folders, read_lines

SCORES = "reports/scores"
RENAMED = {
    r"\b(whole_)?(fid|frechet_\w+?)(?=$|_at_|_std$)": r"\1frechet",
    r"^(perception|cognition)$": r"ability/\1/score_sum",
    r"^((?:capability|combination)/.*/)grade": r"\1total",
}
"""A pattern in a name of schema 2 → what schema 3 has in its place."""
LAST = re.compile("(.*/)?(whole_)?frechet(_at_[0-9]+)?")
"""A distance; the last of these by the alphabet is over all samples and the largest t."""

ALLOWED: Mapping[str, str] = {
    r"_n is [0-9]+, was None$": "how many samples stand behind a number is new",
    r": repeat/.* is None, was": "each repeat alone is in the rows",
}
"""A pattern of a line about a difference → its reason."""

WRONG = "differ"
MOST_SHOWN = 50

Table: TypeAlias = dict[str, Any]
"""Name → the number, count or text of a score or of its rows."""


def table_of(folder: Path) -> Table:
    """Read every value of a score and of its rows; what is null is left out."""
    score = json.loads((folder / "score.json").read_text("utf-8"))
    if "error" in score:
        return dict(score)
    table = dict(numbers_3(score) if "numbers" in score else numbers_2(score))
    for part in ("scored", "counted", "total", "outcomes", "details"):
        table.update(leaves(score.get(part), part))
    for flag in score["flags"]:
        table[f"flag: {flag}"] = True
    for row in read_lines(folder / "rows.jsonl"):
        table.update(leaves(row, f"row {row['unit']}"))
    return table


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested JSON by the way to each."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}/{key}")
    elif value is not None:
        yield name, value


def numbers_3(score: Table) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a score that are rows, as ``category/living/gc_at_5_low``."""
    for row in score["numbers"]:
        name = row["metric"]
        if "group" in row:
            name = f"{row['group_kind']}/{row['group']}/{name}"
        if "t" in row:
            name += f"_at_{row['t']}"
        for column in ("value", "low", "high", "std", "n"):
            if column in row:
                yield name if column == "value" else f"{name}_{column}", row[column]


def numbers_2(score: Table) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a score that are keys in dictionaries, under their new names."""
    named = {"": dict(score["metrics"])}
    for kind, groups in score["groups"].items():
        for group, metrics in groups.items():
            named[f"{kind}/{group}/"] = metrics
    for point in score["curves"].get("vote", ()):  # other curves repeat numbers
        named[""][f"vote_at_{point['step']}"] = point["value"]
    for start, metrics in named.items():
        names = {key: start + key for key in metrics}
        for pattern, new in RENAMED.items():
            names = {key: re.sub(pattern, new, names[key]) for key in names}
        if "samples" in metrics:  # of the last distance over all of them
            distances = [name for name in names.values() if LAST.fullmatch(name)]
            names["samples"] = f"{max(distances)}_n"
        for key, value in metrics.items():
            yield names[key], value


def read_scores(folder: Path) -> dict[str, Table]:
    """Read every score below a folder, by its path."""
    tables = {}
    for path in sorted(folder.rglob("score.json")):
        name = path.parent.relative_to(folder).as_posix()
        tables[name] = table_of(path.parent)
    return tables


def score_folders(tree: Path, folders: Path, target: Path) -> dict[str, Table]:
    """Score made folders by the code of a checkout."""
    target.mkdir()
    driver = Path(__file__).with_name("score_folders.py")
    arguments = map(str, (driver, tree, folders, target))
    environment = os.environ | {"PYTHONPATH": f"{tree.resolve() / 'src'}"}
    subprocess.run([sys.executable, "-P", *arguments], env=environment, check=True)
    return read_scores(target)


def differences(old: Table, new: Table, tolerance: float) -> Iterator[str]:
    """Yield a line for each value that differs."""
    for name in sorted(old.keys() | new.keys()):
        one = old.get(name)
        two = new.get(name)
        is_same = one == two
        if isinstance(one, float) and isinstance(two, float):
            is_same = math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance)
        if not is_same:
            yield f"{name} is {two!r}, was {one!r}"


def main() -> int:
    """Print what differs; exit code 1 if something does without a reason."""
    revision = sys.argv[1]
    tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-12
    with TemporaryDirectory() as temporary:
        top = Path(temporary)
        tree = top / "tree"
        git = ("git", "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        make_folders(top / "folders")
        old = read_scores(tree / SCORES)
        old |= score_folders(tree, top / "folders", top / "old")
        new = read_scores(Path(SCORES))
        new |= score_folders(Path(), top / "folders", top / "new")
        subprocess.run([*git, "remove", "--force", tree], check=True)
    counts: Counter[str] = Counter()
    for score in sorted(old.keys() | new.keys()):
        for line in differences(old.get(score, {}), new.get(score, {}), tolerance):
            reason = reason_of(f"{score}: {line}")
            counts[reason] += 1
            if reason == WRONG and counts[WRONG] <= MOST_SHOWN:
                print(f"{score}: {line}")
    print(f"{sum(map(len, new.values())):,} values of {len(new)} scores")
    for reason, count in counts.items():
        print(f"{count:,} {reason}")
    return 1 if counts[WRONG] else 0


def reason_of(line: str) -> str:
    """Return why a value may differ, by the first pattern that its line has."""
    for pattern, reason in ALLOWED.items():
        if re.search(pattern, line):
            return f"differ as they may: {reason}"
    return WRONG


if __name__ == "__main__":
    sys.exit(main())

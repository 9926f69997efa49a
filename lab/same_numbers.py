"""Are the numbers of this version those of another one? Compares every value of every score file
with a revision's.

Run as ``python -m lab.same_numbers REVISION [TOLERANCE]`` in the top folder. Scores are paired by
their benchmark and keys, wherever their files lie. It reads JSON alone and imports nothing of the
program, so that it cannot agree with it by sharing a mistake.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

SCORES = "reports/scores"
COMPARED = ("metrics", "groups", "curves", "scored", "total", "coverage")


def flat(
    value: Any, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield every number in nested mappings and lists, by the way to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, (*place, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from flat(inner, (*place, str(index)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def numbers(files: Iterable[bytes]) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the numbers of score files, by benchmark and keys."""
    scores = {}
    for data in files:
        score = json.loads(data)
        name = " ".join(
            [
                score["benchmark"],
                *(f"{key}={value}" for key, value in sorted(score["keys"].items())),
            ]
        )
        scores[name] = dict(
            flat({part: score[part] for part in COMPARED if part in score})
        )
    return scores


def of_revision(revision: str) -> Iterator[bytes]:
    """Yield the content of every score file of a revision."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", revision, f"{SCORES}/"],
        capture_output=True,
        text=True,
        check=True,
    )
    for path in listed.stdout.splitlines():
        if path.endswith("/score.json"):
            yield subprocess.run(
                ["git", "show", f"{revision}:{path}"], capture_output=True, check=True
            ).stdout


def main() -> int:
    """Print what was compared; exit code 1 if something differs."""
    revision, tolerance = (
        sys.argv[1],
        float(sys.argv[2]) if len(sys.argv) > 2 else 1e-12,
    )
    old = numbers(of_revision(revision))
    new = numbers(
        path.read_bytes() for path in sorted(Path(SCORES).rglob("score.json"))
    )
    compared: Counter[str] = Counter()
    wrong = [
        f"{name} is only {'there' if name in old else 'here'}"
        for name in sorted(old.keys() ^ new.keys())
    ]
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        compared["score files"] += 1
        compared[f"{name.partition(' ')[0]} numbers"] += len(before)
        for key in sorted(before.keys() | after.keys()):
            one, two = before.get(key), after.get(key)
            if (
                one is None
                or two is None
                or not math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance)
            ):
                wrong.append(f"{name}: {'.'.join(key)} is {two!r}, was {one!r}")
    for what, count in sorted(compared.items()):
        print(f"{count:>8,} {what}")
    print("\n".join(wrong[:50]) if wrong else f"all values agree to {tolerance}")
    if len(wrong) > 50:
        print(f"and {len(wrong) - 50} more")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Are the numbers of this version those of 0.1? Compares every value of every score file with the tag's.

Run as ``python -m lab.same_numbers [REVISION]`` in the top folder. It reads JSON alone, of both formats, and imports
nothing of the program, so that it cannot agree with it by sharing a mistake.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TOLERANCE = 1e-12
OLD = "52463fe"  # v0.1.0
SCORES = "reports/scores"

DIVIDED_BY_READ = {"mm_sap": "score", "mm_vet": "total", "mme": "score"}
"""Benchmark → its headline. 0.1 left out what could not be read, and the published equations divide by all questions:
where something was left out, the headline is compared with the figure that still leaves it out, and nothing else is."""

Numbers = dict[tuple[str, ...], float]


def flat(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every number in nested mappings and lists, by the way to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, (*place, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from flat(inner, (*place, str(index)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def as_new(old: dict[str, Any]) -> dict[str, Any]:
    """An old score's numbers where the new record has them."""
    benchmark, metrics = old["benchmark"], dict(old["metrics"])
    groups: dict[str, Any] = {"category": old.get("by_category", {}), "group": old.get("by_group", {})}
    curves: dict[str, list[dict[str, float]]] = {}
    for row in old.get("curve", []):
        for name, value in row.items():
            if name != "t":
                curves.setdefault(name, []).append({"step": row["t"], "value": value})
    if benchmark == "trac":
        groups = {"class": old["by_class"]}
        groups["condition"] = {
            f"{'no limit' if each['max_tokens'] is None else 'l' + str(each['max_tokens'])}, {each['shots']}-shot": {
                **each["metrics"],
                "scored": each["scored"],
                "total": each["total"],
            }
            for each in old["conditions"]
        }
        curves["vote"] = [{"step": row["k"], "value": row["vote"]} for row in old["vote"]]
    elif benchmark == "fidelity":
        groups = {"category": old["by_category"], "agreement": old["agreement"]}
    elif benchmark in ("mm_sap", "mm_vet", "mme"):
        groups = dict(old["groups"])
        metrics = {key: value for key, value in metrics.items() if "/" not in key}
        if benchmark == "mm_vet":
            metrics = {key: value for key, value in metrics.items() if key.startswith("total")}
        if old["positions"]:
            groups["position"] = {
                chr(ord("A") + int(row["position"])): {k: v for k, v in row.items() if k != "position"}
                for row in old["positions"]
            }
    if benchmark in DIVIDED_BY_READ and old["coverage"] < 1:
        headline = DIVIDED_BY_READ[benchmark]
        metrics, groups = {f"{headline}_unread_left_out": metrics[headline]}, {}
    return {
        "metrics": metrics,
        "groups": {kind: rows for kind, rows in groups.items() if rows},
        "curves": curves,
        **{key: old[key] for key in ("scored", "total", "coverage")},
    }


def new_place(path: str) -> str:
    """Where the new version keeps the score of an old path."""
    benchmark, *names = Path(path).relative_to(SCORES).with_suffix("").parts
    return "/".join([SCORES, benchmark, *names, "score.json"])


def old_scores(revision: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and content of every score file of a revision."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", revision, f"{SCORES}/"], capture_output=True, text=True, check=True
    )
    for path in listed.stdout.splitlines():
        if path.endswith(".json"):
            shown = subprocess.run(["git", "show", f"{revision}:{path}"], capture_output=True, check=True)
            yield path, json.loads(shown.stdout)


def compare(revision: str) -> tuple[Counter[str], list[str]]:
    """How many numbers of each benchmark were compared, and a line per difference."""
    compared: Counter[str] = Counter()
    wrong: list[str] = []
    for path, old in old_scores(revision):
        place = new_place(path).replace(f"{SCORES}/questions/", f"{SCORES}/{old['benchmark']}/")
        if not Path(place).is_file():
            wrong.append(f"{place} is missing")
            continue
        new = json.loads(Path(place).read_text(encoding="utf-8"))
        before, after = dict(flat(as_new(old))), dict(flat(new))
        compared["score files"] += 1
        for key, value in before.items():
            compared[f"{old['benchmark']} numbers"] += 1
            found = after.get(key)
            if found is None:
                wrong.append(f"{place}: {'.'.join(key)} is gone (was {value!r})")
            elif not math.isclose(found, value, rel_tol=0, abs_tol=TOLERANCE):
                wrong.append(f"{place}: {'.'.join(key)} is {found!r}, was {value!r}")
        compared[f"{old['benchmark']} numbers that are new"] += len(
            [
                key
                for key in after
                if key[0] in ("metrics", "groups", "curves") and key not in before and key[-1] != "schema"
            ]
        )
    return compared, wrong


def main() -> int:
    """Print what was compared; exit code 1 if something differs."""
    compared, wrong = compare(sys.argv[1] if len(sys.argv) > 1 else OLD)
    for what, count in sorted(compared.items()):
        print(f"{count:>8,} {what}")
    print("\n".join(wrong[:50]) if wrong else f"all values agree to {TOLERANCE}")
    if len(wrong) > 50:
        print(f"and {len(wrong) - 50} more")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

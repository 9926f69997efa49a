"""Every number of every score file, as lines that can be compared: one number a line, whole and
sorted."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.acceptance.places import GOLDEN, score_files

PARTS = ("counted", "scored", "total", "outcomes", "details")
"""The members of score.json whose numbers are held, besides ``numbers``."""
COLUMNS = ("value", "low", "high", "std", "n")
DIGITS = 9
"""Significant digits to which ends of intervals are compared; all other numbers are exact."""

BETWEEN = " | "
Lines = dict[str, float]
"""``benchmark key=value … | name`` → the number."""


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def about(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return what identifies a score: its benchmark and keys."""
    return {
        "benchmark": score["benchmark"],
        "keys": dict(sorted(score["keys"].items())),
    }


def title(of: Mapping[str, Any]) -> str:
    """Return what identifies a score as text, a word per key."""
    return " ".join(
        [
            of["benchmark"],
            *(f"{key}={value}" for key, value in sorted(of["keys"].items())),
        ]
    )


def numbers(score: Mapping[str, Any]) -> dict[str, float]:
    """Return name → number of a score's rows of numbers and of :data:`PARTS`."""
    values = dict(named(score["numbers"]))

    def walk(value: Any, name: str) -> None:
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, f"{name}.{key}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            values[name] = value

    for part in PARTS:
        walk(score[part], part)
    return values


def named(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield the columns of rows of numbers: ``category/living/gc_at_5_low``."""
    for row in rows:
        name = row["metric"]
        if "t" in row:
            name += f"_at_{row['t']}"
        if "group" in row:
            name = f"{row['group_kind']}/{row['group']}/{name}"
        for column in COLUMNS:
            if column in row:
                yield f"{name}_{column}".removesuffix("_value"), row[column]


def lines_of(top: Path) -> dict[str, Lines]:
    """Return golden file → its lines, of all score files below ``top``.

    Details are tables for readers, and have a folder of their own.
    """
    files: dict[str, Lines] = {}
    for path in score_files(top):
        score = read(path)
        for name, value in numbers(score).items():
            kind = "details" if name.startswith("details") else "scores"
            _add(files, kind, about(score), name, value)
    return files


def _add(
    files: dict[str, Lines], kind: str, of: Mapping[str, Any], name: str, value: float
) -> None:
    on = next(
        of["keys"][key] for key in ("dataset", "question_set") if key in of["keys"]
    )
    files.setdefault(f"{kind}/{of['benchmark']}-{on}.txt", {})[
        f"{title(of)}{BETWEEN}{name}"
    ] = value


def read_golden(kind: str) -> dict[str, Lines]:
    """Read the golden files of one kind, as :func:`lines_of` returns them."""
    golden: dict[str, Lines] = {}
    for path in sorted((GOLDEN / kind).glob("*.txt")):
        lines = golden.setdefault(f"{kind}/{path.name}", {})
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                of = line.removeprefix("# ")
            else:
                name, _, value = line.rpartition(" ")
                lines[f"{of}{BETWEEN}{name}"] = json.loads(value)
    return golden


def write_golden(lines: Mapping[str, Lines]) -> None:
    """Write a number per line, below a line with the title of its score."""
    for file, values in lines.items():
        path, shown, of = GOLDEN / file, list[str](), ""
        for each in sorted(values):
            title_of, _, name = each.partition(BETWEEN)
            if title_of != of:
                shown.append(f"# {(of := title_of)}\n")
            shown.append(f"{name} {json.dumps(values[each])}\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(shown), encoding="utf-8")


def differences(golden: Lines, now: Lines) -> list[str]:
    """Return a line for each number that is missing, new or different."""
    wrong = [f"missing: {name}" for name in sorted(golden.keys() - now.keys())]
    wrong += [f"not in golden: {name}" for name in sorted(now.keys() - golden.keys())]
    wrong += [
        f"{name}: {now[name]!r}, golden {golden[name]!r}"
        for name in sorted(golden.keys() & now.keys())
        if not _same(name, golden[name], now[name])
    ]
    return wrong


def _same(name: str, golden: float, now: float) -> bool:
    if name.endswith(("_low", "_high")):
        return math.isclose(
            golden, now, rel_tol=0.5 * 10 ** (1 - DIGITS), abs_tol=1e-12
        )
    return golden == now


def shorten(wrong: Iterable[str], most: int = 40) -> str:
    listed = list(wrong)
    return "\n".join([f"{len(listed)} differences", *listed[:most]])

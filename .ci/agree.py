"""Do the neural scores of this checkout agree with those in Git? Weights give other last bits on other processors.

Run after ``make run-neural``; exit code 1, and a line per score that is too far away.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Headline(NamedTuple):
    metrics: tuple[str, ...]
    tolerance: float
    """How far they may be off, in their own unit: GC goes from 0 to 1, MME up to 200, all others are percentages."""


HEADLINES = {
    "genception": Headline(("gc_at_1", "gc_at_2", "gc_at_3"), 0.03),
    "fidelity": Headline(("clip_s", "clip_s_i", "image_similarity", "ssim"), 3.0),
    "trac": Headline(("top1", "class_mean"), 5.0),
    "mm_sap": Headline(("score",), 3.0),
    "mm_vet": Headline(("total",), 3.0),
    "mme": Headline(("score",), 20.0),
}


def main() -> int:
    wrong = []
    paths = shipped()
    for path in paths:
        now, then = json.loads(Path(path).read_bytes()), json.loads(git("show", f"HEAD:{path}"))
        wrong += [f"{path}: {said}" for said in too_far(now, then)]
    print(*wrong, f"{len(paths)} neural score files, {len(wrong)} figures too far from those in Git", sep="\n")
    return 1 if wrong or not paths else 0


def too_far(now: dict[str, Any], then: dict[str, Any]) -> Iterator[str]:
    """What is off between two score files of one run; a metric that one of them lacks is."""
    metrics, tolerance = HEADLINES[then["benchmark"]]
    for metric in metrics:
        new, old = (score["metrics"].get(metric) for score in (now, then))
        if (new is None) != (old is None) or (new is not None and abs(new - old) > tolerance):
            yield f"{metric} is {new}, in Git {old}"


def shipped() -> list[str]:
    """The score files of the trio that are in Git."""
    paths = git("ls-tree", "-r", "--name-only", "HEAD", "reports/scores").splitlines()
    return [path for path in paths if "trio_" in path and path.endswith(".json")]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())

"""How often ``compare`` raises a false alarm, and how often it sees a service that changed.

Run as ``python -m lab.changes`` in the top folder, half a minute of CPU; it writes the table of
``reports/changes.md``. A simulated service is asked three times: twice as A (which is the floor of
noise) and once as B, which gives another answer to a share of the samples.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftledger.core.files import write_text
from driftledger.metrics.changes import mcnemar, more_than_floor, non_inferiority
from driftledger.metrics.paired import paired_interval

PAGE = Path("reports/changes.md")
REPETITIONS = 2000
LEVEL = 0.05
SIZES = {"questions": 240, "descriptions": 60}
FLOORS = (0.0, 0.03)
"""The share of samples that the service answers differently by itself."""
CHANGES = (0.0, 0.02, 0.05, 0.10)
"""The share of samples that B answers differently besides."""
ACCURACY = 0.8
MARGINS = (0.05, 0.1)

Flags = NDArray[np.bool_]


def flips(random: np.random.Generator, n: int, share: float) -> Flags:
    """Draw which of n samples change."""
    return random.random(n) < share


def alarms_by_floor(n: int, floor: float, change: float) -> float:
    """Return how often B is said to differ from A by more than A's second asking does."""
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(REPETITIONS):
        first = flips(random, n, floor)
        second = first != flips(random, n, floor)
        third = first != (flips(random, n, floor) | flips(random, n, change))
        p = more_than_floor(int((third & ~second).sum()), int((second & ~third).sum()))
        alarms += p <= LEVEL
    return alarms / REPETITIONS


def alarms_by_readings(n: int, floor: float, broken: float) -> float:
    """Return how often McNemar's test alone, without a second asking, sees right turn wrong."""
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(REPETITIONS):
        right = random.random(n) < ACCURACY
        first = right != flips(random, n, floor)
        second = (right != flips(random, n, floor)) & ~flips(random, n, broken)
        fixed = int((second & ~first).sum())
        p = mcnemar(fixed, int((first & ~second).sum()))
        alarms += p <= LEVEL
    return alarms / REPETITIONS


def passes(n: int, loss: float, margin: float) -> float:
    """Return how often B, worse by ``loss`` on average, is shown to be within the margin."""
    random = np.random.default_rng(0)
    shown = 0
    for _ in range(REPETITIONS):
        sample = random.normal(0.5, 0.1, n)
        b = sample + random.normal(-loss, 0.1, n)
        names = [str(number) for number in range(n)]
        paired = paired_interval(sample, b, ["all"] * n, names, confidence=0.95)
        result = non_inferiority(
            paired.difference,
            paired.standard_error,
            paired.df,
            n,
            margin=margin,
            confidence=1 - LEVEL,
        )
        shown += result.shown
    return shown / REPETITIONS


def tables() -> Iterator[str]:
    """Write the three tables in Markdown."""
    yield "# Alarms and power of `compare`"
    yield ""
    yield f"By `python -m lab.changes`: {REPETITIONS:,} simulated repetitions, tests at 5 %."
    for title, alarms in (
        ("`--fail-if changed`, where A was asked twice", alarms_by_floor),
        ("`--fail-if changed`, where A was asked once: right that turns wrong", alarms_by_readings),
    ):
        yield f"\n## {title}\n"
        heads = [f"{change:.0%} changed" if change else "nothing changed" for change in CHANGES]
        yield f"| samples | changes by itself | {' | '.join(heads)} |"
        yield "|---|---:|" + "---:|" * len(CHANGES)
        for name, n in SIZES.items():
            for floor in FLOORS:
                cells = [f"{alarms(n, floor, change):.1%}" for change in CHANGES]
                yield f"| {n} {name} | {floor:.0%} | {' | '.join(cells)} |"
    yield "\n## `--fail-if not-as-good`: how often B passes\n"
    yield "| samples | margin | B equal | B worse by the margin |"
    yield "|---|---:|---:|---:|"
    for name, n in SIZES.items():
        for margin in MARGINS:
            equal = passes(n, 0.0, margin)
            at_margin = passes(n, margin, margin)
            yield f"| {n} {name} | {margin} | {equal:.1%} | {at_margin:.1%} |"


if __name__ == "__main__":
    write_text(PAGE, "\n".join(tables()) + "\n")
    print(PAGE.read_text(encoding="utf-8"))

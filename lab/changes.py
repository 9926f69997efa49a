"""How often ``compare`` raises a false alarm, and how often it sees a service that changed.

Run as ``python -m lab.changes`` in the top folder, a minute of CPU; it writes the table of
``reports/changes.md``. A simulated service is asked three times: twice as A (which is the floor of
noise) and once as B, which gives another answer to a share of the samples.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftledger.core.files import write_text
from driftledger.metrics.changes import mcnemar, more_than_floor, non_inferiority

PAGE = Path("reports/changes.md")
REPETITIONS = 200_000
AT_ONCE = 10_000
LEVEL = 0.05
SIZES = {"questions": 240, "descriptions": 60}
FLOORS = (0.0, 0.03)
"""The share of samples that the service answers differently by itself."""
CHANGES = (0.0, 0.02, 0.05, 0.10)
"""The share of samples that B answers differently besides."""
ACCURACY = 0.8
MARGINS = (0.02, 0.05)
KINDS = {
    "0": "right or wrong",
    "0.03": "right or wrong",
    "0.1": "right or wrong",
    "": "similarities",
}
"""The share of answers that turn right or wrong by themselves → what the samples are worth."""

Dice = np.random.Generator
Flags = NDArray[np.bool_]


def counted(draw: Callable[[Dice], tuple[Flags, Flags]]) -> Counter[tuple[int, int]]:
    """Count, over all repetitions, how many samples two flags of each are true of."""
    random = np.random.default_rng(0)
    counts = Counter[tuple[int, int]]()
    for _ in range(REPETITIONS // AT_ONCE):
        one, two = draw(random)
        counts.update(
            zip(one.sum(axis=1).tolist(), two.sum(axis=1).tolist(), strict=True)
        )
    return counts


def share(counts: Counter[tuple[int, int]], test: Callable[[int, int], bool]) -> str:
    """Write how often a test says yes, in percent."""
    hits = sum(times for pair, times in counts.items() if test(*pair))
    return f"{hits / counts.total():.1%}"


def flips(random: Dice, n: int, share: float) -> Flags:
    """Draw which of n samples change, in every repetition."""
    return random.random((AT_ONCE, n)) < share


def alarms_by_floor(n: int, floor: float, change: float) -> str:
    """Return how often B is said to differ from A by more than A's second asking does."""

    def draw(random: Dice) -> tuple[Flags, Flags]:
        first = flips(random, n, floor)
        second = first != flips(random, n, floor)
        third = first != (flips(random, n, floor) | flips(random, n, change))
        return third & ~second, second & ~third

    return share(counted(draw), lambda one, two: more_than_floor(one, two) <= LEVEL)


def alarms_by_readings(n: int, floor: float, broken: float) -> str:
    """Return how often McNemar's test alone, without a second asking, sees right turn wrong."""

    def draw(random: Dice) -> tuple[Flags, Flags]:
        right = random.random((AT_ONCE, n)) < ACCURACY
        first = right != flips(random, n, floor)
        second = (right != flips(random, n, floor)) & ~flips(random, n, broken)
        return second & ~first, first & ~second

    return share(counted(draw), lambda one, two: mcnemar(one, two) <= LEVEL)


def passes(n: int, floor: float, loss: float, margin: float) -> str:
    """Return how often B passes that answers a share ``loss`` fewer questions rightly.

    A share ``floor`` turns right or wrong by itself, as often the one as the other.
    """

    def draw(random: Dice) -> tuple[Flags, Flags]:
        place = random.random((AT_ONCE, n))
        return place > 1 - floor / 2, place < loss + floor / 2

    def shown(fixed: int, broken: int) -> bool:
        lead = (fixed - broken) / n
        variance = ((fixed + broken) / n - lead**2) / (n - 1)
        return is_shown(n, lead, variance, margin=margin, step=1.0)

    return share(counted(draw), shown)


def passes_by_value(n: int, loss: float, margin: float) -> str:
    """Return how often B passes whose descriptions are worth ``loss`` less, give or take 0.14."""
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(REPETITIONS // AT_ONCE):
        differences = random.normal(-loss, 0.14, (AT_ONCE, n))
        leads = differences.mean(axis=1).tolist()
        variances = (differences.var(axis=1, ddof=1) / n).tolist()
        steps = ((differences**2).sum(axis=1) / abs(differences).sum(axis=1)).tolist()
        for lead, variance, step in zip(leads, variances, steps, strict=True):
            hits += is_shown(n, lead, variance, margin=margin, step=step)
    return f"{hits / REPETITIONS:.1%}"


def is_shown(
    n: int, lead: float, variance: float, *, margin: float, step: float
) -> bool:
    """Return True if the gate passes B; ``variance`` is of the mean."""
    result = non_inferiority(
        lead, variance**0.5, n - 1, n, margin=margin, confidence=1 - LEVEL, step=step
    )
    return result.shown


def alarm_tables() -> Iterator[str]:
    """Write how often each test of ``--fail-if changed`` raises an alarm."""
    for title, alarms in (
        ("`--fail-if changed`, where A was asked twice", alarms_by_floor),
        (
            "`--fail-if changed`, where A was asked once: right that turns wrong",
            alarms_by_readings,
        ),
    ):
        yield f"\n## {title}\n"
        heads = [
            f"{change:.0%} changed" if change else "nothing changed"
            for change in CHANGES
        ]
        yield f"| samples | changes by itself | {' | '.join(heads)} |"
        yield "|---|---:|" + "---:|" * len(CHANGES)
        for name, n in SIZES.items():
            for floor in FLOORS:
                cells = [alarms(n, floor, change) for change in CHANGES]
                yield f"| {n} {name} | {floor:.0%} | {' | '.join(cells)} |"


def margin_row(n: int, noise: str, margin: float) -> str:
    """Write how often B passes a margin: equal to A, and worse by the margin."""
    cells = []
    for loss in (0.0, margin):
        cells.append(
            passes(n, float(noise), loss, margin)
            if noise
            else passes_by_value(n, loss, margin)
        )
    by_itself = f"{float(noise):.0%}" if noise else "–"
    return f"| {n}, {KINDS[noise]} | {by_itself} | {margin} | {' | '.join(cells)} |"


def tables() -> Iterator[str]:
    """Write the three tables in Markdown."""
    yield "# Alarms and power of `compare`"
    yield ""
    yield (
        f"By `python -m lab.changes`: {REPETITIONS:,} simulated repetitions, tests at 5 %. "
        "The standard error is 0.05 percentage points at 5 %, 0.11 at 50 %."
    )
    yield from alarm_tables()
    yield "\n## `--fail-if not-as-good`: how often B passes\n"
    yield "| samples | changes by itself | margin | B equal | B worse by the margin |"
    yield "|---|---:|---:|---:|---:|"
    for n in SIZES.values():
        for noise in KINDS:
            for margin in MARGINS:
                yield margin_row(n, noise, margin)


if __name__ == "__main__":
    write_text(PAGE, "\n".join(tables()) + "\n")
    print(PAGE.read_text(encoding="utf-8"))

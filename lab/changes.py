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
from driftledger.metrics.paired import p_value

PAGE = Path("reports/changes.md")
REPETITIONS = 200_000
"""A tenth of them where each costs more."""
AT_ONCE = 2_000
LEVEL = 0.05
SIZES = {"questions": 240, "descriptions": 60}
FLOORS = (0.0, 0.03)
"""The share of samples that the service answers differently by itself."""
CHANGES = (0.0, 0.02, 0.05, 0.10)
"""The share of samples that B answers differently besides."""
ACCURACY = 0.8
MARGINS = (0.02, 0.05)
BY_ITSELF = (0.0, 0.03, 0.1)
"""The share of answers that turn right or wrong by themselves."""
CLUSTERS = ((48, 5), (24, 10), (120, 3), (120, 2))
"""Images, and questions about each."""
SAMPLES = (21, 60, 120, 240)
NOISES = (0.05, 0.14)
"""How far the similarity of a sample is off, by itself."""
DISASTERS = ((0.01, 0.02, 0.8), (0.03, 0.05, 0.4))
"""Noise, the share of samples that are lost, and what each of them loses."""

Dice = np.random.Generator
Flags = NDArray[np.bool_]


def counted(
    draw: Callable[[Dice], tuple[Flags, Flags]], repetitions: int = REPETITIONS
) -> Counter[tuple[int, int]]:
    """Count, over all repetitions, how many samples two flags of each are true of."""
    random = np.random.default_rng(0)
    counts = Counter[tuple[int, int]]()
    for _ in range(repetitions // AT_ONCE):
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


def alarms_by_image(images: int, questions: int, asks_twice: bool) -> tuple[str, str]:
    """Return how often the same model, asked again, raises an alarm, and one that changed does.

    Of an image that is seen otherwise, each answer is another with probability 0.8. That happens to
    one image in ten at each asking; of a model that changed, to one more in ten.
    """
    test = more_than_floor if asks_twice else mcnemar
    shares = []
    for change in (0.0, 0.1):

        def asked(random: Dice, share: float) -> Flags:
            seen = random.random((AT_ONCE, images, 1)) < share
            return seen & (random.random((AT_ONCE, images, questions)) < 0.8)

        def draw(random: Dice, change: float = change) -> tuple[Flags, Flags]:
            first = asked(random, 0.1)
            third = asked(random, 0.1) | asked(random, change)
            if not asks_twice:
                gains = first.sum(axis=2) - third.sum(axis=2)
                return gains < 0, gains > 0
            second = asked(random, 0.1)
            further = (first != third).sum(axis=2) - (first != second).sum(axis=2)
            return further > 0, further < 0

        counts = counted(draw, REPETITIONS // 10)
        shares.append(share(counts, lambda one, two: test(one, two) <= LEVEL))
    return shares[0], shares[1]


def passes(n: int, floor: float, loss: float, margin: float) -> str:
    """Return how often B passes that answers a share ``loss`` fewer questions rightly.

    A share ``floor`` turns right or wrong by itself, as often the one as the other. With all
    questions about an image in the place of one, n are images.
    """

    def draw(random: Dice) -> tuple[Flags, Flags]:
        place = random.random((AT_ONCE, n))
        return place > 1 - floor / 2, place < loss + floor / 2

    def shown(fixed: int, broken: int) -> bool:
        lead = (fixed - broken) / n
        variance = ((fixed + broken) / n - lead**2) / (n - 1)
        return is_shown(n, lead, variance, margin=margin)

    return share(counted(draw), shown)


def passes_by_value(
    n: int, noise: float, margin: float, loss: float, rare: tuple[float, float] | None
) -> str:
    """Return how often B passes whose descriptions are worth ``loss`` less, give or take ``noise``.

    Of ``rare`` disasters, the first is the share of samples and the second what each loses.
    """
    random = np.random.default_rng(0)
    hits = 0
    repetitions = REPETITIONS // 10
    for _ in range(repetitions // AT_ONCE):
        differences = random.normal(-loss, noise, (AT_ONCE, n))
        if rare:
            differences -= rare[1] * (random.random((AT_ONCE, n)) < rare[0])
        leads = differences.mean(axis=1).tolist()
        variances = (differences.var(axis=1, ddof=1) / n).tolist()
        for lead, variance in zip(leads, variances, strict=True):
            hits += is_shown(n, lead, variance, margin=margin)
    return f"{hits / repetitions:.1%}"


def is_shown(n: int, lead: float, variance: float, *, margin: float) -> bool:
    """Return True if the gate passes B; ``variance`` is of the mean, and 1 can be lost."""
    result = non_inferiority(
        lead, variance**0.5, n - 1, n, margin=margin, confidence=1 - LEVEL, step=1.0
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


def fails_by_gains(n: int) -> str:
    """Return how often ``worse`` fails a B that is as good: one sample in 50 gains 0.784, and all
    others lose 0.016."""
    random = np.random.default_rng(0)
    gained = random.binomial(n, 0.02, REPETITIONS)
    counts = Counter(gained.tolist())
    hits = 0
    for gains, times in counts.items():
        lead = gains * 0.8 / n - 0.016
        variance = 0.64 * gains * (n - gains) / (n * n * (n - 1))
        hits += times * (lead < 0 and p_value(lead, variance**0.5, n - 1, n) <= LEVEL)
    return f"{hits / REPETITIONS:.1%}"


def image_row(images: int, questions: int) -> str:
    """Write how often answers about the same images raise an alarm."""
    cells = list[str]()
    for asks_twice in (True, False):
        cells += alarms_by_image(images, questions, asks_twice)
    return f"| {images} × {questions} | {' | '.join(cells)} |"


def margin_row(n: int, by_itself: float, margin: float) -> str:
    """Write how often B passes a margin: equal to A, and worse by the margin."""
    cells = [passes(n, by_itself, loss, margin) for loss in (0.0, margin)]
    return f"| {n} | {by_itself:.0%} | {margin} | {' | '.join(cells)} |"


def value_row(n: int, noise: float, margin: float) -> str:
    """Write the same of similarities."""
    cells = [passes_by_value(n, noise, margin, loss, None) for loss in (0.0, margin)]
    return f"| {n} | {noise} | {margin} | {' | '.join(cells)} |"


def disaster_row(n: int, noise: float, rare: tuple[float, float]) -> str:
    """Write the same where a few samples lose much, and B is worse by that alone."""
    margin = round(rare[0] * rare[1], 6)
    cells = [passes_by_value(n, noise, margin, 0.0, each) for each in (None, rare)]
    lost = f"1 in {1 / rare[0]:.0f} loses {rare[1]}"
    return f"| {n} | {noise} | {lost} | {margin} | {' | '.join(cells)} |"


def tables() -> Iterator[str]:
    """Write the tables in Markdown."""
    yield "# Alarms and power of `compare`"
    yield ""
    yield (
        f"By `python -m lab.changes`: {REPETITIONS:,} simulated repetitions, tests at 5 %. "
        "The standard error is 0.05 percentage points at 5 %, 0.11 at 50 %; of questions about "
        "images and of similarities, a tenth of the repetitions, 0.15 and 0.35."
    )
    yield from alarm_tables()
    yield "\n## `--fail-if changed`: several questions about an image\n"
    yield (
        "| images × questions | asked twice: nothing changed | 10% of images changed | "
        "asked once: nothing changed | 10% of images turn right or wrong |"
    )
    yield "|---|---:|---:|---:|---:|"
    for images, questions in CLUSTERS:
        yield image_row(images, questions)
    yield "\n## `--fail-if worse`: rare gains\n"
    yield (
        "B loses 0.016 on each sample and gains 0.784 on one in 50, so that it is equal on "
        "average.\n"
    )
    yield "| samples | fails |"
    yield "|---:|---:|"
    for n in (20, *SAMPLES[1:]):
        yield f"| {n} | {fails_by_gains(n)} |"
    ends = "B equal | B worse by the margin |"
    yield "\n## `--fail-if not-as-good`: how often B passes\n"
    yield "Right or wrong: one question about each image, or images that lose all of theirs.\n"
    yield f"| images | changes by itself | margin | {ends}"
    yield "|---:|---:|---:|---:|---:|"
    for n in SAMPLES:
        for by_itself in BY_ITSELF:
            for margin in MARGINS:
                yield margin_row(n, by_itself, margin)
    yield "\nSimilarities:\n"
    yield f"| samples | noise of one | margin | {ends}"
    yield "|---:|---:|---:|---:|---:|"
    for n in SAMPLES:
        for noise in NOISES:
            for margin in (*MARGINS, 0.1):
                yield value_row(n, noise, margin)
    yield "\nRare disasters:\n"
    yield f"| samples | noise of one | disasters | margin | {ends}"
    yield "|---:|---:|---|---:|---:|---:|"
    for n in SAMPLES:
        for noise, *rare in DISASTERS:
            yield disaster_row(n, noise, (rare[0], rare[1]))


if __name__ == "__main__":
    write_text(PAGE, "\n".join(tables()) + "\n")
    print(PAGE.read_text(encoding="utf-8"))

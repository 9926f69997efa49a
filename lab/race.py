"""How often a race errs, and how many images it asks for: simulated races over 500 images.

Run as ``python -m lab.race`` in the top folder, two minutes of CPU; it writes ``reports/race.md``.
A race looks after 32, 64, 128, 256 and 500 images.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from driftledger.core.files import write_text
from driftledger.metrics.sequential import mean_sequence

PAGE = Path("reports/race.md")
ERRORS = "| 500 images | a race errs | Student's t at each look |\n|---|---:|---:|\n"
IMAGES = (
    "| categories, order | difference | decided | wrongly | images asked for | fixed sample |\n"
    "|---|---:|---:|---:|---:|---:|\n"
)
SCORES = Path("reports/scores")
RACES = 2000
ALPHA = 0.05
LOOKS = (32, 64, 128, 256, 500)
EVEN = (100, 100, 100, 100, 100)
UNEVEN = (200, 120, 80, 50, 30, 20)
PROPORTION = "in proportion"
TURN = "in turn"
ORDERS = (
    ("five of 100", EVEN, TURN),
    ("six of 20 to 200", UNEVEN, PROPORTION),
    ("six of 20 to 200", UNEVEN, TURN),
)
"""Categories, their sizes, and the order in which images are taken from them."""
DIFFERENCES = (0.02, 0.05, 0.10, 0.20)

Array = NDArray[np.float64]
Dice = np.random.Generator
Scores = list[Array]
"""Models × images of each category."""


def demo_noise() -> Array:
    """Return how far each photograph's difference in GC@5 is from the mean, of three models."""
    scores = []
    for detail in ("coarse", "medium", "fine"):
        place = f"regions_{detail}/genception/photos/painter/layout/rows.jsonl"
        lines = (SCORES / place).read_text(encoding="utf-8").splitlines()
        scores.append([json.loads(line)["values"]["gc"][-1] for line in lines])
    deviations = []
    for one, other in combinations(np.array(scores), 2):
        differences = other - one
        deviations.append(differences - differences.mean())
    return np.concatenate(deviations)


DEMO = demo_noise()


def demo(random: Dice, shape: tuple[int, int]) -> Array:
    """Draw scores whose differences vary as those of the demonstration."""
    return random.choice(DEMO, shape) / math.sqrt(2)


def skewed(random: Dice, shape: tuple[int, int]) -> Array:
    """Draw scores of which the last model loses 0.8 in one image of fifty."""
    scores = random.normal(0, 0.02, shape)
    scores[-1] += 0.016 - 0.8 * (random.random(shape[1]) < 0.02)
    return scores


def heavy(random: Dice, shape: tuple[int, int]) -> Array:
    """Draw from Student's t with two degrees of freedom, cut at a half."""
    return (0.05 * random.standard_t(2, shape)).clip(-0.5, 0.5)


def equal(
    noise: Callable[[Dice, tuple[int, int]], Array],
    sizes: tuple[int, ...],
    models: int = 2,
) -> Callable[[Dice], Scores]:
    """Return a draw of models that are equally good in each category."""

    def draw(random: Dice) -> Scores:
        return [noise(random, (models, size)) for size in sizes]

    return draw


def apart(random: Dice) -> Scores:
    """Draw two models of which one leads in large categories, the other in small ones."""
    scores = []
    for size, lead in zip(UNEVEN, np.linspace(0.15, -0.15, len(UNEVEN)), strict=True):
        of_category = demo(random, (2, size))
        of_category[1] += lead
        scores.append(of_category)
    return scores


def reordered(random: Dice) -> Scores:
    """Draw the order of 500 images that are always the same, with a mean difference of 0."""
    scores = equal(demo, EVEN)(np.random.default_rng(7))
    for of_category in scores:
        of_category -= of_category.mean(axis=1, keepdims=True)
    return [random.permutation(of_category, axis=1) for of_category in scores]


CASES = {
    "two equal models, noise of the demonstration": equal(demo, EVEN),
    "… of which one loses 0.8 in one image of fifty": equal(skewed, EVEN),
    "… with heavy tails": equal(heavy, EVEN),
    "… in categories of 20 to 200": equal(demo, UNEVEN),
    "… one better in large categories, one in small ones": apart,
    "… over the same 500 images in any order": reordered,
    "five equal models": equal(demo, EVEN, models=5),
}


def taken(sizes: Sequence[int], images: int, order: str = PROPORTION) -> list[int]:
    """Return how many images of each category are among the first in this order."""
    places = []
    for category, size in enumerate(sizes):
        step = 1 / size if order == PROPORTION else 1
        places += [((image + 0.5) * step, category) for image in range(size)]
    counts = Counter(category for _, category in sorted(places)[:images])
    return [counts[category] for category in range(len(sizes))]


def is_decided(differences: Scores, counts: list[int], alpha: float) -> int:
    """Return the sign of the difference if the sequence shows it, else 0."""
    first = {}
    for category, count in enumerate(counts):
        first[str(category)] = differences[category][:count].tolist()
    low, high = mean_sequence(first, alpha=alpha)
    return int(low > 0) - int(high < 0)


def is_significant(differences: Scores, counts: list[int], alpha: float) -> bool:
    """Return True if Welch's t test, stratified, shows a difference."""
    if min(counts) < 2:
        return False
    means = 0.0
    variances = []
    for of_category, count in zip(differences, counts, strict=True):
        means += float(of_category[:count].mean())
        variances.append(float(of_category[:count].var(ddof=1)) / count)
    total = sum(variances)
    shares = [
        variance**2 / (count - 1)
        for variance, count in zip(variances, counts, strict=True)
    ]
    t = abs(means) / math.sqrt(total)
    return bool(2 * special.stdtr(total**2 / sum(shares), -t) <= alpha)


def percent(races: int) -> str:
    return f"{100 * races / RACES:.1f} %"


def error_row(name: str) -> str:
    """Write how often a difference is shown between models that are equal.

    The sequence may decide after any round up to the last image, so at more looks than a race has.
    """
    random = np.random.default_rng(52)
    draw = CASES[name]
    by_race = 0
    by_t = 0
    for _ in range(RACES):
        scores = draw(random)
        sizes = [of_category.shape[1] for of_category in scores]
        looks = [taken(sizes, images) for images in LOOKS]
        pairs = [*combinations(range(len(scores[0])), 2)]
        alpha = ALPHA / len(pairs)
        is_wrong = False
        is_alarm = False
        for one, other in pairs:
            differences = [
                of_category[other] - of_category[one] for of_category in scores
            ]
            is_wrong = is_wrong or is_decided(differences, sizes, alpha) != 0
            for counts in looks:
                is_alarm = is_alarm or is_significant(differences, counts, alpha)
        by_race += is_wrong
        by_t += is_alarm
    mark = " (!)" if by_race > ALPHA * RACES else ""
    return f"| {name} | {percent(by_race)}{mark} | {percent(by_t)} |"


def image_row(
    categories: str, sizes: tuple[int, ...], order: str, difference: float
) -> str:
    """Write how many images a race of two models asks for, up to all of them."""
    random = np.random.default_rng(52)
    counts = [taken(sizes, images, order) for images in LOOKS]
    draw = equal(demo, sizes)
    asked = 0
    signs = Counter[int]()
    for _ in range(RACES):
        differences = [other - one + difference for one, other in draw(random)]
        for images, count in zip(LOOKS, counts, strict=True):
            sign = is_decided(differences, count, ALPHA)
            if sign or images == LOOKS[-1]:
                break
        asked += images
        signs[sign] += 1
    power = min(1 - signs[0] / RACES, 0.999)
    fixed = fixed_sample(difference, sizes, power)
    return (
        f"| {categories}, {order} | {difference:.2f} | {percent(signs[1] + signs[-1])} "
        f"| {percent(signs[-1])} | {asked / RACES:.0f} | {fixed} |"
    )


def fixed_sample(difference: float, sizes: tuple[int, ...], power: float) -> str:
    """Write how many images a single test needs to find the difference so often."""
    if power < ALPHA:
        return "–"
    weights = sum(1 / size for size in sizes) * sum(sizes) / len(sizes) ** 2
    quantiles = float(special.ndtri(1 - ALPHA / 2) + special.ndtri(power))
    return f"{weights * float(DEMO.var()) * (quantiles / difference) ** 2:.0f}"


def tables() -> Iterator[str]:
    """Write both tables in Markdown."""
    yield "# Errors and sizes of races\n"
    yield (
        f"By `python -m lab.race`: {RACES:,} simulated races over 500 images at α = 5 %, split "
        "over the pairs of models.\n"
    )
    yield ERRORS + "\n".join(error_row(name) for name in CASES)
    yield (
        "\nImages asked for, with looks after 32, 64, 128, 256 and 500. *Fixed sample* is the "
        "size of a single t test that finds this difference as often (at most 99.9 %), if you "
        "knew it beforehand:\n"
    )
    rows = []
    for categories, sizes, order in ORDERS:
        for difference in DIFFERENCES:
            rows.append(image_row(categories, sizes, order, difference))
    yield IMAGES + "\n".join(rows)


if __name__ == "__main__":
    write_text(PAGE, "\n".join(tables()) + "\n")

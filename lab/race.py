"""How often a race errs, and how many images it asks for: simulated races over 500 images.

Run as ``python -m lab.race`` in the top folder, a minute of CPU; it writes ``reports/race.md``.
Images are ordered and counted by the code of ``run --until ranked`` itself; their values are drawn.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from driftledger.commands.race import sizes_of
from driftledger.core.files import write_text
from driftledger.data.datasets.base import first_of
from driftledger.ledger.race import in_turns
from driftledger.metrics.sequential import mean_sequence

PAGE = Path("reports/race.md")
ERRORS = "| 500 images | a race errs | Student's t at each look |\n|---|---:|---:|\n"
IMAGES = (
    "| categories | difference | decided | wrongly | images asked for | fixed sample |\n"
    "|---|---:|---:|---:|---:|---:|\n"
)
SCORES = Path("reports/scores")
RACES = 500
ALPHA = 0.05
EVEN = (100, 100, 100, 100, 100)
UNEVEN = (200, 120, 80, 50, 30, 20)
DIFFERENCES = (0.02, 0.05, 0.10, 0.20)

Array = NDArray[np.float64]
Dice = np.random.Generator
Values = list[Array]
"""Models × images of each category."""
Draw = Callable[[Dice], Values]


class Images:
    """The images of a dataset, and which of them each look counts, by category."""

    def __init__(self, sizes: tuple[int, ...], *, one_name: bool = False) -> None:
        """Name the images; those at one place of several categories alike, if ``one_name``."""
        self.places: dict[str, tuple[int, int]] = {}
        categories = {}
        for category, size in enumerate(sizes):
            for number in range(size):
                name = f"{number}" if one_name else f"{category}-{number}"
                id_ = f"{category}_{name}"
                categories[id_] = str(category)
                self.places[id_] = (category, number)
        self.looks: dict[int, Mapping[str, list[str]]] = {}
        for size in sizes_of(categories, 0):
            first = first_of(categories, size)
            self.looks[size] = in_turns(
                {id_: (categories[id_], id_) for id_ in first}, 0
            )

    def at(self, size: int, differences: Values) -> dict[str, list[float]]:
        """Return the differences that a look counts."""
        counted = {}
        for name, ids in self.looks[size].items():
            places = [self.places[id_] for id_ in ids]
            counted[name] = [
                float(differences[category][image]) for category, image in places
            ]
        return counted


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
    sizes: tuple[int, ...] = EVEN,
    models: int = 2,
) -> Draw:
    """Return a draw of models that are equally good in each category."""

    def draw(random: Dice) -> Values:
        return [noise(random, (models, size)) for size in sizes]

    return draw


def apart(random: Dice) -> Values:
    """Draw two models of which one leads in large categories, the other in small ones."""
    scores = equal(demo, UNEVEN)(random)
    for of_category, lead in zip(
        scores, np.linspace(0.15, -0.15, len(UNEVEN)), strict=True
    ):
        of_category[1] += lead
    return scores


def reordered(random: Dice) -> Values:
    """Draw the order of 500 images that are always the same, with a mean difference of 0."""
    scores = equal(demo)(np.random.default_rng(7))
    for of_category in scores:
        of_category -= of_category.mean(axis=1, keepdims=True)
    return [random.permutation(of_category, axis=1) for of_category in scores]


def same_scenes(random: Dice) -> Values:
    """Draw 100 scenes, each of which is in all five categories."""
    return [demo(random, (2, EVEN[0]))] * len(EVEN)


def near_duplicates(random: Dice) -> Values:
    """Draw 100 scenes, each of which is five images of one category."""
    return [demo(random, (2, size // 5)).repeat(5, axis=1) for size in EVEN]


APART = Images(EVEN)
CASES: dict[str, tuple[Draw, Images]] = {
    "two equal models, noise of the demonstration": (equal(demo), APART),
    "… of which one loses 0.8 in one image of fifty": (equal(skewed), APART),
    "… with heavy tails": (equal(heavy), APART),
    "… in categories of 20 to 200": (equal(demo, UNEVEN), Images(UNEVEN)),
    "… one better in large categories, one in small ones": (apart, Images(UNEVEN)),
    "… over the same 500 images in any order": (reordered, APART),
    "five equal models": (equal(demo, models=5), APART),
    "**dependent:** 100 scenes in all five categories, under five names": (
        same_scenes,
        APART,
    ),
    "… under one name, so that each counts once": (
        same_scenes,
        Images(EVEN, one_name=True),
    ),
    "**dependent:** 100 scenes, five images of each in one category": (
        near_duplicates,
        APART,
    ),
}


def is_decided(differences: Mapping[str, list[float]], alpha: float) -> int:
    """Return the sign of the difference if the sequence shows it, else 0."""
    low, high = mean_sequence(differences, alpha=alpha)
    return int(low > 0) - int(high < 0)


def is_significant(differences: Mapping[str, list[float]], alpha: float) -> bool:
    """Return True if Welch's t test, stratified, shows a difference."""
    columns = [np.array(values) for values in differences.values()]
    if min(map(len, columns)) < 2:
        return False
    means = sum(float(column.mean()) for column in columns)
    variances = [float(column.var(ddof=1)) / len(column) for column in columns]
    total = sum(variances)
    shares = [
        variance**2 / (len(column) - 1)
        for variance, column in zip(variances, columns, strict=True)
    ]
    t = abs(means) / math.sqrt(total)
    return bool(2 * special.stdtr(total**2 / sum(shares), -t) <= alpha)


def percent(races: int) -> str:
    return f"{100 * races / RACES:.1f} %"


def error_row(name: str) -> str:
    """Write how often a difference is shown between models that are equal.

    A look shows whatever an earlier one has shown, so the last one is enough.
    """
    random = np.random.default_rng(52)
    draw, images = CASES[name]
    by_race = 0
    by_t = 0
    for _ in range(RACES):
        scores = draw(random)
        pairs = [*combinations(range(len(scores[0])), 2)]
        alpha = ALPHA / len(pairs)
        is_wrong = False
        is_alarm = False
        for one, other in pairs:
            differences = [
                of_category[other] - of_category[one] for of_category in scores
            ]
            for size in images.looks:
                counted = images.at(size, differences)
                is_alarm = is_alarm or is_significant(counted, alpha)
            is_wrong = is_wrong or is_decided(counted, alpha) != 0
        by_race += is_wrong
        by_t += is_alarm
    mark = " (!)" if by_race > ALPHA * RACES else ""
    return f"| {name} | {percent(by_race)}{mark} | {percent(by_t)} |"


def image_row(categories: str, images: Images, draw: Draw, difference: float) -> str:
    """Write how many images a race of two models asks for, up to all of them."""
    random = np.random.default_rng(52)
    asked = 0
    signs = Counter[int]()
    for _ in range(RACES):
        differences = [other - one + difference for one, other in draw(random)]
        for size in images.looks:
            sign = is_decided(images.at(size, differences), ALPHA)
            if sign:
                break
        asked += size
        signs[sign] += 1
    power = min(1 - signs[0] / RACES, 0.999)
    sizes = [*Counter(category for category, _ in images.places.values()).values()]
    fixed = fixed_sample(difference, sizes, power)
    return (
        f"| {categories} | {difference:.2f} | {percent(signs[1] + signs[-1])} "
        f"| {percent(signs[-1])} | {asked / RACES:.0f} | {fixed} |"
    )


def fixed_sample(difference: float, sizes: list[int], power: float) -> str:
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
        "over the pairs of models, with looks after 32, 64, 128, 256 and 500. (!): more than α.\n"
    )
    yield ERRORS + "\n".join(error_row(name) for name in CASES)
    yield (
        "\nImages asked for. *Fixed sample* is the size of a single t test that finds this "
        "difference as often (at most 99.9 %), if you knew it beforehand:\n"
    )
    rows = []
    for categories, sizes in (("five of 100", EVEN), ("six of 20 to 200", UNEVEN)):
        images = Images(sizes)
        for difference in DIFFERENCES:
            rows.append(image_row(categories, images, equal(demo, sizes), difference))
    yield IMAGES + "\n".join(rows)


if __name__ == "__main__":
    write_text(PAGE, "\n".join(tables()) + "\n")

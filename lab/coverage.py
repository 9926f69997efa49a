"""How often intervals contain the truth: simulated data of the shipped sizes, through the functions
that score them.

Run as ``python -m lab.coverage`` in the top folder, a minute of CPU; it writes the table of
``reports/intervals.md``. The truth is the mean of the values of all draws, but for correlations.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.core.files import write_text
from driftledger.metrics.correlation import fisher_interval
from driftledger.metrics.intervals import (
    ConfidenceInterval,
    mean_interval,
    proportion_interval,
    share_interval,
)
from driftledger.metrics.paired import paired_interval
from driftledger.metrics.retrieval import hits as expected_hits
from driftledger.metrics.retrieval import top1

PAGE = Path("reports/intervals.md")
HEAD = "| 95 % interval of | data | contains the truth in |\n|---|---|---:|\n"
PHOTOS = np.repeat(np.arange(6), [4, 3, 4, 4, 4, 2])
"""Category of each photograph."""
TABLE_5 = np.repeat(np.arange(14), 5)
MM_SAP = np.repeat(np.arange(120), [3] * 66 + [4] * 54)
"""Image of each question."""
MME = np.repeat(np.arange(7), [15, 14, 14, 24, 18, 26, 9])
"""Category of each image."""
CONFIDENCE, CLASSES, TESTED = 0.95, 10, 100

Array = NDArray[np.float64]
Dice = np.random.Generator


class Drawn(NamedTuple):
    """One draw of the data: a value and its interval."""

    value: float
    interval: ConfidenceInterval | None


def noise(random: Dice, shape: str, n: int) -> Array:
    """Deviations of a tenth, with a mean of 0: normal, or with the skewness that ``shape``
    names."""
    if shape == "normal":
        return random.normal(0, 0.1, n)
    k = (2 / float(shape)) ** 2
    return 0.1 * (k - random.gamma(k, size=n)) / math.sqrt(k)


def names(numbers: NDArray[np.int64]) -> list[str]:
    return [str(number) for number in numbers]


def gc(categories: NDArray[np.int64], shape: str, random: Dice) -> Drawn:
    means = np.linspace(0.4, 0.9, categories.max() + 1)[categories]
    values = (
        random.beta(8 * means, 8 - 8 * means)
        if shape == "beta"
        else means + noise(random, shape, len(means))
    )
    found = mean_interval(values, names(categories), CONFIDENCE)
    return Drawn(found.value, found.interval)


def hits(random: Dice, spread: str) -> NDArray[np.int64]:
    """Of MM-SAP's questions, in how many of five orders each is answered rightly."""
    alike = spread == "images"
    easy = random.beta(2, 1, 120)[MM_SAP] if alike else random.beta(2, 1, len(MM_SAP))
    return (
        5 * random.binomial(1, easy)
        if spread == "questions, orders agree"
        else random.binomial(5, easy)
    )


def mm_sap(spread: str, random: Dice) -> Drawn:
    found = share_interval(
        hits(random, spread), np.full(len(MM_SAP), 5), names(MM_SAP), CONFIDENCE
    )
    return Drawn(found.value, found.interval)


def mm_vet(low: float, random: Dice) -> Drawn:
    """Grades in tenths, most of them near 0 or 1, which five gradings vary by a tenth."""
    grades = random.beta(low, 0.4, 120)[:, None] + random.normal(0, 0.1, (120, 5))
    tenths = np.rint(10 * grades.clip(0, 1)).astype(np.int64).sum(axis=1)
    found = share_interval(tenths, np.full(120, 50), names(np.arange(120)), CONFIDENCE)
    return Drawn(found.value, found.interval)


def mme(metric: str, low: float, high: float, random: Dice) -> Drawn:
    """Two questions about each image, of which one is easy where the other is."""
    easy = np.linspace(low, high, MME.max() + 1)[MME]
    right = random.binomial(
        1, random.beta(10 * easy, 10 - 10 * easy)[:, None], (len(MME), 2)
    )
    both, mean = right.all(axis=1), right.mean(axis=1)
    if metric == "score":
        found = mean_interval(100 * (mean + both), names(MME), CONFIDENCE)
    elif metric == "accuracy":
        found = share_interval(
            right.ravel(),
            np.ones(2 * len(MME), np.int64),
            names(np.arange(240) // 2),
            CONFIDENCE,
        )
    else:
        found = proportion_interval(both, CONFIDENCE)
    return Drawn(found.value, found.interval)


def described(random: Dice, centres: Array, of: NDArray[np.int64]) -> Array:
    """Descriptions of so many images of classes, as features."""
    return 0.8 * centres[of] + random.normal(size=(len(of), centres.shape[1]))


def trac(how: str, sampled: int, texts: int, random: Dice) -> Drawn:
    """A new support set and test set of ten classes each time; descriptions are the likest of so
    many texts, if any."""
    centres = np.random.default_rng(7).normal(size=(CLASSES, 8))
    of_support, of_tests = (
        np.arange(sampled) % CLASSES,
        random.integers(0, CLASSES, TESTED),
    )
    support, tests = (
        described(random, centres, of_support),
        described(random, centres, of_tests),
    )
    if texts:
        known = np.random.default_rng(9).normal(size=(texts, 8))
        support, tests = (
            known[((x[:, None] - known) ** 2).sum(axis=2).argmin(axis=1)]
            for x in (support, tests)
        )
    labels, truth = names(of_support), names(of_tests)
    expected = expected_hits(support, labels, tests, truth, 1)
    worth = expected.votes[:, 0] if how == "top1" else expected.class_mean
    found = proportion_interval(worth, CONFIDENCE, expected.varies[how])
    return Drawn(found.value, found.interval)


def sampled_classes(random: Dice) -> Drawn:
    """Other classes each time, with four support and four test images each."""
    centres, of = random.normal(size=(24, 8)), np.repeat(np.arange(24), 4)
    taken = top1(
        described(random, centres, of), names(of), described(random, centres, of)
    )
    right = np.array(list(map(str.__eq__, taken, names(of)))).astype(np.int64)
    found = share_interval(right, np.ones(len(of), np.int64), names(of), CONFIDENCE)
    return Drawn(found.value, found.interval)


def compared_trac(sampled: int, random: Dice) -> Drawn:
    """Two models that describe the same support and test images equally well."""
    centres = np.random.default_rng(7).normal(size=(CLASSES, 8))
    of_support, of_tests = (
        np.arange(sampled) % CLASSES,
        random.integers(0, CLASSES, TESTED),
    )
    a, b = (
        top1(
            described(random, centres, of_support),
            names(of_support),
            described(random, centres, of_tests),
        )
        for _ in "ab"
    )
    one, two = (
        np.array([*map(str.__eq__, taken, names(of_tests))], dtype=np.float64)
        for taken in (a, b)
    )
    found = paired_interval(
        one, two, ["all"] * TESTED, names(np.arange(TESTED)), confidence=CONFIDENCE
    )
    return Drawn(found.difference, found.interval)


def compared_photos(shape: str, random: Dice) -> Drawn:
    easy = random.normal(0.6, 0.2, len(PHOTOS))
    a, b = (easy + noise(random, shape, len(PHOTOS)) for _ in "ab")
    found = paired_interval(
        a, b, names(PHOTOS), names(np.arange(len(PHOTOS))), confidence=CONFIDENCE
    )
    return Drawn(found.difference, found.interval)


def compared_mm_sap(random: Dice) -> Drawn:
    easy = random.beta(2, 1, 120)[MM_SAP]
    a, b = (random.binomial(5, easy) / 5 for _ in "ab")
    found = paired_interval(
        a, b, ["all"] * len(a), names(MM_SAP), confidence=CONFIDENCE
    )
    return Drawn(found.difference, found.interval)


def fisher(models: int, random: Dice) -> Drawn:
    """Two columns with a correlation of 0.7."""
    x, y = random.normal(size=(2, models))
    y = 0.7 * x + math.sqrt(1 - 0.49) * y
    r = round(float(np.corrcoef(x, y)[0, 1]), 6)
    return Drawn(0.7, fisher_interval(r, models, CONFIDENCE))


CASES: dict[tuple[str, str], tuple[Callable[[Dice], Drawn], int]] = {
    **{
        ("GC@t", f"the 21 default photographs, {text}"): (
            partial(gc, PHOTOS, shape),
            2000,
        )
        for shape, text in (
            ("normal", "normal"),
            ("beta", "beta"),
            ("1", "skewness −1"),
            ("2", "skewness −2"),
        )
    },
    ("GC@t", "14 categories of five (Table 5), beta"): (
        partial(gc, TABLE_5, "beta"),
        2000,
    ),
    ("GC@t", "five images of one category, skewness −2"): (
        partial(gc, np.zeros(5, np.int64), "2"),
        2000,
    ),
    **{
        (
            "TRAC, top-1" if how == "top1" else "TRAC, class mean",
            f"100 test, {n} support descriptions{text}",
        ): (
            partial(trac, how, n, texts),
            2000,
        )
        for how in ("top1", "class_mean")
        for n, texts, text in (
            (20, 0, ""),
            (50, 0, ""),
            (250, 0, ""),
            (250, 30, " of 30 texts"),
        )
    },
    ("TRAC, top-1", "24 sampled classes of four images"): (sampled_classes, 2000),
    **{
        ("MM-SAP's score", f"414 questions on 120 images, difficulty by {spread}"): (
            partial(mm_sap, spread),
            2000,
        )
        for spread in ("images", "questions", "questions, orders agree")
    },
    **{
        ("MM-Vet's total", f"120 questions, {text}"): (partial(mm_vet, low), 2000)
        for low, text in ((0.4, "a mean of a half"), (0.1, "a mean of a fifth"))
    },
    **{
        (
            f"MME's {metric}",
            f"120 pairs in seven categories, {low:.0%} to {high:.0%} right",
        ): (
            partial(mme, metric, low, high),
            2000,
        )
        for metric in ("score", "accuracy", "accuracy+")
        for low, high in ((0.5, 0.9), (0.9, 0.97))
    },
    **{
        ("a difference of two models", f"the 21 default photographs, {text}"): (
            partial(compared_photos, shape),
            2000,
        )
        for shape, text in (("normal", "normal"), ("1", "skewness −1"))
    },
    ("a difference of two models", "MM-SAP, difficulty by images"): (
        compared_mm_sap,
        2000,
    ),
    **{
        ("a difference of two models", f"TRAC, top-1, {n} support descriptions"): (
            partial(compared_trac, n),
            2000,
        )
        for n in (20, 50, 250)
    },
    **{
        ("a correlation of 0.7", f"{n} models"): (partial(fisher, n), 2000)
        for n in (4, 7, 14)
    },
}
"""What has an interval, and of what data → a draw, and how many there are."""


def covered(case: tuple[str, str]) -> str:
    """A row of the table."""
    draw, draws = CASES[case]
    random = np.random.default_rng(35)
    drawn = [draw(random) for _ in range(draws)]
    truth = sum(each.value for each in drawn) / draws
    inside = sum(
        each.interval is not None and each.interval.low <= truth <= each.interval.high
        for each in drawn
    )
    share = 100 * inside / draws
    return f"| {case[0]} | {case[1]} | {share:.1f} %{'' if 93 <= share <= 97 else ' (!)'} |\n"


def main() -> None:
    before, head, _ = PAGE.read_text(encoding="utf-8").partition(HEAD)
    write_text(PAGE, before + head + "".join(map(covered, CASES)))


if __name__ == "__main__":
    main()

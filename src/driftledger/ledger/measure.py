"""Measure differences and changes over the units that both sides have.

A unit is a sample, a question or a row of a file; what it came from does not matter here.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from driftledger.data.records import ONE_CATEGORY
from driftledger.ledger.comparison import (
    ChangedSample,
    Changes,
    Difference,
    Floor,
    MetricComparison,
    ScorePair,
)
from driftledger.metrics.changes import mcnemar, more_than_floor
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.groups import holm
from driftledger.metrics.intervals import DIGITS, fewest, share_interval
from driftledger.metrics.paired import (
    DECIMALS,
    Paired,
    minimum_detectable_difference,
    paired_interval,
)
from driftledger.scoring.metric import Metric
from driftledger.scoring.score import Answer, Row

Units = Mapping[str, tuple[float, str, str]]
"""Unit → its value, the category that it is averaged in, and the cluster that it is drawn with."""
MOST_APART = Fraction(1, 20)
"""How far the shares of counted samples may lie apart: a model that leaves out hard samples has the
better score."""
Asking: TypeAlias = dict[tuple[str, str, int], tuple[Answer, str]]
"""Cluster, question or sample, and step → the answer or the description, with its text."""


def units_of(metric: Metric, rows: Sequence[Row], t: int | None) -> Units:
    """Return the value of each row at t: the mean over its orders or gradings.

    A ratio is over all units alike, whatever their categories.
    """
    units = {}
    for row in rows:
        values = [value for value in metric.values_at(row, t) if value is not None]
        if values:
            group = ONE_CATEGORY if metric.is_ratio else row.group
            units[row.unit] = (exact_mean(values), group, row.cluster)
    return units


def paired_units(
    metric: Metric, a: Units, b: Units, confidence: float
) -> tuple[int, Paired | None]:
    """Return how many units both have, and the difference over them, if any.

    A unit counts if its category is the same in both; for a ratio, its cluster.
    """
    column = 2 if metric.is_ratio else 1
    common = [unit for unit in a if unit in b and a[unit][column] == b[unit][column]]
    if not common:
        return 0, None
    one = np.array([a[unit][0] for unit in common])
    two = np.array([b[unit][0] for unit in common])
    groups = [a[unit][1] for unit in common]
    clusters = [a[unit][2] for unit in common]
    return len(common), paired_interval(
        one, two, groups, clusters, confidence=confidence
    )


def share_difference(
    what: str, a: tuple[int, int], b: tuple[int, int]
) -> Difference | None:
    """Return the difference between the shares that count; None if they are equal.

    It is unfair if they lie more than :data:`MOST_APART` apart.

    Args:
        what: the name of the difference.
        a: how many of A count, and how many there are.
    """
    share_a = Fraction(*a)
    share_b = Fraction(*b)
    if share_a == share_b:
        return None
    difference = Difference(
        what,
        f"{a[0]}/{a[1]}, {float(share_a):.1%}",
        b=f"{b[0]}/{b[1]}, {float(share_b):.1%}",
        weight="noted",
    )
    if abs(share_a - share_b) <= MOST_APART:
        return difference
    why = f"more than {float(MOST_APART):.0%} apart: what is left out is seldom what is easy"
    return replace(difference, weight="unfair", why=why)


def measure(
    compared: MetricComparison, one: Units, two: Units, barred: str, confidence: float
) -> None:
    """Fill in the fields that need the units of both sides.

    Args:
        barred: why they must not be ranked; empty if they may.
    """
    metric = compared.metric
    common, paired = paired_units(metric, one, two, confidence)
    compared.common = common
    compared.only_a = len(one) - common
    compared.only_b = len(two) - common
    if barred or paired is None:
        compared.unrank(barred or "no sample has a value in both")
        return
    scale = metric.scale
    compared.clusters = paired.free
    compared.difference = scale * paired.difference
    compared.a_common = scale * paired.a
    compared.b_common = scale * paired.b
    compared.unrank(paired.reason)
    if paired.interval is not None:
        low, high = paired.interval
        compared.low = round_significant(scale * low, DIGITS)
        compared.high = round_significant(scale * high, DIGITS)
        compared.standard_error = scale * paired.standard_error
        compared.detectable = scale * minimum_detectable_difference(
            paired.standard_error, paired.df, confidence=confidence
        )
        compared.df = paired.df
        # from 0 at least, as a value that all share may be the best or the worst
        values = [
            0.0,
            *(value for units in (one, two) for value, _, _ in units.values()),
        ]
        span = max(metric.span, scale * (max(values) - min(values)))
        compared.step = round_significant(span * paired.heaviest, DIGITS)
        compared.p_value = paired.p_value
        verdict = "no difference that these samples show"
        if low > 0:
            verdict = "B is higher"
        elif high < 0:
            verdict = "A is higher"
        compared.rank(verdict)
    if paired.free < (least := fewest(confidence)):
        few = (
            f"{paired.free} samples can vary, and fewer than {least} show nothing with"
        )
        compared.unrank(f"{few} {confidence:.0%}")


def correct(pairs: Sequence[ScorePair]) -> None:
    """Correct the p-values of all ranked metrics by Holm's method, and those of all changes."""
    ranked = []
    for pair in pairs:
        for metric in pair.metrics:
            if metric.ranked and metric.p_value is not None:
                ranked.append(metric)
    corrected = holm([metric.p_value or 0.0 for metric in ranked])
    for metric, p_holm in zip(ranked, corrected, strict=True):
        metric.p_holm = p_holm
    tested = []
    p_values = []
    for pair in pairs:
        for changes in pair.changes:
            p_value = changes.floor.p_value if changes.floor else changes.p_value
            if p_value is not None:
                tested.append(changes)
                p_values.append(p_value)
    for changes, p_holm in zip(tested, holm(p_values), strict=True):
        changes.p_holm = p_holm


def find_changes(of: str, askings: Sequence[Asking], confidence: float) -> Changes:
    """Return the changes between the answers, descriptions or values of A and B.

    Args:
        of: the word for them.
        askings: of A, of B, and of A's second asking if there is one.
    """
    a, b, *again = askings
    common = [key for key in a if key in b]
    if not common:
        return Changes(of, note=f"A and B have no {of} in common")
    changes = Changes(of, samples=len(common))
    transitions: Counter[str] = Counter()
    gained: defaultdict[str, float] = defaultdict(float)
    differs = []
    for key in common:
        one, a_text = a[key]
        two, b_text = b[key]
        gained[key[0]] += two.worth - one.worth
        differs.append(one != two)
        if one != two:
            transitions[_transition(of, one, two)] += 1
            changes.furthest.append(
                ChangedSample(
                    one.unit,
                    one.step,
                    a=one.reading,
                    b=two.reading,
                    a_text=a_text,
                    b_text=b_text,
                )
            )
    clusters = [cluster for cluster, _, _ in common]
    changes.clusters = len({*clusters})
    ones = np.ones_like(differs, dtype=int)
    share = share_interval(differs, ones, clusters, confidence)
    changes.changed = sum(differs)
    changes.share = share.value
    if share.interval is not None:
        changes.low, changes.high = share.interval
    changes.transitions = dict(transitions.most_common())
    changes.furthest.sort(key=lambda sample: -_apart(sample.a_text, sample.b_text))
    if of != "descriptions":
        changes.p_value = mcnemar(*_signs(gained))
    known = []
    for sample in changes.furthest:
        if sample.a == sample.b == "described":
            sample.similarity = 1 - _apart(sample.a_text, sample.b_text)
            known.append(sample.similarity)
    changes.similarity = exact_mean(known) if known else None
    if again:
        changes.floor = _floor(a, b, again[0])
    return changes


def _transition(of: str, one: Answer, two: Answer) -> str:
    if of not in ("answers", "descriptions"):
        return "better" if two.worth > one.worth else "worse"
    reading = two.reading
    if reading == one.reading and of == "answers":
        reading = f"other {reading} answer"
    return f"{one.reading} → {reading}"


def _floor(a: Asking, b: Asking, again: Asking) -> Floor | None:
    """Count the changes between two askings of A; None if nothing was asked twice.

    The test counts each image once: more words of B differ from A than words of A's second asking,
    or fewer.
    """
    further_by = defaultdict[str, float](float)
    common = sorted(a.keys() & b.keys() & again.keys())
    changed = 0
    for key in common:
        first, _ = a[key]
        changed += first != again[key][0]
        distance_to_b = _apart(str(first.read), str(b[key][0].read))
        distance_to_again = _apart(str(first.read), str(again[key][0].read))
        further_by[key[0]] += distance_to_b - distance_to_again
    if not common:
        return None
    further, nearer = _signs(further_by)
    return Floor(len(common), changed, more_than_floor(further, nearer))


def _signs(sums: Mapping[str, float]) -> tuple[int, int]:
    """Count the images whose sum is above 0, and those below."""
    rounded = [round(value, DECIMALS) for value in sums.values()]
    return sum(value > 0 for value in rounded), sum(value < 0 for value in rounded)


def _apart(one: str, two: str) -> float:
    """Return the share of words that only one of two texts has.

    A word counts as often as a text repeats it.

    >>> _apart("a red cup", "a blue cup and saucer")
    0.5
    """
    first = Counter(one.casefold().split())
    second = Counter(two.casefold().split())
    words = first.total() + second.total()
    return 1 - 2 * (first & second).total() / words if words else 0.0

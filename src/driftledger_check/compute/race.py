"""A race: the order of its samples, each look at two models, and the stop, computed again."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from driftledger_check import strict_json
from driftledger_check.bundle import Json
from driftledger_check.compute.sequential import mean_sequence
from driftledger_check.compute.values import Sample

FIRST = 32
"""Samples before the first look; one of each category, if these are more."""
BOUND = 1.0
"""The largest difference of two similarities."""
MOST_MODELS = 100

Values = Sequence[float | None]


class Course(NamedTuple):
    """The samples of a race in their order."""

    samples: Sequence[Sample]
    least: int
    """How many there are before the first look."""

    def sizes(self) -> Iterator[int]:
        """Yield after how many samples to look: twice as many each time."""
        size = self.least
        while size < len(self.samples):
            yield size
            size *= 2
        yield len(self.samples)


def course_of(samples: Sequence[Sample], seed: int) -> Course:
    """Order samples: those of a category by a hash, and categories in turns."""
    by_category: dict[str, list[Sample]] = {}
    for sample in sorted(samples, key=lambda sample: _hash(seed, sample)):
        by_category.setdefault(sample.category, []).append(sample)
    places = []
    for category, members in by_category.items():
        for rank, sample in enumerate(members):
            places.append(((rank, category), sample))
    places.sort(key=lambda pair: pair[0])
    ordered = [sample for _, sample in places]
    return Course(ordered, max(FIRST, len(by_category)))


def _hash(seed: int, sample: Sample) -> str:
    return hashlib.sha256(strict_json.canonical([seed, None, sample.id])).hexdigest()


def samples_asked(samples: Sequence[Sample], protocol: Json) -> list[Sample]:
    """List the samples that a protocol asks about, in the order of the dataset."""
    asked = protocol.get("asked")
    if asked is None:
        return list(samples)
    course = course_of(samples, protocol["seed"])
    first = {sample.id for sample in course.samples[: max(asked, course.least)]}
    return [sample for sample in samples if sample.id in first]


def run_race(
    values: Mapping[str, Values],
    course: Course,
    margin: float,
    confidence: float,
) -> dict[str, Any]:
    """Follow a race: its rounds, how many samples each model was asked about, and if it is over.

    Args:
        values: model → what its samples are worth, in the order of the race.
    """
    if not 2 <= len(values) <= MOST_MODELS:
        raise ValueError(
            f"a race has 2 to {MOST_MODELS} models, and this has {len(values)}"
        )
    pairs = list(combinations(sorted(values), 2))
    alpha = (1 - confidence) / len(pairs)
    asked = dict.fromkeys(values, 0)
    rounds = []
    for size in course.sizes():
        racing = {model for pair in pairs for model in pair}
        asked.update(dict.fromkeys(racing, size))
        if any(len(values[model]) < size for model in racing):
            break
        looks = []
        still_open = []
        for first, second in pairs:
            differences = _differences(
                course.samples[:size], values[first], values[second]
            )
            low, high = mean_sequence(differences, alpha, (-BOUND, BOUND))
            looks.append({"first": first, "second": second, "low": low, "high": high})
            is_alike = -margin <= low and high <= margin
            if low <= 0 <= high and not is_alike:
                still_open.append((first, second))
        rounds.append({"samples": size, "looks": looks})
        pairs = still_open
        if not pairs or size == len(course.samples):
            return {"rounds": rounds, "asked": asked, "over": True}
    return {"rounds": rounds, "asked": asked, "over": False}


def _differences(
    samples: Sequence[Sample], first: Values, second: Values
) -> dict[str, list[float]]:
    """List the differences of two models by category; an image counts once."""
    differences: dict[str, list[float]] = {}
    seen = set()
    for number, sample in enumerate(samples):
        own = differences.setdefault(sample.category, [])
        one = first[number]
        other = second[number]
        if sample.sha256 not in seen and one is not None and other is not None:
            own.append(max(-BOUND, min(BOUND, other - one)))
        seen.add(sample.sha256)
    return differences

"""What a bootstrap draws anew: the samples, or questions, behind one value of one score, and what each of them adds.

Scores are means over what is drawn, as GenCeption defines them: over a category's samples, then over categories. The
questions about one image are drawn together, since they are answered well or badly together, as in
:mod:`driftledger.metrics.clustered`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks._questions.records import QuestionOutcome
from driftledger.benchmarks.description_records import Redrawn, Retrieved
from driftledger.benchmarks.genception.records import SampleScore
from driftledger.core.canonical import canonical_json
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.exact import exact_mean

PERCENT = 100.0


class Unit(NamedTuple):
    """One sample or question."""

    value: float
    stratum: str
    """A category of the score: each counts once, whatever its size, and is drawn from by itself."""
    cluster: str
    """What is drawn with it."""


Units: TypeAlias = dict[str, Unit]
"""By id; one that has no value is not in it."""


def of_chains(rows: Iterable[SampleScore], t: int) -> Units:
    """GC@t."""
    return {row.sample: Unit(value, row.category, row.sample) for row in rows if (value := row.gc[t - 1]) is not None}


def of_redrawings(rows: Iterable[Redrawn], metric: str) -> Units:
    """A fidelity metric; none for one that is of all redrawings together, as a Fréchet distance is."""
    return {row.sample: Unit(row.metrics[metric], ONE_CATEGORY, row.sample) for row in rows if metric in row.metrics}


def of_retrieved(rows: Iterable[Retrieved], classes: Collection[str]) -> Units:
    """TRAC's top-1, of test samples that have a description and whose class has a support description left."""
    return {
        row.sample: Unit(PERCENT * (row.top1 == row.label), ONE_CATEGORY, row.sample)
        for row in rows
        if row.outcome.goes_on and row.label in classes
    }


def of_repeats(rows: Iterable[QuestionOutcome], asked: Mapping[str, QuestionEntry]) -> Units:
    """MM-SAP's score and MM-Vet's total: a question's mean over its permutations or gradings."""
    read = {row.question: [value for value in row.values if value is not None] for row in rows}
    return {
        question: Unit(PERCENT * exact_mean(values), ONE_CATEGORY, asked[question].image_sha256)
        for question, values in read.items()
        if values
    }


def of_pairs(rows: Iterable[QuestionOutcome], asked: Mapping[str, QuestionEntry]) -> Units:
    """MME's score: what an image's two questions add to its category's accuracy and accuracy+, of 0 to 200."""
    pairs: dict[tuple[str, str], list[float | None]] = {}
    for row in rows:
        entry = asked[row.question]
        pairs.setdefault((entry.category or ONE_CATEGORY, entry.image_id), []).extend(row.values)
    names = {pair: canonical_json(pair) for pair in pairs}
    return {
        name: Unit(worth, pair[0], name) for pair, name in names.items() if (worth := _worth(pairs[pair])) is not None
    }


def _worth(values: Sequence[float | None]) -> float | None:
    read = [value for value in values if value is not None]
    return PERCENT * (exact_mean(read) + all(read)) if len(read) == len(values) else None

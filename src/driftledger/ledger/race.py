"""The looks of a race, recomputed from rows.

Categories take turns, each in the order in which ``first`` keeps its images. Every pair has a
confidence sequence, which stays valid however often one looks, as long as the images are
independent of each other. So images of one scene count once: those with equal bytes, as in
``compare``, and those of several categories with one name, as ``front/7.png`` and ``night/7.png``.
Nothing else is recognised as one scene; ``docs/benchmarks.md`` has how often a race errs then.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Self

from pydantic import Field, FiniteFloat

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import DriftledgerError, LedgerError, StoreError
from driftledger.core.files import Record, parse_json, read_json
from driftledger.core.strict import Name, Strict
from driftledger.data.datasets.base import in_order
from driftledger.data.records import DATASET_CARD, DatasetCard
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.measure import units_of
from driftledger.ledger.objects.contents import Contents, rows_of
from driftledger.metrics.sequential import mean_sequence
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import Row

BENCHMARK = "genception"
"""The benchmark whose scores decide."""
RACE = "reports/race.json"
MARGIN = 0.02
"""Two models that differ by less count as equally good."""

Places = Mapping[str, tuple[str, str]]
"""Image → its category and its cluster."""


class Look(Strict):
    """The interval of the second of two models less the first."""

    first: Name
    second: Name
    low: FiniteFloat
    high: FiniteFloat

    @property
    def is_open(self) -> bool:
        """True if neither is better, and they may differ by more than the margin.

        >>> Look(first="a", second="b", low=-0.01, high=0.02).is_open
        False
        """
        is_apart = self.low > 0 or self.high < 0
        return not is_apart and (self.low < -MARGIN or self.high > MARGIN)


class Race(Record):
    """``reports/race.json``: the state of a race when it stopped.

    Intervals keep the best ends of all looks.
    """

    keys: dict[str, Name]
    """The keys of the deciding scores: dataset, generator, encoder."""
    metric: str
    models: list[Name] = Field(min_length=2)
    """All models that began; models whose calls failed have no look."""
    confidence: float = Field(gt=0, lt=1)
    """The confidence of all looks at all pairs together."""
    samples: int
    looks: list[Look]

    @property
    def undecided(self) -> list[str]:
        """The pairs that may differ, but neither is shown to be better."""
        return [
            f"{look.first} and {look.second}" for look in self.looks if look.is_open
        ]

    @property
    def alpha(self) -> float:
        """The probability of an error about one pair, at any look."""
        return (1 - self.confidence) / comb(len(self.models), 2)

    def look(self, rows: Mapping[str, Sequence[Row]], seed: int) -> Self:
        """Compare every two models.

        Args:
            rows: model → the rows of its score, all over the same images.
            seed: ``sample_seed`` of the dataset.

        Raises:
            StoreError: there is no such metric.
        """
        try:
            name = NumberName.read(self.metric)
            metric = benchmark(BENCHMARK).metrics[name.metric]
        except (KeyError, ValueError):
            raise StoreError(f"{BENCHMARK} has no metric {self.metric!r:.60}") from None
        places = {}
        worth = {}
        for model, own in rows.items():
            worth[model] = units_of(metric, own, name.t)
            places = {row.unit: (row.group, row.cluster) for row in own}
        counted = in_turns(places, seed)
        looks = []
        for first, second in combinations(sorted(rows), 2):
            differences: dict[str, list[float]] = {}
            for category, ids in counted.items():
                differences[category] = []
                for id_ in ids:
                    if id_ in worth[first] and id_ in worth[second]:
                        difference = worth[second][id_][0] - worth[first][id_][0]
                        differences[category].append(max(-1.0, min(1.0, difference)))
            low, high = mean_sequence(differences, alpha=self.alpha)
            looks.append(Look(first=first, second=second, low=low, high=high))
        return self.model_copy(update={"samples": len(places), "looks": looks})


def in_turns(places: Places, seed: int) -> dict[str, list[str]]:
    """Return category → its images that count, in order, as many in each.

    An image of a scene that had its turn is left out.
    """
    by_category = in_order({id_: places[id_][0] for id_ in places}, seed)
    names = sorted(by_category)
    chosen: dict[str, list[str]] = {name: [] for name in names}
    seen = set[tuple[str, str]]()
    for turn in zip(*(by_category[name] for name in names), strict=False):
        for category, id_ in zip(names, turn, strict=True):
            name = id_.removeprefix(f"{category}_")
            scene = {("bytes", places[id_][1]), ("name", name)}
            if seen.isdisjoint(scene):
                chosen[category].append(id_)
            seen |= scene
    return chosen


def check_race(lineages: Iterable[Lineage], contents: Contents) -> VerifyResult:
    """Repeat the last look at the rows of a race's scores.

    It is ``skipped`` if they are not here.
    """
    result = VerifyResult()
    try:
        race = parse_json(contents.here.read(RACE) or b"", Race, RACE)
        raced = {look.first for look in race.looks} | {
            look.second for look in race.looks
        }
        rows = {}
        seed = 0
        for lineage in lineages:
            score = lineage.score
            is_raced = score.benchmark == BENCHMARK and score.model in raced
            if is_raced and race.keys.items() <= score.keys.items():
                rows[score.model] = rows_of(lineage, contents)
                card = contents.recorded(lineage.data) / DATASET_CARD
                seed = read_json(card, DatasetCard).sample_seed
        if rows.keys() < raced:
            result.skip(RACE, "scores of models that were in the race are not here")
        elif race.look(rows, seed) != race:
            what = "the rows of the scores show something else"
            advice = "'driftledger run --until ranked' looks again"
            result.find(RACE, f"{what}; {advice}", "numbers")
        result.checked["looks"] += len(race.looks)
    except LedgerError as error:
        result.skip(RACE, str(error))
    except DriftledgerError as error:
        result.find(RACE, str(error), "numbers")
    return result

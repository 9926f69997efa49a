"""People beside models, as in the paper's Table 5."""

from collections.abc import Iterator, Mapping
from itertools import chain

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score, Scores
from driftledger.scoring.table import NOTHING, Cell, Cells, Table, number_cell

PEOPLE = "human"
"""The provider of models that are people."""


def people(spec: Benchmark, scores: Scores) -> Iterator[Table]:
    """Compare each person with the best model, category by category."""
    persons = []
    models = []
    for score in scores:
        if score.components["model"].provider == PEOPLE:
            if score.last(spec.metrics.first.name):
                persons.append(score)
        elif not score.is_control:
            models.append(score)
    for number, person in enumerate(persons if models else (), 1):
        yield _table(spec, person, models)._replace(name=f"people_{number}")


def _table(spec: Benchmark, person: Score, models: Scores) -> Table:
    place = _last(spec, person)
    categories = set()
    for number in chain.from_iterable(score.numbers for score in (person, *models)):
        if number.group_kind == "category":
            categories.add(number.group or "")
    groups: Mapping[str, list[str]] = person.details["groups"]
    in_groups = dict.fromkeys(chain.from_iterable(groups.values()))
    rows: list[Cells] = []

    def add(head: Cell | str, at: Place) -> None:
        rows.append([head, *_against(spec, person, models, at)])

    for name in in_groups | dict.fromkeys(sorted(categories)):
        add(name, place._replace(group_kind="category", group=name))
    for group in groups:
        head = Cell(f"{group} mean", bold=True)
        add(head, place._replace(group_kind="group", group=group))
    add(Cell("overall mean", bold=True), place)
    coverages = ", ".join(
        f"{score.model} {score.coverage:.3f}" for score in (person, *models)
    )
    title = spec.metrics.first.titled(place.t)
    return Table(
        f"{title} of {person.model} and of the best model, as in Table 5",
        ["", person.model, "best model", "which", "Δ %: people ÷ best − 1"],
        rows=rows,
        notes=[f"Coverage: {coverages}."],
    )


def _last(spec: Benchmark, score: Score) -> Place:
    """Return the last t of the first metric, complete over categories if possible."""
    places = []
    for number in score.over_t(spec.metrics.first.name):
        if number.value is not None:
            places.append(number.place)
    complete = [place for place in places if spec.is_complete(score, place)]
    return (complete or places)[-1]


def _against(spec: Benchmark, person: Score, models: Scores, place: Place) -> Cells:
    """Return a person's number, the best model's, its name and the difference."""
    digits = spec.metrics.first.digits
    own = _worth(spec, person, place)
    first = number_cell(own, digits, score=person, place=place)
    best_first = []
    for score in models:
        value = _worth(spec, score, place)
        if value is not None:
            best_first.append((-value, score.model, score))
    if not best_first:
        return [first, Cell(), NOTHING, Cell()]
    negative, name, best = min(best_first, key=lambda entry: entry[:2])
    second = number_cell(-negative, digits, score=best, place=place)
    ahead = None
    if own is not None and negative:
        ahead = 100 * (own / -negative - 1)
    return [first, second, name, number_cell(ahead, 1, signed=True)]


def _worth(spec: Benchmark, score: Score, place: Place) -> float | None:
    number = score.find(*place)
    if number is None or not spec.is_complete(score, place):
        return None
    return number.value

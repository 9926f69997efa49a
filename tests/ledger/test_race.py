"""The looks of a race by hand: ends by a search over all 20,000 steps, written beside this."""

from itertools import combinations

from driftledger.data.datasets.base import first_of
from driftledger.ledger.race import Race, in_turns
from tests.support.cases import cases, each_case
from tests.support.ledgers import row


def rows_of(case, value):
    """A row per image, of a few clusters where ``clusters`` says so."""
    rows = []
    for category, size in case["sizes"].items():
        for number in range(size):
            name = f"{category}{'_' if 'named' in case else ''}{number}"
            cluster = (
                f"image {number % case['clusters']}" if "clusters" in case else name
            )
            rows.append(row(name, {"gc": [0.0, value]}, category, cluster))
    return rows


@each_case(cases(__file__, "race"))
def test_a_race_sees(case):
    race = Race(
        keys={},
        metric="gc_at_2",
        models=case.get("models", [*case["values"]]),
        confidence=0.95,
        samples=0,
        looks=[],
    )
    rows = {model: rows_of(case, value) for model, value in case["values"].items()}
    seen = race.look(rows, seed=7)
    assert seen.samples == sum(case["sizes"].values())
    pairs = [(look.first, look.second) for look in seen.looks]
    assert pairs == [*combinations(case["values"], 2)]
    ends = [[look.low, look.high] for look in seen.looks]
    assert case["ends"] in (None, ends)
    assert seen.undecided == case["undecided"]


def test_more_images_add_some_at_the_end():
    """A scene that had its turn keeps it, whatever ``first`` adds."""
    categories = {}
    for category, size in {"x": 10, "y": 20, "z": 60}.items():
        for number in range(size):
            categories[f"{category}_{number}"] = category
    before: dict[str, list[str]] = {"x": [], "y": [], "z": []}
    for size in range(10, len(categories) + 1):
        first = sorted(first_of(categories, size, seed=3))
        now = in_turns({id_: (categories[id_], id_) for id_ in first}, seed=3)
        for category, ids in before.items():
            assert now[category][: len(ids)] == ids
        before = now
    names = [id_[2:] for ids in before.values() for id_ in ids]
    assert 20 < len(names) == len({*names}) < 30

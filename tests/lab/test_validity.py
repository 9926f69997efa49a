"""How metrics are held against the order of training: worked by hand, and over the report that is in Git."""

import json

import numpy as np
import pytest

from driftledger.project.presets import preset_settings
from lab.trio.settings import load_trio
from lab.validity.page import tables
from lab.validity.ranking import Held, Rungs, effective_number, families, hold, iterating, together
from lab.validity.scores import Place, Reading, Unit
from tests.conftest import REPOSITORY

STAGES = ("early", "middle", "final")
RUNGS = Rungs(STAGES, {"early": 1, "middle": 2, "final": 3}, {"early": 0.1, "middle": 0.2, "final": 0.3}, ("blind",))


def held(columns: dict[str, list[float]], metric: str = "gc_at_1") -> Held:
    """A metric of chains over images of one category."""
    readings = {}
    for name, values in columns.items():
        units = {f"i{n}": Unit(value, "one", f"i{n}") for n, value in enumerate(values)}
        middle = float(np.mean(values))
        readings[name] = Reading(middle, middle - 0.05, middle + 0.05, units, None)
    return hold(Place("genception", "photos", metric, "layout", "painter", ""), readings, RUNGS, seed=1)


RISING = {"early": [0.1, 0.3, 0.2], "middle": [0.4, 0.5, 0.6], "final": [0.9, 0.7, 0.8], "blind": [0.0, 0.0, 0.0]}
EQUAL = {"early": [0.1, 0.3, 0.2], "middle": [0.3, 0.2, 0.1], "final": [0.2, 0.1, 0.3], "blind": [0.9, 0.9, 0.9]}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (RISING, {"rises": True, "disjoint": True, "spearman": 1.0, "spearman_measured": 1.0, "last": True}),
        (EQUAL, {"rises": False, "disjoint": False, "spearman": None, "last": False}),
    ],
)
def test_stages_that_get_better_are_in_order(columns: dict[str, list[float]], expected: dict[str, object]) -> None:
    ranking = held(columns).ranking
    assert {name: {**ranking, **ranking["controls"]["blind"]}[name] for name in expected if name != "disjoint"} == {
        name: value for name, value in expected.items() if name != "disjoint"
    }
    assert ranking["disjoint"] is expected["disjoint"]


def test_a_family_of_copies_is_worth_one_metric_and_one_order_in_six() -> None:
    copies = [held(RISING, metric) for metric in ("gc_at_1", "gc_at_2", "gc_at_3")]
    (family,) = families(copies, STAGES, seed=1)
    assert (family["metrics"], family["in_order"], family["effective"]) == (3, 3, 1.0)
    assert family["chance"] == round(1 / 6, 6)
    assert family["noise"] < 0.05
    assert (family["above"], family["apart"]) == ({"blind": 3}, {"blind": 3})
    assert together(copies, STAGES) == {"families": 1, "in_order": 1, "chance": round(1 / 6, 6)}


def test_strangers_count_in_full() -> None:
    one = held({name: [-1.0, 1.0, 0.0] for name in STAGES})
    other = held({name: [1.0, 1.0, -2.0] for name in STAGES}, "gc_at_2")
    assert effective_number([one, other], STAGES) == 2.0


def test_rounds_tell_how_far_stages_lie_apart() -> None:
    (row,) = iterating([held(RISING)], STAGES)
    ends = np.array(RISING["final"]) - np.array(RISING["early"])
    assert row["ends"] == round(float(ends.mean() / ends.std(ddof=1)), 6)


def test_the_page_in_git_has_the_numbers_of_the_report() -> None:
    reports = REPOSITORY / "reports"
    page, found = (
        (reports / "validity.md").read_text(encoding="utf-8"),
        json.loads((reports / "validity.json").read_bytes()),
    )
    assert tables(found) == page


def test_every_checkpoint_is_measured_and_in_the_catalogue() -> None:
    trio, measured = load_trio(REPOSITORY), json.loads((REPOSITORY / "reports" / "trio.json").read_bytes())
    assert {name: each["steps"] for name, each in measured["describers"].items()} == trio.models
    settings = preset_settings(REPOSITORY, "neural")
    assert set(trio.models) <= set(settings.run.models)
    assert set(trio.generators) <= set(settings.run.generators)

"""The object check of arrangements: what an image shows is in it, and what is taken away is missed."""

import pytest

from driftledger.demo.datasets.arrangements.grammar import Arrangement, Thing
from driftledger.metrics.object_check import has_all, multi_generation_check
from lab.object_check import Checked, table, things_of, wanted

RED, BLUE = Thing(0, "large", "red", "circle"), Thing(4, "small", "blue", "ring")
OTHER = Thing(8, "small", "red", "circle")


@pytest.mark.parametrize("things", [(RED,), (RED, BLUE), (RED, OTHER), (RED, BLUE, OTHER)])
def test_an_arrangement_has_what_it_shows_and_nothing_less_does(things: tuple[Thing, ...]) -> None:
    shown = things_of(Arrangement("white", things))
    assert has_all(shown, wanted(shown))
    for place in range(len(shown)):
        assert not has_all([*shown[:place], *shown[place + 1 :]], wanted(shown))


def test_a_thing_in_another_colour_or_place_is_missed() -> None:
    asked = wanted(things_of(Arrangement("white", (RED, BLUE))))
    assert not has_all(things_of(Arrangement("white", (RED, BLUE._replace(colour="green")))), asked)
    moved = Arrangement("white", (BLUE._replace(cell=0), RED._replace(cell=4)))
    assert not has_all(things_of(moved), asked)
    assert has_all(things_of(Arrangement("pink", (RED, BLUE._replace(size="large")))), asked)  # sizes are not asked for


def test_the_table() -> None:
    found = multi_generation_check([[True, False], [True, True]], ["one", "two"])
    assert table([Checked("a · b", found)]) == [
        "| | t = 1 | t = 2 | MGG | one | two |",
        "|---|---:|---:|---:|---:|---:|",
        "| a · b | 100.0 | 50.0 | 75.0 | 50.0 | 100.0 |",
    ]

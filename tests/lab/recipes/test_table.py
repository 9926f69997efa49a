"""The page says what the JSON file says, and names cannot become markup."""

import shutil
from pathlib import Path

import pytest

from driftledger.core.files import read_json, write_json
from lab.recipes.measure import _lost
from lab.recipes.report import REPORT, Found, Untaught, Vague
from lab.recipes.table import recipes_tables, write_page
from lab.validity.iterating import Iterated
from lab.validity.measured import Interval, share
from lab.validity.ranked import Point
from lab.validity.scores import Reading
from lab.validity.units import Unit
from tests.conftest import REPOSITORY
from tests.lab.validity.hand_made import assembled, write_scores
from tests.lab.validity.test_table import cells


def point(value: float) -> Point:
    return Point(value, value - 0.1, value + 0.1, 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    plain = assembled(write_scores(tmp_path_factory.mktemp("stored")))
    unasked = Untaught(
        "mm_sap", "exam", "score", True, None, None, point(60.0), point(40.0), Interval(20.0, 15.0, 25.0)
    )
    chains = {"eye": {name: [point(level - 0.1 * t) for t in (1, 2)] for name, level in LEVELS.items()}}
    iterated = [Iterated(f"gc_at_{t}", "shapes", "drawing", "eye", 0.5 * t, 0.25 * t) for t in (1, 2)]
    vague = Vague({"early": 100, "late": 900}, ["faultless", "blind", "<b>"], "drawing", chains, iterated)
    return Found(plain=plain, exact={"plain": share([True]), "unasked": share([False])}, unasked=[unasked], vague=vague)


LEVELS = {"early": 0.4, "late": 0.7, "faultless": 0.9, "blind": 0.2, "<b>": 0.1}


def test_the_page_says_what_was_found(found: Found) -> None:
    text = recipes_tables(found)
    tables = cells(text)
    lost = next(table for table in tables if table[0][-1] == "lost")
    assert lost[1][1:] == ["60.0 (59.9–60.1)", "40.0 (39.9–40.1)", "20.0 (15.0–25.0)"]
    rounds = next(table for table in tables if table[0][1:] == ["GC@1", "GC@2"])
    assert [row[0] for row in rounds[1:]] == ["faultless", "late", "early", "blind", "<b>"]
    assert rounds[1][1:] == ["0.800 (0.700–0.900)", "0.700 (0.600–0.800)"]
    assert "<b>" not in text
    assert "Does iterating" in text


def test_the_page_in_the_repository_is_what_its_file_says(tmp_path: Path) -> None:
    of, to = REPOSITORY / REPORT, tmp_path / REPORT
    to.parent.mkdir()
    shutil.copy(of.with_suffix(".json"), to.with_suffix(".json"))
    write_page(tmp_path)
    assert to.with_suffix(".md").read_bytes() == of.with_suffix(".md").read_bytes()


def test_the_file_is_read_as_it_was_written(found: Found, tmp_path: Path) -> None:
    write_json(tmp_path / "found.json", found)
    assert read_json(tmp_path / "found.json", Found) == found


def test_what_was_lost_is_compared_sample_by_sample() -> None:
    """Far narrower than the values themselves lie apart; and nothing is lost of what is the same."""
    taught = Reading(2.5, None, None, {str(n): Unit(float(n), "all", str(n)) for n in range(6)})
    other = replace_values(taught, -1.0)
    lost = _lost(taught, other, 1.0, 1)
    assert lost is not None
    assert (lost.value, lost.low, lost.high) == (1.0, 1.0, 1.0)
    assert _lost(taught, taught, 1.0, 1) == Interval(0.0, 0.0, 0.0)
    assert _lost(taught, Reading(1.0), 1.0, 1) is None
    less = _lost(taught, other, -1.0, 1)
    assert less is not None
    assert less.value == -1.0


def replace_values(reading: Reading, by: float) -> Reading:
    units = {name: unit._replace(value=unit.value + by) for name, unit in (reading.units or {}).items()}
    return reading._replace(value=reading.value + by, units=units)

"""What a metric gives for nothing, and what is left between floor and ceiling."""

from driftledger.benchmarks.base import SideBySide, Table
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.standing import Standings
from driftledger.reports.controls import controls_table, normalised_table
from tests.benchmarks.test_standing import CLOSE, HIGH, LOW, scored
from tests.support.tables import texts

SPEC = benchmark("fidelity")


def block_of(*some: tuple[Score, list[Row]], tested: bool = True) -> SideBySide:
    rows = {score.model: rows for score, rows in some}
    scores = [score for score, _ in some]
    [block] = SPEC.blocks(scores)
    return block._replace(standings=Standings(SPEC, scores, lambda score: rows[score.model]) if tested else None)


def the(tables: object) -> Table:
    [table] = list(tables)  # type: ignore[call-overload]
    assert isinstance(table, Table)
    return table


def test_a_metric_says_how_it_places_each_control() -> None:
    some = scored("low", LOW), scored("high", HIGH), scored("blind", CLOSE, "blind")
    assert texts(the(controls_table(SPEC, block_of(*some)))) == [
        ["", "blind"],
        ["SSIM (control above 1 of 2)", "50.37 (above low; near high)"],
    ]
    assert texts(the(controls_table(SPEC, block_of(*some, tested=False))))[1] == [
        *("SSIM (control above 1 of 2), by value", "50.37 (above low; below high)"),
    ]
    assert list(controls_table(SPEC, block_of(*some[:2]))) == [], "no control"
    assert list(controls_table(SPEC, block_of(*some[2:]))) == [], "no model"


def test_scores_are_set_between_the_floor_and_the_ceiling() -> None:
    some = (
        *(scored("low", LOW), scored("high", HIGH), scored("blind", [30.4] * 9, "blind")),
        *(scored("people", [60.4] * 9, "human"), scored("random", LOW, "random_choice")),
    )
    table = the(normalised_table(SPEC, block_of(*some)))
    assert texts(table) == [["", "SSIM"], ["high", "0.667 (0.660–0.674)"], ["low", "0.333 (0.326–0.340)"]]
    assert table.title.startswith("between floor and ceiling: 0 is blind, 1 is people; higher is better")
    bare = the(normalised_table(SPEC, block_of(*some, tested=False)))
    assert texts(bare) == [["", "SSIM"], ["high", "0.667"], ["low", "0.333"]]
    assert list(normalised_table(SPEC, block_of(*some[:3]))) == [], "no ceiling"
    assert list(normalised_table(SPEC, block_of(*some[:2], some[3]))) == [], "no floor"


def test_a_ceiling_that_is_not_better_than_the_floor_is_no_scale() -> None:
    some = scored("low", LOW), scored("blind", HIGH, "blind"), scored("perfect", LOW, "human")
    table = the(normalised_table(SPEC, block_of(*some)))
    assert texts(table) == [[""], ["low"]]
    assert table.notes == ["SSIM has no scale: perfect is not better than blind by it."]

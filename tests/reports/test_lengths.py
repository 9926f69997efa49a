import io
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from driftledger.benchmarks.description_records import TracScore
from driftledger.reports.lengths import draw_lengths, draw_votes
from driftledger.reports.plots import COLOURS, PANEL, Panel, Point, draw_panels, even_steps
from tests.conftest import REPOSITORY
from tests.reports.description_scores import condition, trac_score

LENGTHS = (8, 16, 32, None)

Draw = Callable[[list[TracScore]], bytes]


def swept(model: str, *top1: float, **changes: object) -> TracScore:
    conditions = [condition(length, 0, value) for length, value in zip(LENGTHS, top1, strict=False)]
    vote = [{"k": float(k), "vote": value} for k, value in enumerate(top1, 1)]
    return trac_score(model, top1[0], **{"conditions": conditions, "vote": vote} | changes)


def two() -> list[TracScore]:
    return [swept("good", 60.0, 70.0, 80.0, 75.0), swept("poor", 20.0, 22.0, 21.0, 20.0)]


def pixels(png: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(png)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image)


def below_legend(png: bytes, index: int) -> NDArray[np.intp]:
    """Row and column of each pixel of the colour in the panels of a picture with one line of legend."""
    return np.argwhere((pixels(png)[70:] == COLOURS[index]).all(axis=2))


@pytest.mark.parametrize("draw", [draw_lengths, draw_votes])
def test_the_better_model_stands_higher_in_its_own_colour(draw: Draw) -> None:
    good, poor = (below_legend(draw(two()), index) for index in (0, 1))
    assert len(good) > 200
    assert len(poor) > 200
    assert good[:, 0].max() < poor[:, 0].min()
    assert not len(below_legend(draw(two()), 2))


def test_a_line_rises_where_the_values_do() -> None:
    found = below_legend(draw_lengths([swept("riser", 10.0, 30.0, 60.0, 90.0)]), 0)
    found = found[np.argsort(found[:, 1], kind="stable")]
    assert found[:50, 0].mean() > found[-50:, 0].mean() + 100


def test_every_model_of_the_default_selection_can_be_told_apart() -> None:
    scores = [swept(f"m{number}", *[90.0 - 10 * number] * 4) for number in range(len(COLOURS))]
    assert all(len(below_legend(draw_lengths(scores), index)) > 200 for index in range(len(COLOURS)))


def test_each_dataset_and_way_to_ask_has_a_panel_in_two_columns() -> None:
    def size(*places: tuple[str, str]) -> tuple[int, ...]:
        scores = [swept("m", 10.0, 20.0, dataset=dataset, description=way) for dataset, way in places]
        return pixels(draw_lengths(scores)).shape[:2]

    one, pair, three = size(("a", "x")), size(("a", "x"), ("a", "y")), size(("a", "x"), ("a", "y"), ("b", "x"))
    assert pair == (one[0], one[1] + PANEL[0])
    assert three == (one[0] + PANEL[1], pair[1])


def test_the_picture_is_of_the_fewest_shots_and_of_the_first_encoder() -> None:
    def drawn(more: float, other: float) -> bytes:
        conditions = [condition(length, shots, 50.0 + more * shots) for length in (8, 16) for shots in (0, 2)]
        return draw_lengths([trac_score(conditions=conditions), swept("seer", other, other, encoder="clip")])

    assert drawn(5.0, 10.0) == drawn(-5.0, 60.0)


@pytest.mark.parametrize(
    ("draw", "scores"),
    [
        (draw_lengths, []),
        (draw_lengths, [trac_score()]),
        (draw_lengths, [trac_score(conditions=[condition(30, shots, 50.0) for shots in (0, 1)])]),
        (draw_votes, []),
        (draw_votes, [trac_score(vote=[{"k": 1.0, "vote": 50.0}])]),
    ],
)
def test_where_there_is_nothing_to_draw_the_picture_says_so(draw: Draw, scores: list[TracScore]) -> None:
    sheet = pixels(draw(scores))
    assert (sheet.max(axis=2) == sheet.min(axis=2)).all(), "black on white, without any line"
    written = np.argwhere(sheet.min(axis=2) < 128)
    assert len(written) > 500
    assert written[:, 1].max() < sheet.shape[1] - 8, "the sentence stays inside"


def test_chance_is_a_dashed_line_across_the_panel() -> None:
    with_chance, without = (
        np.argwhere((pixels(draw_panels("t", "y", [panel])) != 255).any(axis=2)).shape[0]
        for panel in (Panel("p", "x", {0.0: "0", 1.0: "1"}, {"m": [Point(0, 50.0)]}, chance) for chance in (10.0, None))
    )
    assert with_chance > without + 200


def test_equal_scores_are_equal_bytes_whatever_the_surroundings() -> None:
    code = (
        "from tests.reports.test_lengths import *; import hashlib; "
        "print(hashlib.sha256(draw_lengths(two()) + draw_votes(two())).hexdigest())"
    )
    hashes = set()
    for change in ({}, {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "HOME": "/nonexistent"}):
        environment = os.environ | change
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
        )
        hashes.add(done.stdout.strip())
    assert len(hashes) == 1


def test_the_order_of_score_files_does_not_show() -> None:
    assert draw_lengths(two()) == draw_lengths(two()[::-1])
    assert draw_votes(two()) == draw_votes(two()[::-1])


def test_a_hostile_or_endless_name_stays_one_line_of_the_legend() -> None:
    plain = pixels(draw_lengths([swept("m", 10.0, 20.0)]))
    hostile = pixels(draw_lengths([swept("x\x1b[31m\n\u202e" + "w" * 500, 10.0, 20.0)]))
    assert plain.shape == hostile.shape


@pytest.mark.parametrize("most", [2, 3, 17, 400])
def test_any_number_of_support_samples_can_be_drawn(most: int) -> None:
    score = swept("m", 1.0, vote=[{"k": float(k), "vote": 100.0 * (k % 2)} for k in range(1, most + 1)])
    assert pixels(draw_votes([score])).any()


@given(st.floats(1.0, 1e6), st.integers(2, 10))
def test_steps_are_the_smallest_that_are_few_enough(end: float, most: int) -> None:
    step = even_steps(end, most)
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert end <= step * most
    assert step == 1 or end > step / 2.5 * most

"""Self-retrieval of the trained describers: the benchmark, numpy, and the page that shows both."""

import re
from itertools import pairwise

import pytest

from lab import retrieval
from lab.trio.settings import load_trio
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / retrieval.PAGE).read_text(encoding="utf-8")
NUMBER = r"([\d.]+)"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


@pytest.mark.parametrize("name", ["trio_llava_early", retrieval.CONTROL])
def test_the_benchmark_and_numpy_give_the_same(name, tmp_path):
    measured = retrieval.measure(tmp_path, name, per_category=6)
    recall1, clip_score = measured.by_numpy
    assert measured.recall1.value == pytest.approx(recall1, abs=1e-9)
    assert measured.clip_score.value == pytest.approx(clip_score, abs=1e-4)
    assert measured.chance.value == pytest.approx(100 / 18)
    if name == retrieval.CONTROL:
        assert measured.recall1.value == pytest.approx(measured.chance.value)
        assert measured.recall1.low < measured.chance.value < measured.recall1.high
    else:
        assert 0 < recall1 < 100


def test_the_row_of_the_control_is_computed_again(tmp_path):
    measured = retrieval.measure(tmp_path, retrieval.CONTROL)
    assert retrieval.row(retrieval.CONTROL, None, "either", measured) in PAGE


@pytest.mark.parametrize("prompt", ["whole", "first sentence"])
def test_the_page_has_the_stages_in_order_and_apart(prompt):
    assert PAGE.startswith(retrieval.HEAD)
    intervals = []
    for name, steps in load_trio(REPOSITORY).models.items():
        found = (
            rf"^\| {name} \| {steps:,} \| {prompt} \| {NUMBER} \({NUMBER}–{NUMBER}\)"
        )
        [numbers] = re.findall(found, PAGE, re.MULTILINE)
        value, low, high = map(float, numbers)
        assert low < value < high
        intervals.append((low, high))
    assert len(intervals) == 3
    for (_, high), (low, _) in pairwise(intervals):
        assert high < low


def test_fewer_images_are_easier_and_change_no_cosine():
    """The table over numbers of images, by the interval of the most images."""
    assert retrieval.COUNTED in PAGE
    rows = []
    for line in PAGE.split(retrieval.COUNTED)[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows.append([[*map(float, re.findall(NUMBER, cell))] for cell in cells])
    assert [row[0] for row in rows] == [[15], [30], [60], [120], [240]]
    few, *_, most = rows
    for place in (1, 2):
        values = [row[place][0] for row in rows]
        assert values == sorted(values, reverse=True)
        assert few[place][0] > most[place][2]
    for place in (3, 4):
        assert few[place][1] < most[place][0] < few[place][2]

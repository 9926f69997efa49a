"""The table of scores between floor and ceiling that the page shows; ``tests/pipelines/test_neural_scores.py`` makes it
anew."""

from lab.ceiling import MARKS, MODELS, PAGE
from lab.marked import between
from tests.conftest import REPOSITORY


def test_the_page_sets_the_stages_between_blind_and_faultless() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    title, _, head, _, *rows = between(page, MARKS).strip().split("\n")
    assert "0 is blind, 1 is faultless" in title
    assert head.startswith("| | GC@3 |")
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [*reversed(MODELS[:3])]

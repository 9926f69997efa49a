"""The table of scores between floor and ceiling that the page shows is the one that the report has."""

import re
from pathlib import Path

import pytest

from lab.ceiling import MARKS, MODELS, PAGE, table
from tests.conftest import REPOSITORY

NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")


def shown() -> str:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    return page.partition(MARKS[0])[2].partition(MARKS[1])[0].strip()


def test_the_page_sets_the_stages_between_blind_and_faultless() -> None:
    title, _, head, _, *rows = shown().split("\n")
    assert "0 is blind, 1 is faultless" in title
    assert head.startswith("| | GC@3 |")
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [*reversed(MODELS[:3])]


@pytest.mark.neural
@pytest.mark.slow
def test_made_anew_it_is_the_same(tmp_path: Path) -> None:
    for library in ("torch", "transformers", "diffusers"):
        pytest.importorskip(library)
    made = table(tmp_path, REPOSITORY)
    assert NUMBER.sub("", made).strip() == NUMBER.sub("", shown())
    assert [float(each) for each in NUMBER.findall(made)] == pytest.approx(
        [float(each) for each in NUMBER.findall(shown())], abs=0.002
    )

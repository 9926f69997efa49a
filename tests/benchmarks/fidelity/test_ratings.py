"""A sheet of ratings goes to people and back: no rating is lost, none counts for a text that it was
not given to."""

import csv
import io
import re

import pytest

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.fidelity.ratings import (
    RUBRIC,
    Rated,
    Rating,
    descriptions_to_rate,
    details_of,
    ratings_of,
    read_ratings,
    write_sheet,
)
from driftledger.core.errors import ConfigError
from driftledger.core.files import write_jsonl
from tests.support.cases import cases, each_case
from tests.support.ledgers import iteration

ROWS = [
    Rating("birds", "a", "blind", "A bird."),
    Rating("birds", "b", "blind", "=cmd()"),
]


@pytest.fixture
def sheet(tmp_path):
    return tmp_path / "ratings.csv"


def cells_of(path):
    return list(
        csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
    )


def rate(path, *ratings, separator=","):
    """Fill in the last column, row by row, and save as a spreadsheet does."""
    head, *rows = cells_of(path)
    for row, rating in zip(rows, ratings, strict=True):
        row[head.index("rating")] = str(rating)
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerows([head, *rows])
    path.write_bytes(("\ufeff" + out.getvalue()).encode())


@each_case(cases(__file__, "sheets"))
def test_a_sheet_step_by_step(sheet, case):
    for step in case["steps"]:
        before = sheet.read_bytes() if sheet.exists() else b""
        if "text" in step:
            sheet.write_text(step["text"], encoding="utf-8")
        elif "rows" in step:
            rows = [Rating(*row) for row in step["rows"]]
            counts = write_sheet(sheet, rows, step["rater"])
            assert counts == tuple(step["to_rate_and_rated"])
            is_unchanged = sheet.read_bytes() == before
            assert is_unchanged == step.get("is_unchanged", False)
        elif "rate" in step:
            rate(sheet, *step["rate"], separator=step.get("separator", ","))
        elif "cells" in step:
            assert cells_of(sheet)[1:] == step["cells"]
        elif "ratings" in step:
            assert [list(each) for each in read_ratings(sheet)] == step["ratings"]
        else:
            rated = ratings_of(read_ratings(sheet), "birds", "blind", step["texts"])
            assert rated == Rated(**step["rated"])
            if "details" in step:
                assert details_of(rated) == step["details"]


@pytest.mark.parametrize(
    "given", ["4", "4.0", "4,0", "4.00", "4.", "４", "４．０", " 4 "]
)
@pytest.mark.parametrize("empty", ["", " ", "nan", "NaN", "<NA>", "None", "n/a"])
def test_ratings_are_read_as_programs_save_them(sheet, given, empty):
    write_sheet(sheet, ROWS, "ann")
    rate(sheet, empty, given)
    assert [each.rating for each in read_ratings(sheet)] == [4]
    assert write_sheet(sheet, ROWS, "ann") == (1, 1)


@each_case(cases(__file__, "wrong_sheets"))
def test_what_cannot_be_understood_is_one_sentence(sheet, case):
    sheet.write_text(case["text"], encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(case["says"])) as caught:
        read_ratings(sheet)
    assert str(caught.value).startswith(f"ratings: {sheet}")
    assert "\n" not in str(caught.value)


def test_ratings_are_from_1_to_5():
    assert [*RUBRIC] == [1, 2, 3, 4, 5]


def test_the_same_samples_of_every_model_are_chosen(tmp_path):
    said = {"b": "A bird.", "a": None, "d": "A dog.", "c": "A cat."}
    for model, order in (("one", 1), ("two", -1)):
        records = [iteration(name, 1, text) for name, text in said.items()]
        again = [each.model_copy(update={"repeat": 1}) for each in records]
        write_jsonl(tmp_path / model / RECORDS, [*records, *again][::order])
    folders = {model: tmp_path / model for model in ("one", "two")}
    rows = descriptions_to_rate("birds", folders, 1, 2)
    first, second = (
        [row.sample for row in rows if row.model == model] for model in ("one", "two")
    )
    assert sorted(first) == sorted(second)
    assert 1 <= len(first) <= 2
    assert len(descriptions_to_rate("birds", {"one": tmp_path / "one"}, 1, 9)) == 3, (
        "what was not described is not rated"
    )

"""A sheet of ratings goes to people and back: no rating is lost, none counts for a text that it was
not given to."""

import pytest

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.fidelity.ratings import (
    FORM,
    RUBRIC,
    Rated,
    details_of,
    ratings_of,
    read_ratings,
    write_ratings,
)
from driftledger.core.files import write_jsonl
from driftledger.data.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.sheets import extend_sheet
from tests.conftest import draw
from tests.sentence import refused
from tests.support.cases import cases, each_case
from tests.support.ledgers import iteration
from tests.support.sheets import cells_of, fill

ROWS = [("birds", "a", "A bird."), ("birds", "b", "=cmd()")]


@pytest.fixture
def sheet(tmp_path):
    return tmp_path / "ratings.csv"


def extend(path, rows, rater, add=None):
    """Add rows for a rater; return how many wait for a rating, and how many have one."""
    wanted = [dict(zip(FORM.columns, (*row, rater, ""), strict=True)) for row in rows]
    rated = [cells["rating"] for cells in extend_sheet(path, FORM, wanted, rater, add)]
    return rated.count(""), len(rated) - rated.count("")


def do(sheet, step):
    """Extend a sheet by rows or by another sheet, as a step says."""
    add = None
    if "add" in step:
        add = sheet.with_name("added.csv")
        add.write_text(step["add"], encoding="utf-8")
    before = sheet.read_bytes() if sheet.exists() else b""
    if "refused" in step:
        with refused({"says": step["refused"]}, "ConfigError"):
            extend(sheet, step.get("rows", []), step.get("rater", ""), add)
    else:
        counts = extend(sheet, step.get("rows", []), step.get("rater", ""), add)
        assert counts == tuple(step.get("to_rate_and_rated", (0, 0)))
    must_stay = "refused" in step or step.get("is_unchanged", False)
    assert (sheet.read_bytes() == before) == must_stay


@each_case(cases(__file__, "sheets"))
def test_a_sheet_step_by_step(sheet, case):
    for step in case["steps"]:
        if "text" in step:
            sheet.write_text(step["text"], encoding="utf-8")
        elif "rows" in step or "add" in step:
            do(sheet, step)
        elif "rate" in step:
            fill(sheet, "rating", step["rate"], step.get("separator", ","))
        elif "cells" in step:
            assert cells_of(sheet)[1:] == step["cells"]
        elif "ratings" in step:
            found = read_ratings(sheet).items()
            assert [[*of, by, rating] for (by, *of), rating in found] == step["ratings"]
        else:
            rated = ratings_of(read_ratings(sheet), "birds", step["texts"])
            assert rated == Rated(**step["rated"])
            if "details" in step:
                assert details_of(rated) == step["details"]


@pytest.mark.parametrize(
    "given", ["4", "4.0", "4,0", "4.00", "4.", "４", "４．０", " 4 "]
)
@pytest.mark.parametrize("empty", ["", " ", "nan", "NaN", "<NA>", "None", "n/a"])
def test_ratings_are_read_as_programs_save_them(sheet, given, empty):
    extend(sheet, ROWS, "ann")
    fill(sheet, "rating", [empty, given])
    assert [*read_ratings(sheet).values()] == [4]
    assert extend(sheet, ROWS, "ann") == (1, 1)


@each_case(cases(__file__, "wrong_sheets"))
def test_what_cannot_be_understood_is_one_sentence(sheet, case):
    sheet.write_text(case["text"], encoding="utf-8")
    with refused(case, "ConfigError") as caught:
        read_ratings(sheet)
    assert str(caught.value).startswith(f"ratings: {sheet}")


def test_ratings_are_from_1_to_5():
    assert [*RUBRIC] == [1, 2, 3, 4, 5]


@pytest.fixture
def described(tmp_path):
    """Eight samples that two models have described, one of them in other words."""
    for name in "abcdefgh":
        draw(tmp_path / "images" / f"{name}.png", ord(name))
    build("birds", ImageFolder(path=tmp_path / "images"), tmp_path / "birds")
    for model, order in (("one", 1), ("two", -1)):
        texts = {name: f"A bird by {name}." for name in "abcdefgh"}
        texts["gone"] = "A bird whose picture is not in the dataset."
        if model == "two":
            texts |= dict.fromkeys("abcd", "Another bird.")
            texts["h"] = None
        records = [iteration(name, 1, text) for name, text in texts.items()]
        again = [each.model_copy(update={"repeat": 1}) for each in records]
        write_jsonl(tmp_path / model / RECORDS, [*records, *again][::order])
    return tmp_path


def write(folder, sheet, samples, rater="ann", seed=1, models=("one", "two")):
    return write_ratings(
        sheet,
        data=folder / "birds",
        folders=[folder / model for model in models],
        rater=rater,
        seed=seed,
        samples=samples,
        add=None,
    )


def test_random_samples_are_rated_in_random_order(described, sheet):
    assert write(described, sheet, 3).endswith("to rate, 0 rated by ann")
    few = cells_of(sheet)[1:]
    assert write(described, sheet, 8) == "12 descriptions to rate, 0 rated by ann"
    rows = cells_of(sheet)[1:]
    assert rows[: len(few)] == few
    assert len({row[1] for row in few}) == 3
    assert sorted({row[1] for row in rows}) == [*"abcdefgh"]
    assert len({(*row[1:3],) for row in rows}) == 12, "equal texts are rated once"
    other = sheet.with_name("other.csv")
    write(described, other, 8, seed=2)
    assert cells_of(other)[1:] != rows
    assert sorted(cells_of(other)[1:]) == sorted(rows)
    by_first_model = [row[2] != "Another bird." for row in cells_of(other)[1:]]
    assert by_first_model != sorted(by_first_model, reverse=True), "models are mixed"


def test_ratings_of_earlier_descriptions_are_counted(described, sheet):
    write(described, sheet, 8)
    fill(sheet, "rating", [3] * 12)
    assert write(described, sheet, 8) == "0 descriptions to rate, 12 rated by ann"
    said = write(described, sheet, 8, models=["one"])
    assert said == (
        "0 descriptions to rate, 8 rated by ann; outdated ratings, of texts that no selected "
        "model has: 4"
    )

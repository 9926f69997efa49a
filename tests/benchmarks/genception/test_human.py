"""People describe images, and what was drawn from what they wrote."""

import shutil
from dataclasses import replace

import pytest

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import stream_records
from driftledger.benchmarks.genception.human import write_human_sheet
from driftledger.benchmarks.genception.spec import GenCeption, GenCeptionSettings
from driftledger.collect.store import CallStore
from driftledger.commands.collect import refuse_failures
from driftledger.components.human import Human
from driftledger.core.errors import CoverageError
from driftledger.data.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from tests.conftest import draw
from tests.support.chains import collected
from tests.support.fakes import SizeGenerator
from tests.support.params import default_params
from tests.support.sheets import cells_of, fill


def given(folder, model=None, **settings):
    """What a project gives whose model are people who write into ``folder/human``."""
    section = default_params()["genception"] | {
        "iterations": 2,
        "generate_prompt": "draw {description}",
        **settings,
    }
    components = {
        "model": ("anna", model or Human(path=folder / "human")),
        "generator": ("size", SizeGenerator()),
    }
    collecting = Collecting(
        spec=GenCeption(),
        keys={"dataset": "d", "model": "anna", "generator": "size"},
        data=folder / "d",
        components=components,
        section=GenCeptionSettings.model_validate(section),
        seed=1,
    )
    return replace(collecting, protocol=GenCeption().protocol(collecting))


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        draw(tmp_path / "images" / f"{number}.png", number, (20 + 10 * number, 30))
    return tmp_path


def sheet(folder, inputs=None, add=None):
    with CallStore(folder / "store") as store:
        return write_human_sheet(inputs or given(folder), store, add)


def rows(folder):
    """Return the rows of the sheet as a spreadsheet shows them."""
    head, *found = cells_of(folder / "human/sheet.csv")
    shown = []
    for row in found:
        cells = [cell.removeprefix("'") for cell in row]
        shown.append(dict(zip(head, cells, strict=True)))
    return shown


def fill_in(folder, t, texts):
    """Describe each image at t."""
    values = []
    for row in rows(folder):
        values.append(texts[int(row["sample"])] if row["t"] == t else None)
    fill(folder / "human/sheet.csv", "text", values)


def collect(folder):
    collecting = given(folder)
    records = collected(collecting, folder / "store")
    refuse_failures(GenCeption().failures(records), "genception", 0.9)
    write_collected(folder / "chain", collecting, records)
    return [*stream_records(folder / "chain")]


def test_people_describe_what_was_drawn_from_what_they_wrote(folder):
    build("d", ImageFolder(path=folder / "images"), folder / "d")
    assert "3 images to describe, 0 described" in sheet(folder)
    fill_in(folder, "1", ["20x30", "30x30", "40x30"])
    assert sheet(folder).endswith(
        "0 images to describe, 3 described; 3 wait to be drawn: run 'driftledger run'"
    )
    with pytest.raises(CoverageError, match=r"nothing is written about '0-2-"):
        collect(folder)
    assert "3 images to describe, 3 described" in sheet(folder)
    fill_in(folder, "2", ["21x30", "31x30", "41x30"])
    records = collect(folder)
    assert [(each.unit, each.step, each.text) for each in records[:2]] == [
        ("0", 1, "20x30"),
        ("0", 2, "21x30"),
    ]
    assert len(records) == 6


def test_each_category_is_shared_among_the_annotators(folder):
    for number in range(8):
        draw(
            folder / "many" / ("cats", "dogs")[number % 2] / f"{number}.png",
            number,
            (20 + number, 30),
        )
    build("d", ImageFolder(path=folder / "many"), folder / "d")
    people = ["Ada", "Ben", "Cleo", "Dan"]
    sheet(folder, given(folder, Human(path=folder / "human", annotators=people)))
    asked = rows(folder)
    for category in ("cats", "dogs"):
        own = [row for row in asked if row["sample"].startswith(category)]
        assert sorted(row["annotator"] for row in own) == people


def test_people_describe_each_drawing_of_an_image_that_is_there_twice(folder):
    shutil.copy(folder / "images/0.png", folder / "images/1.png")
    build("d", ImageFolder(path=folder / "images"), folder / "d")
    sheet(folder)
    fill_in(folder, "1", ["20x30"] * 3)
    with pytest.raises(CoverageError):
        collect(folder)
    sheet(folder)
    fill_in(folder, "2", ["20x30"] * 3)
    assert len(collect(folder)) == 6


def test_what_a_page_has_saved_is_added(folder):
    build("d", ImageFolder(path=folder / "images"), folder / "d")
    people = Human(path=folder / "human", annotator="Ada")
    sheet(folder, given(folder, people))
    saved = folder / "human" / "sheet.csv"
    asked = saved.read_bytes()
    fill_in(folder, "1", ["20x30", '=x; "y"\n', ""])
    filled = saved.rename(folder / "sheet (1).csv")
    saved.write_bytes(asked)
    again = Human(path=folder / "human", annotator="Ada")
    said = sheet(folder, given(folder, again), filled)
    assert said.endswith(
        "1 images to describe, 2 described; 2 wait to be drawn: run 'driftledger run'"
    )
    assert [row["text"] for row in rows(folder)] == ["20x30", '=x; "y"', ""]
    assert all(row["annotator"] == "Ada" for row in rows(folder))

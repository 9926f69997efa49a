"""Links in folders that come from somebody else: nothing outside of a folder is read or written
through them."""

import pytest

from driftledger.components.human import FORM, Human
from driftledger.core.errors import ConfigError, DataError, StoreError
from driftledger.core.paths import leads_out
from driftledger.data.datasets.base import read_file
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.records import read_samples
from driftledger.data.sheet_page import PageTask, write_page
from tests.conftest import draw
from tests.support.cases import cases, each_case


@pytest.fixture
def secret(tmp_path):
    """A folder of another user, with an image in it."""
    draw(tmp_path / "secret" / "a.png", 1)
    return tmp_path / "secret"


@pytest.fixture
def given(tmp_path):
    """A folder that was given to us, with an image of its own."""
    draw(tmp_path / "given" / "own.png", 2)
    (tmp_path / "given" / "cats").mkdir()
    return tmp_path / "given"


@each_case(cases(__file__, "links"))
def test_an_image_folder(case, given, secret):
    for name, target in case["links"].items():
        (given / name).symlink_to(target.replace("SECRET", str(secret)))
    for settings in ({}, {"labelled": True}):
        folder = ImageFolder(path=given, **settings)
        for read in (folder.source_digest, lambda folder=folder: list(folder.items())):
            with pytest.raises(DataError, match="is a link out of"):
                read()


def test_a_sheet_that_is_a_link(given, secret):
    (secret / "passwords.csv").write_text(
        "sample,t,text,annotator\na,1,my password,me\n"
    )
    (given / "sheet.csv").symlink_to(secret / "passwords.csv")
    with pytest.raises(
        ConfigError,
        match=r"sheet\.csv is a link out of its folder; put the sheet itself there",
    ):
        Human(path=given).identity()


def test_nothing_is_written_through_a_link(given, secret):
    (secret / "page.html").write_text("theirs")
    (given / "sheet.html").symlink_to(secret / "page.html")
    write_page(given / "sheet.csv", FORM, [], [], PageTask("", "Describe."))
    assert not (given / "sheet.html").is_symlink()
    assert (secret / "page.html").read_text() == "theirs"


def test_a_path_with_a_nul_is_no_path(tmp_path):
    assert leads_out(tmp_path / "a\0.png", tmp_path)
    with pytest.raises(DataError, match=r"^row 1 cannot be read \(.*embedded null"):
        read_file(tmp_path / "a\0.png", "row 1")


@pytest.mark.parametrize("to", ["/dev/zero", "/dev/tty", "."])
def test_records_that_are_no_file(tmp_path, to):
    (tmp_path / "samples.jsonl").symlink_to(to)
    with pytest.raises(
        StoreError, match=r"samples\.jsonl cannot be read \(not a regular file\)"
    ):
        read_samples(tmp_path)

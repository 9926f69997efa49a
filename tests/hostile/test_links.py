"""Links in folders that come from somebody else: nothing outside of a folder is read or written through them."""

import json
from pathlib import Path

import pytest

from driftledger.benchmarks.registry import question_rules
from driftledger.components.human import Human, write_sheet
from driftledger.core.errors import ConfigError, DataError, StoreError
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import read_samples
from tests.conftest import draw


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder of another user, with an image in it."""
    draw(tmp_path / "secret" / "a.png", 1)
    return tmp_path / "secret"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder that was given to us, with an image of its own."""
    draw(tmp_path / "given" / "own.png", 2)
    return tmp_path / "given"


def refused(folder: ImageFolder) -> str:
    with pytest.raises(DataError) as caught:
        folder.source_digest()
    with pytest.raises(DataError):
        list(folder.items())
    return str(caught.value)


def test_a_link_to_an_image_elsewhere(given: Path, secret: Path) -> None:
    (given / "b.png").symlink_to(secret / "a.png")
    assert f"{given / 'b.png'} is a link out of {given}; put what it leads to" in refused(ImageFolder(path=given))


def test_a_link_by_a_relative_path(given: Path, secret: Path) -> None:
    (given / "cats").mkdir()
    (given / "cats" / "b.png").symlink_to("../../secret/a.png")
    assert "is a link out of" in refused(ImageFolder(path=given))


def test_a_link_to_a_folder_elsewhere(given: Path, secret: Path) -> None:
    (given / "cats").symlink_to(secret, target_is_directory=True)
    assert "cats is a link out of" in refused(ImageFolder(path=given))


def test_a_link_to_a_neighbour_of_a_like_name(given: Path) -> None:
    draw(given.with_name("given-more") / "a.png", 1)
    (given / "cats").symlink_to(given.with_name("given-more"), target_is_directory=True)
    assert "cats is a link out of" in refused(ImageFolder(path=given))


def test_a_link_through_a_link(given: Path, secret: Path) -> None:
    (given / ".hidden").symlink_to(secret, target_is_directory=True)
    (given / "cats").symlink_to(".hidden", target_is_directory=True)
    assert "cats is a link out of" in refused(ImageFolder(path=given))


def test_a_class_that_is_a_link(tmp_path: Path, secret: Path) -> None:
    for split in ("train", "test"):
        draw(tmp_path / "pets" / split / "cat" / "a.png", 1)
    (tmp_path / "pets" / "train" / "dog").symlink_to(secret, target_is_directory=True)
    assert "dog is a link out of" in refused(ImageFolder(path=tmp_path / "pets", labelled=True))


def test_a_link_to_a_device(given: Path) -> None:
    (given / "endless.png").symlink_to("/dev/zero")
    assert "broken link or no file" in refused(ImageFolder(path=given))


def test_a_manifest_that_names_a_link(given: Path, secret: Path) -> None:
    (given / "b.png").symlink_to(secret / "a.png")
    rows = [("own.png", "train"), ("b.png", "test")]
    (given / "m.csv").write_text("file,label,split\n" + "".join(f"{file},cat,{split}\n" for file, split in rows))
    with pytest.raises(DataError, match=r"line 3 of m\.csv names the image 'b\.png', which lies outside"):
        list(ImageFolder(path=given, manifest="m.csv").items())


def test_a_manifest_that_is_a_link(given: Path, secret: Path) -> None:
    (secret / "m.csv").write_text("file,label,split\nown.png,cat,train\n")
    (given / "m.csv").symlink_to(secret / "m.csv")
    with pytest.raises(ConfigError, match="lies outside of the folder"):
        list(ImageFolder(path=given, manifest="m.csv").items())


def test_a_question_about_a_link(given: Path, secret: Path) -> None:
    (given / "b.png").symlink_to(secret / "a.png")
    rows = [{"image": "b.png", "question": "What?", "answer": "a cat", "capabilities": ["rec"], "id": "1"}]
    (given / "q.json").write_text(json.dumps(rows))
    table = QuestionTable(protocol="mm_vet", path=given / "q.json")
    [question] = table.questions(question_rules(table))
    with pytest.raises(DataError, match="lies outside of the folder of images"):
        question.read()


def test_a_hub_folder_with_a_link(given: Path, secret: Path) -> None:
    pytest.importorskip("datasets")
    from driftledger.data.datasets.huggingface import HuggingFace

    (given / "b.png").symlink_to(secret / "a.png")
    hub = HuggingFace(path=str(given), split="train")
    with pytest.raises(DataError, match=r"b\.png in '.*' is a link out of that folder; remove it"):
        hub.source_digest()
    with pytest.raises(DataError, match="names a file outside the dataset"):
        hub.image_bytes({"path": str(given / "b.png")}, "row 1")


def test_a_sheet_that_is_a_link(given: Path, secret: Path) -> None:
    (secret / "passwords.csv").write_text("sample,t,text,annotator\na,1,my password,me\n")
    (given / "sheet.csv").symlink_to(secret / "passwords.csv")
    with pytest.raises(ConfigError, match=r"sheet\.csv is a link out of its folder; put the sheet itself there"):
        Human(path=given).identity()


@pytest.mark.parametrize("name", ["sheet.csv", "images", "index.html", "instructions.txt"])
def test_nothing_is_written_through_a_link(given: Path, secret: Path, name: str) -> None:
    (given / name).symlink_to(secret / name)
    with pytest.raises(DataError, match=f"{name} is a link out of its folder; remove it"):
        write_sheet(given, [], None, "Describe.")
    assert [path.name for path in secret.iterdir()] == ["a.png"]


@pytest.mark.parametrize("to", ["/dev/zero", "/dev/tty", "."])
def test_records_that_are_no_file(tmp_path: Path, to: str) -> None:
    (tmp_path / "samples.jsonl").symlink_to(to)
    with pytest.raises(StoreError, match=r"samples\.jsonl is no file, or has more than 1024 MiB"):
        read_samples(tmp_path)

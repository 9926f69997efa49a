"""People answer from a sheet; what is not written yet is asked for again, and never a wrong text is taken."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from driftledger.components.models.human import Human
from driftledger.components.models.human_folder import Pending, write_sheet
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Subject
from tests.conftest import draw

HEAD = "sample,t,text,annotator\n"
MISSING = ImageFile(Path("/nowhere/at/all.png"), "0" * 64)


def image(folder: Path, number: int) -> ImageFile:
    path = draw(folder / f"{number}.png", number)
    return ImageFile(path, sha256_file(path))


def ask(sample: str, t: int = 1, shown: ImageFile = MISSING) -> Conversation:
    return Conversation.ask("Describe the image.", shown, Subject(sample, t))


def human(folder: Path, rows: str, annotator: str | None = None, name: str = "sheet.csv") -> Human:
    (folder / name).write_text(HEAD + rows, encoding="utf-8")
    return Human(path=folder / name, annotator=annotator)


def texts(replies: Sequence[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def fill_in(sheet: Path, number: int, text: str) -> None:
    """Write into the cell for the text of a row (counted from 1) of a sheet of ours, which ends in ``,,annotator``."""
    lines = sheet.read_text(encoding="utf-8").split("\n")
    start, _, annotator = lines[number].rpartition(",,")
    lines[number] = f"{start},{text},{annotator}"
    sheet.write_text("\n".join(lines), encoding="utf-8")


def test_the_registry_knows_it() -> None:
    assert provider_class("models", "human") is Human


def test_each_conversation_gets_what_is_written_for_its_sample_and_iteration(tmp_path: Path) -> None:
    model = human(tmp_path, "cat,1,A cat.,\ncat,2,A grey blob.,\ndog,1, A dog. ,\n")
    assert model.respond([ask("dog"), ask("cat", 2), ask("cat")]) == [
        Reply("A dog."),
        Reply("A grey blob."),
        Reply("A cat."),
    ]


def test_five_people_who_share_the_images_are_one_model(tmp_path: Path) -> None:
    model = human(tmp_path, "".join(f"s{number},1,By {number}.,person {number}\n" for number in range(5)))
    assert texts(model.respond([ask(f"s{number}") for number in range(5)])) == [f"By {n}." for n in range(5)]


@pytest.mark.parametrize("rows", ["", "x,1,,\n", "x,1, \n", 'x,1,"\n \t",\n', "x,2,other,\n", "X,1,other,\n"])
def test_what_is_not_written_is_a_failure_that_the_next_run_tries_again(tmp_path: Path, rows: str) -> None:
    [reply] = human(tmp_path, rows).respond([ask("x")])
    assert reply == Reply(
        "",
        Outcome.FAILED,
        error="nothing is written for sample 'x', t=1 in sheet.csv; fill it in (driftledger people descriptions)",
    )


def test_a_conversation_about_nobody_is_a_bug(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without a subject"):
        human(tmp_path, "x,1,text,\n").respond([Conversation.ask("Describe.", MISSING)])


TWO_PEOPLE = "x,1,By Ann.,ann\nx,1,By Bob.,bob\ny,1,Ann again.,ann\n"


def test_of_several_people_one_is_chosen(tmp_path: Path) -> None:
    assert texts(human(tmp_path, TWO_PEOPLE, "ann").respond([ask("x"), ask("y")])) == ["By Ann.", "Ann again."]
    by_bob = human(tmp_path, TWO_PEOPLE, "bob").respond([ask("x"), ask("y")])
    assert texts(by_bob) == ["By Bob.", ""]
    assert by_bob[1].error is not None
    assert "t=1 by 'bob' in sheet.csv" in by_bob[1].error


@pytest.mark.parametrize("asked", [lambda model: model.fingerprint, lambda model: model.respond([ask("y")])])
def test_of_several_people_none_is_guessed(tmp_path: Path, asked: Any) -> None:
    with pytest.raises(ConfigError, match=r"sample 'x', t=1, by 'ann' and 'bob'; set annotator to choose one"):
        asked(human(tmp_path, TWO_PEOPLE))


def test_a_person_without_a_name_beside_one_with_a_name_is_another_person(tmp_path: Path) -> None:
    rows = "x,1,By nobody.,\nx,1,By Ann.,ann\n"
    with pytest.raises(ConfigError, match="by one without a name and 'ann'"):
        human(tmp_path, rows).identity()
    assert texts(human(tmp_path, rows, "ann").respond([ask("x")])) == ["By Ann."]


def test_a_row_that_nobody_has_filled_in_competes_with_none(tmp_path: Path) -> None:
    assert texts(human(tmp_path, "x,1,,ann\nx,1,By Bob.,bob\n").respond([ask("x")])) == ["By Bob."]


@pytest.mark.parametrize("annotator", [None, "ann"])
def test_two_texts_by_one_person_contradict_each_other(tmp_path: Path, annotator: str | None) -> None:
    with pytest.raises(ConfigError, match=r"several texts for sample 'x', t=1 by 'ann'; remove all rows of them but"):
        human(tmp_path, "x,1,one,ann\nx,1,other,ann\n", annotator).identity()


def test_the_same_row_twice_is_one_row(tmp_path: Path) -> None:
    once, twice = human(tmp_path, "x,1,one,ann\n", name="once.csv"), human(tmp_path, "x,1,one,ann\n" * 2)
    assert texts(twice.respond([ask("x")])) == ["one"]
    assert once.fingerprint == twice.fingerprint


SAME = {
    "another order": "y,1,two,bob\nx,1,one,ann\n",
    "spaces around": " x , 1 , one ,ann\ny,1,two\n,bob\n".replace("two\n", '"two\n"'),
    "a row that waits": "x,1,one,ann\ny,1,two,bob\nz,1,,ann\n",
    "quotes": '"x","1","one","ann"\n"y",1,two,bob\n',
}
OTHER = {
    "text": "x,1,One,ann\ny,1,two,bob\n",
    "t": "x,2,one,ann\ny,1,two,bob\n",
    "sample": "z,1,one,ann\ny,1,two,bob\n",
    "annotator": "x,1,one,bob\ny,1,two,bob\n",
    "a further row": "x,1,one,ann\ny,1,two,bob\nz,1,three,bob\n",
}


@pytest.mark.parametrize("rows", SAME.values(), ids=SAME)
def test_the_fingerprint_is_over_what_is_said(tmp_path: Path, rows: str) -> None:
    first = human(tmp_path, "x,1,one,ann\ny,1,two,bob\n", name="first.csv")
    assert human(tmp_path, rows).fingerprint == first.fingerprint


@pytest.mark.parametrize("rows", OTHER.values(), ids=OTHER)
def test_whatever_is_said_differently_is_another_version(tmp_path: Path, rows: str) -> None:
    first = human(tmp_path, "x,1,one,ann\ny,1,two,bob\n", name="first.csv")
    assert human(tmp_path, rows).fingerprint != first.fingerprint


def test_what_others_write_does_not_change_a_persons_version(tmp_path: Path) -> None:
    before = human(tmp_path, "x,1,one,ann\n", "ann").fingerprint
    assert human(tmp_path, "x,1,one,ann\nx,1,two,bob\n", "ann").fingerprint == before
    assert human(tmp_path, "x,1,one,ann\nx,1,two,bob\n", "bob").fingerprint != before


def test_where_the_sheet_lies_is_not_in_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert (
        human(tmp_path, "x,1,one,\n").fingerprint == human(tmp_path / "folder", "x,1,one,\n", name="a.csv").fingerprint
    )


def test_answers_are_of_the_version_that_the_fingerprint_stands_for(tmp_path: Path) -> None:
    model = human(tmp_path, "x,1,one,\n")
    before = model.fingerprint
    later = human(tmp_path, "x,1,edited,\n")
    assert texts(model.respond([ask("x")])) == ["one"]
    assert texts(later.respond([ask("x")])) == ["edited"]
    assert later.fingerprint != before


@pytest.mark.parametrize("path", ["people", "people/sheet.csv", "people/later.csv"])
def test_a_missing_sheet_is_one_sentence_that_says_how_to_get_it(tmp_path: Path, path: str) -> None:
    model = Human(path=tmp_path / path)
    with pytest.raises(
        ConfigError, match=r"\.csv is missing; write it with: driftledger people descriptions DATASET MODEL$"
    ):
        _ = model.fingerprint


def test_the_path_is_a_file_or_the_folder_of_a_sheet(tmp_path: Path) -> None:
    inside = human(tmp_path, "x,1,one,\n")
    assert Human(path=tmp_path).sheet == inside.sheet == tmp_path / "sheet.csv"
    assert texts(Human(path=tmp_path).respond([ask("x")])) == ["one"]
    assert human(tmp_path, "x,1,one,\n", name="answers.txt").sheet == tmp_path / "answers.txt"
    assert Human(path=tmp_path / "not yet").sheet == tmp_path / "not yet" / "sheet.csv"
    assert Human(path=tmp_path / "not_yet.csv").sheet == tmp_path / "not_yet.csv"


def test_the_path_may_be_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    human(tmp_path, "x,1,one,\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert texts(Human(path=Path("~/sheet.csv")).respond([ask("x")])) == ["one"]


def test_a_path_that_no_disk_can_have_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="cannot be reached"):
        Human(path=Path("x" * 5000)).identity()


@pytest.mark.parametrize("annotator", ["", "  ", "\x00", "a" * 101, 7])
def test_an_annotator_has_a_name(annotator: Any) -> None:
    with pytest.raises(ValidationError):
        Human(path=Path("sheet.csv"), annotator=annotator)


def test_an_annotator_is_found_however_the_name_was_typed(tmp_path: Path) -> None:
    assert texts(human(tmp_path, "x,1,one, Ann \n", " Ann").respond([ask("x")])) == ["one"]


def test_a_sheet_that_was_filled_in_answers_for_its_images(tmp_path: Path) -> None:
    shown = image(tmp_path, 1)
    folder = tmp_path / "people"
    write_sheet(folder, [Pending(Subject("007", 1), shown)], None, "Describe.")
    assert Human(path=folder).respond([ask("007", 1, shown)])[0].outcome is Outcome.FAILED
    fill_in(folder / "sheet.csv", 1, "A spy.")
    assert Human(path=folder).respond([ask("007", 1, shown)]) == [Reply("A spy.")]


def test_a_description_is_not_taken_for_another_image(tmp_path: Path) -> None:
    first, second = image(tmp_path, 1), image(tmp_path, 2)
    folder = tmp_path / "people"
    write_sheet(folder, [Pending(Subject("x", 2), first)], None, "Describe.")
    fill_in(folder / "sheet.csv", 1, "The first.")
    [reply] = Human(path=folder).respond([ask("x", 2, second)])
    assert reply.outcome is Outcome.FAILED
    assert reply.error == (
        "what is written for sample 'x', t=2 in sheet.csv is about another image; "
        "get a row for this one (driftledger people descriptions)"
    )
    write_sheet(folder, [Pending(Subject("x", 2), second)], None, "Describe.")
    before = Human(path=folder).fingerprint
    fill_in(folder / "sheet.csv", 2, "The second.")
    model = Human(path=folder)
    assert texts(model.respond([ask("x", 2, second), ask("x", 2, first)])) == ["The second.", "The first."]
    assert model.fingerprint != before


def test_texts_for_two_images_are_another_version_when_they_are_swapped(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    pending = [Pending(Subject("x", 2), image(tmp_path, number)) for number in (1, 2)]
    write_sheet(folder, pending, None, "Describe.")
    prints = []
    for texts_ in (("one", "two"), ("two", "one")):
        sheet = tmp_path / f"{texts_[0]}.csv"
        sheet.write_bytes((folder / "sheet.csv").read_bytes())
        fill_in(sheet, 1, texts_[0])
        fill_in(sheet, 2, texts_[1])
        prints.append(Human(path=sheet).fingerprint)
    assert prints[0] != prints[1]


def test_the_same_picture_in_another_encoding_is_the_same_image(tmp_path: Path) -> None:
    shown = image(tmp_path, 1)
    folder = tmp_path / "people"
    write_sheet(folder, [Pending(Subject("x", 1), shown)], None, "Describe.")
    fill_in(folder / "sheet.csv", 1, "A text.")
    with Image.open(shown.path) as opened:
        opened.save(tmp_path / "again.png", compress_level=0)
    again = ImageFile(tmp_path / "again.png", sha256_file(tmp_path / "again.png"))
    assert again.sha256 != shown.sha256
    assert texts(Human(path=folder).respond([ask("x", 1, again)])) == ["A text."]


def test_a_row_that_names_no_image_beside_one_that_does_contradicts_it(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    write_sheet(folder, [Pending(Subject("x", 1), image(tmp_path, 1))], "ann", "Describe.")
    fill_in(folder / "sheet.csv", 1, "One.")
    with (folder / "sheet.csv").open("a", encoding="utf-8") as file:
        file.write("x,1,,Other.,bob\n")
    with pytest.raises(ConfigError, match="by 'ann' and 'bob'; set annotator"):
        Human(path=folder).identity()

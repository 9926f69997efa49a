import json
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from driftledger.core.canonical import canonical_json, pretty_json, sha256_bytes
from driftledger.core.errors import DataError, StoreError
from driftledger.core.files import read_json
from driftledger.core.images import png_bytes
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions
from driftledger.data.question_sets.table import QuestionTable
from tests.data.question_sets.sources import BEYOND, MME, REFUSAL, SAP, VET, Given, build_set, jsonl, png, source


def built(tmp_path: Path, protocol: str, *questions: SourceQuestion) -> tuple[QuestionSetCard, list[QuestionEntry]]:
    build_set("mine", Given(protocol=protocol, given=questions), tmp_path / "mine")
    return read_json(tmp_path / "mine" / "question_set.json", QuestionSetCard), read_questions(tmp_path / "mine")


def refused(tmp_path: Path, protocol: str, *questions: SourceQuestion) -> str:
    """The sentence with which the build fails, having left nothing behind."""
    with pytest.raises(DataError) as caught:
        build_set("mine", Given(protocol=protocol, given=questions), tmp_path / "data" / "mine")
    assert list((tmp_path / "data").iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_mm_sap_is_stored_by_index_in_the_order_of_the_source(tmp_path: Path) -> None:
    card, entries = built(tmp_path, "mm_sap", source(SAP | {"answer": "BLUE "}, 1), source(BEYOND, 0))
    picture = png_bytes(Image.new("RGB", (8, 6), (0, 0, 0)))
    assert entries[0] == QuestionEntry(
        id="1",
        image="images/0.png",
        image_sha256=sha256_bytes(picture),
        image_id="a.png",
        question="What colour is the truck?",
        options=["red", "blue", REFUSAL, "green", "white"],
        answer=1,
        refusal=2,
        subset="basic",
        subtask="colour",
    )
    assert (entries[1].id, entries[1].answer, entries[1].refusal) == ("0", None, 2)
    assert (tmp_path / "mine" / "images" / "0.png").read_bytes() == picture
    assert (card.name, card.provider, card.protocol) == ("mine", "given", "mm_sap")
    assert (card.questions, card.images) == (2, 1)
    assert card.subsets == {"basic": 1, "beyond": 1}
    assert card.subtasks == {"basic": {"colour": 1}, "beyond": {"name": 1}}
    assert (card.capabilities, card.categories) == ({}, {})
    assert card.source == {"kind": "given"}


def test_mm_vet_keeps_its_ground_truth_as_it_stands(tmp_path: Path) -> None:
    card, [entry] = built(tmp_path, "mm_vet", source(VET))
    assert (entry.answer, entry.capabilities, entry.options, entry.refusal) == (
        "-1 <AND> -5",
        ["ocr", "math"],
        [],
        None,
    )
    assert card.capabilities == {"math": 1, "ocr": 1}


@pytest.mark.parametrize("number", ["3", "1.25 <OR> 5/4"])
def test_a_ground_truth_that_is_a_number_stays_text(number: str, tmp_path: Path) -> None:
    _, [entry] = built(tmp_path, "mm_vet", source(VET | {"answer": number}))
    assert entry.answer == number


def test_mme_is_stored_as_yes_and_no(tmp_path: Path) -> None:
    card, entries = built(tmp_path, "mme", source(MME[0] | {"answer": "YES"}, 0), source(MME[1], 1))
    assert [entry.answer for entry in entries] == ["yes", "no"]
    assert card.categories == {"existence": 2}


def test_each_picture_is_stored_once_however_it_is_written(tmp_path: Path) -> None:
    pictures = [partial(png, 1), partial(png, 2), partial(png, 1, "BMP"), partial(png, 2)]
    questions = [source(VET, number, read=read, image_id=str(number)) for number, read in enumerate(pictures)]
    card, entries = built(tmp_path, "mm_vet", *questions)
    assert [entry.image for entry in entries] == ["images/0.png", "images/1.png", "images/0.png", "images/1.png"]
    assert len({entry.image_sha256 for entry in entries}) == card.images == 2
    assert [entry.image_id for entry in entries] == ["0", "1", "2", "3"]
    assert sorted(path.name for path in (tmp_path / "mine" / "images").iterdir()) == ["0.png", "1.png"]


def test_an_image_file_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from driftledger.data.question_sets import build as building

    decoded: list[str] = []
    really = building.decode
    monkeypatch.setattr(building, "decode", lambda data, name, most: decoded.append(name) or really(data, name, most))
    built(tmp_path, "mme", source(MME[0], 0), source(MME[1], 1))
    assert decoded == ["row 0"]


def test_what_was_repaired_is_noted_with_every_question_about_it(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "secret camera"
    buffer = BytesIO()
    Image.new("L", (8, 4), 9).save(buffer, "PNG", exif=exif)
    questions = [source(row, number, read=buffer.getvalue) for number, row in enumerate(MME)]
    _, entries = built(tmp_path, "mme", *questions)
    assert [entry.notes for entry in entries] == [["rotated upright as its EXIF tag says", "converted from grey"]] * 2
    stored = tmp_path / "mine" / entries[0].image
    assert b"secret" not in stored.read_bytes()
    with Image.open(stored) as image:
        assert (image.size, image.mode) == ((4, 8), "RGB")


def test_two_images_with_one_image_id(tmp_path: Path) -> None:
    said = refused(tmp_path, "mm_vet", source(VET, 0), source(VET, 1, read=partial(png, 9)))
    assert said == ("question set 'mine': row 1 has the image_id 'a.png' of row 0, and another image (correct one)")


def test_wrong_questions_and_missing_images_are_told_together(tmp_path: Path) -> None:
    def missing() -> bytes:
        raise DataError("row 1 names the image 'x.png', which is missing there")

    wrong = [source(SAP | {"refusal": None}, 0), source(SAP, 1, read=missing), source(SAP | {"options": []}, 2)]
    said = refused(tmp_path, "mm_sap", *wrong, source(SAP, 3))
    assert "row 0 has no refusal option" in said
    assert "row 1 names the image 'x.png'" in said
    assert "row 2 has 0 options" in said
    assert "row 3" not in said


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"", "is an empty file"), (b"hello", "is not an image"), (png()[:45], "is truncated or broken")],
    ids=["empty", "text", "cut"],
)
def test_an_image_that_cannot_be_used_is_named(data: bytes, what: str, tmp_path: Path) -> None:
    assert f"row 4 {what}" in refused(tmp_path, "mm_vet", source(VET, 4, read=lambda: data))


def test_max_pixels(tmp_path: Path) -> None:
    file = jsonl(tmp_path, VET)
    with pytest.raises(DataError, match=r"is 8×6 pixels, more than max_pixels \(47\)"):
        build_set("mine", QuestionTable(protocol="mm_vet", path=file, max_pixels=47), tmp_path / "mine")


def test_no_questions(tmp_path: Path) -> None:
    assert refused(tmp_path, "mme") == "question set 'mine' has no questions; check where its settings point"


def test_a_failure_leaves_the_set_that_was_there(tmp_path: Path) -> None:
    built(tmp_path, "mm_vet", source(VET))
    before = (tmp_path / "mine" / "questions.jsonl").read_bytes()
    with pytest.raises(DataError):
        built(tmp_path, "mm_vet", source(VET | {"answer": None}))
    assert (tmp_path / "mine" / "questions.jsonl").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_rebuild_leaves_nothing_of_the_old_set(tmp_path: Path) -> None:
    built(tmp_path, "mm_vet", source(VET, 0), source(VET, 1, read=partial(png, 9), image_id="b"))
    built(tmp_path, "mm_vet", source(VET, 0))
    assert [path.name for path in (tmp_path / "mine" / "images").iterdir()] == ["0.png"]


def test_the_digest_depends_on_what_a_score_can_depend_on_and_on_nothing_else(tmp_path: Path) -> None:
    one = source(SAP)
    others = [
        replace(one, id="b"),
        replace(one, question="Which colour?"),
        replace(one, options=("blue", "red", *one.options[2:])),
        replace(one, answer="red"),
        replace(one, refusal="white"),
        replace(one, subset="know"),
        replace(one, subtask="hue"),
        replace(one, image_id="b.png"),
        replace(one, read=partial(png, 9)),
    ]
    same = [replace(one, name="elsewhere", source={"row": "9"}), replace(one, read=partial(png, 0, "BMP"))]
    digests = [built(tmp_path, "mm_sap", question)[0].digest for question in (one, *same, *others)]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests)) == 1 + len(others)


def test_the_files_are_canonical_json_whatever_the_texts_hold(tmp_path: Path) -> None:
    text = "a\0b\x1b[31m\u2028\u0085\u202e\t\r\nü 猫 🚚"
    _, [entry] = built(tmp_path, "mm_vet", source(VET | {"question": text, "answer": text}))
    assert (entry.question, entry.answer) == (text, text)
    card, line = ((tmp_path / "mine" / name).read_bytes().decode() for name in ("question_set.json", "questions.jsonl"))
    assert card == pretty_json(json.loads(card))
    assert line == canonical_json(json.loads(line)) + "\n"


def test_where_the_sources_lie_is_written_nowhere(tmp_path: Path) -> None:
    for place in ("here", "there"):
        file = jsonl(tmp_path / place, SAP, BEYOND)
        settings: dict[str, Any] = {"protocol": "mm_sap", "path": file, "images": tmp_path / place}
        build_set("mine", QuestionTable.model_validate(settings), tmp_path / f"from-{place}")
    files = [path for path in (tmp_path / "from-here").rglob("*") if path.is_file()]
    assert len(files) == 3
    for file in files:
        assert str(tmp_path).encode() not in file.read_bytes()
        assert file.read_bytes() == (tmp_path / "from-there" / file.relative_to(tmp_path / "from-here")).read_bytes()


def test_what_is_missing_on_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"questions\.jsonl is missing; run 'dvc pull'"):
        read_questions(tmp_path)

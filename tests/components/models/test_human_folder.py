"""The folder that people work in: nothing that they wrote is lost when it is written again."""

import csv
import html
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from driftledger.components.models.human import COLUMNS, read_sheet
from driftledger.components.models.human_folder import Pending, write_sheet
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.types import ImageFile, Subject
from tests.conftest import draw

HEAD = "sample,t,text,annotator\n"
PROMPT = 'Please write a <b>clear</b> & precise description.\n  {braces}, 100 % "quoted"; = + - @\nür alle 写真.'


def image(folder: Path, number: int, size: tuple[int, int] = (96, 72)) -> ImageFile:
    path = draw(folder / "originals" / f"{number}.png", number, size)
    return ImageFile(path, sha256_file(path))


def waiting(folder: Path, *subjects: tuple[str, int]) -> list[Pending]:
    return [Pending(Subject(*subject), image(folder, number)) for number, subject in enumerate(subjects)]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def everything_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# Writing


def test_a_new_sheet_has_a_row_and_a_picture_for_every_pending_image(tmp_path: Path) -> None:
    pending = waiting(tmp_path, ("cat", 1), ("007", 2))
    assert write_sheet(tmp_path / "people", pending, "ann", PROMPT) == (2, 0)
    rows = rows_of(tmp_path / "people" / "sheet.csv")
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["sample"], row["t"], row["text"], row["annotator"]) for row in rows] == [
        ("cat", "1", "", "ann"),
        ("'007", "2", "", "ann"),
    ]
    for row, each in zip(rows, pending, strict=True):
        assert (tmp_path / "people" / row["image"]).read_bytes() == each.image.path.read_bytes()
        assert row["image"].startswith(f"images/{each.subject.sample}-{each.subject.t}-")
    assert [entry.subject for entry in read_sheet(tmp_path / "people" / "sheet.csv").entries] == [
        each.subject for each in pending
    ]


def test_a_second_call_changes_nothing(tmp_path: Path) -> None:
    pending = waiting(tmp_path, ("cat", 1), ("dog", 1))
    first = write_sheet(tmp_path / "people", pending, None, PROMPT)
    before = everything_in(tmp_path / "people")
    assert write_sheet(tmp_path / "people", [*pending, *pending], None, PROMPT) == first == (2, 0)
    assert everything_in(tmp_path / "people") == before
    assert sorted(name.split("/")[0] for name in before) == [
        "images",
        "images",
        "index.html",
        "instructions.txt",
        "sheet.csv",
    ]


def test_a_sheet_that_asks_for_nothing_new_is_not_touched_however_it_is_saved(tmp_path: Path) -> None:
    write_sheet(tmp_path, waiting(tmp_path, ("cat", 1)), None, PROMPT)
    picture = rows_of(tmp_path / "sheet.csv")[0]["image"]
    saved = f'"annotator";"text";"t";"sample";"image"\r\n;"A cat.";1;"cat";"{picture}"\r\n'.encode()
    (tmp_path / "sheet.csv").write_bytes(saved)
    assert write_sheet(tmp_path, waiting(tmp_path, ("cat", 1)), None, PROMPT) == (0, 1)
    assert (tmp_path / "sheet.csv").read_bytes() == saved


def test_what_people_wrote_stays_when_rows_are_added(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(
        "text;sample;my notes;t;annotator\r\n"
        '"=SUM(A1); ""x""\r\nsecond";007;"not sure, ask";1;ann\r\n'
        "'=x;dog;;01;\r\n"
        ";mouse;cannot see it;1;bob\r\n",
        encoding="utf-8",
        newline="",
    )
    before = read_sheet(tmp_path / "sheet.csv")
    assert write_sheet(tmp_path, waiting(tmp_path, ("cat", 1)), None, PROMPT) == (1, 2)
    after = read_sheet(tmp_path / "sheet.csv")
    assert after.separator == ";"
    assert after.head == ["text", "sample", "my notes", "t", "annotator", "image"]
    assert after.entries[:3] == before.entries
    assert [row[:5] for row in after.rows[:3]] == before.rows
    assert after.rows[0][:3] == ['=SUM(A1); "x"\nsecond', "007", "not sure, ask"]
    assert after.entries[3].subject == Subject("cat", 1)
    assert not re.search(r"^[=+\-@]|;[=+\-@]", (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig"))


def test_each_person_gets_rows_of_their_own(tmp_path: Path) -> None:
    pending = waiting(tmp_path, ("cat", 1), ("dog", 1))
    write_sheet(tmp_path, pending, "ann", PROMPT)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8").replace(",,ann", ",A text.,ann", 1), encoding="utf-8")
    assert write_sheet(tmp_path, pending, "bob", PROMPT) == (2, 0)
    assert write_sheet(tmp_path, pending, "ann", PROMPT) == (1, 1)
    assert write_sheet(tmp_path, pending, None, PROMPT) == (1, 1)
    assert [(row["sample"], row["text"], row["annotator"]) for row in rows_of(sheet)] == [
        ("cat", "A text.", "ann"),
        ("dog", "", "ann"),
        ("cat", "", "bob"),
        ("dog", "", "bob"),
    ]


def test_a_name_that_looks_like_a_formula_is_found_again(tmp_path: Path) -> None:
    pending = waiting(tmp_path, ("cat", 1))
    for name in ("=ann()", " 7 ", "b\x00ob"):
        write_sheet(tmp_path, pending, name, PROMPT)
        write_sheet(tmp_path, pending, name, PROMPT)
    assert [row["annotator"] for row in rows_of(tmp_path / "sheet.csv")] == ["'=ann()", "7", "bob"]


def test_a_row_without_an_image_is_about_any(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(HEAD + "cat,1,A cat.,\ndog,1,,\n", encoding="utf-8")
    before = (tmp_path / "sheet.csv").read_bytes()
    assert write_sheet(tmp_path, waiting(tmp_path, ("cat", 1), ("dog", 1)), None, PROMPT) == (1, 1)
    assert (tmp_path / "sheet.csv").read_bytes() == before


def test_another_image_under_the_same_name_is_asked_for_anew(tmp_path: Path) -> None:
    first, second = (Pending(Subject("cat", 2), image(tmp_path, number)) for number in (1, 2))
    write_sheet(tmp_path / "people", [first], None, PROMPT)
    sheet = tmp_path / "people" / "sheet.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8").replace(",,", ",The first.,"), encoding="utf-8")
    assert write_sheet(tmp_path / "people", [second, first], None, PROMPT) == (1, 1)
    old, new = rows_of(sheet)
    assert (old["text"], new["text"]) == ("The first.", "")
    assert (tmp_path / "people" / old["image"]).read_bytes() == first.image.path.read_bytes()
    assert (tmp_path / "people" / new["image"]).read_bytes() == second.image.path.read_bytes()


def test_a_sheet_that_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(HEAD + 'x,1,"weeks of work', encoding="utf-8")
    before = everything_in(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read as CSV"):
        write_sheet(tmp_path, [], None, PROMPT)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("sample", ["../x", "/etc/passwd", "a/b", "a\\b", "..", ".hidden", "", "x\n", "a" * 101, "ä"])
def test_no_id_becomes_a_path_elsewhere(tmp_path: Path, sample: str) -> None:
    folder = tmp_path / "deep" / "people"
    with pytest.raises(DataError, match="is no safe file name"):
        write_sheet(folder, [Pending(Subject(sample, 1), image(tmp_path, 1))], None, PROMPT)
    assert not folder.exists()


def test_nothing_pending_still_writes_a_sheet_to_start_from(tmp_path: Path) -> None:
    assert write_sheet(tmp_path / "people", [], None, PROMPT) == (0, 0)
    assert read_sheet(tmp_path / "people" / "sheet.csv").entries == []


def test_a_byte_order_mark_tells_spreadsheets_that_it_is_utf_8(tmp_path: Path) -> None:
    write_sheet(tmp_path, [], None, PROMPT)
    assert (tmp_path / "sheet.csv").read_bytes().startswith(b"\xef\xbb\xbfsample,")


def test_a_prompt_that_utf_8_cannot_hold_is_written_as_well_as_can_be(tmp_path: Path) -> None:
    write_sheet(tmp_path, [], None, "Describe \ud800 it.")
    assert "Describe ? it." in (tmp_path / "instructions.txt").read_text(encoding="utf-8")


# What people see


class Page(HTMLParser):
    """The tags, images and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.images: list[str | None] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag == "img":
            self.images.append(dict(attrs)["src"])

    def handle_data(self, data: str) -> None:
        self.text += data


def test_people_get_the_prompt_word_for_word(tmp_path: Path) -> None:
    write_sheet(tmp_path, waiting(tmp_path, ("cat", 1)), None, PROMPT)
    assert f"\n{PROMPT}\n" in (tmp_path / "instructions.txt").read_text(encoding="utf-8")
    assert PROMPT in Page((tmp_path / "index.html").read_text(encoding="utf-8")).text


def test_people_read_whose_rows_are_theirs(tmp_path: Path) -> None:
    write_sheet(tmp_path, [], "ann", PROMPT)
    assert '"ann"' in (tmp_path / "instructions.txt").read_text(encoding="utf-8")


def test_the_page_shows_what_waits_and_nothing_else(tmp_path: Path) -> None:
    pending = waiting(tmp_path, ("cat", 1), ("dog", 3))
    write_sheet(tmp_path, pending, None, PROMPT)
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert page.images == [row["image"] for row in rows_of(tmp_path / "sheet.csv")]
    assert "cat, t = 1" in page.text
    assert "dog, t = 3" in page.text
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8").replace(",,", ",A cat.,", 1), encoding="utf-8")
    write_sheet(tmp_path, pending, None, PROMPT)
    assert len(Page((tmp_path / "index.html").read_text(encoding="utf-8")).images) == 1


def test_the_page_runs_nothing(tmp_path: Path) -> None:
    prompt = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"
    write_sheet(tmp_path, waiting(tmp_path, ("cat", 1)), None, prompt)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags <= {"html", "meta", "title", "style", "h1", "p", "pre", "figure", "figcaption", "b", "img"}
    assert len(page.images) == 1
    assert html.escape(prompt) in text

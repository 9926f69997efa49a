"""A sheet goes through spreadsheets and people's hands and back; nothing that a person wrote is lost or altered."""

import contextlib
import csv
import io
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.components.models.human import LONGEST_TEXT, Sheet, read_sheet, sheet_text
from driftledger.core.errors import ConfigError
from driftledger.core.sheets import cleaned, from_cell
from driftledger.core.types import Subject

HEAD = "sample,t,text,annotator\n"
anything = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("'=+-@\t\r\n,;\"\x00\x1b\u202e\ufeff 0e.aA")
)


def one_row(text: str, separator: str = ",") -> str:
    """A sheet with a person's ``text`` in it, as a spreadsheet that knows nothing of our marks saves it."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerows(
        [["sample", "t", "text", "annotator"], ["x", "1", text, "ann"]]
    )
    return out.getvalue()


def parsed(text: str) -> Sheet:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sheet.csv"
        file.write_bytes(text.encode())
        return read_sheet(file)


@given(anything)
def test_any_text_of_a_person_survives_reading_and_rewriting(text: str) -> None:
    read = parsed(one_row(text))
    [entry] = read.entries
    assert entry.text == cleaned(from_cell(text)).strip()
    again = parsed(sheet_text(read))
    assert again == read


@given(st.lists(st.lists(anything, min_size=3, max_size=3), max_size=5), st.sampled_from(",;\t"))
def test_any_sheet_survives_writing_and_reading(cells: list[list[str]], separator: str) -> None:
    rows = [["s", "1", *map(cleaned, row)] for row in cells]
    sheet = Sheet(["sample", "t", "text", "annotator", "my notes"], rows, [], separator)
    assert parsed(sheet_text(sheet))[:2] == sheet[:2]


@given(anything)
def test_any_file_is_a_sheet_or_a_sentence(text: str) -> None:
    for content in (text, HEAD + text):
        with contextlib.suppress(ConfigError):
            assert len(parsed(content).head) >= 4


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_sheets_are_read_as_spreadsheets_save_them(
    tmp_path: Path, separator: str, line_end: str, encoding: str
) -> None:
    text = 'A "größe", a; b,\tc\nand a second line'
    quoted = '"' + text.replace('"', '""').replace("\n", line_end) + '"'
    lines = [['"annotator"', "Role", " Text ", "SAMPLE", "t"], ["ann", "", quoted, "x", "1"], ["", "", "", "", ""], []]
    file = tmp_path / "sheet.csv"
    file.write_bytes(line_end.join(separator.join(line) for line in lines).encode(encoding))
    [entry] = read_sheet(file).entries
    assert entry == (Subject("x", 1), "", "ann", text)


def test_a_header_decides_whatever_the_texts_are_full_of() -> None:
    text = "a;b;c;d;e;f;g\t\t\t\t" * 50
    assert parsed(one_row(text)).entries[0].text == text.strip()


def test_empty_cells_after_the_last_column_are_nothing() -> None:
    [entry] = parsed("sample,t,text,annotator,,\nx,1,text,ann,,,,\n").entries
    assert entry.text == "text"
    [short] = parsed("sample,t,text,annotator\nx,1,text\n").entries
    assert short.annotator == ""


WRONG = {
    "no column": ("", "the first line lacks 'sample'; it must name sample, t, text, annotator once each"),
    "a column too few": ("sample,t,annotator\n", "lacks 'text'"),
    "a column twice": ("sample,t,text,annotator,Text\n", "names 'text' 2 times"),
    "other separators": ("sample|t|text|annotator\n", "lacks 'sample'"),
    "a separator in a text": (HEAD + "x,1,a cat, a dog,ann\n", "line 2 has 5 cells and the first line 4; put a text"),
    "a line end in a text": (HEAD + "x,1,a cat\nand a dog,ann\n", "line 3: t is 'ann'; it must be a whole number"),
    "an open quote": (HEAD + 'x,1,one,\ny,1,"two,ann\nz,1,three,\n', "cannot be read as CSV from line 3 on"),
    "a quote within": (HEAD + 'x,1,"STOP" it says,ann\n', "cannot be read as CSV from line 2 on"),
    "no sample": (HEAD + "x,1,one,\n,1,two,\n", "line 3: the row names no sample"),
    "t of words": (HEAD + "x,one,text,\n", "line 2: t is 'one'; it must be a whole number from 1 on"),
    "t of zero": (HEAD + "x,0,text,\n", "t is '0'"),
    "t below": (HEAD + "x,-1,text,\n", "t is '-1'"),
    "t in parts": (HEAD + "x,1.5,text,\n", "t is '1.5'"),
    "t of another script": (HEAD + "x,²,text,\n", "t is '²'"),
    "t beyond": (HEAD + f"x,{'9' * 5000},text,\n", "t is '999"),
    "too long": (HEAD + f"x,1,{'a' * (LONGEST_TEXT + 1)},\n", "the text has 100,001 characters; shorten it to 100,000"),
    "much too long": (HEAD + f"x,1,{'a' * 200_000},\n", "cannot be read as CSV from line 2 on"),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_understood_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "sheet.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(sentence)) as caught:
        read_sheet(file)
    assert str(caught.value).startswith(f"human: {file}")
    assert len(str(caught.value).splitlines()) == 1


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    with pytest.raises(ConfigError, match="line 5: t is 'two'"):
        parsed(HEAD + 'x,1,"three\nlines\nlong",\ny,two,text,\n')


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_one_sentence(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "sheet.csv").write_text(HEAD + "x,1,größe,\n", encoding=encoding)
    with pytest.raises(ConfigError, match=r"is not UTF-8; save it as 'CSV UTF-8'$"):
        read_sheet(tmp_path / "sheet.csv")


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_sheet(tmp_path / "sheet.csv")

"""Each format as its tool writes it: told by its content, read as it is, refused in one sentence if damaged."""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from driftledger.components.models.predictions import rows as limits
from driftledger.components.models.predictions import vlmevalkit
from driftledger.components.models.predictions.formats import FORMATS, told_by
from driftledger.components.models.predictions.rows import PredictionRow, id_of
from driftledger.core.errors import ConfigError, MissingExtraError
from tests.conftest import REPOSITORY

CASES = REPOSITORY / "tests" / "cases" / "predictions"
FILES = {
    "mmvet.json": "mmvet",
    "vlmevalkit.tsv": "vlmevalkit",
    "vlmevalkit.json": "vlmevalkit",
    "lmms_eval.jsonl": "lmms_eval",
    "lm_eval.jsonl": "lm_eval",
}


def parsed(data: bytes, answer: str | None = None, name: str | None = None) -> list[PredictionRow]:
    return [*FORMATS[name or told_by(data, "f")].read(data, "f", answer)]  # type: ignore[index]


def read(file: str, answer: str | None = None) -> list[PredictionRow]:
    return parsed((CASES / file).read_bytes(), answer)


def said(found: Sequence[PredictionRow]) -> list[str]:
    return [row.text or f"({row.trouble})" for row in found]


@pytest.mark.parametrize(("file", "name"), FILES.items())
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_content_tells_the_format(file: str, name: str, mark: bytes) -> None:
    data = mark + (CASES / file).read_bytes()
    assert told_by(data, "f") == name
    assert said(parsed(data)) == said(read(file))


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"index,prediction\n0,A\n", b"hello", b"\x89PNG", b"<html>"])
def test_what_looks_like_no_format_is_refused_with_those_there_are(data: bytes) -> None:
    with pytest.raises(ConfigError, match=r"^f looks like no format that is known; set format to one of mmvet, vlmeva"):
        told_by(data, "f")


def test_mm_vets_results_are_ids_and_answers_to_the_letter() -> None:
    found = read("mmvet.json")
    assert [id_of(row, FORMATS["mmvet"].id) for row in found] == ["v1_0", "v1_1", "v1_2"]
    assert said(found)[1:] == [
        "In the image, **d** is ½ of the radius.\nSo it is 1.",
        "=SUM(A1) | </s> \x1b[31mred\x1b[0m",
    ]


def test_a_key_that_is_there_twice_is_two_predictions() -> None:
    assert said(parsed(b'{"a": "one", "a": "other"}')) == ["one", "other"]


@pytest.mark.parametrize(
    ("value", "trouble"),
    [
        (None, "entry 1 holds no prediction"),
        ("", "the prediction of entry 1 is empty"),
        (" \n\t", "the prediction of entry 1 is empty"),
        (7, "entry 1 holds a int where a text should be"),
        (["A"], "entry 1 holds a list where a text should be"),
        ({"b": "c"}, "entry 1 holds a dict where a text should be"),
        ("x" * 100_001, "the prediction of entry 1 has 100,001 characters, more than 100,000"),
    ],
)
def test_what_is_no_text_is_no_answer(value: object, trouble: str) -> None:
    [row] = parsed(json.dumps({"a": value}).encode(), name="mmvet")
    assert (row.text, row.trouble) == ("", trouble)


@pytest.mark.parametrize("data", [b'{"a": "b"', b"{}x", b'{"a": ' + b"[" * 100_000, b'["a"]', b'"a"'])
def test_damaged_json_is_one_sentence(data: bytes) -> None:
    with pytest.raises(ConfigError, match=r"^f (cannot be read as JSON|holds no JSON object)"):
        parsed(data, name="mmvet")


@pytest.mark.parametrize("name", FORMATS)
def test_another_encoding_is_one_sentence(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^f is not UTF-8 \(byte 8\); save it as UTF-8$"):
        parsed('{"a": "é"}'.encode("latin-1"), name=name)


def test_vlmevalkits_tables_have_the_question_and_the_options_beside_the_prediction() -> None:
    first, second, failed, empty = read("vlmevalkit.tsv")
    assert [id_of(row, "index") for row in (first, second)] == ["0", "1"]
    assert (first.text, first.question, first.options) == ("A. red", "What colour is the circle?", ("red", "blue"))
    assert (second.text, second.options) == ('There are\tthree,\n"three".', ("one", "two", "three"))
    assert second.place == "line 3"
    assert failed.place == "line 5"  # the cell before it holds a line end
    assert failed.trouble == "the call of line 5 failed there: 'Failed to obtain answer via API.'"
    assert empty.trouble == "line 6 holds no prediction"


def test_vlmevalkits_records_hold_numbers() -> None:
    assert said(read("vlmevalkit.json")) == [
        *("Red.", "3", "(record 3 holds no prediction)", "2.5", "20", "(record 6 holds no prediction)")
    ]


def test_another_column_may_be_the_prediction() -> None:
    assert said(read("vlmevalkit.tsv", "category")) == ["colour", "count", "ocr", "kind"]
    with pytest.raises(
        ConfigError, match=r"^f has no column 'thinking'; set answer to one of its columns: 'index', 'qu"
    ):
        read("vlmevalkit.tsv", "thinking")
    with pytest.raises(ConfigError, match="has no columns, as MM-Vet's results have none; remove answer"):
        read("mmvet.json", "answer")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("index\tindex\tprediction\n", "f names the column 'index' twice; rename one"),
        ("index\tprediction\n0\ta\tb\n", "f, line 2 has 3 cells and the first row 2; mend that row"),
        ('index\tprediction\n0\t"a" b\n', "f cannot be read as tab-separated values from line 2 on"),
        ('index\tprediction\n0\t"a\n', "f cannot be read as tab-separated values from line 2 on"),
    ],
)
def test_a_damaged_table_is_one_sentence(table: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        parsed(table.encode())


def test_logged_samples_give_what_the_model_said() -> None:
    assert said(read("lmms_eval.jsonl")) == ["x = -1 or x = -5", "<think>Let me see.</think>1.25"]
    assert said(read("lmms_eval.jsonl", "filtered_resps")) == ["x = -1 or x = -5", "1.25"]
    assert [row.question for row in read("lmms_eval.jsonl")] == ["What is x in the equation?", "What is d?"]
    assert [id_of(row, "doc.question_id") for row in read("lmms_eval.jsonl")] == ["v1_0", "v1_1"]


def test_a_line_per_filter_says_the_same() -> None:
    strict, flexible, likelihoods, several = read("lm_eval.jsonl")
    assert strict.text == flexible.text == "It is 7."
    assert likelihoods.trouble == "line 3 holds likelihoods of given answers and no text"
    assert several.trouble == "line 4 holds 2 different responses to one question"
    assert said(read("lm_eval.jsonl", "filtered_resps"))[:2] == ["7", "It is 7"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("[1]", "f, line 1 holds no JSON object"),
        ("{", "f, line 1 cannot be read as JSON"),
        ('{"doc_id": 1}', "f, line 1 has no 'filtered_resps'; set answer to what holds the response: 'doc_id'"),
    ],
)
def test_a_damaged_sample_is_one_sentence(line: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        parsed(line.encode(), name="lm_eval")


def test_a_sample_without_a_response_is_no_answer() -> None:
    assert said(parsed(b'{"doc_id": 1, "resps": []}')) == ["(line 1 holds no prediction)"]


# ------------------------------------------------------------------------------------------------------ Excel

PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
}
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
)


def sheet(*table: Sequence[object], extent: str = "") -> bytes:
    """An Excel sheet, which may say how far it extends; texts that begin with ``=`` are formulas, as most programs that
    write sheets take them."""

    def cell(place: str, value: object) -> str:
        if isinstance(value, int):
            return f'<c r="{place}"><v>{value}</v></c>'
        text = escape(str(value))
        if text.startswith("="):
            return f'<c r="{place}"><f>{text[1:]}</f><v>0</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'

    rows = [
        f'<row r="{y}">{"".join(cell(f"{chr(64 + x)}{y}", v) for x, v in enumerate(row, 1) if v is not None)}</row>'
        for y, row in enumerate(table, 1)
    ]
    text = SHEET % "".join(rows)
    if extent:
        text = text.replace("<sheetData>", f'<dimension ref="{extent}"/><sheetData>')
    return packed({**PARTS, "xl/worksheets/sheet1.xml": text})


def packed(parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return out.getvalue()


def test_an_excel_sheet_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"'openpyxl' is not installed; run: pip install 'driftledger\[xlsx\]'"):
        parsed(sheet(["index", "prediction"], [0, "A"]))


def test_an_excel_sheet_is_read_and_no_formula_of_it() -> None:
    pytest.importorskip("openpyxl")
    found = parsed(
        sheet(
            ["index", "question", "A", "B", "prediction"],
            [0, "What is it?", "a cat", "a dog", "B. a dog"],
            [],
            [1, "What is 5 + 6?", None, None, "=11"],
            [2, "How many?", None, None, 11],
            [3, "And?", None, None, None],
            [4, "Said?", None, None, " <b>&\ufeff‮ "],
        )
    )
    assert [id_of(row, "index") for row in found] == ["0", "1", "2", "3", "4"]
    assert said(found) == [
        "B. a dog",
        "(cell E4 holds a formula and not the text of a prediction)",
        "11",
        "(row 6 holds no prediction)",
        " <b>&\ufeff‮ ",
    ]
    assert (found[0].question, found[0].options) == ("What is it?", ("a cat", "a dog"))


def test_every_row_is_read_whatever_a_sheet_says_of_its_extent() -> None:
    pytest.importorskip("openpyxl")
    assert said(parsed(sheet(["index", "prediction"], [0, "A"], [1, "B"], extent="A1:A2"))) == ["A", "B"]


FAR = packed(
    {**PARTS, "xl/worksheets/sheet1.xml": SHEET % '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>'}
)


def test_a_row_beyond_every_sheet_is_not_waited_for() -> None:
    pytest.importorskip("openpyxl")
    with pytest.raises(
        ConfigError, match=r"^f has more than the 1,048,576 rows of an Excel sheet|cannot be read as an Ex"
    ):
        parsed(FAR)


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + b"x" * 100, packed({"a": "b"}), packed(PARTS)])
def test_a_damaged_excel_sheet_is_one_sentence(data: bytes) -> None:
    pytest.importorskip("openpyxl")
    with pytest.raises(ConfigError, match=r"^f cannot be read as an Excel sheet \("):
        parsed(data)


def test_an_excel_sheet_that_unpacks_to_very_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(vlmevalkit, "LARGEST_FILE", 1_000_000)
    bomb = packed({**PARTS, "xl/worksheets/sheet1.xml": SHEET % (" " * 9_000_000)})
    assert len(bomb) < 50_000
    with pytest.raises(ConfigError, match=r"^f unpacks to 8 MB, more than the 0 MB that are read; keep the columns"):
        parsed(bomb)


def test_the_limits_are_those_of_the_documentation() -> None:
    assert (limits.LARGEST_FILE, limits.LONGEST_TEXT) == (512 * 2**20, 100_000)


def test_every_format_of_a_file_has_its_case(tmp_path: Path) -> None:
    assert set(FILES.values()) == set(FORMATS)

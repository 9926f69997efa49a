import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from driftledger.benchmarks.registry import question_rules
from driftledger.core.errors import ConfigError, DataError, DriftledgerError
from driftledger.core.files import read_json
from driftledger.core.strict import explain
from driftledger.data.question_sets import table as table_module
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions
from driftledger.data.question_sets.table import QuestionTable
from tests.data.question_sets.sources import BEYOND, MME, REFUSAL, RULES, SAP, VET, build_set, images, jsonl, png

Row = dict[str, Any]


def csv_text(rows: list[Row], separator: str = ",") -> str:
    """As a spreadsheet writes it; lists as JSON, nothing for None."""
    text = io.StringIO()
    out = csv.writer(text, delimiter=separator)
    out.writerow(rows[0])
    out.writerows([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in rows)
    return text.getvalue()


WRITERS: dict[str, Callable[[list[Row], Path], object]] = {
    "list.json": lambda rows, path: path.write_text(json.dumps(rows)),
    "keyed.json": lambda rows, path: path.write_text(json.dumps({str(number): row for number, row in enumerate(rows)})),
    "lines.jsonl": lambda rows, path: path.write_text("\n".join(json.dumps(row) for row in rows)),
    "lines.ndjson": lambda rows, path: path.write_bytes("\r\n\n".join(json.dumps(row) for row in rows).encode()),
    "marked.json": lambda rows, path: path.write_bytes(b"\xef\xbb\xbf" + json.dumps(rows).encode()),
    "comma.csv": lambda rows, path: path.write_text(csv_text(rows)),
    "semicolon.csv": lambda rows, path: path.write_bytes(b"\xef\xbb\xbf" + csv_text(rows, ";").encode()),
    "tabs.tsv": lambda rows, path: path.write_text(csv_text(rows, "\t")),
    "rows.parquet": lambda rows, path: pd.DataFrame(rows).to_parquet(path),
    "LOUD.JSON": lambda rows, path: path.write_text(json.dumps(rows)),
}


def table(path: Path | dict[str, Path], protocol: str = "mm_sap", **more: Any) -> QuestionTable:
    return QuestionTable.model_validate({"protocol": protocol, "path": path} | more)


def read(path: Path, protocol: str = "mm_sap", **more: Any) -> list[SourceQuestion]:
    return list(table(path, protocol, **more).questions(RULES[protocol]))


def built(path: Path, tmp_path: Path, protocol: str = "mm_sap", **more: Any) -> list[QuestionEntry]:
    build_set("mine", table(path, protocol, **more), tmp_path / "built")
    return read_questions(tmp_path / "built")


def refused(
    path: Path | dict[str, Path], kind: type[DriftledgerError] = DataError, protocol: str = "mm_sap", **more: Any
) -> str:
    target = (path if isinstance(path, Path) else path["basic"]).parent / "refused" / "mine"
    with pytest.raises(kind) as caught:
        build_set("mine", table(path, protocol, **more), target)
    assert not target.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_questions(name: str, tmp_path: Path) -> None:
    rows = [SAP, BEYOND, SAP | {"subset": "know", "question": 'Which "brand",\nis it; ü 猫?'}]
    images(tmp_path)
    WRITERS[name](rows, tmp_path / name)
    entries = built(tmp_path / name, tmp_path)
    assert [entry.id for entry in entries] == ["0", "1", "2"]
    assert [entry.options for entry in entries] == [["red", "blue", REFUSAL, "green", "white"]] * 3
    assert [entry.answer for entry in entries] == [1, None, 1]
    assert [entry.subset for entry in entries] == ["basic", "beyond", "know"]
    assert entries[2].question == 'Which "brand",\nis it; ü 猫?'
    assert entries[0].source == {"row": "0", "file": "a.png"}
    card = read_json(tmp_path / "built" / "question_set.json", QuestionSetCard)
    assert card.source == {"kind": "table", "file": name}
    assert "path" not in card.settings


cells = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), min_size=1, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(texts=st.lists(cells, min_size=1, max_size=4), separator=st.sampled_from([",", ";", "\t"]))
def test_csv_is_read_as_pandas_reads_it(texts: list[str], separator: str, tmp_path: Path) -> None:
    file = images(tmp_path) / "q.csv"
    file.write_text(csv_text([VET | {"question": text} for text in texts], separator), encoding="utf-8", newline="")
    frame = pd.read_csv(file, sep=separator, keep_default_na=False, dtype=str)
    ours = [cells["question"] for _, cells in table_module.read_table(file).rows([])]
    assert ours == frame["question"].tolist() == texts


def test_columns_of_other_names(tmp_path: Path) -> None:
    row = {"img": "a.png", "Q": "x?", "A": "red", "B": "blue", "C": REFUSAL, "D": "green", "E": "white", "gold": "b"}
    file = jsonl(tmp_path, row | {"no": REFUSAL, "part": "know", "uid": 7, "unused": {"a": [1]}})
    names = {"question": "Q", "image": "img", "options": list("ABCDE"), "answer": "gold", "answer_is": "letter"}
    [entry] = built(file, tmp_path, columns=names | {"refusal": "no", "subset": "part", "id": "uid"})
    assert (entry.id, entry.answer, entry.refusal, entry.subset, entry.subtask) == ("7", 1, 2, "know", None)
    assert entry.options == ["red", "blue", REFUSAL, "green", "white"]


@pytest.mark.parametrize(
    ("form", "answer", "index"),
    [
        *(("text", "white", 4), ("text", " WHITE\n", 4)),
        *(("letter", "E", 4), ("letter", "e", 4), ("letter", " A ", 0)),
        *(("index", 4, 4), ("index", "4", 4), ("index", 4.0, 4), ("index", 0, 0)),
    ],
)
def test_an_answer_is_a_text_a_letter_or_an_index(form: str, answer: Any, index: int, tmp_path: Path) -> None:
    file = jsonl(tmp_path, SAP | {"answer": answer})
    assert built(file, tmp_path, columns={"answer_is": form})[0].answer == index


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        *(("letter", "F"), ("letter", "AB"), ("letter", "white"), ("letter", "4"), ("letter", "Ä"), ("letter", "(A)")),
        *(("index", 5), ("index", -1), ("index", "E"), ("index", 1.5), ("index", "١"), ("index", True)),
        *(("index", "9" * 5000), ("letter", "A\0")),
    ],
)
def test_an_answer_that_points_at_no_option(form: str, answer: Any, tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, SAP, SAP | {"answer": answer}), columns={"answer_is": form})
    assert "questions.jsonl has the answer " in said
    assert f"which is no {form}" in said
    assert "of its 5 options; correct it, or set columns.answer_is" in said
    assert len(said) < 400


def test_a_letter_is_never_taken_for_a_text_nor_a_text_for_a_letter(tmp_path: Path) -> None:
    """Options may be letters that none is shown with."""
    row = SAP | {"options": ["Z", "Y", REFUSAL, "X", "W"], "answer": "W"}
    assert built(jsonl(tmp_path, row), tmp_path)[0].answer == 4
    row["answer"] = "A"
    assert "has the answer 'A', which is not among its options" in refused(jsonl(tmp_path, row))
    assert built(jsonl(tmp_path, row), tmp_path, columns={"answer_is": "letter"})[0].answer == 0
    row["options"] = ["E", "D", REFUSAL, "B", "A"]
    assert "has the option 'E', a letter that one of its 5 options is shown with" in refused(jsonl(tmp_path, row))


def test_a_refusal_may_be_a_letter_too(tmp_path: Path) -> None:
    file = jsonl(tmp_path, SAP | {"refusal": "C", "answer": 0})
    [entry] = built(file, tmp_path, columns={"refusal_is": "letter", "answer_is": "index"})
    assert (entry.answer, entry.refusal) == (0, 2)


@pytest.mark.parametrize(
    "options", [None, "red, blue", '{"A": "red"}', "[", "[" * 100_000, "3", 3, {"A": "red"}, [["red"], "b"], [{"a": 1}]]
)
def test_options_that_are_no_list_of_texts(options: Any, tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, SAP | {"options": options}))
    assert said.startswith("line 1 of questions.jsonl in options holds ")
    assert len(said) < 300


@pytest.mark.parametrize("field", ["question", "answer", "refusal", "subset", "subtask"])
@pytest.mark.parametrize("value", [["a"], {"a": 1}])
def test_a_list_or_a_mapping_where_a_text_belongs(field: str, value: Any, tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, SAP, SAP | {field: value}))
    assert said.startswith(f"line 2 of questions.jsonl in {field} holds a {type(value).__name__} where a text belongs")


def test_numbers_are_texts(tmp_path: Path) -> None:
    options = [1, 2.5, REFUSAL, True, 10**30]
    [entry] = built(jsonl(tmp_path, SAP | {"options": options, "answer": 2.5, "question": 12}), tmp_path)
    assert entry.options == ["1", "2.5", REFUSAL, "True", "1" + "0" * 30]
    assert (entry.answer, entry.question) == (1, "12")


@pytest.mark.parametrize(("separator", "cell"), [(",", "ocr, math"), (";", "ocr;math"), (" | ", "ocr | math")])
def test_capabilities_as_one_text(separator: str, cell: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path, VET | {"capabilities": cell})
    [entry] = built(file, tmp_path, "mm_vet", columns={"capability_separator": separator})
    assert entry.capabilities == ["ocr", "math"]


def test_mm_vet_as_its_authors_publish_it(tmp_path: Path) -> None:
    """``mm-vet.json`` of mm-vet.zip: an object of objects, images in a folder of their own."""
    images(tmp_path / "images", "v1_0.png", "v1_1.jpg")
    published = {
        "v1_0": {
            "imagename": "v1_0.png",
            "question": "What is x in the equation?",
            "answer": "-1<AND>-5",
            "imagesource": "https://example.org/x",
            "capability": ["ocr", "math"],
        },
        "v1_1": {"imagename": "v1_1.jpg", "question": "d?", "answer": "1.25<OR>5/4", "capability": ["rec"]},
    }
    (tmp_path / "mm-vet.json").write_text(json.dumps(published))
    columns = {"image": "imagename", "capabilities": "capability"}
    entries = built(tmp_path / "mm-vet.json", tmp_path, "mm_vet", images=tmp_path / "images", columns=columns)
    assert [(entry.id, entry.answer, entry.capabilities) for entry in entries] == [
        ("v1_0", "-1<AND>-5", ["ocr", "math"]),
        ("v1_1", "1.25<OR>5/4", ["rec"]),
    ]


def test_mme_tells_images_apart_by_their_path(tmp_path: Path) -> None:
    """Two files may look alike, and are two pairs all the same."""
    for name in ("count/1.png", "color/1.png"):
        images(tmp_path, name)
    rows = [row | {"image": f"{kind}/1.png", "category": kind} for kind in ("count", "color") for row in MME]
    entries = built(jsonl(tmp_path, *rows), tmp_path, "mme")
    assert [entry.image_id for entry in entries] == ["count/1.png", "count/1.png", "color/1.png", "color/1.png"]
    assert {entry.image for entry in entries} == {"images/0.png"}


def test_images_inside_a_parquet_file(tmp_path: Path) -> None:
    cells = [png(1), {"bytes": png(2), "path": "/home/me/x.png"}]
    for number, cell in enumerate(cells):
        pd.DataFrame([row | {"image": cell} for row in MME]).to_parquet(tmp_path / f"{number}.parquet")
    plain, both = (built(tmp_path / f"{number}.parquet", tmp_path, "mme") for number in range(2))
    assert [entry.source for entry in plain] == [{"row": "0"}, {"row": "1"}]
    assert both[0].source == {"row": "0", "file": "x.png"}
    assert plain[0].image_id == plain[1].image_id != both[0].image_id
    assert plain[0].image_sha256 != both[0].image_sha256


def test_equal_images_of_two_pairs_need_an_image_id(tmp_path: Path) -> None:
    rows = [row | {"image": png(1), "question_id": f"count/{pair}"} for pair in range(2) for row in MME]
    pd.DataFrame(rows).to_parquet(tmp_path / "mme.parquet")
    assert "4 questions, where MME asks 2" in refused(tmp_path / "mme.parquet", protocol="mme")
    entries = built(tmp_path / "mme.parquet", tmp_path, "mme", columns={"image_id": "question_id"})
    assert [entry.image_id for entry in entries] == ["count/0", "count/0", "count/1", "count/1"]
    assert [entry.id for entry in entries] == ["0", "1", "2", "3"]


def test_a_blank_image_id_is_named(tmp_path: Path) -> None:
    file = jsonl(tmp_path, MME[0] | {"image_id": "x"}, MME[1] | {"image_id": " "})
    assert refused(file, protocol="mme").startswith("line 2 of questions.jsonl has no image_id; ")
    assert len(built(file, tmp_path, "mme", columns={"image_id": None})) == 2


@pytest.mark.parametrize("missing", ["", " ", None, {}, {"path": None, "bytes": None}, {"path": ""}])
def test_a_row_without_an_image(missing: Any, tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, VET, VET | {"image": missing}), protocol="mm_vet")
    assert "line 2 of questions.jsonl has no image (" in said


@pytest.mark.parametrize("image", ["b.png", "sub/a.png", "A.PNG ", "a.png/a.png", "a\0.png", "x" * 5000, "sub", 5])
def test_an_image_that_is_not_there(image: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    said = refused(jsonl(tmp_path, VET | {"image": image}), protocol="mm_vet")
    assert f"line 1 of questions.jsonl names the image {str(image)!r:.200}, which " in said
    assert said.endswith(" (correct it, or set images)")


@pytest.mark.parametrize(
    "image",
    ["../private.png", "sub/../../private.png", "./../private.png", "/etc/passwd", "link.png", "out/private.png"],
)
def test_no_file_outside_of_the_images_folder_is_ever_read(image: str, tmp_path: Path) -> None:
    (tmp_path / "private.png").write_bytes(png(200))
    inside = tmp_path / "inside"
    file = jsonl(inside, VET | {"image": image})
    (inside / "sub").mkdir()
    (inside / "link.png").symlink_to(tmp_path / "private.png")
    (inside / "out").symlink_to(tmp_path, target_is_directory=True)
    said = refused(file, protocol="mm_vet")
    assert f"names the image {image!r}, which lies outside of the folder of images" in said
    digest = table(file, "mm_vet").source_digest()
    (tmp_path / "private.png").write_bytes(png(201))
    assert table(file, "mm_vet").source_digest() == digest


def test_links_inside_the_folder_and_a_linked_folder_are_fine(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "real", VET | {"image": "link.png"})
    (tmp_path / "real" / "link.png").symlink_to("a.png")
    (tmp_path / "again").symlink_to("real", target_is_directory=True)
    assert len(built(file, tmp_path, "mm_vet", images=tmp_path / "again")) == 1
    assert len(built(tmp_path / "again" / "questions.jsonl", tmp_path, "mm_vet")) == 1


def test_a_loop_and_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    file = jsonl(tmp_path, VET | {"image": "loop.png"}, VET | {"image": "pipe.png"})
    (tmp_path / "loop.png").symlink_to("loop.png")
    os.mkfifo(tmp_path / "pipe.png")
    said = refused(file, protocol="mm_vet")
    assert "'loop.png', which " in said
    assert "'pipe.png', which is missing there" in said


@pytest.mark.parametrize("field", ["question", "image", "options", "refusal", "subset"])
def test_a_column_that_is_needed_and_missing(field: str, tmp_path: Path) -> None:
    row = {f"{key}s" if key == field else key: value for key, value in SAP.items()}
    said = refused(jsonl(tmp_path, row), ConfigError)
    assert f"questions.jsonl: columns.{field}: column {field!r} is unknown; did you mean '{field}s'? valid: " in said


@pytest.mark.parametrize("field", ["answer", "subtask", "id", "image_id"])
def test_a_column_that_is_named_and_missing(field: str, tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, SAP), ConfigError, columns={field: "queston"})
    assert f"columns.{field}: column 'queston' is unknown; did you mean 'question'?" in said


def test_one_of_several_option_columns_is_missing(tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, SAP | {"A": "x"}), ConfigError, columns={"options": ["A", "B"]})
    assert "columns.options: column 'B' is unknown" in said


def test_thousands_of_columns_do_not_make_a_thousand_lines(tmp_path: Path) -> None:
    said = refused(jsonl(tmp_path, {f"column {number}": 1 for number in range(5000)}), ConfigError)
    assert len(said) <= 1000


@pytest.mark.parametrize(
    ("protocol", "columns", "said"),
    [
        ("mm_sap", {"anwser": "a"}, "columns: setting 'anwser' is unknown; did you mean 'answer'?"),
        ("mm_sap", {"answer_is": "guess"}, "columns.answer_is: Input should be 'text', 'letter' or 'index'"),
        ("mm_sap", {"question": ""}, "columns.question: String should have at least 1 character"),
        ("mm_sap", {"options": []}, "columns.options"),
        ("MM-SAP", {}, "protocol: String should match pattern"),
    ],
)
def test_a_column_map_that_makes_no_sense(protocol: str, columns: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        table(Path("x.csv"), protocol, columns=columns)
    assert said in explain(caught.value, "params.yaml")


@pytest.mark.parametrize(
    ("protocol", "columns", "said"),
    [
        ("mme", {"refusal": "r"}, "columns.refusal has no meaning for mme; remove it"),
        ("mm_vet", {"answer_is": "index"}, "columns.answer_is has no meaning for mm_vet; remove it"),
        ("mm_sap", {"capability_separator": ";"}, "columns.capability_separator has no meaning for mm_sap; remove it"),
        ("mm_sip", {}, "protocol 'mm_sip' is unknown; did you mean 'mm_sap'? valid: mm_sap, mm_vet, mme"),
    ],
)
def test_a_column_map_that_means_nothing_for_its_benchmark(protocol: str, columns: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        question_rules(table(Path("x.csv"), protocol, columns=columns))
    assert str(caught.value) == said


def test_the_rules_are_those_of_the_benchmark_that_the_questions_are_for() -> None:
    for protocol, rules in RULES.items():
        assert type(question_rules(table(Path("x.csv"), protocol))) is type(rules)


@pytest.mark.parametrize("name", ["q.csv", "q.json", "q.jsonl", "q.parquet"])
def test_an_empty_table(name: str, tmp_path: Path) -> None:
    empty = {"q.csv": b"question,image\n", "q.json": b"[]", "q.jsonl": b"\n\n"}
    if name in empty:
        (tmp_path / name).write_bytes(empty[name])
    else:
        pd.DataFrame({"question": []}).to_parquet(tmp_path / name)
    assert refused(tmp_path / name) == "question set 'mine' has no questions; check where its settings point"
    table(tmp_path / name).source_digest()


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("q.json", b"", "is not JSON that can be read"),
        ("q.json", b"[", "is not JSON that can be read"),
        ("q.json", b"[" * 200_000, "is not JSON that can be read"),
        ("q.json", b"9" * 5000, "is not JSON that can be read"),
        ("q.json", b'{"a": {}, "a": {}}', "the key 'a' stands in it twice"),
        ("q.json", b'[{"question": 1, "question": 2}]', "the key 'question' stands in it twice"),
        ("q.json", b"3", "holds neither a list nor an object of questions"),
        ("q.json", b"[{}, 3]", "q.json: item 1 is not a JSON object"),
        ("q.json", b'{"a": 3}', "q.json: item 'a' is not a JSON object"),
        ("q.json", b'[{"question": "caf\xe9"}]', "q.json is not UTF-8 (byte 18)"),
        ("q.json", "[]".encode("utf-16"), "q.json is not UTF-8 (byte 0)"),
        ("q.jsonl", b'{"a": 1}\n\n{"a": \n', "q.jsonl: line 3 is not JSON that can be read"),
        ("q.jsonl", b'{"a": 1}\n[]\n', "q.jsonl: line 2 is not a JSON object"),
        ("q.csv", b"question,image\n1,2\n\n1,2,3\n", "q.csv: line 4 has 3 cells, where its head has 2"),
        ("q.csv", b'question,image\n"1\n2",3\n1\n', "q.csv: line 4 has 1 cells, where its head has 2"),
        ("q.csv", b"question,image,question\n1,2,3\n", "q.csv has the column 'question' twice"),
        ("q.csv", b'question,image\n"1"x,2\n', "q.csv is not CSV that can be read"),
        ("q.csv", b'question,image\n"1,2\n', "q.csv is not CSV that can be read"),
        ("q.csv", b"question,image\n" + b"x" * 200_000 + b",2\n", "q.csv is not CSV that can be read"),
        ("q.csv", b"question,image\ncaf\xe9,2\n", "q.csv is not UTF-8 (byte 18)"),
        ("q.parquet", b"", "is not parquet that can be read"),
        ("q.parquet", b"PAR1 and no more", "is not parquet that can be read"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(name: str, content: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    said = refused(tmp_path / name)
    assert what in said
    assert len(said) < 400
    with pytest.raises(DataError):
        table(tmp_path / name).source_digest()


def test_a_parquet_file_that_is_damaged_inside(tmp_path: Path) -> None:
    pd.DataFrame([VET | {"image": bytes(np.random.default_rng(1).bytes(5000))}] * 3).to_parquet(tmp_path / "q.parquet")
    data = bytearray((tmp_path / "q.parquet").read_bytes())
    data[8:2000] = bytes(1992)
    (tmp_path / "q.parquet").write_bytes(data)
    assert "q.parquet is not parquet that can be read (" in refused(tmp_path / "q.parquet", protocol="mm_vet")


@pytest.mark.parametrize("name", ["q.xlsx", "q", "q.json.gz", ".jsonl"])
def test_a_suffix_that_is_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert "is not one of .json, .jsonl, .ndjson, .csv, .tsv, .parquet; " in refused(tmp_path / name, ConfigError)


def test_a_text_file_of_unusual_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = jsonl(tmp_path, VET)
    monkeypatch.setattr(table_module, "LARGEST_TEXT", 20)
    assert "questions.jsonl is larger than 0 MiB; convert it to parquet or split it" in refused(file)


@pytest.mark.parametrize("path", ["nowhere.csv", ".", "~no_such_user_here/q.csv", "x" * 5000, "\0", "a.png/q.csv"])
def test_a_path_that_is_no_file(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images(tmp_path)
    monkeypatch.chdir(tmp_path)
    for ask in (lambda: read(Path(path)), table(Path(path)).source_digest, table(Path(path)).source):
        with pytest.raises(ConfigError, match=r"; set path to the file of questions$") as caught:
            ask()
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("folder", ["nowhere", "a.png", "\0"])
def test_an_images_folder_that_is_none(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = jsonl(tmp_path, VET)
    monkeypatch.chdir(tmp_path)
    assert "set images to the folder" in refused(file, ConfigError, protocol="mm_vet", images=folder)


@pytest.mark.parametrize(
    "text", ["a\0b", "\x1b[31mred\x1b[0m", "\u202eback", "\u2028\u0085line", "\ufeff", "tab\tnew\nline"]
)
def test_control_characters_in_texts_are_kept(text: str, tmp_path: Path) -> None:
    rows = [VET | {"question": f"x{text}", "answer": f"y{text}", "capabilities": "ocr"}]
    images(tmp_path)
    for name in ("lines.jsonl", "comma.csv", "rows.parquet"):
        WRITERS[name](rows, tmp_path / name)
        [entry] = built(tmp_path / name, tmp_path, "mm_vet")
        assert (entry.question, entry.answer) == (f"x{text}", f"y{text}")


@pytest.mark.parametrize("field", ["question", "answer", "refusal", "subset", "image"])
def test_half_a_surrogate_pair_is_no_text(field: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path, SAP | {field: "a\ud800"})
    assert refused(file) == (
        f"line 1 of questions.jsonl in {field} holds half of a surrogate pair, which is no character; correct it"
    )
    table(file).source_digest()


def test_a_whole_surrogate_pair_is_a_character(tmp_path: Path) -> None:
    (images(tmp_path) / "q.json").write_text(json.dumps([VET | {"question": "🚚"}]))
    assert "\\ud83d" in (tmp_path / "q.json").read_text()
    assert built(tmp_path / "q.json", tmp_path, "mm_vet")[0].question == "🚚"


def test_missing_cells_as_pandas_writes_them(tmp_path: Path) -> None:
    (images(tmp_path) / "q.json").write_text(json.dumps([SAP, BEYOND | {"answer": float("nan"), "subtask": ""}]))
    assert "NaN" in (tmp_path / "q.json").read_text()
    entries = built(tmp_path / "q.json", tmp_path)
    assert (entries[1].answer, entries[1].subtask) == (None, None)


def test_the_limit_takes_the_first_rows_and_renames_none(tmp_path: Path) -> None:
    file = jsonl(tmp_path, *[VET | {"answer": str(number)} for number in range(12)])
    every, few = built(file, tmp_path, "mm_vet"), built(file, tmp_path, "mm_vet", limit=3)
    assert [entry.id for entry in few] == ["00", "01", "02"]
    assert few == every[:3]
    assert len(built(file, tmp_path, "mm_vet", limit=1000)) == 12


def test_a_limit_that_parts_a_pair(tmp_path: Path) -> None:
    assert "only one question" in refused(jsonl(tmp_path, *MME), protocol="mme", limit=1)


def test_the_digest_follows_the_table_and_its_images_and_nothing_else(tmp_path: Path) -> None:
    file = jsonl(tmp_path, VET, VET | {"image": "sub/b.png"})
    images(tmp_path, "sub/b.png")
    digests = [table(file, "mm_vet").source_digest()]
    (tmp_path / "unused.png").write_bytes(png(7))
    os.utime(tmp_path / "a.png", (1, 1))
    assert table(file, "mm_vet").source_digest() == digests[0]
    for path, data in (("sub/b.png", png(9)), ("a.png", png(8))):
        (tmp_path / path).write_bytes(data)
        digests.append(table(file, "mm_vet").source_digest())
    (tmp_path / "a.png").unlink()
    digests.append(table(file, "mm_vet").source_digest())
    file.write_text(file.read_text().replace("-5", "-6"))
    digests.append(table(file, "mm_vet").source_digest())
    assert len(set(digests)) == len(digests)


def test_the_digest_is_the_same_wherever_the_table_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (jsonl(tmp_path / place, VET) for place in ("here", "there"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = [one, other, Path("here/questions.jsonl"), Path("~/there/questions.jsonl")]
    assert len({table(path, "mm_vet").source_digest() for path in paths}) == 1


def test_images_are_not_read_before_they_are_asked_for(tmp_path: Path) -> None:
    [question] = read(jsonl(tmp_path, VET), "mm_vet")
    (tmp_path / "a.png").unlink()
    with pytest.raises(DataError, match=r"names the image 'a\.png', which is missing there"):
        question.read()


# Several files, as MM-SAP is published: one of questions and one folder of images for each subset.

NOT_SAID = ("subset", "refusal")
COUNTS = {"basic": 2, "know": 1, "beyond": 1, "questions": 4, "images": 3}


def published(folder: Path) -> dict[str, Any]:
    """Three JSON files without subset and refusal, in which beyond has the refusal for its answer; and what reads them.

    Images of different folders have the same names.
    """
    row = {key: value for key, value in SAP.items() if key not in NOT_SAID}
    rows = {"basic": [row, row | {"image": "b.png"}], "know": [row], "beyond": [row | {"answer": REFUSAL}]}
    for number, (subset, some) in enumerate(rows.items()):
        (folder / subset).mkdir()
        for name in ("a.png", "b.png") if subset == "basic" else ("a.png",):
            (folder / subset / name).write_bytes(png(10 * min(number, 1) + (name == "b.png")))
        (folder / f"{subset}.json").write_text(json.dumps(some), encoding="utf-8")
    parts = {subset: folder / subset for subset in rows}
    return {"path": {subset: folder / f"{subset}.json" for subset in rows}, "images": parts, "refusal": REFUSAL}


def test_a_file_for_each_subset_gives_one_set(tmp_path: Path) -> None:
    build_set("mine", table(**published(tmp_path), expect=COUNTS), tmp_path / "built")
    entries = read_questions(tmp_path / "built")
    assert [(each.id, each.subset, each.refusal, each.answer) for each in entries] == [
        ("basic-0", "basic", 2, 1),
        ("basic-1", "basic", 2, 1),
        ("know-0", "know", 2, 1),
        ("beyond-0", "beyond", 2, None),
    ]
    assert len({each.image_id for each in entries}) == 4
    card = read_json(tmp_path / "built" / "question_set.json", QuestionSetCard)
    assert (card.subsets, card.source["file"]) == (
        {"basic": 2, "know": 1, "beyond": 1},
        "basic.json, know.json, beyond.json",
    )


def test_another_number_than_expected_fails_in_one_sentence(tmp_path: Path) -> None:
    parts = published(tmp_path)
    said = refused(**parts, expect=COUNTS | {"basic": 400, "know": 350})
    assert said == (
        "question set 'mine' should have 400 basic (has 2), 350 know (has 1), as its expect says; get the whole set, "
        "or mend expect"
    )


def test_every_subset_has_a_file_and_a_folder(tmp_path: Path) -> None:
    parts = published(tmp_path)
    del parts["images"]["know"]
    with pytest.raises(ValidationError, match="images and path do not both name 'know'"):
        table(**parts)


@pytest.mark.parametrize(("setting", "says"), [("path", "path names files by subset"), ("refusal", "refusal has no")])
def test_what_means_nothing_for_a_benchmark_is_refused(tmp_path: Path, setting: str, says: str) -> None:
    given = {"path": tmp_path / "q.json"} | {setting: published(tmp_path)[setting]}
    with pytest.raises(ConfigError, match=says):
        question_rules(table(**given, protocol="mme"))


def test_what_any_of_the_files_names_is_in_the_digest(tmp_path: Path) -> None:
    parts = published(tmp_path)
    before = table(**parts).source_digest()
    (tmp_path / "know" / "a.png").write_bytes(png(99))
    assert table(**parts).source_digest() != before


def test_a_group_names_categories_that_are_there(tmp_path: Path) -> None:
    path = jsonl(tmp_path, *MME)
    said = refused(path, protocol="mme", groups={"visual": ["existense"]})
    assert said.startswith("question set 'mine': group 'visual': category 'existense' is unknown; did you mean 'exist")

"""Question sets: which tables are read, the rules of each benchmark, and what is built."""

import base64
import csv
import datetime
import io
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image
from pydantic import ValidationError

from driftledger.benchmarks.registry import question_rules
from driftledger.core.canonical import canonical_json, pretty_json, sha256_bytes
from driftledger.core.errors import ConfigError, DataError, DriftledgerError
from driftledger.core.files import read_json
from driftledger.core.media import png_bytes
from driftledger.core.strict import explain
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import QuestionEntry, QuestionSetCard, read_questions
from driftledger.ledger.bundles.reading import OpenedFolder
from driftledger.ledger.links import data_lines
from tests.data.question_sets.sources import (
    BEYOND,
    MME,
    REFUSAL,
    SAP,
    VET,
    Given,
    build_set,
    check,
    images,
    jsonl,
    png,
    source,
)
from tests.support.cases import CASES, cases, each_case

Row = dict[str, Any]
RIGHT: dict[str, Row] = {"mm_sap": SAP, "mm_vet": VET, "mme": MME[0]}
RULE_CASES = json.loads(
    (CASES / "data/question_problems.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "case",
    RULE_CASES,
    ids=lambda case: f"{case['protocol']}: {case['says'] or 'right'}"[:60],
)
def test_each_rule(case):
    row = RIGHT[case["protocol"]] | case["change"]
    rows = (
        [row, MME[1] | {"category": row.get("category")}]
        if case["protocol"] == "mme"
        else [row]
    )
    questions = [source(each, number) for number, each in enumerate(rows)]
    if case["says"] is None:
        check("mine", case["protocol"], questions)
    else:
        with pytest.raises(DataError) as caught:
            check("mine", case["protocol"], questions)
        assert f"row 0 {case['says']}" in str(caught.value) or case["says"] in str(
            caught.value
        )
        assert "\n" not in str(caught.value)


def refused(protocol, *questions):
    with pytest.raises(DataError) as caught:
        check("mine", protocol, questions)
    assert str(caught.value).startswith("question set 'mine'")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pair(image, *categories):
    rows = [MME[0] | {"category": category} for category in categories]
    return [
        source(
            row,
            id=f"{image}-{n}",
            name=f"{image}/{n}",
            image_id=image,
            read=partial(png, len(image)),
        )
        for n, row in enumerate(rows)
    ]


def missing():
    raise DataError("row 1 names the image 'x.png', which is missing there")


WHOLE: dict[str, tuple[str, list[SourceQuestion], str]] = {
    "none": ("mme", [], "has no questions; check where its settings point"),
    "single": (
        "mme",
        [*pair("a", "x", "x"), *pair("bb", "x")],
        "bb/0 is about an image with only one question",
    ),
    "three": (
        "mme",
        pair("a", *"xxx"),
        "a/0 is about an image with 3 questions, where MME asks 2 (",
    ),
    "parted": (
        "mme",
        pair("a", "count", "OCR"),
        "a/0 and a/1 share an image but not the category",
    ),
    "same id": (
        "mm_vet",
        [source(VET, 3, id="Q"), source(VET, 7, id="q")],
        "row 7 has the id 'q' of row 3, capitals",
    ),
    "images": (
        "mm_vet",
        [source(VET), source(VET, 1, read=partial(png, 9))],
        "row 1 has the image_id 'a.png' of row 0",
    ),
    "no image": (
        "mm_sap",
        [source(SAP), source(SAP, 1, read=missing)],
        "row 1 names the image 'x.png'",
    ),
    "empty": (
        "mm_vet",
        [source(VET, 4, read=lambda: b"")],
        "row 4 is empty or has no image",
    ),
    "cut": (
        "mm_vet",
        [source(VET, 4, read=lambda: png()[:45])],
        "row 4 cannot be decoded",
    ),
    "long": (
        "mm_sap",
        [source(SAP | {"answer": "x" * 100_000})],
        "has the answer 'xxx",
    ),
    "unseen": (
        "mm_sap",
        [source(SAP | {"answer": "\x1b[31mred\x00"})],
        r"'\x1b[31mred\x00'",
    ),
    **{
        repr(name): (
            "mm_vet",
            [source(VET, id=name)],
            f"row 0 has the id {name!r}, which is not a safe file name",
        )
        for name in (
            "../x",
            "/etc/passwd",
            "",
            "..",
            ".hidden",
            "a b",
            "a\0b",
            "é",
            "a" * 101,
        )
    },
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_set_is_refused_whole(case):
    protocol, questions, says = WHOLE[case]
    said = refused(protocol, *questions)
    assert says in said
    assert len(said) < 500


def test_the_first_five_problems_are_named():
    wrong = [source(SAP | {"answer": "purple"}, number) for number in range(9)]
    said = refused("mm_sap", source(SAP, 99), *wrong)
    assert (said.count("which is not among its options"), said[-12:]) == (
        5,
        "; and 4 more",
    )
    assert "row 99" not in said


def built(tmp_path, protocol, *questions):
    build_set("mine", Given(protocol=protocol, given=questions), tmp_path / "mine")
    return read_json(
        tmp_path / "mine" / "question_set.json", QuestionSetCard
    ), read_questions(tmp_path / "mine")


def test_first_keeps_questions_of_each_subset_and_whole_images_of_mme(tmp_path):
    categories = {"a": "x", "b": "x", "c": "x", "d": "x", "e": "y", "f": "y"}
    pairs = [
        question
        for image, category in categories.items()
        for question in pair(image, category, category)
    ]
    kept = {}
    for first in (2, 3, 9):
        build_set(
            "mine",
            Given(protocol="mme", given=tuple(pairs), first=first),
            tmp_path / str(first),
        )
        kept[first] = [entry.id for entry in read_questions(tmp_path / str(first))]
    # as in cases/first.jsonl: a e d c f b
    assert kept == {
        2: ["a-0", "a-1", "e-0", "e-1"],
        3: ["a-0", "a-1", "d-0", "d-1", "e-0", "e-1"],
        9: [each.id for each in pairs],
    }
    card = read_json(tmp_path / "3" / "question_set.json", QuestionSetCard)
    assert (card.settings["first"], card.categories) == (3, {"x": 4, "y": 2})
    several = [source(SAP if number < 4 else BEYOND, number) for number in range(6)]
    build_set(
        "mine",
        Given(protocol="mm_sap", given=tuple(several), first=3),
        tmp_path / "sap",
    )
    card = read_json(tmp_path / "sap" / "question_set.json", QuestionSetCard)
    assert card.subsets == {"basic": 2, "beyond": 1}
    two = table(jsonl(tmp_path, VET, VET), "mm_vet", expect={"questions": 2}, first=1)
    build_set("mine", two, tmp_path / "vet")
    assert len(read_questions(tmp_path / "vet")) == 1


def test_what_is_stored(tmp_path):
    card, entries = built(
        tmp_path, "mm_sap", source(SAP | {"answer": "BLUE "}, 1), source(BEYOND, 0)
    )
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
    assert (card.provider, card.questions, card.images, card.subsets) == (
        "given",
        2,
        1,
        {"basic": 1, "beyond": 1},
    )
    assert card.subtasks == {"basic": {"colour": 1}, "beyond": {"name": 1}}
    text = "a\0b\x1b[31m\u2028\u0085\u202e\t\r\nü 猫 🚚"
    card, [entry] = built(
        tmp_path, "mm_vet", source(VET | {"question": text, "answer": "1.25 <OR> 5/4"})
    )
    assert (entry.question, entry.answer, card.capabilities) == (
        text,
        "1.25 <OR> 5/4",
        {"math": 1, "ocr": 1},
    )
    whole, line = (
        (tmp_path / "mine" / name).read_text("utf-8")
        for name in ("question_set.json", "questions.jsonl")
    )
    assert (whole, line) == (
        pretty_json(json.loads(whole)),
        canonical_json(json.loads(line)) + "\n",
    )
    card, entries = built(
        tmp_path, "mme", source(MME[0] | {"answer": "YES"}, 0), source(MME[1], 1)
    )
    assert ([entry.answer for entry in entries], card.categories) == (
        ["yes", "no"],
        {"existence": 2},
    )


def test_each_picture_is_stored_once_however_it_is_written(tmp_path):
    pictures = [
        partial(png, 1),
        partial(png, 2),
        partial(png, 1, "BMP"),
        partial(png, 2),
    ]
    questions = [
        source(VET, number, read=read, image_id=str(number))
        for number, read in enumerate(pictures)
    ]
    card, entries = built(tmp_path, "mm_vet", *questions)
    assert [entry.image for entry in entries] == ["images/0.png", "images/1.png"] * 2
    assert len({entry.image_sha256 for entry in entries}) == card.images == 2
    assert sorted(path.name for path in (tmp_path / "mine" / "images").iterdir()) == [
        "0.png",
        "1.png",
    ]


def test_the_digest_depends_on_what_a_score_depends_on(tmp_path):
    one = source(SAP)
    changes: list[dict[str, Any]] = [
        *(
            {"id": "b"},
            {"question": "Which colour?"},
            {"options": ("blue", "red", *one.options[2:])},
        ),
        *(
            {"answer": "red"},
            {"refusal": "white"},
            {"subset": "know"},
            {"subtask": "hue"},
            {"image_id": "b.png"},
        ),
        {"read": partial(png, 9)},
    ]
    same = [
        replace(one, name="elsewhere", source={"row": "9"}),
        replace(one, read=partial(png, 0, "BMP")),
    ]
    others = [replace(one, **change) for change in changes]
    digests = [
        built(tmp_path, "mm_sap", question)[0].digest
        for question in (one, *same, *others)
    ]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests)) == 1 + len(others)


def csv_text(rows, separator=","):
    """As a spreadsheet writes it; lists as JSON, nothing for None."""
    text = io.StringIO()
    out = csv.writer(text, delimiter=separator)
    out.writerow(rows[0])
    out.writerows(
        [json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()]
        for row in rows
    )
    return text.getvalue()


WRITERS: dict[str, Callable[[list[Row]], bytes]] = {
    "list.json": lambda rows: b"\xef\xbb\xbf" + json.dumps(rows).encode(),
    "keyed.json": lambda rows: json.dumps(
        {str(number): row for number, row in enumerate(rows)}
    ).encode(),
    "lines.jsonl": lambda rows: "\n".join(json.dumps(row) for row in rows).encode(),
    "lines.ndjson": lambda rows: "\r\n\n".join(
        json.dumps(row) for row in rows
    ).encode(),
    "comma.csv": lambda rows: csv_text(rows).encode(),
    "semicolon.CSV": lambda rows: b"\xef\xbb\xbf" + csv_text(rows, ";").encode(),
    "tabs.tsv": lambda rows: csv_text(rows, "\t").encode(),
}


def table(path, protocol="mm_sap", **more):
    return QuestionTable.model_validate({"protocol": protocol, "path": path} | more)


def read(path, tmp_path, protocol="mm_sap", **more):
    build_set("mine", table(path, protocol, **more), tmp_path / "built")
    return read_questions(tmp_path / "built")


def refused_table(path, kind=DataError, protocol="mm_sap", **more):
    with tempfile.TemporaryDirectory() as folder, pytest.raises(kind) as caught:
        build_set("mine", table(path, protocol, **more), Path(folder) / "mine")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_questions(name, tmp_path):
    rows = [
        SAP,
        BEYOND,
        SAP | {"subset": "know", "question": 'Which "brand",\nis it; ü 猫?'},
    ]
    (images(tmp_path) / name).write_bytes(WRITERS[name](rows))
    entries = read(tmp_path / name, tmp_path)
    assert [entry.id for entry in entries] == ["0", "1", "2"]
    assert [entry.options for entry in entries] == [
        ["red", "blue", REFUSAL, "green", "white"]
    ] * 3
    assert [(entry.answer, entry.subset) for entry in entries] == [
        (1, "basic"),
        (None, "beyond"),
        (1, "know"),
    ]
    assert (entries[2].question, entries[0].source) == (
        'Which "brand",\nis it; ü 猫?',
        {"row": "0", "file": "a.png"},
    )
    card = read_json(tmp_path / "built" / "question_set.json", QuestionSetCard)
    assert card.source == {"kind": "table", "file": name}
    assert {"path", "images"}.isdisjoint(card.settings)


@each_case(cases(__file__, "tables"))
def test_a_file_that_is_not_what_its_name_says(case, tmp_path):
    text, times = case.get("repeat", ["", 0])
    data = (
        bytes.fromhex(case["hex"])
        if "hex" in case
        else (case.get("content", "") + text * times).encode()
    )
    (tmp_path / case["file"]).write_bytes(data)
    said = refused_table(tmp_path / case["file"], DriftledgerError)  # type: ignore[type-abstract]
    assert case["says"] in said
    assert len(said) < 450


def test_columns_of_other_names(tmp_path):
    row = {
        "img": "a.png",
        "Q": "x?",
        "A": "red",
        "B": "blue",
        "C": REFUSAL,
        "D": "green",
        "E": "white",
        "gold": "b",
    }
    file = jsonl(
        tmp_path, row | {"no": REFUSAL, "part": "know", "uid": 7, "unused": {"a": [1]}}
    )
    names = {
        "question": "Q",
        "image": "img",
        "options": list("ABCDE"),
        "answer": "gold",
    }
    names |= {"refusal": "no", "subset": "part", "id": "uid"}
    [entry] = read(file, tmp_path, columns=names, answer_is="letter")
    assert (entry.id, entry.answer, entry.refusal, entry.subset, entry.subtask) == (
        "7",
        1,
        2,
        "know",
        None,
    )
    assert entry.options == ["red", "blue", REFUSAL, "green", "white"]


@each_case(cases(__file__, "answers"))
def test_an_answer_is_a_text_or_a_letter(case, tmp_path):
    form = case["answer_is"]
    file = jsonl(tmp_path, SAP | {"answer": case["answer"]})
    if case["index"] is not None:
        assert read(file, tmp_path, answer_is=form)[0].answer == case["index"]
    else:
        said = refused_table(file, answer_is=form)
        assert "line 1 of questions.jsonl has the answer " in said
        assert len(said) < 400


@each_case(cases(__file__, "cells"))
def test_a_table_that_is_refused(case, tmp_path):
    protocol = case["protocol"]
    (tmp_path / "private.png").write_bytes(png(200))
    first, second = MME if protocol == "mme" else (RIGHT[protocol], RIGHT[protocol])
    both = case.get("both", {})
    file = jsonl(tmp_path / "in", first | both, second | both | case["change"])
    (tmp_path / "in" / "sub").mkdir()
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "private.png")
    (tmp_path / "in" / "loop.png").symlink_to("loop.png")
    (tmp_path / "in" / "out").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "in" / "pipe.png")
    said = refused_table(file, protocol=protocol, **case.get("settings", {}))
    assert case["says"] in said
    assert len(said) < 450
    digest = table(file, protocol).source_digest()
    (tmp_path / "private.png").write_bytes(png(201))
    assert table(file, protocol).source_digest() == digest


@each_case(cases(__file__, "settings"))
def test_settings_that_do_not_fit(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path, RIGHT.get(case["protocol"], SAP))
    settings = {"protocol": case["protocol"], "path": "questions.jsonl"} | case[
        "settings"
    ]
    with pytest.raises((ConfigError, ValidationError)) as caught:
        list(
            (made := QuestionTable.model_validate(settings)).questions(
                question_rules(made)
            )
        )
    error = caught.value
    said = (
        explain(error, "params.yaml")
        if isinstance(error, ValidationError)
        else str(error)
    )
    assert case["says"] in said
    assert "\n" not in said


def test_benchmarks_as_their_authors_publish_them(tmp_path):
    images(tmp_path / "images", "v1_0.png", "count/1.png", "color/1.png")
    published = {
        "v1_0": {
            "imagename": "v1_0.png",
            "question": "x?",
            "answer": "-1<AND>-5",
            "capability": ["ocr"],
        }
    }
    (tmp_path / "mm-vet.json").write_text(json.dumps(published))
    columns = {"image": "imagename", "capabilities": "capability"}
    [entry] = read(
        tmp_path / "mm-vet.json",
        tmp_path,
        "mm_vet",
        images=tmp_path / "images",
        columns=columns,
    )
    assert (entry.id, entry.answer, entry.capabilities) == (
        "v1_0",
        "-1<AND>-5",
        ["ocr"],
    )
    [entry] = read(
        jsonl(tmp_path, VET | {"capabilities": "ocr, math"}), tmp_path, "mm_vet"
    )
    assert entry.capabilities == ["ocr", "math"]
    rows = [
        row | {"image": f"{kind}/1.png", "category": kind}
        for kind in ("count", "color")
        for row in MME
    ]
    entries = read(jsonl(tmp_path, *rows), tmp_path, "mme", images=tmp_path / "images")
    assert [entry.image_id for entry in entries] == [
        *["count/1.png"] * 2,
        *["color/1.png"] * 2,
    ]


def test_a_file_for_each_subset_gives_one_set(tmp_path):
    """MM-SAP has one file of questions and one folder of images for each subset; image names
    repeat."""
    plain = {
        key: value for key, value in SAP.items() if key not in ("subset", "refusal")
    }
    rows = {
        "basic": [plain, plain | {"image": "b.png"}],
        "know": [plain],
        "beyond": [plain | {"answer": REFUSAL}],
    }
    for number, (subset, some) in enumerate(rows.items()):
        images(tmp_path / subset, "a.png", "b.png")
        (tmp_path / subset / "a.png").write_bytes(png(10 * number + 10))
        (tmp_path / f"{subset}.json").write_text(json.dumps(some))
    parts = {
        "images": {subset: tmp_path / subset for subset in rows},
        "refusal": REFUSAL,
    }
    paths = {subset: tmp_path / f"{subset}.json" for subset in rows}
    expect = {"basic": 2, "know": 1, "beyond": 1, "questions": 4, "images": 4}
    entries = read(paths, tmp_path, expect=expect, **parts)
    assert [(each.id, each.subset, each.refusal, each.answer) for each in entries] == [
        ("basic-0", "basic", 2, 1),
        ("basic-1", "basic", 2, 1),
        ("know-0", "know", 2, 1),
        ("beyond-0", "beyond", 2, None),
    ]
    assert len({each.image_id for each in entries}) == 4
    assert "should have 400 basic (has 2)" in refused_table(
        paths, expect=expect | {"basic": 400}, **parts
    )


def test_the_digest_follows_the_table_and_the_images_that_it_names(
    tmp_path, monkeypatch
):
    file, again = (
        jsonl(tmp_path / place, VET, VET | {"image": "sub/b.png"})
        for place in ("here", "there")
    )
    for place in ("here", "there"):
        images(tmp_path / place, "sub/b.png")
    monkeypatch.setenv("HOME", str(tmp_path))
    digests = [table(file, "mm_vet").source_digest()]
    (tmp_path / "there" / "unused.png").write_bytes(png(7))
    assert table(again, "mm_vet").source_digest() == digests[0]
    assert (
        table(Path("~/there/questions.jsonl"), "mm_vet").source_digest() == digests[0]
    )
    for change in (
        lambda: (tmp_path / "here" / "sub" / "b.png").write_bytes(png(9)),
        lambda: (tmp_path / "here" / "a.png").unlink(),
        lambda: file.write_text(file.read_text().replace("-5", "-6")),
    ):
        change()
        digests.append(table(file, "mm_vet").source_digest())
    assert len(set(digests)) == 4


def test_numbers_of_rows_have_as_many_digits_and_cells_may_be_numbers(tmp_path):
    numbers = [1, 2.5, REFUSAL, True, 10**30]
    rows = [SAP | {"options": numbers, "answer": 2.5, "subtask": float("nan")}] * 12
    (images(tmp_path) / "q.json").write_text(json.dumps(rows))
    every = read(tmp_path / "q.json", tmp_path)
    assert [entry.id for entry in every] == [f"{number:02}" for number in range(12)]
    assert every[0].options == ["1", "2.5", REFUSAL, "True", "1" + "0" * 30]
    assert (every[0].answer, every[0].subtask) == (1, None)


SHEET_CELLS: list[tuple[Any, str, str]] = [
    (datetime.time(12, 30), "hh:mm", "holds a time"),
    (datetime.datetime(2024, 1, 2), "yyyy-mm-dd", "holds a date"),
    (datetime.datetime(2024, 1, 2, 9, 5), "dd.mm.yy hh:mm", "holds a date"),
    (datetime.timedelta(hours=30), "[h]:mm", "holds a duration"),
    (True, "General", "holds a truth value"),
    (0.5, "0%", "holds a percentage"),
    (0.125, "0.0%", "holds a percentage"),
    (5, '"$"#,##0', "holds a number that is shown as"),
    (1234.5, "0.00E+00", "holds a number that is shown as"),
]
"""A cell's value, its format, and what is said of it."""


@pytest.mark.parametrize(
    ("column", "value", "shown_as", "says"),
    [
        *(("question", *cell) for cell in SHEET_CELLS),
        *(
            (column, *SHEET_CELLS[0])
            for column in ("answer", "A", "refusal", "subtask", "id", "image")
        ),
    ],
    ids=str,
)
def test_a_cell_that_shows_something_else_than_text_is_refused(
    column, value, shown_as, says, tmp_path
):
    row = {
        "id": "1",
        "image": "a.png",
        "question": "What time is it?",
        "A": "8:00",
        "B": "7:00",
        "C": "6:00",
    }
    row |= {"D": "5:00", "refusal": "unknown", "answer": "8:00", "subtask": "clock"}
    book = openpyxl.Workbook()
    book.active.append([*row])
    book.active.append([*row.values()])
    cell = book.active.cell(2, [*row].index(column) + 1)
    cell.value = value
    cell.number_format = shown_as
    book.save(images(tmp_path) / "q.xlsx")
    with pytest.raises(DataError) as caught:
        sheet(tmp_path / "q.xlsx", tmp_path / "out")
    assert f"row 2 of q.xlsx in {column} {says}" in str(caught.value)
    assert not (tmp_path / "out").exists()


def sheet(file, target):
    columns = {"options": ("A", "B", "C", "D", "refusal")}
    provider = QuestionTable(protocol="mm_sap", path={"basic": file}, columns=columns)
    build_set("mine", provider, target)
    return read_questions(target)


def test_numbers_of_a_sheet_are_as_it_shows_them(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(
        ["id", "image", "question", "A", "B", "C", "D", "refusal", "answer"]
    )
    book.active.append(
        [7, "a.png", "How long is it?", 3.5, 3, 2.25, "=1+1", "unknown", 3.5]
    )
    for column in "DI":
        book.active[f"{column}2"].number_format = "0.00"
    book.active["E2"].number_format = "0"
    book.save(images(tmp_path) / "q.xlsx")
    [entry] = sheet(tmp_path / "q.xlsx", tmp_path / "out")
    assert (entry.id, entry.answer) == ("basic-7", 0)
    assert entry.options == ["3.50", "3", "2.25", "=1+1", "unknown"]


@pytest.mark.parametrize(
    "spelt",
    [
        lambda code: code,
        lambda code: "\n".join(code[at : at + 76] for at in range(0, len(code), 76)),
        lambda code: code.rstrip("="),
        lambda code: code.replace("+", "-").replace("/", "_"),
        lambda code: f"data:image/png;base64,{code}",
    ],
    ids=["plain", "lines", "no padding", "of addresses", "data URL"],
)
def test_images_in_base64_are_read_and_told_apart_by_their_bytes(spelt, tmp_path):
    first, second = (base64.b64encode(png(red)).decode() for red in (1, 2))
    rows = [row | {"image": spelt(code)} for code in (first, second) for row in MME]
    file = tmp_path / "q.json"
    file.write_text(json.dumps(rows))
    provider = QuestionTable(protocol="mme", path=file)
    assert provider.source_digest() != ""
    build_set("mine", provider, tmp_path / "out")
    entries = read_questions(tmp_path / "out")
    assert [entry.image for entry in entries] == ["images/0.png"] * 2 + [
        "images/1.png"
    ] * 2
    assert {entry.source["row"] for entry in entries} == {"0", "1", "2", "3"}
    assert all("file" not in entry.source for entry in entries)


@pytest.mark.parametrize("case", cases(__file__, "several"), ids=str)
def test_the_images_of_a_question(case, tmp_path):
    folder = images(tmp_path / "in", "a.png", "b.png", "c.png")
    file = folder / case["file"]
    file.write_text(case.get("csv") or json.dumps(case["row"]))
    made = table(file, "mm_vet", columns=case["columns"])
    built = tmp_path / "built"
    build_set("mine", made, built)
    [entry] = read_questions(built)
    names = {}
    for image in (built / "images").iterdir():
        names[f"images/{image.name}"] = {"sha256": sha256_bytes(image.read_bytes())}
    in_check = OpenedFolder(
        "", names, [], read=lambda name: (built / name).read_bytes()
    )
    assert {line.status for line in data_lines(in_check)} == {"reproduced"}
    media = entry.media(built)
    reds = ["abc"[medium.open().getpixel((0, 0))[0]] for medium in media]
    assert "".join(reds) == case["shows"]
    assert (entry.question, not entry.images) == (case["stored"], case["single"])
    assert entry.source["file"] == "; ".join(f"{name}.png" for name in reds)
    before = made.source_digest()
    (folder / f"{reds[-1]}.png").write_bytes(png(77))
    assert made.source_digest() != before

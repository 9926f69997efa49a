"""Sheets of ratings and of descriptions with their pages, and what a page holds."""

import csv
import io
import json
import re

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.fidelity.ratings import write_ratings
from driftledger.benchmarks.genception.human import RULES
from driftledger.components.human import FORM
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl
from driftledger.core.media import Medium
from driftledger.data.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.sheet_page import PageTask, write_page
from driftledger.data.sheets import extend_sheet
from tests.conftest import draw
from tests.support.ledgers import iteration

HOSTILE = (
    "<img src=x onerror=\"document.title='got'\">",
    "</script><script>document.title='got'</script><!--",
    "=cmd|' /C calc'!A1",
    'A bird, "red"; blue\tgreen\nsecond line\u2028third',
    "\u202egnp.tac\u202c \u200fעברית",
    "long " * 4_000,
    "a bird 🐦\u200d⬛ &lt;b&gt; \\u003c ${x} DATA",
    "'=1+1",
    "0012",
    "@sum",
)
"""Descriptions that a model might write."""


def rated(folder, texts, rater="ann", add=None, size=(96, 72)):
    """Write the sheet and the page of a rater of these descriptions, one of a picture each."""
    names = [f"s{number}" for number in range(len(texts))]
    if not (folder / "birds").exists():
        for number, name in enumerate(names):
            draw(folder / "images" / f"{name}.png", number, size)
        build("birds", ImageFolder(path=folder / "images"), folder / "birds")
    records = [
        iteration(name, 1, text) for name, text in zip(names, texts, strict=True)
    ]
    write_jsonl(folder / "model_x" / RECORDS, records)
    return write_ratings(
        folder / "ratings.csv",
        data=folder / "birds",
        folders=[folder / "model_x"],
        rater=rater,
        seed=1,
        samples=len(texts),
        add=add,
    )


def asked(folder, names, annotators=("",), add=None):
    """Write the sheet and the page on which people describe pictures with these names, in turn."""
    wanted = []
    pictures = []
    for number, name in enumerate(names):
        path = draw(folder / "images" / f"{number}.png", number)
        pictures.append(Medium(path, sha256_file(path)))
        cells = {"sample": name, "t": "1", "text": ""}
        cells["image"] = f"{name}-1-{number:012}"
        wanted.append(cells | {"annotator": annotators[number % len(annotators)]})
    rows = extend_sheet(folder / "sheet.csv", FORM, wanted, "", add)
    text = "Please write a <b>clear</b> & precise description.\n  {braces} = + - @"
    task = PageTask("Describe images", text, RULES)
    write_page(folder / "sheet.csv", FORM, rows, pictures, task)


def cells_of(sheet):
    """Return the rows of a sheet, its head first."""
    text = sheet.read_text(encoding="utf-8-sig")
    return [*csv.reader(io.StringIO(text, newline=""))]


def fill(sheet, column, values, separator=","):
    """Write values into a column, row by row (None leaves a cell), as a spreadsheet saves it."""
    head, *rows = cells_of(sheet)
    for row, value in zip(rows, values, strict=True):
        if value is not None:
            row[head.index(column)] = str(value)
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerows([head, *rows])
    sheet.write_bytes(("\ufeff" + out.getvalue()).encode())


def content_of(page):
    """Return what a page holds, as its script reads it."""
    text = page.read_text(encoding="utf-8")
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</', text)
    return json.loads(data)

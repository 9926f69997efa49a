"""The files of a case, written into a folder, and the fields that a case names."""

import json
import os

import openpyxl
import pandas

from tests.data.question_sets.sources import png


def lay_out(files, folder):
    """Write files: an image for a number, which is its red; a text; or what an object says."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, int):
            path.write_bytes(png(content))
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="")
        else:
            [(kind, value)] = content.items()
            KINDS[kind](path, value)


def write_rows(path, rows):
    lines = [json.dumps(row) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


def write_sheet(path, rows):
    """Write a workbook; a cell is a value, or a list of a number and the format it is shown in."""
    book = openpyxl.Workbook()
    for row, cells in enumerate(rows, 1):
        for column, content in enumerate(cells, 1):
            value, *shown_as = content if isinstance(content, list) else [content]
            cell = book.active.cell(row, column, value)
            for number_format in shown_as:
                cell.number_format = number_format
    book.save(path)


def write_book(path, sheets):
    """Write a workbook of several sheets, the first of which is hidden."""
    book = openpyxl.Workbook()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for cells in rows:
            sheet.append(cells)
    del book["Sheet"]
    book.worksheets[0].sheet_state = "hidden"
    book.active = 1
    book.save(path)


def write_parquet(path, rows):
    pandas.DataFrame(rows).to_parquet(path)


def write_repeated(path, parts):
    start, text, times = parts
    path.write_text(start + text * times, encoding="utf-8")


KINDS = {
    "book": write_book,
    "folder": lambda path, _: path.mkdir(),
    "hex": lambda path, code: path.write_bytes(bytes.fromhex(code)),
    "link": lambda path, target: path.symlink_to(target),
    "parquet": write_parquet,
    "pipe": lambda path, _: os.mkfifo(path),
    "repeated": write_repeated,
    "rows": write_rows,
    "sheet": write_sheet,
}


def named(things, expected):
    """Return of each thing the attributes that are expected of it."""
    fields = []
    for thing, wanted in zip(things, expected, strict=True):
        fields.append({key: getattr(thing, key) for key in wanted})
    return fields

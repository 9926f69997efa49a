"""Sheets for people, from the command line: what is written is kept, filled in, and read."""

import csv

from tests.sentence import tree, write_files
from tests.support.cases import cases
from tests.support.small import edited, make_small, update

PERSON = {"models.seer": {"provider": "human", "path": "seer"}}


def test_sheets_are_written(tmp_path, monkeypatch, sentence):
    """Each step works on what the steps before it have left."""
    monkeypatch.chdir(tmp_path)
    make_small(tmp_path)
    edited(tmp_path, PERSON)
    for step in cases(__file__, "people"):
        print(step["what"])
        if "update" in step:
            write_files(tmp_path, step.get("files", {}))
            update(edited(tmp_path, step.get("set", {})))
            continue
        before = tree(tmp_path)
        sentence(step, tmp_path)
        assert tree(tmp_path) == before or "unchanged" not in step
        if "rows" in step:
            sheet = tmp_path / step.get("sheet", "ratings.csv")
            lines = sheet.read_text(encoding="utf-8-sig").splitlines()
            rows = list(csv.DictReader(lines))
            assert len(rows) == step["rows"]
            if "column" in step:
                assert {row[step["column"]] for row in rows} == {*step["values"]}

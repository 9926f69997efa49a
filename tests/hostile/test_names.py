"""Names and paths in records, cards, listings and locks: none leads out of its folder."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from driftledger.benchmarks.base.records import CollectedCard
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import Record, parse_json
from driftledger.data.records import DatasetCard, QuestionEntry, SampleEntry
from driftledger.ledger.lock import LockedFile, parse_lock
from driftledger.ledger.objects.files import parse_listing
from tests.support.cases import CASES, cases, each_case

VALUES = json.loads((CASES / "hostile/values.json").read_bytes())
"""What a field holds → values that are fine, and hostile ones."""
OUT = VALUES["path"]["hostile"]
"""Relative paths nowhere: out of the folder, of another system, with what is not seen, too long."""
VALUES["id"]["hostile"] += OUT
KINDS = {
    kind.__name__: kind
    for kind in (SampleEntry, QuestionEntry, DatasetCard, CollectedCard, LockedFile)
}


@each_case(cases(__file__, "names"))
def test_a_field_that_becomes_a_path(case):
    kind = KINDS[case["kind"]]
    values = VALUES[case["of"]]
    for value in values["fine"]:
        kind.model_validate(case["plain"] | {case["field"]: value})
    for value in values["hostile"]:
        with pytest.raises(ValidationError):
            kind.model_validate(case["plain"] | {case["field"]: value})


def kinds(of):
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


NAMES = "id sample file image path question unit image_id demonstrations keys leaks"


def test_no_record_holds_a_name_or_a_path_of_any_form():
    folder = Path(sys.modules["driftledger"].__path__[0])
    for file in sorted(folder.glob("benchmarks/**/records.py")):
        import_module(
            ".".join(("driftledger", *file.relative_to(folder).with_suffix("").parts))
        )
    names = set(NAMES.split())
    checked = 0
    for kind in (*kinds(Record), LockedFile):
        for name in (
            names & kind.model_fields.keys()
            if kind.__module__.startswith("driftledger.")
            else ()
        ):
            field = kind.model_fields[name]
            assert (
                field.metadata
                or "Annotated" in str(field.annotation)
                or field.annotation is int
            ), (kind, name)
            checked += 1
    assert checked > 10


def test_a_refusal_is_one_short_line():
    entry = {
        "id": "../\n\x1b[2J" * 5000,
        "file": "a.png",
        "sha256": "0",
        "width": 1,
        "height": 1,
        "schema": 2,
    }
    with pytest.raises(StoreError) as caught:
        parse_json(json.dumps(entry).encode(), SampleEntry, "samples.jsonl")
    assert len(str(caught.value)) < 300
    assert len(str(caught.value).splitlines()) == 1


FINE = {"md5": "0" * 32, "relpath": "images/a b/ä.png"}
ELSEWHERE = [{"relpath": path} for path in OUT]
ELSEWHERE += [{"md5": md5} for md5 in (*VALUES["md5"]["hostile"], 1, None, ["b"])]


@pytest.mark.parametrize("change", ELSEWHERE)
def test_a_listing_of_dvc_names_nothing_outside_of_its_folder_and_cache(change):
    plain = [FINE, FINE | {"md5": "1" * 32, "relpath": "a"}]
    assert parse_listing(json.dumps(plain).encode()) is not None
    assert parse_listing(json.dumps([FINE, plain[1] | change]).encode()) is None


@pytest.mark.parametrize("stage", VALUES["stage"]["hostile"])
def test_a_lock_names_nothing_outside_of_the_project(stage):
    text = f"stages:\n  one:\n    cmd: x\n    {stage.replace('%s', '0' * 32)}\n"
    with pytest.raises(
        LedgerError,
        match=r"^dvc\.lock is not a dvc\.lock: stages\.one\.(outs|deps|params)",
    ):
        parse_lock(text.encode())

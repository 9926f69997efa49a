"""A bundle is made again by a reader who has nothing but it, and what came of it is signed and noted."""

import hashlib
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from driftledger.commands.reproduce import note_reproduction, reproduce
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError
from driftledger.ledger.attest.attest import read
from driftledger.ledger.attest.check import Trust, check_whose
from driftledger.ledger.log.chain import read_ledger
from driftledger.ledger.log.lines import read_chain
from driftledger.project.project import Project
from driftledger_check.bundle import FILES
from driftledger_check.dsse import REPRODUCTION, Signed, verify_ssh
from tests.conftest import Checkout
from tests.support.bundles import CHAINS, SCORE, Forger, bundled


def said(path: Path) -> dict[str, Any]:
    statement = read(path).envelope.statement
    assert statement.predicate_type == REPRODUCTION
    return dict(statement.predicate)


def test_all_calls_and_numbers_are_made_again_elsewhere(score_zip: Path, reader: Project, tmp_path: Path) -> None:
    told, reproduced = reproduce(reader, score_zip, tmp_path / "out.json", None, 7)
    assert reproduced, told
    made = said(tmp_path / "out.json")
    assert made["outcome"] == "reproduced"
    assert [(each["compared"], each["calls"]) for each in made["calls"]["kinds"]] == [(16, 16), (16, 16), (8, 8)]
    assert made["scores"]["numbers"] > 100
    assert made["scores"]["differ"] == made["calls"]["differ"] == 0
    assert made["environment"]["packages"]
    assert "unsigned" in told[-2]
    subject = read(tmp_path / "out.json").envelope.statement.subject
    assert subject["score.zip"] == sha256_file(score_zip)


def test_the_same_seed_draws_the_same_calls(score_zip: Path, reader: Project, tmp_path: Path) -> None:
    for name in ("one", "two"):
        reproduce(reader, score_zip, tmp_path / f"{name}.json", 5, 11)
    assert said(tmp_path / "one.json") == said(tmp_path / "two.json")
    assert sum(each["compared"] for each in said(tmp_path / "one.json")["calls"]["kinds"]) == 5


def test_a_drawing_that_nothing_drew_differs_and_scores_are_those_of_the_new_one(
    forger: Forger, reader: Project, tmp_path: Path
) -> None:
    """The forged bundle is at one with itself, and has the scores of the drawing that was replaced: computed from the
    drawing that is made again they are these once more."""
    drawn = sorted(name for name in forger.members if name.startswith(f"{FILES}{CHAINS}/images/"))
    name = drawn[-1].removeprefix(FILES)
    forger.put(name, forger.members[drawn[0]])
    forge_record(forger, name)
    _, reproduced = reproduce(reader, forger.write(tmp_path / "score.zip"), tmp_path / "out.json", None, 7)
    assert not reproduced
    made = said(tmp_path / "out.json")
    assert made["outcome"] == "differs"
    assert next(each["where"] for each in made["calls"]["differences"]) == name
    assert made["scores"]["from_new_calls"] == made["calls"]["differ"]
    assert made["scores"]["differences"] == []


def forge_record(forger: Forger, image: str) -> None:
    """Let the record of a drawing, and all above it, be of what is there now."""
    sha256 = hashlib.sha256(forger.members[FILES + image]).hexdigest()
    name = image.removeprefix(f"{CHAINS}/")

    def change(row: dict[str, Any]) -> None:
        if row["image"] == name:
            row["image_sha256"] = sha256

    rows = forger.members[f"{FILES}{CHAINS}/records.jsonl"].count(b"\n")
    for number in range(rows):
        forger.row(f"{CHAINS}/records.jsonl", change, number)
    follow_records(forger)


def follow_records(forger: Forger) -> None:
    sha256 = hashlib.sha256(forger.members[f"{FILES}{CHAINS}/records.jsonl"]).hexdigest()
    forger.json(f"{FILES}{SCORE}/score.json", lambda score: score["inputs"]["records"].update(chain=sha256))

    def evidence(value: dict[str, Any]) -> None:
        for lineage in value["lineages"]:
            lineage["score"]["inputs"]["records"].update(chain=sha256)

    forger.json("evidence.json", evidence)
    forger.follow()


def test_a_description_that_nobody_gave_differs(forger: Forger, reader: Project, tmp_path: Path) -> None:
    forger.row(f"{CHAINS}/records.jsonl", lambda row: row.update(description="a unicorn"), -1)
    follow_records(forger)
    _, reproduced = reproduce(reader, forger.write(tmp_path / "score.zip"), tmp_path / "out.json", None, 7)
    made = said(tmp_path / "out.json")
    assert not reproduced
    kinds = Counter("description" in each["where"] for each in made["calls"]["differences"])
    assert kinds == {True: 1, False: 1}, "the description, and the drawing that it does not give"
    assert made["scores"]["differences"] == [], "those of what was said when it was asked again"
    assert made["scores"]["not_from_new_calls"] == 0


def test_what_is_not_at_one_with_itself_is_not_made_again(forger: Forger, reader: Project, tmp_path: Path) -> None:
    forger.row(f"{CHAINS}/records.jsonl", lambda row: row.update(description="a unicorn"), -1)
    forger.rehash()
    with pytest.raises(LedgerError, match="not at one with itself"):
        reproduce(reader, forger.write(tmp_path / "score.zip"), None, None, 7)


def test_what_is_no_bundle_is_told(reader: Project, tmp_path: Path) -> None:
    (tmp_path / "score.zip").write_bytes(b"PK\3\4 and so on" * 20)
    with pytest.raises(LedgerError, match="is not a bundle"):
        reproduce(reader, tmp_path / "score.zip", None, None, 7)
    with pytest.raises(LedgerError, match="cannot be read"):
        reproduce(reader, tmp_path / "none.zip", None, None, 7)


def test_a_bundle_without_its_images_cannot_be_made_again(released: Checkout, reader: Project, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="leaves 24 images out"):
        reproduce(reader, bundled(released, tmp_path / "score.zip", images=False), None, None, 7)


def test_a_reader_with_a_key_signs_and_both_ledgers_note_it(
    released: Checkout, score_zip: Path, reader: Project, key: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "--quiet", str(reader.root)], check=True)
    reader.paths.ledger.write_bytes(b"")
    told, _ = reproduce(reader, score_zip, None, 3, 7)
    statement = reader.root / "score.reproduction.json"
    assert isinstance(verify_ssh(read(statement).envelope, None), Signed)
    assert "signed by SHA256:" in told[-2]
    owner = Project(released.copy(tmp_path / "owner").root)
    before = len(read_chain(read_ledger(owner.paths.ledger)).all)
    note_reproduction(owner, statement)
    assert note_reproduction(owner, statement).startswith(f"line {before + 1} "), "noted once"
    for project in (reader, owner):
        [line] = read_chain(read_ledger(project.paths.ledger)).notes.values()
        assert (line.kind, line.name) == ("reproduction", "regions_medium · painter · layout")
        whose = check_whose(project.paths.ledger, project.root, Trust())
        assert whose.result.holds, whose.result.findings
        assert whose.result.checked["attestations"] == 1


def test_statements_about_other_runs_are_not_noted(
    score_zip: Path, reader: Project, tmp_path: Path, released: Checkout
) -> None:
    reproduce(reader, score_zip, tmp_path / "out.json", 1, 7)
    with pytest.raises(LedgerError, match="of no run"):
        note_reproduction(reader, tmp_path / "out.json")
    with pytest.raises(LedgerError, match="score.zip"):
        note_reproduction(reader, score_zip)

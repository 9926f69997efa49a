"""Files that DVC vouches for, and that do not belong together all the same: each change is followed by every MD5."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from driftledger.core.canonical import sha256_of
from driftledger.ledger.verify.links import check_links
from tests.ledger.verify.conftest import CHAINS, DESCRIPTIONS, FIDELITY, GENCEPTION, MM_SAP, MODEL, Ledger, places

CHAIN_RECORDS = f"{CHAINS}/records.jsonl"
DATA = "data/datasets/my_images"
QUESTIONS = "data/questions/scenes_mm_sap"
ANSWERS, GRADES = f"data/answers/scenes_mm_sap/{MODEL}", f"data/grades/scenes_mm_sap/{MODEL}"

Change = Callable[[dict[str, Any]], object]


def found(ledger: Ledger) -> dict[str, str]:
    """Where findings are → what they say."""
    return {
        finding.where: finding.what for finding in check_links(ledger.root, [ledger.evidence], ledger.contents).findings
    }


def test_what_was_written_belongs_together(kept: Ledger) -> None:
    report = check_links(kept.root, [kept.evidence], kept.contents)
    assert report.findings == []
    assert report.checked["scores"] == 6
    assert all(report.checked[what] > 20 for what in ("images", "records", "fingerprints", "links"))


def test_an_image_is_the_one_in_its_record(ledger: Ledger) -> None:
    ledger.write(f"{CHAINS}/images/round_1/2.png", b"another picture")
    ledger.write(f"{DATA}/images/round_3.png", b"another original")
    images = ledger.root / QUESTIONS / "images"
    (images / "0.png").rename(images / "777.png")
    ledger.write(f"{QUESTIONS}/images/777.png", b"of no question")
    said = found(ledger)
    assert "sample round_1, t = 2 has an image with sha256" in said[f"{CHAINS}/images/round_1/2.png"]
    assert "sample round_3 has an image with sha256" in said[f"{DATA}/images/round_3.png"]
    assert "which is not to be had" in said[f"{QUESTIONS}/images/0.png"]
    assert said[f"{QUESTIONS}/images/777.png"] == "no record speaks of this file"


CHAIN_CHANGES: dict[str, tuple[Change, str]] = {
    "parent": (lambda row: row.update(parent_sha256="0" * 64), "its parent_sha256 is not that of the image at t = 1"),
    "seed": (lambda row: row.update(seed=row["seed"] + 1), "its seed is not the one that follows from run.seed"),
    "t": (lambda row: row.update(t=3), "this is record 2 of its chain, or another's image"),
    "image": (lambda row: row.update(image="images/round_1/1.png"), "or another's image"),
    "sample": (lambda row: row.update(sample="round_9"), f"{DATA} has none that is called round_9"),
}


@pytest.mark.parametrize("change", CHAIN_CHANGES.values(), ids=CHAIN_CHANGES.keys())
def test_a_record_of_a_chain_follows_from_the_one_before(ledger: Ledger, change: tuple[Change, str]) -> None:
    applied, said = change
    before = ledger.change_row(CHAIN_RECORDS, applied, number=1)
    assert (before["sample"], before["t"]) == ("round_1", 2)
    report = check_links(ledger.root, [ledger.evidence], ledger.contents)
    named = [f.what for f in report.findings if f.where == CHAIN_RECORDS]
    assert any(what.startswith("sample round_") and said in what for what in named)
    assert f"bytes {GENCEPTION}.json: inputs.records_sha256" in places(report.findings)


def test_the_first_record_of_a_chain_starts_from_the_sample(ledger: Ledger) -> None:
    ledger.change_row(CHAIN_RECORDS, lambda row: row.update(parent_sha256="0" * 64))
    assert found(ledger)[CHAIN_RECORDS] == "sample round_1, t = 1: its parent_sha256 is not that of the sample's image"


@pytest.mark.parametrize(
    ("path", "said", "score"),
    [
        (f"{DESCRIPTIONS}/descriptions.jsonl", "", "descriptions_sha256"),
        (f"{ANSWERS}/answers.jsonl", f"{QUESTIONS} has none that is called nobody", "answers_sha256"),
        (f"{GRADES}/grades.jsonl", f"{ANSWERS}/answers.jsonl has no such answer", "grades_sha256"),
    ],
)
def test_records_are_of_what_there_is(ledger: Ledger, path: str, said: str, score: str) -> None:
    key = "sample" if "descriptions" in path else "question"
    ledger.change_row(path, lambda row: row.update({key: "nobody"}))
    named = found(ledger)
    assert said in named[path]
    assert "nobody" in named[path]
    assert any(where.endswith(f"inputs.{score}") for where in named)


def test_the_same_record_twice_is_named(ledger: Ledger) -> None:
    first = ledger.change_row(f"{ANSWERS}/answers.jsonl", lambda row: row)
    ledger.change_row(f"{ANSWERS}/answers.jsonl", lambda row: row.update(first), number=1)
    assert (
        found(ledger)[f"{ANSWERS}/answers.jsonl"]
        == f"question {first['question']}, variant 0: there are 2 such records"
    )


def test_a_record_that_cannot_be_read_is_named_with_its_line(ledger: Ledger) -> None:
    ledger.change_row(CHAIN_RECORDS, lambda row: row.update(outcome="fine"), number=2)
    assert found(ledger)[CHAIN_RECORDS].startswith("records.jsonl, line 3 is not a ChainRecord")


def test_digests_are_those_of_the_files(ledger: Ledger) -> None:
    ledger.change_row(f"{DATA}/samples.jsonl", lambda row: row.update(category="triangle"))
    ledger.change_row(f"{QUESTIONS}/questions.jsonl", lambda row: row.update(question="And what now?"))
    ledger.change_json(f"{QUESTIONS}/question_set.json", lambda card: card.update(questions=7))
    said = found(ledger)
    assert "and samples.jsonl gives" in said[f"{DATA}/dataset.json"]
    assert f"{QUESTIONS}/question_set.json" in said
    for score, key in ((GENCEPTION, "dataset_digest"), (FIDELITY, "dataset_digest"), (MM_SAP, "question_set_digest")):
        assert f"{score}.json: inputs.{key}" in said
    ledger.change_row(f"{DATA}/samples.jsonl", lambda row: row.update(category="round", notes=["told by hand"]))
    assert f"{GENCEPTION}.json: inputs.dataset_digest" not in found(ledger)


def component_changed(card: dict[str, Any]) -> None:
    card["settings"]["batch_size"] = 3


def test_a_component_has_the_fingerprint_of_its_specification(ledger: Ledger) -> None:
    ledger.change_json(f"{CHAINS}/components.json", lambda card: component_changed(card["generator"]))
    ledger.change_json(f"{MM_SAP}.json", lambda score: component_changed(score["inputs"]["grades"]["answers"]["model"]))
    said = found(ledger)
    assert "is not that of the provider, version, settings and identity" in said[f"{CHAINS}/components.json: generator"]
    assert f"{GENCEPTION}.json: inputs.chain" in said  # which is the folder's no longer
    assert f"{MM_SAP}.json: grades.answers.model" in said
    assert f"{MM_SAP}.json: inputs.grades" in said


def test_another_component_with_a_fingerprint_of_its_own_is_not_the_one_that_ran(ledger: Ledger) -> None:
    def other(score: dict[str, Any]) -> None:
        card = score["inputs"]["encoder"]
        component_changed(card)
        spec = {key: card[key] for key in ("provider", "version", "settings", "identity")}
        card["fingerprint"] = sha256_of(spec)

    ledger.change_json(f"{GENCEPTION}.json", other)
    said = found(ledger)
    [(where, what)] = said.items()
    assert where == f"stage drift@my_images-{MODEL}-painter-layout"
    assert "it ran with encoders.layout" in what


def test_the_seed_and_the_names_are_those_of_the_inputs(ledger: Ledger) -> None:
    ledger.change_json(f"{GENCEPTION}.json", lambda score: score["inputs"]["settings"].update(seed=9))
    ledger.change_json(f"{FIDELITY}.json", lambda score: score.update(generator="brush"))
    said = found(ledger)
    assert "it ran with run.seed = 1, and the score has 9" in said[f"stage drift@my_images-{MODEL}-painter-layout"]
    assert said[f"{FIDELITY}.json: generator"] == "it is brush, and its inputs name painter"


def test_files_are_read_as_they_were_written_where_they_can_be_had(ledger: Ledger) -> None:
    """What the workspace holds is no part of the evidence: the check of bytes names it."""
    picture = ledger.root / CHAINS / "images" / "round_1" / "2.png"
    picture.unlink()
    picture.write_bytes(b"another picture")
    assert found(ledger) == {}
    shutil.rmtree(ledger.root / ".dvc" / "cache")
    assert list(found(ledger)) == [f"{CHAINS}/images/round_1/2.png"]

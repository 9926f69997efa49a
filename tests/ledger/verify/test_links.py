"""Files that DVC vouches for, and that do not belong together all the same: each change is followed by every MD5."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from driftledger.core.canonical import sha256_of
from driftledger.ledger.verify.links import check_links
from driftledger.ledger.verify.lock_check import plain
from tests.ledger.verify.conftest import (
    CHAINS,
    DESCRIPTIONS,
    FIDELITY,
    GENCEPTION,
    MM_SAP,
    MM_VET,
    MODEL,
    TRAC,
    Ledger,
    places,
)

CHAIN_RECORDS = f"{CHAINS}/records.jsonl"
DATA = "data/datasets/my_images"
QUESTIONS = "data/questions/scenes_mm_sap"
ANSWERS, GRADES = f"data/answers/scenes_mm_sap/{MODEL}", f"data/grades/scenes_mm_sap/{MODEL}"
JUDGED = f"data/grades/scenes_mm_vet/{MODEL}"

Change = Callable[[dict[str, Any]], object]


def found(ledger: Ledger) -> dict[str, str]:
    """Where findings are → what they say, line by line."""
    said: dict[str, list[str]] = {}
    for finding in check_links([ledger.evidence], ledger.contents).findings:
        said.setdefault(finding.where, []).append(finding.what)
    return {where: "\n".join(lines) for where, lines in said.items()}


def test_what_was_written_belongs_together(kept: Ledger) -> None:
    result = check_links([kept.evidence], kept.contents)
    assert result.findings == []
    assert all(result.checked[what] > 20 for what in ("images", "records", "fingerprints", "links"))


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
    assert said[f"{QUESTIONS}/images/777.png"] == "no record has this file"


def test_a_file_beside_drawn_images_has_a_record(ledger: Ledger) -> None:
    (ledger.root / CHAINS / "images" / "more.png").write_bytes(b"")
    ledger.write(f"{CHAINS}/images/more.png", b"one more")
    assert found(ledger) == {f"{CHAINS}/images/more.png": "no record has this file"}


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
    result = check_links([ledger.evidence], ledger.contents)
    named = [f.what for f in result.findings if f.where == CHAIN_RECORDS]
    assert any(what.startswith("sample round_") and said in what for what in named)
    assert f"bytes {GENCEPTION}/score.json: inputs.records.chain" in places(result.findings)


def test_the_first_record_of_a_chain_starts_from_the_sample(ledger: Ledger) -> None:
    ledger.change_row(CHAIN_RECORDS, lambda row: row.update(parent_sha256="0" * 64))
    assert found(ledger)[CHAIN_RECORDS] == "sample round_1, t = 1: its parent_sha256 is not that of the sample's image"


@pytest.mark.parametrize(
    ("folder", "key", "said", "where"),
    [
        (DESCRIPTIONS, "sample", "data/datasets/beetles has none", f"{TRAC}/score.json: inputs.records.describe"),
        (ANSWERS, "question", f"{QUESTIONS} has none", f"{MM_SAP}/score.json: inputs.records.answer"),
        (GRADES, "question", f"{QUESTIONS} has none", f"{MM_SAP}/score.json: inputs.records.grade"),
    ],
)
def test_records_are_of_what_there_is(ledger: Ledger, folder: str, key: str, said: str, where: str) -> None:
    ledger.change_row(f"{folder}/records.jsonl", lambda row: row.update({key: "nobody"}))
    named = found(ledger)
    assert f"{said} that is called nobody" in named[f"{folder}/records.jsonl"]
    assert where in named


def test_an_example_is_a_sample_of_the_dataset(ledger: Ledger) -> None:
    ledger.change_row(f"{DESCRIPTIONS}/records.jsonl", lambda row: row.update(demonstrations=["nobody"]))
    assert "nobody" in found(ledger)[f"{DESCRIPTIONS}/records.jsonl"]


def test_the_same_record_twice_is_named(ledger: Ledger) -> None:
    first = ledger.change_row(f"{ANSWERS}/records.jsonl", lambda row: row)
    ledger.change_row(f"{ANSWERS}/records.jsonl", lambda row: row.update(first), number=1)
    said = found(ledger)[f"{ANSWERS}/records.jsonl"]
    assert said.startswith(f"question {first['question']}, variant 0")
    assert said.endswith(": there are 2 such records")


def test_a_record_that_cannot_be_read_is_named_with_its_line(ledger: Ledger) -> None:
    ledger.change_row(CHAIN_RECORDS, lambda row: row.update(outcome="fine"), number=2)
    said = found(ledger)
    assert said.pop(CHAIN_RECORDS).startswith("records.jsonl, line 3 is not a ChainRecord")
    assert list(said) == [f"{GENCEPTION}/score.json: inputs.records.chain"]


def test_digests_are_those_of_the_files(ledger: Ledger) -> None:
    ledger.change_row(f"{DATA}/samples.jsonl", lambda row: row.update(category="triangle"))
    ledger.change_row(f"{QUESTIONS}/questions.jsonl", lambda row: row.update(question="And what now?"))
    said = found(ledger)
    assert "and samples.jsonl gives" in said[f"{DATA}/dataset.json"]
    assert "and questions.jsonl gives" in said[f"{QUESTIONS}/question_set.json"]
    for place in (GENCEPTION, FIDELITY, MM_SAP):
        assert f"{place}/score.json: inputs.data_digest" in said
    for place in (CHAINS, ANSWERS, GRADES):
        assert f"{place}/components.json: data_digest" in said
    ledger.change_row(f"{DATA}/samples.jsonl", lambda row: row.update(category="round", notes=["told by hand"]))
    assert f"{GENCEPTION}/score.json: inputs.data_digest" not in found(ledger)


def test_cards_count_what_there_is(ledger: Ledger) -> None:
    ledger.change_json(f"{QUESTIONS}/question_set.json", lambda card: card.update(questions=7))
    lines = len((ledger.root / QUESTIONS / "questions.jsonl").read_bytes().splitlines())
    what = f"it counts 7 questions, and questions.jsonl has {lines}"
    assert found(ledger) == {f"{QUESTIONS}/question_set.json": what}


def component_changed(card: dict[str, Any]) -> None:
    card["settings"]["batch_size"] = 3


def test_a_component_has_the_fingerprint_of_its_specification(ledger: Ledger) -> None:
    ledger.change_json(f"{CHAINS}/components.json", lambda card: component_changed(card["components"]["generator"]))
    ledger.change_score(MM_SAP, lambda score: component_changed(score["components"]["model"]))
    said = found(ledger)
    where = f"{CHAINS}/components.json: components.generator"
    assert "is not that of the provider, version, settings and identity" in said[where]
    assert f"{GENCEPTION}/score.json: components.generator" in said  # which is the folder's no longer
    assert "is not that of the provider" in said[f"{MM_SAP}/score.json: components.model"]


def with_own_fingerprint(card: dict[str, Any]) -> None:
    component_changed(card)
    spec = {key: card[key] for key in ("provider", "version", "settings", "identity")}
    card["fingerprint"] = sha256_of(spec)


def test_another_component_with_a_fingerprint_of_its_own_is_not_the_one_that_ran(ledger: Ledger) -> None:
    ledger.change_score(GENCEPTION, lambda score: with_own_fingerprint(score["components"]["encoder"]))
    [(where, what)] = found(ledger).items()
    assert where == f"stage genception@my_images-{MODEL}-painter-layout"
    assert "it ran with encoders.layout" in what


def test_a_component_is_the_one_that_was_asked(ledger: Ledger) -> None:
    """Another judge, with a fingerprint of its own, did not grade these, and is not what the stage ran with."""
    ledger.change_score(MM_VET, lambda score: with_own_fingerprint(score["components"]["judge"]))
    said = found(ledger)
    assert sorted(said) == [f"{MM_VET}/score.json: components.judge", f"stage grade@scenes_mm_vet-{MODEL}"]
    assert "it ran with judge = " in said[f"stage grade@scenes_mm_vet-{MODEL}"]


PROTOCOLS: dict[str, tuple[str, str, Any, list[str]]] = {
    "prompt": (
        GENCEPTION,
        "describe_prompt",
        "Tell it.",
        [f"stage chain@my_images-{MODEL}-painter", "stage witness@my_images"],
    ),
    "iterations": (
        GENCEPTION,
        "iterations",
        1,
        [f"stage chain@my_images-{MODEL}-painter", f"stage genception@my_images-{MODEL}-painter-layout"],
    ),
    "length": (TRAC, "max_tokens", [7], []),
    "parser": (MM_SAP, "parser", "0", []),
    "grade prompt": (MM_VET, "grade_prompt", "Grade it.", [f"stage grade@scenes_mm_vet-{MODEL}"]),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_how_it_was_asked_is_how_the_card_has_it(ledger: Ledger, name: str) -> None:
    folder, key, value, stages = PROTOCOLS[name]
    ledger.change_score(folder, lambda score: score["inputs"]["protocol"].update({key: value}))
    said = found(ledger)
    assert sorted(said) == sorted([f"{folder}/score.json: inputs.protocol.{key}", *stages])
    assert f"it is {plain(value)}, and " in said[f"{folder}/score.json: inputs.protocol.{key}"]


def test_the_seed_and_the_settings_are_those_that_the_stages_ran_with(ledger: Ledger) -> None:
    ledger.change_score(GENCEPTION, lambda score: score["inputs"]["settings"].update(seed=9))
    ledger.change_score(FIDELITY, lambda score: score["inputs"]["settings"].update(ssim_side=64))
    said = found(ledger)
    assert "it ran with run.seed = 1, and the score has 9" in said[f"stage genception@my_images-{MODEL}-painter-layout"]
    side = said[f"stage fidelity@my_images-{MODEL}-painter-layout"]
    assert side == "it ran with fidelity.ssim_side = 256, and the score has 64"


@pytest.mark.parametrize(
    ("setting", "value", "unsaid"), [("iterations_by_group", {"textual": 1}, None), ("repeats", 3, 1)]
)
def test_a_setting_that_a_score_does_not_name_is_one_that_was_not_set(
    ledger: Ledger, setting: str, value: object, unsaid: object
) -> None:
    stage = f"chain@my_images-{MODEL}-painter"

    def change(stages: dict[str, Any]) -> None:
        if stage in stages:
            stages[stage]["params"]["params.yaml"][f"genception.{setting}"] = value

    ledger.change_locks(change)
    said = set(found(ledger)[f"stage {stage}"].splitlines())  # in the protocol and in the settings
    assert said == {f"it ran with genception.{setting} = {value}, and the score has {unsaid}"}


def test_the_keys_of_a_score_are_those_of_its_stage_and_its_components(ledger: Ledger) -> None:
    ledger.change_score(FIDELITY, lambda score: score["keys"].update(generator="brush"))
    said = found(ledger)
    assert sorted(said) == [f"{FIDELITY}/score.json: components.generator", f"{FIDELITY}/score.json: keys"]
    assert said[f"{FIDELITY}/score.json: components.generator"] == (
        "it is called painter, and the score is that of brush"
    )


def test_a_card_is_that_of_its_folder(ledger: Ledger) -> None:
    ledger.change_json(f"{DESCRIPTIONS}/components.json", lambda card: card["keys"].update(description="plain"))
    assert found(ledger) == {
        f"{DESCRIPTIONS}/components.json": (
            f"it is the card of describe of trac in data/descriptions/beetles/{MODEL}/plain"
        )
    }


def test_a_card_by_which_records_cannot_be_followed_is_named(ledger: Ledger) -> None:
    ledger.change_json(f"{CHAINS}/components.json", lambda card: card["protocol"].pop("seed"))
    said = found(ledger)
    assert said == {f"{CHAINS}/components.json": "its records cannot be followed by it: KeyError: 'seed'"}


def test_a_role_that_nobody_plays_is_no_trouble(ledger: Ledger) -> None:
    """That no record has it is for the recomputation to say."""
    ledger.change_score(GENCEPTION, lambda score: score["components"].update(muse=score["components"]["model"]))
    assert found(ledger) == {}


def test_grades_are_of_the_answers_beside_them(ledger: Ledger) -> None:
    """A card that names other answers than those that the score was computed from."""
    ledger.change_json(f"{GRADES}/components.json", lambda card: card["records"].update(answer="0" * 64))
    [(where, what)] = found(ledger).items()
    assert where == f"{GRADES}/components.json: records.answer"
    assert f"{ANSWERS}/records.jsonl gives" in what


def test_numbers_for_dvc_are_those_of_the_score(ledger: Ledger) -> None:
    ledger.change_json(f"{GENCEPTION}/metrics.json", lambda metrics: metrics.update(gc_at_2=0.99))
    assert found(ledger) == {f"{GENCEPTION}/metrics.json": f"its numbers are not those of {GENCEPTION}/score.json"}


def test_files_are_read_as_they_were_written_where_they_can_be_had(ledger: Ledger) -> None:
    """What the workspace holds is no part of the evidence: the check of bytes names it."""
    picture = ledger.root / CHAINS / "images" / "round_1" / "2.png"
    picture.unlink()
    picture.write_bytes(b"another picture")
    assert found(ledger) == {}
    shutil.rmtree(ledger.root / ".dvc" / "cache")
    assert list(found(ledger)) == [f"{CHAINS}/images/round_1/2.png"]

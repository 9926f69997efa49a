"""What is behind TRAC's and fidelity's scores, beside the other benchmarks' and without them."""

import unicodedata
from pathlib import Path

import pytest
import yaml
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.core.errors import LedgerError
from driftledger.core.paths import Combination, Layout
from driftledger.ledger.audit.audit import as_text
from driftledger.ledger.lineage import Evidence, Selected, read_all_evidence, read_evidence
from tests.support.description_ledgers import (
    DESCRIPTIONS,
    READERS,
    add_fidelity,
    add_trac,
    descriptions_card,
    fidelity_score,
    trac_score,
)
from tests.support.ledgers import COMBINATION, component, write_ledger
from tests.support.question_ledgers import add_questions

TRAC = Selected(trac=["digits"], descriptions=DESCRIPTIONS, text_encoders=READERS)
ALL = TRAC._replace(genception=["shapes"], fidelity=["shapes"], question_sets=["exam"])
HOSTILE = "\x1b[2J\x07\r\n\u202eevil\u2066 [bold]x[/bold]\x85"


def write_all(root: Path) -> None:
    write_ledger(root)
    add_trac(root)
    add_fidelity(root)
    add_questions(root)


def evidence(root: Path, selected: Selected = ALL) -> Evidence:
    return read_evidence(Layout(root), selected, COMBINATION)


def test_every_benchmark_leads_to_its_folders_and_stages(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = [
        (each.score.benchmark, each.on, list(each.collected), [stage.partition("@")[0] for stage in each.stages])
        for each in evidence(tmp_path).behind
    ]
    assert found == [
        ("genception", "shapes", ["chain"], ["dataset", "chain", "drift"]),
        *[("trac", "digits", ["describe"], ["dataset", "describe", "trac"])] * 4,
        ("fidelity", "shapes", ["redraw"], ["dataset", "redraw", "fidelity"]),
        ("mm_sap", "exam", ["answer", "grade"], ["question_set", "answer", "grade", "score"]),
    ]


def test_scores_of_a_kind_are_found_in_the_order_of_the_selection(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = evidence(tmp_path)
    pairs = [(each.score.description, each.score.encoder) for each in found.of(TracScore)]
    assert pairs == [("short", "reader"), ("short", "counter"), ("shown", "reader"), ("shown", "counter")]
    assert [len(found.of(kind)) for kind in (ScoreFile, FidelityScore, QuestionScore)] == [1, 1, 1]
    trac = found.of(TracScore)[0]
    assert trac.data.path == "data/datasets/digits"
    assert trac.collected["describe"].path == "data/descriptions/digits/seer/short"
    assert trac.score_file.path == "reports/scores/trac/digits/seer/short/reader.json"


def test_evidence_of_all_benchmarks_comes_back_from_json(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = evidence(tmp_path)
    again = Evidence.model_validate_json(found.model_dump_json(indent=2, by_alias=True))
    assert again == found
    assert [type(each.score) for each in again.behind] == [type(each.score) for each in found.behind]


def test_the_components_of_a_run_come_from_whichever_score_has_them(tmp_path: Path) -> None:
    write_all(tmp_path)
    cards = evidence(tmp_path).cards
    assert {role: card.name for role, card in cards.items()} == {
        "model": "seer",
        "generator": "brush",
        "encoder": "eye",
        "text_encoder": "reader",
    }
    assert evidence(tmp_path, TRAC).cards.keys() == {"model", "text_encoder"}
    assert evidence(tmp_path, Selected(fidelity=["shapes"])).cards.keys() == {"model", "generator", "encoder"}


def test_runs_without_generated_images_stay_apart(tmp_path: Path) -> None:
    add_trac(tmp_path)
    others = [COMBINATION, Combination("seer", "crayon", "eye"), Combination("seer", "brush", "ear")]
    found = read_all_evidence(Layout(tmp_path), TRAC, others)
    assert len({each.fingerprint for each in found}) == 3


def test_another_headline_is_another_run(tmp_path: Path) -> None:
    write_all(tmp_path)
    swapped = ALL._replace(text_encoders=READERS[::-1])
    assert evidence(tmp_path).fingerprint != evidence(tmp_path, swapped).fingerprint


@pytest.mark.parametrize("stage", ["dataset@digits", "describe@digits-seer-shown", "trac@digits-seer-short-counter"])
def test_a_stage_of_trac_that_has_not_run_is_named(tmp_path: Path, stage: str) -> None:
    add_trac(tmp_path)
    lock = yaml.safe_load((tmp_path / "dvc.lock").read_text(encoding="utf-8"))
    del lock["stages"][stage]
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock), encoding="utf-8")
    with pytest.raises(LedgerError, match=f"no dvc.lock here has a stage '{stage}'; run 'dvc repro' first"):
        evidence(tmp_path, TRAC)


def test_a_trac_score_that_was_altered_is_not_believed(tmp_path: Path) -> None:
    add_trac(tmp_path)
    path = Layout(tmp_path).trac_scores("digits", "seer", "short", "reader")
    path.write_text(path.read_text(encoding="utf-8").replace("64.0", "99.0"), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"reader\.json is not the file that dvc\.lock speaks of"):
        evidence(tmp_path, TRAC)


def test_the_audit_leads_from_a_trac_score_to_the_demonstrations(tmp_path: Path) -> None:
    add_trac(tmp_path, trac_score("shown", absent={"top1_naming": "no description names its class"}))
    found = evidence(tmp_path, Selected(trac=["digits"], descriptions=["shown"], text_encoders=["reader"]))
    text = as_text(found)
    for link in (
        "trac on digits, described as shown, read by reader: coverage 1/1",
        "top1 = 64.0",
        "absent: top1_naming: no description names its class",
        f"text encoder: reader, fingerprint {component('reader').fingerprint}",
        f"descriptions: data/descriptions/digits/seer/shown, md5 {'4' * 32}.dir, 2 files",
        f"digest: descriptions.jsonl sha256 {'f' * 64}",
        f"model: seer, fingerprint {component('seer').fingerprint}",
        "prompt: Describe the digit.",
        "at most: the model's own limit",
        "demonstrations: similar_image, 1, 2 per image, from the support set",
        f"similarity seen by: eye, fingerprint {component('eye').fingerprint}",
        f"described by: narrator, fingerprint {component('narrator').fingerprint}",
        f"dataset: data/datasets/digits, md5 {'3' * 32}.dir, 4 files",
        f"digest: {'d' * 64}",
        "dvc.lock: dataset@digits, describe@digits-seer-shown, trac@digits-seer-shown-reader",
    ):
        assert link in text, link


def test_the_audit_leads_from_a_fidelity_score_to_generator_and_ratings(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    text = as_text(evidence(tmp_path, Selected(fidelity=["shapes"])))
    for link in (
        "fidelity on shapes: coverage 1/2",
        "ssim = 31.5",
        "absent: clip_s: eye has no text tower",
        'human ratings: {"raters":3,"stale":0,"used":6}',
        f"images: data/redraws/shapes/seer/brush, md5 {'9' * 32}.dir, 3 files",
        f"generator: brush, fingerprint {component('brush').fingerprint}",
        "prompt: Draw: {description}",
        "seed: 7, and T = 1",
        "prompt: Describe the shape.",
        "at most: 64 tokens",
    ):
        assert link in text, link


def test_hostile_text_makes_no_line_of_its_own(tmp_path: Path) -> None:
    write_ledger(tmp_path / "plain")
    write_ledger(tmp_path / "hostile")
    selected = Selected(trac=["digits"], descriptions=["short"], text_encoders=["reader"], fidelity=["shapes"])
    for folder, said in (("plain", "x"), ("hostile", HOSTILE)):
        card = descriptions_card(prompt=said, model=component("seer", identity={"served_model": said}))
        add_trac(tmp_path / folder, trac_score(descriptions=card, flags=[said], absent={"vote": said}))
        add_fidelity(tmp_path / folder, fidelity_score(flags=[said], absent={"clip_s": said}))
    plain, hostile = (as_text(evidence(tmp_path / folder, selected)) for folder in ("plain", "hostile"))
    assert len(hostile.splitlines()) == len(plain.splitlines())
    assert {letter for letter in hostile if unicodedata.category(letter) in ("Cc", "Zl", "Zp")} == {"\n"}
    assert not {"\u202e", "\u2066"} & set(hostile)

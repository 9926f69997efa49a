"""What stands behind the scores of all benchmarks, of some beside each other and alone."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import LedgerError
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import Evidence, read_all_evidence, read_evidence
from tests.support.audited import as_text
from tests.support.description_ledgers import FIDELITY, TRAC, add_fidelity, add_trac, fidelity_score, trac_score
from tests.support.ledgers import COMBINATION, KEYS, component, selected, varied, write_ledger, write_lock
from tests.support.question_ledgers import EXAM, add_questions

EVERY = [("genception", KEYS), *TRAC, *FIDELITY, ("mm_sap", EXAM)]
SHOWN = [(name, keys) for name, keys in TRAC if (keys["description"], keys["text_encoder"]) == ("shown", "reader")]
HOSTILE = "\x1b[2J\x07\r\n\u202eevil\u2066 [bold]x[/bold]\x85"


def write_all(root: Path) -> None:
    write_ledger(root)
    add_trac(root)
    add_fidelity(root)
    add_questions(root)


def evidence(root: Path, some: Selected | None = None) -> Evidence:
    return read_evidence(root, some or selected(*EVERY), COMBINATION)


def test_every_score_leads_to_its_folders_and_stages_in_the_order_of_the_selection(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = [
        (each.place, list(each.collected), [stage.partition("@")[0] for stage in each.stages])
        for each in evidence(tmp_path).lineages
    ]
    asked = [f"trac/digits/{ask}/{reader}" for ask in ("short", "shown") for reader in ("reader", "counter")]
    assert found == [
        ("genception/shapes", ["chain"], ["dataset", "chain", "genception"]),
        *[(place, ["describe"], ["dataset", "describe", "trac"]) for place in asked],
        ("fidelity/shapes", ["redraw"], ["dataset", "redraw", "fidelity"]),
        ("mm_sap/exam", ["answer", "grade"], ["question_set", "answer", "grade", "mm_sap"]),
    ]
    trac = evidence(tmp_path).lineages[1]
    assert trac.data.path == "data/datasets/digits"
    assert trac.collected["describe"].path == "data/descriptions/digits/seer/short"
    assert trac.score_file.path == "reports/scores/trac/digits/seer/short/reader/score.json"


def test_evidence_of_all_benchmarks_comes_back_from_json(tmp_path: Path) -> None:
    write_all(tmp_path)
    found = evidence(tmp_path)
    assert Evidence.model_validate_json(found.model_dump_json(indent=2, by_alias=True)) == found


def test_the_components_of_a_run_come_from_whichever_score_has_them(tmp_path: Path) -> None:
    write_all(tmp_path)
    own = {"model": "seer", "generator": "brush", "encoder": "eye"}
    told = {"text_encoder": "reader", "example_encoder": "eye", "example_model": "narrator"}
    assert {role: card.name for role, card in evidence(tmp_path).components.items()} == own | told
    assert evidence(tmp_path, selected(*TRAC)).components.keys() == {"model", *told}
    assert evidence(tmp_path, selected(*FIDELITY)).components.keys() == own.keys()


def test_runs_without_generated_images_stay_apart(tmp_path: Path) -> None:
    add_trac(tmp_path)
    others = [COMBINATION, Combination("seer", "crayon", "eye"), Combination("seer", "brush", "ear")]
    found = read_all_evidence(tmp_path, selected(*TRAC), others)
    assert len({each.fingerprint for each in found}) == 3


def test_another_headline_is_another_run(tmp_path: Path) -> None:
    write_all(tmp_path)
    swapped = [("genception", KEYS), *(TRAC[i] for i in (1, 0, 3, 2)), *FIDELITY, ("mm_sap", EXAM)]
    assert evidence(tmp_path).fingerprint != evidence(tmp_path, selected(*swapped)).fingerprint


@pytest.mark.parametrize(
    "stage", ["dataset@digits", "describe@digits-seer-shown", "trac@digits-seer-short-counter", "grade@exam-seer"]
)
def test_a_stage_of_one_benchmark_that_has_not_run_is_named(tmp_path: Path, stage: str) -> None:
    write_all(tmp_path)
    lock = yaml.safe_load((tmp_path / "dvc.lock").read_text(encoding="utf-8"))
    del lock["stages"][stage]
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock), encoding="utf-8")
    with pytest.raises(LedgerError, match=f"no dvc.lock here has a stage '{stage}'; run 'dvc repro' first"):
        evidence(tmp_path)


@pytest.mark.parametrize("number", range(len(EVERY)))
def test_no_score_that_was_altered_is_believed(tmp_path: Path, number: int) -> None:
    write_all(tmp_path)
    path = tmp_path / evidence(tmp_path).lineages[number].score_file.path
    path.write_text(path.read_text(encoding="utf-8").replace('"coverage":', '"coverage": '), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"score\.json is not the file that dvc\.lock has"):
        evidence(tmp_path)


def test_the_audit_leads_from_a_score_over_descriptions_to_the_demonstrations(tmp_path: Path) -> None:
    add_trac(tmp_path, trac_score("shown", absent={"vote": "no description names its class"}))
    text = as_text(evidence(tmp_path, selected(*SHOWN)))
    for link in (
        "trac on digits/shown/reader: top-1 = 64.0000, coverage 1/1",
        "top1 = 64.0",
        "absent: vote: no description names its class",
        f"text encoder: reader, fingerprint {component('reader').fingerprint}",
        f"describe: data/descriptions/digits/seer/shown, md5 {'4' * 32}.dir, 2 files",
        f"records.jsonl: sha256 {'f' * 64}",
        f"model: seer, fingerprint {component('seer').fingerprint}",
        "prompt: Describe the digit.",
        "max tokens: [null]",
        "choose: similar_image",
        "shots: [1,2]",
        f"example encoder: eye, fingerprint {component('eye').fingerprint}",
        f"example model: narrator, fingerprint {component('narrator').fingerprint}",
        f"dataset: data/datasets/digits, md5 {'3' * 32}.dir, 4 files",
        f"digest: {'d' * 64}",
        "dvc.lock: dataset@digits, describe@digits-seer-shown, trac@digits-seer-shown-reader",
    ):
        assert link in text, link


def test_the_audit_leads_from_a_score_over_redrawings_to_generator_and_ratings(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    assert "ratings" not in as_text(evidence(tmp_path, selected(*FIDELITY)))
    lock = yaml.safe_load((tmp_path / "dvc.lock").read_text(encoding="utf-8"))
    noted = lock["stages"]["fidelity@shapes-seer-brush-eye"]["params"]["data/resolved.json"]
    noted["beside.fidelity.ratings"] = "8" * 64
    write_lock(tmp_path, lock)
    text = as_text(evidence(tmp_path, selected(*FIDELITY)))
    for link in (
        "fidelity on shapes: SSIM = 31.5000, coverage 1/2",
        "ssim = 31.5",
        "absent: clip_s: eye has no text tower",
        f"redraw: data/redraws/shapes/seer/brush, md5 {'9' * 32}.dir, 3 files",
        f"generator: brush, fingerprint {component('brush').fingerprint}",
        "generate prompt: Draw: {description}",
        "seed: 7",
        "iterations: 1",
        "describe prompt: Describe the shape.",
        "max tokens: 64",
        f"ratings: sha256 {'8' * 64}",
    ):
        assert link in text, link


def test_hostile_text_makes_no_line_of_its_own(tmp_path: Path) -> None:
    for folder, said in (("plain", "x"), ("hostile", HOSTILE)):
        seer = component("seer", identity={"served_model": said})
        told: dict[str, Any] = {"flags": [said], "absent": {"vote": said}, "served": {"model": {said: 2}}}
        write_ledger(tmp_path / folder)
        add_trac(tmp_path / folder, varied(trac_score("shown", **told), prompt=said, model=seer))
        add_fidelity(tmp_path / folder, varied(fidelity_score(**told), describe_prompt=said))
    some = selected(*SHOWN, *FIDELITY)
    plain, hostile = (as_text(evidence(tmp_path / folder, some)) for folder in ("plain", "hostile"))
    assert len(hostile.splitlines()) == len(plain.splitlines())
    assert {letter for letter in hostile if unicodedata.category(letter) in ("Cc", "Zl", "Zp")} == {"\n"}
    assert not {"\u202e", "\u2066"} & set(hostile)

"""What is behind a score: by ``dvc.lock`` and the files it speaks of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.paths import Layout, drift_stage
from driftledger.ledger.lineage import Evidence, Selected, read_evidence
from tests.support.git import no_git_but_ours
from tests.support.ledgers import COMBINATION, lock_of, locked, score_file, write_ledger, write_lock

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

DATASET, CHAIN, DRIFT = "dataset@shapes", "chain@shapes-seer-brush", "drift@shapes-seer-brush-eye"


def read(root: Path) -> Evidence:
    return read_evidence(Layout(root), Selected(["shapes"]), COMBINATION)


def test_evidence_leads_to_files_stages_and_score(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    [behind] = evidence.behind
    assert (evidence.name, evidence.combination) == ("seer · brush · eye", COMBINATION)
    assert behind.score == score_file()
    assert behind.score_file.path == "reports/scores/genception/shapes/seer/brush/eye.json"
    assert list(behind.collected) == ["chain"]
    chain = behind.collected["chain"]
    assert (chain.path, chain.md5) == ("data/chains/shapes/seer/brush", "2" * 32 + ".dir")
    assert (behind.data.path, behind.data.md5) == ("data/datasets/shapes", "1" * 32 + ".dir")
    assert list(behind.stages) == [DATASET, CHAIN, DRIFT]
    assert len(evidence.fingerprint) == 64
    assert read(tmp_path) == evidence


def test_evidence_comes_back_from_json(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    text = evidence.model_dump_json(by_alias=True)
    assert Evidence.model_validate_json(text) == evidence
    assert str(tmp_path) not in text


Change = Callable[[dict[str, Any]], object]

KEEPS: dict[str, Change] = {
    "code is changed": lambda stages: stages[CHAIN]["deps"][1].update(md5="f" * 32, size=1),
    "code is a new dependency": lambda stages: stages[DRIFT]["deps"].append(locked("src/driftledger/new.py", "f" * 32)),
    "code is no dependency": lambda stages: stages[DRIFT]["deps"].pop(),
    "a stage that is not behind it": lambda stages: stages["resolve"]["outs"][0].update(md5="f" * 32),
    "another combination": lambda stages: stages.update({f"{DRIFT}2": stages[DRIFT]}),
}
CHANGES: dict[str, Change] = {
    "dataset": lambda stages: stages[DATASET]["outs"][0].update(md5="f" * 32),
    "chain": lambda stages: stages[CHAIN]["outs"][0].update(md5="f" * 32),
    "dataset of the chain": lambda stages: stages[CHAIN]["deps"][0].update(md5="f" * 32),
    "dataset of the score": lambda stages: stages[DRIFT]["deps"][1].update(md5="f" * 32),
    "values per sample": lambda stages: stages[DRIFT]["outs"][1].update(md5="f" * 32),
    "setting": lambda stages: stages[CHAIN]["params"]["params.yaml"].update({"run.seed": 8}),
    "nested setting": lambda stages: stages[CHAIN]["params"]["params.yaml"]["generators.brush"].update(size=1),
    "new setting": lambda stages: stages[DATASET]["params"]["params.yaml"].update({"x": None}),
    "command": lambda stages: stages[DRIFT].update(cmd="driftledger drift"),
    "output more": lambda stages: stages[DATASET]["outs"].append(locked("data/more", "0" * 32)),
}


@pytest.mark.parametrize("what", [*KEEPS, *CHANGES])
def test_the_fingerprint_hangs_on_bytes_and_settings_and_not_on_code(tmp_path: Path, what: str) -> None:
    write_ledger(tmp_path)
    before = read(tmp_path).fingerprint
    lock = lock_of(tmp_path, score_file())
    (KEEPS | CHANGES)[what](lock["stages"])
    write_lock(tmp_path, lock)
    assert (read(tmp_path).fingerprint == before) is (what in KEEPS)


def test_another_score_is_another_fingerprint(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "b", score_file(scored=1, coverage=0.5))
    assert read(tmp_path / "a").fingerprint != read(tmp_path / "b").fingerprint


def test_the_place_of_the_checkout_does_not_count(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "far" / "away")
    assert read(tmp_path / "a") == read(tmp_path / "far" / "away")


@pytest.mark.parametrize("stage", [DATASET, CHAIN, DRIFT])
def test_a_stage_that_has_not_run_is_named(tmp_path: Path, stage: str) -> None:
    write_ledger(tmp_path)
    lock = lock_of(tmp_path, score_file())
    del lock["stages"][stage]
    write_lock(tmp_path, lock)
    with pytest.raises(LedgerError, match=f"no dvc.lock here has a stage '{stage}'; run 'dvc repro' first"):
        read(tmp_path)


def test_a_score_file_that_was_altered_is_not_believed(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    path = Layout(tmp_path).scores("genception", "shapes", COMBINATION)
    path.write_text(path.read_text(encoding="utf-8").replace("0.7", "0.9"), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"eye\.json is not the file that dvc\.lock speaks of .*run 'dvc repro'"):
        read(tmp_path)


def test_a_score_file_that_is_gone_can_be_had_again(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    Layout(tmp_path).scores("genception", "shapes", COMBINATION).unlink()
    with pytest.raises(LedgerError, match=r"eye\.json is missing; run 'dvc repro', or 'git checkout reports/"):
        read(tmp_path)


def test_a_lock_of_other_outputs_is_one_sentence(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    lock = lock_of(tmp_path, score_file())
    lock["stages"][drift_stage("shapes", COMBINATION)]["outs"][0]["path"] = "scores/eye.json"
    write_lock(tmp_path, lock)
    with pytest.raises(LedgerError, match="dvc repro"):
        read(tmp_path)


def test_without_a_lock_nothing_has_run(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"dvc\.lock is missing"):
        read(tmp_path)

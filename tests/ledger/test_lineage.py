"""What stands behind a score: by ``dvc.lock`` and the files that it names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.lineage import Evidence, read_evidence
from tests.support.git import no_git_but_ours
from tests.support.ledgers import (
    COMBINATION,
    SCORE_FILE,
    SELECTED,
    genception_score,
    lock_of,
    locked,
    write_ledger,
    write_lock,
)

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

DATASET, CHAIN, SCORED = "dataset@shapes", "chain@shapes-seer-brush", "genception@shapes-seer-brush-eye"


def read(root: Path) -> Evidence:
    return read_evidence(root, SELECTED, COMBINATION)


def change_lock(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Write the ledger's lock with other stages."""
    lock = lock_of(root, genception_score())
    change(lock["stages"])
    write_lock(root, lock)


def test_evidence_leads_to_files_stages_and_score(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    [lineage] = evidence.lineages
    assert (evidence.name, evidence.combination) == ("seer · brush · eye", COMBINATION)
    assert lineage.score == genception_score()
    assert lineage.score_file.path == "reports/scores/genception/shapes/seer/brush/eye/score.json"
    assert lineage.rows_file.path == "reports/scores/genception/shapes/seer/brush/eye/rows.jsonl"
    assert list(lineage.collected) == ["chain"]
    chain = lineage.collected["chain"]
    assert (chain.path, chain.md5) == ("data/chains/shapes/seer/brush", "2" * 32 + ".dir")
    assert (lineage.data.path, lineage.data.md5) == ("data/datasets/shapes", "1" * 32 + ".dir")
    assert list(lineage.stages) == [DATASET, CHAIN, SCORED]
    assert len(evidence.fingerprint) == 64
    assert read(tmp_path) == evidence


def test_evidence_comes_back_from_json(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    text = evidence.model_dump_json(by_alias=True)
    assert Evidence.model_validate_json(text) == evidence
    assert str(tmp_path) not in text


Change = Callable[[dict[str, Any]], object]


def resolved(stages: dict[str, Any], stage: str) -> dict[str, Any]:
    found: dict[str, Any] = stages[stage]["params"]["data/resolved.json"]
    return found


KEEPS: dict[str, Change] = {
    "code is changed": lambda stages: resolved(stages, CHAIN).update({"code.genception.chain": "f" * 64}),
    "code of the data is changed": lambda stages: resolved(stages, DATASET).update({"code.dataset.shapes": "f" * 64}),
    "code is no dependency": lambda stages: resolved(stages, SCORED).pop("code.genception.genception"),
    "source files, as version 0.1 had them": lambda stages: stages[SCORED]["deps"].append(
        locked("src/driftledger/new.py", "f" * 32)
    ),
    "a stage that is not behind it": lambda stages: stages["resolve"]["outs"][0].update(md5="f" * 32),
    "another combination": lambda stages: stages.update({f"{SCORED}2": stages[SCORED]}),
}
CHANGES: dict[str, Change] = {
    "dataset": lambda stages: stages[DATASET]["outs"][0].update(md5="f" * 32),
    "chain": lambda stages: stages[CHAIN]["outs"][0].update(md5="f" * 32),
    "dataset of the chain": lambda stages: stages[CHAIN]["deps"][0].update(md5="f" * 32),
    "chain of the score": lambda stages: stages[SCORED]["deps"][0].update(md5="f" * 32),
    "dataset of the score": lambda stages: stages[SCORED]["deps"][1].update(md5="f" * 32),
    "rows": lambda stages: stages[SCORED]["outs"][1].update(md5="f" * 32),
    "setting": lambda stages: stages[CHAIN]["params"]["params.yaml"].update({"run.seed": 8}),
    "component": lambda stages: resolved(stages, CHAIN).update({"generators.brush": "f" * 64}),
    "nested setting": lambda stages: resolved(stages, DATASET)["settings.datasets.shapes"].update(size=1),
    "new setting": lambda stages: resolved(stages, DATASET).update({"x": None}),
    "command": lambda stages: stages[SCORED].update(cmd="driftledger score"),
    "output more": lambda stages: stages[DATASET]["outs"].append(locked("data/more", "0" * 32)),
}


@pytest.mark.parametrize("what", [*KEEPS, *CHANGES])
def test_the_fingerprint_depends_on_bytes_and_settings_and_not_on_code(tmp_path: Path, what: str) -> None:
    write_ledger(tmp_path)
    before = read(tmp_path).fingerprint
    change_lock(tmp_path, (KEEPS | CHANGES)[what])
    assert (read(tmp_path).fingerprint == before) is (what in KEEPS)


def test_another_score_is_another_fingerprint(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "b", genception_score(scored=1, coverage=0.5))
    assert read(tmp_path / "a").fingerprint != read(tmp_path / "b").fingerprint


def test_the_place_of_the_checkout_does_not_count(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "far" / "away")
    assert read(tmp_path / "a") == read(tmp_path / "far" / "away")


@pytest.mark.parametrize("stage", [DATASET, CHAIN, SCORED])
def test_a_stage_that_has_not_run_is_named(tmp_path: Path, stage: str) -> None:
    write_ledger(tmp_path)
    change_lock(tmp_path, lambda stages: stages.pop(stage))
    with pytest.raises(LedgerError, match=f"no dvc.lock here has a stage '{stage}'; run 'dvc repro' first"):
        read(tmp_path)


def test_a_score_file_that_was_altered_is_not_believed(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    path = tmp_path / SCORE_FILE
    path.write_text(path.read_text(encoding="utf-8").replace("0.7", "0.9"), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"score\.json is not the file that dvc\.lock has .*run 'dvc repro'"):
        read(tmp_path)


def test_a_score_file_that_is_gone_can_be_had_again(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    (tmp_path / SCORE_FILE).unlink()
    with pytest.raises(LedgerError, match=r"score\.json is missing; run 'dvc repro', or 'git checkout reports/"):
        read(tmp_path)


@pytest.mark.parametrize("number", [1, 2])
def test_a_lock_of_other_outputs_is_one_sentence(tmp_path: Path, number: int) -> None:
    write_ledger(tmp_path)
    change_lock(tmp_path, lambda stages: stages[SCORED]["outs"][number].update(path="scores/eye.json"))
    with pytest.raises(LedgerError, match=r"knows no output .*; run 'dvc repro'"):
        read(tmp_path)


def test_without_a_lock_nothing_has_run(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"dvc\.lock is missing"):
        read(tmp_path)

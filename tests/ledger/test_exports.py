"""What is exported is read by the tools whose format it is, and holds what the score files hold."""

import csv
import json
import re
from pathlib import Path

import pytest

from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import LedgerError
from driftledger.core.files import read_json
from driftledger.exports import export
from tests.ledger.conftest import GENCEPTION, MODEL, Ledger

RUN = f"{MODEL}/painter/layout"


def exported(ledger: Ledger, kind: str, out: Path) -> Path:
    assert export(ledger.project, kind, RUN, out / kind) >= 1
    return out / kind


def genception(ledger: Ledger) -> Score:
    return read_json(ledger.root / GENCEPTION / SCORE, Score)


@pytest.mark.parametrize(("kind", "run"), [("csvs", RUN), ("csv", f"{RUN}s")])
def test_the_nearest_name_is_suggested(original: Ledger, tmp_path: Path, kind: str, run: str) -> None:
    with pytest.raises(LedgerError, match="did you mean"):
        export(original.project, kind, run, tmp_path / "out")


def test_dates_are_the_commits_so_there_must_be_one(ledger: Ledger, tmp_path: Path) -> None:
    (ledger.root / ".git").rename(tmp_path / "elsewhere.git")
    with pytest.raises(LedgerError, match="date from the commit"):
        exported(ledger, "csv", tmp_path)


def test_csv_has_a_row_per_metric(original: Ledger, tmp_path: Path) -> None:
    with (exported(original, "csv", tmp_path) / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file) if row["benchmark"] == "genception"}
    metrics = genception(original).metrics
    row, key = rows["gc_at_1"], "gc_at_1"
    assert [float(row[each]) for each in ("value", "low", "high")] == [
        metrics[key], metrics[f"{key}_low"], metrics[f"{key}_high"],
    ]  # fmt: skip


def test_every_eval_ever_says_what_the_score_says(original: Ledger, tmp_path: Path) -> None:
    folder = exported(original, "every-eval-ever", tmp_path)
    [file] = (folder / "data/genception").rglob("*.json")
    assert re.fullmatch(rf"data/genception/unknown/{MODEL}/[0-9a-f-]{{36}}\.json", file.relative_to(folder).as_posix())
    results = {
        each["metric_config"]["metric_name"]: each for each in json.loads(file.read_bytes())["evaluation_results"]
    }
    gc, metrics = results["GC@1"], genception(original).metrics
    frechet = next(each for each in results.values() if "frechet" in each["metric_config"]["metric_id"])
    assert gc["score_details"]["score"] == metrics["gc_at_1"]
    assert gc["score_details"]["uncertainty"]["confidence_interval"] == {
        "lower": metrics["gc_at_1_low"], "upper": metrics["gc_at_1_high"], "confidence_level": 0.95,
    }  # fmt: skip
    assert not gc["metric_config"]["lower_is_better"]
    assert frechet["metric_config"]["lower_is_better"]

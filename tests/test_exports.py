"""What is exported is read by the tools whose format it is, and holds what the score files hold."""

import csv
import json
import re
import sys
from datetime import datetime
from pathlib import Path

import pytest

from driftledger.core.errors import LedgerError
from driftledger.exports import export
from driftledger.project.project import Project
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import COMBINATION, SELECTED

DATE = "2026-03-01T12:00:00+00:00"
HOSTILE = '<img src=x onerror=alert(1)> | `a` [b](http://x)\n---\n"]: \\ud800 =1+1'
RUN = "seer/brush/eye"


class Selecting(Project):
    """A project that selects the one run of the ledger."""

    combinations = (COMBINATION,)  # type: ignore[assignment]
    selected = SELECTED


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    made = audited_in(tmp_path, monkeypatch)
    made.produce(said=HOSTILE)
    made.commit("scores", DATE)
    return made


def exported(ledger: Audited, kind: str) -> Path:
    folder = ledger.root.parent / kind
    assert export(Selecting(ledger.root), kind, RUN, folder) == 1
    return folder


@pytest.mark.parametrize(("kind", "run"), [("csvs", RUN), ("csv", "seer/brush/eyes")])
def test_the_nearest_name_is_suggested(ledger: Audited, tmp_path: Path, kind: str, run: str) -> None:
    with pytest.raises(LedgerError, match="did you mean"):
        export(Selecting(ledger.root), kind, run, tmp_path / "out")


def test_dates_are_the_commits_so_there_must_be_one(ledger: Audited) -> None:
    (ledger.root / ".git").rename(ledger.root.parent / "elsewhere.git")
    with pytest.raises(LedgerError, match="date from the commit"):
        exported(ledger, "csv")


def test_csv_has_a_row_per_metric(ledger: Audited) -> None:
    with (exported(ledger, "csv") / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    row = rows["gc_at_2"]
    assert [row[key] for key in ("benchmark", "on", "value", "low", "high")] == [
        *("genception", "shapes", "0.7", "0.65", "0.75")
    ]


def test_every_eval_ever_takes_each_score(ledger: Audited) -> None:
    """The schema is that of the package's wheel, which ``make test`` installs; its code wants a newer Python."""
    jsonschema, schemas = pytest.importorskip("jsonschema"), Path(sys.prefix, "schemas/every_eval_ever/schemas")
    if not schemas.is_dir():
        pytest.skip("every-eval-ever is not installed; 'make test' does it")
    schema = json.loads((schemas / "eval.schema.json").read_bytes())
    [file] = exported(ledger, "every-eval-ever").rglob("*.json")
    record = json.loads(file.read_bytes())
    jsonschema.Draft7Validator(schema).validate(record)
    assert record["schema_version"] == schema["version"]


def test_every_eval_ever_says_what_the_score_says(ledger: Audited) -> None:
    folder = exported(ledger, "every-eval-ever")
    [file] = folder.rglob("*.json")
    assert re.fullmatch(r"data/genception/unknown/seer/[0-9a-f-]{36}\.json", file.relative_to(folder).as_posix())
    record = json.loads(file.read_bytes())
    results = {each["metric_config"]["metric_name"]: each for each in record["evaluation_results"]}
    gc = results["GC@2"]
    frechet = next(each for each in results.values() if "frechet_eye" in each["metric_config"]["metric_id"])
    assert gc["score_details"]["score"] == 0.7
    assert gc["score_details"]["uncertainty"]["confidence_interval"] == {
        "lower": 0.65,
        "upper": 0.75,
        "confidence_level": 0.95,
    }
    assert not gc["metric_config"]["lower_is_better"]
    assert frechet["metric_config"]["lower_is_better"]
    assert record["retrieved_timestamp"] == str(int(datetime.fromisoformat(DATE).timestamp()))


def test_inspect_reads_every_step_of_every_unit(ledger: Audited) -> None:
    reader = pytest.importorskip("inspect_ai.log")
    [file] = exported(ledger, "inspect").iterdir()
    log = reader.read_eval_log(str(file), resolve_attachments=True)
    assert (log.status, log.eval.model, log.eval.task) == ("success", "seer", "genception_shapes")
    assert log.eval.created.startswith("2026-03-01T12:00:00")
    assert {each.name: each.metrics["gc_at_2"].value for each in log.results.scores if each.name == "GC@2"} == {
        "GC@2": 0.7
    }
    sample = log.samples[0]
    assert (sample.id, sample.scores["GC@2"].value) == ("disc", 0.7)
    steps = [each.metadata["step"] for each in sample.messages[1:]]
    assert [step.rpartition(" ")[2] for step in steps] == ["1"] * 4 + ["2"] * 4
    assert HOSTILE.replace("\\ud800", "").split("\n")[0] in sample.messages[2].text
    [image] = [part.image for part in sample.messages[4].content if part.type == "image"]
    assert image.startswith("data:image/png;base64,")

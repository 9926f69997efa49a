"""What is exported is read by the tools whose format it is, and holds what the score files hold."""

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.files import write_json
from driftledger.exports.base import FORMATS, Run, files_of, write
from driftledger.ledger.lineage import read_evidence
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import COMBINATION, SELECTED

DATE = "2026-03-01T12:00:00+00:00"
HOSTILE = '<img src=x onerror=alert(1)> | `a` [b](http://x)\n---\n"]: \\ud800 =1+1'


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    made = audited_in(tmp_path, monkeypatch)
    made.produce(said=HOSTILE)
    made.commit("scores", DATE)
    return made


def run_of(ledger: Audited) -> Run:
    return Run.of(ledger.root, read_evidence(ledger.root, SELECTED, COMBINATION))


def exported(ledger: Audited, kind: str) -> Path:
    folder = ledger.root.parent / kind
    write(folder, files_of(kind, run_of(ledger)))
    return folder


def needs(kind: str) -> None:
    if kind == "inspect":
        pytest.importorskip("inspect_ai")


@pytest.mark.parametrize("kind", FORMATS)
def test_equal_runs_give_equal_bytes_wherever_they_are(
    ledger: Audited, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(kind)
    other = audited_in(tmp_path / "elsewhere", monkeypatch)
    other.produce(said=HOSTILE)
    other.commit("scores", DATE)
    here, there = (exported(each, kind) for each in (ledger, other))
    bytes_here, bytes_there = (
        {path.relative_to(top).as_posix(): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}
        for top in (here, there)
    )
    assert bytes_here == bytes_there != {}
    assert not [name for name, data in bytes_here.items() if str(tmp_path).encode() in data]


def test_dates_are_the_commits_so_there_must_be_one(ledger: Audited) -> None:
    assert run_of(ledger).date == datetime(2026, 3, 1, 12, tzinfo=UTC)
    (ledger.root / ".git").rename(ledger.root.parent / "elsewhere.git")
    with pytest.raises(LedgerError, match="dates from the commit"):
        run_of(ledger)


def test_rows_that_are_not_the_locks_are_not_exported(ledger: Audited) -> None:
    rows = ledger.score_path.with_name("rows.jsonl")
    rows.write_bytes(rows.read_bytes().replace(b"0.6", b"0.9"))
    with pytest.raises(LedgerError, match=r"rows\.jsonl is not the file"):
        run_of(ledger)


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


def test_croissant_is_valid_and_its_records_are_read_as_they_are(ledger: Audited) -> None:
    croissant = pytest.importorskip("mlcroissant")
    ledger.produce(samples={"0001": (200, 0, 0), "ring": (0, 200, 0)})
    ledger.commit("ids that look like numbers")
    folder = exported(ledger, "croissant") / "shapes"
    dataset = croissant.Dataset(folder / "croissant.json")
    assert list(dataset.metadata.ctx.issues.errors) == []
    records = list(dataset.records("samples"))
    assert [each["samples/id"] for each in records] == [b"0001", b"ring"]
    for record in records:
        assert (folder / record["samples/file"].decode()).is_file()


def test_the_hub_reads_the_model_index(ledger: Audited) -> None:
    cards = pytest.importorskip("huggingface_hub")
    folder = exported(ledger, "hf-model-card")
    card = cards.ModelCard.load(folder / "README.md")
    values = {each.metric_name: each.metric_value for each in card.data.eval_results}
    assert values["GC@2"] == 0.7
    assert not (folder / ".eval_results").exists()


def test_a_score_on_a_dataset_of_the_hub_has_its_eval_results(ledger: Audited) -> None:
    import yaml

    hub = pytest.importorskip("huggingface_hub")
    card: dict[str, Any] = json.loads((ledger.dataset / "dataset.json").read_bytes())
    card["source"] = {"kind": "huggingface", "dataset": "org/shapes", "revision": "c" * 40}
    write_json(ledger.dataset / "dataset.json", card)
    [file] = (exported(ledger, "hf-model-card") / ".eval_results").iterdir()
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    plain = [{**each["dataset"], **{key: each[key] for key in ("value", "date", "notes")}} for each in entries]
    made = [
        hub.EvalResultEntry(each.pop("id"), each.pop("task_id"), each.pop("value"), each.pop("revision"), **each)
        for each in plain
    ]
    assert hub.eval_result_entries_to_yaml(made) == entries
    assert made[0].dataset_id == "org/shapes"


def test_what_models_said_of_themselves_is_no_markup_in_a_card(ledger: Audited) -> None:
    from tests.support.ledgers import component

    ledger.produce(model=component("seer", mark=HOSTILE))
    ledger.commit("a mark")
    text = (exported(ledger, "hf-model-card") / "README.md").read_text(encoding="utf-8").partition("---\n\n")[2]
    assert "<img" not in text
    assert "](http" not in text

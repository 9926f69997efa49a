"""What differs between MLflow and what ``track`` would write is named, and ``track --repair`` mends it."""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import AssessmentSource, Feedback
from mlflow.tracing.client import TracingClient

from driftledger.ledger.findings import VerifyResult
from driftledger.tracking import check, runs, store
from driftledger.tracking.content import CURRENT, FINGERPRINT, NOTE, LoggedMetric, RunContent
from driftledger.tracking.store import Pushed
from driftledger.tracking.traces import Traces

from .contents import EXPERIMENT, generator, model, run, two_runs
from .steps import KILLED, watch_writes
from .stores import Store, descriptions

RUNS = [replace(each, tags={**each.tags, NOTE: "see `driftledger audit f1`"}) for each in two_runs()]


def compare(held: Store, runs: list[RunContent] = RUNS, whole: bool = True) -> VerifyResult:
    return check.compare(held.uri, EXPERIMENT, runs, whole)


def told(held: Store, runs: list[RunContent] = RUNS) -> list[str]:
    return [f"{each.where}: {each.what}" for each in compare(held, runs).findings]


def repair(held: Store, runs: list[RunContent] = RUNS) -> Pushed:
    return store.push(runs, tracking_uri=held.uri, experiment=EXPERIMENT, lock=held.lock, repair=True)


def sql(held: Store, statement: str, *values: Any) -> None:
    """What no client of MLflow's can do."""
    with sqlite3.connect(held.file) as database:
        database.execute(statement, values)
    database.close()


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory, migrated: Path, in_child: Callable[..., Any]) -> Path:
    """A store that holds :data:`RUNS`, to be moved where a test wants it: it knows where its artifacts are."""
    made = Store(tmp_path_factory.mktemp("pushed") / "store")
    made.folder.mkdir()
    shutil.copy(migrated / "mlflow.db", made.file)
    in_child(made.push, RUNS)
    return made.folder


@pytest.fixture
def held(pushed: Path, tmp_path: Path) -> Store:
    """A copy of it, whose artifacts are its own."""
    from mlflow.tracking._tracking_service import utils

    utils._artifact_repos_cache.clear()  # which knows the runs of the last copy, by the same ids
    copied = Store(tmp_path / "held")
    shutil.copytree(pushed, copied.folder)
    for table, column in (
        ("experiments", "artifact_location"),
        ("runs", "artifact_uri"),
        ("logged_models", "artifact_location"),
    ):
        sql(copied, f"UPDATE {table} SET {column} = replace({column}, ?, ?)", str(pushed), str(copied.folder))
    sql(
        copied,
        "UPDATE trace_tags SET value = replace(value, ?, ?) WHERE key = 'mlflow.artifactLocation'",
        str(pushed),
        str(copied.folder),
    )
    return copied


def first_of(held: Store, fingerprint: str = "f1") -> Any:
    [found] = held.client().search_runs([held.experiment_id()], f"tags.`{FINGERPRINT}` = '{fingerprint}'")
    return found


def test_what_track_wrote_holds(held: Store) -> None:
    result = compare(held)
    assert (result.findings, result.skipped) == ([], [])
    assert result.checked["runs"] == 2
    assert result.checked["metrics"] == 2 * 5
    assert (result.checked["traces"], result.checked["artifacts"]) == (2, 4)
    before = held.dump()
    assert repair(held) == Pushed(0, 0, 2)
    assert held.dump() == before


def all_to_099(held: Store) -> None:
    for table in ("metrics", "latest_metrics", "logged_model_metrics"):
        name = "metric_name" if table.startswith("logged") else "key"
        value = "metric_value" if table.startswith("logged") else "value"
        sql(held, f"UPDATE {table} SET {value} = 0.99 WHERE {name} LIKE 'genception%'")


def add_099(held: Store) -> None:
    held.client().log_metric(first_of(held).info.run_id, "genception/photos/gc_at_3", 0.99)


def list_099(held: Store) -> None:
    sql(held, "UPDATE latest_metrics SET value = 0.99 WHERE key = 'calls/seconds'")


def delete_metric(held: Store) -> None:
    for table in ("metrics", "latest_metrics"):
        sql(held, f"DELETE FROM {table} WHERE key = 'genception/photos/gc_at_3'")


def unlist_metric(held: Store) -> None:
    sql(held, "DELETE FROM latest_metrics WHERE key = 'genception/photos/gc_at_3'")


def add_metric(held: Store) -> None:
    held.client().log_metric(first_of(held).info.run_id, "mme/photos/score", 2000.0)


def move_step(held: Store) -> None:
    sql(held, "UPDATE metrics SET step = 7 WHERE key = 'genception/photos/gc' AND step = 2")


def change_metric_of_a_model(held: Store) -> None:
    sql(held, "UPDATE logged_model_metrics SET metric_value = 0.99 WHERE metric_name = 'genception/photos/gc_at_3'")


def change_tag(held: Store) -> None:
    held.client().set_tag(first_of(held).info.run_id, "git.commit", "decaf")


def delete_tag(held: Store) -> None:
    held.client().delete_tag(first_of(held).info.run_id, "git.dirty")


def add_tag(held: Store) -> None:
    held.client().set_tag(first_of(held).info.run_id, "judge.fingerprint", "00")


def change_note(held: Store) -> None:
    held.client().set_tag(first_of(held).info.run_id, NOTE, "the best of all")


def rename(held: Store) -> None:
    held.client().update_run(first_of(held).info.run_id, name="regions · painter · best")


def change_param(held: Store) -> None:
    sql(held, "UPDATE params SET value = '30' WHERE key = 'genception.iterations'")


def add_param(held: Store) -> None:
    held.client().log_param(first_of(held).info.run_id, "verified", "yes")


def change_dataset(held: Store) -> None:
    sql(held, "UPDATE datasets SET digest = 'feed'")


def add_dataset(held: Store) -> None:
    from mlflow.entities import Dataset, DatasetInput

    more = DatasetInput(Dataset("more", "beef", "dvc", "{}"), tags=[])
    held.client().log_inputs(first_of(held).info.run_id, datasets=[more])


def change_artifact(held: Store) -> None:
    [file] = held.folder.glob(f"mlartifacts/**/{first_of(held).info.run_id}/artifacts/evidence.json")
    file.write_text('{"better": 1}')


def change_table(held: Store) -> None:
    [file] = held.folder.glob(f"mlartifacts/**/{first_of(held).info.run_id}/artifacts/tables/samples.csv")
    file.write_text("id,gc\ncoffee,0.99\n")


def delete_artifact(held: Store) -> None:
    [file] = held.folder.glob(f"mlartifacts/**/{first_of(held).info.run_id}/artifacts/evidence.json")
    file.unlink()


def add_artifact(held: Store) -> None:
    held.client().log_text(first_of(held).info.run_id, "all is well", "report2.html")


def delete_trace(held: Store) -> None:
    [found] = held.client().search_traces([held.experiment_id()], "tags.unit = 'q1'")
    held.client().delete_traces(held.experiment_id(), trace_ids=[found.info.trace_id])


def change_trace(held: Store) -> None:
    sql(held, "UPDATE assessments SET value = '1.0'")


def link_another_model(held: Store) -> None:
    from mlflow.entities import LoggedModelInput

    [other] = held.client().search_logged_models([held.experiment_id()], "name = 'crayon'")
    held.client().log_inputs(first_of(held).info.run_id, models=[LoggedModelInput(other.model_id)])


def delete_run(held: Store) -> None:
    held.client().delete_run(first_of(held).info.run_id)


def cut_short(held: Store) -> None:
    held.client().update_run(first_of(held).info.run_id, "RUNNING")


GC = "genception/photos/gc_at_3"
CHANGES: dict[Callable[[Store], None], str] = {
    all_to_099: f"metric {GC}, step 0: is 0.99, not 0.9",
    add_099: f"metric {GC}, step 0: is 0.9 and 0.99 at another time, not 0.9",
    list_099: "metric calls/seconds: is 0.99, not 1.25",
    delete_metric: f"metric {GC}, step 0: is missing: track writes 0.9",
    unlist_metric: f"metric {GC}: is missing: track writes 0.9",
    add_metric: "metric mme/photos/score, step 0: is 2000.0 at another time, and track writes none",
    move_step: "metric genception/photos/gc, step 7: is 0.7857142857142857, and track writes none",
    change_metric_of_a_model: f"metric {GC}, step 0, of generator.painter@aa11: is 0.99 on photos@",
    change_tag: "tag git.commit: is decaf, not c0ffee",
    delete_tag: "tag git.dirty: is missing: track writes false",
    add_tag: "tag judge.fingerprint: is 00, and track writes none",
    change_note: "tag mlflow.note.content: is the best of all, not see",
    rename: "name: is regions · painter · best, not regions · painter · f1",
    change_param: "param genception.iterations: is 30, not 3",
    add_param: "param verified: is yes, and track writes none",
    change_dataset: "dataset photos: is feed, not 0123456789abcdef",
    add_dataset: "dataset more: is beef, and track writes none",
    change_artifact: "artifact evidence.json: is SHA-256 ",
    change_table: "artifact tables/samples.csv: is SHA-256 ",
    delete_artifact: "artifact evidence.json: is missing: track writes SHA-256 ",
    add_artifact: "artifact report2.html: is SHA-256 ",
    delete_trace: "trace q1 of mm_sap/exam: is missing: track writes ",
    change_trace: "trace coffee of genception/photos: is ",
    link_another_model: "component generator.crayon@bb22: is none of it",
    delete_run: "no finished run has its fingerprint f1; 'driftledger track' writes it",
    cut_short: "no finished run has its fingerprint f1; 'driftledger track' writes it",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_named_and_mended(held: Store, change: Callable[[Store], None]) -> None:
    was = held.dump()
    change(held)
    assert any(each.startswith(f"MLflow: {RUNS[0].name}: {CHANGES[change]}") for each in told(held)), told(held)
    repair(held)
    assert told(held) == []
    now = held.dump()
    now["runs"] = [each for each in now["runs"] if each["lifecycle"] == "active"]
    for each in (*was["runs"], *now["runs"]):
        each["tags"].pop(NOTE)  # which names the run, and that may be another
    assert now["runs"] == was["runs"]
    assert repair(held) == Pushed(0, 0, 2)


@pytest.mark.parametrize("change", [change_tag, change_artifact, delete_trace, rename, delete_artifact, delete_tag])
def test_where_mlflow_writes_over_what_was_there_a_run_keeps_its_id(
    held: Store, change: Callable[[Store], None]
) -> None:
    before = first_of(held).info.run_id
    change(held)
    assert repair(held) == Pushed(0, 1, 1)
    assert first_of(held).info.run_id == before


def test_what_mlflow_and_users_write_is_no_difference(held: Store) -> None:
    client, run_id = held.client(), first_of(held).info.run_id
    for key in ("mlflow.user", "mlflow.runColor", "mlflow.source.git.repoURL", "reviewed by", "mlflow.whatever"):
        client.set_tag(run_id, key, "someone")
    assert told(held) == []


def test_what_was_at_hand_when_a_run_was_written_is_not_checked(mlflow_store: Store) -> None:
    def one(version: bytes, seconds: float) -> RunContent:
        usage = LoggedMetric("usage/seconds_per_describe.genception.photos", seconds)
        artifacts = {"packages.txt": lambda: version, "dirty.patch": lambda: version}
        return run("f1", artifacts=artifacts, metrics=(usage,), traces=tuple)

    mlflow_store.push([one(b"a", 1.0)])
    result = compare(mlflow_store, [one(b"b", 2.0)])
    assert result.holds
    assert [each.where for each in result.skipped] == [
        f"MLflow: {what} of 1 runs" for what in ("artifact dirty.patch", "artifact packages.txt", "metric usage")
    ]
    assert repair(mlflow_store, [one(b"b", 2.0)]) == Pushed(0, 0, 1)


def _again(held: Store) -> None:
    """Another clone tracks at the same moment: it has not seen what this one writes."""
    client, experiment = held.client(), held.experiment_id()
    sql(held, "UPDATE tags SET value = 'x' || value WHERE key = ?", FINGERPRINT)
    for table, key in (("logged_model_tags", "tag_key"), ("model_version_tags", "key")):
        value = "tag_value" if key == "tag_key" else "value"
        sql(held, f"UPDATE {table} SET {value} = 'x' || {value} WHERE {key} = ?", FINGERPRINT)
    sql(held, "UPDATE tags SET value = 'false' WHERE key = ?", CURRENT)
    served = replace(RUNS[0], components=(generator(), model("regions", "cc33", "m-9")))
    held.push([served, RUNS[1]])
    for each in client.search_runs([experiment], f"tags.`{FINGERPRINT}` LIKE 'x%'"):
        sql(held, "UPDATE tags SET value = 'true' WHERE key = ? AND run_uuid = ?", CURRENT, each.info.run_id)
        fingerprint = each.data.tags[FINGERPRINT].lstrip("x")
        [first] = [content for content in RUNS if content.fingerprint == fingerprint]
        client.update_run(each.info.run_id, name=first.name)
        note = f"{first.tags[NOTE]}\n\nMLflow run `{each.info.run_id}`, fingerprint `{fingerprint}`"
        sql(held, "UPDATE tags SET value = ? WHERE key = ? AND run_uuid = ?", note, NOTE, each.info.run_id)
    sql(held, "UPDATE tags SET value = ltrim(value, 'x') WHERE key = ?", FINGERPRINT)
    for table, key in (("logged_model_tags", "tag_key"), ("model_version_tags", "key")):
        value = "tag_value" if key == "tag_key" else "value"
        sql(held, f"UPDATE {table} SET {value} = ltrim({value}, 'x') WHERE {key} = ?", FINGERPRINT)


def test_what_two_clones_wrote_at_once_is_merged(held: Store) -> None:
    client, experiment = held.client(), held.experiment_id()
    was = held.dump()
    first = {each.data.tags[FINGERPRINT]: each.info.run_id for each in client.search_runs([experiment])}
    _again(held)
    assert client.get_model_version_by_alias("generator.painter", "current").version in (2, "2")
    found = told(held)
    assert len(found) == 2 + 4 + 4
    assert sum("is there twice: version 2 is a double" in each for each in found) == 4
    assert sum(each.startswith("MLflow: logged model ") for each in found) == 4
    assert sum("shows what " in each for each in found) == 2
    assert repair(held) == Pushed(0, 0, 2, merged=10)
    assert told(held) == []
    assert {each.data.tags[FINGERPRINT]: each.info.run_id for each in client.search_runs([experiment])} == first
    now = held.dump()
    assert [each["aliases"] for each in now["registered_versions"]] == [["current"]] * 4
    served = [each["tags"]["served"] for each in now["logged_models"] if each["name"] == "regions"]
    assert served == ['["m-1","m-2","m-9"]']
    assert [each for each in now["runs"] if each["lifecycle"] == "active"] == was["runs"]
    assert repair(held) == Pushed(0, 0, 2)


def test_runs_linked_to_a_double_are_linked_to_what_stays(held: Store) -> None:
    """Also those that are not selected any more, whose records may be gone."""
    client = held.client()
    _again(held)
    linked = {
        each.model_id
        for each in client.get_run(client.search_runs([held.experiment_id()])[0].info.run_id).inputs.model_inputs
    }
    only = [each for each in client.search_runs([held.experiment_id()]) if each.data.tags[FINGERPRINT] == "f1"]
    client.delete_run(min(only, key=lambda each: (each.info.start_time, each.info.run_id)).info.run_id)
    repair(held, RUNS[1:])
    old = first_of(held, "f1")
    painter = next(each for each in client.search_logged_models([held.experiment_id()]) if each.name == "painter")
    assert linked
    assert painter.model_id in {each.model_id for each in client.get_run(old.info.run_id).inputs.model_inputs}
    rows = {row.key: row.value for row in painter.metrics if row.run_id == old.info.run_id}
    assert rows[GC] == 0.9


def test_a_run_that_another_has_superseded_says_so(mlflow_store: Store) -> None:
    tags = {NOTE: "Where it comes from: `driftledger audit regions/painter/layout`"}
    old, new, other = (run(each, name=name, tags=tags) for each, name in (("f1", "a"), ("f2", "a"), ("f3", "b")))
    mlflow_store.push([old, other])
    run_id = first_of(mlflow_store).info.run_id
    mlflow_store.push([new])
    shown = first_of(mlflow_store)
    assert shown.info.run_name == "a (superseded)"
    note = shown.data.tags[NOTE]
    assert note.startswith(f"**Superseded**: this is what MLflow run `{run_id}`, fingerprint `f1`, showed")
    assert "driftledger audit regions" not in note
    assert note.count("`driftledger audit f1`") == 1
    unselected = first_of(mlflow_store, "f3")
    assert unselected.info.run_name == "b"
    assert unselected.data.tags[NOTE].startswith("**Not selected now**")
    assert told(mlflow_store, [new]) == []
    mlflow_store.push([new, run("f4", name="b")])
    assert first_of(mlflow_store, "f3").info.run_name == "b (superseded)"
    mlflow_store.push([old])
    shown = first_of(mlflow_store)
    assert shown.info.run_name == "a"
    assert shown.data.tags[NOTE].startswith("Where it comes from")
    assert shown.data.tags[NOTE].endswith(f"MLflow run `{run_id}`, fingerprint `f1`")
    assert told(mlflow_store, [old]) == []


def test_a_run_that_an_earlier_version_let_go_of_is_named_and_mended(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", name="a"), run("f2", name="a")])
    client, run_id = mlflow_store.client(), first_of(mlflow_store).info.run_id
    client.set_tag(run_id, NOTE, "Where it comes from: `driftledger audit regions/painter/layout`")
    client.set_tag(run_id, CURRENT, "false")
    assert told(mlflow_store, [run("f2", name="a")]) == [
        f"MLflow: run {run_id}: is not selected now, and its tags do not say so: mlflow.runName, mlflow.note.content"
    ]
    repair(mlflow_store, [run("f2", name="a")])
    assert told(mlflow_store, [run("f2", name="a")]) == []
    assert "`driftledger audit f1`" in first_of(mlflow_store).data.tags[NOTE]


def _change_and_repair(held: Store, kill_at: int | None) -> int:
    writes = watch_writes(kill_at)
    repair(held)
    return writes.count


@pytest.mark.slow
def test_a_killed_repair_can_be_repeated(held: Store, tmp_path: Path, in_child: Callable[..., Any]) -> None:
    for change in (change_param, change_artifact, _again):
        in_child(change, held)
    before = tmp_path / "before"
    shutil.copytree(held.folder, before)
    steps = in_child(_change_and_repair, held, None)
    assert steps > 20
    expected = in_child(_shown, held)
    parts = 4  # each takes a second or two, and a push has a test of its own that is killed at every write
    for kill_at in (1 + part * (steps - 1) // parts for part in range(parts + 1)):
        shutil.rmtree(held.folder)
        shutil.copytree(before, held.folder)
        assert in_child(_change_and_repair, held, kill_at) == KILLED
        in_child(repair, held)
        assert in_child(_shown, held) == expected, f"killed at step {kill_at}"


def _shown(held: Store) -> Any:
    assert told(held) == []
    shown = held.dump()
    runs = [each for each in shown["runs"] if each["lifecycle"] == "active"]
    for each in runs:
        each["tags"].pop(NOTE)
    return runs, shown["logged_models"], shown["registered_versions"], descriptions(held.client())


@pytest.mark.parametrize("value", ["fine", True, 0.5, float("nan"), {"why": ["so"]}], ids=str)
def test_what_people_say_of_a_trace_is_theirs(held: Store, value: Any) -> None:
    """Also of what has a score of ours, by the name of that."""
    client, person = held.client(), AssessmentSource("HUMAN", "ada")
    for trace in client.search_traces([held.experiment_id()]):
        for name in ("GC@3", "mine"):
            said_of_it = Feedback(name=name, value=value, source=person)
            TracingClient(held.uri).log_assessment(trace.info.trace_id, said_of_it)
    said = sum(len(each.info.assessments) for each in client.search_traces([held.experiment_id()]))
    assert said == 1 + 2 * 2
    assert told(held) == []
    assert repair(held) == Pushed(0, 0, 2)
    assert sum(len(each.info.assessments) for each in client.search_traces([held.experiment_id()])) == said


def test_a_repair_that_was_killed_lets_no_published_run_go(held: Store) -> None:
    """Another selection retires the run that was being written again; once selected, it is completed."""
    was, run_id = held.dump()["runs"], first_of(held).info.run_id
    runs.Runs(held.client(), Traces(held.uri, held.experiment_id()), held.experiment_id()).reopen(first_of(held))
    assert held.push(RUNS[1:]) == Pushed(0, 0, 1)
    retired = first_of(held)
    assert (retired.info.run_id, retired.info.lifecycle_stage) == (run_id, "active")
    assert retired.data.tags[CURRENT] == "false"
    assert held.push(RUNS[1:]) == Pushed(0, 0, 1)
    assert held.push(RUNS) == Pushed(created=0, resumed=1, unchanged=1)
    assert held.dump()["runs"] == was

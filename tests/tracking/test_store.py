"""What a push leaves in a store, and what a second one does not touch."""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError
from driftledger.tracking import connection
from driftledger.tracking.content import CURRENT, FINGERPRINT, SUPERSEDED, LoggedMetric
from driftledger.tracking.store import Pushed

from .contents import EXPERIMENT, PHOTOS, PICTURE, TRACES, earlier_runs, generator, judge, model, run, two_runs
from .steps import watch_writes
from .stores import Child, Store

HOSTILE = "<script>alert('x')</script>\r\n\x1b]0;title\x07\x1b[2J\x00‮ — '; DROP TABLE runs; --"


def _counted_push(store: Store, runs: list[Any]) -> tuple[Pushed, int]:
    writes = watch_writes()
    return store.push(runs), writes.count


def _by_fingerprint(store: Store) -> dict[str, Any]:
    return {run["tags"][FINGERPRINT]: run for run in store.dump()["runs"]}


def test_a_run_shows_everything_it_was_given(mlflow_store: Store) -> None:
    assert mlflow_store.push(two_runs()) == Pushed(created=2, resumed=0, unchanged=0)
    shown = mlflow_store.dump()
    json.dumps(shown, allow_nan=False)
    first, second = shown["runs"]
    assert first["name"] == "regions · painter · f1"
    assert (first["status"], first["lifecycle"]) == ("FINISHED", "active")
    assert first["params"] == two_runs()[0].params
    assert first["tags"] == {"git.commit": "c0ffee", "git.dirty": "false", FINGERPRINT: "f1", CURRENT: "true"}
    assert first["metrics"] == sorted([m.key, m.step, m.value] for m in two_runs()[0].metrics)
    assert [(d["name"], d["digest"]) for d in first["datasets"]] == [(PHOTOS.name, PHOTOS.digest)]
    assert json.loads(first["datasets"][0]["profile"]) == {"num_rows": 24}
    assert first["models"] == [["painter", "aa11"], ["regions", "cc33"]]
    assert second["models"] == [["crayon", "bb22"], ["regions", "cc33"], ["rubric", "dd44"]]
    assert list(first["artifacts"]) == ["evidence.json", "tables/samples.csv"]


def test_units_are_shown_step_by_step(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    chain, question = mlflow_store.dump()["runs"][0]["traces"]
    picture = sha256_file(PICTURE.file)
    assert chain == {
        "name": "chain",
        "state": "OK",
        "previews": ["coffee", "a cup"],
        "tags": {"benchmark": "genception", "on": "photos", "unit": "coffee", "outcome": "ok"},
        "scores": [["GC@3", 0.9, "driftledger"]],
        "spans": [
            ["chain", "CHAIN", "SpanStatusCode.OK", {"sample": "coffee", "image": picture}, {"description": "a cup"}],
            ["describe 1", "CHAT_MODEL", "SpanStatusCode.OK", {"image": picture}, {"description": "a cup"}],
            ["generate 1", "TOOL", "SpanStatusCode.OK", {"description": "a cup"}, {"image": picture, "s(1)": 0.5}],
        ],
    }
    assert question["state"] == "ERROR"
    assert question["previews"] == ["<b>?</b> · a · b", ""]
    [(shown,)] = [mlflow_store.client().search_runs([mlflow_store.experiment_id()])]
    held = mlflow_store.client().search_traces([mlflow_store.experiment_id()], "tags.unit = 'q1'")[0]
    assert held.info.trace_metadata["mlflow.sourceRun"] == shown.info.run_id
    assert [span.status.description for span in held.data.spans] == ["no\\x1b[31m answer"] * 2
    assert held.info.execution_duration in (None, 0), "nobody measured how long it took"


def test_traces_of_a_leftover_go_with_it(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", params={"genception.iterations": "4"})])
    client = mlflow_store.client()
    (leftover,) = client.search_runs([mlflow_store.experiment_id()])
    client.update_run(leftover.info.run_id, "RUNNING")
    mlflow_store.push([run("f1")])
    assert len(client.search_traces([mlflow_store.experiment_id()])) == 2


def test_rows_carry_the_start_time_of_their_run(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    client = mlflow_store.client()
    for shown in client.search_runs([mlflow_store.experiment_id()]):
        history = client.get_metric_history(shown.info.run_id, "genception/photos/gc")
        assert {row.timestamp for row in history} == {shown.info.start_time}
        assert shown.info.end_time is None


def test_a_run_lasts_as_long_as_its_calls_took(mlflow_store: Store) -> None:
    before = int(time.time() * 1000)
    mlflow_store.push([run("f1", seconds=lambda: 90.5)])
    [shown] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    assert shown.info.end_time - shown.info.start_time == 90_500
    assert before <= shown.info.end_time <= time.time() * 1000


def test_what_was_asked_is_a_dataset_with_a_record_each_however_often_it_is_pushed(mlflow_store: Store) -> None:
    records = [{"inputs": {"id": name}, "expectations": {"answer": 1}} for name in ("a", "b")]
    photos = replace(PHOTOS, records=lambda: records)
    for fingerprint in ("f1", "f2"):
        mlflow_store.push([run(fingerprint, datasets=(photos,))])
    [held] = mlflow_store.client().search_datasets([mlflow_store.experiment_id()])
    assert (held.name, held.tags["dvc.path"], held.tags["dvc.md5"]) == (
        f"photos@{PHOTOS.digest[:12]}", PHOTOS.source, PHOTOS.digest,
    )  # fmt: skip
    assert json.loads(held.profile) == {"num_records": 2}


def test_equal_pictures_of_a_run_are_kept_once(mlflow_store: Store) -> None:
    twice = [TRACES[0], TRACES[0]._replace(trace=replace(TRACES[0].trace, unit="tea"))]
    mlflow_store.push([run("f1", traces=lambda: twice)])
    assert len(list(mlflow_store.folder.rglob("attachments/*"))) == 1
    first, second = mlflow_store.dump()["runs"][0]["traces"]
    assert first["spans"] == second["spans"], "both show it"


def test_many_traces_take_no_more_transactions_than_one(mlflow_store: Store) -> None:
    chain, pushed, took = TRACES[0], [], []
    for count in (1, 1, 20):
        units = [chain._replace(trace=replace(chain.trace, unit=f"photo {number}")) for number in range(count)]
        pushed.append(run(f"f{len(pushed)}", traces=lambda units=units: units))
        before = _transactions(mlflow_store)
        mlflow_store.push(pushed)
        took.append(_transactions(mlflow_store) - before)
    assert took[2] < took[1] + 10, "but for those by which the turn is renewed"
    assert sorted(len(each["traces"]) for each in mlflow_store.dump()["runs"]) == [1, 1, 20]


def test_rows_of_many_traces_are_written_together(mlflow_store: Store) -> None:
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    units = [TRACES[0]._replace(trace=replace(TRACES[0].trace, unit=f"photo {number}")) for number in range(20)]
    event.listen(Engine, "before_cursor_execute", note)
    try:
        mlflow_store.push([run("f1", traces=lambda: units)])
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    for table in ("trace_info", "trace_tags", "assessments"):
        assert len([each for each in statements if each.startswith(f"INSERT INTO {table} ")]) == 1


def test_where_a_trace_is_there_already_none_is_written(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    [shown] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    before = mlflow_store.dump()
    tea = TRACES[0]._replace(trace=replace(TRACES[0].trace, unit="tea"))
    from driftledger.tracking.traces import Traces  # MLflow is imported by now

    with pytest.raises(connection.failures()):
        Traces(mlflow_store.uri, mlflow_store.experiment_id()).write(shown.info.run_id, 1, [tea, *TRACES])
    assert mlflow_store.dump() == before


def test_traces_are_neither_written_nor_deleted_without_a_turn(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    [shown] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    before = mlflow_store.dump()
    from driftledger.tracking.traces import Traces  # MLflow is imported by now

    def refuse() -> None:
        raise LedgerError("it is another's turn")

    traces = Traces(mlflow_store.uri, mlflow_store.experiment_id(), refuse)
    tea = TRACES[0]._replace(trace=replace(TRACES[0].trace, unit="tea"))
    with pytest.raises(LedgerError, match="another's turn"):
        traces.write(shown.info.run_id, 1, [tea])
    with pytest.raises(LedgerError, match="another's turn"):
        traces.delete(shown.info.run_id)
    assert mlflow_store.dump() == before


def _transactions(store: Store) -> int:
    """Those that SQLite counts in the head of a file."""
    return int.from_bytes(store.file.read_bytes()[24:28]) if store.file.exists() else 0


def test_a_second_push_writes_nothing(mlflow_store: Store, in_child: Callable[..., Any]) -> None:
    assert in_child(_counted_push, mlflow_store, two_runs())[0] == Pushed(2, 0, 0)
    before = mlflow_store.dump()
    assert in_child(_counted_push, mlflow_store, two_runs()) == (Pushed(0, 0, 2), 0)
    assert mlflow_store.dump() == before


def test_artifacts_are_made_only_when_they_are_needed(mlflow_store: Store) -> None:
    made: list[str] = []

    def evidence() -> bytes:
        made.append("evidence")
        return b"{}"

    for _ in range(2):
        mlflow_store.push([run("f1", artifacts={"evidence.json": evidence})])
    assert made == ["evidence"]


def test_late_metrics_are_gathered_only_for_a_run_that_is_written(mlflow_store: Store) -> None:
    asked: list[str] = []

    def late() -> list[LoggedMetric]:
        asked.append("late")
        return [LoggedMetric("seconds", 2.5)]

    mlflow_store.push([run("f1", late_metrics=late)])
    assert ["seconds", 0, 2.5] in _by_fingerprint(mlflow_store)["f1"]["metrics"]
    asked.clear()
    assert mlflow_store.push([run("f1", late_metrics=late)]) == Pushed(0, 0, 1)
    assert asked == []


def test_what_is_no_longer_current_says_so(mlflow_store: Store) -> None:
    mlflow_store.push(earlier_runs())
    assert mlflow_store.push(two_runs()) == Pushed(created=1, resumed=0, unchanged=1)
    assert {key: shown["tags"][CURRENT] for key, shown in _by_fingerprint(mlflow_store).items()} == {
        "f0": "false",
        "f1": "true",
        "f2": "true",
    }
    aliases = {
        version["tags"][FINGERPRINT]: version["aliases"] for version in mlflow_store.dump()["registered_versions"]
    }
    others = {"cc33": ["current"], "dd44": ["current"]}
    assert aliases == {"aa11": ["current"], "bb11": [], "bb22": ["current"]} | others


@pytest.mark.parametrize("name", ["it's", 'it is "so"', 'it\'s "so"', "100 %_ · painter"])
def test_what_was_let_go_of_is_superseded_by_a_later_run_of_its_name(mlflow_store: Store, name: str) -> None:
    first, other = run("f1", name=name), run("f2", name="other")
    mlflow_store.push([first])
    mlflow_store.push([other])
    assert _by_fingerprint(mlflow_store)["f1"]["name"] == name
    mlflow_store.push([other, run("f3", name=name)])
    shown = _by_fingerprint(mlflow_store)
    assert [shown[each]["name"] for each in ("f1", "f2", "f3")] == [name + SUPERSEDED, "other", name]


def test_going_back_writes_marks_only(mlflow_store: Store) -> None:
    mlflow_store.push(earlier_runs())
    before = mlflow_store.dump()
    mlflow_store.push(two_runs())
    assert mlflow_store.push(earlier_runs()) == Pushed(created=0, resumed=0, unchanged=2)
    after = mlflow_store.dump()
    assert [shown for shown in after["runs"] if shown["tags"][FINGERPRINT] != "f2"] == before["runs"]
    assert _by_fingerprint(mlflow_store)["f2"]["tags"][CURRENT] == "false"
    aliases = {version["tags"][FINGERPRINT]: version["aliases"] for version in after["registered_versions"]}
    others = {"cc33": ["current"], "dd44": ["current"]}
    assert aliases == {"aa11": ["current"], "bb11": ["current"], "bb22": []} | others
    assert (len(after["registered_versions"]), len(after["logged_models"])) == (5, 5)


def test_a_run_that_a_user_deleted_comes_back(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    before = mlflow_store.dump()["runs"]
    client = mlflow_store.client()
    deleted = client.search_runs([mlflow_store.experiment_id()], f"tags.`{FINGERPRINT}` = 'f1'")[0]
    client.delete_run(deleted.info.run_id)
    assert mlflow_store.push(two_runs()) == Pushed(created=1, resumed=0, unchanged=1)
    assert [shown for shown in mlflow_store.dump()["runs"] if shown["lifecycle"] == "active"] == before
    client.restore_run(deleted.info.run_id)
    assert mlflow_store.push(two_runs()) == Pushed(created=0, resumed=0, unchanged=2, merged=1)
    active = [shown for shown in mlflow_store.dump()["runs"] if shown["lifecycle"] == "active"]
    for shown in (*before, *active):
        shown.pop("traces")  # MLflow deletes their scores with the run and does not restore them
    assert active == before


def test_a_run_cut_short_is_resumed(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    before = mlflow_store.dump()
    client = mlflow_store.client()
    for shown, status in zip(client.search_runs([mlflow_store.experiment_id()]), ["RUNNING", "FAILED"], strict=True):
        client.update_run(shown.info.run_id, status)
    assert mlflow_store.push(two_runs()) == Pushed(created=0, resumed=2, unchanged=0)
    assert mlflow_store.dump() == before


@pytest.mark.parametrize(
    "stale",
    [
        {"params": {"genception.iterations": "4"}},
        {"metrics": (LoggedMetric("genception/photos/gc", 0.1, 1), LoggedMetric("genception/photos/gc", 0.9, 2))},
        {"metrics": (LoggedMetric("gone", 1.0),)},
        {"datasets": (PHOTOS.__class__("photos", "f" * 32, "data", 24),), "metrics": ()},
        {"components": (generator("crayon", "bb22"),)},
    ],
)
def test_a_leftover_that_says_something_else_is_replaced(mlflow_store: Store, stale: dict[str, Any]) -> None:
    mlflow_store.push([run("f1", **stale)])
    client = mlflow_store.client()
    (leftover,) = client.search_runs([mlflow_store.experiment_id()])
    client.update_run(leftover.info.run_id, "RUNNING")
    assert mlflow_store.push([run("f1")]) == Pushed(created=1, resumed=0, unchanged=0)
    (shown,) = [shown for shown in mlflow_store.dump()["runs"] if shown["lifecycle"] == "active"]
    assert shown["metrics"] == sorted([m.key, m.step, m.value] for m in run("f1").metrics)
    assert shown["params"] == run("f1").params


def test_of_several_leftovers_one_is_kept(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    before = mlflow_store.dump()["runs"]
    client, experiment = mlflow_store.client(), mlflow_store.experiment_id()
    (first,) = client.search_runs([experiment], f"tags.`{FINGERPRINT}` = 'f1'")
    client.update_run(first.info.run_id, "KILLED")
    for fingerprint in ("f1", "f1", "f2", "abandoned"):
        client.create_run(experiment, tags={FINGERPRINT: fingerprint, CURRENT: "true"})
    assert mlflow_store.push(two_runs()) == Pushed(created=0, resumed=1, unchanged=1)
    assert [shown for shown in mlflow_store.dump()["runs"] if shown["lifecycle"] == "active"] == before


def test_long_values_are_cut_where_a_reader_sees_it(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", params={"prompt": "p" * 7000, "fits": "q" * 6000}, tags={"patch": "t" * 9000})])
    shown = mlflow_store.dump()["runs"][0]
    assert shown["params"] == {"prompt": "p" * 5960 + "… (1040 more characters)", "fits": "q" * 6000}
    assert shown["tags"]["patch"] == "t" * 7960 + "… (1040 more characters)"


def test_hundreds_of_values_go_in(mlflow_store: Store) -> None:
    metrics = tuple(LoggedMetric(f"m{index % 30}", index / 7, index) for index in range(1234))
    params = {f"p{index}": HOSTILE for index in range(150)}
    mlflow_store.push([run("f1", metrics=metrics, params=params, tags=params)])
    shown = mlflow_store.dump()["runs"][0]
    assert len(shown["metrics"]) == 1234
    inert = {key: text.replace("\0", r"\x00") for key, text in params.items()}  # which PostgreSQL would not take
    assert shown["params"] == inert
    assert inert.items() <= shown["tags"].items()


def test_half_a_surrogate_pair_is_written_out(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", params={"text": "a\ud800b"})])
    assert mlflow_store.dump()["runs"][0]["params"] == {"text": r"a\ud800b"}


def test_the_environment_joins_nothing(mlflow_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow_store.push([run("f0")])
    outer = mlflow_store.client().create_run("0")
    monkeypatch.setenv("MLFLOW_RUN_ID", outer.info.run_id)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "0")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "elsewhere")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///elsewhere.db")
    monkeypatch.setenv("MLFLOW_REGISTRY_URI", "sqlite:///elsewhere.db")
    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_LOGGING", "true")
    assert mlflow_store.push(two_runs()) == Pushed(2, 0, 0)
    assert not mlflow_store.client().get_run(outer.info.run_id).data.metrics
    assert len(mlflow_store.dump()["runs"]) == 3


def test_artifacts_lie_beside_the_database(new_store: Callable[[str], Store]) -> None:
    store = new_store("a folder # of mine")
    store.push([run("f1")])
    files = [file for file in (store.folder / "mlartifacts").rglob("*") if file.is_file()]
    assert sorted(file.name for file in files if "traces" not in file.parts) == ["evidence.json", "samples.csv"]
    assert len(files) == 3


def test_a_store_that_was_moved_says_so(mlflow_store: Store, in_child: Callable[..., Any]) -> None:
    in_child(mlflow_store.push, two_runs())
    moved = Store(mlflow_store.folder.rename(mlflow_store.folder.with_name("moved")))
    with pytest.raises(LedgerError, match=r"was made in .*store and still keeps its artifacts there"):
        moved.push(two_runs())


def test_an_experiment_in_the_trash_says_how_to_bring_it_back(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    mlflow_store.client().delete_experiment(mlflow_store.experiment_id())
    with pytest.raises(LedgerError, match=r"experiments restore --experiment-id 1'"):
        mlflow_store.push(two_runs())


def test_two_runs_with_one_fingerprint_are_a_bug(mlflow_store: Store) -> None:
    with pytest.raises(ValueError, match="same fingerprint"):
        mlflow_store.push([run("f1"), run("f1")])


def test_a_deleted_store_is_rebuilt(new_store: Callable[[str], Store], in_child: Callable[..., Any]) -> None:
    store = new_store("store")
    in_child(store.push, two_runs())
    before = in_child(store.dump)
    store.file.unlink()
    assert in_child(store.push, two_runs()) == Pushed(2, 0, 0)
    assert in_child(store.dump) == before


def test_processes_of_two_clones_at_once_on_no_store_at_all(
    tmp_path: Any, in_child: Callable[..., Any], mlflow_store: Store
) -> None:
    in_child(mlflow_store.push, two_runs())
    store = Store(tmp_path / "fresh")
    store.folder.mkdir()
    other = Store(store.folder)  # another clone, with a lock file of its own
    other.lock = tmp_path / "other" / "track.lock"
    children = [Child(each.push, two_runs()) for each in (store, store, other)]
    assert sorted(child.result() for child in children) == [Pushed(0, 0, 2), Pushed(0, 0, 2), Pushed(2, 0, 0)]
    assert in_child(store.dump) == in_child(mlflow_store.dump)
    assert EXPERIMENT in [held.name for held in store.client().search_experiments()]


def test_a_thousand_metrics_of_three_components_are_written_in_few_transactions(
    new_store: Callable[[str], Store], in_child: Callable[..., Any]
) -> None:
    of = (generator(), model(), judge())

    def writes(count: int) -> int:
        some = tuple(LoggedMetric(f"gc_{number}", 0.5, dataset="photos") for number in range(count))
        made: int = in_child(_counted_push, new_store(f"{count}"), [run("f1", components=of, metrics=some)])[1]
        return made

    assert writes(1000) <= writes(1) + 2


def test_many_metrics_that_a_kill_left_half_written_are_written_again(mlflow_store: Store) -> None:
    of = (generator(), model(), judge())
    some = tuple(LoggedMetric(f"gc_{number}", 0.5, dataset="photos") for number in range(350))
    content = run("f1", components=of, metrics=some)
    mlflow_store.push([content])
    shown, client = mlflow_store.dump(), mlflow_store.client()
    [held] = client.search_runs([mlflow_store.experiment_id()])
    client.update_run(held.info.run_id, "RUNNING")
    with sqlite3.connect(mlflow_store.file) as store:
        store.execute("DELETE FROM logged_model_metrics WHERE rowid % 3 = 0")
        store.execute("DELETE FROM metrics WHERE rowid % 5 = 0")
    store.close()
    assert mlflow_store.dump() != shown
    assert mlflow_store.push([content]) == Pushed(0, 1, 0)
    assert mlflow_store.dump() == shown

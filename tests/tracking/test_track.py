"""Runs are created once, completed after a kill, and marked; MLflow can be deleted and made
again."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow import MlflowClient

from driftledger.benchmarks.traces import Step, Trace
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import mlflow_state
from driftledger.project.settings import Tracking
from driftledger.tracking import track as tracking_module
from driftledger.tracking.store import opened
from driftledger.tracking.traces import Traces
from driftledger.tracking.track import track
from tests.tracking.dump import dump
from tests.tracking.project import (
    EXPERIMENT,
    REPOSITORY,
    card,
    evidence,
    gen_score,
    settings,
    write_project,
)

CREATED = f"MLflow experiment {EXPERIMENT!r}: "


def test_runs_are_created_worst_first_and_once(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    assert track(tmp_path, runs, store) == f"{CREATED}2 runs created, 0 unchanged"
    first = dump(store)
    assert [run["name"] for run in first["runs"]] == ["seer · brush · eye", "blind · brush · eye"]
    best = first["runs"][0]
    assert (best["status"], best["tags"]["driftledger.current"]) == ("FINISHED", "true")
    assert best["tags"]["driftledger.fingerprint"] == runs[0].fingerprint
    assert best["models"] == ["brush", "eye", "seer"]
    dvc = {"dvc.out": "data/datasets", "dvc.md5": "1" * 32 + ".dir"}
    assert best["datasets"] == [["shapes", "d" * 32, {"mlflow.data.context": "evaluation", **dvc}]]
    assert ["similarity/shapes", 2, 0.7] in best["metrics"]
    assert [version[:2] for version in first["versions"]] == [
        *(["encoder.eye", 1], ["generator.brush", 1], ["model.blind", 1], ["model.seer", 1])
    ]
    assert first["experiments"] == [EXPERIMENT]
    note = first["experiment"]["mlflow.note.content"]
    assert re.match(
        r"\[Leaderboard with charts\]\(#/experiments/\d+/runs\?\S+viewStateShareKey=\w+", note
    )
    metrics = ["gc/shapes", "gc_at_2/shapes", "similarity/shapes"]
    assert first["linked"] == {"seer": metrics, "blind": metrics, "brush": [], "eye": []}
    assert track(tmp_path, runs, store) == f"{CREATED}0 runs created, 2 unchanged"
    assert dump(store) == first
    with opened(store, create=False) as client:
        made = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    ids = {run.info.run_id: run.data.tags["driftledger.fingerprint"] for run in made}
    assert len(ids) == 2
    assert mlflow_state(Workspace(tmp_path)).runs == ids, "for an audit by the id of a run"


def test_a_moved_checkout_goes_on_and_writes_nothing_where_it_was(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs, store)
    (tmp_path / "store").rename(tmp_path / "moved")
    moved = settings(tmp_path / "moved")
    for made in (2, 0):
        assert track(tmp_path, runs, moved) == f"{CREATED}{made} runs created, {2 - made} unchanged"
    assert not (tmp_path / "store").exists()
    assert len(list((tmp_path / "moved/mlartifacts").rglob("scores.json"))) == 4


def test_traces_show_each_chain_with_small_pictures_attached_once(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs[:1], store)
    [run] = dump(store)["runs"]
    assert [trace["tags"]["unit"] for trace in run["traces"]] == ["ring", "disc"]  # the worst first
    with opened(store, create=False) as client:
        [found] = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
        assert {each.dataset.profile for each in found.inputs.dataset_inputs} == {'{"samples": 2}'}
    names = [name for name, *_ in run["traces"][0]["spans"]]
    assert names == ["chain", "t = 1", "t = 2"]
    [_, asked, gave] = run["traces"][0]["spans"][1]
    assert (asked["prompt"], asked["image"][0], gave["s(1)"]) == ("Describe it.", "picture", 0.5)
    pictures = list((tmp_path / "store" / "mlartifacts").rglob("attachments/*"))
    assert len(pictures) == 2 * 3  # two samples: an original and two drawn ones
    assert max(picture.stat().st_size for picture in pictures) < 40_000


def test_steps_without_a_column_are_one_span_that_shows_what_the_first_was_asked(
    runs: Sequence[Run], store: Tracking
) -> None:
    steps = [
        Step("say", "model", {"prompt": "?"}, {"text": "a disc"}),
        Step("read", "", {"reply": "a disc"}, {"text": "nothing"}, Outcome.UNPARSED, "no shape"),
    ]
    with opened(store, create=True) as client:
        experiment = client.create_experiment(EXPERIMENT)
        traces = Traces(client, experiment, client.create_run(experiment).info.run_id)
        traces.add(runs[0].lineages[0], Trace("disc", "look", {}, {}, Outcome.OK, steps))
        mlflow.flush_trace_async_logging()
        [trace] = client.search_traces(locations=[experiment])
    [_, span] = trace.data.spans
    assert (span.name, span.span_type, span.inputs) == ("say", "CHAT_MODEL", {"prompt": "?"})
    assert span.outputs == {"text": "a disc", "read: text": "nothing", "error": "no shape"}
    assert span.status.status_code == "ERROR"


def shown(store: Tracking) -> list[tuple[str, str | None]]:
    """List the names of the runs that a reader sees, and whether each is current."""
    return [(run["name"], run["tags"].get("driftledger.current")) for run in dump(store)["runs"]]


def test_a_changed_generator_replaces_a_run_and_is_a_version_of_its_own(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs, store)
    [changed] = write_project(tmp_path, evidence(gen_score("seer", 0.6, card("brush", 2))))
    assert track(tmp_path, [changed], store) == f"{CREATED}1 runs created, 0 unchanged"
    after = dump(store)
    assert shown(store) == [("seer · brush · eye", "true"), ("blind · brush · eye", "false")]
    assert after["old"] == [["old · seer · brush · eye", "false"]]
    assert [version[1] for version in after["versions"] if version[0] == "generator.brush"] == [
        1,
        2,
    ]
    assert after["runs"][0]["params"]["generator_version"] == card("brush", 2).fingerprint[:12]
    assert track(tmp_path, runs, store) == f"{CREATED}0 runs created, 2 unchanged"
    again = dump(store)
    assert shown(store) == [("seer · brush · eye", "true"), ("blind · brush · eye", "true")]
    assert again["runs"][0]["params"]["generator_version"] == card("brush").fingerprint[:12]
    assert again["old"] == after["old"]


def test_a_run_that_a_person_restores_or_deletes_is_as_before_after_the_next_push(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs[:1], store)
    changed = write_project(tmp_path, evidence(gen_score("seer", 0.6, card("brush", 2))))
    track(tmp_path, changed, store)
    before = dump(store)
    [old] = [run for run, stage in stages(store).items() if stage == "deleted"]
    [current] = [run for run, stage in stages(store).items() if stage == "active"]
    for act, made in [("restore_run", 0), ("delete_run", 1)]:
        with opened(store, create=False) as client:
            getattr(client, act)(old if act == "restore_run" else current)
        assert (
            track(tmp_path, changed, store) == f"{CREATED}{made} runs created, {1 - made} unchanged"
        )
        assert dump(store) == before


def test_an_experiment_of_dvc_leaves_the_current_runs_alone(
    tmp_path: Path, runs: Sequence[Run], store: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    track(tmp_path, runs, store)
    before = dump(store)
    changed = write_project(tmp_path, evidence(gen_score("seer", 0.6, card("brush", 2))))

    def experiment(name: str, of: Sequence[Run]) -> None:
        with monkeypatch.context() as patched:
            patched.setenv("DVC_EXP_NAME", name)
            track(tmp_path, of, store)

    experiment("urban-snob", changed)
    during = dump(store)["runs"]
    assert during[1:] == before["runs"]
    assert shown(store)[0] == ("exp urban-snob · seer · brush · eye", None)
    track(tmp_path, runs, store)
    assert shown(store)[0] == ("exp urban-snob · seer · brush · eye", "false"), "it is not replaced"
    track(tmp_path, changed, store)
    assert shown(store) == [("seer · brush · eye", "true"), ("blind · brush · eye", "false")]
    experiment("basal-slug", runs[:1])  # whose results the replaced run has
    assert shown(store)[1] == ("exp basal-slug · seer · brush · eye", "false"), (
        "the replaced run, which has its results"
    )
    assert dump(store)["old"] == []


WRITES = (
    *(
        "create_run",
        "create_logged_model",
        "create_model_version",
        "log_inputs",
        "log_batch",
        "log_artifacts",
    ),
    *(
        "flush_trace_async_logging",
        "set_terminated",
        "update_run",
        "set_tag",
        "delete_run",
        "set_experiment_tag",
    ),
)


class Killed(BaseException):
    """Ends a push as a kill does."""


def before() -> Run:
    """Make another version of the first run, which has columns of its own."""
    return evidence(gen_score("seer", 0.6, card("brush", 2), t=3))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Any:
    """What two pushes to another store show that nothing cuts short."""
    root = tmp_path_factory.mktemp("whole")
    shutil.copy(empty_store, root)
    for of in (before(), evidence(gen_score("seer", 0.7))):
        track(root, write_project(root, of), settings(root))
    return dump(settings(root))


@pytest.mark.parametrize("write", WRITES)
def test_a_push_that_is_cut_short_at_any_write_is_completed_by_the_next(
    write: str, tmp_path: Path, runs: Sequence[Run], store: Tracking, whole: Any
) -> None:
    def killed(*arguments: Any, **options: Any) -> Any:
        raise Killed

    track(tmp_path, write_project(tmp_path, before()), store)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mlflow if write.startswith("flush") else MlflowClient, write, killed)
        with pytest.raises(Killed):
            track(tmp_path, runs[:1], store)
    track(tmp_path, runs[:1], store)
    after = dump(store)
    assert after["runs"]
    assert after["old"]
    assert after == whole


def test_a_double_of_two_clones_is_removed_by_the_next_push(
    tmp_path: Path, runs: Sequence[Run], store: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    track(tmp_path, runs, store)
    before = dump(store)
    # as a clone that looked before the other one had finished
    with monkeypatch.context() as patched:
        patched.setattr(tracking_module._Push, "_finished", lambda push: {})
        track(tmp_path, runs[:1], store)
    assert len(dump(store)["runs"]) == 3
    assert track(tmp_path, runs, store) == f"{CREATED}0 runs created, 2 unchanged"
    assert dump(store) == before


def left_running(store: Tracking, fingerprint: str, seconds: float) -> str:
    """Leave a run that another clone began so long ago; its id."""
    with opened(store, create=True) as client:
        [experiment] = [
            each.experiment_id for each in client.search_experiments() if each.name == EXPERIMENT
        ]
        started = int(1000 * (time.time() - seconds))
        tags = {"driftledger.fingerprint": fingerprint}
        return str(client.create_run(experiment, start_time=started, tags=tags).info.run_id)


def stages(store: Tracking) -> dict[str, str]:
    """Run → whether it is deleted."""
    with opened(store, create=False) as client:
        [experiment] = [
            each.experiment_id for each in client.search_experiments() if each.name == EXPERIMENT
        ]
        return {
            each.info.run_id: each.info.lifecycle_stage
            for each in client.search_runs([experiment], "", 3)
        }


def test_a_run_that_another_clone_is_writing_is_left_alone(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs[1:], store)
    theirs = left_running(store, runs[0].fingerprint, 60)
    sentence = r"another clone is writing the same runs \(seer · brush · eye\); run 'driftledger track' again"
    with pytest.raises(DriftledgerError, match=sentence):
        track(tmp_path, runs, store)
    assert stages(store)[theirs] == "active"
    with opened(store, create=True) as client:
        client.set_terminated(theirs)
    assert track(tmp_path, runs, store) == f"{CREATED}0 runs created, 2 unchanged"


def test_a_run_of_another_clone_that_was_cut_short_is_made_again(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs[1:], store)
    theirs = left_running(store, runs[0].fingerprint, 601)
    assert track(tmp_path, runs, store) == f"{CREATED}1 runs created, 1 unchanged"
    assert stages(store)[theirs] == "deleted"


def test_a_run_that_another_clone_deletes_meanwhile_is_a_sentence(
    tmp_path: Path, runs: Sequence[Run], store: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_inputs = MlflowClient.log_inputs

    def deleted(client: MlflowClient, run_id: str, *arguments: Any) -> None:
        client.delete_run(run_id)
        log_inputs(client, run_id, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(MlflowClient, "log_inputs", deleted)
        with pytest.raises(DriftledgerError, match="another clone is writing the same runs"):
            track(tmp_path, runs, store)
    assert track(tmp_path, runs, store) == f"{CREATED}2 runs created, 0 unchanged"


def test_traces_that_were_cut_short_are_removed_and_those_of_others_stay(
    tmp_path: Path, runs: Sequence[Run], store: Tracking
) -> None:
    track(tmp_path, runs, store)
    with opened(store, create=True) as client:
        [experiment] = [
            each.experiment_id for each in client.search_experiments() if each.name == EXPERIMENT
        ]
        mlflow.start_span_no_context("own", experiment_id=experiment).end()
        mlflow.flush_trace_async_logging()
        before = {each.info.trace_id for each in client.search_traces(locations=[experiment])}
        traces = Traces(client, experiment, client.create_run(experiment).info.run_id)
        traces.add(
            runs[0].lineages[0],
            Trace("disc", "look", {}, {}, Outcome.OK, [Step("say", "model", {}, {})]),
        )
        mlflow.flush_trace_async_logging()
        [cut] = {
            each.info.trace_id for each in client.search_traces(locations=[experiment])
        } - before
    # as MLflow leaves it after the spans
    with closing(sqlite3.connect(tmp_path / "store" / "mlflow.db")) as db:
        for table in ("trace_request_metadata", "trace_tags"):
            db.execute(f"DELETE FROM {table} WHERE request_id = ?", (cut,))
        db.commit()
    track(tmp_path, runs, store)
    with opened(store, create=False) as client:
        assert {
            each.info.trace_id for each in client.search_traces(locations=[experiment])
        } == before


PUSH = textwrap.dedent("""
    import sys
    from pathlib import Path
    from driftledger.tracking.track import track
    from tests.tracking.project import evidence, gen_score, settings, write_project
    root, folder = Path(sys.argv[1]), Path(sys.argv[2])
    runs = [evidence(gen_score(f"m{n}", n / 10)) for n in range(4)]
    print("begun", flush=True)
    print(track(root, runs, settings(folder)), flush=True)
""")


def push_in_child(root: Path, folder: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])
    }
    command = [sys.executable, "-c", PUSH, str(root), str(folder)]
    return subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_pushes_wait_for_each_other_and_one_that_is_killed_holds_nobody_up(
    tmp_path: Path, store: Tracking
) -> None:
    wanted = write_project(tmp_path, *(evidence(gen_score(f"m{n}", n / 10)) for n in range(4)))
    file = tmp_path / "store" / "mlflow.db"
    with (
        push_in_child(tmp_path, file.parent) as killed,
        push_in_child(tmp_path, file.parent) as other,
    ):
        size = file.stat().st_size
        while file.stat().st_size == size and killed.poll() is None:  # until one of both writes
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        lines, _ = other.communicate(timeout=600)
    assert "runs created" in lines
    line = track(tmp_path, wanted, store)
    assert "4 unchanged" in line
    pushed = dump(store)["runs"]
    assert sorted(run["name"] for run in pushed) == [f"m{n} · brush · eye" for n in range(4)]
    assert all(len(run["traces"]) == 2 for run in pushed)


@pytest.mark.slow
def test_two_clones_that_begin_at_once_make_each_run_once(tmp_path: Path, store: Tracking) -> None:
    clones = [tmp_path / name for name in ("one", "other")]
    runs = [evidence(gen_score(f"m{n}", n / 10)) for n in range(4)]
    for clone in clones:
        clone.mkdir()
        write_project(clone, *runs)
    with (
        push_in_child(clones[0], tmp_path / "store") as one,
        push_in_child(clones[1], tmp_path / "store") as other,
    ):
        lines = sorted(child.communicate(timeout=600)[0].splitlines()[-1] for child in (one, other))
    assert lines == [
        f"{CREATED}0 runs created, 4 unchanged",
        f"{CREATED}4 runs created, 0 unchanged",
    ]
    assert [len(run["traces"]) for run in dump(store)["runs"]] == [2, 2, 2, 2]

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
from contextlib import closing

import mlflow
import pytest
from mlflow import MlflowClient
from PIL import Image

from driftledger.benchmarks.base.traces import Step, Trace
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Outcome
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import mlflow_state
from driftledger.scoring.number import NumberName
from driftledger.tracking import track as tracking_module
from driftledger.tracking.traces import Traces
from driftledger.tracking.track import WRITER, track
from driftledger.tracking.view import VIEW_TAG
from tests.support.ledgers import varied
from tests.support.pictures import count_decodes
from tests.tracking.conftest import Evaluated
from tests.tracking.dump import dump, evaluation_runs, view_of
from tests.tracking.project import (
    EXPERIMENT,
    REPOSITORY,
    card,
    evidence,
    gen_score,
    settings,
    write_project,
)


def test_runs_are_created_worst_first_and_once(project):
    assert project.counts() == [2, 0]
    first = project.dump()
    assert project.shown() == ["seer: true", "blind: true"]
    best = first["runs"][0]
    assert best["status"] == "FINISHED"
    assert best["tags"]["driftledger.fingerprint"] == project.runs[0].fingerprint
    assert best["models"] == ["brush", "eye", "seer"]
    context = {"mlflow.data.context": "evaluation"}
    assert best["datasets"] == [["shapes", "d" * 32, context]]
    [stored] = project.search()[0].inputs.dataset_inputs
    assert mlflow.data.get_source(stored).to_dict() == {
        "repo": str(project.root),
        "path": "data/datasets/shapes",
        "md5": "1" * 32 + ".dir",
        "rev": None,
    }
    assert ["similarity/shapes", 2, 0.7] in best["metrics"]
    versions = [f"{name} {number}" for name, number, *_ in first["versions"]]
    names = "encoder.eye 1, generator.brush 1, model.blind 1, model.seer 1"
    assert ", ".join(versions) == names
    assert first["experiments"] == ["Default", EXPERIMENT]
    note = first["experiment"]["mlflow.note.content"]
    assert re.match(
        r"\[Leaderboard with charts\]\(#/experiments/\d+/runs\?\S+viewStateShareKey=\w+",
        note,
    )
    metrics = ["gc/shapes", "gc_at_2/shapes", "similarity/shapes"]
    linked = {"seer": metrics, "blind": metrics, "brush": [], "eye": []}
    assert first["linked"] == linked
    assert project.counts() == [0, 2]
    assert project.dump() == first
    ids = {}
    for run in project.search():
        ids[run.info.run_id] = run.data.tags["driftledger.fingerprint"]
    assert len(ids) == 2
    # for an audit by the id of a run
    assert mlflow_state(Workspace(project.root)).runs == ids


def test_each_picture_is_decoded_once(project, monkeypatch):
    """Two originals, and two drawings of each by two models."""
    decoded = count_decodes(monkeypatch)
    project.track()
    assert len(decoded) == 2 + 2 * 2 * 2
    assert {*decoded.values()} == {1}


def test_no_name_of_a_number_is_read(project, monkeypatch):
    monkeypatch.setattr(NumberName, "read", None)
    project.track()
    assert len(project.shown()) == 2


def test_a_moved_checkout_goes_on_and_writes_nothing_where_it_was(project):
    project.track()
    (project.root / "store").rename(project.root / "moved")
    project.tracking = settings(project.root / "moved")
    assert project.counts() == [2, 0]
    assert project.counts() == [0, 2]
    assert not (project.root / "store").exists()
    assert len(list((project.root / "moved/mlartifacts").rglob("score.json"))) == 4


def test_traces_show_each_chain_with_small_pictures_attached_once(project):
    project.track(project.runs[0])
    [run] = project.dump()["runs"]
    worst, best = run["traces"]
    assert worst["tags"]["unit"] == "ring"
    assert best["tags"]["unit"] == "disc"
    [stored] = project.search()
    [shapes] = stored.inputs.dataset_inputs
    assert shapes.dataset.profile == '{"samples": 2}'
    assert [name for name, *_ in worst["spans"]] == ["chain", "t = 1", "t = 2"]
    [_, asked, gave] = worst["spans"][1]
    assert asked["prompt"] == "Describe it."
    assert asked["image"][0] == "picture"
    assert gave["s(1)"] == 0.5
    pictures = list((project.root / "store" / "mlartifacts").rglob("attachments/*"))
    assert len(pictures) == 2 * 3  # two samples: an original and two drawn ones
    assert max(picture.stat().st_size for picture in pictures) < 40_000


def test_chains_are_in_the_image_grid_by_step(project):
    """Of two samples at t = 0, 1 and 2: a PNG, and the small copy that MLflow makes of it."""
    project.track(project.runs[0])
    [run] = project.dump()["runs"]
    names = []
    for sample in ("disc", "ring"):
        for t in (0, 1, 2):
            name = f"images/shapes~{sample}+step+{t}"
            names += [f"{name}+compressed.webp", f"{name}.png"]
    assert [name for name in run["artifacts"] if name.startswith("images/")] == names
    store = project.root / "store" / "mlartifacts"
    pictures = sorted(store.rglob("images/*.png"))
    assert len(pictures) == 6
    for picture in pictures:
        assert Image.open(picture).size == (384, 288)
    before = project.dump()
    [stored] = project.search()
    with project.client() as (client, _):  # as where no picture was there
        client.delete_tag(stored.info.run_id, "driftledger.chains")
    shutil.rmtree(pictures[0].parent)
    assert project.counts(project.runs[0]) == [0, 1]
    assert project.dump() == before
    pictures = sorted(store.rglob("images/*.png"))
    shutil.rmtree(project.root / "data")  # as in a clone that has pulled nothing
    project.track(project.runs[0])
    assert sorted(store.rglob("images/*.png")) == pictures
    assert project.dump() == before


def add_trace(project, client, experiment, *steps):
    """Write the trace of a sample to a new run."""
    traces = Traces(client, experiment, client.create_run(experiment).info.run_id)
    trace = Trace("disc", "look", {}, {}, Outcome.OK, steps)
    traces.add(project.runs[0].lineages[0], trace)
    mlflow.flush_trace_async_logging()


def test_steps_without_a_column_are_one_span_that_shows_what_the_first_was_asked(
    project,
):
    unread = (Outcome.UNPARSED, "no shape")
    say = Step("say", "model", {"prompt": "?"}, {"text": "a disc"})
    read = Step("read", "", {"reply": "a disc"}, {"text": "nothing"}, *unread)
    with project.client() as (client, _):
        experiment = client.create_experiment(EXPERIMENT)
        add_trace(project, client, experiment, say, read)
        [trace] = client.search_traces(locations=[experiment])
    [_, span] = trace.data.spans
    assert f"{span.name} {span.span_type}" == "say CHAT_MODEL"
    assert span.inputs == {"prompt": "?"}
    outputs = {"text": "a disc", "read: text": "nothing", "error": "no shape"}
    assert span.outputs == outputs
    assert span.status.status_code == "ERROR"


def generator_of(run):
    """Return the version of a run's generator, of 0 to 10."""
    fingerprints = [card("brush", version).fingerprint[:12] for version in range(11)]
    return fingerprints.index(run["params"]["generator_version"])


def test_a_changed_generator_replaces_a_run_and_is_a_version_of_its_own(project):
    project.track()
    changed = project.change()
    assert project.counts(changed) == [1, 0]
    after = project.dump()
    assert project.shown() == ["seer: true", "blind: false"]
    assert after["old"] == [["old · seer · brush · eye", "false"]]
    brushes = [each[1] for each in after["versions"] if each[0] == "generator.brush"]
    assert brushes == [1, 2]
    assert generator_of(after["runs"][0]) == 2
    assert project.counts() == [0, 2]
    again = project.dump()
    assert project.shown() == ["seer: true", "blind: true"]
    assert generator_of(again["runs"][0]) == 1
    assert again["old"] == after["old"]


def test_a_changed_floor_is_in_the_notes_of_runs_that_did_not_change(project):
    def pushed(floor):
        """Push a model and a control with this value; the counts and a row of the model's note."""
        control = card("blind", floor, control=True)
        blind = varied(gen_score("blind", floor), model=control)
        runs = write_project(project.root, evidence(gen_score()), evidence(blind))
        counts = project.counts(*runs)
        [seer] = [run for run in project.search() if run.info.run_name[:4] == "seer"]
        rows = seer.data.tags["mlflow.note.content"].splitlines()
        return counts, rows[2]

    row = "| GenCeption GC@2 · shapes | 0.700 | {} | 1.000 | {} | 2 of 2 |"
    assert pushed(0.2) == ([2, 0], row.format("0.200", "62%"))
    assert pushed(0.4) == ([1, 1], row.format("0.400", "50%"))
    before = project.dump()
    assert pushed(0.4) == ([0, 2], row.format("0.400", "50%"))
    assert project.dump() == before
    assert pushed(0.2) == ([0, 2], row.format("0.200", "62%"))


def test_old_versions_are_active_and_the_evaluation_runs_are_the_current_ones(project):
    """Three are current, and thirty old ones; settings that are as they were bring one back."""
    models = ("seer", "blind", "guess")
    versions = []
    project.tracking = project.tracking.model_copy(update={"traces": "none"})
    for version in range(11):
        gc, brush = 0.5 + version / 100, card("brush", version)
        runs = [evidence(gen_score(model, gc, brush, t=1)) for model in models]
        project.runs = write_project(project.root, *runs)
        assert project.counts() == [3, 0]
        versions.append(runs)
    current = sorted(run.name for run in project.runs)
    runs = project.search()
    with project.client() as (client, experiment):
        assert sorted(evaluation_runs(client, experiment)) == current
        page = (REPOSITORY / "docs/mlflow_and_dvc.md").read_text(encoding="utf-8")
        [filter_string] = set(re.findall(r'filter_string="(.+)"', page))
        shown = mlflow.search_runs([experiment], filter_string)
        assert sorted(shown["tags.mlflow.runName"]) == current
        view = client.get_experiment(experiment).tags[VIEW_TAG]
        assert view_of(view)["state"]["searchFilter"] == filter_string
    assert len(runs) == 33
    for run in runs:
        is_current = run.info.run_name in current
        tags = run.data.tags
        assert tags["driftledger.current"] == str(is_current).lower()
        assert ("mlflow.runType" in tags) is is_current
        assert run.info.run_name.removeprefix("old · ") in current
    before = project.dump()
    project.track(*versions[0])
    back = project.dump()
    assert back != before
    assert back["evaluation runs"] == before["evaluation runs"]
    assert [generator_of(run) for run in back["runs"]] == [0, 0, 0]
    project.track(*versions[-1])
    assert project.dump() == before


def test_a_run_that_a_person_deletes_stays_away_unless_it_is_current(project):
    project.track(project.runs[0])
    changed = project.change()
    project.track(changed)
    before = project.dump()
    for name, made, old in [("seer", 1, before["old"]), ("old · seer", 0, [])]:
        ids = {run.info.run_name: run.info.run_id for run in project.search()}
        with project.client() as (client, _):
            client.delete_run(ids[f"{name} · brush · eye"])
        assert project.counts(changed) == [made, 1 - made]
        assert project.dump() == before | {"old": old}


def test_an_experiment_of_dvc_leaves_the_current_runs_alone(project, monkeypatch):
    project.track()
    before = project.dump()
    changed = project.change()

    def experiment(name, *runs):
        with monkeypatch.context() as patched:
            patched.setenv("DVC_EXP_NAME", name)
            project.track(*runs)

    experiment("urban-snob", changed)
    during = project.dump()["runs"]
    assert during[1:] == before["runs"]
    assert project.shown()[0] == "exp urban-snob · seer: None"
    project.track()
    assert project.shown()[0] == "exp urban-snob · seer: false", "not replaced"
    project.track(changed)
    assert project.shown() == ["seer: true", "blind: false"]
    experiment("basal-slug", project.runs[0])  # whose results the replaced run has
    assert project.shown()[1] == "exp basal-slug · seer: false"
    after = project.dump()
    assert after["old"] == []
    names = ["seer · brush · eye", "exp basal-slug · seer · brush · eye"]
    assert after["evaluation runs"] == names
    project.track(changed)
    assert project.dump()["evaluation runs"] == ["seer · brush · eye"]


WRITES = """
create_run create_logged_model create_model_version log_inputs log_batch log_artifacts
log_image flush_trace_async_logging set_terminated update_run set_tag delete_tag set_experiment_tag
"""


class Killed(BaseException):
    """Ends a push as a kill does."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory, empty_store):
    """What two pushes to another store show that nothing cuts short."""
    root = tmp_path_factory.mktemp("whole")
    shutil.copy(empty_store, root)
    project = Evaluated(root, settings(root), [])
    project.track(project.change(t=3))  # its columns are others
    project.track(project.change(0.7, 1))
    return project.dump()


@pytest.mark.parametrize("write", WRITES.split())
def test_a_push_that_is_cut_short_at_any_write_is_completed_by_the_next(
    write, project, whole
):
    delete_tag = MlflowClient.delete_tag

    def killed(*arguments, **options):
        if write != "delete_tag" or arguments[-1] != WRITER:
            raise Killed
        delete_tag(*arguments)

    project.track(project.change(t=3))
    write_project(project.root, project.runs[0])
    with pytest.MonkeyPatch.context() as patched:
        owner = mlflow if write.startswith("flush") else MlflowClient
        patched.setattr(owner, write, killed)
        with pytest.raises(Killed):
            project.track(project.runs[0])
    project.track(project.runs[0])
    after = project.dump()
    assert after["runs"]
    assert after["old"]
    assert after == whole


def test_a_double_of_two_clones_is_removed_by_the_next_push(project, monkeypatch):
    project.track()
    before = project.dump()
    # as a clone that looked before the other one had finished
    with monkeypatch.context() as patched:
        patched.setattr(tracking_module._Push, "_finished", lambda push: {})
        project.track(project.runs[0])
    assert len(project.dump()["runs"]) == 3
    assert project.counts() == [0, 2]
    assert project.dump() == before


def left_running(project, seconds):
    """Leave the first run as another clone does that began it so long ago; its id."""
    with project.client() as (client, experiment):
        tags = {"driftledger.fingerprint": project.runs[0].fingerprint}
        started = int(1000 * (time.time() - seconds))
        run = client.create_run(experiment, start_time=started, tags=tags)
        return run.info.run_id


def test_a_run_that_another_clone_is_writing_is_left_alone(project):
    project.track(project.runs[1])
    theirs = left_running(project, 60)
    sentence = r"another clone is writing the same runs \(seer · brush · eye\); run 'driftledger"
    with pytest.raises(DriftledgerError, match=sentence):
        project.track()
    assert project.stage(theirs) == "active"
    with project.client() as (client, _):
        client.set_terminated(theirs)
    assert project.counts() == [0, 2]


def test_a_run_of_another_clone_that_was_cut_short_is_made_again(project):
    project.track(project.runs[1])
    theirs = left_running(project, 601)
    assert project.counts() == [1, 1]
    assert project.stage(theirs) == "deleted"


def test_a_run_that_another_clone_deletes_meanwhile_is_a_sentence(project, monkeypatch):
    log_inputs = MlflowClient.log_inputs

    def deleted(client, run_id, *arguments):
        client.delete_run(run_id)
        log_inputs(client, run_id, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(MlflowClient, "log_inputs", deleted)
        with pytest.raises(
            DriftledgerError, match="another clone is writing the same runs"
        ):
            project.track()
    assert project.counts() == [2, 0]


def trace_ids(client, experiment):
    return {each.info.trace_id for each in client.search_traces(locations=[experiment])}


def test_traces_that_were_cut_short_are_removed_and_those_of_others_stay(project):
    project.track()
    with project.client() as (client, experiment):
        mlflow.start_span_no_context("own", experiment_id=experiment).end()
        mlflow.flush_trace_async_logging()
        before = trace_ids(client, experiment)
        add_trace(project, client, experiment, Step("say", "model", {}, {}))
        [cut] = trace_ids(client, experiment) - before
    # as MLflow leaves it after the spans
    with closing(sqlite3.connect(project.root / "store" / "mlflow.db")) as db:
        for table in ("trace_request_metadata", "trace_tags"):
            db.execute(f"DELETE FROM {table} WHERE request_id = ?", (cut,))
        db.commit()
    project.track()
    with project.client() as (client, experiment):
        assert trace_ids(client, experiment) == before


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


def push_in_child(root, folder):
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}"}
    command = [sys.executable, "-c", PUSH, str(root), str(folder)]
    return subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_two_pushes_wait_for_each_other_and_one_that_is_killed_holds_nobody_up(
    tmp_path, store
):
    wanted = [evidence(gen_score(f"m{n}", n / 10)) for n in range(4)]
    write_project(tmp_path, *wanted)
    file = tmp_path / "store" / "mlflow.db"
    with (
        push_in_child(tmp_path, file.parent) as killed,
        push_in_child(tmp_path, file.parent) as other,
    ):
        size = file.stat().st_size
        while (
            file.stat().st_size == size and killed.poll() is None
        ):  # until one of both writes
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        lines, _ = other.communicate(timeout=600)
    assert "runs created" in lines
    line = track(tmp_path, wanted, store)
    assert "4 unchanged" in line
    pushed = dump(store)["runs"]
    assert {run["name"] for run in pushed} == {run.name for run in wanted}
    assert [len(run["traces"]) for run in pushed] == [2, 2, 2, 2]

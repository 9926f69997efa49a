"""MLflow shows what the snapshot in ``golden/`` says, and is made again from the project's files
alone."""

import json
import re
from pathlib import Path

import mlflow
import pytest
from mlflow import MlflowClient

from tests.acceptance.numbers import differences, shorten
from tests.acceptance.places import REPOSITORY
from tests.acceptance.snapshot import FILE, snapshot


def _leaves(value, name=""):
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{name} | {key}")
    else:
        yield name, value


def _wrong(golden, now):
    sides = [dict(_leaves(each)) for each in (golden, now)]
    numbers = [
        {name: value for name, value in side.items() if isinstance(value, float)}
        for side in sides
    ]
    texts = [
        {name: value for name, value in side.items() if not isinstance(value, float)}
        for side in sides
    ]
    assert numbers[0], "the golden snapshot holds no metric"
    missing = [
        f"{name}: {texts[1].get(name)!r}, golden {value!r}"
        for name, value in texts[0].items()
    ]
    return [
        *differences(*numbers),
        *(
            line
            for line, (name, value) in zip(missing, texts[0].items(), strict=True)
            if texts[1].get(name) != value
        ),
        *(f"not in golden: {name}" for name in texts[1].keys() - texts[0].keys()),
    ]


def test_a_deleted_store_is_made_again_as_the_golden_snapshot_has_it(evaluated_copy):
    assert not (evaluated_copy.root / "mlflow.db").exists()
    evaluated_copy.driftledger("track")
    wrong = _wrong(
        json.loads(FILE.read_bytes()), snapshot(evaluated_copy.root / "mlflow.db")
    )
    assert not wrong, shorten(wrong)


def test_a_run_fills_the_store_that_it_would_use_and_leaves_the_locks_alone(
    small, tmp_path
):
    first = snapshot(small.root / "mlflow.db")
    assert len(first["runs"]) == 2
    copied = small.copy(tmp_path)
    files = [copied.root / name for name in ("dvc.lock", "reports/tracked.json")]
    before = [file.read_bytes() for file in files]
    elsewhere = copied.root / "elsewhere.db"
    log = copied.root / ".driftledger/run.log"
    filled: list[bool] = []
    for uri in ("", "", f"sqlite:///{elsewhere}"):
        copied.run("driftledger", "run", MLFLOW_TRACKING_URI=uri)
        filled.append("2 runs created" in log.read_text(encoding="utf-8"))
    assert filled == [True, False, True]
    assert [file.read_bytes() for file in files] == before
    assert snapshot(copied.root / "mlflow.db") == first
    assert snapshot(elsewhere) == first
    copied.driftledger("track")
    assert snapshot(copied.root / "mlflow.db") == first


def test_the_data_of_a_run_is_loaded_in_a_clone_from_an_older_commit(
    small, tmp_path, monkeypatch
):
    project = small.copy(tmp_path)
    project.run("dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    project.commit("a remote")
    project.run("dvc", "push")
    project.driftledger("track")
    project.git("rm", "--quiet", "dvc.lock")
    project.commit("without results")
    project.git("clone", "--quiet", ".", str(tmp_path / "clone"))

    client = MlflowClient(f"sqlite:///{project.root}/mlflow.db")
    experiment = client.get_experiment_by_name("driftledger")
    run = client.search_runs([experiment.experiment_id])[0]
    [data] = run.inputs.dataset_inputs
    source = mlflow.data.get_source(data)
    assert source.rev == project.git("rev-parse", "HEAD~").strip()
    for name in ("DVC_SITE_CACHE_DIR", "DVC_GLOBAL_CONFIG_DIR"):
        monkeypatch.setenv(name, project.env[name])
    monkeypatch.chdir(tmp_path / "clone")
    loaded = _files(source.load(str(tmp_path / "loaded")))
    assert len(loaded) > 4
    assert loaded == _files(project.root / source.path)


def _files(folder):
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


PLAIN = """\
import mlflow

with mlflow.start_run(run_name="theirs"):
    mlflow.log_metric("loss", 0.5)
"""


@pytest.mark.slow
def test_what_else_uses_mlflow_in_the_folder_works_after_a_run(small, tmp_path):
    """In MLflow's own experiment: 'mlflow run', a plain run, and the scorers as documented."""
    copied = small.copy(tmp_path)
    copied.driftledger("run")
    copied.run("mlflow", "run", ".", "--env-manager", "local")
    copied.run("python", "-c", PLAIN)
    page = (REPOSITORY / "docs/mlflow_and_dvc.md").read_text(encoding="utf-8")
    snippet = page.split("## Your own app")[1].split("```")[1].removeprefix("python\n")
    for documented, here in {
        "photos/1.png": "photos/round/1.png",
        "photos/2.png": "photos/square/2.png",
        '"gpt_image_2"': '"painter"',
        '"open_clip"': '"layout", "understood_by": ["painter", "layout"]',
    }.items():
        assert documented in snippet
        snippet = snippet.replace(documented, here)
    (copied.root / "app.py").write_text(f'{snippet}\nprint("done")\n', encoding="utf-8")
    assert copied.run("python", "app.py").stdout.endswith("done\n")

    client = MlflowClient(f"sqlite:///{copied.root}/mlflow.db")
    names = {each.experiment_id: each.name for each in client.search_experiments()}
    assert sorted(names.values()) == ["Default", "driftledger"]
    runs = client.search_runs([*names])
    plain = [run for run in runs if names[run.info.experiment_id] == "Default"]
    assert sorted({run.info.status for run in runs}) == ["FINISHED"]
    assert len(plain) == 3
    assert {"loss", "redrawn/mean"} <= {
        key for run in plain for key in run.data.metrics
    }
    assert len(runs) == 3 + 2


@pytest.mark.slow
def test_the_documented_lines_of_dvc_show_the_scores_of_two_models(small, tmp_path):
    page = (REPOSITORY / "docs/mlflow_and_dvc.md").read_text(encoding="utf-8")
    block = page.split("## With DVC")[1].split("```")[1]
    commands = block.replace("|\n", "|").splitlines()[1:]
    copied = small.copy(tmp_path)
    shown: dict[str, str] = {}
    for command in commands:
        done = copied.run("bash", "-c", command, COLUMNS="200")
        assert "failed" not in done.stdout + done.stderr
        words = command.partition("#")[0].split()
        shown[" ".join(words[1:3])] = done.stdout
        shown[" ".join(words)] = done.stdout
    heads = " +".join(
        f"{name}@{t}" for name in ("blind", "regions_fine") for t in (7, 2)
    )
    assert re.search(rf" {heads} *$", shown["exp show"], re.MULTILINE)
    changed = shown["dvc metrics diff"]
    for name in ("blind", "regions_fine"):  # GC@2 and GC@7 share no line
        assert re.search(rf"\b{name}\.json +gc_at_2 +0\.\d+ +- +-$", changed, re.M)
        assert re.search(rf"\b{name}\.json +gc_at_7 +- +0\.\d+ +-$", changed, re.M)
    assert "blind.json" in shown["dvc metrics diff --all"]
    assert re.search(r"genception\.iterations +2 +7", shown["params diff"])
    assert (
        max(len(line) for text in shown.values() for line in text.splitlines()) <= 200
    )
    drawn = (copied.root / "dvc_plots/index.html").read_text(encoding="utf-8")
    assert "GenCeption: GC@t" in drawn
    assert "TRAC" not in drawn

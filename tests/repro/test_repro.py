"""``driftledger run`` and ``dvc repro`` give the same files, whatever happens on the way."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.registry import lock_files
from tests.conftest import REPRO, Checkout, stages_run
from tests.pipelines.test_pipeline import calls_made, most_often_made
from tests.tracking.dump import dump

PATIENCE = 120.0

STAGES = """\
stages:
  first:
    cmd: echo first > first.txt
    params: [a]
    outs: [first.txt]
  second:
    cmd: {second}
    deps: [first.txt]
    params: [b.c]
    outs: [second.txt]
  third:
    cmd:
      - cp second.txt third.txt
      - grep -c first dvc.lock >> third.txt
    deps: [second.txt]
    outs: [third.txt]
"""


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Checkout]:
    """A project of DVC with three stages of somebody's own."""

    def make(name: str, second: str = "cp first.txt second.txt") -> Checkout:
        made = Checkout(tmp_path / name, tmp_path / f"state of {name}")
        made.root.mkdir()
        made.run("git", "init", "--quiet")
        made.run("dvc", "init", "--quiet")
        (made.root / "params.yaml").write_text("a: 1\nb: {c: [1, two]}\n", encoding="utf-8")
        (made.root / "dvc.yaml").write_text(STAGES.format(second=second), encoding="utf-8")
        return made

    return make


def lock_of(checkout: Checkout) -> str:
    file = checkout.root / "dvc.lock"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def test_stages_of_somebodys_own_run_in_the_shell_and_read_what_came_before(project: Callable[..., Checkout]) -> None:
    by_dvc, own = project("a"), project("b")
    by_dvc.run("dvc", "repro")
    own.run(*REPRO)
    remembered = {"yaml.json", "dvc.lock.settled"}  # not where whoever made the checkout could have put something else
    assert not remembered & {each.name for each in own.root.rglob("*")}
    for name in ("dvc.lock", ".gitignore", "third.txt"):
        assert (own.root / name).read_bytes() == (by_dvc.root / name).read_bytes()
    assert int((own.root / "third.txt").read_text().splitlines()[-1]) > 0
    assert stages_run(own.run(*REPRO).stdout) == []
    assert stages_run(own.run(*REPRO, "--force", "--single-item", "second").stdout) == ["second"]
    assert lock_of(own) == lock_of(by_dvc)
    (own.root / "params.yaml").write_text("a: 1\nb: {c: 3}\n", encoding="utf-8")
    assert stages_run(own.run(*REPRO).stdout) == ["second"]  # whose output is as it was


LOOKED_AT = "stages: {first: {cmd: touch first.txt, params: [../params.yaml: [a]], outs: [first.txt]}}\n"
LOOKS = """\
stages:
  looks: {cmd: wc -l < one/dvc.lock > looks.txt, deps: [one/first.txt, one/dvc.lock], outs: [looks.txt]}
"""


def test_a_stage_that_depends_on_a_lock_runs_when_that_has_changed(project: Callable[..., Checkout]) -> None:
    for name, command in (("a", ("dvc", "repro")), ("b", REPRO)):
        made = project(name)
        (made.root / "one").mkdir()
        (made.root / "one" / "dvc.yaml").write_text(LOOKED_AT, encoding="utf-8")
        (made.root / "dvc.yaml").write_text(LOOKS, encoding="utf-8")
        made.run(*command)
        (made.root / "params.yaml").write_text("a: 2\n", encoding="utf-8")
        ran = stages_run(made.run(*command, "one/dvc.yaml", "dvc.yaml").stdout)
        assert ran == ["looks"], name  # that of the folder is none of ours, and not counted


def test_what_an_import_puts_back_is_seen(project: Callable[..., Checkout], tmp_path: Path) -> None:
    for name, command in (("a", ("dvc", "repro")), ("b", REPRO)):
        made, source = project(name), tmp_path / f"source of {name}"
        source.write_text("as it was", encoding="utf-8")
        made.run("dvc", "import-url", str(source), "in.txt")
        made.run("dvc", "unfreeze", "in.txt.dvc")
        stage = "stages: {use: {cmd: cp in.txt out.txt, deps: [in.txt], outs: [out.txt]}}\n"
        (made.root / "dvc.yaml").write_text(stage, encoding="utf-8")
        made.run(*command)
        (made.root / "in.txt").unlink()
        (made.root / "in.txt").write_text("edited", encoding="utf-8")
        made.run(*command, "--single-item", "use")
        made.run(*command)
        assert (made.root / "out.txt").read_text(encoding="utf-8") == "as it was", name


IGNORED = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


def test_who_ignores_its_children_sees_it_fail_all_the_same(project: Callable[..., Checkout]) -> None:
    own = project("a", second="cp first.txt second.txt; exit 3")
    done = own.run(sys.executable, "-c", IGNORED, *REPRO, check=False)
    assert done.returncode == 255
    assert "failed to reproduce 'second'" in done.stderr


def test_a_stage_that_fails_leaves_the_others_in_the_lock(project: Callable[..., Checkout]) -> None:
    by_dvc, own = project("a", second="exit 3"), project("b", second="exit 3")
    failed, expected = own.run(*REPRO, check=False), by_dvc.run("dvc", "repro", check=False)
    assert failed.returncode == expected.returncode == 255
    assert failed.stderr == expected.stderr
    assert lock_of(own) == lock_of(by_dvc) != ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 255), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_what_ends_it_leaves_a_lock_from_which_dvc_goes_on(
    number: signal.Signals, code: int, project: Callable[..., Checkout]
) -> None:
    waiting = "if [ -f go ]; then cp first.txt second.txt; else touch began; sleep 60; fi"
    undisturbed, own = project("a", second=waiting), project("b", second=waiting)
    (undisturbed.root / "go").touch()
    undisturbed.run("dvc", "repro")
    process = subprocess.Popen(
        REPRO,
        cwd=own.root,
        env=own.env,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    wait_for((own.root / "began").is_file)
    blocked = own.run("dvc", "repro", "second", check=False)
    assert blocked.returncode == 255
    assert "is busy, it is being blocked by" in blocked.stderr
    os.killpg(process.pid, number)
    assert process.wait(PATIENCE) == code
    assert "first:" in lock_of(own)
    (own.root / "go").touch()
    own.run("driftledger", "unlock")
    assert stages_run(own.run("dvc", "repro").stdout)[:1] == ["second"]
    assert lock_of(own) == lock_of(undisturbed)


def wait_for(condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


def mlflow_of(checkout: Checkout) -> dict[str, Any]:
    """All that it shows, less what no two runs share: how long calls took, and MLflow's own id of a run."""
    shown = dump(f"sqlite:///{checkout.root}/mlflow.db", "driftledger")
    for run in shown["runs"]:
        run["metrics"] = [row for row in run["metrics"] if not row[0].startswith("usage/seconds_per_")]
        note = run["tags"]["mlflow.note.content"]
        run["tags"]["mlflow.note.content"], count = re.subn("MLflow run `[0-9a-f]{32}`", "MLflow run", note)
        assert count == 1
    return shown


@pytest.mark.slow
def test_files_scores_and_mlflow_are_those_of_dvc_repro(checkout: Checkout, tmp_path: Path) -> None:
    by_dvc = checkout.copy(tmp_path / "by_dvc")
    expected = by_dvc.run("dvc", "repro").stdout
    done = checkout.run("driftledger", "run", "--plain")
    assert stages_run(done.stdout) == stages_run(expected)
    files = checkout.outputs()
    assert files == by_dvc.outputs()
    assert files.keys() > set(lock_files()[:1])
    assert any(name.endswith("score.json") for name in files)
    assert (checkout.root / "ledger.jsonl").read_bytes() == (by_dvc.root / "ledger.jsonl").read_bytes()
    assert mlflow_of(checkout) == mlflow_of(by_dvc)
    assert stages_run(by_dvc.run("driftledger", "run", "--plain").stdout) == ["resolve", "track"]
    assert stages_run(checkout.run("dvc", "repro").stdout) == ["resolve", "track"]
    assert checkout.outputs() == files


@pytest.mark.slow
def test_killed_at_some_moments_it_goes_on_to_the_same_files(finished: Checkout, checkout: Checkout) -> None:
    moments = random.Random(21)
    log = checkout.root / ".driftledger" / "run.log"
    for stage in ("dataset@my_images", "chain@my_images-regions_medium-painter", "correlation", "report"):
        process = subprocess.Popen(
            ["driftledger", "run"],
            cwd=checkout.root,
            env=checkout.env,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        began = re.compile(f"Running stage '[^']*{re.escape(stage)}'")

        def reached(began: "re.Pattern[str]" = began, process: "subprocess.Popen[bytes]" = process) -> bool:
            text = log.read_text(encoding="utf-8") if log.is_file() else ""
            return began.search(text) is not None or process.poll() is not None

        wait_for(reached)
        time.sleep(moments.uniform(0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for name in lock_files():
            file = checkout.root / name
            assert not file.is_file() or yaml.safe_load(file.read_text(encoding="utf-8"))["schema"] == "2.0"
    done = checkout.run("driftledger", "run", "--plain")
    assert "track" in stages_run(done.stdout)
    assert checkout.outputs() == finished.outputs()
    assert most_often_made(checkout.root) == 1
    assert calls_made(checkout.root) == calls_made(finished.root)


@pytest.mark.slow
def test_a_mistake_in_a_stage_is_its_sentence(evaluated: Checkout) -> None:
    (evaluated.root / "data" / "resolved.json").unlink()
    evaluated.params(lambda params: params["models"]["regions_medium"].update(provider="nobody"))
    done = evaluated.run("driftledger", "run", check=False)
    assert done.returncode == 2
    [line] = [each for each in done.stderr.splitlines() if each.startswith("driftledger: ")]
    assert "nobody" in line
    assert "Traceback" not in done.stderr

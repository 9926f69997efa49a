"""Whole runs of ``dvc repro``, as a user has them: what runs again, what does not, and what kills leave behind."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.canonical import sha256_file
from tests.conftest import REPOSITORY, REPRO, SCORES, Checkout, draw, stages_run

pytestmark = pytest.mark.slow

CHAIN = "chain@my_images-regions_medium-painter"
CHAINS = f"pipelines/genception/dvc.yaml:{CHAIN}"
"""The one stage here that calls anybody, as ``dvc repro`` is given it."""

KILLING = REPOSITORY / "tests" / "support" / "killing"
"""Python reads what to do at its start from there."""


def calls_made(root: Path) -> int:
    return query(root / ".driftledger" / "calls.db", "SELECT coalesce(max(rowid), 0) FROM calls")


def most_often_made(root: Path) -> int:
    return query(root / ".driftledger" / "calls.db", "SELECT 1 + max(rowid) - count(*) FROM calls")


def query(path: Path, sql: str) -> Any:
    """The one value that ``sql`` asks for; 0 while there is no table yet."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=600)) as db:
        try:
            return db.execute(sql).fetchone()[0]
        except sqlite3.OperationalError:  # the stage has made the file and not yet its table
            return 0


def test_second_run_calls_nothing_and_creates_no_run(finished: Checkout) -> None:
    before, calls = finished.outputs(), calls_made(finished.root)
    again = finished.run("dvc", "repro").stdout
    assert stages_run(again) == ["resolve", "track"]
    assert "0 runs created, 0 completed, 1 unchanged" in again
    assert calls_made(finished.root) == calls == 8 * 2 * 2
    assert finished.outputs() == before


def test_only_what_is_new_or_changed_runs(evaluated: Checkout) -> None:
    def second_model_and_generator(params: dict[str, Any]) -> None:
        params["run"]["models"] = ["regions_medium", "blind"]
        params["generators"]["small_painter"] = {"provider": "painter", "longest_side": 64}
        params["run"]["generators"] = ["painter", "small_painter"]
        params["encoders"]["other_layout"] = {"provider": "layout", "batch_size": 4}
        params["run"]["encoders"] = ["layout", "other_layout"]

    evaluated.params(second_model_and_generator)
    new = evaluated.repro(*SCORES)
    assert [name for name in new if name.startswith("chain@")] == [
        "chain@my_images-regions_medium-small_painter",
        "chain@my_images-blind-painter",
        "chain@my_images-blind-small_painter",
    ]
    assert "genception@my_images-regions_medium-painter-other_layout" in new
    assert "genception@my_images-regions_medium-painter-layout" not in new
    assert not any(name.startswith("dataset@") for name in new)

    evaluated.params(lambda params: params["generators"]["small_painter"].update(longest_side=80))
    changed = evaluated.repro(*SCORES)
    assert {name for name in changed if "@" in name} == {
        f"{stage}@my_images-{model}-small_painter{encoder}"
        for model in ("regions_medium", "blind")
        for stage, encoder in (("chain", ""), ("genception", "-layout"), ("genception", "-other_layout"))
    }


def test_changed_image_in_the_folder_is_seen(evaluated: Checkout) -> None:
    draw(evaluated.root / "my_images" / "round" / "1.png", 30)
    ran = evaluated.repro(CHAINS)
    assert "dataset@my_images" in ran
    assert CHAIN in ran
    assert calls_made(evaluated.root) == 8 * 2 * 2 + 2 * 2


def test_a_new_version_of_a_component_is_seen_by_its_fingerprint_alone(evaluated: Checkout) -> None:
    painter = evaluated.root / "src/driftledger/demo/generators/painter.py"
    code = painter.read_text(encoding="utf-8")
    painter.write_text(code + "\n# a comment changes nothing\n", encoding="utf-8")
    assert evaluated.repro(PYTHONPATH="src") == ["resolve"]
    painter.write_text(code.replace('version: ClassVar[str] = "1"', 'version: ClassVar[str] = "2"'), encoding="utf-8")
    ran = evaluated.repro(CHAINS, PYTHONPATH="src")
    assert CHAIN in ran
    assert "dataset@my_images" not in ran
    assert calls_made(evaluated.root) == 8 * 2 * 2 + 8 * 2, (
        "the descriptions' calls are the same, the drawings' are not"
    )


def test_more_iterations_reuse_the_first_ones(evaluated: Checkout) -> None:
    evaluated.params(lambda params: params["genception"].update(iterations=3))
    evaluated.repro(CHAINS)
    assert calls_made(evaluated.root) == 8 * 3 * 2
    assert most_often_made(evaluated.root) == 1


def test_killed_ten_times_ends_as_if_undisturbed(checkout: Checkout, tmp_path: Path) -> None:
    def one_call_at_a_time(params: dict[str, Any]) -> None:
        params["models"]["regions_medium"]["batch_size"] = 1
        params["generators"]["painter"]["batch_size"] = 1
        params["genception"]["iterations"] = 6

    checkout.params(one_call_at_a_time)
    checkout.commit("one call at a time")
    undisturbed = checkout.copy(tmp_path / "undisturbed")
    undisturbed.repro()

    total, moments = calls_made(undisturbed.root), random.Random(20)
    assert 70 < total <= 8 * 6 * 2
    calls_at_kill: list[int] = []
    for kill in range(10):
        already = calls_at_kill[-1] if calls_at_kill else 0
        target = min(total, already + moments.randint(1, 5)) if kill < 9 else total
        targets = ("--single-item", CHAINS) if kill else ("report",)  # what comes before it has run by then
        calls_at_kill.append(repro_killed_at(checkout, targets, target, delay=moments.uniform(0.0, 0.05)))
    assert calls_at_kill == sorted(calls_at_kill)
    assert len(set(calls_at_kill)) >= 6, "the kills hit the same moment"
    checkout.repro()
    assert calls_made(checkout.root) == total
    assert most_often_made(checkout.root) == 1
    assert checkout.outputs() == undisturbed.outputs()


def repro_killed_at(checkout: Checkout, targets: tuple[str, ...], calls: int, delay: float) -> int:
    """``dvc repro`` in a process group that its stage kills as soon as ``calls`` are stored; how many are stored then.

    Args:
        delay: in seconds, how much later.
    """
    path = os.pathsep.join(filter(None, (str(KILLING), checkout.env.get("PYTHONPATH"))))
    environment = {"KILLED_AT": str(calls), "KILLED_LATER": str(delay), "PYTHONPATH": path}
    killed = subprocess.run(
        ["dvc", "repro", *targets], cwd=checkout.root, env=checkout.env | environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, "dvc repro ended before it could be killed"
    return calls_made(checkout.root)


def test_a_model_that_leaves_too_few_chains_fails_its_stage_with_a_sentence(evaluated: Checkout) -> None:
    score = evaluated.root / "reports/scores/genception/my_images/regions_medium/painter/layout"
    shutil.rmtree(score)
    records = evaluated.root / "data/chains/my_images/regions_medium/painter/records.jsonl"
    lines = records.read_text(encoding="utf-8").splitlines()
    records.write_text("\n".join(line for line in lines if json.loads(line)["t"] == 1) + "\n", encoding="utf-8")
    failed = evaluated.run(
        *("driftledger", "stage", "genception", "genception", "my_images", "regions_medium", "painter", "layout"),
        check=False,
    )
    assert failed.returncode == 2
    assert "only 0 of 8 chains reached t=2" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not score.exists()


def test_mlflow_project_does_the_same_and_joins_no_runs(published: Checkout) -> None:
    before = published.outputs()
    published.run("mlflow", "run", ".", "--env-manager", "local")
    assert published.outputs() == before
    with sqlite3.connect(published.root / "mlflow.db") as db:
        rows = db.execute("SELECT e.name, r.name FROM runs r JOIN experiments e USING (experiment_id)").fetchall()
    ours = [name for experiment, name in rows if experiment == "driftledger"]
    assert ours == ["regions_medium · painter · layout"]
    audit = published.run("mlflow", "run", ".", "--env-manager", "local", "-e", "audit", "-P", f"run={ours[0]}")
    assert "GC@2" in audit.stdout + audit.stderr


def test_deleted_mlflow_store_is_rebuilt_the_same(evaluated: Checkout) -> None:
    from tests.tracking.dump import dump

    uri = f"sqlite:///{evaluated.root}/mlflow.db"
    evaluated.commit("results")
    evaluated.run("driftledger", "track")
    first = dump(uri, "driftledger")
    for file in evaluated.root.glob("mlflow.db*"):
        file.unlink()
    evaluated.run(*REPRO)
    assert dump(uri, "driftledger") == first
    [run] = first["runs"]
    dataset = evaluated.root / "data/datasets/my_images"
    samples = {each["id"]: each for each in map(json.loads, (dataset / "samples.jsonl").read_text().splitlines())}
    assert {trace["tags"]["unit"] for trace in run["traces"]} == samples.keys()
    for trace in run["traces"]:
        whole, *steps = trace["spans"]
        sample = samples[trace["tags"]["unit"]]
        assert whole[3] == {"sample": sample["id"], "category": sample["category"], "image": sample["sha256"]}
        assert [step[0] for step in steps] == ["describe 1", "generate 1", "describe 2", "generate 2"]
        drawn = evaluated.root / f"data/chains/my_images/regions_medium/painter/images/{sample['id']}/1.png"
        assert steps[1][4]["image"] == steps[2][3]["image"] == sha256_file(drawn)
        assert [name for name, *_ in trace["scores"]] == ["GC@2", "s(2)"]


def test_audit_leads_from_the_run_to_bytes_versions_and_commit(finished: Checkout) -> None:
    evidence = json.loads(finished.run("driftledger", "audit", "regions_medium/painter/layout", "--json").stdout)
    lineage = evidence["lineages"][0]
    generator = lineage["score"]["components"]["generator"]
    run_id = query(finished.root / "mlflow.db", "SELECT run_uuid FROM runs WHERE name LIKE 'regions_medium%'")
    names = ("regions_medium · painter · layout", "regions_medium/painter/layout", run_id, evidence["fingerprint"])
    for name in names:
        text = finished.run("driftledger", "audit", "--full", "--trust", name).stdout
        for expected in (
            f"gc_at_2 = {lineage['score']['metrics']['gc_at_2']!r}",
            f"generator: painter, fingerprint {generator['fingerprint']}",
            '"longest_side":256',
            f"data/chains/my_images/regions_medium/painter, md5 {lineage['collected']['chain']['md5']}",
            lineage["score"]["inputs"]["data_digest"],
            "chain@my_images-regions_medium-painter",
            f"git commit {finished.git('rev-parse', 'HEAD').strip()}",
        ):
            assert expected in text, name
    assert lineage["collected"]["chain"]["md5"].endswith(".dir")


def test_audit_of_an_unknown_run_is_one_sentence(finished: Checkout) -> None:
    failed = finished.run("driftledger", "audit", "nobody", check=False)
    assert failed.returncode == 2
    assert "there is no run, score file, image or metric 'nobody'" in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_chain_folder_loads_as_an_imagefolder(finished: Checkout, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    images = finished.root / "data/chains/my_images/regions_medium/painter/images"
    loaded = datasets.load_dataset("imagefolder", data_dir=str(images), split="train", cache_dir=str(tmp_path))
    assert loaded.num_rows == 16
    assert set(loaded.features["label"].names) == {f"{'round' if n % 2 else 'square'}_{n}" for n in range(8)}

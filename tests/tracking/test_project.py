"""What MLflow is shown of hand-written evidence, without any MLflow."""

import csv
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from driftledger.benchmarks.genception.records import ChainRecord, ScoreFile
from driftledger.collect.call_key import CallKey, rendered
from driftledger.collect.call_result import Context, Cost, Result
from driftledger.collect.call_store import CallStore, Finished
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import Evidence, Selected, read_evidence
from driftledger.project.settings import Tracking
from driftledger.tracking.content import LoggedMetric, RunContent, key_of
from driftledger.tracking.project import run_content, tracking_uri
from tests.conftest import REPOSITORY
from tests.support.ledgers import COMBINATION, component, lock_of, score_file, with_chain, write_ledger, write_lock

CLEAN = CodeVersion(commit="c0ffee", dirty=False, untracked=[])
HOSTILE = "=cmd()|'<img src=x>\x1b[31m\u202e\n,;\"@"


def evidence_of(root: Path, score: ScoreFile | None = None, code: CodeVersion = CLEAN) -> Evidence:
    return read_evidence(Layout(root), Selected(["shapes"]), COMBINATION).model_copy(update={"code": code})


def content(root: Path, score: ScoreFile | None = None, code: CodeVersion = CLEAN, **ledger: str) -> RunContent:
    write_ledger(root, score, **ledger)
    return run_content(Layout(root), evidence_of(root, code=code))


def values(run: RunContent) -> dict[tuple[str, int], float]:
    return {(metric.key, metric.step): metric.value for metric in run.every_metric()}


def table(run: RunContent, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run.artifacts[name]().decode(), newline="")))


def test_curves_have_a_step_per_iteration_and_finals_have_none(tmp_path: Path) -> None:
    found = values(content(tmp_path))
    prefix = "genception/shapes"
    assert found == {
        (f"{prefix}/similarity", 1): 0.9,
        (f"{prefix}/similarity", 2): 0.6,
        (f"{prefix}/gc", 1): 0.9,
        (f"{prefix}/gc", 2): 0.7,
        (f"{prefix}/gc_low", 1): 0.8,
        (f"{prefix}/gc_low", 2): 0.65,
        (f"{prefix}/gc_high", 1): 0.95,
        (f"{prefix}/gc_high", 2): 0.75,
        (f"{prefix}/frechet_eye", 2): 4.5,
        (f"{prefix}/gc_at_2", 0): 0.7,
        (f"{prefix}/gc_at_2_low", 0): 0.65,
        (f"{prefix}/gc_at_2_high", 0): 0.75,
        (f"{prefix}/similarity_at_2", 0): 0.6,
        (f"{prefix}/frechet_eye_at_2", 0): 4.5,
        (f"{prefix}/similarity_mean", 0): 0.75,
        (f"{prefix}/coverage", 0): 1.0,
        (f"{prefix}/category/round/gc_at_2", 0): 0.7,
    }


def test_every_metric_is_linked_to_its_dataset(tmp_path: Path) -> None:
    assert {metric.dataset for metric in content(tmp_path).every_metric()} == {"shapes"}


def test_categories_and_groups_have_their_final_value(tmp_path: Path) -> None:
    score = score_file(
        by_category={"round": {"gc_at_1": 0.2, "gc_at_2": 0.7}, "short": {"gc_at_1": 0.1}},
        by_group={"round": {"gc_at_2": 0.8}, "none": {}},
    )
    found = {key: value for (key, _), value in values(content(tmp_path, score)).items() if key.count("/") > 2}
    assert found == {
        "genception/shapes/category/round/gc_at_2": 0.7,
        "genception/shapes/group/round/gc_at_2": 0.8,
    }


def test_two_datasets_stand_side_by_side(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = evidence_of(tmp_path)
    [first] = evidence.behind
    other = first.model_copy(
        update={
            "score": first.score.model_copy(update={"dataset": "photos"}),
            "data": first.data.model_copy(update={"path": "data/datasets/photos", "md5": "8" * 32}),
        }
    )
    run = run_content(Layout(tmp_path), evidence.model_copy(update={"behind": [first, other]}))
    assert [(each.name, each.digest) for each in run.datasets] == [("shapes", "1" * 32 + ".dir"), ("photos", "8" * 32)]
    assert {metric.dataset for metric in run.every_metric()} == {"shapes", "photos"}
    assert len(run.every_metric()) == 2 * len([metric for metric in run.every_metric() if metric.dataset == "photos"])
    assert {"genception/shapes/samples.csv", "genception/photos/samples.csv"} <= set(run.artifacts)


def test_params_are_the_three_specs_and_the_protocol(tmp_path: Path) -> None:
    pinned = component("seer", settings={"detail": "fine", "options": {"a": [1]}}, identity={"commit": "ab", "bits": 4})
    run = content(tmp_path, with_chain(score_file(), model=pinned))
    assert run.params == {
        "iterations": "2",
        "seed": "7",
        "describe_prompt": "Describe it.",
        "generate_prompt": "Draw: {description}",
        "model": "seer",
        "model.provider": "seer_provider",
        "model.version": "3",
        "model.detail": "fine",
        "model.options": '{"a":[1]}',
        "model.identity.commit": "ab",
        "model.identity.bits": "4",
        "generator": "brush",
        "generator.provider": "brush_provider",
        "generator.version": "3",
        "generator.batch_size": "16",
        "generator.longest_side": "64",
        "encoder": "eye",
        "encoder.provider": "eye_provider",
        "encoder.version": "3",
        "encoder.batch_size": "16",
    }


def test_tags_hold_fingerprints_code_and_the_lock(tmp_path: Path) -> None:
    tags = content(tmp_path).tags
    expected = {f"{kind}.fingerprint": hashlib.sha256(name.encode()).hexdigest() for kind, name in (
        ("model", "seer"), ("generator", "brush"), ("encoder", "eye")
    )}  # fmt: skip
    expected |= {"git.commit": "c0ffee", "git.dirty": "false"}
    expected["dvc.lock/dataset/shapes"] = (
        '{"outs":{"data/datasets/shapes":"' + "1" * 32 + '.dir"},"stage":"dataset@shapes"}'
    )
    assert expected.items() <= tags.items()
    assert "2" * 32 + ".dir" in tags["dvc.lock/chain/shapes"]
    assert "eye.samples.jsonl" in tags["dvc.lock/drift/shapes"]


def test_code_outside_git_is_said_to_be(tmp_path: Path) -> None:
    tags = content(tmp_path, code=CodeVersion(commit=None, dirty=True, untracked=["a"])).tags
    assert (tags["git.commit"], tags["git.dirty"]) == ("none", "true")


def test_the_dataset_carries_dvcs_digest(tmp_path: Path) -> None:
    [dataset] = content(tmp_path).datasets
    assert (dataset.name, dataset.digest) == ("shapes", "1" * 32 + ".dir")
    assert (dataset.source, dataset.samples) == ("data/datasets/shapes", 2)


def test_the_run_is_known_by_the_evidences_fingerprint(tmp_path: Path) -> None:
    run = content(tmp_path)
    assert (run.name, run.fingerprint) == ("seer · brush · eye", evidence_of(tmp_path).fingerprint)


def test_the_content_is_in_the_same_order_in_every_process(tmp_path: Path) -> None:
    """What is pushed in another order is another history, should a push be killed half-way."""
    write_ledger(tmp_path)
    code = (
        "import sys; from pathlib import Path; from driftledger.core.paths import Layout\n"
        "from driftledger.ledger.lineage import Selected, read_evidence\n"
        "from driftledger.tracking.project import run_content\n"
        "from tests.support.ledgers import COMBINATION; layout = Layout(Path(sys.argv[1]))\n"
        "run = run_content(layout, read_evidence(layout, Selected(['shapes']), COMBINATION))\n"
        "print([(m.key, m.step, m.of) for m in run.every_metric()], [each.key for each in run.components])\n"
        "print(list(run.params), list(run.tags), list(run.artifacts))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env=os.environ | {"PYTHONHASHSEED": seed}, cwd=REPOSITORY, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(said) == 1


def test_evidence_travels_with_the_run(tmp_path: Path) -> None:
    run = content(tmp_path)
    assert Evidence.model_validate_json(run.artifacts["evidence.json"]()) == evidence_of(tmp_path)
    assert b"pydantic==" in run.artifacts["packages.txt"]()
    assert "dirty.patch" not in run.artifacts


def test_a_dirty_checkout_brings_its_patch(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@t", *arguments], check=True)

    (tmp_path / "a.txt").write_text("one\n")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    (tmp_path / "a.txt").write_text("two\n")
    run = content(tmp_path, code=CLEAN.model_copy(update={"dirty": True}))
    assert b"-one\n+two\n" in run.artifacts["dirty.patch"]()


def test_the_contact_sheet_shows_both_samples(tmp_path: Path) -> None:
    png = content(tmp_path).artifacts["genception/shapes/chains.png"]()
    with Image.open(io.BytesIO(png)) as image:
        assert image.format == "PNG"
        assert image.height > image.width * 2 / 3


def test_values_per_sample_are_numbers_or_nothing(tmp_path: Path) -> None:
    rows = table(content(tmp_path), "genception/shapes/samples.csv")
    plain = {"category": "round", "outcome": "ok", "s1": "0.900000", "gc1": "0.900000"}
    assert rows == [
        {"sample": "disc", **plain, "s2": "-0.250000", "gc2": "0.800000"},
        {"sample": "ring", **plain, "s2": "", "gc2": ""},
    ]


def test_descriptions_are_readable(tmp_path: Path) -> None:
    rows = table(content(tmp_path, said="a red disc,\nand a ring"), "genception/shapes/descriptions.csv")
    assert [(row["sample"], row["t"]) for row in rows] == [("disc", "1"), ("disc", "2"), ("ring", "1"), ("ring", "2")]
    assert {row["description"] for row in rows} == {"a red disc,\nand a ring"}
    assert {(row["outcome"], row["error"]) for row in rows} == {("ok", "")}


@pytest.mark.parametrize("hostile", [HOSTILE, "=1", "+1", "@x", "\t=1", "\r=1"])
@pytest.mark.parametrize("name", ["samples", "descriptions"])
def test_tables_hold_no_formula(tmp_path: Path, name: str, hostile: str) -> None:
    run = content(tmp_path, category=hostile, said=hostile)
    cells = [cell for row in table(run, f"genception/shapes/{name}.csv") for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]


def spelt(name: str) -> str:
    return Metric(f"genception/shapes/category/{key_of(name)}/gc_at_2", 1.0).key


@pytest.mark.parametrize("name", ["round", "very round", "A-1_b", "x" * 80])
def test_an_ordinary_name_is_its_own_key(name: str) -> None:
    assert key_of(name) == name


@given(st.text())
def test_any_name_becomes_a_key_that_mlflow_takes(name: str) -> None:
    assert spelt(name)


@given(st.lists(st.text(st.sampled_from("ab/._ -é\n"), max_size=4), unique=True))
def test_names_stay_apart(names: list[str]) -> None:
    assert len({key_of(name) for name in names}) == len(names)


def test_a_name_that_looks_like_a_spelt_out_one_stays_apart_from_it() -> None:
    assert key_of(key_of("a/b")) != key_of("a/b")


def test_ten_thousand_names_of_another_script_stay_apart() -> None:
    names = [chr(0x4E00 + number // 100) + chr(0x5E00 + number % 100) for number in range(10_000)]
    assert len({key_of(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", [HOSTILE, "", " ", "..", ".", "a//b", "/a", "a/", "x" * 1000])
def test_hostile_categories_and_groups_make_a_run(tmp_path: Path, name: str) -> None:
    score = score_file(by_category={name: {"gc_at_2": 0.5}, "a": {"gc_at_2": 0.7}}, by_group={name: {"gc_at_2": 0.5}})
    keys = [metric.key for metric in content(tmp_path, score).every_metric()]
    assert len([key for key in keys if "/category/" in key]) == 2
    assert len([key for key in keys if "/group/" in key]) == 1


def finished_calls(records: list[ChainRecord], seconds: Mapping[str, float]) -> list[Finished]:
    calls = []
    for record in records:
        context, done = Context("shapes", record.sample, record.t), Result(Outcome.OK, text="x")
        turns, images = rendered(Conversation.ask("Describe it.", ImageFile(Path(), record.parent_sha256)))
        parts: list[tuple[str, Any]] = [
            ("seer", CallKey(component("seer").fingerprint, "describe", turns, images, None, {})),
            ("brush", CallKey(component("brush").fingerprint, "generate", "Draw: a disc", (), record.seed, {})),
        ]
        calls += [Finished(key, context, done, None, Cost(seconds[name], 100, 20, 0.25)) for name, key in parts]
    return calls


def test_what_calls_took_comes_from_the_call_store(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    records = read_jsonl(tmp_path / "data/chains/shapes/seer/brush/records.jsonl", ChainRecord)
    with CallStore(tmp_path / ".driftledger") as store:
        store.put(finished_calls(records, {"seer": 2.0, "brush": 0.5}))
    found = values(run_content(Layout(tmp_path), evidence_of(tmp_path)))
    assert found["genception/shapes/seconds_per_describe", 0] == 2.0
    assert found["genception/shapes/seconds_per_generate", 0] == 0.5
    assert found["genception/shapes/input_tokens_per_describe", 0] == 100
    assert found["genception/shapes/output_tokens_per_describe", 0] == 20
    assert found["genception/shapes/cost_of_describe", 0] == 0.25 * len({record.parent_sha256 for record in records})


def test_what_services_said_they_were_is_a_tag_and_more_than_one_version_a_flag(tmp_path: Path) -> None:
    tags = content(tmp_path, score_file(served={"model": {"m-1 fp": 3}})).tags
    assert tags["model.served"] == "m-1 fp"
    assert "driftledger.flags" not in tags
    changed = {"model": {"m-1": 3, "m-2": 1}}
    tags = content(tmp_path, score_file(served=changed, flags=["2 served <b>versions</b>"])).tags
    assert tags["model.served"] == "m-1, m-2"
    assert "2 served versions of the model in this run" in tags["driftledger.flags"]
    assert "genception/shapes: 2 served <b>versions</b>" in tags["driftledger.flags"]
    assert "<b>" not in tags["mlflow.note.content"]


def test_a_call_store_without_these_calls_adds_nothing(tmp_path: Path) -> None:
    without = values(content(tmp_path))
    CallStore(tmp_path / ".driftledger").close()
    assert values(content(tmp_path)) == without


def test_a_lock_that_has_moved_on_is_another_run(tmp_path: Path) -> None:
    before = content(tmp_path).fingerprint
    lock = lock_of(tmp_path, score_file())
    lock["stages"]["dataset@shapes"]["outs"][0]["md5"] = "9" * 32
    write_lock(tmp_path, lock)
    after = run_content(Layout(tmp_path), evidence_of(tmp_path))
    assert after.fingerprint != before
    assert after.datasets[0].digest == "9" * 32


def test_the_environment_overrides_where_mlflow_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = Tracking(uri="sqlite:///mlflow.db", experiment="e")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(tracking) == "sqlite:///mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert tracking_uri(tracking) == "http://127.0.0.1:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    assert tracking_uri(tracking) == "sqlite:///mlflow.db"

"""What MLflow is shown of hand-written evidence, whatever the benchmark, without any MLflow."""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Score, key_of, tracked_key
from driftledger.benchmarks.selection import Selected
from driftledger.collect.call import CallKey, Context, Cost, Finished, Result
from driftledger.collect.store import CallStore
from driftledger.core.canonical import canonical_json
from driftledger.core.files import read_jsonl
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import Evidence, read_evidence
from driftledger.ledger.log.chain import evidence_digest
from driftledger.project.settings import Tracking
from driftledger.tracking import projection
from driftledger.tracking.content import LoggedMetric, RunContent
from driftledger.tracking.projection import run_content, tracking_uri
from tests.conftest import REPOSITORY
from tests.support.description_ledgers import (
    FIDELITY,
    READERS,
    TRAC,
    add_fidelity,
    add_trac,
    fidelity_score,
    trac_score,
)
from tests.support.ledgers import (
    CHAINS,
    COMBINATION,
    KEYS,
    SELECTED,
    component,
    genception_score,
    lock_of,
    marked,
    selected,
    varied,
    write_ledger,
    write_lock,
)
from tests.support.question_ledgers import EXAM, add_questions, question_score

CLEAN = CodeVersion(commit="c0ffee", dirty=False, untracked=[])
HOSTILE = "=cmd()|'<img src=x>\x1b[31m\u202e\n,;\"@"
QUESTIONS = ("mm_sap", EXAM)
ALL = selected(("genception", KEYS), *TRAC, *FIDELITY, QUESTIONS)
SHORT = TRAC[0]
"""TRAC as its short names mean it."""


def evidence_of(root: Path, chosen: Selected = SELECTED, code: CodeVersion = CLEAN) -> Evidence:
    return read_evidence(root, chosen, COMBINATION).model_copy(update={"code": code})


def content(root: Path, score: Score | None = None, code: CodeVersion = CLEAN, **ledger: str) -> RunContent:
    """Of GenCeption alone."""
    write_ledger(root, score, **ledger)
    return run_content(root, evidence_of(root, code=code))


def write_all(root: Path) -> None:
    write_ledger(root)
    add_trac(root)
    add_fidelity(root)
    add_questions(root)


def of_all(root: Path, chosen: Selected = ALL) -> RunContent:
    write_all(root)
    return run_content(root, evidence_of(root, chosen))


def values(run: RunContent, start: str = "") -> dict[tuple[str, int], float]:
    return {(each.key, each.step): each.value for each in run.every_metric() if each.key.startswith(start)}


def table(run: RunContent, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run.artifacts[name]().decode(), newline="")))


def test_curves_have_a_step_per_iteration_and_finals_have_none(tmp_path: Path) -> None:
    own, qualified = "genception/{}.shapes", "uncertainty/{}.genception.shapes"
    within = "within category/round.{}.genception.shapes"
    assert values(content(tmp_path)) == {
        (own.format("similarity"), 1): 0.9,
        (own.format("similarity"), 2): 0.6,
        (own.format("gc"), 1): 0.9,
        (own.format("gc"), 2): 0.7,
        (qualified.format("gc_low"), 1): 0.8,
        (qualified.format("gc_low"), 2): 0.65,
        (qualified.format("gc_high"), 1): 0.95,
        (qualified.format("gc_high"), 2): 0.75,
        (own.format("frechet_eye"), 2): 4.5,
        ("gc_at_2.genception.shapes", 0): 0.7,
        (qualified.format("gc_at_2_low"), 0): 0.65,
        (qualified.format("gc_at_2_high"), 0): 0.75,
        ("similarity_at_2.genception.shapes", 0): 0.6,
        (own.format("frechet_eye_at_2"), 0): 4.5,
        (own.format("similarity_mean"), 0): 0.75,
        (qualified.format("coverage"), 0): 1.0,
        (within.format("gc_at_2"), 0): 0.7,
        (within.format("similarity_at_2"), 0): 0.6,
    }


def test_groups_have_their_final_headlines(tmp_path: Path) -> None:
    score = genception_score(
        groups={
            "category": {"round": {"gc_at_1": 0.2, "gc_at_2": 0.7}, "short": {"gc_at_1": 0.1}},
            "group": {"round": {"gc_at_2": 0.8}, "none": {}},
        }
    )
    found = {key: value for (key, _), value in values(content(tmp_path, score)).items() if key.startswith("within ")}
    assert found == {
        "within category/round.gc_at_2.genception.shapes": 0.7,
        "within group/round.gc_at_2.genception.shapes": 0.8,
    }


def test_the_first_of_several_scores_has_the_short_names(tmp_path: Path) -> None:
    """Lengths, examples and votes are step charts where there are several."""
    found = {key: value for key, value in values(of_all(tmp_path)).items() if "trac" in key[0]}
    own = {
        ("top1", 0): 64.0, ("class_mean", 0): 58.0, ("trac/chance", 0): 10.0, ("trac/leak_rate", 0): 25.0,
        ("trac/vote", 1): 64.0, ("trac/vote", 2): 66.0,
    }  # fmt: skip
    qualified = {("uncertainty/top1_low", 0): 60.0, ("uncertainty/coverage", 0): 1.0}
    lengths = {("trac/by_length.top1", 32): 64.0, ("trac/by_length.top1", 64): 68.0}
    shots = {("trac/by_shots.top1", 0): 60.0, ("trac/by_shots.top1", 1): 59.0, ("trac/by_shots.top1", 2): 58.0}
    places = {"": lengths, ".short.counter": lengths, **{f".shown.{reader}": shots for reader in READERS}}
    assert found == {
        (f"{key}{'' if key.startswith('trac') else '.trac'}.digits{place}", step): value
        for place, charts in places.items()
        for (key, step), value in (own | qualified | charts).items()
    }


def test_groups_that_no_whole_score_has_are_told_with_all_their_numbers(tmp_path: Path) -> None:
    found = {key: value for (key, _), value in values(of_all(tmp_path)).items() if "fidelity" in key}
    assert found == {
        "image_similarity.fidelity.shapes": 71.0,
        "ssim.fidelity.shapes": 31.5,
        "fidelity/frechet_eye.shapes": 4.5,
        "fidelity/human.shapes": 3.5,
        "uncertainty/coverage.fidelity.shapes": 0.5,
        "within agreement/ssim.spearman.fidelity.shapes": 0.5,
        "within agreement/ssim.n.fidelity.shapes": 2.0,
    }


def test_deviations_and_subsets_stand_beside_their_score(tmp_path: Path) -> None:
    found = {key: value for (key, _), value in values(of_all(tmp_path)).items() if "mm_sap" in key}
    assert found == {
        "score.mm_sap.exam": 62.0,
        "uncertainty/score_std.mm_sap.exam": 0.85,
        "mm_sap/free_refusals.exam": 5.0,
        "uncertainty/coverage.mm_sap.exam": 1.0,
        "within subset/basic.score.mm_sap.exam": 70.0,
    }


def test_every_metric_is_linked_to_its_dataset_and_a_dataset_is_one_input(tmp_path: Path) -> None:
    run = of_all(tmp_path)
    assert all(f".{metric.dataset}" in metric.key for metric in run.every_metric())
    assert [(each.name, each.digest, each.source, each.samples) for each in run.datasets] == [
        ("shapes", "1" * 32 + ".dir", "data/datasets/shapes", 2),
        ("digits", "3" * 32 + ".dir", "data/datasets/digits", 1),
        ("exam", "1e" * 16 + ".dir", "data/questions/exam", 4),
    ]


def test_a_dataset_says_what_it_has_and_each_of_it(tmp_path: Path) -> None:
    [shapes] = content(tmp_path).datasets
    assert shapes.columns == {
        **{"category": "string", "file": "string", "height": "long", "id": "string", "schema": "long"},
        **{"sha256": "string", "width": "long"},
    }
    assert [record["inputs"]["id"] for record in shapes.records()] == ["disc", "ring"]


def test_units_are_a_table_that_mlflow_sets_side_by_side(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    run = run_content(tmp_path, evidence_of(tmp_path), traces=1)
    assert json.loads(run.tags["mlflow.loggedArtifacts"]) == [{"path": "genception/shapes/table.json", "type": "table"}]
    made = json.loads(run.artifacts["genception/shapes/table.json"]())
    assert made["columns"] == ["unit", "description", "s(1)", "s(2)", "GC@2", "outcome", "category"]
    rows = [dict(zip(made["columns"], row, strict=True)) for row in made["data"]]
    assert [(row["unit"], row["description"], row["s(1)"]) for row in rows] == [
        ("disc", "a disc", 0.9),
        ("ring", "a disc", 0.9),
    ]
    assert [logged.trace.unit for logged in run.traces()] == ["disc"], "all stand in the table, one is shown by steps"
    again = run_content(tmp_path, evidence_of(tmp_path), traces=1)
    assert json.loads(again.artifacts["genception/shapes/table.json"]()) == made


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://ada:secret@git.example/ada/x.git", "https://git.example/ada/x.git"),
        ("git@git.example:ada/x.git", "git@git.example:ada/x.git"),
        ("/home/ada/x", None),
    ],
)
def test_where_the_code_came_from_is_a_tag_without_a_password(tmp_path: Path, remote: str, shown: str | None) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    assert content(tmp_path).tags.get("mlflow.source.git.repoURL") == shown


def test_two_datasets_stand_side_by_side(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = evidence_of(tmp_path)
    [first] = evidence.lineages
    other = first.model_copy(
        update={
            "score": first.score.model_copy(update={"keys": first.score.keys | {"dataset": "photos"}}),
            "data": first.data.model_copy(update={"path": "data/datasets/photos", "md5": "8" * 32}),
        }
    )
    run = run_content(tmp_path, evidence.model_copy(update={"lineages": [first, other]}))
    assert [(each.name, each.digest) for each in run.datasets] == [("shapes", "1" * 32 + ".dir"), ("photos", "8" * 32)]
    counts = Counter(metric.dataset for metric in run.every_metric())
    assert counts["shapes"] == counts["photos"] == counts.total() / 2
    assert {"genception/shapes/rows.csv", "genception/photos/rows.csv"} <= set(run.artifacts)


def test_params_are_the_components_and_the_protocol(tmp_path: Path) -> None:
    pinned = component("seer", settings={"detail": "fine", "options": {"a": [1]}}, identity={"commit": "ab", "bits": 4})
    run = content(tmp_path, varied(genception_score(), model=pinned))
    assert run.params == {
        "dataset": "shapes",
        "genception.shapes.iterations": "2",
        "seed": "7",
        "genception.shapes.seed": "7",
        "genception.shapes.describe_prompt": "Describe it.",
        "genception.shapes.generate_prompt": "Draw: {description}",
        "model": "seer",
        "model_version": pinned.fingerprint[:12],
        "model.provider": "seer_provider",
        "model.version": "3",
        "model.detail": "fine",
        "model.options": '{"a":[1]}',
        "model.identity.commit": "ab",
        "model.identity.bits": "4",
        "generator": "brush",
        "generator_version": component("brush").fingerprint[:12],
        "generator.provider": "brush_provider",
        "generator.version": "3",
        "generator.batch_size": "16",
        "generator.longest_side": "64",
        "encoder": "eye",
        "encoder_version": component("eye").fingerprint[:12],
        "encoder.provider": "eye_provider",
        "encoder.version": "3",
        "encoder.batch_size": "16",
    }


def test_params_and_tags_tell_the_ways_to_ask_and_the_readers_apart(tmp_path: Path) -> None:
    run = of_all(tmp_path)
    assert {
        "seed": "7",
        "text_encoder": "reader",
        "text_encoder.provider": "reader_provider",
        "text_encoder.counter": "counter",
        "trac.digits.short.reader.prompt": "Describe the digit.",
        "trac.digits.short.reader.max_tokens": "[32,64]",
        "trac.digits.shown.reader.max_tokens": "[null]",
        "trac.digits.shown.reader.choose": "similar_image",
        "trac.digits.shown.counter.shots": "[1,2]",
        "example_model": "narrator",
        "fidelity.shapes.describe_prompt": "Describe the shape.",
        "fidelity.shapes.max_tokens": "64",
        "genception.shapes.describe_prompt": "Describe it.",
        "genception.shapes.iterations": "2",
    }.items() <= run.params.items()
    assert {
        "text_encoder.fingerprint": component("reader").fingerprint,
        "text_encoder.counter.fingerprint": component("counter").fingerprint,
        "example_encoder.fingerprint": component("eye").fingerprint,
    }.items() <= run.tags.items()


def test_tags_hold_fingerprints_code_and_the_digest_of_the_evidence(tmp_path: Path) -> None:
    tags = content(tmp_path).tags
    expected = {f"{role}.fingerprint": hashlib.sha256(name.encode()).hexdigest() for role, name in (
        ("model", "seer"), ("generator", "brush"), ("encoder", "eye")
    )}  # fmt: skip
    expected |= {"mlflow.source.name": "driftledger track", "mlflow.source.type": "LOCAL"}
    expected |= {
        "mlflow.source.git.commit": "c0ffee",
        "git.commit": "c0ffee",
        "git.dirty": "false",
        "mlflow.runType": "genai_evaluate",
    }
    expected["driftledger.evidence_sha256"] = evidence_digest(evidence_of(tmp_path))
    assert {key: value for key, value in tags.items() if key != "mlflow.note.content"} == expected


def test_the_description_begins_with_the_versions_of_all_that_was_at_work(tmp_path: Path) -> None:
    pinned = component("brush", settings={}, identity={"code": "ab" * 32, "pillow": "<b>13</b>"})
    note = content(tmp_path, varied(genception_score(), generator=pinned)).tags["mlflow.note.content"].splitlines()
    assert note[:3] == [
        "| | version | what identifies it |",
        "|---|---|---|",
        f"| generator | [brush@{pinned.fingerprint[:12]}](#/models/generator.brush) | "
        "code abababababab…, pillow &lt;b&gt;13&lt;/b&gt; |",
    ]
    assert {line.split(" | ")[0] for line in note[3:5]} == {"| model", "| encoder"}
    assert [line.split(" | ")[0] for line in note[5:7]] == ["| data", "| code"]
    assert f"`{'1' * 32}.dir`" in note[5]
    assert "`c0ffee`" in note[6]


def test_code_outside_git_is_said_to_be(tmp_path: Path) -> None:
    tags = content(tmp_path, code=CodeVersion(commit=None, dirty=True, untracked=["a"])).tags
    assert (tags["git.commit"], tags["git.dirty"]) == ("none", "true")


def test_the_run_is_known_by_the_evidences_fingerprint(tmp_path: Path) -> None:
    run = content(tmp_path)
    assert (run.name, run.fingerprint) == ("seer · brush · eye", evidence_of(tmp_path).fingerprint)


def test_a_run_without_generated_images_has_no_generator(tmp_path: Path) -> None:
    run = of_all(tmp_path, selected(*TRAC, QUESTIONS))
    assert "generator" not in {component.kind for component in run.components}
    assert run.params["model"] == "seer"
    assert "generator" not in run.params
    assert "TRAC top-1 = 64.0" in run.tags["mlflow.note.content"]


def test_the_content_is_in_the_same_order_in_every_process(tmp_path: Path) -> None:
    """What is pushed in another order is another history, should a push be killed half-way."""
    write_all(tmp_path)
    code = (
        "import sys; from pathlib import Path; from tests.tracking.test_projection import *\n"
        "run = run_content(Path(sys.argv[1]), evidence_of(Path(sys.argv[1]), ALL))\n"
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


def test_rows_are_a_table_of_numbers_or_nothing(tmp_path: Path) -> None:
    """Of every benchmark; what a row is told beside its values follows them."""
    run = of_all(tmp_path)
    plain = {"group": "round", "outcome": "ok", "gc 1": "0.900000", "similarity 1": "0.900000"}
    assert table(run, "genception/shapes/rows.csv") == [
        {"unit": "disc", **plain, "gc 2": "0.800000", "similarity 2": "-0.250000"},
        {"unit": "ring", **plain, "gc 2": "", "similarity 2": ""},
    ]
    first, second = table(run, "fidelity/shapes/rows.csv")
    assert (first["ssim"], first["image_similarity"], first["category"]) == ("31.500000", "71.000000", "round")
    assert (second["ssim"], second["outcome"]) == ("", "refused")
    [tested] = table(run, "trac/digits/shown/counter/rows.csv")
    assert (tested["unit"], tested["top1"], tested["top1 (told)"], tested["label"]) == (
        *("d1", "100.000000", "seven", "seven"),
    )
    for name in run.artifacts:
        if name.endswith("/rows.csv"):
            head = run.artifacts[name]().decode().partition("\n")[0].split(",")
            assert len(set(head)) == len(head)
    assert {name.rpartition("/")[2] for name in run.artifacts if name.startswith("mm_sap/")} == {
        "rows.csv",
        "answers.csv",
    }


@pytest.mark.parametrize("hostile", [HOSTILE, "=1", "+1", "@x", "\t=1", "\r=1"])
def test_no_artifact_table_holds_a_formula(tmp_path: Path, hostile: str) -> None:
    write_ledger(tmp_path, category=hostile, said=hostile)
    groups = {"class": {hostile: {"top1": 1.0}}, "condition": trac_score().groups["condition"]}
    add_trac(tmp_path, trac_score(groups=groups), said=hostile, label=hostile)
    add_fidelity(tmp_path, fidelity_score(groups={"category": {hostile: {"ssim": 1.0}}}), said=hostile)
    add_questions(tmp_path, said=hostile)
    chosen = selected(("genception", KEYS), SHORT, *FIDELITY, QUESTIONS)
    run = run_content(tmp_path, evidence_of(tmp_path, chosen))
    names = [name for name in run.artifacts if name.endswith(".csv")]
    assert {name.split("/")[0] for name in names} == {"genception", "trac", "fidelity", "mm_sap"}
    cells = [cell for name in names for row in table(run, name) for cell in row.values()]
    assert any(hostile[-1] in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]


def test_hostile_text_is_inert_in_the_note(tmp_path: Path) -> None:
    run = content(tmp_path, genception_score(flags=[HOSTILE]))
    note = run.tags["mlflow.note.content"]
    assert "cmd" in note
    assert "<img" not in note
    assert not {"\x1b", "\u202e"} & set(note)


def spelt(name: str) -> str:
    return LoggedMetric(tracked_key("genception/shapes", f"category/{name}/gc_at_2"), 1.0).key


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
    categories = {name: {"gc_at_2": 0.5}, "a": {"gc_at_2": 0.7}}
    score = genception_score(groups={"category": categories, "group": {name: {"gc_at_2": 0.5}}})
    keys = [metric.key for metric in content(tmp_path, score).every_metric()]
    assert len([key for key in keys if key.startswith("within category/")]) == 2
    assert len([key for key in keys if key.startswith("within group/")]) == 1


def test_the_longest_catalogue_names_make_keys_that_mlflow_takes(tmp_path: Path) -> None:
    description, reader = "w" * 64, "e" * 64
    ways = [(asked, by) for asked in ("short", description) for by in ("reader", reader)]
    add_trac(tmp_path, *(trac_score(asked, by) for asked, by in ways))
    chosen = selected(*(("trac", trac_score(asked, by).keys) for asked, by in ways))
    run = run_content(tmp_path, evidence_of(tmp_path, chosen))
    assert f"trac/by_length.top1.digits.{description}.{reader}" in {metric.key for metric in run.metrics}


def finished_calls(records: list[ChainRecord], seconds: Mapping[str, float]) -> list[Finished]:
    calls = []
    for record in records:
        asked = Conversation.ask("Describe it.", ImageFile(Path(), record.parent_sha256))
        parts = [
            ("seer", CallKey.of_conversation(component("seer").fingerprint, "describe", asked, {})),
            ("brush", CallKey.of_prompt(component("brush").fingerprint, "Draw: a disc", record.seed, {})),
        ]
        calls += [done(key, Cost(seconds[name], 100, 20, 0.25)) for name, key in parts]
    return calls


def done(key: CallKey, cost: Cost) -> Finished:
    return Finished(key, Context("d", "s", 1), Result(Outcome.OK, text="x"), None, cost)


def test_what_calls_took_comes_from_the_call_store(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    records = read_jsonl(tmp_path / CHAINS / RECORDS, ChainRecord)
    with CallStore(tmp_path / ".driftledger") as store:
        store.put(finished_calls(records, {"seer": 2.0, "brush": 0.5}))
    found = values(run_content(tmp_path, evidence_of(tmp_path)))
    described, drawn = len({record.parent_sha256 for record in records}), len({record.seed for record in records})
    assert {key: value for (key, _), value in found.items() if key.startswith("usage/")} == {
        "usage/seconds_per_describe.genception.shapes": 2.0,
        "usage/seconds_per_generate.genception.shapes": 0.5,
        "usage/input_tokens_per_describe.genception.shapes": 100,
        "usage/input_tokens_per_generate.genception.shapes": 100,
        "usage/output_tokens_per_describe.genception.shapes": 20,
        "usage/output_tokens_per_generate.genception.shapes": 20,
        "usage/cost_of_describe.genception.shapes": 0.25 * described,
        "usage/cost_of_generate.genception.shapes": 0.25 * drawn,
    }
    assert run_content(tmp_path, evidence_of(tmp_path)).seconds() == 2.0 * described + 0.5 * drawn


def test_what_the_calls_took_is_counted_per_benchmark(tmp_path: Path) -> None:
    """Once for all encoders that read the same records, and without the calls that examples took."""

    def described(prompt: str, image: str, limit: int | None, seconds: float) -> Finished:
        asked = Conversation.ask(prompt, ImageFile(Path(), image), max_tokens=limit)
        key = CallKey.of_conversation(component("seer").fingerprint, "describe", asked, {})
        return done(key, Cost(seconds, 100, 20, 0.25))

    write_all(tmp_path)
    with CallStore(tmp_path / ".driftledger") as store:
        store.put(
            [
                described("Describe the digit.", "d0" * 32, 32, 1.0),
                described("Describe the digit.", "d1" * 32, 64, 3.0),
                described("Describe the digit.", "d1" * 32, None, 7.0),
                described("Describe the shape.", "a" * 64, 64, 5.0),
                done(CallKey.of_prompt(component("brush").fingerprint, "Draw: a disc", 1, {}), Cost(0.5)),
            ]
        )
    found = values(run_content(tmp_path, evidence_of(tmp_path, ALL)))
    seconds = {key: value for (key, _), value in found.items() if "seconds_per" in key}
    assert seconds == {
        "usage/seconds_per_generate.genception.shapes": 0.5,
        "usage/seconds_per_describe.trac.digits": 2.0,
        "usage/seconds_per_describe.trac.digits.shown.reader": 7.0,
        "usage/seconds_per_describe.fidelity.shapes": 5.0,
        "usage/seconds_per_generate.fidelity.shapes": 0.5,
    }
    assert found["usage/cost_of_describe.trac.digits", 0] == 0.5


def test_a_call_store_without_these_calls_adds_nothing(tmp_path: Path) -> None:
    without = values(content(tmp_path))
    CallStore(tmp_path / ".driftledger").close()
    run = content(tmp_path)
    assert values(run) == without
    assert run.seconds() is None


def test_what_services_said_they_were_is_a_tag_and_more_than_one_version_a_flag(tmp_path: Path) -> None:
    tags = content(tmp_path, genception_score(served={"model": {"m-1 fp": 3}})).tags
    assert tags["model.served"] == "m-1 fp"
    assert "driftledger.flags" not in tags
    changed = {"model": {"m-1": 3, "m-2": 1}}
    tags = content(tmp_path, genception_score(served=changed, flags=["2 served <b>versions</b>"])).tags
    assert tags["model.served"] == "m-1, m-2"
    assert "2 served versions of the model in this run" in tags["driftledger.flags"]
    assert "genception/shapes: 2 served <b>versions</b>" in tags["driftledger.flags"]
    assert "<b>" not in tags["mlflow.note.content"]


def test_the_mark_of_a_component_is_in_the_tag_and_in_the_note(tmp_path: Path) -> None:
    tags = content(tmp_path, marked(genception_score(), model="made elsewhere")).tags
    assert tags["driftledger.flags"] == "genception/shapes: made elsewhere"
    assert "  - made elsewhere\n" in tags["mlflow.note.content"]


def test_what_could_not_be_computed_and_what_one_must_know_are_tags(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path, fidelity_score(flags=["cut"], served={"model": {"m-1": 2}}))
    absent: dict[str, Any] = {"absent": {"top1_naming": "nothing names it"}, "served": {"model": {"m-2": 1}}}
    add_trac(tmp_path, trac_score(flags=["leak"], **absent))
    tags = run_content(tmp_path, evidence_of(tmp_path, selected(("genception", KEYS), SHORT, *FIDELITY))).tags
    assert tags["driftledger.absent"] == (
        "fidelity/shapes/clip_s: eye has no text tower; trac/digits/short/reader/top1_naming: nothing names it"
    )
    assert tags["driftledger.flags"] == (
        "2 served versions of the model in this run; fidelity/shapes: cut; trac/digits/short/reader: leak"
    )
    assert tags["model.served"] == "m-1, m-2"


def test_a_lock_that_has_moved_on_is_another_run(tmp_path: Path) -> None:
    before = content(tmp_path).fingerprint
    lock = lock_of(tmp_path, genception_score())
    lock["stages"]["dataset@shapes"]["outs"][0]["md5"] = "9" * 32
    write_lock(tmp_path, lock)
    after = run_content(tmp_path, evidence_of(tmp_path))
    assert after.fingerprint != before
    assert after.datasets[0].digest == "9" * 32


def test_answers_of_other_bytes_are_another_run(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_questions(tmp_path)
    chosen = selected(("genception", KEYS), QUESTIONS)
    before = evidence_of(tmp_path, chosen).fingerprint
    assert before != evidence_of(tmp_path).fingerprint
    write_ledger(tmp_path)
    add_questions(tmp_path, question_score(metrics={"score": 1.0}))
    assert evidence_of(tmp_path, chosen).fingerprint != before


def test_the_environment_overrides_where_mlflow_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    tracking = Tracking(uri="sqlite:///mlflow.db", experiment="e", traces="none")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(tracking) == "sqlite:///mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert tracking_uri(tracking) == "http://127.0.0.1:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    assert tracking_uri(tracking) == "sqlite:///mlflow.db"


def test_all_checkouts_of_a_repository_show_their_runs_in_one_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "main" / ".dvc" / "tmp" / "exps" / "tmpcopy"
    for repository in (tmp_path / "main", copy):
        (repository / ".git").mkdir(parents=True)
    monkeypatch.chdir(copy)
    for address, expected in {
        "sqlite:///mlflow.db": f"sqlite:///{tmp_path}/main/mlflow.db",
        "sqlite+pysqlite:///held/mlflow.db?timeout=9": f"sqlite+pysqlite:///{tmp_path}/main/held/mlflow.db?timeout=9",
        f"sqlite:///{tmp_path}/mlflow.db": f"sqlite:///{tmp_path}/mlflow.db",
        "sqlite:///:memory:": "sqlite:///:memory:",
        "http://127.0.0.1:5000": "http://127.0.0.1:5000",
        "postgresql://one:secret@host/mlflow": "postgresql://one:secret@host/mlflow",
    }.items():
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert tracking_uri(Tracking(uri="sqlite:///other.db", experiment="e", traces="none")) == expected


def test_a_run_has_its_units_on_a_page_of_its_own(tmp_path: Path) -> None:
    """As many of each score as it has traces."""
    write_ledger(tmp_path)
    pages = [
        run_content(tmp_path, evidence_of(tmp_path), traces=traces).artifacts["report.html"]().decode()
        for traces in ("none", 1, "all")
    ]
    assert [page.count('class="unit"') for page in pages] == [0, 1, 2]
    assert [page.count("data:image/webp;base64,") for page in pages] == [0, 3, 6]
    assert all("<h1>seer · brush · eye</h1>" in page for page in pages)


def test_a_dataset_may_hold_any_line_break(tmp_path: Path) -> None:
    lines = [{"id": f"1{separator}x"} for separator in "\u2028\u2029\u0085"]
    (tmp_path / "samples.jsonl").write_text("".join(f"{canonical_json(line)}\n" for line in lines), encoding="utf-8")
    (tmp_path / "empty.jsonl").touch()
    assert [record["inputs"] for record in projection._records(tmp_path)] == lines

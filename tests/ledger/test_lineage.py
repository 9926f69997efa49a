"""Runs: what is behind each, its fingerprint, and the code that made it."""

import shutil

import pytest
import yaml

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.commands.audit import audit
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError
from driftledger.ledger.lineage import (
    CodeVersion,
    code_version,
    fingerprint_of,
    place_of,
    read_runs,
)
from driftledger.ledger.objects.git import CommitTree, Git
from driftledger.scoring.score import Flag, Inputs
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL, SCORES
from tests.support.cases import cases, each_case
from tests.support.forging import Below, forge
from tests.support.terminal import printed


def test_a_lineage_names_the_folders_and_outputs_behind_a_score(original):
    evidence = original.evidence()
    lineage = original.genception()
    assert lineage.place == "genception/my_images"
    assert lineage.score_path == f"{GENCEPTION}/score.json"
    assert lineage.rows_path == f"{GENCEPTION}/rows.jsonl"
    assert {
        stage: (each.path, each.out) for stage, each in lineage.folders.items()
    } == {
        "dataset": ("data/datasets/my_images", "data/datasets"),
        "chain": (CHAINS, f"data/records/{MODEL}"),
        "genception": (GENCEPTION, SCORES),
    }
    lock = yaml.safe_load((original.root / "dvc.lock").read_text())["stages"]
    assert list(lineage.stages) == ["data", f"collect@{MODEL}", f"score@{MODEL}"]
    assert lineage.folder.md5 == lock[f"score@{MODEL}"]["outs"][0]["md5"]
    assert evidence.components["judge"].name == "rubric"
    assert (
        place_of(
            benchmark("trac"), {"dataset": "d", "description": "x", "text_encoder": "y"}
        )
        == "trac/d/x/y"
    )


def test_a_score_says_what_it_is_of_and_every_number_is_in_its_table(original):
    lineages = original.evidence().lineages
    assert len(lineages) == 7
    for each in lineages:
        score, spec = each.score, each.spec
        records = original.root / each.collected[spec.collects.name].path / RECORDS
        assert score.inputs.records == {spec.collects.name: sha256_file(records)}
        assert {*score.keys} - {
            "dataset",
            "question_set",
            "description",
        } <= score.components.keys()
        assert spec.metrics.headlines(score)
        assert {number.metric for number in score.numbers} <= {*spec.metrics.by_name}


def test_a_commit_has_the_evidence_that_the_checkout_had(original):
    git = Git.around(original.root)
    assert git is not None
    tree, project = CommitTree(git, git.heads()[0]), original.project
    [then] = read_runs(original.root, project.selected, project.combinations, tree)
    assert then == original.evidence()


def test_a_fingerprint_follows_from_what_went_in(original):
    evidence = original.evidence()
    lineage = original.genception()
    combination = evidence.combination

    path, inputs, score = lineage.folder.path, lineage.score.inputs, lineage.score

    def fingerprint(**changes):
        return fingerprint_of({path: score.model_copy(update=changes)}, combination)

    first = inputs.model_copy(update={"version": 1})
    assert "version" not in first.to_dict()
    assert Inputs.model_validate(first.to_dict()) == first
    same = fingerprint()
    assert fingerprint(numbers=[], flags=[Flag(text="x")]) == same
    card = score.components["model"].model_copy(update={"fingerprint": "0" * 64})
    others = [
        fingerprint(inputs=inputs.model_copy(update=change))
        for change in (
            {"version": 99},
            {"data_digest": "0"},
            {"records": {}},
            {"settings": {}},
            {"beside": {"a": "b"}},
        )
    ]
    others.append(fingerprint(components={**score.components, "model": card}))
    others.append(
        fingerprint_of({path: score}, combination._replace(generator="brush"))
    )
    assert len({same, *others}) == len(others) + 1
    backwards = {each.folder.path: each.score for each in reversed(evidence.lineages)}
    assert fingerprint_of(backwards, combination) == evidence.fingerprint


def test_another_generator_leaves_a_fingerprint_as_it_is(ledger):
    before = ledger.evidence()
    shutil.copytree(
        ledger.root / GENCEPTION, ledger.root / GENCEPTION.replace("painter", "brush")
    )
    shutil.copytree(
        ledger.root / CHAINS, ledger.root / CHAINS.replace("painter", "brush")
    )
    ledger.relock()
    after = ledger.evidence()
    assert after.lineages[0].folder.md5 != before.lineages[0].folder.md5
    assert after.fingerprint == before.fingerprint


@each_case(cases(__file__, "locks"))
def test_a_lock_that_does_not_fit_is_one_sentence(ledger, case):
    edit = {"in": "dvc.lock", "replace": case["replace"], "count": 0}
    forge(Below(ledger.root), [edit])
    with pytest.raises(LedgerError) as error:
        ledger.evidence()
    assert case["says"] in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damage", ["changed", "deleted", "linked"])
def test_scores_that_are_not_those_of_the_lock_are_refused(ledger, damage):
    file = ledger.root / GENCEPTION / "score.json"
    data = file.read_bytes()
    file.unlink()
    if damage == "changed":
        file.write_bytes(data + b" ")
    elif damage == "linked":
        (ledger.root.parent / "outside.json").write_bytes(data)
        file.symlink_to(ledger.root.parent / "outside.json")
    with pytest.raises(LedgerError, match=f"{SCORES} is not what dvc.lock has"):
        ledger.evidence()


def test_a_file_that_dvc_ignores_is_no_part_of_an_output(ledger):
    before = ledger.evidence()
    (ledger.root / GENCEPTION / "x.partial").touch()
    assert ledger.evidence() == before


@each_case(cases(__file__, "dirty"))
def test_what_the_pipeline_writes_makes_no_checkout_dirty(ledger, case):
    commit = ledger.git("rev-parse", "HEAD")
    assert code_version(ledger.root) == CodeVersion(commit=commit, dirty=False)
    file = ledger.root / case["name"]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as opened:
        opened.write(b"\n")
    if file.suffix == ".md":
        ledger.git("add", case["name"])
    changed = code_version(ledger.root)
    assert changed == CodeVersion(commit=commit, dirty=case["dirty"])


def test_the_code_is_that_of_the_published_file(ledger):
    before = ledger.evidence()
    assert before.code == CodeVersion(
        commit=ledger.git("rev-parse", "HEAD~1"), dirty=False
    )
    with (ledger.root / "params.yaml").open("a", encoding="utf-8") as params:
        params.write("\n")
    assert ledger.evidence() == before
    shutil.rmtree(ledger.root / "ledger")
    (ledger.root / ".git/MERGE_HEAD").write_text(
        ledger.git("rev-parse", "HEAD~1") + "\n"
    )
    assert ledger.evidence().code == CodeVersion(
        commit=ledger.git("rev-parse", "HEAD"), dirty=True
    )


def test_a_repository_that_cannot_be_read_is_no_clean_one(ledger):
    config = ledger.root / ".git/config"
    config.write_text(
        config.read_text().replace(
            "repositoryformatversion = 0", "repositoryformatversion = 99"
        )
    )
    assert code_version(ledger.root) == CodeVersion(commit=None, dirty=True)
    shutil.rmtree(ledger.root / "ledger")
    asked = audit(
        ledger.project, f"{MODEL}/painter/layout", {}, full=False, as_json=False
    )
    assert "code       no commit: the Git repository here cannot be read (" in printed(
        asked
    )

"""What an audit says at first sight: twelve lines in which the versions behind a value stand."""

import json
from pathlib import Path

import pytest

from driftledger.ledger.audit.answer import as_answer
from driftledger.ledger.audit.targets import RunTarget, resolve_target
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import read_evidence
from tests.ledger.audit.test_audit import HOSTILE, hostile_ledger
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import COMBINATION, SELECTED, component, genception_score, marked, varied, write_ledger
from tests.support.terminal import WIDTHS, fitting, printed

MOST = 12


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    made = audited_in(tmp_path, monkeypatch)
    made.produce()
    made.commit("first")
    return made


def answer(audited: Audited, asked: str) -> dict[str, str]:
    """Name → what is told of it; the headline by an empty name."""
    with audited.sources() as sources:
        text = fitting(as_answer(resolve_target(sources, asked)))
    head, *lines = text.splitlines()
    assert len(lines) < MOST
    told = {"": [head]}
    for line in lines:
        name, _, text = line.partition("  ")
        told.setdefault(name or [*told][-1], []).append(text.strip())
    return {name: " ".join(texts) for name, texts in told.items()}


def test_a_number_is_told_with_its_interval_and_the_versions_behind_it(audited: Audited) -> None:
    said = answer(audited, "seer/brush/eye:gc_at_2")
    score, commit = json.loads(audited.score_path.read_text()), audited.git("rev-parse", "HEAD")[:12]
    cards, digest = score["components"], score["inputs"]["data_digest"]
    assert said[""] == "GC@2 on shapes: 0.700 [0.650, 0.750]"
    for role in ("model", "generator", "encoder"):
        assert said[role] == f"{cards[role]['name']}@{cards[role]['fingerprint'][:8]}"
    assert said["dataset"] == f"shapes@{digest[:8]}, 2/2 scored"
    assert said["commit"] == f"git commit {commit} (clean)"
    assert said["checked"] == "score.json, against dvc.lock; nothing behind it yet"
    assert said["run"].startswith("seer · brush · eye, ")
    assert said["next"] == "driftledger verify seer/brush/eye; more: --full"


def test_versions_that_a_number_does_not_need_are_not_named(audited: Audited) -> None:
    assert "encoder" not in answer(audited, "seer/brush/eye:coverage")


def test_a_score_file_is_told_by_its_headline_and_a_group_by_its_name(audited: Audited) -> None:
    assert answer(audited, str(audited.score_path))[""] == "GC@2 on shapes: 0.700 [0.650, 0.750]"
    group = answer(audited, "seer/brush/eye:category/round/similarity_at_2")
    assert group[""] == "s(2) of category round on shapes: 0.600"


def test_a_run_is_told_by_the_headlines_of_its_scores(audited: Audited) -> None:
    said = answer(audited, "seer/brush/eye")
    assert said[""].startswith("seer · brush · eye, fingerprint ")
    assert said["scores"] == "GC@2 on shapes: 0.700 [0.650, 0.750]"
    assert {"model", "generator", "encoder", "data", "commit", "next"} <= said.keys()


def test_an_image_is_told_by_its_description_and_the_versions_that_drew_it(audited: Audited) -> None:
    said = answer(audited, str(audited.image("disc", 1)))
    assert said[""] == "drawn of sample disc of dataset shapes at t = 1"
    assert said["described as"] == "a disc"
    assert said["generator"].startswith("brush@")
    assert said["drawn from"] == "the original"
    assert "used by" in said
    assert answer(audited, str(audited.image("disc")))[""] == "sample disc of dataset shapes"


def test_what_was_checked_depends_on_where_it_is_known_from(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    here = read_evidence(tmp_path, SELECTED, COMBINATION)
    code = CodeVersion(commit="c0ffee" * 6, dirty=True, untracked=[])
    run = RunTarget(here.model_copy(update={"code": code}), "dvc.lock", lineage=here.lineages[0])
    assert "git commit c0ffeec0ffee (with uncommitted changes)" in printed(as_answer(run))
    git = printed(as_answer(run._replace(known="git")))
    assert "git commit c0ffeec0ffee has the scores; their code is unknown" in git
    assert f"driftledger verify {here.fingerprint[:12]};" in git
    mlflow = printed(as_answer(run._replace(known="mlflow")))
    assert "nothing: this is what the run in MLflow says of itself" in mlflow
    alone = printed(as_answer(run._replace(is_run=False)))
    assert "verify" not in alone
    assert "none that is selected here" in alone


def test_what_must_be_known_and_what_a_service_said_it_was_is_told(tmp_path: Path) -> None:
    score = marked(genception_score(served={"model": {"seer-2026": 4}}), model="made elsewhere")
    write_ledger(tmp_path, varied(score, judge=component("judge")))
    evidence = read_evidence(tmp_path, SELECTED, COMBINATION)
    for target in (RunTarget(evidence, "dvc.lock"), RunTarget(evidence, "dvc.lock", lineage=evidence.lineages[0])):
        lines = fitting(as_answer(target)).splitlines()
        assert len(lines) <= MOST
        assert any(line.startswith("to know") and line.endswith("made elsewhere") for line in lines)
        assert any(line.endswith(f"seer@{component('seer').fingerprint[:8]} (served as seer-2026)") for line in lines)


@pytest.mark.parametrize("target", ["seer/brush/eye", "seer/brush/eye:gc_at_2", "SCORE", "SAMPLE", "DRAWN"])
def test_hostile_names_are_inert_and_make_no_line_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    made = hostile_ledger(tmp_path, monkeypatch)
    files = {"SCORE": made.score_path, "SAMPLE": made.image("disc"), "DRAWN": made.image("disc", 2)}
    with made.sources() as sources:
        shown = as_answer(resolve_target(sources, str(files.get(target, target))))
    text = fitting(shown)
    assert len(text.splitlines()) <= MOST
    if target == "DRAWN":
        assert "[bold]markup[/bold]" in " ".join(text.split())


def test_many_scores_and_long_names_stay_within_twelve_lines(tmp_path: Path) -> None:
    name = "a_model_with_a_name_that_goes_on_and_on_" * 3
    score = marked(varied(genception_score(), model=component(name), generator=component(HOSTILE)), model=HOSTILE * 5)
    write_ledger(tmp_path, score)
    evidence = read_evidence(tmp_path, SELECTED, COMBINATION)
    evidence = evidence.model_copy(update={"lineages": evidence.lineages * 30, "name": name})
    for target in (RunTarget(evidence, "git"), RunTarget(evidence, "git", lineage=evidence.lineages[0])):
        for width in WIDTHS[1:]:
            assert len(printed(as_answer(target), width).splitlines()) <= MOST

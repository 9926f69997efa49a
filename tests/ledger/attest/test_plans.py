"""``preregister``: what a plan says, and that whatever is tried under it shows."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark
from driftledger.commands import attempts
from driftledger.commands.publish import preregister, publish
from driftledger.commands.resolve import resolve
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.errors import LedgerError
from driftledger.ledger.attest.attest import read_all
from driftledger.ledger.attest.plans import plans_told
from driftledger.ledger.log.chain import append, check
from driftledger.ledger.log.lines import read_chain, rows_of
from driftledger.project.project import Project
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.site.build import write_site
from tests.support.chained import grow, put, repository, whose, wrong
from tests.support.git import commit, git, no_git_but_ours
from tests.support.params import default_params
from tests.support.signers import make_key, trusting

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

Params = dict[str, Any]


@pytest.fixture(scope="module")
def alice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys"), "alice")


@pytest.fixture
def project(tmp_path: Path, alice: Path) -> Project:
    """A ledger of three runs, and settings that select little."""
    made = repository(tmp_path / "checkout", 3, alice)
    params = default_params()
    params["run"] |= {"datasets": ["digits"], "genception": [], "fidelity": [], "question_sets": []}
    params["run"] |= {name: [] for name in ("mm_sap", "mm_vet", "mme")}
    params["run"] |= {"models": ["regions_coarse"], "text_encoders": ["tfidf"]}
    (made.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    commit(made.root)
    return made


def tried(project: Project, change: Callable[[Params], object] | None = None) -> None:
    """Run the stage ``resolve`` with settings that may be changed."""
    path = project.root / "params.yaml"
    if change:
        params = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(params)
        path.write_text(yaml.safe_dump(params), encoding="utf-8")
    resolve(Project(project.root))


def seeded(seed: int) -> Callable[[Params], object]:
    return lambda params: params["run"].update(seed=seed)


def lines(project: Project) -> list[dict[str, Any]]:
    return [line.to_dict() for line in read_chain(project.paths.ledger.read_bytes()).all.values()]


def plans(project: Project) -> list[str]:
    """What ``verify`` says of plans."""
    return [each for each in whose(project).told if " under plan " in each]


def test_a_plan_says_what_will_be_run_and_how_it_is_judged(project: Project) -> None:
    before = project.paths.ledger.read_bytes()
    told = preregister(project, 2)
    [kept] = read_all(project.root).of("plan")
    said = kept.statement.predicate
    assert kept.n == 4
    assert kept.attestation.envelope.signature
    assert kept.statement.subject == {"params.yaml": sha256_file(project.root / "params.yaml")}
    assert (said["runs"], said["commit"]) == (2, git(project.root, "rev-parse", "HEAD"))
    assert (said["run"]["models"], said["run"]["seed"]) == (["regions_coarse"], 1)
    assert list(said["settings"]) == ["trac"] == list(said["headlines"])
    assert said["headlines"]["trac"] == [each.key for each in benchmark("trac").metrics if each.headline] != []
    assert set(said["resolved"]["models"]) == {"regions_coarse"}
    assert "What are the main visual features" in str(said["resolved"]["settings"]["descriptions"])
    assert said["ledger"]["n"] == 3
    assert "plan 4 allows 2 published runs" in told
    assert project.paths.ledger.read_bytes().startswith(before)
    [line] = lines(project)[3:]
    assert (line["kind"], line["n"], line["name"]) == ("plan", 4, "trac")
    assert line["subject_sha256"] == sha256_bytes(kept.attestation.envelope.payload)
    assert not project.paths.resolved.exists()  # which is for `dvc repro` to write


def test_failed_and_abandoned_attempts_stay(project: Project) -> None:
    preregister(project, 1)
    tried(project)
    tried(project)  # the same again is no other attempt
    tried(project, seeded(2))
    tried(project, seeded(3))
    assert [line.get("kind") for line in lines(project)[3:]] == ["plan", "attempt", "attempt", "attempt"]
    assert plans(project)[0].startswith(
        "3 attempts (2 with another selection than planned) under plan 4, 0 of 1 published; the plan is signed by "
    )
    grow(project, 1)
    assert "3 attempts (2 with another selection than planned) under plan 4, 1 of 1 published" in plans(project)[0]
    assert wrong(whose(project)) == []
    assert check(project.paths.ledger, project.root, []).holds


def test_the_report_says_how_often_it_was_tried(project: Project, tmp_path: Path) -> None:
    assert plans_told(project.paths) == []
    preregister(project, 1)
    tried(project)
    tried(project, seeded(2))
    write_leaderboard(tmp_path / "leaderboard", [], plans_told(project.paths))
    said = "When this was written: 2 attempts (1 with another selection than planned) under plan 4, 0 of 1 published."
    assert said in (tmp_path / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    write_site(tmp_path / "site", project, [])
    assert said in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_a_plan_is_over_when_what_it_allows_is_published_and_another_can_follow(project: Project) -> None:
    preregister(project, 1)
    tried(project)
    grow(project, 2)  # a line for each run of one attempt
    tried(project, seeded(2))
    assert [line.get("kind") for line in lines(project)[3:]] == ["plan", "attempt", None, None]
    preregister(Project(project.root), 1)
    tried(project)
    assert [line.get("kind") for line in lines(project)[7:]] == ["plan", "attempt"]
    assert [each.partition(";")[0] for each in plans(project)] == [
        "1 attempt under plan 4, 1 of 1 published",
        "1 attempt under plan 8, 0 of 1 published",
    ]


def test_without_a_plan_nothing_is_noted_and_nothing_is_asked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = project.paths.ledger.read_bytes()
    monkeypatch.setattr(attempts, "note_attempt", None)
    tried(project)
    assert project.paths.ledger.read_bytes() == before


def test_what_is_tried_again_needs_no_writing(project: Project) -> None:
    preregister(project, 1)
    tried(project)
    before = project.paths.ledger.stat().st_mtime_ns
    tried(project)
    assert project.paths.ledger.stat().st_mtime_ns == before


def test_a_selection_differs_by_whatever_moves_a_number(project: Project) -> None:
    preregister(project, 1)
    tried(project)
    changes: list[Callable[[Params], object]] = [
        lambda params: params["trac"].update(min_coverage=0.5),
        lambda params: params["models"]["regions_coarse"].update(detail="medium"),
        lambda params: params["descriptions"]["features_by_words"].update(prompt="What is it?"),
        lambda params: params["datasets"]["digits"].update(support_per_label=2),
    ]
    for number, change in enumerate(changes, 2):
        tried(project, change)
        assert sum(line.get("kind") == "attempt" for line in lines(project)) == number, number
    tried(project, lambda params: params["tracking"].update(traces="none"))  # what is only shown
    assert sum(line.get("kind") == "attempt" for line in lines(project)) == len(changes) + 1


def test_a_damaged_ledger_is_said_and_no_attempt_goes_unnoted(project: Project) -> None:
    preregister(project, 1)
    data = project.paths.ledger.read_bytes()
    project.paths.ledger.write_bytes(data.replace(b'"n":2', b'"n":7'))
    with pytest.raises(LedgerError, match=r"nothing is appended to ledger\.jsonl"):
        tried(project)


def test_a_plan_without_its_line_or_its_statement_is_missed(project: Project, alice: Path, tmp_path: Path) -> None:
    data = project.paths.ledger.read_bytes()
    preregister(project, 1)
    publish(project)
    noted, path = project.paths.ledger.read_bytes(), project.root / "attestations" / "plan-4.json"
    project.paths.ledger.write_bytes(data)
    found = wrong(whose(project, allowed_signers=trusting(tmp_path / "allowed", alice)))
    assert [each for each in found if "plan-4.json: is a plan that no line of the ledger notes" in each]
    assert [each for each in found if "was over 4 lines, and there are 3" in each]
    project.paths.ledger.write_bytes(noted)
    assert wrong(whose(project)) == []
    path.unlink()
    assert wrong(whose(project)) == ["missing: ledger.jsonl line 4: notes a plan that is not in attestations"]
    assert "1 attempt" not in plans(project)[0]
    assert plans(project)[0].endswith("the plan is not here")


def test_a_plan_made_over_another_ledger_is_found(project: Project, tmp_path: Path, alice: Path) -> None:
    preregister(project, 1)
    other = repository(tmp_path / "other", 2, alice)
    said = read_all(project.root).of("plan")[0]
    (other.root / "attestations").mkdir()
    (other.root / "attestations" / "plan-3.json").write_bytes(said.attestation.to_bytes())
    assert [each for each in wrong(whose(other)) if "plan-3.json: was made over another ledger" in each]


KILLED = """
import os, sys
from pathlib import Path
from driftledger.commands.publish import preregister
from driftledger.project.project import Project
replace = Path.replace
def killed(self, target):
    if str(target).endswith("ledger.jsonl"):
        os._exit(9)
    return replace(self, target)
Path.replace = killed
preregister(Project(Path(sys.argv[1])), 1)
"""


def test_a_kill_between_the_statement_and_its_line_is_seen_and_mended_by_the_same_command(project: Project) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", KILLED, str(project.root)], check=False, env=env).returncode == 9
    left = (path := project.root / "attestations" / "plan-4.json").read_bytes()
    assert len(rows_of(project.paths.ledger.read_bytes())) == 3
    assert "no line of the ledger notes; make it again" in wrong(whose(project))[0]
    preregister(Project(project.root), 1)
    assert path.read_bytes() == left
    assert wrong(whose(project)) == []


def test_a_merge_that_left_a_plan_out_gets_it_again(project: Project) -> None:
    git(project.root, "branch", "--quiet", "other")
    preregister(project, 1)
    commit(project.root)
    git(project.root, "checkout", "--quiet", "other")
    grow(project, 1)
    git(project.root, "merge", "--quiet", "--strategy=ours", "main")
    (project.root / "attestations").mkdir()
    git(project.root, "checkout", "main", "--", "attestations")
    [finding] = check(project.paths.ledger, project.root, []).findings
    assert "has no such line for trac, plan " in finding.what
    with pytest.raises(LedgerError, match=r"nothing is signed: .*run 'driftledger track'"):
        publish(project)
    append(project.paths.ledger, [], project.paths.state / "lock")  # as `driftledger track` does
    assert [line.get("kind") for line in lines(project)] == [None] * 4 + ["plan"]
    assert check(project.paths.ledger, project.root, []).holds
    assert wrong(whose(project)) == []


def test_no_key_and_unsigned(tmp_path: Path, project: Project) -> None:
    git(project.root, "config", "--unset", "user.signingkey")
    with pytest.raises(LedgerError, match="Git names no SSH key"):
        preregister(project, 1)
    assert not read_all(project.root).kept
    assert "unsigned" in preregister(project, 1, unsigned=True)
    put(project.root, project.paths.ledger.read_bytes())
    assert plans(project)[0].endswith("the plan is unsigned")

"""What verifying says of a whole ledger: of one that holds, of numbers, of what is damaged."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from driftledger.commands import verify as verifying
from driftledger.core.files import OF_VERSION_1
from driftledger.ledger.lineage import read_all_evidence
from driftledger.ledger.log.chain import append
from driftledger.project.project import Project
from tests.conftest import Checkout
from tests.ledger.verify.conftest import FIDELITY, GENCEPTION, MM_SAP, TRAC, Ledger

pytestmark = pytest.mark.slow


def publish(root: Path) -> None:
    """Write the line that ``driftledger track`` would."""
    project = Project(root)
    evidence = read_all_evidence(project.root, project.selected, project.combinations)
    append(project.paths.ledger, evidence, project.paths.state / "locks" / "track.lock")


@pytest.fixture(scope="module")
def published(untouched: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = untouched.copy(tmp_path_factory.mktemp("published") / "checkout")
    publish(made.root)
    made.commit("published")
    return made


def test_what_is_untouched_holds(published: Checkout) -> None:
    done = published.run("driftledger", "verify", "regions_medium/painter/layout", "--regenerate", "20")
    told, _, rest = done.stdout.partition("check  ")
    assert told.startswith("calls are drawn by lot, with seed ")
    assert "a forgery of 10% or more of them is found with probability" in told
    *checks, last, whose = rest.splitlines()
    assert last.startswith("regions_medium · painter · layout: all holds")
    assert re.fullmatch("ledger: by this clone's history back to commit [0-9a-f]{12}, unsigned", whose)
    checked = checks[1 : checks.index("")]
    assert [line.split("  ")[0] for line in checked] == [
        *("files", "links between them", "scores computed again", "calls made again", "ledger")
    ]
    assert all("wrong" not in line for line in checked)
    assert all(line.startswith("not checked: ") for line in checks[checks.index("") + 1 :])
    said = published.run("driftledger", "verify", "--ledger").stdout
    assert said.splitlines()[-2:] == ["ledger.jsonl: all holds", whose]


def _update(key: str, values: dict[str, Any], score: dict[str, Any]) -> None:
    score[key].update(values)


def test_a_number_that_its_records_do_not_give_is_told_apart_from_bytes(ledger: Ledger) -> None:
    wrong = {GENCEPTION: ("gc_at_2", 0.75), TRAC: ("top1", 99.0), FIDELITY: ("ssim", 1.5), MM_SAP: ("score", 100.5)}
    for folder, (metric, value) in wrong.items():
        ledger.change_score(folder, partial(_update, "metrics", {metric: value}))
    result = verifying.verify(Project(ledger.root), None, regenerated=0).result
    numbers = {finding.where for finding in result.findings if finding.kind == "numbers"}
    assert numbers == {f"{folder}/score.json: metrics.{metric}" for folder, (metric, _) in wrong.items()}


def test_a_file_of_the_first_version_is_one_sentence(ledger: Ledger) -> None:
    ledger.change_json(f"{GENCEPTION}/score.json", lambda score: score.update(schema=1))
    [finding] = [
        each
        for each in verifying.verify(Project(ledger.root), None, regenerated=0).result.findings
        if each.where != "ledger.jsonl"
    ]
    assert (finding.kind, finding.where) == ("missing", "evidence")
    assert finding.what == f"{ledger.root / GENCEPTION / 'score.json'} {OF_VERSION_1}"


def test_a_run_that_is_damaged_here_is_held_to_the_evidence_of_git(
    published: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is committed, Git has the evidence that the working tree has lost."""
    made = published.copy(tmp_path / "checkout")
    monkeypatch.chdir(made.root)  # whose MLflow is meant, and not that of who runs the tests
    (made.root / GENCEPTION / "score.json").write_text("{}", encoding="utf-8")
    [name] = verifying.verify(Project(made.root), "regions_medium/painter/layout", regenerated=0).names
    assert name == "regions_medium · painter · layout"
    result = verifying.verify(Project(made.root), "regions_medium/painter/layout", regenerated=0).result
    assert [finding.where for finding in result.findings] == [f"{GENCEPTION}/score.json"]


def test_a_missing_run_is_one_sentence(published: Checkout) -> None:
    done = published.run("driftledger", "verify", "nobody", check=False)
    assert done.returncode == 2
    assert "there is no run 'nobody'" in done.stderr

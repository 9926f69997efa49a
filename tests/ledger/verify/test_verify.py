"""Single bytes changed anywhere in a ledger: each is found, and named as what it is."""

import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.registry import lock_files
from driftledger.commands import verify as verifying
from driftledger.core.files import OF_VERSION_1
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import read_all_evidence
from driftledger.ledger.lock import LockEntry, locks_here, parse_locks
from driftledger.ledger.log.chain import append
from driftledger.project.project import Project
from tests.conftest import Checkout
from tests.ledger.verify.conftest import FIDELITY, GENCEPTION, MM_SAP, TRAC, Ledger

pytestmark = pytest.mark.slow

KINDS = ("images", "records", "scores", "components", "lock", "ledger")
CHANGES = 34
"""Of each kind; 204 in all."""


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


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are what is at stake where there are many changes: the numbers need not be computed each time."""
    if "kind" in request.fixturenames:
        monkeypatch.setattr(verifying, "recompute", lambda *_: VerifyResult())


def files_of(root: Path, kind: str) -> list[str]:
    """The paths of a kind, relative to the top folder."""
    if kind in ("lock", "ledger"):
        return {"lock": [*lock_files()], "ledger": ["ledger.jsonl"]}[kind]
    folder, patterns = {
        "images": ("data", ["*.png"]),
        "records": ("data", ["*.jsonl"]),
        "components": ("data", ["components.json", "dataset.json", "question_set.json"]),
        "scores": ("reports/scores", ["*.json", "*.jsonl"]),
    }[kind]
    found = (path for pattern in patterns for path in (root / folder).rglob(pattern))
    return sorted(path.relative_to(root).as_posix() for path in found)


def changes(root: Path, kind: str) -> Iterator[tuple[str, int, int]]:
    """(path, offset, what is added to the byte there), the same in every run."""
    dice = random.Random(f"single bytes of {kind}")
    for _ in range(CHANGES):
        path = dice.choice(files_of(root, kind))
        yield path, dice.randrange((root / path).stat().st_size), dice.randrange(1, 256)


def change(file: Path, offset: int, more: int) -> bytes:
    """Change one byte; what was there before. The file may be a link into DVC's cache, and is replaced."""
    before = file.read_bytes()
    file.unlink()
    file.write_bytes(before[:offset] + bytes([(before[offset] + more) % 256]) + before[offset + 1 :])
    return before


def meaning(root: Path) -> dict[str, LockEntry] | None:
    """What the locks say of the stages behind the runs; None where a lock is damaged."""
    locks, project = parse_locks(locks_here(root)), Project(root)
    stages = {stage.named(keys) for spec, keys in project.selected.scores for stage in spec.stages}
    return None if locks.damage else {stage: entry for stage, entry in locks.entries.items() if stage in stages}


@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_found_and_named(published: Checkout, kind: str) -> None:
    """Of a lock every one that changes what it means, and no other."""
    root, unseen, misnamed, unfounded = published.root, [], [], []
    meant = meaning(root)
    for path, offset, more in changes(root, kind):
        before = change(root / path, offset, more)
        same = kind == "lock" and meaning(root) == meant
        result = verifying.verify(Project(root), None, regenerated=0).result
        (root / path).write_bytes(before)
        if same and not result.holds:
            unfounded.append((path, offset, more, result.findings[:2]))
        elif not same and result.holds:
            unseen.append((path, offset, more))
        elif not same and not any(finding.where.startswith(path) for finding in result.findings):
            misnamed.append((path, offset, more, result.findings[:2]))
    assert unseen == []
    assert misnamed == []
    assert unfounded == []


def test_what_is_untouched_holds(published: Checkout) -> None:
    done = published.run("driftledger", "verify", "regions_medium/painter/layout", "--regenerate", "20")
    *checks, last, whose = done.stdout.splitlines()
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

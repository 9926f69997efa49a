"""Single bytes changed anywhere in a ledger: each is found, and named as what it is."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftledger.commands import ask as inquiries
from driftledger.core.paths import LOCKS
from driftledger.ledger.findings import Report
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
    evidence = inquiries.read_all_evidence(project.layout, project.selected, project.combinations)
    append(project.layout.ledger, evidence, project.layout.state / "locks" / "track.lock")


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
        monkeypatch.setattr(inquiries, "recompute_scores", lambda *_: Report())


def files_of(root: Path, kind: str) -> list[str]:
    """The paths of a kind, relative to the top folder."""
    if kind in ("lock", "ledger"):
        return {"lock": [*LOCKS], "ledger": ["ledger.jsonl"]}[kind]
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


@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_found_and_named(published: Checkout, kind: str) -> None:
    unseen, misnamed = [], []
    for path, offset, more in changes(published.root, kind):
        before = change(published.root / path, offset, more)
        report = inquiries.verify(Project(published.root), None, regenerated=0).report
        (published.root / path).write_bytes(before)
        if report.holds:
            unseen.append((path, offset, more))
        elif not any(finding.where.startswith(path) for finding in report.findings):
            misnamed.append((path, offset, more, report.findings[:2]))
    assert unseen == []
    assert misnamed == []


def test_what_is_untouched_holds_in_one_line(published: Checkout) -> None:
    done = published.run("driftledger", "verify", "regions_medium/painter/layout", "--regenerate", "20")
    first, *others = done.stdout.splitlines()
    assert first.startswith("regions_medium · painter · layout: all holds (")
    assert all(line.startswith("not checked: ") for line in others)
    assert published.run("driftledger", "verify", "--ledger").stdout.startswith("ledger.jsonl: all holds")


def test_a_number_that_its_records_do_not_give_is_told_apart_from_bytes(ledger: Ledger) -> None:
    ledger.change_json(f"{GENCEPTION}.json", lambda score: score["metrics"].update(gc_at_2=0.75))
    ledger.change_json(f"{TRAC}.json", lambda score: score["metrics"].update(top1=99.0))
    ledger.change_json(f"{FIDELITY}.json", lambda score: score["metrics"].update(ssim=1.5))
    ledger.change_json(f"{MM_SAP}.json", lambda score: score["metrics"].update(score=100.5))
    report = inquiries.verify(Project(ledger.root), None, regenerated=0).report
    numbers = {finding.where for finding in report.findings if finding.kind == "numbers"}
    for path, metric in ((GENCEPTION, "gc_at_2"), (TRAC, "top1"), (FIDELITY, "ssim"), (MM_SAP, "score")):
        assert any(where.startswith(f"{path}.json") and where.endswith(f"metrics.{metric}") for where in numbers)


def test_a_missing_run_is_one_sentence(published: Checkout) -> None:
    done = published.run("driftledger", "verify", "nobody", check=False)
    assert done.returncode == 2
    assert "there is no run 'nobody'" in done.stderr

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from driftledger.core.errors import ConfigError
from lab.mutations import campaign
from lab.mutations.__main__ import app
from lab.mutations.campaign import Options, targets
from lab.mutations.clone import Clone
from lab.mutations.outcomes import Report
from tests.conftest import REPOSITORY
from tests.lab.mutations.small import FILES, write

pytestmark = pytest.mark.slow

METRICS = Path("src/driftledger/metrics")
PARTS = "src/driftledger/metrics/parts.py"


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout


class Tried(NamedTuple):
    """A project, and the report of trying all that can be changed in it."""

    root: Path
    report: Report

    @property
    def results(self) -> Path:
        return self.root.parent / "out" / "results.jsonl"

    def again(self, **changes: object) -> Report:
        return campaign.run(self.root, options(self.root, **changes))


def new_project(folder: Path) -> Path:
    root = write(folder / "project", FILES)
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "tests")
    git(root, "config", "user.email", "tests@localhost")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a project")
    return root


def options(project: Path, **changes: object) -> Options:
    plain = Options(
        count=50, seed=1, only=[METRICS], jobs=1, reach=9, budget=60, limit=300, marks="", out=project.parent / "out"
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return new_project(tmp_path)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Tried in two clones at once, which leave the project as it was and nothing behind them."""
    folder = tmp_path_factory.mktemp("once")
    root, places = new_project(folder), folder / "temporary"
    places.mkdir()
    before = {file: file.stat().st_mtime_ns for file in root.rglob("*") if ".git" not in file.parts}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(places))
        report = campaign.run(root, options(root, jobs=2))
    assert {file: file.stat().st_mtime_ns for file in root.rglob("*") if ".git" not in file.parts} == before
    assert git(root, "status", "--porcelain") == ""
    assert list(places.iterdir()) == []
    return Tried(root, report)


@pytest.fixture
def tried(once: Tried, tmp_path: Path) -> Tried:
    """The same, to go on from."""
    shutil.copytree(once.root.parent, tmp_path / "once")
    return Tried(tmp_path / "once" / "project", once.report)


def ends(results: Path) -> dict[str, list[str]]:
    """What became of each fault, by the line with it."""
    found: dict[str, list[str]] = {}
    for outcome in map(json.loads, results.read_text(encoding="utf-8").splitlines()):
        added = [line[1:].strip() for line in outcome["diff"].splitlines() if line.startswith("+ ")]
        found.setdefault(outcome["end"], []).extend(added)
    return {end: sorted(some) for end, some in found.items()}


def test_what_a_test_notices_is_killed_and_what_none_does_survives(once: Tried) -> None:
    assert ends(once.results) == {
        "killed": ["return None", "return None", "return a <= b"],
        "survived": ["return a - a", "return a >= b"],
    }
    total = once.report.total
    assert (once.report.possible, total.killed, total.survived, total.noticed) == (5, 3, 2, "60.0 %")
    assert once.report.left_out == ["tests/metrics/test_source.py::TestOfText::test_nothing_was_written"]
    text = once.results.with_name("report.txt").read_text(encoding="utf-8")
    assert "+    return a - a" in text
    assert f"{PARTS}:6 (arithmetic" in text


def test_a_run_goes_on_where_it_was_killed(tried: Tried) -> None:
    lines = tried.results.read_bytes().splitlines(keepends=True)
    tried.results.write_bytes(b"".join(lines[:4]) + lines[4][:40])
    assert tried.again().total == tried.report.total
    assert tried.results.read_bytes().splitlines(keepends=True)[:4] == lines[:4]
    assert len(tried.results.read_bytes().splitlines()) == 5


def test_survivors_are_tried_again_once_their_tests_are_others(tried: Tried) -> None:
    test = tried.root / "tests/metrics/test_parts.py"
    test.write_text(test.read_text(encoding="utf-8").replace("doubled(0) == 0", "doubled(1) == 2"), encoding="utf-8")
    (survivor,) = tried.again().survivors
    assert "a >= b" in survivor.diff
    assert len(tried.results.read_bytes().splitlines()) == 5 + 2, "those that were killed are not tried again"


def test_what_is_not_committed_yet_is_tested_too(project: Path, tmp_path: Path) -> None:
    write(project, {"tests/metrics/test_new.py": "import driftledger.metrics.parts\n\n\ndef test_new(): ...\n"})
    (project / "tests/metrics/test_source.py").unlink()
    clone = Clone(project, tmp_path)
    assert (clone.root / "tests/metrics/test_new.py").is_file()
    assert not (clone.root / "tests/metrics/test_source.py").exists()
    assert [case.name for case in clone.measure(["tests/metrics/test_new.py"], "", 300)] == [
        "tests/metrics/test_new.py::test_new"
    ]


@pytest.mark.parametrize("forever", ["pass", "time.sleep(60)"])
def test_tests_that_do_not_end_are_ended(forever: str, project: Path, tmp_path: Path) -> None:
    write(project, {"tests/test_long.py": f"import time\n\n\ndef test_long():\n    while True: {forever}\n"})
    ran = Clone(project, tmp_path).ask(["tests/test_long.py"], "", (), 1)
    assert (ran.passed, ran.timed_out, ran.first_failure) == (False, True, "")


def test_a_test_file_that_cannot_be_read_is_left_out_whole(tried: Tried) -> None:
    write(tried.root, {"tests/metrics/test_broken.py": "import driftledger.metrics.parts\nimport missing\n"})
    report = tried.again()
    assert "tests/metrics/test_broken.py" in report.left_out
    assert report.total == tried.report.total


def test_as_many_near_tests_as_the_budget_allows_and_at_least_one(tried: Tried) -> None:
    report = tried.again(budget=0.0)
    assert {tuple(each.tests) for each in report.survivors} == {("tests/metrics/test_parts.py",)}


def test_what_no_test_leads_to_survives(tried: Tried) -> None:
    write(tried.root, {"src/driftledger/metrics/alone.py": "ALONE = 1\n"})
    report = tried.again(only=[METRICS / "alone.py"])
    assert [each.tests for each in report.survivors] == [[]]
    assert "no test leads to it" in tried.results.with_name("report.txt").read_text(encoding="utf-8")


def test_what_is_stopped_is_no_outcome(project: Path, tmp_path: Path) -> None:
    clone = Clone(project, tmp_path)
    clone.stop()
    with pytest.raises(InterruptedError):
        clone.ask(["tests/metrics/test_parts.py"], "", (), 300)


def test_files_are_those_of_the_rooms_or_those_that_are_named(project: Path) -> None:
    assert "src/driftledger/metrics/drift.py" in targets(REPOSITORY, [])
    assert "src/driftledger/cli.py" not in targets(REPOSITORY, [])
    assert targets(project, [METRICS, Path(PARTS)]) == ["src/driftledger/metrics/__init__.py", PARTS]
    assert targets(project, [Path("src/driftledger/cli.py")]) == ["src/driftledger/cli.py"]
    for wrong in ("src/driftledger/none.py", "tests"):
        with pytest.raises(ConfigError, match=f"no Python file of src/driftledger at {wrong}"):
            targets(project, [Path(wrong)])
    with pytest.raises(ConfigError, match="nothing to change"):
        campaign.run(project, options(project, only=[Path("src/driftledger/cli.py")]))


def test_the_command_prints_the_report(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / ".gitignore").write_text("/.driftledger/\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["--count", "1", "--only", PARTS, "--marks", ""])
    assert done.exit_code == 0, done.output
    assert "1 of 5 mutations, seed 1" in done.stdout
    assert (project / ".driftledger/mutations/report.json").is_file()

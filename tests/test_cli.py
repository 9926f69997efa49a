"""A mistake is a sentence and exit code 2; a bug keeps its traceback."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from driftledger import cli
from driftledger.commands import ask, resolve, stages, verify
from driftledger.commands import collect as collecting
from driftledger.core.errors import DriftledgerError, LedgerError, MissingExtraError, StoreError
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.notebook.opened import OpenedProject
from tests.conftest import REPOSITORY
from tests.support.params import DEFAULT

COMMANDS: dict[str, tuple[Any, str, list[str], tuple[Any, ...]]] = {
    # what is typed → the module and the function that it goes to, and the arguments there
    "stage resolve": (resolve, "resolve", [], ()),
    "stage data": (stages, "data", [], ()),
    "stage collect": (collecting, "collect", ["seer"], (["seer"],)),
    "stage score": (stages, "score", ["seer"], ("seer",)),
    "stage report": (stages, "report", [], ()),
    "stage correlation": (stages, "correlation", [], ()),
    "stage track": (stages, "track", [], ()),
    "report": (stages, "report", [], ()),
    "track": (stages, "track", [], ()),
    "collect": (
        collecting,
        "collect",
        ["mme", "trac", "--model", "seer", "--on", "ray", "--address", "auto"],
        (["seer"], ["mme", "trac"], "ray", "auto"),
    ),
}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["driftledger", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    code = stop.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def command(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run the command as a user does, in a folder that is no project unless it is made one."""
    code = "from driftledger.cli import main; main()"
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def raising(error: BaseException) -> Any:
    def stage(*_: object) -> None:
        raise error

    return stage


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_go_to_the_command_of_that_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[object, ...]] = []
    module, function, typed, expected = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, function, lambda project, *given: seen.append((project.root, *given)) or "done")
    assert run(monkeypatch, *name.split(), *typed) == 0
    assert seen == [(tmp_path, *expected)]
    assert capsys.readouterr().out == ("done\n" if name.endswith("correlation") else "")


def test_audit_asks_for_a_target_or_for_a_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    touched: list[dict[str, object]] = []
    found = SimpleNamespace(answer="an answer", tree="a tree", json="{}")
    monkeypatch.setattr(OpenedProject, "audit", lambda project, name, rev: asked.append(name) or found)
    monkeypatch.setattr(ask, "touched", lambda project, reach, what, **how: touched.append(what) or "a table")
    assert run(monkeypatch, "audit", "seer · brush · eye") == 0
    assert run(monkeypatch, "audit", "--full", "seer/brush/eye") == 0
    assert run(monkeypatch, "audit", "--json", "--full", "seer/brush/eye") == 0
    assert run(monkeypatch, "audit", "--generator", "brush@12345678") == 0
    assert capsys.readouterr().out == "an answer\na tree\n{}\na table\n"
    assert asked == ["seer · brush · eye", "seer/brush/eye", "seer/brush/eye"]
    [what] = touched
    given = {key: value for key, value in what.items() if value}
    assert given == {"generator": "brush@12345678"}


@pytest.mark.parametrize(("findings", "code"), [([], 0), ([Finding("bytes", "a\x1b[31m.png", "moved")], 1)])
def test_verify_exits_with_one_where_something_does_not_hold(
    findings: list[Finding],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    found = verify.Verified(["seer · brush · eye"], {"files": VerifyResult(findings, [], Counter(files=3))})
    monkeypatch.setattr(verify, "verify", lambda project, run, reach, **how: found)
    monkeypatch.setattr(verify, "verify_ledger", lambda project: found)
    monkeypatch.chdir(tmp_path)
    for arguments in (["verify"], ["verify", "seer/brush/eye"], ["verify", "--ledger"]):
        assert run(monkeypatch, *arguments) == code
        said = capsys.readouterr().out
        assert "\x1b" not in said
        assert any(line.startswith("seer · brush · eye: ") for line in said.splitlines())
        assert "3 files" in said
        assert ("all holds" in said) == (code == 0)
        assert ("bytes: a\\x1b[31m.png: moved" in said) == ("'dvc checkout'" in said) == (code == 1)
    assert run(monkeypatch, "verify", "--json") == code
    assert json.loads(capsys.readouterr().out)["holds"] == (code == 0)


@pytest.mark.parametrize("kind", [DriftledgerError, StoreError, LedgerError, MissingExtraError])
def test_a_mistake_is_one_sentence(
    kind: type[DriftledgerError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "report", raising(kind("x is wrong; mend it")))
    assert run(monkeypatch, "report") == 2
    assert capsys.readouterr() == ("", "driftledger: x is wrong; mend it\n")


def test_a_hostile_mistake_is_one_inert_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "report", raising(StoreError("a\nb\r\x1b[2J\u202e\u2028c")))
    assert run(monkeypatch, "report") == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert not {"\x1b", "\u202e"} & set(said)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize("name", [None, "data/x.json"])
def test_a_disk_that_cannot_be_used_is_one_sentence(
    number: int, name: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "report", raising(OSError(number, os.strerror(number), name)))
    assert run(monkeypatch, "report") == 2
    said = capsys.readouterr().err
    assert said == f"driftledger: {name or 'a file'}: {os.strerror(number)}; mend that and run again\n"


@pytest.mark.parametrize(
    "number", [errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST, errno.ENAMETOOLONG, errno.EACCES]
)
def test_what_lies_where_something_else_should_is_one_sentence(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for names in (["data/x.json"], ["data/x.json.partial", None, "data/x.json"]):
        monkeypatch.setattr(stages, "report", raising(OSError(number, os.strerror(number), *names)))
        assert run(monkeypatch, "report") == 2
        said = capsys.readouterr().err
        assert said == f"driftledger: data/x.json: {os.strerror(number)}; mend that and run again\n"


@pytest.mark.parametrize("bug", [ValueError("a bug"), KeyError("x"), OSError(errno.EISDIR, "Is a directory")])
def test_a_bug_is_not_dressed_up(bug: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "report", raising(bug))
    monkeypatch.setattr(sys, "argv", ["driftledger", "report"])
    with pytest.raises(type(bug)) as caught:
        cli.main()
    assert caught.value is bug


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    code = (
        "from driftledger import cli\n"
        "from driftledger.commands import stages\n"
        "def broken(project): raise ValueError('a bug')\n"
        "stages.report = broken\n"
        "cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "report"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.rstrip().endswith("ValueError: a bug")
    assert "cli.py" in done.stderr


def test_outside_a_project_the_way_in_is_named(tmp_path: Path) -> None:
    for arguments in (
        ["report"],
        ["stage", "score", "a"],
        ["audit", "x"],
        ["track"],
        ["preset", "trac"],
    ):
        done = command(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("driftledger: ")
        assert done.stderr.endswith("params.yaml is missing; run this in the top folder of the project\n")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["rport"],
        ["calls", "y"],
        ["stage", "trac"],
        ["stage", "nobody"],
        ["dataset", "shapes"],
        ["report", "too", "many"],
        ["report", "--force"],
        ["human", "x"],
    ],
)
def test_a_command_that_does_not_exist_is_a_usage_error(arguments: list[str], tmp_path: Path) -> None:
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_the_commands_and_says_what_each_option_is(tmp_path: Path) -> None:
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0
    for name in (
        *(name for name in COMMANDS if " " not in name),
        *("human", "ratings", "grades"),
        "audit",
        "verify",
        "compare",
        "plan",
        "preset",
    ):
        assert f" {name} " in done.stdout
    assert " stage " not in done.stdout  # it is DVC's
    for name in ("audit", "verify", "compare", "collect"):
        assert "The same" not in command(name, "--help", cwd=tmp_path).stdout


def test_presets_are_listed_and_selected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(DEFAULT, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "preset") == 0
    assert {"default", "mmeception", "neural", "trac"} <= set(capsys.readouterr().out.split())
    assert run(monkeypatch, "preset", "neural") == 0
    assert "genception.iterations: 5 → 3" in capsys.readouterr().out.splitlines()
    assert run(monkeypatch, "preset", "neural") == 0
    assert capsys.readouterr().out == "params.yaml is as neural wants it\n"


def test_report_says_where_the_scores_stand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("driftledger.reports.report.write_report", lambda project: None)
    assert run(monkeypatch, "report") == 0
    assert capsys.readouterr().out == "the scores side by side: reports/leaderboard.md\n"


def test_plan_counts_and_asks_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collecting, "plan", lambda project: {})
    assert run(monkeypatch, "plan", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {}


def test_every_stage_of_the_pipeline_is_a_command() -> None:
    lines = [line.split() for line in (REPOSITORY / "dvc.yaml").read_text(encoding="utf-8").splitlines()]
    called = {line[3] for line in lines if line[:3] == ["cmd:", "driftledger", "stage"]}
    assert called == get_command(cli.stage).commands.keys()  # type: ignore[attr-defined]

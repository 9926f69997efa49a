"""``check-component``: which entry is meant, what services are spared, what is printed and what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from driftledger.cli import app
from driftledger.collect.observations import Observed, read_observations
from driftledger.commands import check_component as checking
from driftledger.components.contract import CHECKS
from driftledger.core.errors import ConfigError
from tests.components.contract import broken
from tests.support.fakes.services import ASKED
from tests.support.params import project_with
from tests.support.terminal import printed


def place(cls: type) -> dict[str, str]:
    return {"provider": f"{cls.__module__}:{cls.__qualname__}"}


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(app, ["check-component", *arguments])


def test_an_entry_of_the_project_that_keeps_its_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project_with(tmp_path)
    done = run(tmp_path, monkeypatch, "random")
    assert done.exit_code == 0
    assert [row.split("  ")[0] for row in done.stdout.splitlines() if "  holds  " in row] == list(CHECKS)
    assert done.stdout.endswith("models.random keeps its contract\n")
    assert not (tmp_path / "data").exists()


def test_one_that_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project_with(tmp_path, generators={"mine": place(broken.DrawsTooFew)})
    done = run(tmp_path, monkeypatch, "mine", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["section"] == "generators"
    assert told["problems"] == ["results: images: expected 4 for 4 calls; seen: 3"]
    assert {each["verdict"] for each in told["checks"]} == {"holds", "differs", "not applicable"}


def test_a_name_that_several_kinds_have_must_be_told_apart(tmp_path: Path) -> None:
    both = project_with(tmp_path, models={"same": place(broken.Echo)}, generators={"same": place(broken.Hue)})
    with pytest.raises(
        ConfigError, match="'same' is in models and generators; say which with --kind model or --kind g"
    ):
        checking.check(both, "same")
    assert checking.check(both, "same", "generator").section == "generators"
    assert checking.check(both, "same", "judge").section == "models"


def test_a_name_that_nobody_has(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"component 'paintr' is unknown; did you mean 'painter'\?"):
        checking.check(project_with(tmp_path), "paintr")
    with pytest.raises(ConfigError, match="kind 'images' is unknown"):
        checking.check(project_with(tmp_path), "painter", "images")


def test_a_service_is_asked_only_as_often_as_was_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = project_with(tmp_path, generators={"far": place(broken.Afar)})
    ASKED.clear()
    with pytest.raises(ConfigError, match=r"generators.far is a service, .* 7 calls .*; allow them with --paid 7"):
        checking.check(ours, "far")
    with pytest.raises(ConfigError, match="--paid 7"):
        checking.check(ours, "far", paid=6)
    assert not ASKED
    checked = checking.check(ours, "far", paid=7)
    assert sum(ASKED.values()) == 7
    assert "generators.far is asked 7 times" in capsys.readouterr().err
    told = {check.name: check.verdict for check in checked.report.checks}
    assert told["results"] == "holds"
    assert {told[name] for name in ("determinism", "order", "company", "release", "memory", "another process")} == {
        "not applicable"
    }


def test_other_bytes_are_kept_by_fingerprint_and_equal_ones_make_nothing_stale(tmp_path: Path) -> None:
    ours = project_with(tmp_path, models={"dice": place(broken.OftenOther), "echo": place(broken.Echo)})
    (tmp_path / "data").mkdir()
    file = ours.paths.observations
    checking.note(ours, checking.check(ours, "echo"))
    assert not file.exists()
    dice = checking.check(ours, "dice")
    checking.note(ours, dice)
    seen = Observed(name=dice.component.provider, asked_again=4, other=4)
    assert read_observations(file) == {dice.component.fingerprint: seen}
    before = file.stat().st_mtime_ns
    checking.note(ours, checking.check(ours, "dice"))
    assert file.stat().st_mtime_ns == before


def test_an_entry_of_the_catalogue_that_nobody_selects_leaves_no_trace(tmp_path: Path) -> None:
    ours = project_with(tmp_path, models={"dice": place(broken.OftenOther)})
    checked = checking.check(ours, "dice")
    checking.note(ours, checked._replace(name="gpt_4_1"))
    assert not ours.paths.observations.exists()


def test_what_a_component_says_cannot_draw_on_the_terminal(tmp_path: Path) -> None:
    checked = checking.check(project_with(tmp_path, models={"rude": place(broken.Rude)}), "rude")
    said = printed(checked.as_table())
    assert "\x1b" not in said
    assert "\\x1b[31m" in said

"""``driftledger upgrade``: what nobody touched is renewed, an edit is merged or refused, and nothing is half done."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from driftledger import cli
from driftledger.commands import upgrade as upgrading
from driftledger.commands.init import init
from driftledger.commands.upgrade import differing, upgrade
from driftledger.core.errors import ConfigError
from driftledger.project.project import Project
from driftledger.project.scaffold import Generated, generated, read_written

PIPELINE = "dvc.yaml"
Rewrite = Callable[[str], str]


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "all")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that was begun and committed."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.chdir(tmp_path)
    init(Path(), minimal=True)
    commit(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rewrite], None]:
    """Another version of the package, whose pipeline is another."""

    def changed(rewrite: Rewrite) -> None:
        def files() -> list[Generated]:
            return [each._replace(body=rewrite(each.body)) if each.path == PIPELINE else each for each in generated()]

        monkeypatch.setattr(upgrading, "generated", files)

    return changed


def edit(project: Project, rewrite: Rewrite, path: str = PIPELINE) -> str:
    text = rewrite((project.root / path).read_text(encoding="utf-8"))
    (project.root / path).write_text(text, encoding="utf-8")
    return text


def first_line(text: str) -> str:
    return text.replace("  resolve: # what", "  resolve: # all that")


def last_line(text: str) -> str:
    return text + "# the end\n"


def test_nothing_is_to_do_after_init(project: Project) -> None:
    assert differing(project) == []
    assert upgrade(project) == ["every file is as driftledger writes it, or an edit of that"]


def test_a_file_that_nobody_touched_is_renewed_and_the_difference_shown(
    project: Project, package: Callable[[Rewrite], None]
) -> None:
    package(last_line)
    assert differing(project) == [PIPELINE]
    told = upgrade(project)
    assert "+# the end" in told
    assert f"{PIPELINE}: renewed" in told
    assert read_written((project.root / PIPELINE).read_text(encoding="utf-8")).untouched
    assert differing(project) == []


def test_what_a_user_changed_elsewhere_is_merged(project: Project, package: Callable[[Rewrite], None]) -> None:
    edit(project, first_line)
    commit(project.root)
    package(last_line)
    upgrade(project)
    text = (project.root / PIPELINE).read_text(encoding="utf-8")
    assert "resolve: # all that" in text
    assert text.endswith("# the end\n")
    assert yaml.safe_load(text)
    assert differing(project) == [PIPELINE]
    before = text
    upgrade(project)  # and the merged file is not merged again
    assert (project.root / PIPELINE).read_text(encoding="utf-8") == before
    package(lambda text: last_line(text.replace("  track: #", "  track: # to", 1)))
    upgrade(project)
    text = (project.root / PIPELINE).read_text(encoding="utf-8")
    assert ["resolve: # all that" in text, "track: # to" in text, text.count("# the end")] == [True, True, 1]


def test_an_edit_where_the_package_changed_nothing_stays(project: Project) -> None:
    text = edit(project, last_line)
    assert differing(project) == [PIPELINE]
    assert "every file is as driftledger writes it" in upgrade(project)[0]
    assert (project.root / PIPELINE).read_text(encoding="utf-8") == text


def test_changes_in_one_place_are_refused_and_nothing_at_all_is_written(
    project: Project, package: Callable[[Rewrite], None]
) -> None:
    edit(project, last_line)
    commit(project.root)
    (project.root / "MLproject").unlink()
    package(lambda text: text + "# another end\n")
    with pytest.raises(ConfigError, match=f"{PIPELINE} was edited in lines that driftledger changes too; delete it"):
        upgrade(project)
    assert not (project.root / "MLproject").exists()
    (project.root / PIPELINE).unlink()
    assert f"{PIPELINE}: new" in upgrade(project)
    assert differing(project) == []


@pytest.mark.parametrize(
    "text", ["stages: {}\n", "# Written by driftledger 1, sha256:0000000000000000: x\nstages: {}\n"]
)
def test_an_edit_without_a_version_in_git_is_refused(project: Project, text: str) -> None:
    (project.root / ".git").rename(project.root / "elsewhere")
    edit(project, lambda _: text)
    with pytest.raises(
        ConfigError, match=f"{PIPELINE} was edited, and Git has no version of it that driftledger wrote"
    ):
        upgrade(project)
    assert (project.root / PIPELINE).read_text(encoding="utf-8") == text


def test_a_header_that_somebody_removed_is_written_again(project: Project) -> None:
    edit(project, lambda text: text.partition("\n")[2])
    assert differing(project) == [PIPELINE]
    upgrade(project)
    assert differing(project) == []


def test_a_plot_that_was_edited_is_refused(project: Project) -> None:
    edit(project, lambda text: "{}", ".dvc/plots/lines.json")
    with pytest.raises(ConfigError, match=r"lines\.json was edited"):
        upgrade(project)


def test_lines_that_git_must_know_come_back(project: Project) -> None:
    edit(project, lambda text: "# mine\n*.log\n", ".gitignore")
    assert differing(project) == [".gitignore"]
    upgrade(project)
    lines = (project.root / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["# mine", "*.log"]
    assert "/.driftledger/" in lines


def test_no_link_is_followed_out_of_the_project(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "dvc.yaml"
    (project.root / PIPELINE).unlink()
    (project.root / PIPELINE).symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out of the project"):
        upgrade(project)
    assert not outside.exists()


def test_check_has_an_exit_code_and_shows_no_control_characters(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["driftledger", "upgrade", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0)

    assert run("--check") == 0
    edit(project, lambda text: text + "\x1b[2J\n", ".gitignore")
    edit(project, lambda text: text.replace("/.driftledger/\n", ""), ".gitignore")
    (project.root / "MLproject").unlink()
    assert run("--check") == 1
    assert capsys.readouterr().out.splitlines() == [
        "MLproject differs from what driftledger writes",
        ".gitignore differs from what driftledger writes",
    ]
    assert run() == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"\x1b[2J" in out
    assert run("--check") == 0


def test_elsewhere_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this folder is not a project; run this in its top folder"):
        upgrade(Project(tmp_path))

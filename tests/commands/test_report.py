"""``driftledger report``: the stage, and its pages elsewhere."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger import cli
from driftledger.commands import stages
from driftledger.reports import report
from tests.conftest import draw

Written = list[tuple[Path, bool]]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """What is written where and with images or not, in a project whose dataset has two images."""
    calls: Written = []

    def write(folder: Path, project: Any, *, images: bool) -> None:
        (folder).mkdir(parents=True, exist_ok=True)
        calls.append((folder, images))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "write_pages", write)
    monkeypatch.setattr(stages, "report", lambda project: calls.append((project.paths.site, True)))
    monkeypatch.setattr(stages, "_images", lambda project: (1234, ["photos", "exam"]))
    return calls


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Call the command; its exit code."""

    def called(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["driftledger", "report", *arguments])
        with pytest.raises(SystemExit) as done:
            cli.main()
        return int(done.value.code or 0)

    return called


def test_alone_it_is_the_stage(written: Written, run: Callable[..., int], tmp_path: Path) -> None:
    assert run() == 0
    assert written == [(tmp_path / "reports" / "site", True)]


def test_elsewhere_images_are_told_of_before_they_are_written(
    written: Written, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--out", "public") == 0
    assert capsys.readouterr().err == (
        "public will contain 1,234 images of photos, exam; --no-images leaves them out\n"
    )
    assert written == [(Path("public"), True)]


def test_elsewhere_images_can_be_left_out(
    written: Written, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--out", "public", "--no-images") == 0
    assert capsys.readouterr().err == ""
    assert written == [(Path("public"), False)]


def test_what_dvc_keeps_has_its_images(
    written: Written, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--no-images") == 2
    assert "--no-images needs --out FOLDER" in capsys.readouterr().err
    assert written == []


def test_a_browser_opens_what_is_there_and_what_is_written(
    written: Written, run: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run("--open") == 0
    (tmp_path / "reports" / "site").mkdir(parents=True)
    assert run("--open") == 0
    assert written == [(tmp_path / "reports" / "site", True)], "once"
    assert run("--open", "--out", "public") == 0
    own = f"{tmp_path.as_uri()}/reports/site/index.html"
    assert opened == [own, own, f"{tmp_path.as_uri()}/public/index.html"]


def test_the_images_of_the_selection_are_counted(tmp_path: Path) -> None:
    class Run:
        datasets, question_sets = ("photos", "digits"), ("exam",)

    class Settings:
        run = Run

    from driftledger.project.project import Project

    class Fixed(Project):
        settings = Settings()  # type: ignore[assignment]

    project = Fixed(tmp_path)
    draw(project.paths.dataset("photos") / "images" / "a.png", 1)
    draw(project.paths.question_set("exam") / "images" / "b.png", 2)
    draw(project.paths.question_set("exam") / "images" / "c.png", 3)
    assert stages._images(project) == (3, ["photos", "exam"])

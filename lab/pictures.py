"""The pictures of README and of the pages in ``docs/``, made of what there is: ``python -m
lab.pictures``.

A score's way is drawn from what ``driftledger audit`` prints; pages and MLflow are as a browser
shows them, which needs chromium.
"""

import io
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from socket import socket
from tempfile import TemporaryDirectory
from time import sleep
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from rich.console import Console
from rich.text import Text

from driftledger.core.errors import ConfigError
from driftledger.core.files import load_yaml, write_text
from driftledger.reports.report import SITE
from lab.entry import here, new_app, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path("docs/images")
PATIENCE = 60_000
"""Milliseconds that a page of MLflow may take."""

app = new_app(__doc__ or "")


def terminal(command: str, output: str, marked: Sequence[tuple[str, str]]) -> str:
    """Return a command and what it prints as an SVG.

    Args:
        marked: a regular expression, of which the first match is coloured, and what is said behind
            its line.
    """
    lines = [
        Text(f"$ {command}", "bold green"),
        *map(Text, output.rstrip().splitlines()),
    ]
    for pattern, remark in marked:
        for line in lines[1:]:
            if match := re.search(pattern, line.plain):
                line.stylize("bold yellow", *match.span())
                line.append(f"  ← {remark}", "yellow")
                break
    console = Console(
        record=True, width=max(line.cell_len for line in lines) + 1, file=io.StringIO()
    )
    console.print(*lines, sep="\n")
    return console.export_svg(title="driftledger", unique_id="driftledger")


@contextmanager
def browser() -> Iterator["Browser"]:
    """Debian's chromium, without a window.

    Raises:
        ConfigError: there is none.
    """
    from playwright.sync_api import sync_playwright

    chromium = which("chromium")
    if chromium is None:
        raise ConfigError(
            "pictures of pages need chromium on PATH; install it, 'apt install chromium' for "
            "instance"
        )
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        try:
            yield opened
        finally:
            opened.close()


def a_scores_way() -> str:
    """What ``audit`` says of the default run's first score, in the checkout as it is."""
    command = "driftledger audit regions_fine/painter/layout:gc_at_5"
    environment = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(
        command.split(), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ConfigError(done.stderr.strip())
    marked = (
        (r"\d\.\d+ \[.*\]", "the score, with its interval"),
        (r"painter@\w+", "the generator version that drew"),
        (r"photos@\w+", "the exact images"),
        (r"driftledger verify \S+(?=;)", "what checks every byte of it"),
    )
    return terminal(command, done.stdout, marked)


@contextmanager
def mlflow() -> Iterator[list[str]]:
    """What ``driftledger ui`` says on a free port: where the scores are, and the leaderboard.

    Raises:
        ConfigError: it does not start; it has said why.
    """
    with socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    command = ["driftledger", "ui", "--port", str(port)]
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as ui:
        assert ui.stdout is not None
        said = [ui.stdout.readline().partition(": ")[2].strip() for _ in range(2)]
        try:
            if not said[1]:
                raise ConfigError("MLflow has no scores to show; run 'make run' first")
            while ui.poll() is None and socket().connect_ex(("127.0.0.1", port)):
                sleep(0.1)
            yield said
        finally:
            ui.terminate()


def take_of_mlflow(opened: "Browser", folder: Path) -> None:
    """The scores, a chain, the leaderboard's charts and a run, as one finds them from the first
    page on."""
    with mlflow() as (scores, leaderboard):
        page = opened.new_page(viewport={"width": 1440, "height": 860})
        page.set_default_timeout(PATIENCE)
        page.goto(scores.partition("#")[0])
        page.get_by_role("link", name="driftledger", exact=True).first.click()
        page.get_by_role(
            "button", name="Got it"
        ).click()  # what MLflow wants to say of itself
        page.get_by_text("MLflow Assistant").first.locator(
            "xpath=following::button[3]"
        ).click()
        page.get_by_role("link", name="Evaluation runs").click()
        page.get_by_text("regions_fine · painter").first.wait_for()
        _settled(page, folder / "mlflow-scores.png")
        page.goto(leaderboard)
        page.get_by_text("at a glance").wait_for()
        _settled(page, folder / "mlflow-compare.png")
        # MLflow draws what is in sight
        page.set_viewport_size({"width": 1200, "height": 3600})
        grid = page.get_by_text("Image grid").first
        grid.locator("xpath=following::button[1]").click()  # on the whole page
        page.set_viewport_size({"width": 1200, "height": 760})
        _settled(page, folder / "mlflow-chains.png")
        page.set_viewport_size({"width": 1440, "height": 860})
        page.goto(scores)
        page.get_by_text("regions_fine · painter").first.click()
        page.get_by_text(
            "gravel"
        ).first.click()  # the worst chain, which every run shows
        page.get_by_text("t = 1").click()
        page.locator("img[src^='blob:']").first.wait_for()
        _settled(page, folder / "mlflow-trace.png")


def take_of_report(opened: "Browser", site: Path, folder: Path) -> None:
    """The leaderboard, one sample through every model, a chain and where a number comes from."""
    page = opened.new_page(viewport={"width": 1280, "height": 860})
    page.goto((site / "index.html").as_uri())
    _settled(page, folder / "report-leaderboard.png")
    page.locator(".chains").screenshot(path=folder / "chains.png")
    page.get_by_role("link", name="0.743").first.click()
    _settled(page, folder / "report-provenance.png")
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="Gallery", exact=True).click()
    page.get_by_role("link", name="astronaut").first.click()
    page.locator(":target").scroll_into_view_if_needed()
    _settled(page, folder / "report-chain.png")


COMMENT = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 16px; width: 860px; background: #fff; color: #1f2328;
  font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif }
article { border: 1px solid #d1d9e0; border-radius: 6px }
header { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; color: #59636e;
  border-radius: 6px 6px 0 0 }
main { padding: 16px } p, ul, table { margin: 0 0 16px } ul { padding-left: 2em }
table { border-collapse: collapse } th, td { padding: 6px 13px; border: 1px solid #d1d9e0 }
tr:nth-child(even) td { background: #f6f8fa } main > :last-child { margin: 0 }
</style><article><header><b>github-actions</b> commented</header><main>%s</main></article>"""
"""A comment on a pull request, in the colours and sizes of GitHub's."""


def a_gates_comment(folder: Path) -> str:
    """Return the Markdown of the gate where a change makes the embedded describer coarser."""

    def say(command: str) -> str:
        done = subprocess.run(
            command.split(), cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode and "compare" not in command:
            raise ConfigError(done.stderr.strip())
        return done.stdout

    say("driftledger init --preset minimal")
    params = folder / "params.yaml"
    settings = load_yaml(params.read_text(encoding="utf-8"))
    settings["run"]["models"] = ["describer"]
    settings["genception"]["iterations"] = 2
    for detail in ("fine", "coarse"):
        settings["models"] = {"describer": {"provider": "regions", "detail": detail}}
        write_text(params, json.dumps(settings))
        say("git add --all")
        say(f"git commit --quiet --message {detail}")
        say("driftledger run")
        if detail == "fine":
            say("git add --all")
            say("git commit --quiet --message scores")
    run_name = "describer/painter/layout"
    return say(
        f"driftledger compare HEAD~1:{run_name} {run_name} --anyway --fail-if worse --markdown"
    )


def take_of_gate(opened: "Browser", folder: Path) -> None:
    """Take a picture of the comment that the gate of ``docs/regressions.md`` writes."""
    with TemporaryDirectory() as project:
        comment = a_gates_comment(Path(project))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(comment)
    page = opened.new_page(viewport={"width": 900, "height": 200})
    page.set_content(COMMENT % html)
    page.screenshot(path=folder / "gate.png", full_page=True)


def _settled(page: "Page", file: Path) -> None:
    """A picture after what charts and images take; MLflow's pages never stop asking their
    server."""
    page.wait_for_timeout(3000)
    page.screenshot(path=file)


@app.command()
def make() -> None:
    """Make all of them anew."""
    project = here()
    folder = project.root / IMAGES
    write_text(folder / "audit.svg", a_scores_way())
    with browser() as opened:
        take_of_report(opened, project.root / SITE, folder)
        take_of_gate(opened, folder)
        take_of_mlflow(opened, folder)


if __name__ == "__main__":
    run(app)

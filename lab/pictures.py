"""The pictures of README and of the pages in ``docs/``, made of what there is: ``python -m lab.pictures``.

A score's way is drawn from what ``driftledger audit`` prints; pages and MLflow are as a browser shows them, which needs
chromium; README's leaderboard is the report's.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from socket import socket
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from driftledger.core.errors import ConfigError
from driftledger.core.files import write_text
from lab.entry import here, new_app, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path("docs/images")
PATIENCE = 60_000
"""Milliseconds that a page of MLflow may take."""
BEGIN, END = "<!-- leaderboard: begin -->", "<!-- leaderboard: end -->"

_LETTER, _LINE, _EDGE, _BAR = 8.15, 21.0, 22.0, 38.0
"""Pixels: a letter's width at 13.5, a line's height, what is left free at the edges, the bar on top."""
_GROUND, _INK, _PROMPT, _MARKED = "#0f1720", "#d7dde4", "#7ee0b5", "#ffd479"

_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

app = new_app(__doc__ or "")


class Marked(NamedTuple):
    """What is to be seen first in a terminal's text."""

    pattern: str
    """A regular expression; its first find is coloured."""
    said: str
    """Beside its line."""


def leaderboard(report: str) -> str:
    """The first table of ``reports/leaderboard.md``, without what stands in brackets and the letters of groups."""
    lines = report.split("## At a glance", 1)[1].splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("|"))
    last = next(place for place, line in enumerate(lines[first:], first) if not line.startswith("|"))
    return "\n".join(re.sub(r"( [a-z]{1,3})?( \([^|]*\))?(?= \|)", _plain, line) for line in lines[first:last])


def _plain(found: re.Match[str]) -> str:
    """Nothing in the place of an interval and the letters before it; a name stays."""
    return "" if found[2] else found[0]


def put_leaderboard(readme: Path, report: Path) -> None:
    """Put it between its marks in README."""
    text = readme.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    table = leaderboard(report.read_text(encoding="utf-8"))
    write_text(readme, f"{before}{BEGIN}\n{table}\n{END}{after}")


def terminal(command: str, output: str, marked: Sequence[Marked]) -> str:
    """A command and what it prints, as an SVG in a terminal's colours."""
    lines = [f"$ {command}", *output.rstrip().splitlines()]
    widest = max(map(len, lines))
    left = _EDGE + widest * _LETTER + 18
    width = left + max(len(each.said) for each in marked) * 7.4 + _EDGE
    height = _BAR + len(lines) * _LINE + _EDGE
    drawn = [element("rect", width=width, height=height, rx=10, fill=_GROUND)]
    drawn += [element("circle", cx=_EDGE + 18 * place, cy=20, r=5.5, fill="#3b4754") for place in range(3)]
    for place, line in enumerate(lines):
        y = _BAR + (place + 0.7) * _LINE
        found = [(re.search(each.pattern, line), each.said) for each in marked if place]
        spans = sorted((match.start(), match.end()) for match, _ in found if match)
        drawn.append(_row(y, line, spans, _INK if place else _PROMPT))
        for match, said in found:
            if match:
                drawn.append(_beside(y, _EDGE + len(line) * _LETTER + 8, left, said))
    of_file = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:.0f} {height:.0f}", "role": "img"}
    return element("svg", element("title", command), element("desc", output), *drawn, **of_file) + "\n"


def element(name: str, *inside: str, **attributes: str | float) -> Markup:
    """An element of SVG; text inside is made inert, and ``font_size`` is ``font-size``."""
    given = (Markup(' {}="{}"').format(key.replace("_", "-"), value) for key, value in attributes.items())
    return Markup("<{0}{1}>{2}</{0}>").format(name, Markup("").join(given), Markup("").join(inside))


def _row(y: float, line: str, marked: Sequence[tuple[int, int]], ink: str) -> Markup:
    """Word by word, each at its place, since a viewer's font may have another width."""
    words = []
    for word in re.finditer(r"\S+", line):
        is_marked = any(start <= word.start() < end for start, end in marked)
        place = {"x": _EDGE + word.start() * _LETTER, "y": y, "textLength": len(word[0]) * _LETTER}
        look = {"fill": _MARKED, "font_weight": "700"} if is_marked else {"fill": ink}
        words.append(element("text", word[0], **place, **look, lengthAdjust="spacingAndGlyphs"))
    return element("g", *words, font_size=13.5, font_family=_FONT)


def _beside(y: float, start: float, left: float, said: str) -> Markup:
    line = element("line", x1=start, x2=left - 8, y1=y - 4, y2=y - 4, stroke=_MARKED, stroke_dasharray="2 4")
    return line + element("text", said, x=left, y=y, font_size=13.5, fill=_MARKED)


@contextmanager
def browser() -> Iterator["Browser"]:
    """Debian's chromium, without a window.

    Raises:
        ConfigError: there is none.
    """
    from playwright.sync_api import sync_playwright

    found = which("chromium")
    if found is None:
        raise ConfigError("pictures of pages need chromium on PATH; install it, 'apt install chromium' for instance")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


def a_scores_way() -> str:
    """What ``audit`` says of the default run's first score, in the checkout as it is."""
    command = "driftledger audit regions_fine/painter/layout:gc_at_5"
    environment = os.environ | {"COLUMNS": "80"}
    found = subprocess.run(command.split(), env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        raise ConfigError(found.stderr.strip())
    marked = (
        Marked(r"\d\.\d+ \[.*\]", "the score, with its interval"),
        Marked(r"painter@\w+", "the generator version that drew"),
        Marked(r"photos@\w+", "the exact images"),
        Marked(r"driftledger verify \S+(?=;)", "what checks every byte of it"),
    )
    return terminal(command, found.stdout, marked)


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
    with subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True) as ui:
        assert ui.stdout is not None
        said = [ui.stdout.readline().partition(": ")[2].strip() for _ in range(2)]
        try:
            if not said[1]:
                raise ConfigError("MLflow has no scores to show; run 'make run' first")
            yield said
        finally:
            ui.terminate()


def take_of_mlflow(opened: "Browser", folder: Path) -> None:
    """The scores, a chain, the leaderboard's charts and a run, as one finds them from the first page on."""
    with mlflow() as (scores, leaderboard):
        page = opened.new_page(viewport={"width": 1440, "height": 860})
        page.set_default_timeout(PATIENCE)
        page.goto(scores.partition("#")[0])
        page.get_by_role("link", name="driftledger", exact=True).first.click()
        page.get_by_role("button", name="Got it").click()  # what MLflow wants to say of itself
        page.get_by_text("MLflow Assistant").first.locator("xpath=following::button[3]").click()
        page.get_by_role("link", name="Evaluation runs").click()
        page.get_by_text("regions_fine · painter").first.wait_for()
        _settled(page, folder / "mlflow-scores.png")
        page.goto(leaderboard)
        page.get_by_text("at a glance").wait_for()
        _settled(page, folder / "mlflow-compare.png")
        page.goto(scores)
        page.get_by_text("regions_fine · painter").first.click()
        page.get_by_text("astronaut").first.click()
        page.get_by_text("t = 1").click()
        page.locator("img[src^='blob:']").first.wait_for()
        _settled(page, folder / "mlflow-trace.png")


def take_of_report(opened: "Browser", site: Path, folder: Path) -> None:
    """The leaderboard, a chain and where a number comes from."""
    page = opened.new_page(viewport={"width": 1280, "height": 860})
    page.goto((site / "index.html").as_uri())
    _settled(page, folder / "report-leaderboard.png")
    page.get_by_role("link", name="0.743").first.click()
    _settled(page, folder / "report-provenance.png")
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="Gallery").click()
    page.get_by_role("link", name="astronaut").first.click()
    page.locator(":target").scroll_into_view_if_needed()
    _settled(page, folder / "report-chain.png")


def _settled(page: "Page", file: Path) -> None:
    """A picture after what charts and images take; MLflow's pages never stop asking their server."""
    page.wait_for_timeout(3000)
    page.screenshot(path=file)


@app.command()
def make() -> None:
    """Make all of them anew."""
    project = here()
    folder = project.root / IMAGES
    write_text(folder / "audit.svg", a_scores_way())
    put_leaderboard(project.root / "README.md", project.paths.leaderboard.with_suffix(".md"))
    with browser() as opened:
        take_of_report(opened, project.paths.site, folder)
        take_of_mlflow(opened, folder)


if __name__ == "__main__":
    run(app)

"""The site as people meet it: opened from a folder, without a network, by eyes and by screen readers."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from lab.pictures import browser as chromium
from tests.conftest import Checkout

pytestmark = pytest.mark.slow

KINDS = {"leaderboard": "index.html", "benchmark": "genception.html", "gallery": "gallery.html", "run": "runs/*.html"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize("pattern", KINDS.values(), ids=list(KINDS))
def test_a_page_is_whole_asks_for_nothing_elsewhere_and_is_accessible(
    pattern: str, browser: Browser, finished: Checkout
) -> None:
    file = sorted((finished.root / "reports/site").glob(pattern))[0]
    page, problems, asked = browser.new_page(), list[str](), list[str]()
    page.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    assert asked
    assert not [url for url in asked if not url.startswith(("file://", "data:"))]
    assert not problems
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert not [(each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]]
    assert page.locator("h1").count() == 1

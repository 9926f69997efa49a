"""The site as people meet it: opened from a folder, without a network, by eyes and by screen
readers."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from lab.pictures import browser as chromium
from tests.acceptance.conftest import evaluated as default_run  # noqa: F401

pytestmark = pytest.mark.slow

KINDS = {
    "leaderboard": "index.html",
    "benchmark": "genception.html",
    "gallery": "gallery.html",
    "run": "runs/*.html",
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize("pattern", KINDS.values(), ids=list(KINDS))
def test_a_page_is_whole_asks_for_nothing_elsewhere_and_is_accessible(
    pattern, browser, finished
):
    file = sorted((finished.root / "reports/site").glob(pattern))[0]
    page, problems, asked = browser.new_page(), list[str](), list[str]()
    page.on(
        "console",
        lambda message: (
            problems.append(message.text) if message.type != "log" else None
        ),
    )
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    assert asked
    assert not [url for url in asked if not url.startswith(("file://", "data:"))]
    assert not problems
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert not [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in found.response["violations"]
    ]
    assert page.locator("h1").count() == 1


BROKEN = """() => {
  const words = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("pre")) continue;
    for (const word of node.data.matchAll(/\\w+_\\w+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((part) => part.top));
      if (lines.size > 1) words.push(word[0]);
    }
  }
  return words;
}"""
"""Words with an underscore that are on several lines."""
WIDE = "[...document.querySelectorAll('.scroll')].map((box) => box.scrollWidth > box.clientWidth)"
"""Of each table: whether it is wider than its card."""


@pytest.mark.parametrize(
    ("width", "wider"), [(1280, {False}), (768, {False, True}), (390, {True})]
)
def test_pages_and_tables_fit_names_are_whole_and_a_run_is_read_in_five_screens(
    width,
    wider,
    browser,
    default_run,  # noqa: F811
):
    page = browser.new_page(viewport={"width": width, "height": 844})
    wide = {}
    for file in sorted((default_run.root / "reports/site").rglob("*.html")):
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name
        if file.parent.name == "runs":
            assert page.evaluate("document.documentElement.scrollHeight") <= 5 * 844, (
                file.name
            )
        page.evaluate(
            "document.querySelectorAll('details').forEach((each) => each.open = true)"
        )
        assert page.evaluate(BROKEN) == [], file.name
        wide[file.stem] = page.evaluate(WIDE)
    assert len(wide["genception"]) > 1
    assert {each for boxes in wide.values() for each in boxes} == wider
    assert wide["genception"][0] is (width != 1280)


def test_a_link_to_a_number_opens_what_it_is_folded_in(browser, finished):
    file = sorted((finished.root / "reports/site/runs").glob("*.html"))[0]
    page = browser.new_page()
    page.goto(file.as_uri())
    number = page.locator("[id^=genception-][id$=-gc_at_1]")
    assert not number.is_visible()
    page.goto(f"{file.as_uri()}#{number.get_attribute('id')}")
    assert number.is_visible()
    value, command = (
        number.locator("data").bounding_box(),
        number.locator(".command").bounding_box(),
    )
    assert value is not None
    assert command is not None
    assert command["y"] >= value["y"] + value["height"], (
        "the command is below its number"
    )

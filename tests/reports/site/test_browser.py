"""The pages in a real Chromium, from a folder and from a server."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.browser import Seen, watched
from tests.support.sites import MODELS, written_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

PAGES = ("index.html", "genception.html", "mm_sap.html", "compare.html", "correlation.html")
SHOWN = "#overview tbody tr:not(.kind):visible th[scope=row]"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module", params=["file", "http"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Where the site is, with a slash at its end."""
    if request.param == "file":
        yield f"{site.as_uri()}/"
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: "Browser", address: str) -> "Iterator[Page]":
    """A page that has asked for nothing but the site's own files, and had no error, when the test is over."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    seen: Seen = watched(opened)
    yield opened
    opened.close()
    assert seen.errors == []
    assert [each for each in seen.requests if not each.startswith((address, "data:"))] == []
    assert seen.requests


def texts(found: "Locator") -> list[str]:
    return [text.strip() for text in found.all_inner_texts()]


def test_pages_show_without_an_error_at_any_width_and_in_the_dark(page: "Page", address: str) -> None:
    for name in PAGES:
        for width, scheme in ((1280, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(address + name)
            assert page.locator("h1").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_sorting_changes_the_order_and_says_so(page: "Page", address: str) -> None:
    page.goto(f"{address}index.html")
    heads = page.locator("#overview thead th")
    ssim = heads.filter(has_text="fidelity SSIM")
    assert texts(page.locator(SHOWN)) == list(MODELS), "by the first column, controls apart"
    assert [heads.nth(place).get_attribute("aria-sort") for place in range(heads.count())] == [None] * heads.count()
    ssim.get_by_role("button").click()
    assert ssim.get_attribute("aria-sort") == "descending"
    assert texts(page.locator(SHOWN)) == ["poet", "seer", "blind"]
    ssim.get_by_role("button").press("Enter")
    assert ssim.get_attribute("aria-sort") == "ascending"
    assert texts(page.locator(SHOWN)) == ["seer", "poet", "blind"]
    heads.first.get_by_role("button").click()
    assert ssim.get_attribute("aria-sort") is None
    assert heads.first.get_attribute("aria-sort") == "ascending"
    assert texts(page.locator(SHOWN)) == ["poet", "seer", "blind"]


def test_typing_a_name_leaves_its_models(page: "Page", address: str) -> None:
    page.goto(f"{address}index.html")
    page.get_by_label("Show models with").fill("OE")
    assert texts(page.locator(SHOWN)) == ["poet"]


def test_a_click_on_a_number_shows_the_version_that_drew_as_the_lock_has_it(
    page: "Page", address: str, site: Path
) -> None:
    lock = yaml.safe_load((site.parent / "dvc.lock").read_text(encoding="utf-8"))
    params = lock["stages"]["chain@shapes-poet-brush"]["params"]["data/resolved.json"]
    page.goto(f"{address}index.html")
    page.locator("#overview tr", has=page.get_by_role("rowheader", name="poet")).get_by_role("link").first.click()
    assert page.url.endswith("runs/poet.html#genception-shapes-brush-eye-gc_at_2")
    asked = page.locator(":target")
    assert asked.locator("data").get_attribute("value") == "0.45"
    assert f"brush@{params['generators.brush'][:8]}" in asked.inner_text()
    shown = page.locator("code.fingerprint", has_text=params["generators.brush"])
    assert shown.first.is_visible()


def test_two_runs_are_compared_and_the_address_keeps_which(page: "Page", address: str) -> None:
    page.goto(f"{address}compare.html")
    heads = page.locator("#compared thead th:visible")
    assert texts(heads) == ["Metric", *MODELS]
    page.get_by_label("Run A").select_option("seer/brush/eye")
    page.get_by_label("Run B").select_option("blind/brush/eye")
    assert texts(heads) == ["Metric", "seer", "blind", "B − A"]
    row = page.locator("#compared tr", has=page.get_by_role("rowheader", name="GC@2", exact=True))
    assert texts(row.locator("td:visible"))[-1] == "−0.500 A is ahead"
    assert page.locator("#compare-command").inner_text() == "driftledger compare seer/brush/eye blind/brush/eye"
    kept = page.url
    page.goto(f"{address}index.html")
    page.goto(kept)
    assert texts(heads) == ["Metric", "seer", "blind", "B − A"]


def test_a_table_is_copied_as_latex(page: "Page", address: str) -> None:
    if not address.startswith("file"):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}index.html")
    page.locator("#overview").get_by_role("button", name="LaTeX").click()
    page.get_by_role("button", name="LaTeX").filter(has_text="LaTeX ").first.wait_for()
    field = page.locator("#overview textarea").nth(2)
    assert "\\toprule" in field.input_value()


def test_everything_is_there_without_javascript(browser: "Browser", address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}compare.html")
    assert texts(page.locator("#compared thead th:visible")) == ["Metric", *MODELS]
    page.goto(f"{address}index.html")
    assert not page.get_by_label("Show models with").is_visible()
    page.get_by_text("Copy this table").click()
    assert page.locator("#overview textarea").first.is_visible()
    context.close()


def test_nothing_keeps_people_out(page: "Page", address: str) -> None:
    """By axe-core's rules: nothing serious."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed: pip install 'driftledger[dev]'")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    for name in (*PAGES, "runs/poet.html#genception-shapes-brush-eye-gc_at_2"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(address + name)
            page.evaluate(script)
            found = page.evaluate("async () => (await axe.run(document, { preload: false })).violations")
            wrong = [
                (each["id"], node["html"][:200], node["failureSummary"])
                for each in found
                if each["impact"] in ("serious", "critical")
                for node in each["nodes"][:3]
            ]
            assert wrong == [], (name, scheme)

"""A run in a single file: within its budget, alike each time, and at home in a frame without origin."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.ledger.lineage import Lineage, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.reports.site import run_page as module
from driftledger.reports.site.run_page import run_page
from tests.browser import watched
from tests.reports.site.unit_ledgers import Elements, write_units

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def lineages(tmp_path: Path) -> list[Lineage]:
    """Of the model ``seer``."""
    scores = [score for score in write_units(tmp_path) if score.model == "seer"]
    lock = read_lock(tmp_path)
    return [read_lineage(tmp_path, lock, benchmark(score.benchmark), score.keys) for score in scores]


def test_scores_and_units_of_all_benchmarks(tmp_path: Path, lineages: list[Lineage]) -> None:
    page = Elements(run_page(tmp_path, "seer · brush · eye", lineages, None).decode())
    assert page.texts("h1") == ["seer · brush · eye"]
    parts = [text for text in page.texts("h2") if " on " in text]
    assert parts == [
        "GenCeption on shapes · brush · eye", "TRAC on digits · short", "fidelity on shapes · brush · eye",
        "MM-SAP on exam",
    ]  # fmt: skip
    facts = page.texts("dl", "facts")[0]
    assert facts.startswith("GC@20.700 (0.650 to 0.750)s(2)0.600scored2/2")
    assert len(page.texts("details", "unit")) == 6


def test_it_holds_all_that_it_shows(tmp_path: Path, lineages: list[Lineage]) -> None:
    page = Elements(run_page(tmp_path, "seer", lineages, None).decode())
    assert page.attributes("img", "src")
    assert all(source.startswith("data:image/webp;base64,") for source in page.attributes("img", "src"))
    assert page.attributes("a", "href") == page.attributes("link", "href") == page.texts("script") == []


def test_the_same_bytes_twice(tmp_path: Path, lineages: list[Lineage]) -> None:
    assert run_page(tmp_path, "seer", lineages, 2) == run_page(tmp_path, "seer", lineages, 2)


def test_at_most_as_many_units_as_asked_for(tmp_path: Path, lineages: list[Lineage]) -> None:
    units = [
        len(Elements(run_page(tmp_path, "seer", lineages, most).decode()).texts("details", "unit")) for most in (0, 1)
    ]
    assert units == [0, 4]


def test_a_benchmark_that_shows_no_units_shows_its_scores(
    tmp_path: Path, lineages: list[Lineage], monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec in {each.spec for each in lineages}:
        monkeypatch.setattr(type(spec), "traces", lambda *_: iter(()))
    page = Elements(run_page(tmp_path, "seer", lineages, None).decode())
    assert page.texts("details", "unit") == []
    assert page.texts("dl", "facts")[0].startswith("GC@20.700")


def test_units_make_room_for_the_budget(
    tmp_path: Path, lineages: list[Lineage], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_page(tmp_path, "seer", lineages, None)
    monkeypatch.setattr(module, "MOST_BYTES", len(whole) - 1)
    page = run_page(tmp_path, "seer", lineages, None)
    assert len(page) < len(whole)
    assert "1 of 2 units" in page.decode()


def test_it_is_silent_in_a_frame_of_its_own(tmp_path: Path, lineages: list[Lineage], browser: "Browser") -> None:
    page = browser.new_page()
    seen = watched(page)
    page.set_content("<iframe sandbox='allow-scripts' style='width:100%;height:700px'></iframe>")
    page.evaluate(
        "html => document.querySelector('iframe').src = URL.createObjectURL(new Blob([html], {type: 'text/html'}))",
        run_page(tmp_path, "seer", lineages, None).decode(),
    )
    page.frame_locator("iframe").locator("img").first.wait_for()
    frame = page.frames[1]
    assert frame.title() == "seer · driftledger"
    assert frame.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
    page.close()
    assert seen.errors == []
    assert all(address.startswith(("blob:", "data:", "about:")) for address in seen.requests)

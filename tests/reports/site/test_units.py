"""Pages of units: every model in a line, what it was asked and gave, and nothing of it alive."""

import filecmp
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from driftledger.benchmarks._chains.traces import largest_loss
from driftledger.core.errors import StoreError
from driftledger.reports.site import units
from tests.browser import watched
from tests.reports.site.unit_ledgers import HOSTILE, OPTIONS, elements

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DISC, RING = "units/genception/shapes/1.html", "units/genception/shapes/2.html"
QUESTION = "units/mm_sap/exam/1.html"


def test_a_line_per_model_and_a_column_per_step(unit_site: Callable[..., Path]) -> None:
    page = elements(unit_site() / DISC)
    assert page.texts("h2") == ["seer brush · eye", "peer brush · eye"]
    heads = page.texts("h3")
    assert [head.partition("largest")[0] for head in heads] == ["t = 0", "t = 1", "t = 2"] * 2
    assert page.texts("span", "note-of-step") == ["largest loss −1.150", "largest loss −0.500"]


def test_a_chart_sets_all_models_side_by_side(unit_site: Callable[..., Path]) -> None:
    """Of a unit whose steps have numbers; a question has none."""
    site = unit_site()
    assert elements(site / DISC).texts("title")[1] == "s(t) of disc"
    drawn = elements(site / DISC).texts("text")
    assert {"seer", "peer", "t = 1", "t = 2"} <= set(drawn)
    assert elements(site / QUESTION).texts("svg") == []


def test_words_that_changed_are_marked(unit_site: Callable[..., Path]) -> None:
    page = elements(unit_site() / DISC)
    assert (page.texts("del"), page.texts("ins")) == (["red"], ["blue"])


def test_every_number_is_the_one_of_the_rows(unit_site: Callable[..., Path]) -> None:
    """Also what is shown, to the digits that the metric has."""
    site = unit_site()
    rows = site.parent / "ledger/reports/scores/genception/shapes/peer/brush/eye/rows.jsonl"
    row = json.loads(rows.read_text().splitlines()[0])["values"]
    page = elements(site / DISC)
    values = [float(value) for value in page.attributes("data", "value")]
    assert values == [0.8, -0.25, 0.9, -0.25, row["gc"][-1], row["similarity"][-1], *row["similarity"]]
    assert page.texts("data") == [f"{value:.3f}" for value in values]


def test_numbers_lead_to_where_they_come_from(unit_site: Callable[..., Path]) -> None:
    there = elements(unit_site() / DISC).attributes("a", "href")
    assert "../../../provenance/genception/shapes/peer/brush/eye.html#similarity_at_2" in there


def test_a_refusal_says_so(unit_site: Callable[..., Path]) -> None:
    page = elements(unit_site() / RING)
    assert page.texts("p", "trouble") == ["refused I would rather not."]
    assert page.texts("span", "outcome") == ["refused"]


def test_a_question_in_each_of_its_orders(unit_site: Callable[..., Path]) -> None:
    page = elements(unit_site() / QUESTION)
    assert page.texts("h3") == ["order 1✓ right", "order 2✗ wrong"]
    assert page.texts("li", "chosen") == ["B a cat chosen right", "A a dog chosen"]
    assert page.texts("li", "right") == ["B a cat chosen right", "C a cat right"]
    said = page.texts("dd")
    assert set(OPTIONS) | {"B", "the dog, I think", "letter", "words"} <= set(said)
    assert page.texts("data") == ["50.00 %"]


def test_several_readers_of_the_same_description_share_a_line(unit_site: Callable[..., Path]) -> None:
    page = elements(unit_site() / "units/trac/digits/1.html")
    assert page.texts("h2") == ["seer short"]
    assert page.texts("h3") == ["test image", "nearest by reader✓ right", "nearest by counter✓ right"]
    assert page.texts("span", "value-title") == [
        f"{title} {by}" for by in ("reader", "counter") for title in ("top-1", "class mean")
    ]


@pytest.mark.parametrize("path", [DISC, QUESTION])
def test_hostile_text_is_text(unit_site: Callable[..., Path], path: str) -> None:
    file = unit_site() / path
    page, source = elements(file), file.read_text(encoding="utf-8")
    assert sorted(page.attributes("script", "src")) == ["../../../assets/site.js", "../../../assets/units.js"]
    assert not [tag for tag, attributes, _ in page.found if any(name.startswith("on") for name in attributes)]
    assert HOSTILE.partition("\x1b")[0] in " ".join(page.texts("main"))
    assert "\x1b" not in source
    assert "\u202e" not in source


def test_the_same_bytes_twice(unit_site: Callable[..., Path]) -> None:
    first, again = unit_site("first"), unit_site("again")
    files = [each.relative_to(first).as_posix() for each in sorted(first.rglob("*")) if each.is_file()]
    assert len(files) > 10
    assert filecmp.cmpfiles(first, again, files, shallow=False)[0] == files


def test_images_are_small_lazy_and_of_a_fixed_size(unit_site: Callable[..., Path]) -> None:
    site = unit_site()
    images = [attributes for tag, attributes, _ in elements(site / DISC).found if tag == "img"]
    assert len(images) == 6
    for each in images:
        assert (each["loading"], each["width"], each["height"]) == ("lazy", "40", "30")
        assert (site / DISC).parent.joinpath(each["src"]).resolve().is_file()
        assert re.fullmatch(r"(\.\./){3}images/[0-9a-f]{2}/[0-9a-f]{64}\.webp", each["src"])


def test_a_site_without_images_says_so(unit_site: Callable[..., Path]) -> None:
    site = unit_site(images=False)
    assert not (site / "images").exists()
    for page in site.rglob("*.html"):
        assert elements(page).attributes("img", "src") == []
    assert elements(site / DISC).texts("span", "no-image")[0] == "the original: images are left out of this report"


def test_galleries_begin_with_the_worst(unit_site: Callable[..., Path]) -> None:
    """Nobody brought the ring to an end, so that it has no value."""
    site = unit_site()
    gallery = elements(site / "units/genception/shapes/index.html")
    assert gallery.texts("span", "name") == ["ring", "disc"]
    assert gallery.attributes("data", "value") == ["0.525"]
    assert elements(site / DISC).attributes("a", "rel") == ["prev"]
    assert elements(site / "gallery.html").texts("h2") == [
        "GenCeption on shapes", "TRAC on digits", "fidelity on shapes", "MM-SAP on exam",
    ]  # fmt: skip


def test_galleries_are_parted(unit_site: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "PER_PAGE", 1)
    site = unit_site()
    assert elements(site / "units/genception/shapes/index.html").texts("span", "name") == ["ring"]
    assert elements(site / "units/genception/shapes/page-2.html").texts("span", "name") == ["disc"]
    assert "../../../units/genception/shapes/page-2.html" in elements(site / DISC).attributes("a", "href")


def test_records_that_are_not_here_leave_their_pages_out(unit_site: Callable[..., Path]) -> None:
    """As in a clone before ``dvc pull``: the rest is there."""
    site = unit_site(without="data/chains")
    [note] = elements(site / "gallery.html").texts("p", "note")
    assert note.startswith("GenCeption on shapes: its records are not in this checkout; dvc pull fetches them")
    assert not (site / DISC).exists()
    assert (site / QUESTION).exists()


def test_an_image_that_is_missing_is_named(unit_site: Callable[..., Path]) -> None:
    with pytest.raises(StoreError, match=r"disc/\d\.png is missing; run 'dvc pull' to fetch it, or 'dvc repro'"):
        unit_site(without="data/chains/shapes/seer/brush/images")


def test_where_most_is_lost() -> None:
    assert largest_loss([0.9, 0.8, 0.3, 0.25]) == {3: "largest loss −0.500"}
    assert largest_loss([0.5, 0.0]) == {1: "largest loss −0.500"}
    assert largest_loss([1.0, 1.0]) == largest_loss([]) == {}


def test_arrows_lead_from_unit_to_unit(unit_site: Callable[..., Path], browser: "Browser") -> None:
    """No script of a description runs, the console is silent, and nothing is asked for from elsewhere."""
    site = unit_site()
    page = browser.new_page(viewport={"width": 390, "height": 800})
    seen = watched(page)
    page.goto((site / DISC).as_uri())
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/2.html")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/1.html")
    assert page.title() == "disc · GenCeption on shapes · driftledger"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".strip").first.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(200)
    assert page.url.endswith("/1.html")  # where steps scroll, the arrows scroll them
    page.goto((site / QUESTION).as_uri())
    assert page.title() == "q0 · MM-SAP on exam · driftledger"
    page.close()
    assert seen.errors == []
    assert {address for address in seen.requests if not address.startswith((site.as_uri(), "data:"))} == set()


def test_units_can_be_walked_without_script(unit_site: Callable[..., Path], browser: "Browser") -> None:
    site = unit_site()
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((site / "gallery.html").as_uri())
    page.get_by_role("link", name="GenCeption on shapes").click()
    page.get_by_role("link", name="disc").click()
    assert page.url == (site / DISC).as_uri()
    page.get_by_role("link", name="← ring").click()
    assert page.url == (site / RING).as_uri()
    page.close()

"""A model's page: every unit in a line, what it was asked and gave, and nothing of it alive; and the gallery."""

import filecmp
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.benchmarks._chains.traces import largest_loss
from driftledger.core.errors import StoreError
from tests.reports.site.unit_ledgers import HOSTILE, OPTIONS, elements, units_on

SEER, PEER = "runs/seer.html", "runs/peer.html"


def test_a_column_per_step(unit_site: Callable[..., Path]) -> None:
    page = units_on(unit_site() / PEER)["disc"]
    assert page.texts("h2") == ["peer brush · eye"]
    assert [head.partition("largest")[0] for head in page.texts("h3")] == ["t = 0", "t = 1", "t = 2"]
    assert page.texts("span", "note-of-step") == ["largest loss −0.500"]


def test_words_that_changed_are_marked(unit_site: Callable[..., Path]) -> None:
    page = units_on(unit_site() / PEER)["disc"]
    assert (page.texts("del"), page.texts("ins")) == (["red"], ["blue"])


def test_every_number_is_the_one_of_the_rows(unit_site: Callable[..., Path]) -> None:
    site = unit_site()
    rows = site.parent / "ledger/reports/scores/genception/shapes/peer/brush/eye/rows.jsonl"
    row = json.loads(rows.read_text().splitlines()[0])["values"]
    page = units_on(site / PEER)["disc"]
    values = [float(value) for value in page.attributes("data", "value")]
    worth = [row["gc"][-1], row["similarity"][-1]]
    assert values == [*worth, *worth, *row["similarity"]], "in its summary, at the head of its line, and step by step"
    assert "../runs/peer.html#genception-shapes-brush-eye-similarity_at_2" in page.attributes("a", "href")


def test_a_refusal_says_so(unit_site: Callable[..., Path]) -> None:
    page = units_on(unit_site() / PEER)["ring"]
    assert page.texts("p", "trouble") == ["refused I would rather not."]


def test_a_question_in_each_of_its_orders(unit_site: Callable[..., Path]) -> None:
    page = units_on(unit_site() / SEER)["q0"]
    assert page.texts("h3") == ["order 1✓ right", "order 2✗ wrong"]
    assert page.texts("li", "chosen") == ["B a cat chosen right", "A a dog chosen"]
    assert set(OPTIONS) | {"B", "the dog, I think", "letter", "words"} <= set(page.texts("dd"))


@pytest.mark.parametrize("path", [SEER, "gallery.html"])
def test_hostile_text_is_text(unit_site: Callable[..., Path], path: str) -> None:
    file = unit_site() / path
    page, source = elements(file), file.read_text(encoding="utf-8")
    assert len(page.attributes("script", "src")) == 1
    assert not [tag for tag, attributes, _ in page.found if any(name.startswith("on") for name in attributes)]
    assert "\x1b" not in source
    assert "\u202e" not in source
    if path == SEER:
        assert HOSTILE.partition("\x1b")[0] in " ".join(page.texts("main"))


def test_the_same_bytes_twice(unit_site: Callable[..., Path]) -> None:
    first, again = unit_site("first"), unit_site("again")
    files = [each.relative_to(first).as_posix() for each in sorted(first.rglob("*")) if each.is_file()]
    assert len(files) > 10
    assert filecmp.cmpfiles(first, again, files, shallow=False)[0] == files


def test_images_are_small_lazy_and_of_a_fixed_size(unit_site: Callable[..., Path]) -> None:
    site = unit_site()
    images = [attributes for tag, attributes, _ in units_on(site / PEER)["disc"].found if tag == "img"]
    assert len(images) == 3
    for each in images:
        assert (each["loading"], each["width"], each["height"]) == ("lazy", "40", "30")
        assert (site / PEER).parent.joinpath(each["src"]).resolve().is_file()
        assert re.fullmatch(r"\.\./images/[0-9a-f]{2}/[0-9a-f]{64}\.webp", each["src"])


def test_a_site_without_images_says_so(unit_site: Callable[..., Path]) -> None:
    site = unit_site(images=False)
    assert not (site / "images").exists()
    for page in site.rglob("*.html"):
        assert elements(page).attributes("img", "src") == []
    shown = units_on(site / PEER)["disc"]
    assert shown.texts("span", "no-image")[0] == "the original: images are left out of this report"


def test_the_gallery_begins_with_the_worst_and_leads_to_the_model_that_did_worst(
    unit_site: Callable[..., Path],
) -> None:
    """Nobody brought the ring to an end, so that it has no value."""
    site = unit_site()
    gallery = elements(site / "gallery.html")
    assert gallery.texts("h2") == ["GenCeption on shapes", "TRAC on digits", "fidelity on shapes", "MM-SAP on exam"]
    assert gallery.texts("span", "name")[:2] == ["ring", "disc"]
    assert gallery.attributes("data", "value")[0] == "0.525"
    disc = next(link for link in gallery.attributes("a", "href") if link.startswith(f"{PEER}#"))
    assert disc.partition("#")[2] in elements(site / PEER).attributes("details", "id")


def test_records_that_are_not_here_leave_their_units_out(unit_site: Callable[..., Path]) -> None:
    """As in a clone before ``dvc pull``: the rest is there."""
    site = unit_site(without="data/chains")
    [note] = elements(site / "gallery.html").texts("p", "note")
    assert note.startswith("GenCeption on shapes: its records are not in this checkout; dvc pull fetches them")
    assert set(units_on(site / SEER)) & {"disc", "q0"} == {"disc", "q0"}, "the disc of fidelity"
    assert units_on(site / PEER) == {}


def test_an_image_that_is_missing_is_named(unit_site: Callable[..., Path]) -> None:
    with pytest.raises(StoreError, match=r"disc/\d\.png is missing; run 'dvc pull' to fetch it, or 'dvc repro'"):
        unit_site(without="data/chains/shapes/seer/brush/images")


def test_where_most_is_lost() -> None:
    assert largest_loss([0.9, 0.8, 0.3, 0.25]) == {3: "largest loss −0.500"}
    assert largest_loss([0.5, 0.0]) == {1: "largest loss −0.500"}
    assert largest_loss([1.0, 1.0]) == largest_loss([]) == {}

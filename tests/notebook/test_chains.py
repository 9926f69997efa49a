"""What chains show is a stranger's text and images: inert, and of bounded size."""

import re
from pathlib import Path

import pytest
from PIL import Image

from driftledger.benchmarks.traces import Shot, Step, Trace
from driftledger.core.errors import DataError
from driftledger.core.types import Outcome
from driftledger.notebook import ChainLine, Chains
from tests.conftest import draw

HOSTILE = '"><img src=x onerror=alert(1)>&\x1b[31m\u202e'


def trace(folder: Path, similarity: float, description: str = "A cat.", *, ends: bool = False) -> Trace:
    shots = {name: Shot(draw(folder / f"{name}.png", number)) for number, name in enumerate(("original", "drawn"))}
    drawing = Step("generate 1", "generator", {}, {"image": shots["drawn"], "s(1)": similarity}, column="t = 1")
    failed = Step("describe 2", "model", {}, {"description": None}, Outcome.FAILED, HOSTILE, column="t = 2")
    return Trace(
        "cat",
        "chain",
        {"image": shots["original"]},
        {},
        Outcome.FAILED if ends else Outcome.OK,
        [
            Step("describe 1", "model", {"prompt": "?"}, {"description": description}, column="t = 1"),
            drawing,
            *([failed] if ends else []),
        ],
        values={"GC@1": similarity},
        start="t = 0",
    )


def chains(folder: Path, description: str = "A cat.", sample: str = "cat", **how: bool) -> Chains:
    lines = [("seer", "brush · eye", trace(folder, 0.5, description, **how)), ("oracle", "brush", trace(folder, 0.75))]
    return Chains(sample, [ChainLine(*line) for line in lines])


def test_a_line_per_run_in_plain_text(tmp_path: Path) -> None:
    assert repr(chains(tmp_path)).splitlines() == [
        "cat",
        "  seer · brush · eye: GC@1 0.500",
        "    t = 1, s(1) 0.500: A cat.",
        "  oracle · brush: GC@1 0.750",
        "    t = 1, s(1) 0.750: A cat.",
    ]


def test_a_row_per_run_with_pictures_in_the_page_itself(tmp_path: Path) -> None:
    page = chains(tmp_path)._repr_html_()
    assert page.count("<tr>") == 2
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 4
    assert all(source.startswith("data:image/webp;base64,") for source in sources)
    assert str(tmp_path) not in page
    assert "s(1) 0.750" in page


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    shown = chains(tmp_path, HOSTILE, HOSTILE, ends=True)
    page, text = shown._repr_html_(), repr(shown)
    assert not {"\x1b", "\u202e"} & {*page, *text}
    assert set(re.findall(r"<(\w+)", page)) == {"div", "b", "table", "tr", "th", "td", "img"}
    assert "onerror=alert(1)&gt;" in page
    assert page.count("<img ") == 4
    assert "t = 2: failed: " in text


def test_a_page_is_of_bounded_size(tmp_path: Path) -> None:
    shown = chains(tmp_path, "word " * 100_000)
    Image.effect_noise((2000, 1500), 90).convert("RGB").save(tmp_path / "original.png")
    assert len(shown._repr_html_()) < 200_000
    assert max(map(len, repr(shown).splitlines())) < 200


def test_an_image_that_is_none_is_refused(tmp_path: Path) -> None:
    shown = chains(tmp_path)
    (tmp_path / "original.png").write_text("no image")
    with pytest.raises(DataError):
        shown._repr_html_()

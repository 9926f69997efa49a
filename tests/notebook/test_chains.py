"""What chains show is a stranger's text and images: inert, and of bounded size."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest
from PIL import Image

from driftledger.benchmarks.score import Score
from driftledger.benchmarks.traces import Shot, Step, Trace
from driftledger.core.errors import DataError
from driftledger.core.types import Outcome
from driftledger.notebook import Chains, chain_steps
from tests.conftest import draw

HOSTILE = '"><img src=x onerror=alert(1)>&\x1b[31m\u202e'


SCORE = SimpleNamespace(keys={"model": "seer", "generator": "brush", "encoder": "eye"})


def chains(folder: Path, description: str = "A cat.", sample: str = "cat", error: str | None = None) -> Chains:
    """The chain of a sample whose second description fails, if there is an error."""
    shots = [Shot(draw(folder / f"{name}.png", number)) for number, name in enumerate(("original", "drawn"))]
    steps = [
        Step("describe 1", "model", {"prompt": "?"}, {"description": description}, column="t = 1"),
        Step("generate 1", "generator", {}, {"image": shots[1], "s(1)": 0.5}, column="t = 1"),
    ]
    if error is not None:
        steps.append(Step("describe 2", "model", {}, {"description": None}, Outcome.FAILED, error, column="t = 2"))
    trace = Trace(sample, "chain", {"image": shots[0]}, {}, Outcome.OK, steps, start="t = 0")
    return Chains(sample, pd.DataFrame(chain_steps(cast(Score, SCORE), trace)))


def test_a_row_per_step_with_pictures_in_the_page_itself(tmp_path: Path) -> None:
    shown = chains(tmp_path, error="no room")
    assert shown.table[["step", "similarity", "description", "outcome"]].fillna(0).to_numpy().tolist() == [
        ["t = 0", 0, "", "ok"],
        ["t = 1", 0.5, "A cat.", "ok"],
        ["t = 2", 0, "", "failed: no room"],
    ]
    assert repr(shown).startswith("cat\n")
    page = shown._repr_html_()
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/webp;base64,") for source in sources)
    assert str(tmp_path) not in page + repr(shown)
    assert re.findall(r"t = \d|0\.500|A cat|failed: no room", page) == [
        *("t = 0", "t = 1", "t = 2"),
        *("0.500", "A cat", "failed: no room"),
    ]


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    shown = chains(tmp_path, HOSTILE, HOSTILE, HOSTILE)
    page, text = shown._repr_html_(), repr(shown)
    assert not {"\x1b", "\u202e"} & {*page, *text}
    assert set(re.findall(r"<(\w+)", page)) == {"b", "table", "thead", "tbody", "tr", "th", "td", "img", "br"}
    assert "onerror=alert(1)&gt;" in page
    assert page.count("<img ") == 2


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

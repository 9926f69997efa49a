"""A first look in one process gives the numbers of a project, and says in a sentence what it cannot look at."""

import asyncio
import gc
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import driftledger
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.components.base import Model
from driftledger.core.errors import ConfigError, CoverageError, DataError, DriftledgerError, LedgerError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, Outcome, Reply
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.notebook import FirstLook, evaluate
from tests.conftest import Checkout, draw

HOSTILE = '<script>alert("1")</script>\x1b[31m'
EMBEDDED = {"model": "regions_medium", "generator": "painter", "encoder": "layout"}


class Saying(Model):
    """Says the same of everything."""

    provider: ClassVar[str] = "tests:Saying"
    version: ClassVar[str] = "1"
    text: str = "A red circle on a blue ground."
    outcome: Outcome = Outcome.OK
    released: ClassVar[list[str]] = []

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        failed = self.outcome is Outcome.FAILED
        return [Reply(self.text, self.outcome, error="no room\x1b" if failed else None) for _ in conversations]

    def release(self) -> None:
        self.released.append(self.text)


def folder_of(path: Path, count: int = 3) -> Path:
    for number in range(count):
        draw(path / f"{number}.png", number)
    return path


def look_at(images: Any, **how: Any) -> FirstLook:
    return evaluate(**(EMBEDDED | {"images": images, "iterations": 2} | how))


@pytest.mark.slow
def test_the_numbers_are_those_of_a_project(pristine: Checkout) -> None:
    """Images, names and seed as in the project give its similarities, to the bit."""
    folder = pristine.root / "reports/scores/regions_medium/genception/my_images/painter/layout"
    stored, rows = read_json(folder / SCORE, Score), read_jsonl(folder / ROWS, Row)
    look = look_at(pristine.root / "my_images")
    assert [row.unit for row in look.rows] == [row.unit for row in rows]
    for mine, row in zip(look.rows, rows, strict=True):
        assert {key: row.values[key] for key in mine.values} == mine.values
    shared = {key for key in stored.metrics if not key.endswith(("_low", "_high"))} & look.score.metrics.keys()
    assert {"gc_at_2", "similarity_at_1", "similarity_mean", "words"} <= shared
    assert {key: stored.metrics[key] for key in shared} == {key: look.score.metrics[key] for key in shared}
    assert look.gc.value == stored.metrics["gc_at_2"]
    assert stored.components["model"].fingerprint == look.score.components["model"].fingerprint
    assert stored.inputs.protocol == look.score.inputs.protocol
    assert look.score.groups["category"].keys() == {"round", "square"}


def test_a_table_a_mean_and_pictures(tmp_path: Path) -> None:
    look = driftledger.evaluate(**EMBEDDED, images=folder_of(tmp_path / "images"), iterations=2)
    table = look.table
    assert list(table.columns) == ["sample", "s(1)", "s(2)", "GC@2", "outcome"]
    assert table["sample"].tolist() == ["0", "1", "2"]
    assert np.allclose(table["GC@2"], driftledger.metrics.drift.gc_at(table[["s(1)", "s(2)"]].to_numpy(), 2))
    assert look.gc.value == pytest.approx(table["GC@2"].mean())
    assert look.gc.low <= look.gc.value <= look.gc.high
    assert repr(look).startswith(f"regions_medium · painter · layout: GC@2 {look.gc} over 3 of 3 images\n")
    page = look._repr_html_()
    assert page.count('src="data:image/webp;base64,') == 3
    assert look.chains().sample == table.loc[table["GC@2"].idxmin(), "sample"]
    chain = look.chains("1").table
    assert chain["step"].tolist() == ["t = 0", "t = 1", "t = 2"]
    assert chain["similarity"].tolist()[1:] == table.loc[1, ["s(1)", "s(2)"]].tolist()
    with pytest.raises(LedgerError, match=r"sample 'cat' is unknown; valid: 0, 1, 2"):
        look.chains("cat")


def test_images_may_be_files_or_pillows_or_any_source(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "images")
    files = sorted(folder.iterdir())
    by_folder = look_at(folder, name="mine").table
    by_files = look_at([files[0], str(files[1]), files[2]], name="mine").table
    by_source = look_at(ImageFolder(path=folder), name="mine").table
    pd.testing.assert_frame_equal(by_folder, by_files)
    pd.testing.assert_frame_equal(by_folder, by_source)
    opened = look_at([Image.open(file) for file in files], name="mine").table
    assert opened["sample"].tolist() == ["image_001", "image_002", "image_003"]
    named = (("other", "0_003", 7), ("other", "0", 8), ("more", "0", 9))
    alike = look_at([draw(tmp_path / place / f"{name}.png", colour) for place, name, colour in named]).table
    assert alike["sample"].tolist() == ["0", "0_003", "0_003_003"]


def test_components_may_be_given_as_they_are(tmp_path: Path) -> None:
    Saying.released.clear()
    look = look_at(folder_of(tmp_path), model=Saying(text=HOSTILE))
    assert look.score.model == "saying"
    assert Saying.released == [HOSTILE]
    page = look._repr_html_()
    assert "<script" not in page
    assert "\x1b" not in page + repr(look) + str(look.chains())
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;\\x1b[31m" in page
    assert look_at(folder_of(tmp_path), model=Saying).score.model == "saying"


def test_a_chain_that_ends_early_says_so(tmp_path: Path) -> None:
    class Tiring(Saying):
        def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
            ends = [each.subject is not None and each.subject == ("1", 2) for each in conversations]
            return [Reply("I can't.", Outcome.REFUSED) if end else Reply(self.text) for end in ends]

    look = look_at(folder_of(tmp_path), model=Tiring(batch_size=1))
    row = look.table.set_index("sample").loc["1"]
    assert row["outcome"] == "refused"
    assert np.isnan(row["s(2)"])
    assert np.isnan(row["GC@2"])
    assert not np.isnan(row["s(1)"])
    assert "over 2 of 3 images" in repr(look)
    assert "refused" in look.chains("1")._repr_html_()


def test_it_goes_where_an_event_loop_runs(tmp_path: Path) -> None:
    async def cell() -> FirstLook:
        return look_at(folder_of(tmp_path))

    assert len(asyncio.run(cell()).table) == 3


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, temporary = folder_of(tmp_path / "images"), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    look = look_at(images)
    assert [path.name[:12] for path in temporary.iterdir()] == ["driftledger-"]
    del look
    gc.collect()
    assert list(temporary.iterdir()) == []
    with pytest.raises(CoverageError):
        look_at(images, model=Saying(outcome=Outcome.FAILED))
    assert list(temporary.iterdir()) == []


def test_an_interruption_ends_it(tmp_path: Path) -> None:
    asked: list[int] = []

    class Slow(Saying):
        def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
            asked.append(len(conversations))
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
            return super().respond(conversations)

    with pytest.raises(KeyboardInterrupt):
        look_at(folder_of(tmp_path), model=Slow(batch_size=1))
    assert asked == [1]


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ({"model": "regions_fin"}, ConfigError, "model 'regions_fin' is unknown; did you mean 'regions_fine'"),
        ({"encoder": "tfidf"}, ConfigError, "the encoder tfidf has no image tower"),
        ({"generator": Saying()}, ConfigError, "tests:Saying is not a generator"),
        ({"model": 3}, ConfigError, "int is not a model"),
        ({"iterations": 0}, ConfigError, "evaluate: iterations: .* equal to 1"),
        ({"name": "My images"}, ConfigError, "name is 'My images'"),
        ({"images": "/nowhere"}, ConfigError, "'/nowhere' is missing"),
        ({"images": []}, ConfigError, "images is an empty list"),
        ({"images": ["/nowhere.png"]}, ConfigError, "'/nowhere.png' is missing"),
        ({"images": [__file__]}, DataError, "unsupported|not an image|cannot"),
        ({"model": Saying(outcome=Outcome.FAILED)}, CoverageError, r"only 0 of 3 .+0: failed at t=1"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    how: dict[str, Any], error: type[DriftledgerError], told: str, tmp_path: Path
) -> None:
    with pytest.raises((error, DataError), match=told) as raised:
        look_at(how.pop("images", None) if "images" in how else folder_of(tmp_path), **how)
    assert "\n" not in str(raised.value)

"""A first look in one process gives the numbers of a project, and says in a sentence what it cannot
look at."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from io import BytesIO
from types import SimpleNamespace
from typing import ClassVar, cast

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import driftledger
from driftledger.benchmarks.base.traces import Shot, Step, Trace
from driftledger.commands.evaluate import evaluate
from driftledger.components.base import Model
from driftledger.core.errors import (
    CoverageError,
    DataError,
    DriftledgerError,
    LedgerError,
)
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome, Result
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.notebook import Chains, chain_steps
from driftledger.reports.scores import selected_score
from driftledger.scoring.score import ROWS, SCORE, Row, Score
from tests.conftest import draw
from tests.support.by_hand import named
from tests.support.cases import cases, each_case
from tests.support.server import Server

HOSTILE = '<script>alert("1")</script>\x1b[31m'
EMBEDDED = {"models": "regions_medium", "generator": "painter", "encoder": "layout"}


class Saying(Model):
    """Says the same of everything."""

    provider: ClassVar[str] = "tests:Saying"
    version: ClassVar[str] = "1"
    text: str = "A red circle on a blue ground."
    outcome: Outcome = Outcome.OK
    released: ClassVar[list[str]] = []
    understood_by: tuple[str, ...] = ("painter", "layout")

    def respond(self, conversations):
        failed = self.outcome is Outcome.FAILED
        return [
            Result(self.text, self.outcome, error="no room\x1b" if failed else None)
            for _ in conversations
        ]

    def release(self):
        self.released.append(self.text)


def folder_of(path, count=3):
    for number in range(count):
        draw(path / f"{number}.png", number)
    return path


def look_at(images, **how):
    return evaluate(**(EMBEDDED | {"images": images, "iterations": 2} | how))


@pytest.mark.slow
def test_the_numbers_are_those_of_a_project(pristine):
    """Images, names and seed as in the project give its similarities, to the bit."""
    folder = (
        pristine.root
        / "reports/scores/regions_medium/genception/my_images/painter/layout"
    )
    stored, rows = read_json(folder / SCORE, Score), read_jsonl(folder / ROWS, Row)
    look = look_at(pristine.root / "my_images")
    [spec, keys] = look._stored(None)[0]
    mine, own = look._rows(spec, keys), selected_score(look._project, spec, keys)
    assert [row.unit for row in mine] == [row.unit for row in rows]
    for mine_row, row in zip(mine, rows, strict=True):
        assert {key: row.values[key] for key in mine_row.values} == mine_row.values
    ends = ("_low", "_high")  # a first look has fewer images
    shared = {key for key in named(stored) if not key.endswith(ends)} & named(
        own
    ).keys()
    assert {"gc_at_2", "similarity_at_1", "similarity_mean", "words"} <= shared
    assert {key: named(stored)[key] for key in shared} == {
        key: named(own)[key] for key in shared
    }
    assert stored.components["model"].fingerprint == own.components["model"].fingerprint
    assert stored.inputs.protocol == own.inputs.protocol
    assert {
        number.group for number in own.numbers if number.group_kind == "category"
    } == {
        "round",
        "square",
    }


def test_a_table_and_pictures_of_several_models(tmp_path):
    look = driftledger.evaluate(
        models=[
            "regions_medium",
            {"provider": "regions", "detail": "coarse"},
            Saying,
            Saying(text="A cat."),
        ],
        images=folder_of(tmp_path / "images"),
        iterations=2,
    )
    assert look.table.columns.tolist() == ["GC@2", "s(2)"]
    assert look.table.index.tolist() == [
        "regions_medium",
        "regions",
        "saying",
        "saying_2",
    ]
    rows = look.rows("genception")
    assert rows["unit"].tolist() == ["0", "1", "2"] * 4
    similarities = rows[["similarity_1", "similarity_2"]].to_numpy()
    assert np.allclose(rows["gc_2"], driftledger.metrics.drift.gc_at(similarities, 2))
    scores = look.scores().set_index(["model", "title"]).loc[("regions_medium", "GC@2")]
    assert scores.low <= scores.value <= scores.high
    assert f"{scores.value:.3f} [{scores.low:.3f}, {scores.high:.3f}]" in repr(look)
    assert (
        look.table.loc["regions_medium", "GC@2"]
        == scores.value
        == pytest.approx(rows["gc_2"][:3].mean())
    )
    assert "regions_medium: 3 of 3 in images are scored" in repr(look)
    page = look._repr_html_()
    assert page.count('src="data:image/webp;base64,') == 12
    assert look.chains().sample == rows["unit"][rows["gc_2"][:3].idxmin()]
    chain = look.chains("1").table
    assert chain["step"].tolist() == ["t = 0", "t = 1", "t = 2"] * 4
    assert chain["similarity"].tolist()[1:3] == similarities[1].tolist()
    with pytest.raises(LedgerError, match=r"no chain of sample 'cat'; nearest: "):
        look.chains("cat")
    with pytest.raises(LedgerError, match=r"dvc\.lock is missing"):
        look.audit("regions_medium/painter/layout")


def test_a_model_that_only_fails_leaves_the_others_their_scores(tmp_path):
    look = look_at(
        folder_of(tmp_path), models=[Saying(outcome=Outcome.FAILED), "regions_coarse"]
    )
    assert look.table.index.tolist() == ["regions_coarse"]


def test_any_benchmark(tmp_path):
    digits = {"provider": "digits", "support_per_label": 2, "test_per_label": 1}
    trac = evaluate(
        models="regions_coarse", benchmark="trac", images=digits, text_encoder="tfidf"
    )
    assert trac.table.columns.tolist() == ["top-1", "class mean"]
    scenes = {"provider": "scenes", "protocol": "mm_vet", "count": 13}
    told = evaluate(
        models=["random"],
        benchmark="mm_vet",
        questions=scenes,
        judge="rubric",
        gradings=1,
    )
    assert told.table.columns.tolist() == ["total grade"]
    assert "random (control): 13 of 13 in scenes are scored" in repr(told)
    yes = evaluate(
        "regions_fine", benchmark="mme", questions=scenes | {"protocol": "mme"}
    )
    assert "nan" not in repr(yes)  # of a score without an interval
    assert len(told.rows("mm_vet")) == len(told.rows("mm_vet")["unit"].unique()) > 5


def test_images_may_be_files_or_pillows_or_any_source(tmp_path):
    folder = folder_of(tmp_path / "images")
    files = sorted(folder.iterdir())
    by_folder = look_at(folder).rows("genception")
    by_files = look_at([files[0], str(files[1]), files[2]]).rows("genception")
    by_source = look_at(ImageFolder(path=folder)).rows("genception")
    pd.testing.assert_frame_equal(by_folder, by_files)
    pd.testing.assert_frame_equal(by_folder, by_source)
    opened = look_at([Image.open(file) for file in files]).rows("genception")
    assert opened["unit"].tolist() == ["image_001", "image_002", "image_003"]
    several = BytesIO()
    pages = [Image.open(file) for file in files]
    pages[0].save(several, "TIFF", save_all=True, append_images=pages[1:])
    seen = look_at([several.getvalue(), np.asarray(pages[1]), pages[2]])
    pd.testing.assert_frame_equal(seen.rows("genception"), opened)
    assert "only the first frame is read of 1 of 3 images: image_001" in repr(seen)
    named = (("other", "0_003", 7), ("other", "0", 8), ("more", "0", 9))
    alike = look_at(
        [
            draw(tmp_path / place / f"{name}.png", colour)
            for place, name, colour in named
        ]
    ).rows("genception")
    assert alike["unit"].tolist() == ["0", "0_003", "0_003_003"]


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    images, temporary = folder_of(tmp_path / "images"), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    look = look_at(images)
    assert [path.name[:12] for path in temporary.iterdir()] == ["driftledger-"]
    del look
    gc.collect()
    assert list(temporary.iterdir()) == []
    with pytest.raises(CoverageError):
        look_at(images, models=Saying(outcome=Outcome.FAILED))
    assert list(temporary.iterdir()) == []


def test_a_cell_that_runs_twice_pays_once(tmp_path, monkeypatch, capsys):
    """Calls are kept in the user's cache folder, in the one that the environment names, or in
    ``store``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRIFTLEDGER_STORE", raising=False)
    images = folder_of(tmp_path / "images")
    entry = {
        "provider": "openai",
        "model": "m",
        "api_key_env": None,
        "prices": {"input": 1.0, "output": 10.0},
    }
    with Server() as server:
        seer = entry | {
            "base_url": server.base_url,
            "understood_by": ["painter", "layout"],
        }

        def calls(**how):
            before = len(server.requests)
            repr(evaluate(seer, images, iterations=2, **how))
            return len(server.requests) - before, capsys.readouterr().err

        made, said = calls()
        assert made == 6
        assert re.search(
            r"driftledger: 6 calls of services to make, likely \d\.\d\d, at most 0\.\d\d dollars",
            said,
        )
        assert calls(seed=2)[0] == 3  # other drawings
        made, said = calls()
        assert (made, "to make" in said) == (0, False)
        assert (tmp_path / "cache/driftledger/calls/calls.db").is_file()
        monkeypatch.setenv("DRIFTLEDGER_STORE", str(tmp_path / "named"))
        assert [calls()[0] for _ in range(2)] == [6, 0]
        assert [calls(store=tmp_path / "given")[0] for _ in range(2)] == [6, 0]
        assert [calls(store=str(tmp_path / "cache/driftledger/calls"))[0]] == [0]


def test_two_processes_with_one_store_ask_once(tmp_path):
    images = folder_of(tmp_path / "images")
    with Server() as server:
        entry = {
            "provider": "openai",
            "model": "m",
            "base_url": server.base_url,
            "api_key_env": None,
        }
        entry |= {"understood_by": ["painter", "layout"]}
        given = f"{entry}, {str(images)!r}, iterations=1, store={str(tmp_path)!r}"
        code = f"import driftledger; driftledger.evaluate({given})"
        both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
        assert [each.wait(timeout=300) for each in both] == [0, 0]
        assert len(server.requests) == 3


def test_an_interruption_ends_it(tmp_path):
    asked: list[int] = []

    class Slow(Saying):
        def respond(self, conversations):
            asked.append(len(conversations))
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
            return super().respond(conversations)

    with pytest.raises(KeyboardInterrupt):
        look_at(folder_of(tmp_path), models=Slow(batch_size=1))
    assert asked == [1]


OBJECTS = {
    "A FUNCTION": driftledger.model(lambda prompt, images: "x"),
    "A MODEL": Saying(),
    "A TEXT": [__file__],
    "A MODEL THAT FAILS": Saying(outcome=Outcome.FAILED),
}


@each_case(cases(__file__, "wrong"))
def test_what_is_wrong_is_one_sentence(case, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    how = {"images": folder_of(tmp_path)}
    for name, value in case["how"].items():
        how[name] = OBJECTS.get(value, value) if isinstance(value, str) else value
    with pytest.raises(DriftledgerError, match=case["says"]) as raised:
        look_at(**how)
    assert type(raised.value).__name__ == case["error"]
    assert "\n" not in str(raised.value)


# What chains show is a stranger's text and images: inert, and of bounded size.


MARKUP = '"><img src=x onerror=alert(1)>&\x1b[31m\u202e'


CHAIN_SCORE = SimpleNamespace(
    keys={"model": "seer", "generator": "brush", "encoder": "eye"}
)


def chains(folder, description="A cat.", sample="cat", error=None):
    """The chain of a sample whose second description fails, if there is an error."""
    shots = [
        Shot(draw(folder / f"{name}.png", number))
        for number, name in enumerate(("original", "drawn"))
    ]
    steps = [
        Step(
            "describe 1",
            "model",
            {"prompt": "?"},
            {"description": description},
            column="t = 1",
        ),
        Step(
            "generate 1",
            "generator",
            {},
            {"image": shots[1], "s(1)": 0.5},
            column="t = 1",
        ),
    ]
    if error is not None:
        steps.append(
            Step(
                "describe 2",
                "model",
                {},
                {"description": None},
                Outcome.FAILED,
                error,
                column="t = 2",
            )
        )
    trace = Trace(
        sample, "chain", {"image": shots[0]}, {}, Outcome.OK, steps, start="t = 0"
    )
    return Chains(sample, pd.DataFrame(chain_steps(cast(Score, CHAIN_SCORE), trace)))


def test_a_row_per_step_with_pictures_in_the_page_itself(tmp_path):
    shown = chains(tmp_path, error="no room")
    assert shown.table[["step", "similarity", "description", "outcome"]].fillna(
        0
    ).to_numpy().tolist() == [
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


def test_hostile_text_is_shown_and_does_nothing(tmp_path):
    shown = chains(tmp_path, MARKUP, MARKUP, MARKUP)
    page, text = shown._repr_html_(), repr(shown)
    assert not {"\x1b", "\u202e"} & {*page, *text}
    assert set(re.findall(r"<(\w+)", page)) == {
        "b",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "img",
        "br",
    }
    assert "onerror=alert(1)&gt;" in page
    assert page.count("<img ") == 2


def test_an_image_that_is_none_is_refused(tmp_path):
    shown = chains(tmp_path)
    (tmp_path / "original.png").write_text("no image")
    with pytest.raises(DataError):
        shown._repr_html_()

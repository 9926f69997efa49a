"""A first look in one process gives the numbers of a project, and says in a sentence what it cannot
look at."""

import gc
import os
import re
import signal
import time
from io import BytesIO
from types import SimpleNamespace

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
    LedgerError,
)
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome, Result
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.notebook import Chains, chain_steps
from driftledger.reports.scores import selected_score
from driftledger.scoring.score import ROWS, SCORE, Row, Score
from tests.conftest import draw
from tests.sentence import refused
from tests.support.by_hand import named
from tests.support.cases import cases, each_case
from tests.support.forked import ended, fork
from tests.support.server import Server

EMBEDDED = {"models": "regions_medium", "generator": "painter", "encoder": "layout"}


class Saying(Model):
    """Says the same of everything."""

    provider = "tests:Saying"
    version = "1"
    text: str = "A red circle on a blue ground."
    outcome: Outcome = Outcome.OK
    understood_by: tuple[str, ...] = ("painter", "layout")

    def respond(self, conversations):
        error = "no room\x1b" if self.outcome is Outcome.FAILED else None
        return [Result(self.text, self.outcome, error=error)] * len(conversations)


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
    own = selected_score(look._project, spec, keys)
    for mine, row in zip(look._rows(spec, keys), rows, strict=True):
        assert mine.unit == row.unit
        assert row.values | mine.values == row.values
    theirs = named(stored)
    shared = set()
    for name, value in named(own).items():
        if name in theirs and not name.endswith(("_low", "_high")):  # of fewer images
            assert value == theirs[name]
            shared.add(name)
    assert {"gc_at_2", "similarity_at_1", "similarity_mean", "words"} <= shared
    assert stored.components["model"].fingerprint == own.components["model"].fingerprint
    assert stored.inputs.protocol == own.inputs.protocol
    categories = [row.group for row in own.numbers if row.group_kind == "category"]
    assert {*categories} == {"round", "square"}


def test_a_table_and_pictures_of_several_models(tmp_path):
    coarse = {"provider": "regions", "detail": "coarse"}
    look = driftledger.evaluate(
        models=["regions_medium", coarse, Saying, Saying(text="A cat.")],
        images=folder_of(tmp_path / "images"),
        iterations=2,
    )
    assert look.table.columns.tolist() == ["GC@2", "s(2)"]
    assert " ".join(look.table.index) == "regions_medium regions saying saying_2"
    rows = look.rows("genception")
    assert rows["unit"].tolist() == ["0", "1", "2"] * 4
    similarities = rows[["similarity_1", "similarity_2"]].to_numpy()
    assert np.allclose(rows["gc_2"], driftledger.metrics.drift.gc_at(similarities, 2))
    scores = look.scores().set_index(["model", "title"]).loc[("regions_medium", "GC@2")]
    assert scores.low <= scores.value <= scores.high
    assert f"{scores.value:.3f} [{scores.low:.3f}, {scores.high:.3f}]" in repr(look)
    assert look.table.loc["regions_medium", "GC@2"] == scores.value
    assert scores.value == pytest.approx(rows["gc_2"][:3].mean())
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
    vet = evaluate(
        "random", benchmark="mm_vet", questions=scenes, judge="rubric", gradings=1
    )
    assert vet.table.columns.tolist() == ["total grade"]
    assert "random (control): 13 of 13 in scenes are scored" in repr(vet)
    assert vet.rows("mm_vet")["unit"].is_unique
    assert len(vet.rows("mm_vet")) > 5
    scenes["protocol"] = "mme"
    mme = evaluate("regions_fine", benchmark="mme", questions=scenes)
    assert "nan" not in repr(mme)  # of a score without an interval


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
    names = enumerate(("other/0_003.png", "other/0.png", "more/0.png"))
    alike = look_at([draw(tmp_path / name, number) for number, name in names])
    assert alike.rows("genception")["unit"].tolist() == ["0", "0_003", "0_003_003"]


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


def seer(server):
    """The entry of a model that a server answers for."""
    return {
        "provider": "openai",
        "model": "m",
        "base_url": server.base_url,
        "api_key_env": None,
        "understood_by": ["painter", "layout"],
    }


def test_a_cell_that_runs_twice_pays_once(tmp_path, monkeypatch, capsys):
    """Calls are kept in the user's cache folder, in the one that the environment names, or in
    ``store``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRIFTLEDGER_STORE", raising=False)
    images = folder_of(tmp_path / "images")
    with Server() as server:
        model = seer(server) | {"prices": {"input": 1.0, "output": 10.0}}

        def calls(**how):
            before = len(server.requests)
            repr(evaluate(model, images, iterations=2, **how))
            return len(server.requests) - before

        assert calls() == 6
        assert re.search(
            r"driftledger: 6 calls of services to make, likely \d\.\d\d, at most 0\.\d\d dollars\n",
            capsys.readouterr().err,
        )
        assert calls(seed=2) == 3  # other drawings
        capsys.readouterr()
        assert calls() == 0
        assert "to make" not in capsys.readouterr().err
        assert (tmp_path / "cache/driftledger/calls/calls.db").is_file()
        monkeypatch.setenv("DRIFTLEDGER_STORE", str(tmp_path / "named"))
        assert [calls(), calls()] == [6, 0]
        del model["prices"]
        assert calls(seed=3) == 3
        unpriced = "at most 0.00 dollars without the 3 whose price is not known\n"
        assert unpriced in capsys.readouterr().err
        other = tmp_path / "given"
        assert [calls(store=other), calls(store=other)] == [6, 0]
        assert calls(store=str(tmp_path / "cache/driftledger/calls")) == 0


def test_two_processes_with_one_store_ask_once(tmp_path):
    images = folder_of(tmp_path / "images")
    with Server() as server:
        how = {"images": images, "iterations": 1, "store": tmp_path}
        both = [fork(lambda: evaluate(seer(server), **how)) for _ in range(2)]
        assert [*map(ended, both)] == [0, 0]
        assert len(server.requests) == 3


def test_an_interruption_ends_it(tmp_path):
    asked = []

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
    with refused(case):
        look_at(**how)


# What chains show is a stranger's text and images: inert, and of bounded size.


MARKUP = '"><img src=x onerror=alert(1)>&\x1b[31m\u202e'


SCORE_OF = SimpleNamespace(
    keys={"model": "seer", "generator": "brush", "encoder": "eye"}
)


def chains(folder, text="A cat.", sample="cat", error="no room"):
    """The chain of a sample whose second description fails."""
    original = Shot(draw(folder / "original.png", 0))
    drawn = {"image": Shot(draw(folder / "drawn.png", 1)), "s(1)": 0.5}
    failed = {"description": None}
    steps = [
        Step("describe 1", "model", {}, {"description": text}, column="t = 1"),
        Step("generate 1", "generator", {}, drawn, column="t = 1"),
        Step("describe 2", "model", {}, failed, Outcome.FAILED, error, column="t = 2"),
    ]
    trace = Trace(
        sample, "chain", {"image": original}, {}, Outcome.OK, steps, start="t = 0"
    )
    return Chains(sample, pd.DataFrame(chain_steps(SCORE_OF, trace)))


def test_a_row_per_step_with_pictures_in_the_page_itself(tmp_path):
    shown = chains(tmp_path)
    columns = shown.table[["step", "similarity", "description", "outcome"]]
    assert columns.fillna(0).to_numpy().tolist() == [
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
    texts = re.findall(r"t = \d|0\.500|A cat|failed: no room", page)
    assert ", ".join(texts) == "t = 0, t = 1, t = 2, 0.500, A cat, failed: no room"


def test_hostile_text_is_shown_and_does_nothing(tmp_path):
    shown = chains(tmp_path, MARKUP, MARKUP, MARKUP)
    page, text = shown._repr_html_(), repr(shown)
    assert not {"\x1b", "\u202e"} & {*page, *text}
    tags = sorted({*re.findall(r"<(\w+)", page)})
    assert " ".join(tags) == "b br img table tbody td th thead tr"
    assert "onerror=alert(1)&gt;" in page
    assert page.count("<img ") == 2


def test_an_image_that_is_none_is_refused(tmp_path):
    shown = chains(tmp_path)
    (tmp_path / "original.png").write_text("no image")
    with pytest.raises(DataError):
        shown._repr_html_()

"""Scorers of an app in MLflow have the numbers of a benchmark, pay once, and can be audited."""

import base64
import io
import json
from pathlib import Path
from typing import ClassVar

import mlflow
import numpy as np
import pytest
from mlflow import MlflowClient
from PIL import Image

import driftledger
from driftledger.commands.audit import audit
from driftledger.components.base import Encoder, Generator
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.types import Outcome, Result
from driftledger.mlflow import Distinctive, Fidelity, Redrawn
from driftledger.project.presets import OWN
from driftledger.project.project import Project
from tests.support.terminal import printed

COLOURS = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "orange": (255, 128, 0),
    "maroon": (128, 0, 0),
}
DRAWN: list[str] = []


class Brush(Generator):
    """Draws a plain image of the last word, and refuses what it has no colour for."""

    version: ClassVar[str] = "1"

    def generate(self, prompts, seeds):
        DRAWN.extend(prompts)
        return [self._drawn(prompt.split()[-1]) for prompt in prompts]

    def _drawn(self, word):
        if word not in COLOURS:
            return Result(outcome=Outcome.REFUSED, error=f"no {word}")
        return Result(image=Image.new("RGB", (32, 32), COLOURS[word]))


class Eye(Encoder):
    """Sees the mean colour, and reads the last word as one."""

    version: ClassVar[str] = "1"

    def encode_images(self, images):
        return np.float32([np.asarray(each).mean(axis=(0, 1)) for each in images])

    def encode_texts(self, texts):
        return np.float32([COLOURS[text.split()[-1]] for text in texts])


PARAMS = """
generators: { brush: { provider: "tests.tracking.test_scorers:Brush" } }
encoders: { eye: { provider: "tests.tracking.test_scorers:Eye" } }
"""
COSINE = 255 / np.hypot(255, 128)
"""Of red and orange."""
SAID = [
    # image, what the app says, redrawn, clip_s, distinctive among all colours
    ("red", "It is red", 1, 100, 1 / 2),  # maroon has the same direction
    ("green", "red", 0, 0, 0),
    ("orange", "red", COSINE, 100 * COSINE, 0),
    ("orange", "orange", 1, 100, 1),
    ("red", " ", 0, 0, 0),
]


@pytest.fixture
def images(tmp_path, monkeypatch) -> dict[str, str]:
    """A project in the working folder, with an image of each colour."""
    template = (OWN / "templates/params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(template + PARAMS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRIFTLEDGER_STORE", str(tmp_path / "calls"))
    DRAWN.clear()
    paths = {}
    for name, colour in COLOURS.items():
        paths[name] = str(tmp_path / f"{name}.png")
        Image.new("RGB", (32, 32), colour).save(paths[name])
    return paths


def scorers(images):
    among = [*images.values()]
    return [
        Redrawn("brush", "eye"),
        Fidelity("brush", "eye"),
        Distinctive("brush", "eye", among=among),
    ]


def values(scorers, image, text):
    feedbacks = []
    for scorer in scorers:
        feedbacks += scorer.run(inputs={"image": image}, outputs=text)
    return {each.name: each.value for each in feedbacks}


@pytest.mark.parametrize(("image", "text", "redrawn", "clip_s", "distinctive"), SAID)
def test_values_by_hand(image, text, redrawn, clip_s, distinctive, images):
    found = values(scorers(images), images[image], text)
    assert found == pytest.approx(
        {
            "redrawn": redrawn,
            "clip_s": clip_s,
            "clip_s_i": 100 * redrawn,
            "ssim": found["ssim"],
            "distinctive": distinctive,
        }
    )
    assert len(DRAWN) == bool(text.strip())
    assert values(
        [Distinctive(None, "eye", among=[images["red"]])], images["green"], "green"
    )


def test_values_are_those_of_the_benchmarks(images):
    @driftledger.model
    def seer(prompt, media):
        return "red" if media[0].getpixel((0, 0))[1] > 100 else "orange"

    how = {
        "images": [*images.values()],
        "generator": Brush(),
        "encoder": Eye(),
    }
    similarity = driftledger.evaluate(seer, iterations=1, **how).rows("genception")
    rows = driftledger.evaluate(seer, benchmark="fidelity", **how).rows("fidelity")
    both = [Redrawn("brush", "eye"), Fidelity("brush", "eye")]
    assert len(rows) == len(COLOURS)
    for (_, row), redrawn in zip(rows.iterrows(), similarity.similarity, strict=True):
        text = "red" if COLOURS[row.unit][1] > 100 else "orange"
        found = values(both, images[row.unit], text)
        assert found == {"redrawn": redrawn} | {
            key: row[key] for key in ("ssim", "clip_s", "clip_s_i")
        }


def test_a_refusal_and_a_failed_app_are_errors_and_no_numbers(images):
    def error(image, text):
        [found] = Redrawn("brush", "eye").run(inputs={"image": image}, outputs=text)
        assert found.value is None
        return found.error.error_code, found.error.error_message

    red = images["red"]
    assert error(red, "a cat") == ("refused", "no cat")
    [clip_s, *others] = Fidelity("brush", "eye").run(
        inputs={"image": red}, outputs={"description": "bright red"}
    )
    assert [clip_s.value, others[-1].value] == [100, 100]
    for image, text, sentence in (
        (red, None, "outputs are no text and have none under 'description'"),
        ("/nowhere.png", "red", "the image '/nowhere.png' is missing"),
        (3, "red", "inputs['image'] is int, not a path, bytes"),
        (b"no image", "red", "inputs['image'] is not an image"),
    ):
        assert sentence in error(image, text)[1]


def test_an_image_is_the_same_in_every_form(images):
    data = Path(images["orange"]).read_bytes()
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    for given in (Path(images["orange"]), data, url, Image.open(io.BytesIO(data))):
        found = values([Redrawn("brush", "eye")], given, "red")
        assert found["redrawn"] == pytest.approx(COSINE)
    assert len(DRAWN) == 1


def test_components_that_cannot_do_it_are_refused(images):
    for generator, encoder, sentence in (
        ("brush", "layout", "'layout' only works for models of regions"),
        ("brsh", "eye", "did you mean 'brush'"),
        (None, "layout", "'layout' reads no texts"),
        ("brush", "words", "'words' has no image tower"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            Redrawn(generator, encoder)


@pytest.mark.slow
def test_an_evaluation_in_mlflow_pays_once_and_is_audited(images, store, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    client = MlflowClient()
    experiment = client.create_experiment("app")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    rows = [
        {"inputs": {"image": images[image]}, "outputs": text}
        for image, text, *_ in (*SAID, ("red", "cat"))
    ]
    for _ in range(2):
        done = mlflow.genai.evaluate(data=rows, scorers=scorers(images)[::2])
        assert done.metrics["redrawn/mean"] == pytest.approx((2 + COSINE) / 5)
        assert done.metrics["distinctive/mean"] == pytest.approx(1.5 / 5)
        assert len(DRAWN) == 5

    traces = client.search_traces(locations=[experiment])
    assert len(traces) == 2 * len(rows)
    [refused] = [each for each in traces[0].info.assessments if each.error][:1]
    trace_id = traces[0].info.trace_id
    project = Project(Path.cwd())

    def answer(target, **how):
        return printed(
            audit(project, target, {}, **({"full": False, "as_json": False} | how))
        )

    brush = Redrawn("brush", "eye")._metadata
    shown = answer(refused.assessment_id)
    assert f"brush@{brush['generator_version'][:8]}, of tests.tracking" in shown
    assert "refused: no cat" in shown
    assert (
        f"driftledger audit --generator brush@{brush['generator_version'][:8]};"
        in shown
    )
    parsed = json.loads(answer(trace_id, as_json=True))["assessments"]
    assert {each["name"] for each in parsed} == {"redrawn", "distinctive"}
    assert parsed[0]["components"]["encoder"]["fingerprint"] == brush["encoder_version"]

    card = json.loads(brush["generator_card"]) | {"name": "$(id) [bold]\x1b[31m"}
    for change, sentence in (
        ({}, None),
        ({"version": "2"}, "is not that of the settings beside it"),
        ({"fingerprint": 3}, "cannot be read"),
    ):
        hostile = brush | {"generator_card": json.dumps(card | change)}
        made = mlflow.log_feedback(
            trace_id=trace_id, name="<b>[/]\x1b", value="x\n", metadata=hostile
        )
        if sentence:
            with pytest.raises(LedgerError, match=sentence):
                answer(made.assessment_id)
            continue
        shown = answer(made.assessment_id)
        assert "\x1b" not in shown
        assert "--generator '$(id) [bold]\\x1b[31m@" in shown
        assert "<b>[/]" in shown
    with pytest.raises(LedgerError, match="no assessment by a scorer of driftledger's"):
        answer(f"a-{'0' * 32}")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(LedgerError, match="or add --trust"):
        answer(trace_id)

"""Scorers of an app in MLflow have the numbers of a benchmark, pay once, and can be audited."""

import json
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import mlflow
import numpy as np
import pytest
import yaml
from mlflow import MlflowClient
from PIL import Image

import driftledger
from driftledger.commands.audit import audit
from driftledger.components.base import Encoder, Generator
from driftledger.core.errors import ConfigError, DataError, LedgerError
from driftledger.core.types import Outcome, Result
from driftledger.mlflow import Distinctive, Fidelity, Redrawn
from driftledger.project.presets import OWN
from driftledger.project.project import Project

COLOURS = {"red": (255, 0, 0), "lime": (0, 255, 0), "gold": (255, 128, 0)}
COLOURS["maroon"] = (128, 0, 0)
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


PARTS = ("brush", "eye")
COSINE = 255 / np.hypot(255, 128)
"""Of red and gold."""
SAID = [
    # image, text, redrawn and clip_s / 100, distinctive among all colours
    ("red", "It is red", 1, 1 / 2),  # maroon has the same direction
    ("lime", "red", 0, 0),
    ("gold", "red", COSINE, 0),
    ("gold", "gold", 1, 1),
    ("red", " ", 0, 0),
]


@pytest.fixture
def images(tmp_path, monkeypatch):
    """A project in the working folder, with an image of each colour."""
    settings = yaml.safe_load((OWN / "templates/params.yaml").read_text("utf-8"))
    settings["run"]["models"] = ["blind"]
    for kind, provider in ("generators", "Brush"), ("encoders", "Eye"):
        settings[kind] = {provider.lower(): {"provider": f"{__name__}:{provider}"}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    DRAWN.clear()
    for name, colour in COLOURS.items():
        Image.new("RGB", (32, 32), colour).save(f"{name}.png")
    return {name: f"{name}.png" for name in COLOURS}


def values(image, text, *scorers):
    scorers = scorers or [Fidelity(*PARTS, metric=metric) for metric in METRICS]
    found = [each.run(inputs={"image": image}, outputs=text) for each in scorers]
    return {each.name: each.value for each in found}


METRICS = ("clip_s", "clip_s_i", "ssim")


@pytest.mark.parametrize(("image", "text", "redrawn", "distinctive"), SAID)
def test_values_by_hand(image, text, redrawn, distinctive, images):
    scorers = Redrawn(*PARTS), Distinctive(*PARTS, among=[*images.values()])
    found = values(images[image], text, *scorers)
    assert found == pytest.approx({"redrawn": redrawn, "distinctive": distinctive})
    assert values(images[image], text)["clip_s"] == pytest.approx(100 * redrawn)
    assert len(DRAWN) == bool(text.strip())


def test_values_are_those_of_the_benchmarks(images):
    @driftledger.model
    def seer(prompt, media):
        return "red" if media[0].getpixel((0, 0))[1] > 100 else "gold"

    how = {"images": [*images.values()], "generator": Brush(), "encoder": Eye()}
    chains = driftledger.evaluate(seer, iterations=1, **how).rows("genception")
    rows = driftledger.evaluate(seer, benchmark="fidelity", **how).rows("fidelity")
    assert len(rows) == len(COLOURS)
    for (_, row), similarity in zip(rows.iterrows(), chains.similarity, strict=True):
        text = "red" if COLOURS[row.unit][1] > 100 else "gold"
        assert values(images[row.unit], text, Redrawn(*PARTS)) == {
            "redrawn": similarity
        }
        assert values(images[row.unit], text) == {key: row[key] for key in METRICS}


def test_an_image_is_the_same_in_every_form(images):
    data = Path(images["gold"]).read_bytes()
    for given in (Path(images["gold"]), data, Image.open(BytesIO(data))):
        found = values(given, {"description": "red"}, Redrawn(*PARTS))
        assert found["redrawn"] == pytest.approx(COSINE)
    assert len(DRAWN) == 1


def test_what_cannot_be_scored_has_a_sentence(images):
    for image, text, sentence in (
        ("red.png", None, "outputs are no text and have none under 'description'"),
        (b"no image", "red", r"inputs\['image'\] is not an image"),
        (3, "red", r"inputs\['image'\] cannot be decoded"),
    ):
        with pytest.raises(DataError, match=sentence):
            values(image, text)
    for generator, encoder, sentence in (
        ("brush", "layout", "'layout' only works for models of regions"),
        ("brsh", "eye", "did you mean 'brush'"),
        ("brush", "words", "'words' is not for images"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            Redrawn(generator, encoder)


@pytest.mark.slow
def test_an_evaluation_in_mlflow_pays_once_and_is_audited(images, store, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    experiment = MlflowClient().create_experiment("app")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    rows = []
    for image, text, *_ in (*SAID, ("red", "cat", 0, 0)):
        rows.append({"inputs": {"image": images[image]}, "outputs": text})
    scorers = [Redrawn(*PARTS), Distinctive(*PARTS, among=[*images.values()])]
    for _ in range(2):
        done = mlflow.genai.evaluate(data=rows, scorers=scorers)
        assert done.metrics["redrawn/mean"] == pytest.approx((2 + COSINE) / 5)
        assert done.metrics["distinctive/mean"] == pytest.approx(1.5 / 5)
        assert len(DRAWN) == 5

    def answer(target):
        shown = audit(Project(Path()), target, {}, full=False, as_json=False)
        return json.loads(shown)["assessments"]

    fingerprint = Redrawn(*PARTS)._generator.fingerprint
    trace, *_ = MlflowClient().search_traces(locations=[experiment])
    refused = answer(trace.info.trace_id)
    assert {each["assessment_name"] for each in refused} == {"redrawn", "distinctive"}
    for each in refused:
        assert answer(each["assessment_id"]) == [each]
        assert each["feedback"]["error"]["error_message"] == "no cat"
        assert each["metadata"]["generator"] == "brush"
        assert each["metadata"]["generator_fingerprint"] == fingerprint
    for missing in ("a-", "tr-"):
        with pytest.raises(LedgerError, match="have no assessment at"):
            answer(missing + "0" * 32)

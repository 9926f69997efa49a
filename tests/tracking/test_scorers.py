"""Scorers of an app in MLflow have the numbers of a benchmark, pay once, and can be audited."""

import json
from pathlib import Path

import mlflow
import numpy as np
import pytest
import yaml
from mlflow import MlflowClient
from PIL import Image

import driftledger
from driftledger.commands.audit import audit
from driftledger.components.base import Generator
from driftledger.core.errors import ConfigError, DataError, LedgerError
from driftledger.core.types import Outcome, Result
from driftledger.mlflow import Distinctive, Fidelity, Redrawn
from driftledger.project.presets import OWN
from driftledger.project.project import Project
from tests.support.fakes import TableEncoder

COLOURS = {"red": (4, 0), "lime": (0, 4), "gold": (4, 2), "maroon": (2, 0)}
"""Red and green, of 64: what the encoder sees."""
DRAWN: list[str] = []
PARTS = ("brush", "eye")
METRICS = ("clip_s", "clip_s_i", "ssim")
COSINE = 4 / np.hypot(4, 2)
"""Of red and gold."""
SAID = [
    # image, text, redrawn and clip_s / 100, distinctive among all colours
    ("red", "It is red", 1, 1 / 2),  # maroon has the same direction
    ("lime", "red", 0, 0),
    ("gold", "red", COSINE, 0),
    ("gold", "gold", 1, 1),
    ("red", " ", 0, 0),
]


def plain(name):
    red, green = COLOURS[name]
    return Image.new("RGB", (32, 32), (60 * red, 60 * green, 0))


class Brush(Generator):
    """Draws a plain image of the last word, and refuses a cat."""

    version = "1"

    def generate(self, prompts, seeds):
        DRAWN.extend(prompts)
        [word] = {prompt.split()[-1] for prompt in prompts}
        if word == "cat":
            return [Result(outcome=Outcome.REFUSED, error="no cat") for _ in prompts]
        return [Result(image=plain(word)) for _ in prompts]


class Eye(TableEncoder):
    """Reads the last word as a colour."""

    def encode_texts(self, texts):
        return np.float32([COLOURS[text.split()[-1]] for text in texts])


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Images in a project in the working folder, one of each colour."""
    settings = yaml.safe_load((OWN / "templates/params.yaml").read_text("utf-8"))
    settings["run"]["models"] = ["blind"]
    settings["generators"] = {"brush": {"provider": f"{__name__}:Brush"}}
    settings["encoders"] = {"eye": {"provider": f"{__name__}:Eye"}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    monkeypatch.chdir(tmp_path)
    DRAWN.clear()
    for name in COLOURS:
        plain(name).save(f"{name}.png")
    return [f"{name}.png" for name in COLOURS]


def values(image, text, scorers):
    found = [each.run(inputs={"image": image}, outputs=text) for each in scorers]
    return {each.name: each.value for each in found}


@pytest.mark.parametrize(("image", "text", "redrawn", "distinctive"), SAID)
def test_values_by_hand(image, text, redrawn, distinctive, images):
    path = Path(f"{image}.png")
    scorers = Redrawn(*PARTS), Distinctive(*PARTS, among=images)
    for given in (str(path), path, path.read_bytes(), Image.open(path)):
        found = values(given, {"description": text}, scorers)
        assert found == pytest.approx({"redrawn": redrawn, "distinctive": distinctive})
    assert len(DRAWN) == bool(text.strip())


def test_values_are_those_of_the_benchmarks(images):
    @driftledger.model
    def seer(prompt, media):
        return "gold"

    how = {"images": images, "generator": Brush(), "encoder": Eye()}
    chains = driftledger.evaluate(seer, iterations=1, **how).rows("genception")
    rows = driftledger.evaluate(seer, benchmark="fidelity", **how).rows("fidelity")
    scorers = [Redrawn(*PARTS)]
    scorers += [Fidelity(*PARTS, metric=metric) for metric in METRICS]
    assert len(rows) == len(COLOURS)
    for (_, row), similarity in zip(rows.iterrows(), chains.similarity, strict=True):
        same = {metric: row[metric] for metric in METRICS}
        found = values(f"{row.unit}.png", "gold", scorers)
        assert found == {"redrawn": similarity, **same}


def test_what_cannot_be_scored_has_a_sentence(images):
    for image, text, sentence in (
        ("red.png", None, "outputs are no text and have none under 'description'"),
        (3, "red", r"inputs\['image'\] cannot be decoded"),
    ):
        with pytest.raises(DataError, match=sentence):
            values(image, text, [Redrawn(*PARTS)])
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
    for image, text, *_ in (*SAID, ("red", "cat")):
        rows.append({"inputs": {"image": f"{image}.png"}, "outputs": text})
    scorers = [Redrawn(*PARTS), Distinctive(*PARTS, among=images)]
    for _ in range(2):
        metrics = mlflow.genai.evaluate(data=rows, scorers=scorers).metrics
        expected = {"redrawn/mean": (2 + COSINE) / 5, "distinctive/mean": 1.5 / 5}
        assert metrics == pytest.approx(expected)
        assert len(DRAWN) == 5

    def answer(target):
        shown = audit(Project(Path()), target, {}, full=False, as_json=False)
        return json.loads(shown)["assessments"]

    trace = MlflowClient().search_traces(locations=[experiment])[0].info.trace_id
    refused = answer(trace)
    assert {each["assessment_name"] for each in refused} == {"redrawn", "distinctive"}
    for each in refused:
        assert answer(each["assessment_id"]) == [each]
        assert each["feedback"]["error"]["error_message"] == "no cat"
        assert each["metadata"]["generator"] == "brush"
        assert each["metadata"]["generator_fingerprint"] == Brush().fingerprint
    for missing in ("a-", "tr-"):
        with pytest.raises(LedgerError, match="have no assessment at"):
            answer(missing + "0" * 32)

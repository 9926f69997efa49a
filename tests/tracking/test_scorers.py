"""Scorers of an app in MLflow have the numbers of a benchmark, pay once, and can be audited."""

import json
import os
from base64 import b64encode
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import mlflow
import numpy as np
import pytest
from mlflow import MlflowClient
from PIL import Image

import driftledger
from driftledger.commands.audit import audit
from driftledger.components.base import Generator
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.types import Outcome, Result
from driftledger.mlflow import Distinctive, Fidelity, Redrawn
from driftledger.project.presets import OWN
from driftledger.project.project import Project
from tests.support.cases import cases, each_case
from tests.support.fakes import TableEncoder
from tests.support.fakes.weights import HeldEncoder, is_gone

COLOURS = {"red": (4, 0), "lime": (0, 4), "gold": (4, 2), "maroon": (2, 0)}
"""Red and green, of 64: what the encoder sees."""
DRAWN: list[str] = []
PARTS = ("brush", "eye")
ENTRIES = """
generators:
  brush: {provider: "tests.tracking.test_scorers:Brush"}
  held: {provider: "tests.tracking.test_scorers:HeldBrush"}
encoders: {eye: {provider: "tests.tracking.test_scorers:Eye"}}
"""
METRICS = ("clip_s", "clip_s_i", "ssim")


def plain(name):
    red, green = COLOURS[name]
    return Image.new("RGB", (32, 32), (60 * red, 60 * green, 0))


class Brush(Generator):
    """Draws a plain image of the last word, and refuses a cat."""

    version = "1"

    def generate(self, prompts, seeds):
        DRAWN.extend(prompts)
        word = prompts[0].split()[-1]
        if word in COLOURS:
            return [Result(image=plain(word))] * len(prompts)
        return [Result(outcome=Outcome.REFUSED, error=f"no {word}")]


class HeldBrush(CheckpointComponent, Brush):
    """The same, as one with weights."""

    libraries = ()
    path: str = "."
    device: str = "cpu"

    def load(self, source):
        raise NotImplementedError


class Eye(TableEncoder):
    """Reads the last word as a colour."""

    def encode_texts(self, texts):
        return np.float32([COLOURS[text.split()[-1]] for text in texts])


class HeldEye(HeldEncoder):
    """Sees in a process of its own, which it names in a file."""

    def encode_images(self, images):
        Path("process").write_text(str(os.getpid()))
        return super().encode_images(images)


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Images in a project in the working folder, one of each colour."""
    template = (OWN / "templates/params.yaml").read_text(encoding="utf-8")
    text = template.replace("models: []", "models: [blind]") + ENTRIES
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    DRAWN.clear()
    for name in COLOURS:
        plain(name).save(f"{name}.png")
    return [f"{name}.png" for name in COLOURS]


def values(image, text, scorers):
    found = [scorer.run(inputs={"image": image}, outputs=text) for scorer in scorers]
    return {feedback.name: feedback.value for feedback in found}


@each_case(cases(__file__, "scorers"))
def test_values_by_hand(case, images):
    path = Path(f"{case['image']}.png")
    scorers = Redrawn(*PARTS), Distinctive(*PARTS, among=images)
    expected = pytest.approx(case["values"], abs=1e-6)
    data = path.read_bytes()
    encoded = b64encode(data).decode()
    texts = (str(path), encoded, f"data:image/png;base64,{encoded}")
    array = np.asarray(Image.open(path))
    for image in (*texts, path, data, bytearray(data), Image.open(path), array):
        assert values(image, {"description": case["text"]}, scorers) == expected
    completion = {"choices": [{"message": {"content": case["text"]}}]}
    for outputs in (completion, SimpleNamespace(model_dump=lambda: completion)):
        found = [scorer(inputs={"image": data}, outputs=outputs) for scorer in scorers]
        assert {feedback.name: feedback.value for feedback in found} == expected
    assert len(DRAWN) == case["drawn"]


def test_an_edited_params_yaml_is_heeded(images):
    before = Redrawn(*PARTS)._project
    assert Redrawn(*PARTS)._project is before
    text = Path("params.yaml").read_text(encoding="utf-8")
    Path("params.yaml").write_text(text + "\n", encoding="utf-8")
    assert Redrawn(*PARTS)._project is not before


@driftledger.model
def seer(prompt, media):
    return "gold"


def test_values_are_those_of_the_benchmarks(images):
    ask = partial(driftledger.evaluate, seer, images, generator=Brush(), encoder=Eye())
    chains = ask(iterations=1).rows("genception").set_index("unit")
    rows = ask(benchmark="fidelity").rows("fidelity").set_index("unit")
    rows["redrawn"] = chains.similarity
    scorers = [Fidelity(*PARTS, metric=metric) for metric in METRICS]
    scorers.append(Redrawn(*PARTS))
    assert set(rows.index) == COLOURS.keys()
    for name in COLOURS:
        for metric, value in values(f"{name}.png", "gold", scorers).items():
            assert value == rows[metric][name]


@each_case(cases(__file__, "refused_scorers"))
def test_what_cannot_be_scored_has_a_sentence(case, images):
    key = case.get("key", "image")
    with pytest.raises(DriftledgerError, match=case["error"]):
        values(case["image"], case["text"], [Redrawn(*case["parts"], image=key)])


def test_an_evaluation_gives_the_memory_of_its_encoder_back(images):
    Path("weights").mkdir()
    Path("weights/model.safetensors").touch()
    encoder = HeldEye(path="weights")
    driftledger.evaluate(seer, images, generator=Brush(), encoder=encoder, iterations=1)
    process = int(Path("process").read_text())
    assert process != os.getpid()
    assert is_gone(process)


def test_weights_stay_loaded_in_the_process_of_the_app(images):
    assert values("gold.png", "gold", [Redrawn("held", "eye")]) == {"redrawn": 1}
    assert len(DRAWN) == 1


@pytest.mark.slow
def test_an_evaluation_in_mlflow_pays_once_and_is_audited(images, store, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    experiment = MlflowClient().create_experiment("app")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    texts = ("maroon", "cat", "lime")
    rows = [{"inputs": {"image": "gold.png"}, "outputs": text} for text in texts]
    scorers = [Redrawn(*PARTS), Distinctive(*PARTS, among=images)]
    for _ in range(2):
        done = mlflow.genai.evaluate(data=rows, scorers=scorers)
        assert done.metrics["redrawn/mean"] == pytest.approx(3 / np.hypot(4, 2))
        assert len(DRAWN) == len(rows)

    ask = partial(audit, Project(Path()), versions={}, full=False, as_json=True)
    traces = done.result_df.set_index("response").trace_id
    found, other = json.loads(ask(traces["cat"]))["assessments"]
    assert other["metadata"]["call"] == found["metadata"]["call"]
    assert found["feedback"]["error"]["error_message"] == "no cat"
    assert found["metadata"]["generator_fingerprint"] == Brush().fingerprint
    assert json.loads(ask(found["assessment_id"])) == {"assessments": [found]}
    with pytest.raises(LedgerError, match="have no assessment at"):
        ask("a-" + "0" * 32)

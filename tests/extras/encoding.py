"""What the tests of encoders with weights share: tiny checkpoints, inputs, and how features are
compared.

Heavy libraries are imported by what uses them: the other tests of this folder run where there are
    none.
"""

import json
import logging
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from driftledger.core.errors import ConfigError

BUILDS = {
    "open_clip": "openclip.build_open_clip",
    "sentence": "encoders.build_sentence_transformer",
    "sentence_clip": "encoders.build_sentence_clip",
    "sentence_qwen": "encoders.build_sentence_qwen",
    "inception": "inception.build_inception",
}
"""Checkpoint → the function of ``tests.support.checkpoints`` that makes it; the others are cases of
``encoders.build``."""

TEXTS = ["a red cat", "the small house on the river", "blue", ""]
LONG = "red " * 200
SIZES = [(400, 310), (299, 299), (60, 90), (500, 20)]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Make a checkpoint, once, to look at only; torch is left with one thread."""
    root, made = tmp_path_factory.mktemp("checkpoints"), {}

    def checkpoint(name):
        if name not in made:
            import_module("torch").set_num_threads(1)
            place = BUILDS.get(name, "encoders.build")
            module, _, function = place.partition(".")
            build = getattr(
                import_module(f"tests.support.checkpoints.{module}"), function
            )
            more = () if name in BUILDS else (name,)
            made[name] = build(root / name, *more)
        return made[name]

    return checkpoint


@pytest.fixture
def copied(built, tmp_path):
    """Make a copy of a checkpoint, to change."""
    return lambda name: Path(shutil.copytree(built(name), tmp_path / name))


@pytest.fixture(scope="session")
def images():
    """Patches of random colours, which look different from afar too."""
    colours = np.random.default_rng(0).integers(
        0, 256, (len(SIZES), 12, 12, 3), dtype=np.uint8
    )
    return [
        Image.fromarray(each).resize(size, Image.Resampling.NEAREST)
        for each, size in zip(colours, SIZES, strict=True)
    ]


@pytest.fixture
def said(caplog):
    """What transformers logs, which it keeps from other loggers."""
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def tiny(kind, folder, **settings):
    """An encoder of this class, on the CPU."""
    return kind.model_validate({"path": str(folder), "device": "cpu"} | settings)


def relative(one, other):
    """The largest difference, as a part of the largest value."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def closest(features):
    """The largest cosine between two rows."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    return float((unit @ unit.T - 2 * np.eye(len(unit))).max())


def refused(encoder, match):
    """Assert that the checkpoint is refused in one sentence that says ``match``."""
    with pytest.raises(ConfigError, match=match) as caught:
        _ = (
            encoder.encode_texts(["a"])
            if encoder.reads
            else encoder.encode_images([Image.new("RGB", (9, 9))])
        )
    assert "\n" not in str(caught.value)


def change_json(file, change):
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")

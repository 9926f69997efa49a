import json
import math
from collections.abc import Callable
from importlib import metadata
from typing import Any, ClassVar

import pytest
from pydantic import Field

from driftledger.components.base import Component, Encoder
from driftledger.core import images
from driftledger.core.canonical import sha256_of
from driftledger.core.code_digest import code_digest
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.generators.painter import Painter
from tests.support.fakes import EchoModel


class Weighted(EchoModel):
    """An echo with weights, and with a setting that has an order of its own."""

    weights: str = "c0ffee"
    scale: float | None = None
    options: dict[str, int] = Field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        return {"commit": self.weights}


class NextVersion(Weighted):
    version: ClassVar[str] = "2"


class OtherProvider(Weighted):
    provider: ClassVar[str] = "other"


class OtherWeights(Weighted):
    def identity(self) -> dict[str, Any]:
        return {"commit": "decaf"}


def test_a_fingerprint_is_the_hash_of_the_spec_as_json() -> None:
    painter = Painter(longest_side=64)
    assert painter.spec == {
        "provider": "painter",
        "version": "1",
        "settings": {"batch_size": 16, "longest_side": 64},
        "identity": {
            "encoding": images.ENCODING,
            "pillow": metadata.version("pillow"),
            "code": code_digest("driftledger_demo.generators.painter"),
        },
    }
    assert painter.fingerprint == sha256_of(json.loads(json.dumps(painter.spec)))
    assert len(painter.fingerprint) == 64


@pytest.mark.parametrize(
    "other",
    [
        NextVersion(),
        OtherProvider(),
        OtherWeights(),
        Weighted(refuses=1),
        Weighted(batch_size=17),
        Weighted(options={"a": 1}),
        Weighted(weights="decaf"),
    ],
    ids=["version", "provider", "identity", "setting", "batch size", "nested setting", "weights"],
)
def test_whatever_can_change_the_output_changes_the_fingerprint(other: Component) -> None:
    assert other.fingerprint != Weighted().fingerprint


@pytest.mark.parametrize("scale", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Weighted(scale=scale)


@pytest.mark.parametrize("method", [Encoder.encode_images, Encoder.encode_texts])
def test_an_encoder_says_which_tower_it_lacks(method: Callable[..., Any]) -> None:
    class Towerless(Encoder):
        provider: ClassVar[str] = "towerless"

    with pytest.raises(NotImplementedError, match=r"'towerless' has no (image|text) tower"):
        method(Towerless(), [])
    with pytest.raises(NotImplementedError, match="'layout' has no text tower"):
        LayoutEncoder().encode_texts(["a"])

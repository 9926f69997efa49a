"""Components that cost nothing, and what they give, as a spool and the call store keep it."""

from typing import Any

from PIL import Image

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.core.canonical import sha256_of
from driftledger.core.images import png_bytes
from driftledger.core.types import Outcome

SPEC: dict[str, Any] = {"provider": "seer", "version": "1", "settings": {}, "identity": {}}


def key(text: str, spec: dict[str, Any] = SPEC, **parts: Any) -> CallKey:
    """The key of asking a component ``text``."""
    plain: dict[str, Any] = {"role": "describe", "images": (), "seed": None}
    return CallKey(sha256_of(spec), input=text, component=spec, **plain | parts)


def finished(call: CallKey, text: str = "an answer", outcome: Outcome = Outcome.OK) -> Finished:
    """A call that was answered."""
    return Finished(call, Context("photos", "coffee", 1), Result(outcome, text=text), None, Cost(0.5, 3, 4))


def drawn(call: CallKey, colour: str = "red") -> Finished:
    """A call that gave an image."""
    png = png_bytes(Image.new("RGB", (4, 3), colour))
    return Finished(call, Context("photos", "coffee", 1), Result(Outcome.OK), png, Cost(0.25))

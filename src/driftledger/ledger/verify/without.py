"""What can be compared of a score where an encoder, or a file of the user's, is not at hand: all that needs none."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from PIL import Image

from driftledger.benchmarks.base import NEEDED_FOR, Benchmark, Input, Metric
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, Reading
from driftledger.ledger.verify.values import Place


class StandIn(Encoder):
    """In the place of an encoder that is not at hand: everything looks the same."""

    provider: ClassVar[str] = "stand_in"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_stand_in"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.ones((len(images), 1), dtype=np.float32)


class ReadingStandIn(StandIn):
    """In the place of a text encoder."""

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return np.ones((len(texts), 1), dtype=np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[Reading]:
        return [Reading(0, 0) for _ in texts]


def depends_on(spec: Benchmark, missing: frozenset[Input]) -> Callable[[Place], bool]:
    """Whether a value of a score, or of a row beside it, depends on something that is missing; what no table of the
    benchmark tells of may."""

    def needed(metrics: Sequence[Metric | None]) -> bool:
        return not metrics or any(metric is None or metric.needs & missing for metric in metrics)

    def depends(place: Place) -> bool:
        match place:
            case ("metrics", key) | ("groups", _, _, key):
                return needed([spec.metric(key)])
            case ("curves", name, *_):
                return needed([spec.of_curve(name)])
            case ("values", key, *_):
                return needed([metric for metric in spec.metrics if metric.row == key])
            case ("components", role, *_):
                return NEEDED_FOR[role] <= missing
            case ("details" | "flags" | "absent" | "extra", *_):
                return True
        return False

    return depends if missing else lambda place: False

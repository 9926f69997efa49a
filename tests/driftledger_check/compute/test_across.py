"""Images and texts by one encoder that sees and reads, as a CLIP does: the checker's cosines are driftledger's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.cycles.measure import SAID, SHOWN, across, cycle_metrics
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.core.types import ImageFile, Outcome
from driftledger.core.types import Sample as Given
from driftledger_check.compute.chains import Chains
from driftledger_check.compute.cycles import cycle_metrics as checked
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.genception import _across
from driftledger_check.compute.given import Sample
from driftledger_check.compute.intervals import Intervals
from driftledger_check.files import Folder, ScoreFiles, Vector
from tests.support.fakes import LetterEncoder

ITERATIONS = 3
COLOURS = {
    **{"one.png": (3, 4, 0), "two.png": (0, 9, 0), "three.png": (5, 5, 0), "four.png": (7, 1, 0)},
    **{"1.png": (0, 5, 0), "2.png": (4, 3, 0), "3.png": (8, 1, 0), "4.png": (2, 2, 0), "5.png": (1, 6, 0)},
}
SAMPLES = {"one": "one.png", "two": "two.png", "three": "three.png", "four": "four.png"}
TOLD: list[tuple[str, int, str, str | None, str | None]] = [
    *(("one", 1, "ok", "aaabbbb", "1.png"), ("one", 2, "ok", "aaaa bbb", "2.png"), ("one", 3, "ok", "a", "4.png")),
    *(("two", 1, "ok", "bbba", "3.png"), ("two", 2, "refused", "aaaa", None)),
    ("three", 1, "failed", None, None),
    *(("four", 1, "ok", "aab", "5.png"), ("four", 2, "ok", "ab", "1.png"), ("four", 3, "ok", "bb", "2.png")),
]
"""Sample, t, outcome, description, image."""


@dataclass(frozen=True)
class Images:
    """A folder of a bundle."""

    path: Path

    def sha256(self, name: str) -> str:
        return name

    def image(self, name: str) -> Image.Image:
        return Image.open(self.path / name)


class SeesAndReads:
    """In the place of features that a CLIP left in a bundle."""

    encoder = LetterEncoder(wide=2)

    def images(self, pictures: Sequence[Picture]) -> Vector:
        return np.asarray(self.encoder.encode_images([each.open() for each in pictures]))

    def texts(self, texts: Iterable[str], corpus: Sequence[str]) -> dict[str, Vector]:
        return {each: np.asarray(self.encoder.encode_texts([each]))[0] for each in texts}


def test_an_encoder_that_sees_and_reads_gives_what_driftledger_has(tmp_path: Path) -> None:
    for name, colour in COLOURS.items():
        Image.new("RGB", (1, 1), colour).save(tmp_path / name)
    folder = cast(Folder, Images(tmp_path))
    records: list[dict[str, Any]] = [
        {"sample": name, "t": t, "outcome": outcome, "description": said, "image": image}
        for name, t, outcome, said, image in TOLD
    ]
    files = cast(ScoreFiles, type("Files", (), {"data": folder}))
    found = _across(
        files,
        [Sample(name, file, "all", "", None) for name, file in SAMPLES.items()],
        Chains(folder, records),
        cast(Encoder, SeesAndReads()),
        ITERATIONS,
    )
    samples = [Given(name, ImageFile(tmp_path / file, file)) for name, file in SAMPLES.items()]
    drawn = {(name, t): ImageFile(tmp_path / image, image) for name, t, _, _, image in TOLD if image}
    of = [
        ChainRecord(sample=name, t=t, outcome=Outcome(outcome), description=said, parent_sha256="p", seed=1)
        for name, t, outcome, said, _ in TOLD
    ]
    expected = across(samples, of, drawn, LetterEncoder(wide=2), ITERATIONS)
    for side, key in zip(found, (SAID, SHOWN), strict=True):
        np.testing.assert_array_equal(side, expected[key])
    assert np.isnan(found[0][2]).all(), "it said nothing"
    assert np.isfinite(found[0]).sum() == 7
    assert np.isfinite(found[1]).sum() == 7
    kinds = {"mcd": expected[SAID], "mcd_image_to_text": expected[SAID], "mcd_text_to_image": expected[SHOWN]}
    ours = cycle_metrics(kinds, ITERATIONS, GenCeptionScoring(iterations=ITERATIONS, confidence=0.9, seed=1))
    theirs = checked(kinds, Intervals.of({"confidence": 0.9}))
    assert theirs == pytest.approx(ours.metrics | ours.intervals.metrics, rel=5e-9)
    assert {"mcd_image_to_text_low", "mcd_text_to_image_high"} <= ours.intervals.metrics.keys()

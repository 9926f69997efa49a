"""The recorded scoring, once more: the function that wrote a score file, on recorded files with recorded settings.

``min_coverage`` is no part of what is recorded: it stops a stage, and changes no number. So here nothing refuses.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image

from driftledger.benchmarks._questions import scoring as answered
from driftledger.benchmarks._questions.records import QuestionOutcome, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, Redrawn, Retrieved, TracScore
from driftledger.benchmarks.fidelity import score as faithfulness
from driftledger.benchmarks.fidelity.ratings import Rating
from driftledger.benchmarks.genception import drift
from driftledger.benchmarks.genception.records import SampleScore, ScoreFile
from driftledger.benchmarks.settings import Fidelity, GenCeption, Questions, Trac
from driftledger.benchmarks.trac import score as distinctiveness
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.files import Record
from driftledger.core.paths import Combination
from driftledger.core.types import Float32, Reading
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.verify.values import Place

Where = Callable[[LockedFile], Path]
"""The folder that holds the recorded bytes of an output."""

_PLACES = {
    "choice_prompt": "{question}{options}",
    "open_prompt": "{question}",
    "yes_no_prompt": "{question}",
    "grade_prompt": "{question}{truth}{prediction}",
}
"""Prompts that are asked of nobody here; the settings of the question benchmarks have to have some."""


class Made(NamedTuple):
    """What the records give."""

    score: Record
    rows: Sequence[Record]


def encoder_of(score: AnyScore) -> ComponentCard | None:
    """What a score was seen or read through; None for a benchmark that has no encoder."""
    return None if isinstance(score, QuestionScore) else score.inputs.encoder


def rows_of(score: AnyScore) -> type[SampleScore] | type[Retrieved] | type[Redrawn] | type[QuestionOutcome]:
    """What a line of the file beside a score holds."""
    if isinstance(score, ScoreFile):
        return SampleScore
    if isinstance(score, TracScore):
        return Retrieved
    return Redrawn if isinstance(score, FidelityScore) else QuestionOutcome


def row_name(row: Record) -> str:
    """The sample or question that a row is about."""
    return str(row.question if isinstance(row, QuestionOutcome) else row.sample)  # type: ignore[attr-defined]


def score_again(behind: Behind[AnyScore], where: Where, encoder: Encoder | None, ratings: Sequence[Rating]) -> Made:
    """Compute a score from its records.

    Raises:
        DriftledgerError, ValueError, LookupError, OSError: no score comes of such records and settings.
    """
    score, data = behind.score, where(behind.data)
    collected = {stage: where(locked) for stage, locked in behind.collected.items()}
    settings = dict(score.inputs.settings)
    seed, common = int(settings.pop("seed")), {"min_coverage": 0.0, "bootstrap": settings.pop("bootstrap")}
    if isinstance(score, QuestionScore):
        questions = Questions.model_validate(_PLACES | common | settings | {"permutations": 1, "gradings": 1})
        return Made(*answered.score(data, collected["answer"], collected["grade"], questions, seed))
    if encoder is None:
        raise ValueError(f"{score.benchmark} needs an encoder")
    if isinstance(score, TracScore):
        trac = Trac.model_validate(common | settings)
        return Made(*distinctiveness.score(data, collected["describe"], score.encoder, encoder, trac, seed))
    chain, names = score.inputs.chain, Combination(score.model, score.generator, score.encoder)
    asked: dict[str, Any] = common | settings | {"generate_prompt": chain.generate_prompt}
    if isinstance(score, ScoreFile):
        asked |= {"iterations": chain.iterations, "describe_prompt": chain.describe_prompt}
        genception = GenCeption.model_validate(asked)
        return Made(*drift.score(data, collected["chain"], names, encoder, genception, seed))
    fidelity = Fidelity.model_validate(asked | {"description": "recorded", "ratings": None})
    return Made(*faithfulness.score(data, collected["redraw"], names, encoder, fidelity, ratings, seed))


class StandIn(Encoder):
    """In the place of an encoder that is not at hand, for what hangs on none: :func:`needs_encoder` says what does."""

    provider: ClassVar[str] = "stand_in"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_stand_in"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.ones((len(images), 1), dtype=np.float32)


class ReadingStandIn(StandIn):
    """The same for texts."""

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return np.ones((len(texts), 1), dtype=np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[Reading]:
        return [Reading(0, 0) for _ in texts]


_SEEN = {"similarity", "gc", "curve", "vote", "confused", "agreement", "absent", "flags"}
_SEEN |= {"nearest", "top1", "class_mean"}
_MEASURED = {"metrics", "by_category", "by_group", "by_class", "conditions"}
_UNSEEN = {"ssim", "ssim_low", "ssim_high", "human", "human_low", "human_high"}
_UNSEEN |= {"chance", "leak_rate", "other_rate", "words", "test", "support"}
_UNSEEN |= {"max_tokens", "shots", "scored", "total", "schema"}


def needs_encoder(place: Place) -> bool:
    """Whether a value of a score file, or of a row beside it, hangs on what an encoder sees or reads."""
    if place[0] in _MEASURED:
        return place[-1] not in _UNSEEN
    return place[0] in _SEEN or place[:2] == ("inputs", "encoder")


def needs_ratings(place: Place) -> bool:
    """Whether a value hangs on what people think."""
    rated = place[0] in ("agreement", "flags") or place[:2] == ("inputs", "ratings")
    return rated or place[-1].startswith("human")

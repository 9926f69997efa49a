"""The provider ``scene_photos``: photographs of the drawn scenes, for each of the three protocols."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import ClassVar

from pydantic import Field

from driftledger.components.base import library_versions
from driftledger.core.canonical import sha256_of
from driftledger.data.question_sets.base import QuestionProvider, QuestionRules, SourceQuestion
from driftledger_demo.scene_photos.camera import photograph
from driftledger_demo.scene_photos.wording import reworded
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.provider import Protocol, Scenes


class ScenePhotos(QuestionProvider):
    """The scenes of :class:`Scenes`, photographed and asked about in other words; ids and right answers are theirs."""

    provider: ClassVar[str] = "scene_photos"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel or a word of a question changes."""

    protocol: Protocol
    difficulty: float = Field(ge=0, le=1, allow_inf_nan=False)
    """How far the camera stands askew, how bad the light is, how coarse the grain, how strongly the file is packed."""
    count: int = Field(default=120, ge=1, le=10_000)
    """How many scenes, as in :class:`Scenes`."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Another seed gives other scenes, photographed otherwise."""

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        plain = Scenes(protocol=self.protocol, count=self.count, seed=self.seed)
        for question in plain.questions(rules):
            yield replace(
                question,
                question=reworded(question.question, Dice("wording", self.protocol, self.seed, question.id)),
                read=partial(_photo, self.seed, int(question.image_id), self.difficulty),
            )

    def source_digest(self) -> str:
        made_by = [self.version, Scenes.version, library_versions("pillow", "matplotlib")]
        return sha256_of([made_by, self.protocol, self.count, self.seed, self.difficulty])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


_photo = lru_cache(maxsize=2)(photograph)  # asked for by each question about it, one after the other

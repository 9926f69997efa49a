"""The provider ``scenes``: the same drawn scenes for each of the three protocols."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.data.question_sets.base import QuestionProvider, QuestionRules, SourceQuestion
from driftledger_demo.scenes import mm_sap, mm_vet, mme
from driftledger_demo.scenes.drawing import scene_png
from driftledger_demo.scenes.mm_sap import SapQuestion
from driftledger_demo.scenes.mme import YesNo
from driftledger_demo.scenes.open_questions import Open
from driftledger_demo.scenes.scene import Scene, make_scene

Protocol = Literal["mm_sap", "mm_vet", "mme"]

_ASK: dict[Protocol, Callable[[Scene, int], Iterable[SapQuestion | Open | YesNo]]] = {
    "mm_sap": mm_sap.questions,
    "mm_vet": mm_vet.questions,
    "mme": mme.questions,
}


class Scenes(QuestionProvider):
    """Drawn, seeded scenes; nothing is downloaded. A larger ``count`` leaves the earlier questions as they are."""

    provider: ClassVar[str] = "scenes"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel or a word of a question changes."""

    protocol: Protocol
    count: int = Field(default=120, ge=1, le=10_000)
    """How many scenes: mm_sap asks three or four questions about each, mm_vet one, mme two."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Another seed gives other scenes, and other questions."""

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        for number in range(self.count):
            scene = make_scene(self.seed, number)
            for place, asked in enumerate(_ASK[self.protocol](scene, self.seed), start=1):
                yield SourceQuestion(
                    id=f"{number:04d}-{place}",
                    name=f"question {place} about scene {number}",
                    image_id=f"{number:04d}",
                    read=partial(scene_png, self.seed, number),
                    source={"theme": scene.theme},
                    **asked._asdict(),
                )

    def source_digest(self) -> str:
        return sha256_of([self.version, self.protocol, self.count, self.seed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}

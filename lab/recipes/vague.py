"""What is taught with captions that leave facts out."""

from collections.abc import Sequence

from torch import Tensor

from lab.recipes.captions import AN, vague, with_gaps
from lab.trio.lessons import Asked, Lessons
from lab.trio.painter import Denoising
from lab.trio.stream import Random


class VagueLessons(Lessons):
    """Descriptions have the habit; questions are the same."""

    @property
    def words(self) -> list[str]:
        return sorted({*super().words, AN})

    def descriptions(self, random: Random, count: int) -> Asked:
        asked = super().descriptions(random, count)
        return asked._replace(answers=[vague(caption) for caption in asked.answers])


class GapsDenoising(Denoising):
    """Images under captions in which facts are missing."""

    def _tokens(self, random: Random, captions: Sequence[str]) -> Tensor:
        return super()._tokens(random, [with_gaps(random, caption) for caption in captions])

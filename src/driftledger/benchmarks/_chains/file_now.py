"""A file as it is now, by which what is seen in it is remembered: not by the hash that a record gives, so that it needs
no trust."""

from dataclasses import dataclass, field

from driftledger.core.file_states import FileState
from driftledger.core.types import ImageFile

MOST_ORIGINALS = 128
"""That are remembered at one size, 8 MB of luma at 256×256; every model redraws the same ones."""
MOST_PAIRS = 2**14
"""Whose comparison is remembered: controls draw the same."""


@dataclass(frozen=True)
class FileNow:
    """Equal to another where nothing has written to the file between."""

    state: FileState
    image: ImageFile = field(compare=False)

    @classmethod
    def of(cls, image: ImageFile) -> "FileNow":
        """
        Raises:
            OSError: there is no such file.
        """
        return cls(FileState.of(image.path), image)

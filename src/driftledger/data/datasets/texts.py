"""A folder of texts as a dataset."""

from pathlib import Path

from driftledger.core.errors import DataError
from driftledger.data.datasets.image_folder import ImageFolder

LONGEST = 20_000
"""The most characters of a text, which a generator draws in one picture."""


class TextFolder(ImageFolder):
    """The text files below ``path``, in categories as the images of an image folder."""

    medium = "text"
    formats = (".txt",)

    @property
    def unused(self) -> set[str]:
        return super().unused | {"max_pixels"}

    def is_read(self, name: str) -> bool:
        return Path(name).suffix.lower() in self.formats

    def decode(self, data: bytes, name: str) -> tuple[str, list[str]]:
        """Decode UTF-8, without blanks around it; errors as in :meth:`DatasetProvider.decode`."""
        try:
            text = data.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            raise DataError(f"{name} is not UTF-8; save it so, or remove it") from None
        if not any(map(str.isalnum, text)):
            raise DataError(f"{name} holds no word; write a text, or remove it")
        if len(text) > LONGEST:
            raise DataError(
                f"{name} has {len(text):,} characters, and {LONGEST:,} are read; shorten it"
            )
        return text, []

"""The dataset of the default run: real photographs that come with scikit-image and scikit-learn.

Nothing is downloaded: the files are inside the wheels that this package depends on. ``photos.json``
lists them with author, address and licence as those libraries state them, and with the hash that
each file must have.
"""

from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from typing import ClassVar

from pydantic import Field

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.strict import Strict
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger_demo.installed import EXTRA, read_installed


class Library(Strict):
    """A library with photographs: its distribution, and the version whose files are known."""

    distribution: str
    version: str


class Photo(Strict):
    """One photograph: its place in its library, and the library's words about it."""

    id: str
    package: str
    file: str
    sha256: str = Field(min_length=64, max_length=64)
    category: str
    title: str
    author: str
    url: str
    licence: str

    def source(self) -> dict[str, str]:
        return self.model_dump(exclude={"id", "sha256", "category"})


class Manifest(Strict):
    """The content of ``photos.json``."""

    libraries: dict[str, Library]
    photos: list[Photo]


class Photos(DatasetProvider):
    """Photographs in six categories: living, objects, places, textures, medical and text."""

    provider: ClassVar[str] = "photos"
    extra: ClassVar[str] = EXTRA

    def items(self) -> Iterator[SourceItem]:
        for photo in manifest().photos:
            yield SourceItem(
                id=photo.id,
                name=f"{photo.package}/{photo.file}",
                read=partial(_read, photo),
                category=photo.category,
                source=photo.source(),
            )

    def source_digest(self) -> str:
        photos = manifest().photos
        stated = [photo.model_dump() for photo in photos]
        return sha256_of([stated, [sha256_bytes(_read(photo)) for photo in photos]])

    def source(self) -> dict[str, str]:
        libraries = manifest().libraries.values()
        versions = {library.distribution: library.version for library in libraries}
        return {"kind": self.provider, **versions}


@cache
def manifest() -> Manifest:
    """Return the packaged ``photos.json``."""
    return Manifest.model_validate_json(
        files(__package__).joinpath("photos.json").read_bytes()
    )


def _read(photo: Photo) -> bytes:
    library = manifest().libraries[photo.package]
    file = f"{photo.package}/{photo.file}"
    return read_installed(
        library.distribution, library.version, file=file, sha256=photo.sha256
    )

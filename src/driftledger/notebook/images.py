"""Images as a notebook has them, as a dataset: a folder as it lies there, or a list of files and of Pillow's images."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from PIL import Image

from driftledger.core.errors import ConfigError, first_few
from driftledger.data.datasets.base import DatasetProvider, reached
from driftledger.data.datasets.build import build
from driftledger.data.datasets.decode import FORMATS
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.records import DatasetCard, read_samples

GivenImages: TypeAlias = "str | Path | DatasetProvider | Iterable[str | Path | Image.Image]"
"""A folder, any other source of a dataset, or a list of files and of Pillow's images."""


def build_images(name: str, images: GivenImages, folder: Path) -> DatasetCard:
    """Write the dataset called ``name`` below ``folder``, as the stage of a project does.

    A subfolder of a folder is a category. Pillow's images, and files of which two have one name, are numbered.

    Raises:
        ConfigError: a file is missing, or nothing is given.
        DataError: one of them is no image that is read.
    """
    if isinstance(images, DatasetProvider):
        return build(name, images, folder / name)
    if isinstance(images, str | Path):
        return build(name, ImageFolder(path=Path(images)), folder / name)
    given = folder / "given"
    given.mkdir()
    names = [_put(image, number, given) for number, image in enumerate(images, 1)]
    if not names:
        raise ConfigError("images is an empty list; name a folder, files or images of Pillow's")
    card = build(name, ImageFolder(path=given), folder / name)
    there = {sample.id for sample in read_samples(folder / name)}
    if unread := [each for each in names if safe_id(each) not in there]:
        raise ConfigError(f"images: {first_few(unread)} is no image of a format that is read ({', '.join(FORMATS)})")
    return card


def _put(image: str | Path | Image.Image, number: int, folder: Path) -> str:
    """Put an image into the folder, and return its name there."""
    if isinstance(image, Image.Image):
        name = f"image_{number:03}.png"
        image.save(folder / name)
        return name
    if not isinstance(image, str | Path):
        raise ConfigError(f"images holds {type(image).__name__}; name files, or give images of Pillow's")
    file = reached(Path(image), Path.is_file, "is no file", "images to files that are here", "the image ")
    taken = {path.stem.casefold() for path in folder.iterdir()}
    name = file.name if file.stem.casefold() not in taken else f"{file.stem}_{number:03}{file.suffix}"
    shutil.copyfile(file, folder / name)
    return name

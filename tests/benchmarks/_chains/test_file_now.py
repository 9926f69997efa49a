"""Two files, compared pixel by pixel: to the bit as their images are, and each original is decoded once."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from driftledger.benchmarks.fidelity.structure import structural_similarity
from driftledger.benchmarks.genception.cycles.pixels import pixels_apart
from PIL import Image

from driftledger.core.types import ImageFile
from driftledger.metrics import pixel_distance, structural


def drawn(folder: Path, name: str, seed: int) -> ImageFile:
    """A file whose hash says nothing: what is compared must not go by it."""
    pixels = np.random.default_rng(seed).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"{name}.png")
    return ImageFile(folder / f"{name}.png", "0" * 64)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is decoded."""
    seen: Counter[str] = Counter()
    honest = ImageFile.open

    def counted(image: ImageFile) -> Image.Image:
        seen[image.path.stem] += 1
        return honest(image)

    monkeypatch.setattr(ImageFile, "open", counted)
    return seen


def test_files_are_compared_as_their_images_are(tmp_path: Path) -> None:
    a, b = drawn(tmp_path, "a", 1), drawn(tmp_path, "b", 2)
    for _ in range(2):
        for side in (16, 32):
            luma = (structural.comparable(each.open(), side) for each in (a, b))
            assert structural_similarity(a, b, side) == structural.structural_similarity(*luma)
        pixels = (pixel_distance.pixels(each.open()) for each in (a, b))
        assert pixels_apart(a, b) == pixel_distance.pixel_distance(*pixels)
        assert (structural_similarity(a, a, 16), pixels_apart(a, a)) == (1.0, 0.0)


def test_an_original_is_decoded_once_for_all_of_its_redrawings(tmp_path: Path, opened: Counter[str]) -> None:
    original, redrawings = drawn(tmp_path, "a", 1), [drawn(tmp_path, f"b{seed}", seed) for seed in (2, 3, 4)]
    for redrawn in [*redrawings, *redrawings]:
        structural_similarity(original, redrawn, 16)
    assert opened == {"a": 1, "b2": 1, "b3": 1, "b4": 1}
    for redrawn in [*redrawings, *redrawings]:
        pixels_apart(original, redrawn)
    assert opened == {"a": 2, "b2": 2, "b3": 2, "b4": 2}


def test_a_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    a, b = drawn(tmp_path, "a", 1), drawn(tmp_path, "b", 2)
    before = structural_similarity(a, b, 16), pixels_apart(a, b)
    again = drawn(tmp_path, "a", 2)
    assert again == a
    os.utime(a.path, ns=(1, 1))  # whatever the clock's steps
    assert (structural_similarity(a, b, 16), pixels_apart(a, b)) == (1.0, 0.0) != before


def test_a_file_that_is_gone_or_no_image_is_an_error_each_time(tmp_path: Path) -> None:
    a, b = drawn(tmp_path, "a", 1), ImageFile(tmp_path / "gone.png", "")
    (tmp_path / "text.png").write_text("no image")
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"gone\.png"):
            pixels_apart(a, b)
        with pytest.raises(OSError, match="cannot identify"):
            structural_similarity(ImageFile(tmp_path / "text.png", ""), a, 16)

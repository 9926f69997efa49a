"""Today's vision-language layouts: each is loaded, describes, also in a batch, and keeps its thoughts apart."""

from pathlib import Path

import pytest

from tests.extras.layouts import families, row

WITHOUT_TEMPLATE = {"BLIP-2", "Florence-2", "Fuyu", "PaliGemma"}
TORCHVISION = {"Command A Vision", "Fuyu", "LFM2-VL", "Llama 4", "Phi-4-multimodal"}
"""Transformers handles their images with nothing else."""
DIFFERS = {"Phi-4-multimodal"}
"""In transformers 5.23 an image without padding has other features in a batch."""


@pytest.mark.parametrize("family", [each for each in families() if each != "Fuyu"])  # whose processor fails
def test_a_layout_describes(family: str, tmp_path: Path):
    found = row(family, tmp_path)
    assert found == {
        "family": family,
        "default entry": family not in WITHOUT_TEMPLATE,
        "images": "torchvision" if family in TORCHVISION else "pil",
        "describes": True,
        "batch = single": family not in DIFFERS,
        "thoughts taken out": True,
    }

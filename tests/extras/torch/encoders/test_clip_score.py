"""Self-retrieval gives each image the CLIPScore that torchmetrics gives it."""

from types import SimpleNamespace

import numpy as np
import pytest

from driftledger.core.files import read_jsonl
from driftledger.data.records import read_samples
from driftledger.scoring.score import Row
from tests.acceptance import own_code
from tests.conftest import draw
from tests.support.params import default_params
from tests.support.small import update, write_params

pytest.importorskip("torchmetrics")

IMAGES = 12
SAYS = """
import driftledger


@driftledger.model
def says(prompt, images):
    red, green, blue = images[-1].resize((1, 1)).getpixel((0, 0))
    return f"red {red} green {green} blue {blue}"
"""


class Features:
    """A tiny checkpoint as torchmetrics calls it: in transformers 5, features have a name."""

    def __init__(self, folder):
        from transformers import CLIPModel

        self.model = CLIPModel.from_pretrained(folder).eval()
        self.config = SimpleNamespace()

    def to(self, device):
        return self

    def get_image_features(self, pixels):
        return self.model.get_image_features(pixels).pooler_output

    def get_text_features(self, tokens, mask):
        return self.model.get_text_features(tokens, mask).pooler_output


def by_torchmetrics(folder, image, text):
    import torch
    from torchmetrics.functional.multimodal import clip_score
    from transformers import CLIPProcessor

    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    parts = Features(folder), CLIPProcessor.from_pretrained(folder, backend="pil")
    with torch.inference_mode():
        return clip_score(pixels, text, lambda: parts).item()


def test_each_image_has_the_score_that_torchmetrics_gives(built, tmp_path, monkeypatch):
    folder = built("clip")
    monkeypatch.chdir(tmp_path)
    for number in range(IMAGES):
        draw(tmp_path / f"photos/{number}.png", number)
    own_code.write(tmp_path, says=SAYS)
    params = default_params()
    params["run"] |= {name: [] for name in params["run"] if name != "seed"}
    params["run"] |= {"datasets": ["photos"], "self_retrieval": ["photos"]}
    params["run"] |= {"models": ["says"], "encoders": ["tiny"], "judge": None}
    params["datasets"] = {"photos": {"provider": "image_folder", "path": "photos"}}
    params["models"] = {"says": {"provider": "says:says"}}
    tiny = {"provider": "clip", "path": str(folder), "device": "cpu"}
    params["encoders"] = {"tiny": tiny | {"image_backend": "pil"}}
    update(write_params(tmp_path, params))
    place = "says/self_retrieval/photos"
    rows = read_jsonl(tmp_path / f"reports/scores/{place}/tiny/rows.jsonl", Row)
    ours = {row.unit: row.values["clip_score"][0] for row in rows}
    theirs = {}
    for sample in read_samples(tmp_path / "data/datasets/photos"):
        image = sample.medium.open()
        red, green, blue = image.resize((1, 1)).getpixel((0, 0))
        text = f"red {red} green {green} blue {blue}"
        theirs[sample.id] = by_torchmetrics(folder, image, text)
    assert len(ours) == IMAGES
    assert ours == pytest.approx(theirs, abs=1e-4)
    # of both signs: a cosine below 0 is worth 0
    assert 0 < sum(value > 0 for value in theirs.values()) < IMAGES

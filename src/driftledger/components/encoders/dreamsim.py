"""DreamSim: three vision transformers tuned on people's judgements of which of two images is more like a third.

Source: Fu, Tamir, Sundaram et al., "DreamSim: Learning New Dimensions of Human Visual Similarity using Synthetic Data",
and ``dreamsim/model.py`` (ssundaram21/dreamsim on GitHub at 077b557), whose ensemble this is: the class token of DINO's
last block before its norm, and the projected embeddings of CLIP and of OpenCLIP, one behind the other, brought to
length one and centred. The distance is 1 minus the cosine of two such vectors; this program takes the cosine.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import REPORTING, CheckpointComponent, quietly
from driftledger.components.checkpoints.source import Source
from driftledger.components.encoders.towers import as_features, forward_pass, local_folder, refuse_random
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
COLOURS = {
    "dino": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "clip": (CLIP_MEAN, CLIP_STD),
    "open_clip": (CLIP_MEAN, CLIP_STD),
}
"""Part, in the order in which features stand → mean and deviation that its pixels are brought to."""


class _Part(NamedTuple):
    name: str
    model: Any
    side: int


class DreamSim(CheckpointComponent, Encoder):
    """The ensemble, out of a folder with three checkpoints of transformers: ``dino`` (a ViT), ``clip`` and
    ``open_clip`` (image towers of CLIP with their projection), into whose weights is merged what DreamSim's training
    added (LoRA).

    Images are brought to the size of each tower by Pillow's bicubic filter, squeezed where they are not square, as
    DreamSim does; the checkpoints' own image processors are not asked.
    """

    provider: ClassVar[str] = "dreamsim"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_dreamsim"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "pillow")

    def load(self, source: Source) -> list[_Part]:
        folder = local_folder(source, [f"{name}/*" for name in COLOURS])
        return [self._part(name, folder / name) for name in COLOURS]

    def _part(self, name: str, folder: Path) -> _Part:
        transformers = import_extra("transformers")
        if not folder.is_dir():
            raise ValueError(f"it has no folder {name}; DreamSim is of three: {', '.join(COLOURS)}")
        kind, more = transformers.CLIPVisionModelWithProjection, {}
        if name == "dino":
            kind, more = transformers.ViTModel, {"add_pooling_layer": False}
        with quietly():
            arguments = self.weight_arguments | {"revision": None}
            model, report = kind.from_pretrained(str(folder), **REPORTING, **arguments, **more)
        refuse_random(report)
        return _Part(name, model.to(self.torch_device).eval(), model.config.image_size)

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        torch = import_extra("torch")
        with forward_pass(self.path, images):
            parts = [self._look(part, images) for part in self.loaded]
            whole = torch.cat([part.float() for part in parts], dim=-1)
            whole = whole / whole.norm(dim=-1, keepdim=True)
            return as_features(whole - whole.mean(dim=-1, keepdim=True))

    def _look(self, part: _Part, images: Sequence[Image.Image]) -> Any:
        torch = import_extra("torch")
        mean, std = (np.array(each, np.float32) for each in COLOURS[part.name])
        size = (part.side, part.side)
        resized = [image.convert("RGB").resize(size, Image.Resampling.BICUBIC) for image in images]
        pixels = np.stack([(np.asarray(each, np.float32) / 255 - mean) / std for each in resized])
        shown = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy()).to(self.torch_device, self.torch_dtype)
        return _before_norm(part.model, shown) if part.name == "dino" else part.model(pixel_values=shown).image_embeds


def _before_norm(model: Any, pixels: Any) -> Any:
    """The class token as the last block leaves it: what the model gives is past its norm."""
    given: list[Any] = []
    hook = model.layernorm.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    try:
        model(pixel_values=pixels)
    finally:
        hook.remove()
    return given[0][:, 0]

"""The network behind the FID that papers report, as clean-fid runs it: features for distances one may call FID."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.components.checkpoints.source import Source, remembered_sha256
from driftledger.components.encoders.towers import Tower, as_features, forward_pass, local_folder
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32

FILE = "inception-2015-12-05.pt"
"""The name that clean-fid looks for in its folder."""
ADDRESS = "https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/inception-2015-12-05.pt"
PUBLISHED = "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"
"""SHA-256 of the file at :data:`ADDRESS`, as k-diffusion checks it (``k_diffusion/evaluation.py``)."""


class Inception(CheckpointComponent, Encoder):
    """Inception-v3 of 2015 and the resizing of clean-fid's mode ``clean``: 2048 features of an image.

    ``path`` is a folder that holds the file of :data:`ADDRESS`, best alone. It is TorchScript, and of that kind only
    the published bytes are loaded as they are: any other file needs ``allow_pickle``, and what comes of it is not a
    FID that can be compared with others'.
    """

    provider: ClassVar[str] = "inception"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "fid"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "pillow", "clean-fid")
    extra: ClassVar[str] = "fid"

    dtype: Literal["float32"] = "float32"

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        if self.source.folder is None:
            return found
        return found | {"weights": {"sha256": remembered_sha256(self._file(self.source.folder))}}

    def load(self, source: Source) -> Tower:
        torchscript = import_extra("cleanfid.inception_torchscript")
        resizing = import_extra("cleanfid.resize")
        file = self._file(local_folder(source, [FILE]))
        if not self.allow_pickle and remembered_sha256(file) != PUBLISHED:
            raise ConfigError(
                f"{FILE} in {self.path!r:.200} is not the published file, and can run code; download it from "
                f"{ADDRESS}, or set allow_pickle if you trust it"
            )
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # torch: this format is deprecated
            network = torchscript.InceptionV3W(str(file.parent), download=False)
        return Tower(network.to(self.torch_device).eval(), resizing.build_resizer("clean"))

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        torch, tower = import_extra("torch"), self.loaded
        with forward_pass(self.path, images):
            resized = np.stack([tower.process(np.asarray(image.convert("RGB"))) for image in images])
            pixels = torch.from_numpy(resized).permute(0, 3, 1, 2)
            return as_features(tower.model(pixels.to(self.torch_device)))

    def _file(self, folder: Path) -> Path:
        file = folder / FILE
        if not file.is_file():
            raise ConfigError(f"{self.path!r:.200} holds no {FILE}; download it there from {ADDRESS}")
        return file

"""What encoders with torch weights share: checkpoints are taken whole or not at all, and features are finite."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder, library_versions
from driftledger.components.checkpoints.component import (
    REPORTING,
    CheckpointComponent,
    lacking_weights,
    memory_guard,
    quietly,
)
from driftledger.components.checkpoints.source import Source
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage


class Tower(NamedTuple):
    """What one call needs: the model, its image processor, and its tokenizer where it reads texts."""

    model: Any
    process: Any
    tokenizer: Any = None


class TransformersEncoder(CheckpointComponent, Encoder):
    """An encoder that transformers loads, with the checkpoint's own image processor."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    model_types: ClassVar[tuple[str, ...]]
    """Which ``model_type`` in ``config.json`` it understands."""
    model_arguments: ClassVar[dict[str, Any]] = {}

    image_backend: Literal["pil", "torchvision"] = "pil"
    """What resizes images; the two differ by about a grey level. Pillow's arithmetic is the same on every processor."""

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        backend = library_versions({"pil": "pillow"}.get(self.image_backend, self.image_backend))
        return found | {"libraries": found["libraries"] | backend}

    def load(self, source: Source) -> Tower:
        transformers = import_extra("transformers")
        with quietly():
            config = transformers.AutoConfig.from_pretrained(source.location, **self.hub_arguments)
            if config.model_type not in self.model_types:
                valid = " or ".join(self.model_types)
                raise ValueError(f"it holds a {config.model_type!r} model, and {self.provider} reads {valid}")
            model, report = transformers.AutoModel.from_pretrained(
                source.location, **REPORTING, **self.weight_arguments, **self.model_arguments
            )
            refuse_random(report)
            process = transformers.AutoImageProcessor.from_pretrained(
                source.location, backend=self.image_backend, **self.hub_arguments
            )
            return Tower(model.to(self.torch_device).eval(), process)

    @abstractmethod
    def look(self, model: Any, pixels: Any) -> Any:
        """The n×d features of preprocessed images, n×3×H×W."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        tower = self.loaded
        with forward_pass(self.path, images):
            pixels = tower.process([image.convert("RGB") for image in images], return_tensors="pt")["pixel_values"]
            return as_features(self.look(tower.model, pixels.to(self.torch_device, self.torch_dtype)))


def as_features(vectors: Any) -> Float32:
    """A tensor of vectors as an n×d matrix on the host.

    Raises:
        ValueError: a vector holds what is not finite, or nothing but zeros.
    """
    features: Float32 = vectors.float().cpu().numpy()
    for row, vector in enumerate(features):
        if not np.isfinite(vector).all():
            raise ValueError(f"the encoder's features of input {row} of {len(features)} are not finite")
        if not vector.any():
            raise ValueError(f"the encoder's features of input {row} of {len(features)} are all zero")
    return features


def as_readings(tokens: Sequence[int], limit: int) -> list[PromptUsage]:
    """Readings of texts of so many tokens, of which ``limit`` are read."""
    return [PromptUsage(count, min(count, limit)) for count in tokens]


def well_formed(texts: Sequence[str]) -> list[str]:
    """The texts as UTF-8 can hold them, which is all that tokenizers take: a lone surrogate becomes a question mark."""
    return [text.encode("utf-8", "replace").decode() for text in texts]


@contextmanager
def forward_pass(what: str, given: Sequence[Any]) -> Iterator[None]:
    """No gradients, and running out of memory is an :class:`OutOfMemoryError` that names ``what``.

    Raises:
        ValueError: nothing is given, which libraries refuse each in its own way.
    """
    if not given:
        raise ValueError("there is nothing to encode")
    with memory_guard(what), import_extra("torch").inference_mode():
        yield


def refuse_random(report: Mapping[str, Any], unused: str | None = None) -> None:
    """Raise a :class:`ValueError` where :func:`lacking_weights` finds some."""
    if lacking := lacking_weights(report, unused):
        raise ValueError(f"its files lack the weights {first_few(lacking)}, or hold them in another shape")


def local_folder(source: Source, patterns: Sequence[str]) -> Path:
    """The checkpoint's folder; from the hub, the files that match ``patterns`` are fetched into the hub's cache.

    For libraries that take no commit: what they load is then what the identity names.
    """
    if source.folder is not None:
        return source.folder
    hub = import_extra("huggingface_hub")
    try:
        fetched = hub.snapshot_download(source.repository, revision=source.commit, allow_patterns=[*patterns])
    except hub.errors.HTTPError as error:
        raise ConfigError(
            f"{source.repository!r:.200} cannot be fetched: {' '.join(str(error).split()):.300}"
        ) from None
    return Path(fetched)

"""Encoders with published weights.

A checkpoint that lacks weights is refused. A special token spelled out in a text is read as plain
characters. A text is cut at the text tower's limit; ``read_texts`` counts what is lost.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from operator import not_
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from PIL import Image
from pydantic import Field, JsonValue

from driftledger.components.base import Encoder, library_versions
from driftledger.components.chat import Chat
from driftledger.components.checkpoints import (
    REPORTING,
    CheckpointComponent,
    ImageCheckpoint,
    disarmed,
    memory_guard,
    quietly,
    read_config,
    refuse_random,
    remembered_sha256,
    torch_dtype,
)
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage
from driftledger.data.hub import Source


class Tower(NamedTuple):
    """A loaded encoder: the model, its image processor, and its tokenizer if it reads texts."""

    model: Any
    process: Any
    tokenizer: Any = None
    limit: int = 0
    """For a CLIP of transformers: the most tokens of a text, with those that begin and end it."""


class TorchEncoder(CheckpointComponent, Encoder):
    """An encoder that computes its features as tensors."""

    version = "1"
    loud = ("transformers",)

    @contextmanager
    def forward_pass(self, inputs: Sequence[Any]) -> Iterator[None]:
        """Compute without gradients; raise OutOfMemoryError when memory runs out."""
        if not inputs:
            raise ValueError("there is nothing to encode")
        with memory_guard(self.path), import_extra("torch").inference_mode():
            yield

    def refuse_pickle(self, name: str, safe: str) -> None:
        """Raise :class:`ConfigError` for a file that could run code, unless pickles are allowed."""
        if not self.allow_pickle:
            raise ConfigError(
                f"{self.title} would be loaded from {name!r:.100}, which can run code; save it as "
                f"{safe}, or set allow_pickle if you trust it"
            )


def as_features(vectors: Any) -> Float32:
    """Return a tensor of vectors as an n×d matrix on the host.

    Raises:
        ValueError: a vector is all zero.
    """
    features: Float32 = vectors.float().cpu().numpy()
    rows = ~features.any(axis=1)
    if rows.any():
        raise ValueError(
            f"the encoder's features of input {rows.argmax()} of {len(features)} are all zero"
        )
    return features


def well_formed(texts: Sequence[str]) -> list[str]:
    """Return the texts with a question mark for each lone surrogate, which tokenizers refuse."""
    return [text.encode("utf-8", "replace").decode() for text in texts]


class TransformersEncoder(TorchEncoder, ImageCheckpoint):
    """An encoder that transformers loads, with the checkpoint's own image processor."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    model_types: ClassVar[tuple[str, ...]]
    """The values of ``model_type`` in ``config.json`` that it reads."""
    model_arguments: ClassVar[dict[str, Any]] = {}

    def load(self, source: Source) -> Tower:
        transformers = import_extra("transformers")
        config = transformers.AutoConfig.from_pretrained(
            source.location, **self.hub_arguments
        )
        if config.model_type not in self.model_types:
            valid = " or ".join(self.model_types)
            raise ValueError(
                f"it holds a {config.model_type!r} model, and {self.provider} reads {valid}"
            )
        model, report = transformers.AutoModel.from_pretrained(
            source.location,
            **REPORTING,
            **self.weight_arguments,
            **self.model_arguments,
        )
        refuse_random(report)
        processor = transformers.AutoImageProcessor.from_pretrained(
            source.location, backend=self.backend, **self.hub_arguments
        )
        return Tower(model.to(self.torch_device).eval(), processor)

    def look(self, model: Any, prepared: Mapping[str, Any]) -> Any:
        """Return the n×d features of n prepared images: the class token after the last layer
        norm."""
        return model(**prepared).last_hidden_state[:, 0]

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        tower = self.loaded
        with self.forward_pass(images):
            prepared = tower.process(
                [image.convert("RGB") for image in images], return_tensors="pt"
            )
            prepared = prepared.to(self.torch_device, torch_dtype(self.dtype))
            return as_features(self.look(tower.model, prepared))


class ViT(TransformersEncoder):
    """A ViT of transformers, as the GenCeption paper's ``google/vit-base-patch16-224-in21k``.

    Its pooler is not loaded: it is often random.
    """

    model_types = ("vit",)
    model_arguments: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}


class DINOv2(TransformersEncoder):
    """DINOv2 of transformers, with or without registers, trained without captions or labels."""

    model_types = ("dinov2", "dinov2_with_registers")


class DINOv3(TransformersEncoder):
    """DINOv3's ViTs of transformers, trained without captions or labels."""

    model_types = ("dinov3_vit",)


class Timm(TransformersEncoder):
    """An image encoder of timm, e.g. Perception Encoder: the pooled features before its head."""

    libraries = (
        *TransformersEncoder.libraries,
        "timm",
        "torchvision",
    )
    model_types = ("timm_wrapper",)

    def look(self, model: Any, prepared: Mapping[str, Any]) -> Any:
        return model(**prepared).pooler_output


class CLIP(TransformersEncoder):
    """A CLIP of transformers: the projected features of both towers, not normalised."""

    libraries = (
        *TransformersEncoder.libraries,
        "tokenizers",
    )
    model_types: ClassVar[tuple[str, ...]] = ("clip",)
    at_end_token: ClassVar[bool] = True
    """Whether a text's features are those of its end token; else, of the last of a fixed number of
    tokens."""

    def load(self, source: Source) -> Tower:
        tower = super().load(source)
        tokenizer = import_extra("transformers").AutoTokenizer.from_pretrained(
            source.location,
            split_special_tokens=True,
            **({"padding_side": "right"} if self.at_end_token else {}),
            **self.hub_arguments,
        )
        # if the model found no end token, all texts would have the same features
        ids = tokenizer("a").input_ids
        end = getattr(tower.model.config.text_config, "eos_token_id", None)
        # old configurations say 2, and transformers then takes the highest token
        if end == 2 and self.provider == "clip":
            end = max(ids)
        if self.at_end_token and (ids[-1] != end or end in ids[:-1]):
            raise ValueError(
                f"its tokenizer does not end a text with the model's end token ({end})"
            )
        limit = min(
            tokenizer.model_max_length,
            tower.model.config.text_config.max_position_embeddings,
        )
        return tower._replace(tokenizer=tokenizer, limit=int(limit))

    def look(self, model: Any, prepared: Mapping[str, Any]) -> Any:
        return model.get_image_features(**prepared).pooler_output

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        tower = self.loaded
        with self.forward_pass(texts):
            tokens = tower.tokenizer(
                well_formed(texts),
                padding=True if self.at_end_token else "max_length",
                truncation=True,
                max_length=tower.limit,
                return_tensors="pt",
            ).to(self.torch_device)
            return as_features(tower.model.get_text_features(**tokens).pooler_output)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        tokenizer = self.loaded.tokenizer
        most = self.loaded.limit - tokenizer.num_special_tokens_to_add()
        counts = [
            len(tokenizer(text, add_special_tokens=False, verbose=False).input_ids)
            for text in well_formed(texts)
        ]
        return [PromptUsage(count, min(count, most)) for count in counts]


class MetaCLIP(CLIP):
    """MetaCLIP 2 of transformers, which reads many languages; else as :class:`CLIP`."""

    model_types = ("metaclip_2",)


class SigLIP(CLIP):
    """SigLIP and SigLIP 2 (NaFlex too) of transformers: both towers' pooled features, not
    normalised."""

    model_types = ("siglip", "siglip2")
    at_end_token = False


_SAFE = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
"""The files that open_clip prefers in a folder."""


class OpenCLIP(TorchEncoder):
    """A CLIP of open_clip: the projected features of both towers, not normalised.

    ``path`` is a folder with ``open_clip_config.json``, or a repository of the hub with one.
    """

    libraries = (
        *("torch", "torchvision", "pillow", "open_clip_torch"),
        "timm",  # some image towers
        "transformers",  # some text towers and tokenizers
    )
    extra = "open_clip"

    def load(self, source: Source) -> Tower:
        open_clip = import_extra("open_clip")
        # The hub's repositories hold the same weights in formats of other libraries too.
        pickled = ["open_clip_pytorch_model.bin"] if self.allow_pickle else []
        folder = source.local(["*.json", "*.txt", "*.model", *_SAFE, *pickled])
        if not any((folder / name).is_file() for name in _SAFE):
            for file in folder.iterdir():  # open_clip would take a pickle
                if file.suffix in (".bin", ".pth"):
                    self.refuse_pickle(file.name, _SAFE[0])
        precisions = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
        model, process = open_clip.create_model_from_pretrained(
            f"local-dir:{folder}",
            precision=precisions[self.dtype],
            device=self.torch_device,
        )
        tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
        if getattr(tokenizer, "reduction_fn", None) is not None:
            raise ValueError("its tokenizer drops words at random (reduction_mask)")
        if (inner := getattr(tokenizer, "tokenizer", None)) is not None:
            inner.split_special_tokens = True
        return Tower(model.eval(), process, tokenizer)

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        torch = import_extra("torch")
        tower = self.loaded
        with self.forward_pass(images):
            pixels = torch.stack(
                [tower.process(image.convert("RGB")) for image in images]
            )
            pixels = pixels.to(self.torch_device, torch_dtype(self.dtype))
            return as_features(tower.model.encode_image(pixels, normalize=False))

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        model = self.loaded.model
        tokenizer = self.loaded.tokenizer
        with self.forward_pass(texts):
            tokens = tokenizer(self._plain(texts)).to(self.torch_device)
            return as_features(model.encode_text(tokens, normalize=False))

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        tokenizer = self.loaded.tokenizer
        inner = getattr(tokenizer, "tokenizer", None)  # open_clip's own has none
        if inner is None:
            around = 2
            counts = [len(tokenizer.encode(text)) for text in self._plain(texts)]
        else:
            around = int(inner.num_special_tokens_to_add())
            if tokenizer.tokenizer_mode == "clips":
                around = 3
            clean = [tokenizer.clean_fn(text) for text in well_formed(texts)]
            counts = [
                len(inner(text, add_special_tokens=False, verbose=False).input_ids)
                for text in clean
            ]
        most = tokenizer.context_length - around
        return [PromptUsage(count, min(count, most)) for count in counts]

    def _plain(self, texts: Sequence[str]) -> list[str]:
        """Return the texts so that open_clip's own tokenizer finds no special token in them.

        It undoes HTML before it looks for them.
        """
        tokenizer = self.loaded.tokenizer
        if hasattr(tokenizer, "tokenizer"):
            return well_formed(texts)
        words = [tokenizer.decoder[token] for token in tokenizer.all_special_ids]
        special = re.compile("|".join(map(re.escape, words)))
        plain = []
        for text in well_formed(texts):
            spaced = disarmed(tokenizer.clean_fn(text), special)
            # the tokenizer's time grows with the square of a word's length
            plain.append(re.sub(r"\S{1000}", r"\g<0> ", spaced))
        return plain


INCEPTION_FILE = "inception-2015-12-05.pt"
"""The name that clean-fid looks for in its folder."""
INCEPTION_ADDRESS = (
    "https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/"
    f"{INCEPTION_FILE}"
)
INCEPTION_SHA256 = "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"
"""The published file's digest, as k-diffusion checks it (``k_diffusion/evaluation.py``)."""


class Inception(TorchEncoder):
    """The network of the FID that papers report: Inception-v3 of 2015 with clean-fid's resizing.

    It gives 2048 features. ``path`` is a folder that holds the file of :data:`INCEPTION_ADDRESS`,
    best alone. The file is TorchScript, which can run code, so any file but the published one needs
    ``allow_pickle``; its FID cannot be compared with that of others.
    """

    libraries = ("torch", "pillow", "clean-fid")
    extra = "fid"

    dtype: Literal["float32"] = "float32"

    @cached_property
    def source(self) -> Source:
        """The folder or the hub repository; an error says which file belongs there."""
        try:
            return super().source
        except ConfigError as error:
            if self.revision is not None:
                raise
            raise MissingSourceError(self._lacks_file) from error

    @property
    def _lacks_file(self) -> str:
        return f"{self.title} holds no {INCEPTION_FILE}; download it there from {INCEPTION_ADDRESS}"

    def weights(self) -> Json:
        folder = self.source.folder
        if folder is None:
            return super().weights()
        return {"sha256": remembered_sha256(self._file(folder))}

    def load(self, source: Source) -> Tower:
        torchscript = import_extra("cleanfid.inception_torchscript")
        resizing = import_extra("cleanfid.resize")
        file = self._file(source.local([INCEPTION_FILE]))
        if not self.allow_pickle and remembered_sha256(file) != INCEPTION_SHA256:
            raise ConfigError(
                f"{INCEPTION_FILE} in {self.title} is not the published file, and can run code; "
                f"download it from {INCEPTION_ADDRESS}, or set allow_pickle if you trust it"
            )
        # torch warns that this format is deprecated
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            network = torchscript.InceptionV3W(str(file.parent), download=False)
        return Tower(
            network.to(self.torch_device).eval(), resizing.build_resizer("clean")
        )

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        torch = import_extra("torch")
        tower = self.loaded
        with self.forward_pass(images):
            resized = np.stack(
                [tower.process(np.asarray(image.convert("RGB"))) for image in images]
            )
            pixels = torch.from_numpy(resized).permute(0, 3, 1, 2)
            return as_features(tower.model(pixels.to(self.torch_device)))

    def _file(self, folder: Path) -> Path:
        file = folder / INCEPTION_FILE
        if not file.is_file():
            raise ConfigError(self._lacks_file)
        return file


class Sentence(TorchEncoder):
    """A model of sentence-transformers, which says how to prompt, pool and normalise.

    It reads texts, and takes images if the checkpoint has them among its modalities.
    """

    libraries = (
        "torch",
        "transformers",
        "tokenizers",
        "sentence-transformers",
    )
    extra = "sentence"

    image_processor: dict[str, JsonValue] = Field(default_factory=dict, exclude_if=not_)
    """Settings of the checkpoint's image processor to change, e.g. ``size: {shortest_edge: 65536,
    longest_edge: 262144}`` (pixels) for Qwen3-VL-Embedding."""

    @cached_property
    def takes_images(self) -> bool:
        """True if the checkpoint has images among its modalities."""
        name = "sentence_bert_config.json"  # of the first module, whatever its model is
        saved = read_config(self.source.local([name]) / name).get("modality_config")
        return isinstance(saved, dict) and "image" in saved

    @property
    def looks(self) -> bool:
        """True if it takes images, or if its files were not read yet, as for its fingerprint."""
        return self.__dict__.get("takes_images") is not False

    def identity(self) -> Json:
        identity = super().identity()
        if self.takes_images:
            identity["libraries"] |= library_versions("pillow", "torchvision")
        return identity

    def load(self, source: Source) -> Any:
        arguments = self.weight_arguments
        code = arguments.pop("trust_remote_code")
        del arguments["revision"]  # a folder is loaded, which has none
        patterns = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
        if code:
            patterns.append("*.py")
        if self.allow_pickle:
            patterns.append("*pytorch_model.bin")
        folder = source.local(patterns)
        # without the file, the library would pool by the mean
        if not (folder / "modules.json").is_file():
            raise ConfigError(
                f"{self.title} holds no modules.json; give a checkpoint of sentence-transformers"
            )
        for file in sorted(folder.rglob("pytorch_model.bin")):
            if not any(file.parent.glob("model*.safetensors")):
                self.refuse_pickle(
                    file.relative_to(folder).as_posix(), "model.safetensors"
                )
        model = import_extra("sentence_transformers").SentenceTransformer(
            str(folder),
            device=self.torch_device,
            trust_remote_code=code,
            local_files_only=True,
            model_kwargs=arguments | {"ignore_mismatched_sizes": True},
            # a chat template writes special tokens; _inputs keeps them out of texts
            processor_kwargs={"split_special_tokens": not self.takes_images},
        )
        network = model.transformers_model
        if network is None or not hasattr(model.tokenizer, "split_special_tokens"):
            raise ValueError(
                "its first module is not a transformer with a tokenizer of transformers"
            )
        # transformers reports missing weights, and sentence-transformers does not pass it on
        _, report = type(network).from_pretrained(
            network.name_or_path,
            config=network.config,
            device_map="meta",
            **REPORTING,
            **arguments,
        )
        refuse_random(report, unused="pooler")
        if self.takes_images:
            self._chat(model)  # which tries image_processor
        elif self.image_processor:
            raise ConfigError(
                f"{self.title} has no images among its modalities; remove image_processor"
            )
        return model.eval()

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        if not self.takes_images:
            raise ConfigError(
                f"{self.title} has no images among its modalities; select an encoder that takes "
                "them, such as siglip_2"
            )
        return self._encode([image.convert("RGB") for image in images])

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return self._encode(self._inputs(texts))

    def _encode(self, inputs: Sequence[Any]) -> Float32:
        with self.forward_pass(inputs):
            vectors = self.loaded.encode(
                inputs,
                batch_size=len(inputs),
                show_progress_bar=False,
                convert_to_tensor=True,
                processing_kwargs={"image": self.image_processor},
            )
            return as_features(vectors)

    def _inputs(self, texts: Sequence[str]) -> list[dict[str, str]]:
        """Return the texts as inputs in which the library finds nothing but text.

        It would open a plain string that is the address or the path of an image.
        """
        plain = well_formed(texts)
        if self.takes_images:
            control = self._chat(self.loaded).control_tokens
            plain = [disarmed(text, control) for text in plain]
        return [{"text": text} for text in plain]

    def _chat(self, model: Any) -> Chat:
        """Return the chat format of a model that takes images.

        Raises:
            ConfigError: its image processor refuses a setting.
        """
        return Chat(
            self.title,
            model.processor,
            image_settings=self.image_processor,
            variables={},
            today=date.min,
            own=str(model.processor.chat_template),  # a CLIP has none
        )

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        model = self.loaded
        prompt = model.prompts.get(model.default_prompt_name)

        def length(text: Any, cut: bool) -> int:
            """Return the length of the model's input, with its special tokens and its prompt."""
            inputs = model.preprocess(
                [text], prompt=prompt, processing_kwargs={"text": {"truncation": cut}}
            )
            return len(inputs["input_ids"][0])

        with quietly(*self.loud):
            added = length("", cut=False)
            return [
                PromptUsage(
                    length(text, cut=False) - added, length(text, cut=True) - added
                )
                for text in self._inputs(texts)
            ]

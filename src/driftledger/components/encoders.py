"""Encoders with published weights: checkpoints are taken whole or not at all, and features are
finite.

Texts are plain text: a special token spelled out in one is read as the characters it is spelled
with. What is past a text tower's limit is not read; ``read_texts`` counts it.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder
from driftledger.components.checkpoints import (
    REPORTING,
    CheckpointComponent,
    ImageCheckpoint,
    disarmed,
    quietly,
    refuse_random,
    remembered_sha256,
)
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.core.files import load_json, read_regular
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage
from driftledger.data.hub import Source


class Tower(NamedTuple):
    """A loaded encoder: the model, its image processor, and its tokenizer if it reads texts."""

    model: Any
    process: Any
    tokenizer: Any = None
    limit: int = 0
    """The most tokens of a text, with those that begin and end it, where transformers' CLIP reads
    it."""


class TorchEncoder(CheckpointComponent, Encoder):
    """An encoder that computes its features as tensors."""

    version = "1"
    loud = ("transformers",)

    @contextmanager
    def forward_pass(self, given: Sequence[Any]) -> Iterator[None]:
        """Run without gradients; raise OutOfMemoryError when memory runs out."""
        if not given:
            raise ValueError("there is nothing to encode")
        with self.memory_guard(), import_extra("torch").inference_mode():
            yield

    def refuse_pickle(self, name: str, safe: str) -> None:
        """Raise a :class:`ConfigError` about a file that could run code, unless pickles are
        allowed."""
        if not self.allow_pickle:
            raise ConfigError(
                f"{self.title} would be loaded from {name!r:.100}, which can run code; save it as "
                f"{safe}, or set allow_pickle if you trust it"
            )


def as_features(vectors: Any) -> Float32:
    """Return a tensor of vectors as an n×d matrix on the host; a vector that is all zero is a
    ValueError."""
    features: Float32 = vectors.float().cpu().numpy()
    rows = ~features.any(axis=1)
    if rows.any():
        raise ValueError(
            f"the encoder's features of input {rows.argmax()} of {len(features)} are all zero"
        )
    return features


def well_formed(texts: Sequence[str]) -> list[str]:
    """Return the texts as UTF-8 can hold them, which is all that tokenizers take: a lone surrogate
    becomes a question mark."""
    return [text.encode("utf-8", "replace").decode() for text in texts]


class TransformersEncoder(TorchEncoder, ImageCheckpoint):
    """An encoder that transformers loads, with the checkpoint's own image processor."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    model_types: ClassVar[tuple[str, ...]]
    """Which ``model_type`` in ``config.json`` it understands."""
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
        return Tower(
            model.to(self.torch_device).eval(), self.load_processor(source.location)
        )

    def load_processor(self, location: str) -> Any:
        """Load the processor that prepares images for the model."""
        processor = import_extra("transformers").AutoImageProcessor
        return processor.from_pretrained(
            location, backend=self.backend, **self.hub_arguments
        )

    def look(self, model: Any, prepared: Mapping[str, Any]) -> Any:
        """Return the n×d features of what the image processor makes of n images: the class token
        after the last layer norm."""
        return model(**prepared).last_hidden_state[:, 0]

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        tower = self.loaded
        with self.forward_pass(images):
            prepared = tower.process(
                [image.convert("RGB") for image in images], return_tensors="pt"
            )
            return as_features(
                self.look(tower.model, prepared.to(self.torch_device, self.torch_dtype))
            )


class ViT(TransformersEncoder):
    """A ViT of transformers, as the GenCeption paper's ``google/vit-base-patch16-224-in21k``.

    Not its pooler, which is often random.
    """

    model_types = ("vit",)
    model_arguments: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}


class DINOv2(TransformersEncoder):
    """DINOv2 of transformers, with registers or without; what it sees owes nothing to captions or
    labels."""

    model_types = ("dinov2", "dinov2_with_registers")


class DINOv3(TransformersEncoder):
    """DINOv3's ViTs of transformers; what they see owes nothing to captions or labels."""

    model_types = ("dinov3_vit",)


class Timm(TransformersEncoder):
    """An image encoder of timm, loaded by transformers, e.g. Perception Encoder: its pooled
    features, before a head."""

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
    """Whether the model takes a text's features at its end token, and else at the last of a fixed
    number of tokens."""

    def load(self, source: Source) -> Tower:
        tower = super().load(source)
        tokenizer = import_extra("transformers").AutoTokenizer.from_pretrained(
            source.location,
            split_special_tokens=True,
            **({"padding_side": "right"} if self.at_end_token else {}),
            **self.hub_arguments,
        )
        # Where the model finds no end token, all texts would be the same.
        ids = tokenizer("a").input_ids
        end = getattr(tower.model.config.text_config, "eos_token_id", None)
        # in old configurations: transformers then takes the highest token
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
    """MetaCLIP 2 of transformers, for texts in many languages: as :class:`CLIP`."""

    model_types = ("metaclip_2",)


class SigLIP(CLIP):
    """SigLIP and SigLIP 2 of transformers, NaFlex too: the pooled features of both towers, not
    normalised."""

    model_types = ("siglip", "siglip2")
    at_end_token = False


_SAFE = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
"""What open_clip takes before anything else in a folder."""


class OpenCLIP(TorchEncoder):
    """A CLIP of open_clip: the projected features of both towers, not normalised, with its own
    preprocessing.

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
        if not any(
            (folder / name).is_file() for name in _SAFE
        ):  # open_clip would take a pickle
            for file in folder.iterdir():
                if file.suffix in (".bin", ".pth"):
                    self.refuse_pickle(file.name, _SAFE[0])
        model, process = open_clip.create_model_from_pretrained(
            f"local-dir:{folder}",
            precision={"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[
                self.dtype
            ],
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
            return as_features(
                tower.model.encode_image(
                    pixels.to(self.torch_device, self.torch_dtype), normalize=False
                )
            )

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        model = self.loaded.model
        tokenizer = self.loaded.tokenizer
        with self.forward_pass(texts):
            tokens = tokenizer(self._plain(texts)).to(self.torch_device)
            return as_features(model.encode_text(tokens, normalize=False))

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        tokenizer = self.loaded.tokenizer
        inner = getattr(
            tokenizer, "tokenizer", None
        )  # of transformers; open_clip's own has none
        if inner is None:
            around = 2
            counts = [len(tokenizer.encode(text)) for text in self._plain(texts)]
        else:
            around = (
                3
                if tokenizer.tokenizer_mode == "clips"
                else int(inner.num_special_tokens_to_add())
            )
            clean = [tokenizer.clean_fn(text) for text in well_formed(texts)]
            counts = [
                len(inner(text, add_special_tokens=False, verbose=False).input_ids)
                for text in clean
            ]
        return [
            PromptUsage(count, min(count, tokenizer.context_length - around))
            for count in counts
        ]

    def _plain(self, texts: Sequence[str]) -> list[str]:
        """Texts in which open_clip's own tokenizer finds no special token, also after it has undone
        HTML in them."""
        tokenizer = self.loaded.tokenizer
        if hasattr(tokenizer, "tokenizer"):
            return well_formed(texts)
        special = re.compile(
            "|".join(
                re.escape(tokenizer.decoder[token])
                for token in tokenizer.all_special_ids
            )
        )
        spaced = [
            disarmed(tokenizer.clean_fn(each), special) for each in well_formed(texts)
        ]
        # its time grows with a word's square
        return [re.sub(r"\S{1000}", r"\g<0> ", text) for text in spaced]


INCEPTION_FILE = "inception-2015-12-05.pt"
"""The name that clean-fid looks for in its folder."""
INCEPTION_ADDRESS = (
    "https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/"
    f"{INCEPTION_FILE}"
)
INCEPTION_SHA256 = "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"
"""Of the published file, as k-diffusion checks it (``k_diffusion/evaluation.py``)."""


class Inception(TorchEncoder):
    """The network behind the FID that papers report: Inception-v3 of 2015 and clean-fid's resizing,
    2048 features.

    ``path`` is a folder that holds the file of :data:`INCEPTION_ADDRESS`, best alone. It is
    TorchScript, and of that kind only the published bytes are loaded as they are: any other file
    needs ``allow_pickle``, and what comes of it is not a FID that can be compared with others'.
    """

    libraries = ("torch", "pillow", "clean-fid")
    extra = "fid"

    dtype: Literal["float32"] = "float32"

    @cached_property
    def source(self) -> Source:
        """Return the folder or the hub repository; an error says what belongs there."""
        try:
            return super().source
        except ConfigError as error:
            if self.revision is not None:
                raise
            raise MissingSourceError(self._lacks_file) from error

    @property
    def _lacks_file(self) -> str:
        place = f"{self.title} holds no {INCEPTION_FILE}"
        return f"{place}; download it there from {INCEPTION_ADDRESS}"

    def weights(self) -> Json:
        folder = self.source.folder
        return (
            super().weights()
            if folder is None
            else {"sha256": remembered_sha256(self._file(folder))}
        )

    def load(self, source: Source) -> Tower:
        torchscript = import_extra("cleanfid.inception_torchscript")
        resizing = import_extra("cleanfid.resize")
        file = self._file(source.local([INCEPTION_FILE]))
        if not self.allow_pickle and remembered_sha256(file) != INCEPTION_SHA256:
            raise ConfigError(
                f"{INCEPTION_FILE} in {self.title} is not the published file, and can run code; "
                f"download it from {INCEPTION_ADDRESS}, or set allow_pickle if you trust it"
            )
        # torch: this format is deprecated
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
    """A model of sentence-transformers: texts only; prompted, pooled and normalised as the model
    says."""

    libraries = (
        "torch",
        "transformers",
        "tokenizers",
        "sentence-transformers",
    )
    extra = "sentence"

    def load(self, source: Source) -> Any:
        library = import_extra("sentence_transformers")
        arguments = self.weight_arguments
        code = arguments.pop("trust_remote_code")
        del arguments["revision"]  # of the hub; what is loaded is a folder
        patterns = [
            "*.json",
            "*.txt",
            "*.model",
            "*.safetensors",
            *(["*.py"] if code else []),
        ]
        folder = source.local(
            [*patterns, *(["*pytorch_model.bin"] if self.allow_pickle else [])]
        )
        # it would pool by mean what says nothing of pooling
        if not (folder / "modules.json").is_file():
            raise ConfigError(
                f"{self.title} holds no modules.json; give a checkpoint of sentence-transformers"
            )
        for file in sorted(folder.rglob("pytorch_model.bin")):
            if not any(file.parent.glob("model*.safetensors")):
                self.refuse_pickle(
                    file.relative_to(folder).as_posix(), "model.safetensors"
                )
        model = library.SentenceTransformer(
            str(folder),
            device=self.torch_device,
            trust_remote_code=code,
            local_files_only=True,
            model_kwargs=arguments | {"ignore_mismatched_sizes": True},
            processor_kwargs={"split_special_tokens": True},
        )
        network = model.transformers_model
        if network is None or not hasattr(model.tokenizer, "split_special_tokens"):
            raise ValueError(
                "its first module is not a transformer with a tokenizer of transformers"
            )
        # transformers says which weights were missing, and sentence-transformers does not pass it
        # on.
        first = load_json(read_regular(folder / "modules.json"))[0]["path"]
        _, report = type(network).from_pretrained(
            folder / first,
            config=network.config,
            device_map="meta",
            **REPORTING,
            **arguments,
        )
        refuse_random(report, unused="pooler")
        return model.eval()

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        with self.forward_pass(texts):
            settings = {
                "batch_size": max(1, len(texts)),
                "show_progress_bar": False,
                "convert_to_tensor": True,
            }
            return as_features(self.loaded.encode(well_formed(texts), **settings))

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        model = self.loaded
        prompt = (
            model.prompts[model.default_prompt_name]
            if model.default_prompt_name
            else None
        )

        def length(text: str, cut: bool) -> int:
            """Return the length of the model's input, with its special tokens and its prompt."""
            given = model.preprocess(
                [text], prompt=prompt, processing_kwargs={"text": {"truncation": cut}}
            )
            return len(given["input_ids"][0])

        with quietly(*self.loud):
            added = length("", cut=False)
            return [
                PromptUsage(
                    length(text, cut=False) - added, length(text, cut=True) - added
                )
                for text in well_formed(texts)
            ]

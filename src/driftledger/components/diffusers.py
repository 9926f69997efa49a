"""Text-to-image checkpoints in the layout of diffusers: Stable Diffusion, SDXL, SD3, FLUX and their kin."""

import json
import re
from collections.abc import Sequence
from functools import cached_property
from inspect import isclass, signature
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from PIL import Image
from pydantic import Field

from driftledger.components.base import Generator, Operational
from driftledger.components.checkpoints import (
    ADAPTER,
    CheckpointComponent,
    adapter_refused,
    disarmed,
    memory_guard,
    quietly,
    refuse_random,
)
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_json
from driftledger.core.images import ENCODING
from driftledger.core.registry import import_extra
from driftledger.core.types import Generated, Outcome, PromptUsage
from driftledger.data.hub import Source


class PromptReader:
    """The tokenizers of a loaded pipeline: what is read of a prompt, and prompts that cannot command them.

    A description is untrusted text. One that holds ``<|endoftext|>`` or ``</s>`` would be read as if it ended there,
    since tokenizers take what looks like their control tokens for the tokens themselves.
    """

    def __init__(self, pipeline: Any) -> None:
        base = import_extra("transformers").PreTrainedTokenizerBase
        parts = [getattr(part, "tokenizer", part) for part in pipeline.components.values()]
        self.tokenizers = [part for part in parts if isinstance(part, base)]
        tokens = {token.strip() for tokenizer in self.tokenizers for token in tokenizer.all_special_tokens}
        # SDXL's second tokenizer pads with "!". T5's reads full-width letters as it reads plain ones.
        spelled = [
            "".join(re.escape(x) if not "!" <= x <= "~" else f"[{re.escape(x)}{chr(ord(x) + 0xFEE0)}]" for x in token)
            for token in sorted(tokens, key=len, reverse=True)
            if token[1:]
        ]
        self.control = re.compile("|".join(spelled) or "(?!)", re.IGNORECASE)
        self.tower = None if hasattr(pipeline, "_text_preprocessing") else self._longest(pipeline)
        """The tokenizer of the tower that reads the most, and how many of a prompt's own tokens it is given; None where
        a pipeline rewrites prompts before it reads them (PixArt, Sana), or reads them by other means than CLIP and
        T5."""

    @staticmethod
    def _longest(pipeline: Any) -> tuple[Any, int] | None:
        transformers = import_extra("transformers")
        limit = signature(pipeline.__call__).parameters.get("max_sequence_length")
        towers = []
        for name, tokenizer in pipeline.components.items():
            encoder = name.replace("tokenizer", "text_encoder")
            if encoder == name or tokenizer is None or getattr(pipeline, encoder, None) is None:
                continue
            if isinstance(tokenizer, transformers.CLIPTokenizer):
                length = tokenizer.model_max_length
            elif isinstance(tokenizer, transformers.T5Tokenizer) and limit is not None:
                length = limit.default
            else:
                return None
            towers.append((tokenizer, length - tokenizer.num_special_tokens_to_add()))
        return max(towers, key=lambda tower: tower[1], default=None)

    def reading(self, prompt: str) -> PromptUsage | None:
        """Tokens of the prompt itself, without those that a tokenizer puts around it, and how many of them are read.

        One tower is counted for all, the same for every prompt: in FLUX and SD3, T5's, while CLIP reads the first 75.
        """
        if self.tower is None:
            return None
        tokenizer, limit = self.tower
        tokens = len(tokenizer(prompt, add_special_tokens=False).input_ids)
        return PromptUsage(tokens, min(tokens, limit))


class _Ready(NamedTuple):
    pipeline: Any
    arguments: dict[str, Any]
    """Of every call, beside prompts and seeds."""
    reader: PromptReader


class Diffusers(CheckpointComponent, Generator):
    """Draws with the pipeline that a checkpoint names. What a setting leaves at None is the pipeline's default."""

    provider: ClassVar[str] = "diffusers"
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "diffusers", "transformers", "pillow")
    extra: ClassVar[str] = "diffusers"
    loud: ClassVar[tuple[str, ...]] = ("diffusers", "transformers")
    """They warn of what a record says: a prompt cut off, an image flagged."""

    steps: int | None = Field(default=None, ge=1, le=1000)
    """Denoising steps."""
    guidance_scale: float | None = Field(default=None, ge=0, le=100)
    height: int | None = Field(default=None, ge=8, le=8192, multiple_of=8)
    """In pixels."""
    width: int | None = Field(default=None, ge=8, le=8192, multiple_of=8)
    negative_prompt: str | None = None
    variant: str | None = Field(default=None, pattern=r"^\w+$")
    """Which of several files of weights, e.g. ``fp16`` for ``*.fp16.safetensors``."""
    scheduler: str | None = None
    """A class that diffusers lists as compatible with the checkpoint's own, which None takes."""
    safety_checker: bool = True
    """Whether a checkpoint's safety checker is used, if it has one. What it flags is ``filtered``."""
    vae_tiling: bool = False
    """Decode large images in tiles, which takes less memory and blends at their borders."""
    offload: Operational[Literal["none", "model", "sequential"]] = "none"
    """Keep weights in the host's memory, and move each model, or each layer, to the device when it is used."""

    def identity(self) -> dict[str, Any]:
        identity, (name, config) = super().identity(), self._scheduler_config
        if self.scheduler is not None:
            scheduler = self._other_scheduler()
            name, config = type(scheduler).__name__, dict(scheduler.config)
        text = json.dumps({key: value for key, value in config.items() if not key.startswith("_")}, default=list)
        return identity | {
            "encoding": ENCODING,
            "scheduler": {"class": name, "config": json.loads(text, parse_constant=str)},  # some hold -Infinity
            "safety_checker": self._index.get("safety_checker", [None])[0] is not None,
        }

    @property
    def unrepeatable(self) -> str | None:
        # Last bits depend on a batch's size, in float32 too: of 16 images drawn in fours, 2 differ when drawn alone.
        return f"the company in its batches of {self.batch_size} changes pixels" if self.batch_size > 1 else None

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        if not prompts:
            return []
        ready = self.loaded
        with memory_guard(self.path), quietly(*self.loud):
            texts = [disarmed(prompt, ready.reader.control) for prompt in prompts]
            readings = [ready.reader.reading(text) for text in texts]
            drawn = self._draw(ready, texts, seeds)
        # DeepFloyd IF has a name of its own for it
        flags = getattr(drawn, "nsfw_content_detected", None) or getattr(drawn, "nsfw_detected", None)
        results = []
        for values, flagged, reading, prompt, text in zip(
            drawn.images, flags or [False] * len(texts), readings, prompts, texts, strict=True
        ):
            image, outcome, error = None, Outcome.OK, None
            if flagged:
                outcome, error = Outcome.FILTERED, "flagged by the checkpoint's safety checker"
            elif not np.isfinite(values).all():
                outcome = Outcome.FAILED
                error = f"the image is not finite; {self.dtype} may overflow in this checkpoint"
            else:  # H×W×3, from 0 to 1
                image = Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8))
            revised = None if text == prompt else text
            results.append(Generated(image, outcome, error=error, reading=reading, revised_prompt=revised))
        return results

    def _draw(self, ready: _Ready, texts: list[str], seeds: Sequence[int]) -> Any:
        torch = import_extra("torch")
        arguments = dict(ready.arguments)
        if "negative_prompt" in arguments:
            arguments["negative_prompt"] = [self.negative_prompt] * len(texts)  # one for all is refused
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        before = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        try:
            with torch.inference_mode(self.offload == "none"):  # weights that move meanwhile would stay in that mode
                drawn = ready.pipeline(prompt=texts, generator=generators, output_type="np", **arguments)
        except ValueError as error:  # how pipelines refuse sizes and schedulers
            raise ConfigError(f"{self.path!r:.200} cannot draw: {' '.join(str(error).split()):.400}") from error
        if not all(map(torch.equal, before, [torch.get_rng_state(), *torch.cuda.get_rng_state_all()])):
            name = type(ready.pipeline.scheduler).__name__
            raise ConfigError(f"{self.path!r:.200}: {name} draws noise that no seed reaches; set another scheduler")
        return drawn

    def load(self, source: Source) -> _Ready:
        if self.offload != "none" and self.torch_device == "cpu":
            raise ConfigError(f"{self.path!r:.200}: offload is for a device beside the CPU; remove it, or set device")
        diffusers = import_extra("diffusers")
        arguments = self.weight_arguments | {"variant": self.variant}
        revision = arguments.pop("revision")
        without = {name: None for name, part in self._index.items() if part[0] is None}
        folder = source.folder or Path(
            diffusers.DiffusionPipeline.download(source.repository, revision=revision, **arguments, **without)
        )
        parts = {name: self._whole(folder, name, *where) for name, where in self._index.items() if where[0]}
        given = {name: part for name, part in parts.items() if part is not None} | without
        pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(folder, **arguments, **given)
        if pipeline._load_connected_pipes:  # found by a name in its README, at no commit
            raise ConfigError(f"{self.path!r:.200} needs a second checkpoint, which nothing pins; use another")
        call_arguments = self._arguments(pipeline)
        if self.scheduler is not None:
            pipeline.scheduler = self._other_scheduler()
        if getattr(pipeline, "watermark", None) is not None:  # SDXL's, if a library for it happens to be installed
            pipeline.watermark = None
        if self.vae_tiling:
            if not hasattr(getattr(pipeline, "vae", None), "enable_tiling"):
                raise ConfigError(f"{self.path!r:.200} cannot decode in tiles; remove vae_tiling")
            pipeline.vae.enable_tiling()
        pipeline.set_progress_bar_config(disable=True)
        if self.offload == "model":
            pipeline.enable_model_cpu_offload(device=self.torch_device)
        elif self.offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=self.torch_device)
        else:
            pipeline.to(self.torch_device)
        return _Ready(pipeline, call_arguments, PromptReader(pipeline))

    def _whole(self, folder: Path, name: str, library: str, class_name: str) -> Any:
        """A part that has weights, with all of them: pipelines only warn where some are missing."""
        diffusers, transformers = import_extra("diffusers"), import_extra("transformers")
        homes = {"diffusers": diffusers, "transformers": transformers}
        home = homes.get(library) or getattr(diffusers.pipelines, library, None)
        kind: Any = getattr(home, class_name, None)
        if not isclass(kind) or not issubclass(kind, (diffusers.ModelMixin, transformers.PreTrainedModel)):
            return None  # without weights, or for the pipeline to refuse
        place = folder / name if (folder / name).is_dir() else folder
        if (place / ADAPTER).is_file():
            raise adapter_refused(f"{name} of {self.path!r:.200}")
        arguments = {key: value for key, value in self.weight_arguments.items() if key in ("dtype", "use_safetensors")}
        if self.variant is not None and any(place.glob(f"*.{self.variant}*")):
            arguments["variant"] = self.variant
        if issubclass(kind, transformers.PreTrainedModel):
            arguments["ignore_mismatched_sizes"] = True  # to read of them in the report
        loader: Any = kind
        part, report = loader.from_pretrained(place, output_loading_info=True, **arguments)
        try:
            refuse_random(report)
        except ValueError as error:
            raise ConfigError(f"{self.path!r:.200} is damaged: {name}: {error}; fetch it again") from None
        return part

    def _arguments(self, pipeline: Any) -> dict[str, Any]:
        taken = signature(pipeline.__call__).parameters
        arguments = {}
        for setting in ("steps", "guidance_scale", "height", "width", "negative_prompt"):
            value, argument = getattr(self, setting), "num_inference_steps" if setting == "steps" else setting
            if value is None:
                continue
            unread = setting == "negative_prompt" and "true_cfg_scale" in taken and taken["true_cfg_scale"].default <= 1
            if argument not in taken or unread:  # FLUX takes a negative prompt, and by default does not look at it
                name = type(pipeline).__name__
                raise ConfigError(f"{self.path!r:.200}: {setting} has no effect on a {name}; remove it")
            arguments[argument] = value
        # Its cleaning of prompts depends on whether ftfy and bs4 are installed.
        return arguments | ({"clean_caption": False} if "clean_caption" in taken else {})

    @cached_property
    def _index(self) -> dict[str, list[Any]]:
        """The name of each part → its library and its class; None twice where the checkpoint has no such part, or where
        it is a safety checker that is not wanted."""
        index = self._json("model_index.json")
        unwanted = "" if self.safety_checker else "safety_checker"
        return {
            name: [None, None] if name == unwanted else part
            for name, part in index.items()
            if isinstance(part, list) and len(part) == 2 and not name.startswith("_")
        }

    @cached_property
    def _scheduler_config(self) -> tuple[str, dict[str, Any]]:
        """The class of the checkpoint's own, and what it is built from, read without loading anything."""
        name = self._index.get("scheduler", [None, None])[1]
        if name is None:
            raise ConfigError(f"{self.path!r:.200} names no scheduler in model_index.json; use another checkpoint")
        return name, self._json("scheduler/scheduler_config.json")

    def _other_scheduler(self) -> Any:
        """One that the settings ask for, from the configuration of the checkpoint's own."""
        diffusers = import_extra("diffusers")
        name, config = self._scheduler_config
        with quietly(*self.loud):
            compatible = getattr(diffusers, name).from_config(config).compatibles
            fitting = {one.__name__: one for one in compatible if issubclass(one, diffusers.SchedulerMixin)}
            if self.scheduler not in fitting:
                raise ConfigError(unknown_name(f"{self.path!r:.200}: scheduler", str(self.scheduler), fitting))
            return fitting[self.scheduler].from_config(config)

    def _json(self, name: str) -> dict[str, Any]:
        """A small file of the checkpoint, from the folder, the hub's cache or the hub."""
        try:
            file = self.source.local([name]) / name
            content: dict[str, Any] = load_json(file.read_bytes(), finite=False)
            if not isinstance(content, dict):
                raise ValueError("it is not an object")
            return content
        except (OSError, ValueError) as error:
            problem = f"{name} cannot be read ({' '.join(str(error).split()):.300})"
            raise ConfigError(f"{self.path!r:.200} is not a checkpoint of diffusers: {problem}") from None

"""Text-to-image checkpoints in the layout of diffusers: Stable Diffusion, SDXL, SD3, FLUX and their
kin."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from inspect import isclass, signature
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from PIL import Image
from pydantic import Field, JsonValue, model_validator

from driftledger.components.adapters import does_nothing, is_dora
from driftledger.components.base import Generator, Operational, library_versions
from driftledger.components.checkpoints import (
    ADAPTER,
    CheckpointComponent,
    adapter_refused,
    bitsandbytes,
    disarmed,
    quietly,
    refuse_random,
    remembered_sha256,
)
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_json, read_regular
from driftledger.core.media import ENCODING
from driftledger.core.registry import import_extra
from driftledger.core.strict import Strict
from driftledger.core.types import Outcome, PromptUsage, Result
from driftledger.data.hub import Source, find_source

OWN_ARGUMENTS = {"num_inference_steps": "steps"} | {
    name: name for name in ("guidance_scale", "height", "width", "negative_prompt")
}
"""Arguments of a pipeline's call → the settings for them."""
NOT_SET = {
    "prompt",
    "image",
    "generator",
    "latents",
    "output_type",
    "return_dict",
    "num_images_per_prompt",
}
"""Arguments that no setting may change."""


class WeightsFile(Strict):
    """One file with weights: in a local folder, or in a repository on the hub at a revision."""

    path: str = Field(min_length=1)
    revision: str | None = None
    file: str = Field(pattern=r"^\w[\w./-]*\.(safetensors|gguf)$")

    @cached_property
    def source(self) -> Source:
        return find_source(self.path, self.revision)

    def local(self) -> Path:
        """Its place, after it is fetched."""
        file = self.source.local([self.file]) / self.file
        if not file.is_file():
            raise ConfigError(
                f"{self.path!r:.200} has no file {self.file!r:.200}; correct file"
            )
        return file

    def identity(self) -> Json:
        """Return the commit and the file's name, or the SHA-256 of a local file; and the scale of a
        LoRA."""
        folder, repository, commit = self.source
        of_hub = {"repository": repository, "commit": commit, "file": self.file}
        file = of_hub if folder is None else {"sha256": remembered_sha256(self.local())}
        return file | self.model_dump(include={"scale"})


class LoRA(WeightsFile):
    """An adapter of diffusers, and how strongly it works."""

    scale: float = Field(default=1.0, ge=-10, le=10)


def _spelled(token: str) -> str:
    """Return a pattern for a token; T5's reads full-width letters as it reads plain ones."""
    pattern = ""
    for letter in token:
        plain = re.escape(letter)
        if "!" <= letter <= "~":
            plain = f"[{plain}{chr(ord(letter) + 0xFEE0)}]"
        pattern += plain
    return pattern


class PromptReader:
    """The tokenizers of a loaded pipeline: what is read of a prompt, and prompts that cannot
    command them.

    A description is untrusted text. One that holds ``<|endoftext|>`` or ``</s>`` would be read as
    if it ended there, since tokenizers take what looks like their control tokens for the tokens
    themselves.
    """

    def __init__(self, pipeline: Any, limit: int | None) -> None:
        """``limit``: the most tokens of a prompt that the pipeline keeps, where it has such a
        setting."""
        base = import_extra("transformers").PreTrainedTokenizerBase
        self.limit = limit
        self.preprocess = getattr(pipeline, "_text_preprocessing", None)
        """How a pipeline rewrites prompts before it reads them (PixArt, Sana)."""
        parts = {}
        for name, part in pipeline.components.items():
            parts[name] = getattr(part, "tokenizer", part)
        self.towers: list[tuple[Any, Any]] = []
        tokens: set[str] = set()
        for name, tokenizer in parts.items():
            if not isinstance(tokenizer, base):
                continue
            tokens.update(map(str.strip, tokenizer.all_special_tokens))
            encoder = parts.get(name.replace("tokenizer", "text_encoder"))
            if isinstance(encoder, import_extra("transformers").PreTrainedModel):
                if encoder.config.model_type == "clap":
                    encoder = encoder.text_model
                self.towers.append((tokenizer, encoder))
        longest_first = sorted(tokens, key=len, reverse=True)
        # SDXL's second tokenizer pads with "!".
        spelled = [_spelled(token) for token in longest_first if token[1:]]
        self.control = re.compile("|".join(spelled) or "(?!)", re.IGNORECASE)

    @contextmanager
    def listening(self) -> Iterator[list[list[list[int]]]]:
        """Collect meanwhile, for each tower, the rows of tokens that its encoder is given,
        templates included."""
        rows: list[list[list[int]]] = [[] for _ in self.towers]
        hooks = []
        for (_, encoder), to in zip(self.towers, rows, strict=True):

            def listen(_: Any, given: Any, to: list[list[int]] = to) -> None:
                to.extend(given[0].reshape(-1, given[0].shape[-1]).tolist())

            size = encoder.get_input_embeddings().num_embeddings
            # T5 looks up in another module that has the same weights
            for module in encoder.modules():
                if getattr(module, "num_embeddings", None) == size:
                    hooks.append(module.register_forward_pre_hook(listen))
        try:
            yield rows
        finally:
            for hook in hooks:
                hook.remove()

    def reading(self, prompt: str, rows: list[list[list[int]]]) -> PromptUsage | None:
        """Tokens of the prompt itself, without those put around it, and how many of them the
        encoders were given.

        Of several towers, the one that was given most: in FLUX and SD3, T5, while CLIP reads the
            first 75.
        """
        if self.preprocess is not None:
            [prompt] = self.preprocess(prompt, clean_caption=False)
        readings = []
        for (tokenizer, _), given in zip(self.towers, rows, strict=True):
            tokens = tokenizer(
                prompt.strip(), add_special_tokens=False, verbose=False
            ).input_ids
            if given:
                read = max(_begun(tokens, row) for row in given)
                readings.append(
                    PromptUsage(
                        len(tokens),
                        read if self.limit is None else min(read, self.limit),
                    )
                )
        return max(readings, key=lambda reading: reading.read, default=None)


def _begun(tokens: list[int], row: list[int]) -> int:
    """Count how many of the first ``tokens`` are together in a row; the first few may have merged
    with what precedes them.

    >>> _begun([1, 2, 3], [9, 1, 2, 8]), _begun([1, 2, 3, 4], [7, 3, 4]), _begun([1], [2])
    (2, 4, 0)
    """
    blocks = SequenceMatcher(None, tokens, row, autojunk=False).get_matching_blocks()
    return max(
        (block.a + block.size for block in blocks if block.size and block.a < 8),
        default=0,
    )


class Ready(NamedTuple):
    pipeline: Any
    arguments: dict[str, Any]
    """Of every call, beside prompts and seeds."""
    reader: PromptReader


class Diffusers(CheckpointComponent, Generator):
    """Draws with the pipeline that a checkpoint names. What a setting leaves at None is the
    pipeline's default."""

    version = "1"
    libraries = (
        "torch",
        "diffusers",
        "transformers",
        "pillow",
    )
    extra = "diffusers"
    loud = ("diffusers", "transformers")
    """They warn of what a record says: a prompt cut off, an image flagged."""

    steps: int | None = Field(default=None, ge=1, le=1000)
    """Denoising steps."""
    guidance_scale: float | None = Field(default=None, ge=0, le=100)
    height: int | None = Field(default=None, ge=8, le=8192, multiple_of=8)
    """In pixels."""
    width: int | None = Field(default=None, ge=8, le=8192, multiple_of=8)
    negative_prompt: str | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """More arguments of the pipeline's call, e.g. ``max_sequence_length: 512`` or ``true_cfg_scale:
    4``."""
    quantization: Literal["8bit", "4bit"] | None = None
    """The transformer or U-Net as bitsandbytes shrinks it while it is loaded: LLM.int8, or NF4."""
    gguf: Operational[WeightsFile | None] = None
    """A GGUF file with weights for the transformer, in place of the checkpoint's; in the identity,
    like ``loras``."""
    loras: Operational[tuple[LoRA, ...]] = ()
    """Adapters that are applied together. They need peft."""
    variant: str | None = Field(default=None, pattern=r"^\w+$")
    """Which of several files of weights, e.g. ``fp16`` for ``*.fp16.safetensors``."""
    scheduler: str | None = None
    """A class that diffusers lists as compatible with the checkpoint's own, which None takes."""
    safety_checker: bool = True
    """Whether a checkpoint's safety checker is used, if it has one. What it flags is ``filtered``.
    """
    vae_tiling: bool = False
    """Decode large images in tiles, which takes less memory and blends at their borders."""
    offload: Operational[Literal["none", "model", "sequential"]] = "none"
    """Keep weights in the host's memory, and move each model, or each layer, to the device when it
    is used."""

    @property
    def pixels(self) -> int:
        return (self.height or 1024) * (self.width or 1024)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if set_twice := [name for name in self.arguments if name in OWN_ARGUMENTS]:
            raise ValueError(
                f"arguments has {set_twice[0]!r}; set {OWN_ARGUMENTS[set_twice[0]]} in place of it"
            )
        if self.gguf is not None and self.quantization is not None:
            raise ValueError("a gguf file is quantized already; remove quantization")
        return self

    def adapter_notes(self, *, fetches: bool) -> list[str]:
        notes = []
        for lora in self.loras:
            if (fetches or lora.source.folder) and does_nothing(lora.local()):
                notes.append(
                    f"its LoRA {lora.file!r:.100} does nothing: it was not trained"
                )
        return notes

    def identity(self) -> Json:
        identity, (name, config) = super().identity(), self._scheduler_config
        more: dict[str, Sequence[WeightsFile]] = {
            "gguf": [self.gguf] if self.gguf else [],
            "peft": self.loras,
        }
        applied = {
            library: [each.identity() for each in files]
            for library, files in more.items()
            if files
        }
        identity["libraries"] |= library_versions(
            *applied, *(["bitsandbytes"] if self.quantization else [])
        )
        if self.scheduler is not None:
            scheduler = self._other_scheduler()
            name = type(scheduler).__name__
            config = dict(scheduler.config)
        text = json.dumps(
            {key: value for key, value in config.items() if not key.startswith("_")},
            default=list,
        )
        return identity | {
            **applied,
            "encoding": ENCODING,
            # some hold -Infinity
            "scheduler": {
                "class": name,
                "config": json.loads(text, parse_constant=str),
            },
            "safety_checker": self._index.get("safety_checker", [None])[0] is not None,
        }

    @property
    def unrepeatable(self) -> str | None:
        # Last bits depend on a batch's size, in float32 too: of 16 images drawn in fours, 2 differ
        # when drawn alone.
        return (
            f"the company in its batches of {self.batch_size} changes pixels"
            if self.batch_size > 1
            else None
        )

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        if not prompts:
            return []
        ready = self.loaded
        with self.memory_guard(), quietly(*self.loud):
            texts = [disarmed(prompt, ready.reader.control) for prompt in prompts]
            with ready.reader.listening() as rows:
                drawn = self._draw(ready, texts, seeds)
            readings = [ready.reader.reading(text, rows) for text in texts]
        results = []
        calls = zip(self.results(ready, drawn), readings, prompts, texts, strict=True)
        for result, reading, prompt, text in calls:
            revised = None if text == prompt else text
            results.append(replace(result, reading=reading, revised_prompt=revised))
        return results

    def results(self, ready: Ready, drawn: Any) -> list[Result]:
        """Return the result of a pipeline's output for each prompt."""
        # DeepFloyd IF has a name of its own for it
        flags = getattr(drawn, "nsfw_content_detected", None) or getattr(
            drawn, "nsfw_detected", None
        )
        results = []
        for values, flagged in zip(
            drawn.images, flags or [False] * len(drawn.images), strict=True
        ):
            if flagged:
                error = "flagged by the checkpoint's safety checker"
                results.append(Result(outcome=Outcome.FILTERED, error=error))
            elif not np.isfinite(values).all():
                error = f"the image is not finite; {self.dtype} may overflow in this checkpoint"
                results.append(Result(outcome=Outcome.FAILED, error=error))
            else:  # H×W×3, from 0 to 1
                results.append(
                    Result(
                        image=Image.fromarray(
                            (values.clip(0, 1) * 255).round().astype(np.uint8)
                        )
                    )
                )
        return results

    def _draw(self, ready: Ready, texts: list[str], seeds: Sequence[int]) -> Any:
        torch = import_extra("torch")
        arguments = dict(ready.arguments)
        if "negative_prompt" in arguments:
            # one for all is refused
            arguments["negative_prompt"] = [self.negative_prompt] * len(texts)
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        before = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        try:
            # weights that move meanwhile would stay in that mode
            with torch.inference_mode(self.offload == "none"):
                # a copy: Z-Image writes its template into the list
                drawn = ready.pipeline(
                    prompt=[*texts], generator=generators, output_type="np", **arguments
                )
        except ValueError as error:  # how pipelines refuse sizes and schedulers
            raise ConfigError(
                f"{self.title} cannot draw: {' '.join(str(error).split()):.400}"
            ) from error
        unguided = getattr(ready.pipeline, "do_classifier_free_guidance", None) is False
        if (
            self.negative_prompt is not None
            and unguided
            and "true_cfg_scale" not in signature(ready.pipeline.__call__).parameters
        ):
            raise ConfigError(
                f"{self.title}: without guidance, negative_prompt has no effect; remove it"
            )
        if not all(
            map(
                torch.equal,
                before,
                [torch.get_rng_state(), *torch.cuda.get_rng_state_all()],
            )
        ):
            name = type(ready.pipeline.scheduler).__name__
            raise ConfigError(
                f"{self.title}: {name} draws noise that no seed reaches; set another scheduler"
            )
        return drawn

    def load(self, source: Source) -> Ready:
        if self.offload != "none" and self.torch_device == "cpu":
            raise ConfigError(
                f"{self.title}: offload is for a device beside the CPU; remove it, or set device"
            )
        diffusers = import_extra("diffusers")
        arguments = self.weight_arguments | {"variant": self.variant}
        revision = arguments.pop("revision")
        without = {name: None for name, part in self._index.items() if part[0] is None}
        folder = source.folder or Path(
            diffusers.DiffusionPipeline.download(
                source.repository, revision=revision, **arguments, **without
            )
        )
        parts = {
            name: self._whole(folder, name, *where)
            for name, where in self._index.items()
            if where[0]
        }
        given = {
            name: part for name, part in parts.items() if part is not None
        } | without
        try:
            pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
                folder, **arguments, **given
            )
        except ValueError as error:
            if "can't find a pipeline" not in str(error):
                raise
            pipeline = diffusers.DiffusionPipeline.from_pretrained(
                folder, **arguments, **given
            )
        if (
            pipeline._load_connected_pipes
        ):  # found by a name in its README, at no commit
            raise ConfigError(
                f"{self.title} needs a second checkpoint, which nothing pins; use another"
            )
        call_arguments = self._arguments(pipeline)
        if self.scheduler is not None:
            pipeline.scheduler = self._other_scheduler()
        # SDXL's, if a library for it happens to be installed
        if getattr(pipeline, "watermark", None) is not None:
            pipeline.watermark = None
        if self.vae_tiling:
            if not hasattr(getattr(pipeline, "vae", None), "enable_tiling"):
                raise ConfigError(
                    f"{self.title} cannot decode in tiles; remove vae_tiling"
                )
            pipeline.vae.enable_tiling()
        for number, lora in enumerate(self.loras):
            file = lora.local()
            if is_dora(file):  # diffusers leaves its magnitudes out
                raise ConfigError(
                    f"{lora.file!r:.200} is a DoRA, which is not read; merge it into the "
                    "checkpoint, and remove it"
                )
            with suppress(ValueError):  # of a file without its keys
                pipeline.load_lora_weights(
                    file.parent, weight_name=file.name, adapter_name=f"lora_{number}"
                )
            # for other weights than the pipeline's, diffusers only warns
            if f"lora_{number}" not in chain(*pipeline.get_list_adapters().values()):
                raise ConfigError(
                    f"{lora.file!r:.200} has no LoRA weights for a {type(pipeline).__name__}; "
                    "remove it"
                )
        if self.loras:
            names = [f"lora_{number}" for number in range(len(self.loras))]
            pipeline.set_adapters(
                names, adapter_weights=[lora.scale for lora in self.loras]
            )
        pipeline.set_progress_bar_config(disable=True)
        if self.offload == "none":
            pipeline.to(self.torch_device)
        else:
            getattr(pipeline, f"enable_{self.offload}_cpu_offload")(
                device=self.torch_device
            )
        default = signature(pipeline.__call__).parameters.get("max_sequence_length")
        limit = call_arguments.get("max_sequence_length", default and default.default)
        return Ready(pipeline, call_arguments, PromptReader(pipeline, limit))

    def _whole(self, folder: Path, name: str, library: str, class_name: str) -> Any:
        """Load a part that has weights, with all of them: pipelines only warn where some are
        missing."""
        diffusers = import_extra("diffusers")
        transformers = import_extra("transformers")
        homes = {"diffusers": diffusers, "transformers": transformers}
        home = homes.get(library) or getattr(diffusers.pipelines, library, None)
        kind: Any = getattr(home, class_name, None)
        if not isclass(kind) or not issubclass(
            kind, (diffusers.ModelMixin, transformers.PreTrainedModel)
        ):
            return None  # without weights, or for the pipeline to refuse
        place = folder / name if (folder / name).is_dir() else folder
        if (place / ADAPTER).is_file():
            raise adapter_refused(f"{name} of {self.title}")
        arguments = {
            key: value
            for key, value in self.weight_arguments.items()
            if key in ("dtype", "use_safetensors")
        }
        if self.variant is not None and any(place.glob(f"*.{self.variant}*")):
            arguments["variant"] = self.variant
        if issubclass(kind, transformers.PreTrainedModel):
            arguments["ignore_mismatched_sizes"] = True  # to read of them in the report
        loader: Any = kind
        if name in ("transformer", "unet") and self.gguf is not None:
            quantized = diffusers.GGUFQuantizationConfig(compute_dtype=self.torch_dtype)
            return loader.from_single_file(
                str(self.gguf.local()),
                config=str(place),
                quantization_config=quantized,
                dtype=self.torch_dtype,
            )
        if name in ("transformer", "unet") and self.quantization is not None:
            arguments["quantization_config"] = bitsandbytes(
                diffusers, self.quantization, self.torch_dtype
            )
        part, report = loader.from_pretrained(
            place, output_loading_info=True, **arguments
        )
        try:
            refuse_random(report)
        except ValueError as error:
            raise ConfigError(
                f"{self.title} is damaged: {name}: {error}; fetch it again"
            ) from None
        return part

    def _arguments(self, pipeline: Any) -> dict[str, Any]:
        """Return the arguments of the pipeline's call, as the settings say.

        Raises:
            ConfigError: the pipeline has no such argument, or does not look at it.
        """
        taken = signature(pipeline.__call__).parameters
        given = {
            name: getattr(self, setting) for name, setting in OWN_ARGUMENTS.items()
        }
        given = {
            name: value for name, value in given.items() if value is not None
        } | self.arguments
        fixed = {name for name in taken if name in NOT_SET or "embeds" in name}
        for name in given:
            if name in fixed or (name in self.arguments and name not in taken):
                raise ConfigError(
                    unknown_name(
                        f"{self.title}: argument",
                        name,
                        set(taken) - fixed - set(OWN_ARGUMENTS),
                    )
                )
            if name not in taken or self._is_ignored(name, given, pipeline):
                setting = OWN_ARGUMENTS.get(name, name)
                raise ConfigError(
                    f"{self.title}: {setting} has no effect on a {type(pipeline).__name__}; "
                    "remove it"
                )
        # Its cleaning of prompts depends on whether ftfy and bs4 are installed.
        return ({"clean_caption": False} if "clean_caption" in taken else {}) | given

    def _is_ignored(self, name: str, given: Mapping[str, Any], pipeline: Any) -> bool:
        """Return True if the pipeline takes an argument and, with this checkpoint or these others,
        does not look at it."""
        taken = signature(pipeline.__call__).parameters
        # FLUX by default does not look at it
        if name == "negative_prompt" and "true_cfg_scale" in taken:
            return bool(
                given.get("true_cfg_scale", taken["true_cfg_scale"].default) <= 1
            )
        if name == "true_cfg_scale":
            return "negative_prompt" not in given
        if (
            name == "guidance_scale"
        ):  # learnt by some transformers; distilled ones have none
            config = getattr(getattr(pipeline, "transformer", None), "config", {})
            guided = hasattr(
                type(pipeline), "do_classifier_free_guidance"
            ) or config.get("guidance_embeds", True)
            return not guided or bool(pipeline.config.get("is_distilled"))
        return False

    @cached_property
    def _index(self) -> dict[str, list[Any]]:
        """The name of each part → its library and its class; None twice where the checkpoint has no
        such part, or where it is a safety checker that is not wanted."""
        index = self._json("model_index.json")
        unwanted = "" if self.safety_checker else "safety_checker"
        parts = {}
        for name, part in index.items():
            if isinstance(part, list) and len(part) == 2 and not name.startswith("_"):
                parts[name] = [None, None] if name == unwanted else part
        return parts

    @cached_property
    def _scheduler_config(self) -> tuple[str, Json]:
        """The class of the checkpoint's own, and what it is built from, read without loading
        anything."""
        name = self._index.get("scheduler", [None, None])[1]
        if name is None:
            raise ConfigError(
                f"{self.title} names no scheduler in model_index.json; use another checkpoint"
            )
        return name, self._json("scheduler/scheduler_config.json")

    def _other_scheduler(self) -> Any:
        """One that the settings ask for, from the configuration of the checkpoint's own."""
        diffusers = import_extra("diffusers")
        name, config = self._scheduler_config
        with quietly(*self.loud):
            compatible = getattr(diffusers, name).from_config(config).compatibles
            fitting = {
                one.__name__: one
                for one in compatible
                if issubclass(one, diffusers.SchedulerMixin)
            }
            if self.scheduler not in fitting:
                raise ConfigError(
                    unknown_name(
                        f"{self.title}: scheduler", str(self.scheduler), fitting
                    )
                )
            return fitting[self.scheduler].from_config(config)

    def _json(self, name: str) -> Json:
        """Return a small file of the checkpoint, from the folder, the hub's cache or the hub."""
        try:
            file = self.source.local([name]) / name
            content: Json = load_json(read_regular(file), finite=False)
            if not isinstance(content, dict):
                raise ValueError("it is not an object")
            return content
        except (OSError, ValueError) as error:
            problem = f"{name} cannot be read ({' '.join(str(error).split()):.300})"
            raise ConfigError(
                f"{self.title} is not a checkpoint of diffusers: {problem}"
            ) from None

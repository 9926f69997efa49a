"""Text-to-image checkpoints in the layout of diffusers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
    memory_guard,
    quietly,
    refuse_random,
    remembered_sha256,
    torch_dtype,
)
from driftledger.components.prompt_reader import PromptReader
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_json, read_regular
from driftledger.core.media import ENCODING
from driftledger.core.registry import import_extra
from driftledger.core.strict import Strict
from driftledger.core.text import for_line
from driftledger.core.types import Outcome, Result
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


class LoRA(Strict):
    """An adapter of diffusers in one file, with the strength that it is applied with.

    The file is in a local folder, or in a repository on the hub at a revision.
    """

    path: str = Field(min_length=1)
    revision: str | None = None
    file: str = Field(pattern=r"^\w[\w./-]*\.safetensors$")
    scale: float = Field(default=1.0, ge=-10, le=10)

    @cached_property
    def source(self) -> Source:
        return find_source(self.path, self.revision)

    def local(self) -> Path:
        """Fetch the file, and return its path."""
        file = self.source.local([self.file]) / self.file
        if not file.is_file():
            raise ConfigError(
                f"{self.path!r:.200} has no file {self.file!r:.200}; correct file"
            )
        return file

    def identity(self) -> Json:
        """Return the scale, and the file's commit and name, or its SHA-256 if it is local."""
        folder, repository, commit = self.source
        of_hub = {"repository": repository, "commit": commit, "file": self.file}
        file = of_hub if folder is None else {"sha256": remembered_sha256(self.local())}
        return {**file, "scale": self.scale}


class Ready(NamedTuple):
    pipeline: Any
    arguments: dict[str, Any]
    """Those of every call, apart from prompts and seeds."""
    reader: PromptReader


class Diffusers(CheckpointComponent, Generator):
    """Draws with the pipeline that a checkpoint names; a setting of None is its default."""

    version = "1"
    libraries = (
        "torch",
        "diffusers",
        "transformers",
        "pillow",
    )
    extra = "diffusers"
    loud = ("diffusers", "transformers")
    """They warn of what records say already: a prompt was cut, an image was flagged."""

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
    """How bitsandbytes shrinks the transformer or U-Net: LLM.int8 or NF4."""
    loras: Operational[tuple[LoRA, ...]] = ()
    """Adapters that are applied together, which are in the identity; they need peft."""
    variant: str | None = Field(default=None, pattern=r"^\w+$")
    """The variant of the files with weights, e.g. ``fp16`` for ``*.fp16.safetensors``."""
    scheduler: str | None = None
    """A class that diffusers lists as compatible with the checkpoint's own; None is its own."""
    safety_checker: bool = True
    """Whether a checkpoint's safety checker is used; an image that it flags is ``filtered``."""
    vae_tiling: bool = False
    """Whether images are decoded in tiles with blended borders, which takes less memory."""
    offload: Operational[Literal["none", "model", "sequential"]] = "none"
    """Whether weights stay in the host's memory until a model, or a layer, is used."""

    @property
    def pixels(self) -> int:
        return (self.height or 1024) * (self.width or 1024)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if set_twice := [name for name in self.arguments if name in OWN_ARGUMENTS]:
            raise ValueError(
                f"arguments has {set_twice[0]!r}; set {OWN_ARGUMENTS[set_twice[0]]} in place of it"
            )
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
        identity = super().identity()
        name, config = self._scheduler_config
        libraries = []
        if self.loras:
            identity["peft"] = [lora.identity() for lora in self.loras]
            libraries.append("peft")
        if self.quantization is not None:
            libraries.append("bitsandbytes")
        identity["libraries"] |= library_versions(*libraries)
        if self.scheduler is not None:
            scheduler = self._other_scheduler()
            name = type(scheduler).__name__
            config = dict(scheduler.config)
        text = json.dumps(
            {key: value for key, value in config.items() if not key.startswith("_")},
            default=list,
        )
        return identity | {
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
        if self.batch_size == 1:
            return None
        return f"the company in its batches of {self.batch_size} changes pixels"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        if not prompts:
            return []
        ready = self.loaded
        with memory_guard(self.path), quietly(*self.loud):
            texts = [disarmed(prompt, ready.reader.control) for prompt in prompts]
            with ready.reader.listening() as rows:
                drawn = self._draw(ready, texts, seeds)
            readings = [ready.reader.reading(text, rows) for text in texts]
        results = []
        images = _results(drawn, self.dtype)
        calls = zip(images, readings, prompts, texts, strict=True)
        for result, reading, prompt, text in calls:
            revised = None if text == prompt else text
            results.append(replace(result, reading=reading, revised_prompt=revised))
        return results

    def _draw(self, ready: Ready, texts: list[str], seeds: Sequence[int]) -> Any:
        torch = import_extra("torch")
        arguments = dict(ready.arguments)
        if "negative_prompt" in arguments:
            # a single one for all prompts is refused
            arguments["negative_prompt"] = [self.negative_prompt] * len(texts)
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        before = _random_states(torch)
        try:
            # weights that are moved in inference mode would stay in it
            with torch.inference_mode(self.offload == "none"):
                # a copy of the list: Z-Image writes its template into it
                drawn = ready.pipeline(
                    prompt=[*texts], generator=generators, output_type="np", **arguments
                )
        except ValueError as error:  # how pipelines refuse sizes and schedulers
            raise ConfigError(
                f"{self.title} cannot draw: {for_line(str(error)):.400}"
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
        if not all(map(torch.equal, before, _random_states(torch))):
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
        parts: dict[str, Any] = {**without}
        for name, (library, class_name) in self._index.items():
            if library:
                part = self._whole(folder, name, library, class_name)
                if part is not None:
                    parts[name] = part
        try:
            pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
                folder, **arguments, **parts
            )
        except ValueError as error:
            if "can't find a pipeline" not in str(error):
                raise
            pipeline = diffusers.DiffusionPipeline.from_pretrained(
                folder, **arguments, **parts
            )
        if pipeline._load_connected_pipes:  # named in its README, without a commit
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
        self._apply_loras(pipeline)
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

    def _apply_loras(self, pipeline: Any) -> None:
        """Add the LoRAs to the pipeline.

        Raises:
            ConfigError: one is a DoRA, or has no weights for the pipeline.
        """
        for number, lora in enumerate(self.loras):
            file = lora.local()
            if is_dora(file):  # diffusers leaves its magnitudes out
                raise ConfigError(
                    f"{lora.file!r:.200} is a DoRA, which is not read; merge it into the "
                    "checkpoint, and remove it"
                )
            with suppress(ValueError):  # the file has no keys of a LoRA
                pipeline.load_lora_weights(
                    file.parent, weight_name=file.name, adapter_name=f"lora_{number}"
                )
            # for weights that the pipeline lacks, diffusers only warns
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

    def _whole(self, folder: Path, name: str, library: str, class_name: str) -> Any:
        """Load a part with all of its weights; return None for one that has none.

        A pipeline that loads it only warns if weights are missing.
        """
        diffusers = import_extra("diffusers")
        transformers = import_extra("transformers")
        homes = {"diffusers": diffusers, "transformers": transformers}
        home = homes.get(library) or getattr(diffusers.pipelines, library, None)
        kind: Any = getattr(home, class_name, None)
        models = (diffusers.ModelMixin, transformers.PreTrainedModel)
        if not (isclass(kind) and issubclass(kind, models)):
            return None  # it has no weights, or the pipeline refuses it
        place = folder / name if (folder / name).is_dir() else folder
        if (place / ADAPTER).is_file():
            raise adapter_refused(f"{name} of {self.title}")
        arguments = self.weight_arguments
        del arguments["revision"], arguments["trust_remote_code"]
        if self.variant is not None and any(place.glob(f"*.{self.variant}*")):
            arguments["variant"] = self.variant
        if issubclass(kind, transformers.PreTrainedModel):
            arguments["ignore_mismatched_sizes"] = True  # so that the report names them
        if name in ("transformer", "unet") and self.quantization is not None:
            arguments["quantization_config"] = bitsandbytes(
                diffusers, self.quantization, torch_dtype(self.dtype)
            )
        loader: Any = kind
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
            ConfigError: the pipeline has no such argument, or does not use it.
        """
        taken = signature(pipeline.__call__).parameters
        arguments = {}
        for name, setting in OWN_ARGUMENTS.items():
            if getattr(self, setting) is not None:
                arguments[name] = getattr(self, setting)
        arguments |= self.arguments
        fixed = {name for name in taken if name in NOT_SET or "embeds" in name}
        for name in arguments:
            if name in fixed or (name in self.arguments and name not in taken):
                raise ConfigError(
                    unknown_name(
                        f"{self.title}: argument",
                        name,
                        set(taken) - fixed - set(OWN_ARGUMENTS),
                    )
                )
            if name not in taken or _is_ignored(name, arguments, pipeline):
                setting = OWN_ARGUMENTS.get(name, name)
                raise ConfigError(
                    f"{self.title}: {setting} has no effect on a {type(pipeline).__name__}; "
                    "remove it"
                )
        if "clean_caption" in taken:
            # its result depends on whether ftfy and bs4 are installed
            arguments = {"clean_caption": False} | arguments
        return arguments

    @cached_property
    def _index(self) -> dict[str, list[Any]]:
        """Name of a part → its library and its class.

        Both are None if the checkpoint lacks the part, or if it is a safety checker that is
        unwanted.
        """
        index = self._json("model_index.json")
        unwanted = "" if self.safety_checker else "safety_checker"
        parts = {}
        for name, part in index.items():
            if isinstance(part, list) and len(part) == 2 and not name.startswith("_"):
                parts[name] = [None, None] if name == unwanted else part
        return parts

    @cached_property
    def _scheduler_config(self) -> tuple[str, Json]:
        """The class of the checkpoint's own scheduler, and its configuration."""
        name = self._index.get("scheduler", [None, None])[1]
        if name is None:
            raise ConfigError(
                f"{self.title} names no scheduler in model_index.json; use another checkpoint"
            )
        return name, self._json("scheduler/scheduler_config.json")

    def _other_scheduler(self) -> Any:
        """Build the scheduler of the settings from the configuration of the checkpoint's own."""
        diffusers = import_extra("diffusers")
        name, config = self._scheduler_config
        with quietly(*self.loud):
            compatible = getattr(diffusers, name).from_config(config).compatibles
            fitting = {}
            for kind in compatible:
                if issubclass(kind, diffusers.SchedulerMixin):
                    fitting[kind.__name__] = kind
            if self.scheduler not in fitting:
                raise ConfigError(
                    unknown_name(
                        f"{self.title}: scheduler", str(self.scheduler), fitting
                    )
                )
            return fitting[self.scheduler].from_config(config)

    def _json(self, name: str) -> Json:
        """Read a small JSON file of the checkpoint, from the folder, the hub's cache or the hub."""
        try:
            file = self.source.local([name]) / name
            content: Json = load_json(read_regular(file), finite=False)
            if not isinstance(content, dict):
                raise ValueError("it is not an object")
            return content
        except (OSError, ValueError) as error:
            problem = f"{name} cannot be read ({for_line(str(error)):.300})"
            raise ConfigError(
                f"{self.title} is not a checkpoint of diffusers: {problem}"
            ) from None


def _results(drawn: Any, dtype: str) -> Iterator[Result]:
    """Yield the result of each image of a pipeline's output."""
    # DeepFloyd IF has a name of its own for it
    flags = getattr(drawn, "nsfw_content_detected", None) or getattr(
        drawn, "nsfw_detected", None
    )
    flags = flags or [False] * len(drawn.images)
    for values, is_flagged in zip(drawn.images, flags, strict=True):
        if is_flagged:
            error = "flagged by the checkpoint's safety checker"
            yield Result(outcome=Outcome.FILTERED, error=error)
        elif not np.isfinite(values).all():
            error = f"the image is not finite; {dtype} may overflow in this checkpoint"
            yield Result(outcome=Outcome.FAILED, error=error)
        else:  # H×W×3, from 0 to 1
            pixels = (values.clip(0, 1) * 255).round().astype(np.uint8)
            yield Result(image=Image.fromarray(pixels))


def _random_states(torch: Any) -> list[Any]:
    """Return the states of the random generators that no seed of ours reaches."""
    return [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]


def _is_ignored(name: str, arguments: Mapping[str, Any], pipeline: Any) -> bool:
    """Return True if the pipeline takes an argument and, with these others, does not use it."""
    taken = signature(pipeline.__call__).parameters
    if name == "negative_prompt" and "true_cfg_scale" in taken:
        # FLUX by default does not use it
        scale = arguments.get("true_cfg_scale", taken["true_cfg_scale"].default)
        return bool(scale <= 1)
    if name == "true_cfg_scale":
        return "negative_prompt" not in arguments
    if name == "guidance_scale":
        # some transformers have learned it; distilled ones have no guidance
        config = getattr(getattr(pipeline, "transformer", None), "config", {})
        is_guided = hasattr(
            type(pipeline), "do_classifier_free_guidance"
        ) or config.get("guidance_embeds", True)
        return not is_guided or bool(pipeline.config.get("is_distilled"))
    return False

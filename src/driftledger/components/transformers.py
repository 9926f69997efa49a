"""Vision-language checkpoints, loaded by transformers."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from driftledger.components.adapters import (
    TEMPLATES,
    does_nothing,
    other_base,
    template_of,
)
from driftledger.components.base import (
    GREY,
    Operational,
    SightedModel,
    library_versions,
)
from driftledger.components.chat import Chat, Prompt, UnfitError
from driftledger.components.checkpoints import (
    ADAPTER,
    REPORTING,
    ImageCheckpoint,
    bitsandbytes,
    memory_guard,
    read_config,
    refuse_random,
    torch_dtype,
    weights_of,
)
from driftledger.components.thinking import decoded
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.files import read_regular
from driftledger.core.grouping import grouped
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Outcome, Result, Usage
from driftledger.data.hub import Source, find_source

ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""The file in which peft saves an adapter's weights."""

MODEL_CLASSES = {
    "AutoModelForImageTextToText": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "AutoModelForMultimodalLM": "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModel": "",
}
"""A class that loads models which look and speak → transformers' mapping of the types it knows.

Code of a repository may register its model under any of these classes."""


def model_class(config: Any, trusted: bool) -> Any:
    """Return the first of :data:`MODEL_CLASSES` that knows a checkpoint.

    Args:
        trusted: whether a class in the checkpoint's own code counts, too.

    Raises:
        ValueError: none does.
    """
    mappings = import_extra("transformers.models.auto.modeling_auto")
    own = getattr(config, "auto_map", None) or {} if trusted else {}
    for name, mapping in MODEL_CLASSES.items():
        if name in own or config.model_type in getattr(mappings, mapping, ()):
            return getattr(import_extra("transformers"), name)
    raise ValueError(
        "transformers has no model that looks and speaks for its model_type "
        f"{config.model_type!r:.100}"
    )


class _Ready(NamedTuple):
    model: Any
    chat: Chat
    ends: frozenset[int]
    """The tokens that end an answer."""
    context: int | None
    """The most tokens that the model can hold; None if its configuration does not say."""


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end an answer.

    Raises:
        ValueError: the checkpoint names something else.
    """
    named = model.generation_config.eos_token_id
    if named is None:
        named = tokenizer.eos_token_id
    if named is None:
        return frozenset()
    ends = frozenset(named if isinstance(named, list) else [named])
    if not all(type(end) is int and abs(end) < 2**63 for end in ends):
        raise ValueError(
            f"eos_token_id is not a token or a list of tokens ({named!r:.100}); fetch it again"
        )
    return ends


def _adapt(model: Any, adapter: Source, name: str) -> None:
    """Fetch an adapter called ``name``, and add it to a model.

    Raises:
        ConfigError: it has no safetensors; libraries would take a pickle.
        ValueError: it does not fit, or is of a kind that is not read.
    """
    folder = adapter.local([ADAPTER, ADAPTER_WEIGHTS])
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise ConfigError(
            f"adapter {name!r:.200} has no {ADAPTER_WEIGHTS}; save it with peft's save_pretrained"
        )
    config = read_config(folder / ADAPTER)
    kind = config.get("peft_type")
    weights = None
    if config.get("use_dora"):
        # transformers does not find them by the names that peft gives them
        load = import_extra("safetensors.torch").load_file
        weights = {}
        for name, weight in load(folder / ADAPTER_WEIGHTS).items():
            weights[re.sub(r"lora_magnitude_vector$", r"\g<0>.weight", name)] = weight
    try:
        # a weight in another shape is in the report
        adapted = model.load_adapter(
            str(folder), adapter_state_dict=weights, ignore_mismatched_sizes=True
        )
        refuse_random(vars(adapted))
    except (ValueError, LookupError, NotImplementedError, TypeError) as error:
        if kind in (None, "LORA"):
            raise
        raise ValueError(
            f"an adapter of peft's kind {kind!r:.60} is not read as it is; merge it into its base "
            f"(merge_and_unload), if peft can do that, and set path to the result ({error})"
        ) from None
    if unused := sorted(adapted.unexpected_keys):
        raise ValueError(f"the base has no place for {first_few(unused)}")


class Transformers(ImageCheckpoint, SightedModel):
    """Answers with the most likely text: greedily, or by beam search.

    It does not sample: a conversation carries no seed, and equal calls must have equal replies. Of
    a checkpoint's own generation settings only the tokens that end an answer are used.
    """

    version = "1"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    blank = GREY

    beams: int = Field(default=1, ge=1, le=64)
    """How many candidates beam search follows; 1 is greedy."""
    length_penalty: float = Field(default=1.0, ge=-10, le=10)
    """The exponent of a beam's length, by which its log-likelihood is divided."""
    device_map: Operational[
        Literal["auto", "balanced", "balanced_low_0", "sequential"] | None
    ] = None
    """How accelerate spreads the layers over several devices; None puts all on :attr:`device`. Not
    in the fingerprint: it says where a layer lies, and the kind of device is in the identity."""
    quantization: Literal["8bit", "4bit"] | None = None
    """Weights as bitsandbytes shrinks them while they are loaded: LLM.int8, which computes in
    float16, or NF4."""
    attention: Literal["sdpa", "eager"] = "sdpa"
    """``sdpa`` is PyTorch's fused kernels, ``eager`` plain matrix products for checkpoints that
    support nothing else."""
    adapter: Operational[str | None] = Field(default=None, min_length=1)
    """An adapter of peft for the checkpoint: a folder, or an id on the hub. Its weights are in the
    identity."""
    adapter_revision: Operational[str | None] = None
    """The adapter's revision, as ``revision`` is the checkpoint's."""
    max_new_tokens: int = Field(default=1024, ge=1, le=131072)
    """An answer that reaches it without an end is ``truncated``. A conversation may
    allow fewer."""
    image_processor: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the checkpoint's image processor to change, e.g. ``do_image_splitting: false``
    for SmolVLM or ``size: {shortest_edge: 3136, longest_edge: 1003520}`` (pixels) for Qwen-VL."""
    template_variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables of the checkpoint's chat template to set, e.g. ``enable_thinking: false``."""
    chat_template: Operational[str | None] = None
    """A file with a Jinja template that replaces the checkpoint's; its SHA-256 is in the
    identity."""
    today: date = date(2025, 1, 1)
    """The date for a chat template that writes one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.length_penalty != 1 and self.beams == 1:
            raise ValueError(
                "length_penalty works on beams; set beams above 1, or remove it"
            )
        if self.device_map is not None and self.device != "auto":
            raise ValueError(
                "device_map chooses the devices itself; remove it, or leave device at auto"
            )
        return self

    @property
    def title(self) -> str:
        if self.adapter is None:
            return super().title
        return f"{super().title} with {ADAPTER_WEIGHTS} of {self.adapter!r:.200}"

    @property
    def continues(self) -> bool:
        return True

    @property
    def longest(self) -> int:
        return self.max_new_tokens

    def identity(self) -> Json:
        identity = super().identity()
        more = [
            "bitsandbytes" if self.quantization else None,
            "peft" if self.adapter else None,
        ]
        identity["libraries"] |= library_versions(*filter(None, more))
        if self._template is not None:
            identity["chat_template"] = sha256_of(self._template)
        if self.adapter is not None:
            identity["adapter"] = weights_of(self._adapter)
        return identity

    @cached_property
    def _adapter(self) -> Source:
        return find_source(str(self.adapter), self.adapter_revision)

    def adapter_notes(self, *, fetches: bool) -> list[str]:
        if self.adapter is None or not (fetches or self._adapter.folder):
            return []
        folder = self._adapter.local([ADAPTER, ADAPTER_WEIGHTS, *TEMPLATES])
        notes = []
        if named := other_base(folder, self.path):
            notes.append(
                f"its adapter was made for {named!r:.100}, which has another name"
            )
        of_base = template_of(self.source.local(TEMPLATES))
        if not self.chat_template and template_of(folder) not in ("", of_base):
            notes.append(
                "its adapter's own chat template is not used; chat_template may name it"
            )
        if does_nothing(folder / ADAPTER_WEIGHTS):
            notes.append("its adapter does nothing: it was not trained")
        return notes

    @cached_property
    def _template(self) -> str | None:
        if self.chat_template is None:
            return None
        try:
            return read_regular(Path(self.chat_template).expanduser()).decode()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"chat_template {self.chat_template!r:.200} cannot be read: "
                f"{for_line(str(error)):.200}"
            ) from None

    def load(self, source: Source) -> _Ready:
        processor = self._load_processor(source.location)
        tokenizer = processor.tokenizer
        config = import_extra("transformers").AutoConfig.from_pretrained(
            source.location, **self.hub_arguments
        )
        # Qwen's Omni models have this part, and one that speaks
        config = getattr(config, "thinker_config", config)
        padding = "right" if config.is_encoder_decoder else "left"
        chat = Chat(
            self.title,
            processor,
            image_settings=self.image_processor,
            variables=self.template_variables,
            today=self.today,
            own=self._template,
            padding=padding,
        )
        tokenizer.padding_side = padding
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        model = self._load_model(source.location, config)
        if self.adapter is not None:
            _adapt(model, self._adapter, self.adapter)
        if not hasattr(model, "generate"):
            raise ValueError(f"its class {type(model).__name__} generates no text")
        ends = _end_tokens(model, tokenizer)
        text_config = model.config.get_text_config()
        begins = model.generation_config.decoder_start_token_id
        if begins is None:  # of models that decode apart from their prompt
            begins = getattr(text_config, "decoder_start_token_id", None)
        # Settings that a call leaves out are taken from here.
        kind = import_extra("transformers").GenerationConfig
        model.generation_config = kind(decoder_start_token_id=begins)
        context = getattr(text_config, "max_position_embeddings", None)
        if context is not None and self.max_new_tokens >= context:
            where = f"in its context of {context} tokens"
            raise ValueError(
                f"max_new_tokens = {self.max_new_tokens} leaves no room for a prompt {where}; set "
                "fewer"
            )
        return _Ready(model, chat, ends, context)

    def _load_processor(self, location: str) -> Any:
        """Load the processor that prepares texts and images for the model."""
        transformers = import_extra("transformers")
        # for processors with a video part, whatever handles the images
        import_extra("torchvision")
        processor = transformers.AutoProcessor.from_pretrained(
            location, backend="torchvision", **self.hub_arguments
        )
        # AutoProcessor would ask the video part for the same backend
        if self.backend != "torchvision":
            processor.image_processor = transformers.AutoImageProcessor.from_pretrained(
                location, backend=self.backend, **self.hub_arguments
            )
        image_processor = getattr(processor, "image_processor", None)
        backend = getattr(image_processor, "backend", self.backend)  # some do not say
        if backend != self.backend:
            raise ValueError(
                f"it handles images with {backend} only; set image_backend: {backend}"
            )
        if image_processor is None or not hasattr(processor, "tokenizer"):
            raise ValueError("its processor has no image_processor or no tokenizer")
        return processor

    def _load_model(self, location: str, config: Any) -> Any:
        """Load the model with all of its weights."""
        transformers = import_extra("transformers")
        import_extra("accelerate")  # which puts weights on devices
        quantization = None
        if self.quantization is not None:
            dtype = torch_dtype(self.dtype)
            quantization = bitsandbytes(transformers, self.quantization, dtype)
        kind = model_class(config, self.trust_remote_code)
        try:
            model, report = kind.from_pretrained(
                location,
                config=config,
                attn_implementation=self.attention,
                device_map=self.device_map or {"": self.torch_device},
                quantization_config=quantization,
                **REPORTING,
                **self.weight_arguments,
            )
        except (ValueError, ImportError) as error:
            is_of_attention = re.search("attention|attn", str(error), re.IGNORECASE)
            if self.attention == "eager" or not is_of_attention:
                raise
            raise ConfigError(
                f"{self.title} does not run with attention: {self.attention}; set attention: eager "
                f"({for_line(str(error)):.200})"
            ) from None
        refuse_random(report)
        return model

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        """Answer the last turn of each conversation; those with one limit of tokens together.

        A conversation that the checkpoint cannot take has failed, with the reason as its error, and
        is left out of the batch. Conversations without images are a batch of their own: Llama 3.2
        Vision answers them otherwise when they share a batch with images.

        Raises:
            ConfigError: the checkpoint cannot be loaded, or its chat template cannot show such
                turns.
            OutOfMemoryError: the batch does not fit.
        """
        ready = self.loaded
        replies = {}
        prompts = {}
        for index, conversation in enumerate(conversations):
            try:
                prompts[index] = ready.chat.prompt(conversation)
            except UnfitError as error:
                replies[index] = _failed(str(error))

        def batch(index: int) -> tuple[int, bool]:
            most = conversations[index].most_tokens(self.max_new_tokens)
            return most, bool(prompts[index].images)

        with memory_guard(self.path):
            for (most, _), indices in grouped(prompts, batch).items():
                inputs, unfit = self._encoded(
                    ready, {index: prompts[index] for index in indices}, most
                )
                for index, why in unfit.items():
                    replies[index] = _failed(why)
                fit = [index for index in indices if index not in unfit]
                if fit:
                    answered = [conversations[index] for index in fit]
                    answers = self._answers(ready, answered, inputs, most)
                    replies |= dict(zip(fit, answers, strict=True))
        return [replies[index] for index in range(len(conversations))]

    def _encoded(
        self, ready: _Ready, prompts: Mapping[int, Prompt], most: int
    ) -> tuple[Any, dict[int, str]]:
        """Return the tensors of the prompts that fit, and what is wrong with each of the others."""
        unfit = dict[int, str]()
        try:
            inputs = ready.chat.encode([*prompts.values()])
        except ValueError as error:
            if len(prompts) == 1:
                why = f"the checkpoint's processor refuses it: {for_line(str(error)):.300}"
                return None, dict.fromkeys(prompts, why)
            for index, prompt in prompts.items():
                unfit |= self._encoded(ready, {index: prompt}, most)[1]
            if not unfit:
                raise
        else:
            lengths = inputs["attention_mask"].sum(dim=1).tolist()
            limit = "max_new_tokens" if most == self.max_new_tokens else "max_tokens"
            for index, length in zip(prompts, lengths, strict=True):
                if ready.context is not None and length + most > ready.context:
                    unfit[index] = (
                        f"{length} tokens and up to {most} to answer ({limit}) do not fit into the "
                        f"model's context of {ready.context}"
                    )
        fit = {index: prompt for index, prompt in prompts.items() if index not in unfit}
        if not fit:
            return None, unfit
        if unfit:
            inputs, _ = self._encoded(ready, fit, most)
        return inputs, unfit

    def _answers(
        self,
        ready: _Ready,
        conversations: Sequence[Conversation],
        inputs: Any,
        most: int,
    ) -> list[Result]:
        """Generate a reply to each conversation of a batch."""
        torch = import_extra("torch")
        tokenizer = ready.chat.processor.tokenizer
        broken = []
        """For each step, which scores of the next token are not numbers."""

        def watch(_: Any, scores: Any) -> Any:
            # the largest of numbers with NaN among them is NaN
            broken.append(scores.amax(dim=-1).isnan())
            return scores

        settings = import_extra("transformers").GenerationConfig(
            max_new_tokens=most,
            do_sample=False,
            num_beams=self.beams,
            length_penalty=self.length_penalty,
            early_stopping=False,
            eos_token_id=sorted(ready.ends) or None,
            pad_token_id=tokenizer.pad_token_id,
        )
        inputs = inputs.to(self.torch_device, torch_dtype(self.dtype))
        with torch.inference_mode():
            generated = ready.model.generate(
                **inputs, generation_config=settings, logits_processor=[watch]
            )
        steps = []
        if broken:
            by_step = torch.stack(broken).view(len(broken), len(conversations), -1)
            steps = by_step.any(dim=-1).T.tolist()
        prompt_lengths = inputs["attention_mask"].sum(dim=1).tolist()
        start = inputs["input_ids"].shape[1]
        if ready.model.config.is_encoder_decoder:
            start = 1
        replies = []
        for number, tokens in enumerate(generated[:, start:].tolist()):
            is_end = [token in ready.ends for token in tokens]
            length = is_end.index(True) + 1 if any(is_end) else len(tokens)
            tokens = tokens[:length]  # what follows the first end is padding
            usage = Usage(prompt_lengths[number], length)
            if steps and any(steps[number][:length]):
                why = (
                    f"the model's scores are no numbers: {self.dtype} overflowed, or weights are "
                    "broken; set another dtype"
                )
                replies.append(_failed(why, usage))
                continue
            prompt = inputs["input_ids"][number].tolist()
            text = decoded(tokenizer, tokens, prompt).strip()
            if text:  # an empty one stays empty, behind a beginning too
                text = conversations[number].whole(text)
            outcome = Outcome.OK if any(is_end) else Outcome.TRUNCATED
            replies.append(Result(text, outcome, usage=usage))
        return replies


def _failed(why: str, usage: Usage | None = None) -> Result:
    """Return the result of a conversation that the model could not answer."""
    return Result(outcome=Outcome.FAILED, error=why, usage=usage)

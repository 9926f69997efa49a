"""Vision-language checkpoints as transformers loads them, each in its own chat format.

Only the format writes control tokens. Texts are hostile: a description may hold ``<image>`` or
``<|im_end|>``, and a tokenizer does not know who wrote them.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from operator import not_
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from PIL import Image
from pydantic import Field, JsonValue, model_validator

from driftledger.components.adapters import (
    TEMPLATES,
    does_nothing,
    other_base,
    template_of,
)
from driftledger.components.base import Model, Operational, library_versions
from driftledger.components.checkpoints import (
    ADAPTER,
    REPORTING,
    CheckpointComponent,
    ImageCheckpoint,
    bitsandbytes,
    disarmed,
    read_config,
    refuse_random,
    weights_of,
)
from driftledger.components.thinking import decoded
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.files import read_regular
from driftledger.core.grouping import grouped
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Medium, Outcome, Result, Turn, Usage
from driftledger.data.hub import Source, find_source

ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""As peft saves them."""
FLASH = {"flash_attention_2": "flash-attn", "flash_attention_3": "flash-attn-3"}
"""Flash attention of transformers → the distribution that computes it."""

MODEL_CLASSES = {
    "AutoModelForImageTextToText": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "AutoModelForMultimodalLM": "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModel": "",
}
"""Classes that load models which look and speak → transformers' mapping of the types that each
knows. A repository with code of its own may have its model under any of them."""


class UnfitError(Exception):
    """One conversation cannot be put to the model as it is; the text says why."""


class Prompt(NamedTuple):
    """A conversation as a chat template writes it, with a place-holder for each image."""

    text: str
    images: tuple[Medium, ...]


@dataclass(frozen=True)
class Chat:
    """A checkpoint's processor and chat template. Of a template with several variants, the default
    one is taken.

    Raises:
        ConfigError: the template or a variable in it is missing, or an image setting is refused.
    """

    title: str
    """What sentences call the checkpoint."""
    processor: Any
    image_settings: Mapping[str, Any]
    variables: Mapping[str, Any]
    today: date
    own: str | None = None
    """A template to take in place of the checkpoint's."""
    padding: str = "left"
    """On which side shorter prompts are filled up: where new text goes on, or what an encoder reads
    ends."""
    needs: ClassVar[str] = "image_processor"
    """The part of a processor that takes what is not text."""

    def __post_init__(self) -> None:
        if self.image_settings:  # so that the setting is blamed, and not the checkpoint
            refusals = (
                TypeError,
                ValueError,
                import_extra("huggingface_hub.errors").StrictDataclassError,
            )
            try:
                self.processor.image_processor(
                    Image.new("RGB", (64, 64)),
                    return_tensors="pt",
                    **self.image_settings,
                )
            except refusals as error:
                raise ConfigError(
                    f"{self.title} cannot use image_processor: {for_line(str(error)):.300}"
                ) from None
        for variable in self.variables:
            if not re.search(rf"\b{re.escape(variable)}\b", self.template):
                raise ConfigError(
                    f"{self.title}: its chat template has no variable {variable!r:.100}; correct "
                    "template_variables"
                )

    @cached_property
    def template(self) -> str:
        """The template in Jinja. One that asks for the date gets :attr:`today`: the real one would
        change prompts every day."""
        template = (
            self.own
            or self.processor.chat_template
            or self.processor.tokenizer.chat_template
        )
        if isinstance(template, dict):
            template = template.get("default")
        if not template:
            raise ConfigError(
                f"{self.title} has no chat template: take a checkpoint tuned to chat, or set "
                "chat_template to a file"
            )
        if "strftime_now" not in template:
            return str(template)
        codes = ""
        for code in "aAbBdeFHIjmMpSTuUwWyYZ":
            codes += f".replace('%{code}', '{self.today.strftime('%' + code)}')"
        return (
            f"{{%- macro strftime_now(format) -%}}{{{{ format{codes} }}}}{{%- endmacro "
            f"%}}{template}"
        )

    @cached_property
    def control_tokens(self) -> re.Pattern[str]:
        """The words that must not come from a text: special tokens, place-holders, and words of the
        format with their own entry.

        Blanks and plain words with an entry of their own are text.
        """
        tokenizer = self.processor.tokenizer
        tokens = set(tokenizer.all_special_tokens)
        for token in tokenizer.added_tokens_decoder.values():
            is_of_format = (
                token.content in self.template and not token.content.isalnum()
            )
            if token.special or is_of_format:
                tokens.add(token.content)
        for name, value in vars(self.processor).items():
            if name.endswith("_token") and value:
                tokens.add(str(value))
        words = filter(str.strip, tokens)
        longest_first = sorted(words, key=lambda token: (-len(token), token))
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def prompt(self, conversation: Conversation) -> Prompt:
        """Render a conversation by the template, with a space inside what its texts share with the
        format.

        Raises:
            ConfigError: the template cannot show turns of these roles and parts.
            UnfitError: it leaves a text out, or something in a text would be read as part of the
                format.
        """
        control = self.control_tokens
        turns = []
        for turn in conversation.turns:
            parts = []
            for part in turn.parts:
                parts.append(disarmed(part, control) if isinstance(part, str) else part)
            turns.append(Turn(turn.role, tuple(parts)))
            if control.search(turns[-1].text):  # put together from two parts
                raise UnfitError(
                    "its text would be read as control tokens of the chat format"
                )
        rendered, as_string = self._rendered(turns)
        places = []
        for at, turn in enumerate(turns):
            for place, part in enumerate(turn.parts):
                if isinstance(part, Medium):
                    places.append((at, place))
        for number, (at, place) in enumerate(places if len(places) > 1 else (), 1):
            shown = turns[at].parts
            without = Turn(turns[at].role, shown[:place] + shown[place + 1 :])
            fewer = [*turns[:at], without, *turns[at + 1 :]]
            with suppress(
                *_template_errors()
            ):  # one that cannot do without the image shows it
                # an image would take the place of another
                if self._render(fewer, as_string) == rendered:
                    raise ConfigError(
                        f"{self.title}: its chat template leaves out image {number} of "
                        f"{len(places)}; show it one image, without examples"
                    )
        return Prompt(rendered, tuple(conversation.media))

    def encode(self, prompts: Sequence[Prompt]) -> Any:
        """Tensors for ``generate``: ``input_ids`` and ``attention_mask``, n×l, padded, and images.

        Raises:
            ValueError: the processor refuses a prompt.
        """
        text: dict[str, Any] = {
            "padding": True,
            "padding_side": self.padding,
            "truncation": False,
            "verbose": False,
        }
        # the template has written the token that begins a text, as apply_chat_template asks itself
        begin = self.processor.tokenizer.bos_token
        if begin and prompts[0].text.startswith(begin):
            text["add_special_tokens"] = False
        return self.processor(
            text=[prompt.text for prompt in prompts],
            return_tensors="pt",
            text_kwargs=text,
            **self.opened(prompts),
        )

    def opened(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        """Return the processor's arguments for what the prompts show."""
        images = [[image.open() for image in prompt.images] for prompt in prompts]
        return {
            "images": images if any(images) else None,
            "images_kwargs": dict(self.image_settings),
        }

    def _rendered(self, turns: Sequence[Turn]) -> tuple[str, bool]:
        """Return the template's text, and True if turns without images, and not the user's, had to
        be strings for it."""
        texts = [
            part.strip()
            for turn in turns
            for part in turn.parts
            if isinstance(part, str)
        ]
        refusals = []
        for as_string in (False, True):
            try:
                rendered = self._render(turns, as_string)
            except _template_errors() as error:
                refusals.append(for_line(str(error)))
                continue
            # a list, written out
            if (
                all(text in rendered for text in texts)
                and "'type': 'text'" not in rendered
            ):
                return rendered, as_string
        if len(refusals) < 2:
            raise UnfitError("the chat template leaves out a part of its text")
        roles = ", ".join(turn.role for turn in turns)
        raise ConfigError(
            f"{self.title}: its chat template cannot show these turns ({roles}): {refusals[0]:.200}"
        )

    def _render(self, turns: Sequence[Turn], as_string: bool) -> str:
        messages = []
        for turn in turns:
            content: Any = [
                {"type": "text", "text": part}
                if isinstance(part, str)
                else {"type": "image"}
                for part in turn.parts
            ]
            if (
                as_string
                and turn.role != "user"
                and all(isinstance(part, str) for part in turn.parts)
            ):
                content = "".join(map(str, turn.parts))
            messages.append({"role": turn.role, "content": content})
        begun = turns[-1].role == "assistant"
        rendered: str = self.processor.apply_chat_template(
            messages,
            chat_template=self.template,
            add_generation_prompt=not begun,
            continue_final_message=begun,
            tokenize=False,
            **self.variables,
        )
        return rendered


def model_class(config: Any, trusted: bool) -> Any:
    """Return the first of :data:`MODEL_CLASSES` that knows a checkpoint, by its own code if
    ``trusted`` or by transformers'.

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


def _template_errors() -> tuple[type[Exception], ...]:
    """Return the errors of a template that cannot take its input: Jinja's own, and those of its
    expressions."""
    from jinja2 import TemplateError

    return (
        TemplateError,
        TypeError,
        ValueError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    )


class ChatCheckpoint(CheckpointComponent, Model):
    """The settings of a vision-language checkpoint, and its chat format."""

    chat_class: ClassVar[type[Chat]] = Chat

    adapter: Operational[str | None] = Field(default=None, min_length=1)
    """An adapter of peft on top of the checkpoint: a folder, or an id on the hub; what is found
    there is in the identity."""
    adapter_revision: Operational[str | None] = None
    """As ``revision``, of the adapter."""
    max_new_tokens: int = Field(default=1024, ge=1, le=131072)
    """An answer that reaches it without an end is ``truncated``. Where a conversation allows fewer,
    it is that many."""
    image_processor: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the checkpoint's image processor to change, e.g. ``do_image_splitting: false``
    for SmolVLM or ``size: {shortest_edge: 3136, longest_edge: 1003520}`` (pixels) for Qwen-VL."""
    template_variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables of the checkpoint's chat template to set, e.g. ``enable_thinking: false``."""
    chat_template: Operational[str | None] = None
    """A file with a Jinja template to take in place of the checkpoint's; its SHA-256 is in the
    identity."""
    today: date = date(2025, 1, 1)
    """What a chat template that writes the date is given."""

    @property
    def title(self) -> str:
        if self.adapter is None:
            return super().title
        return f"{super().title} with {ADAPTER_WEIGHTS} of {self.adapter!r:.200}"

    def identity(self) -> Json:
        identity = super().identity()
        if self._template is not None:
            identity["chat_template"] = sha256_of(self._template)
        if self.adapter is not None:
            identity["adapter"] = weights_of(self._adapter)
        return identity

    @cached_property
    def _adapter(self) -> Source:
        return find_source(str(self.adapter), self.adapter_revision)

    def adapter_folder(self) -> Path:
        """Fetch the adapter.

        Raises:
            ConfigError: it has no safetensors; libraries would take a pickle.
        """
        folder = self._adapter.local([ADAPTER, ADAPTER_WEIGHTS])
        if not (folder / ADAPTER_WEIGHTS).is_file():
            raise ConfigError(
                f"adapter {self.adapter!r:.200} has no {ADAPTER_WEIGHTS}; save it with peft's "
                "save_pretrained"
            )
        return folder

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

    @property
    def continues(self) -> bool:
        return True

    @property
    def longest(self) -> int:
        return self.max_new_tokens

    def chat(self, processor: Any, image_settings: Mapping[str, Any]) -> Chat:
        if not hasattr(processor, self.chat_class.needs) or not hasattr(
            processor, "tokenizer"
        ):
            raise ValueError(
                f"its processor has no {self.chat_class.needs} or no tokenizer"
            )
        return self.chat_class(
            self.title,
            processor,
            image_settings,
            self.template_variables,
            self.today,
            self._template,
        )


class _Ready(NamedTuple):
    model: Any
    chat: Chat
    ends: frozenset[int]
    """The tokens that end an answer."""
    context: int | None
    """How many tokens the model can hold at once, where its configuration says."""


def _adapt(model: Any, folder: Path) -> None:
    """Add an adapter to a model.

    Raises:
        ValueError: it does not fit, or is of a kind that is not read.
    """
    config = read_config(folder / ADAPTER)
    kind = config.get("peft_type")
    weights = None
    if config.get("use_dora"):
        # which transformers does not find under the names that peft gives them
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


class Transformers(ImageCheckpoint, ChatCheckpoint):
    """Answers with the most likely text: greedily, or by beam search.

    It does not sample: a conversation carries no seed, and equal calls must have equal replies. Of
    a checkpoint's own generation settings only the tokens that end an answer are used.
    """

    version = "1"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")

    by_length: bool = Field(default=False, exclude_if=not_)
    """Whether prompts of like length form batches, taken from the neighbours of eight batches. That
    is less padding; like ``batch_size``, it changes last bits in reduced precision."""
    beams: int = Field(default=1, ge=1, le=64)
    """How many candidates beam search follows; 1 is greedy."""
    length_penalty: float = Field(default=1.0, ge=-10, le=10)
    """For beams: the exponent of the length that a candidate's log-likelihood is divided by."""
    device_map: Operational[
        Literal["auto", "balanced", "balanced_low_0", "sequential"] | None
    ] = None
    """How accelerate spreads the layers over several devices; None puts all on :attr:`device`. Not
    in the fingerprint: it says where a layer lies, and the kind of device is in the identity."""
    quantization: Literal["8bit", "4bit"] | None = None
    """Weights as bitsandbytes shrinks them while they are loaded: LLM.int8, which computes in
    float16, or NF4."""
    attention: Literal["sdpa", "eager", "flash_attention_2", "flash_attention_3"] = (
        "sdpa"
    )
    """PyTorch's fused kernels; matrix products one by one, for checkpoints that support nothing
    else; or flash attention, which needs a GPU and reduced precision."""

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
        if self.attention.startswith("flash") and self.dtype == "float32":
            raise ValueError(
                "flash attention has no float32; set dtype to bfloat16 or float16, or attention "
                "to sdpa"
            )
        return self

    @property
    def batch_window(self) -> int:
        return self.batch_size * (8 if self.by_length else 1)

    def identity(self) -> Json:
        identity = super().identity()
        more = [
            "bitsandbytes" if self.quantization else None,
            "peft" if self.adapter else None,
            FLASH.get(self.attention),
        ]
        identity["libraries"] |= library_versions(*filter(None, more))
        return identity

    def load(self, source: Source) -> _Ready:
        transformers = import_extra("transformers")
        location = source.location
        arguments = self.hub_arguments
        processor = self.load_processor(location)
        config = transformers.AutoConfig.from_pretrained(location, **arguments)
        # of Qwen's Omni models, without the part that speaks
        config = getattr(config, "thinker_config", config)
        padding = "right" if config.is_encoder_decoder else "left"
        chat = replace(self.chat(processor, self.image_processor), padding=padding)
        processor.tokenizer.padding_side = padding
        if processor.tokenizer.pad_token is None:
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        import_extra("accelerate")  # which puts weights on devices
        quantization = None
        if self.quantization is not None:
            quantization = bitsandbytes(
                transformers, self.quantization, self.torch_dtype
            )
        try:
            model, report = model_class(config, self.trust_remote_code).from_pretrained(
                source.location,
                config=config,
                attn_implementation=self.attention,
                device_map=self.device_map or {"": self.torch_device},
                quantization_config=quantization,
                **REPORTING,
                **self.weight_arguments,
            )
        except (ValueError, ImportError) as error:
            if self.attention == "eager" or not re.search(
                "attention|attn", str(error), re.IGNORECASE
            ):
                raise
            raise ConfigError(
                f"{self.title} does not run with attention: {self.attention}; set attention: eager "
                f"({for_line(str(error)):.200})"
            ) from None
        refuse_random(report)
        if self.adapter is not None:
            _adapt(model, self.adapter_folder())
        if not hasattr(model, "generate"):
            raise ValueError(f"its class {type(model).__name__} generates no text")
        named = model.generation_config.eos_token_id
        named = processor.tokenizer.eos_token_id if named is None else named
        ends = frozenset(
            [] if named is None else named if isinstance(named, list) else [named]
        )
        if not all(type(end) is int and abs(end) < 2**63 for end in ends):
            raise ValueError(
                f"eos_token_id is not a token or a list of tokens ({named!r:.100}); fetch it again"
            )
        # of models that decode apart from what they are given
        begins = model.generation_config.decoder_start_token_id
        if begins is None:
            begins = getattr(
                model.config.get_text_config(), "decoder_start_token_id", None
            )
        # What a call leaves open is taken from here.
        model.generation_config = transformers.GenerationConfig(
            decoder_start_token_id=begins
        )
        context = getattr(
            model.config.get_text_config(), "max_position_embeddings", None
        )
        if context is not None and self.max_new_tokens >= context:
            where = f"in its context of {context} tokens"
            raise ValueError(
                f"max_new_tokens = {self.max_new_tokens} leaves no room for a prompt {where}; set "
                "fewer"
            )
        return _Ready(model, chat, ends, context)

    def load_processor(self, location: str) -> Any:
        """Load the processor that prepares texts and images for the model."""
        transformers = import_extra("transformers")
        arguments = self.hub_arguments
        import_extra(
            "torchvision"
        )  # for processors with a video part, whatever handles the images
        processor = transformers.AutoProcessor.from_pretrained(
            location, backend="torchvision", **arguments
        )
        # AutoProcessor would ask the video part for the same backend
        if self.backend != "torchvision":
            load = transformers.AutoImageProcessor.from_pretrained
            processor.image_processor = load(
                location, backend=self.backend, **arguments
            )
        # others may not say
        backend = getattr(
            getattr(processor, "image_processor", None), "backend", self.backend
        )
        if backend != self.backend:
            raise ValueError(
                f"it handles images with {backend} only; set image_backend: {backend}"
            )
        return processor

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        """Answer the last turn of each conversation, in order; those with one limit together.

        One that the checkpoint cannot take has failed, with the reason as its error; it is left out
        of the batch. Conversations without images are a batch of their own: beside images, Llama
        3.2 Vision answers them otherwise.

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
                replies[index] = Result(outcome=Outcome.FAILED, error=str(error))

        def batch(index: int) -> tuple[int, bool]:
            return conversations[index].most_tokens(self.max_new_tokens), bool(
                prompts[index].images
            )

        with self.memory_guard():
            for (most, _), indices in grouped(prompts, batch).items():
                inputs, unfit = self._encoded(
                    ready, {index: prompts[index] for index in indices}, most
                )
                replies |= {
                    index: Result(outcome=Outcome.FAILED, error=why)
                    for index, why in unfit.items()
                }
                if fit := [index for index in indices if index not in unfit]:
                    answers = self._answers(
                        ready, [conversations[index] for index in fit], inputs, most
                    )
                    replies |= dict(zip(fit, answers, strict=True))
        return [replies[index] for index in range(len(conversations))]

    def _encoded(
        self, ready: _Ready, prompts: Mapping[int, Prompt], most: int
    ) -> tuple[Any, dict[int, str]]:
        """Tensors of the prompts that the model can take, and what is wrong with the others."""
        try:
            inputs = ready.chat.encode([*prompts.values()])
        except ValueError as error:
            if len(prompts) == 1:
                why = f"the checkpoint's processor refuses it: {for_line(str(error)):.300}"
                return None, dict.fromkeys(prompts, why)
            unfit: dict[int, str] = {}
            for index, prompt in prompts.items():
                unfit |= self._encoded(ready, {index: prompt}, most)[1]
            if not unfit:
                raise
        else:
            lengths = dict(
                zip(prompts, inputs["attention_mask"].sum(dim=1).tolist(), strict=True)
            )
            limit = "max_new_tokens" if most == self.max_new_tokens else "max_tokens"
            unfit = {}
            for index, length in lengths.items():
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
        torch = import_extra("torch")
        tokenizer = ready.chat.processor.tokenizer
        # for each step, the conversations with scores of the next token that are not numbers
        broken = []

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
        inputs = inputs.to(self.torch_device, self.torch_dtype)
        with torch.inference_mode():
            generated = ready.model.generate(
                **inputs, generation_config=settings, logits_processor=[watch]
            )
        steps = (
            torch.stack(broken)
            .view(len(broken), len(conversations), -1)
            .any(dim=-1)
            .T.tolist()
            if broken
            else []
        )
        given = inputs["attention_mask"].sum(dim=1).tolist()
        # of what is new
        start = (
            1 if ready.model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
        )
        replies = []
        for number, tokens in enumerate(generated[:, start:].tolist()):
            length = next(
                (place for place, token in enumerate(tokens, 1) if token in ready.ends),
                len(tokens),
            )
            # what follows the first end is padding
            tokens = tokens[:length]
            usage = Usage(given[number], length)
            if steps and any(steps[number][:length]):
                why = (
                    f"the model's scores are no numbers: {self.dtype} overflowed, or weights are "
                    "broken"
                )
                replies.append(
                    Result(
                        outcome=Outcome.FAILED,
                        error=f"{why}; set another dtype",
                        usage=usage,
                    )
                )
                continue
            prompt = inputs["input_ids"][number].tolist()
            text = decoded(tokenizer, tokens, prompt).strip()
            if text:  # an empty one stays empty, behind a beginning too
                text = conversations[number].whole(text)
            ended = tokens[-1] in ready.ends
            outcome = Outcome.OK if ended else Outcome.TRUNCATED
            replies.append(Result(text, outcome, usage=usage))
        return replies

"""Vision-language checkpoints as transformers loads them, each in its own chat format."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from datetime import date
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from driftledger.components.base import Model, Operational
from driftledger.components.checkpoints.ahead import Ahead
from driftledger.components.checkpoints.component import REPORTING, CheckpointComponent, lacking_weights, memory_guard
from driftledger.components.checkpoints.source import Source
from driftledger.components.models.replies import failed, reply_of, whole
from driftledger.components.models.transformers_chat import Chat, Prompt, UnfitError, load_processor
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.escaping import for_line
from driftledger.core.extras import import_extra
from driftledger.core.types import Conversation, Reply, Usage

_ROOM = 1024
"""A static cache has a multiple of these tokens: it is compiled for again only where an answer needs more."""
_SHAPES = 1_000_000
"""More sizes of batches and caches than any run has."""


class _Ready(NamedTuple):
    model: Any
    chat: Chat
    words: Any
    """A tokenizer of its own for answers: they are read while :attr:`chat` writes the next prompts."""
    ends: frozenset[int]
    """The tokens that end an answer."""
    context: int | None
    """How many tokens the model can hold at once, where its configuration says."""


class _Part(NamedTuple):
    """Conversations that are answered together."""

    indices: list[int]
    inputs: Any
    """Tensors on the host."""
    most: int
    """Tokens of an answer."""


class _Prepared(NamedTuple):
    """A batch up to what the device does."""

    parts: list[_Part]
    refused: dict[int, Reply]
    """To the conversations that the checkpoint cannot take."""


class Transformers(CheckpointComponent, Model):
    """Answers with the most likely text: greedily, or by beam search.

    It does not sample: a conversation carries no seed, and equal calls must have equal replies. Of a checkpoint's own
    generation settings only the tokens that end an answer are used.
    """

    provider: ClassVar[str] = "transformers"
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")

    max_new_tokens: int = Field(default=1024, ge=1, le=131072)
    """An answer that reaches it without an end is ``truncated``. Where a conversation allows fewer, it is that many."""
    beams: int = Field(default=1, ge=1, le=64)
    """How many candidates beam search follows; 1 is greedy."""
    length_penalty: float = Field(default=1.0, ge=-10, le=10)
    """For beams: the exponent of the length that a candidate's log-likelihood is divided by."""
    device_map: Operational[Literal["auto", "balanced", "balanced_low_0", "sequential"] | None] = None
    """How accelerate spreads the layers over several devices; None puts all on :attr:`device`. Not in the fingerprint:
    it says where a layer lies, and the kind of device is in the identity."""
    quantization: Literal["8bit", "4bit"] | None = None
    """Weights as bitsandbytes shrinks them while they are loaded: LLM.int8, which computes in float16, or NF4."""
    attention: Literal["sdpa", "eager"] = "sdpa"
    """PyTorch's fused kernels, or matrix products one by one for checkpoints that support nothing else."""
    cache_implementation: Operational[Literal["dynamic", "static"]] = "dynamic"
    """``static`` keeps keys and values in tensors of a fixed size, for which transformers compiles decoding on CUDA.
    It takes a minute for each size of batch, and rounds otherwise: where it is set, it is in the identity."""
    image_backend: Literal["pil", "torchvision"] = "pil"
    """What resizes images; the two differ by about a grey level. Pillow's arithmetic is the same on every processor."""
    image_processor: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the checkpoint's image processor to change, e.g. ``do_image_splitting: false`` for SmolVLM or
    ``size: {shortest_edge: 3136, longest_edge: 1003520}`` (pixels) for Qwen-VL."""
    template_variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables of the checkpoint's chat template to set, e.g. ``enable_thinking: false``."""
    today: date = date(2025, 1, 1)
    """What a chat template that writes the date is told."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.length_penalty != 1 and self.beams == 1:
            raise ValueError("length_penalty works on beams; set beams above 1, or remove it")
        if self.cache_implementation == "static" and self.beams > 1:
            raise ValueError("transformers compiles no beam search; set cache_implementation to dynamic, or beams to 1")
        if self.device_map is not None and self.device != "auto":
            raise ValueError("device_map chooses the devices itself; remove it, or leave device at auto")
        return self

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        more = ["pillow" if self.image_backend == "pil" else "torchvision"]
        if self.quantization is not None:
            import_extra("bitsandbytes")
            more.append("bitsandbytes")
        cache = {} if self.cache_implementation == "dynamic" else {"cache_implementation": self.cache_implementation}
        return found | {"libraries": found["libraries"] | self.versions_of(*more)} | cache

    @property
    def unrepeatable(self) -> str | None:
        if self.batch_size > 1 and self.quantization is not None:
            return f"in {self.quantization}, the company in its batches of {self.batch_size} changes what comes out"
        if self.batch_size > 1 and self.cache_implementation == "static" and self.dtype == "float32":
            return f"kernels compiled for batches of {self.batch_size} round otherwise than those for a single call"
        return super().unrepeatable

    @property
    def continues(self) -> bool:
        return True

    def load(self, source: Source) -> _Ready:
        """The model with all its weights, and the processor with the chat template.

        Raises:
            ValueError: weights are missing or of another shape, or there is no processor for images and text.
            ConfigError: the checkpoint cannot do what a setting asks for.
        """
        transformers = import_extra("transformers")
        processor = load_processor(source.location, self.image_backend, self.hub_arguments)
        chat = Chat(f"{self.path!r:.200}", processor, self.image_processor, self.template_variables, self.today)
        model = self._load_model(source)
        ends = _ends(model.generation_config.eos_token_id, processor.tokenizer.eos_token_id)
        model.generation_config = transformers.GenerationConfig()  # what a call leaves open is taken from here
        context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        return _Ready(model, chat, deepcopy(processor.tokenizer), ends, context)

    def _load_model(self, source: Source) -> Any:
        import_extra("accelerate")  # which puts weights on devices
        model, report = import_extra("transformers").AutoModelForImageTextToText.from_pretrained(
            source.location,
            attn_implementation=self.attention,
            device_map=self.device_map or {"": self.torch_device},
            quantization_config=self._quantization_config(),
            **REPORTING,
            **self.weight_arguments,
        )
        if lacking := lacking_weights(report):
            raise ValueError(
                "weights are missing or of another shape than its configuration says "
                f"({first_few(lacking, 3)}); fetch it again, or mend path"
            )
        if self.cache_implementation == "static" and not model._can_compile_fullgraph:
            raise ConfigError(
                f"{self.path!r:.200}: transformers cannot compile a {type(model).__name__} for a static cache; set "
                "cache_implementation to dynamic"
            )
        return model

    def _quantization_config(self) -> Any:
        if self.quantization is None:
            return None
        import_extra("bitsandbytes")
        config = import_extra("transformers").BitsAndBytesConfig
        if self.quantization == "8bit":
            return config(load_in_8bit=True)
        return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=self.torch_dtype)

    def prepare(self, conversations: Sequence[Conversation]) -> None:
        """Begin to write the prompts and to resize the images of the next batch, beside what is computed now.

        Returns at once, and can be called from any thread. :meth:`respond` takes what was prepared if it is given the
        same conversations. Before the checkpoint is loaded, nothing is done.
        """
        if ready := self.__dict__.get("loaded"):
            self._ahead.begin(tuple(conversations), partial(self._prepared, ready, conversations))

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Answer the last turn of each conversation, in order; those with one limit together.

        An empty answer is ``failed``: it says nothing that could be scored or gone on with, and it is no refusal. So
        is a conversation that the checkpoint cannot take, with the reason as its error; it is left out of the batch.

        Raises:
            ConfigError: the checkpoint cannot be loaded, or its chat template cannot show such turns.
            OutOfMemoryError: the batch does not fit.
        """
        ready = self.loaded
        with memory_guard(self.path):
            parts, replies = self._ahead.take(tuple(conversations), partial(self._prepared, ready, conversations))
            for part in parts:
                replies |= dict(zip(part.indices, self._answer(ready, part), strict=True))
        return [whole(each, replies[index]) for index, each in enumerate(conversations)]

    def release(self) -> None:
        super().release()
        if ahead := self.__dict__.pop("_ahead", None):
            ahead.close()

    @cached_property
    def _ahead(self) -> Ahead[_Prepared]:
        return Ahead()

    def _prepared(self, ready: _Ready, conversations: Sequence[Conversation]) -> _Prepared:
        refused: dict[int, Reply] = {}
        askable: dict[int, dict[int, Prompt]] = defaultdict(dict)
        for index, conversation in enumerate(conversations):
            asked = conversation.max_tokens
            most = self.max_new_tokens if asked is None else min(asked, self.max_new_tokens)
            try:
                askable[most][index] = ready.chat.prompt(conversation)
            except UnfitError as error:
                refused[index] = failed(str(error))
        parts = []
        for most, prompts in askable.items():
            inputs, unfit = self._encode(ready, prompts, most)
            refused |= {index: failed(why) for index, why in unfit.items()}
            if fit := [index for index in prompts if index not in unfit]:
                parts.append(_Part(fit, inputs, most))
        return _Prepared(parts, refused)

    def _encode(self, ready: _Ready, askable: Mapping[int, Prompt], most: int) -> tuple[Any, dict[int, str]]:
        """Tensors of the conversations that the model can take, and what is wrong with the others."""
        if not askable:
            return None, {}
        unfit: dict[int, str] = {}
        try:
            inputs = ready.chat.encode([*askable.values()])
            unfit = self._too_long(ready, askable, inputs, most)
        except ValueError:
            for index, prompt in askable.items():
                try:
                    unfit |= self._too_long(ready, [index], ready.chat.encode([prompt]), most)
                except ValueError as error:
                    unfit[index] = f"the checkpoint's processor refuses it: {for_line(str(error)):.300}"
            if not unfit:
                raise
        if unfit:
            inputs, _ = self._encode(ready, {index: askable[index] for index in askable if index not in unfit}, most)
        return inputs, unfit

    def _too_long(self, ready: _Ready, indices: Iterable[int], inputs: Any, most: int) -> dict[int, str]:
        limit = "max_new_tokens" if most == self.max_new_tokens else "max_tokens"
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return {
            index: f"{length} tokens and up to {most} to answer ({limit}) do not fit into the "
            f"model's context of {ready.context}"
            for index, length in zip(indices, lengths, strict=True)
            if ready.context is not None and length + most > ready.context
        }

    def _answer(self, ready: _Ready, part: _Part) -> list[Reply]:
        inputs = part.inputs.to(self.torch_device, self.torch_dtype)
        watch = _Watch()
        with import_extra("torch").inference_mode(), self._compiling():
            settings = self._generation(ready, part.most)
            cache = self._cache(ready, inputs["input_ids"].shape[1] + part.most)
            made = ready.model.generate(**inputs, **cache, generation_config=settings, logits_processor=[watch])
        answers = [_until_end(tokens, ready.ends) for tokens in made[:, inputs["input_ids"].shape[1] :].tolist()]
        texts = ready.words.batch_decode(answers, skip_special_tokens=True)
        read = inputs["attention_mask"].sum(dim=1).tolist()
        replies = [
            reply_of(text.strip(), Usage(given, len(tokens)), ended=tokens[-1] in ready.ends)
            for text, given, tokens in zip(texts, read, answers, strict=True)
        ]
        said = f"the model's scores are no numbers: {self.dtype} overflowed, or weights are broken; set another dtype"
        return [
            failed(said, reply.usage) if broken else reply
            for reply, broken in zip(replies, watch.broken([len(tokens) for tokens in answers]), strict=True)
        ]

    def _generation(self, ready: _Ready, most: int) -> Any:
        return import_extra("transformers").GenerationConfig(
            max_new_tokens=most,
            do_sample=False,
            num_beams=self.beams,
            length_penalty=self.length_penalty,
            early_stopping=False,
            eos_token_id=sorted(ready.ends) or None,
            pad_token_id=ready.words.pad_token_id,
            compile_config=self._compile_config(),
        )

    def _cache(self, ready: _Ready, tokens: int) -> dict[str, Any]:
        """A static cache that holds so many tokens of each conversation. Its size follows from this batch alone: the
        one that ``generate`` makes itself is as large as the largest before, and what was asked before must not
        change an answer's last bits."""
        if self.cache_implementation == "dynamic":
            return {}
        config = ready.model.config.get_text_config(decoder=True)
        made = import_extra("transformers").StaticCache(config=config, max_cache_len=-(-tokens // _ROOM) * _ROOM)
        return {"past_key_values": made}

    def _compile_config(self) -> Any:
        """Kernels for exactly the shapes of a batch: torch would take general ones from the second shape on."""
        if self.cache_implementation == "dynamic" or not self.torch_device.startswith("cuda"):
            return None
        return import_extra("transformers").CompileConfig(dynamic=False)

    def _compiling(self) -> AbstractContextManager[Any]:
        """Kernels for every shape: after the eighth, torch would compute without them, so that an answer's last bits
        would depend on what was asked before. So they would where it passes over what it cannot compile."""
        if self.cache_implementation == "dynamic":
            return nullcontext()
        limits = {"recompile_limit": _SHAPES, "accumulated_recompile_limit": _SHAPES}
        patched: AbstractContextManager[Any] = import_extra("torch._dynamo").config.patch(
            limits | {"fail_on_recompile_limit_hit": True, "suppress_errors": False}
        )
        return patched


class _Watch:
    """Looks at the scores of every next token, and changes none: of those that are no numbers, the first is taken."""

    def __init__(self) -> None:
        self._broken: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        self._broken.append(scores.amax(dim=-1).isnan())  # the largest of numbers with NaN among them is NaN
        return scores

    def broken(self, lengths: Sequence[int]) -> list[bool]:
        """Whether there was such a score before an answer of so many tokens ended, for each conversation: what is
        computed for it after that is padding beside longer answers. The device is waited for once, and not per token.
        """
        if not self._broken:
            return [False] * len(lengths)
        steps = import_extra("torch").stack(self._broken).view(len(self._broken), len(lengths), -1).any(dim=-1)
        return [any(row[:length]) for row, length in zip(steps.T.tolist(), lengths, strict=True)]


def _ends(configured: Any, of_tokenizer: int | None) -> frozenset[int]:
    """The tokens that end an answer, as a generation configuration names them, or else the tokenizer.

    Raises:
        ValueError: they are no numbers of tokens.
    """
    named = of_tokenizer if configured is None else configured
    ends = [] if named is None else named if isinstance(named, list) else [named]
    if not all(type(end) is int and abs(end) < 2**63 for end in ends):
        raise ValueError(f"eos_token_id is no token and no list of tokens ({named!r:.100}); fetch it anew")
    return frozenset(ends)


def _until_end(tokens: list[int], ends: frozenset[int]) -> list[int]:
    """Up to and with the first token that ends an answer; what follows is padding."""
    return tokens[: next((place for place, token in enumerate(tokens, 1) if token in ends), len(tokens))]

"""Vision-language checkpoints in vLLM's own engine: whole batches at once, on the GPUs of this machine.

Conversations are written by the checkpoint's chat template as for ``transformers``, and handed over as tokens:
``LLM.chat`` would read control tokens that a description spells out, and up to vLLM 0.28 begins some prompts twice.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from driftledger.components.base import Model, Operational
from driftledger.components.checkpoints.component import CheckpointComponent, DType, memory_guard
from driftledger.components.checkpoints.source import Source
from driftledger.components.models.replies import failed, reply_of, whole
from driftledger.components.models.transformers_chat import Chat, Prompt, UnfitError
from driftledger.core.errors import ConfigError, OutOfMemoryError
from driftledger.core.escaping import for_line
from driftledger.core.extras import import_extra
from driftledger.core.types import Conversation, Reply, Usage

SWITCH = "VLLM_BATCH_INVARIANT"
"""vLLM reads it once in a process, and in those that it starts."""
_FIRST_INVARIANT = (0, 11, 1)
"""Earlier versions do not look at :data:`SWITCH`."""
_INVARIANT_GPU = 80
"""Ten times the compute capability: A100 and newer. Versions of 2025 ask for 90, H100."""
_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # torch may have looked for GPUs in this process, and then none can fork
    "VLLM_LOGGING_LEVEL": "WARNING",
}
"""Unless the environment says otherwise."""
_FULL = ("out of memory", "No available memory", "Free memory on device")


class _Ready(NamedTuple):
    engine: Any
    chat: Chat
    sampling: Any
    """The class of vLLM's sampling parameters."""
    dead: type[Exception]
    """What is raised once the engine's process has ended."""


class VLLM(CheckpointComponent, Model):
    """Answers with the most likely text, greedily; of a checkpoint's own generation settings only the tokens that end
    an answer are used.

    Prefixes of earlier prompts are kept only with :attr:`prefix_caching`: what was asked before must not change an
    answer's last bits.
    """

    provider: ClassVar[str] = "vllm"
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ("vllm", "torch", "torchvision", "transformers", "tokenizers", "pillow")
    extra: ClassVar[str] = "vllm"

    batch_size: int = Field(default=256, ge=1, le=4096)
    """How many conversations are handed over at once, and computed at once as far as memory allows."""
    dtype: DType = "bfloat16"
    max_new_tokens: int = Field(default=1024, ge=1, le=131072)
    """An answer that reaches it without an end is ``truncated``. Where a conversation allows fewer, it is that many."""
    batch_invariant: bool = False
    """Whether vLLM computes every answer as if it were alone, which costs about a third of its speed. vLLM has it from
    0.11.1 on, for GPUs of compute capability 8.0 or more (9.0 at first), and has tried it with some models only."""
    prefix_caching: Operational[bool] = False
    """Whether what prompts begin with in common is computed once, which pays where several questions are asked about
    one image or after the same examples. Where it is on, it is in the identity."""
    tensor_parallel_size: int = Field(default=1, ge=1, le=64)
    """Over how many GPUs each layer is spread; it changes the order of sums, and thereby last bits."""
    max_model_len: int | None = Field(default=None, ge=1)
    """Tokens of a conversation and its answer together; None is the checkpoint's own limit."""
    enforce_eager: bool = False
    """Without CUDA graphs and compiled kernels: starts faster, computes more slowly."""
    gpu_memory_utilization: Operational[float] = Field(default=0.9, gt=0, le=1)
    """The share of a GPU's memory that the engine takes for itself."""
    limit_mm_per_prompt: Operational[dict[str, int]] = Field(default_factory=dict)
    """The most images of a conversation, e.g. ``image: 1``, for which memory is kept free; more are refused."""
    image_processor: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the checkpoint's image processor to change, as for ``transformers``."""
    template_variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables of the checkpoint's chat template to set, e.g. ``enable_thinking: false``."""
    today: date = date(2025, 1, 1)
    """What a chat template that writes the date is told."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.device == "mps":
            raise ValueError("vLLM does not run on mps; remove device, or take the provider transformers")
        if self.tensor_parallel_size > 1 and self.device.startswith("cuda:"):
            raise ValueError("tensor_parallel_size takes the first GPUs that are visible; leave device at auto or cuda")
        return self

    def identity(self) -> dict[str, Any]:
        return super().identity() | ({"prefix_caching": True} if self.prefix_caching else {})

    @property
    def unrepeatable(self) -> str | None:
        if self.prefix_caching:
            return "with prefix_caching, the last bits of vLLM's answers depend on what it was asked before"
        if self.batch_invariant or self.batch_size == 1:
            return None
        return "without batch_invariant, vLLM's answers depend on which calls happen to be computed beside them"

    @property
    def continues(self) -> bool:
        return True

    def load(self, source: Source) -> _Ready:
        """The engine, and the processor with the chat template.

        Raises:
            ValueError, RuntimeError: vLLM does not take the checkpoint, or there is no processor for images and text.
            ConfigError: batch invariance cannot be had here, vLLM computes on another kind of device than the
                identity says, or a setting does not fit the checkpoint.
            OutOfMemoryError: the weights or a single conversation do not fit.
        """
        arguments = self.hub_arguments
        processor = import_extra("transformers").AutoProcessor.from_pretrained(source.location, **arguments)
        if not hasattr(processor, "image_processor") or not hasattr(processor, "tokenizer"):
            raise ValueError("it has no processor for both images and text")
        chat = Chat(f"{self.path!r:.200}", processor, {}, self.template_variables, self.today)
        _ = chat.template  # before minutes of loading
        vllm = self._library()
        with _visible(self.device), self._full_or_not():
            engine = vllm.LLM(**self._arguments(source))
        dead = import_module("vllm.v1.engine.exceptions").EngineDeadError
        return _Ready(engine, chat, vllm.SamplingParams, dead)

    def _library(self) -> Any:
        """vLLM, imported under the environment that the settings ask for."""
        version = self.versions_of("vllm")["vllm"]
        wanted = str(int(self.batch_invariant))
        if "vllm" in sys.modules and os.environ.get(SWITCH, "0") != wanted:
            raise ConfigError(
                f"{self.path!r:.200}: vLLM runs in this process with another batch_invariant; give all entries of vllm "
                "the same, or collect one model at a time (driftledger collect --model)"
            )
        os.environ[SWITCH] = wanted
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        vllm = import_module("vllm")
        platform = import_module("vllm.platforms").current_platform
        self._check_device(platform)
        if self.batch_invariant:
            self._check_invariance(version, platform)
        return vllm

    def _check_device(self, platform: Any) -> None:
        """vLLM is built for one kind of device, and cannot be told another."""
        kind, built_for = self.torch_device.partition(":")[0], platform.device_type
        if kind != built_for:
            raise ConfigError(
                f"{self.path!r:.200}: the vLLM that is installed computes on {built_for or 'no device here'}, and "
                f"device is {kind}; mend device, or install vLLM for {kind}"
            )

    def _check_invariance(self, version: str, platform: Any) -> None:
        if tuple(int(number) for number in re.findall(r"\d+", version)[:3]) < _FIRST_INVARIANT:
            raise ConfigError(f"{self.path!r:.200}: vLLM {version} has no batch_invariant; take 0.11.1 or newer")
        if not platform.has_device_capability(_INVARIANT_GPU):
            raise ConfigError(
                f"{self.path!r:.200}: batch_invariant needs a GPU of compute capability 8.0 or more (A100); take "
                "another, or set it to false"
            )

    def _arguments(self, source: Source) -> dict[str, Any]:
        """Of ``LLM``; what is None or empty there is vLLM's default."""
        chosen = {
            "max_model_len": self.max_model_len,
            "limit_mm_per_prompt": self.limit_mm_per_prompt,
            "mm_processor_kwargs": self.image_processor,
            "revision": source.commit,
            "tokenizer_revision": source.commit,
            "code_revision": source.commit,
        }
        return {
            "model": source.location,
            "trust_remote_code": self.trust_remote_code,
            "load_format": "auto" if self.allow_pickle else "safetensors",
            "dtype": self.dtype,
            "seed": 0,
            "tensor_parallel_size": self.tensor_parallel_size,
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "enforce_eager": self.enforce_eager,
            "max_num_seqs": self.batch_size,
            "enable_prefix_caching": self.prefix_caching,
            **{name: value for name, value in chosen.items() if value},
        }

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """Answer the last turn of each conversation, in order.

        An empty answer is ``failed``, and so is a conversation that the checkpoint or the engine cannot take.

        Raises:
            ConfigError: the checkpoint cannot be loaded, or its chat template cannot show such turns; or the engine
                has died.
            OutOfMemoryError: it does not fit.
        """
        ready = self.loaded
        replies: dict[int, Reply] = {}
        askable: dict[int, Prompt] = {}
        for index, conversation in enumerate(conversations):
            try:
                askable[index] = ready.chat.prompt(conversation)
            except UnfitError as error:
                replies[index] = failed(str(error))
        prompts = [_for_engine(ready.chat, prompt) for prompt in askable.values()]
        limits = [self._most(conversations[index]) for index in askable]
        with self._alive(ready), memory_guard(self.path), self._full_or_not():
            replies |= dict(zip(askable, _answers(ready, prompts, limits), strict=True))
        return [whole(each, replies[index]) for index, each in enumerate(conversations)]

    def _most(self, conversation: Conversation) -> int:
        asked = conversation.max_tokens
        return self.max_new_tokens if asked is None else min(asked, self.max_new_tokens)

    @contextmanager
    def _alive(self, ready: _Ready) -> Iterator[None]:
        try:
            yield
        except ready.dead as error:
            self.release()
            raise ConfigError(
                f"{self.path!r:.200}: vLLM's engine has died ({for_line(str(error)):.200}); it says above why: lower "
                "gpu_memory_utilization or batch_size if it lacks memory, and run again; finished calls are stored"
            ) from None

    @contextmanager
    def _full_or_not(self) -> Iterator[None]:
        """vLLM checks its memory itself, and then raises what is no error of torch."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            if not any(words in str(error) for words in _FULL):
                raise
            raise OutOfMemoryError(f"{self.path}: {for_line(str(error)):.300}") from None


def _for_engine(chat: Chat, prompt: Prompt) -> dict[str, Any]:
    """A ``TokensPrompt``; vLLM puts each image's own tokens into the place of its place-holder."""
    images = [image.open() for image in prompt.images]
    return {"prompt_token_ids": chat.tokens(prompt), **({"multi_modal_data": {"image": images}} if images else {})}


def _answers(ready: _Ready, prompts: Sequence[Any], limits: Sequence[int]) -> list[Reply]:
    """One reply per prompt; where the engine refuses one, each is asked for alone."""
    if not prompts:
        return []
    sampling = [ready.sampling(temperature=0.0, max_tokens=most) for most in limits]
    try:
        return [_reply(output) for output in ready.engine.generate([*prompts], sampling, use_tqdm=False)]
    except ValueError as error:
        if any(words in str(error) for words in _FULL):
            raise
        if len(prompts) == 1:
            return [failed(f"the engine refuses it: {for_line(str(error)):.300}")]
    while ready.engine.llm_engine.has_unfinished_requests():  # early versions keep those before the refused one
        ready.engine.llm_engine.step()
    return [reply for prompt, most in zip(prompts, limits, strict=True) for reply in _answers(ready, [prompt], [most])]


def _reply(output: Any) -> Reply:
    """Of one ``RequestOutput``."""
    answer = output.outputs[0]
    usage = Usage(len(output.prompt_token_ids), len(answer.token_ids))
    if answer.finish_reason not in ("stop", "length"):
        return failed(f"the engine has given up (finish_reason: {answer.finish_reason})", usage)
    return reply_of(answer.text.strip(), usage, ended=answer.finish_reason == "stop")


@contextmanager
def _visible(device: str) -> Iterator[None]:
    """Let the engine's processes, which know no other way, see only the GPU that ``cuda:N`` names."""
    _, _, number = device.partition(":")
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    if number:
        seen = before.split(",") if before else []
        os.environ["CUDA_VISIBLE_DEVICES"] = seen[int(number)] if int(number) < len(seen) else number
    try:
        yield
    finally:
        if number and before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        elif number:
            os.environ["CUDA_VISIBLE_DEVICES"] = str(before)

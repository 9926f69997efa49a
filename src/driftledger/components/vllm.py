"""Vision-language checkpoints in vLLM's own engine on this machine's GPUs; its queue takes each
call as it is due.

Conversations are written by the checkpoint's chat template as for ``transformers``, and handed over
as tokens: ``LLM.chat`` would read control tokens that a description spells out, and up to vLLM 0.28
begins some prompts twice.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from driftledger.components.base import Operational, QueueModel
from driftledger.components.checkpoints import ADAPTER, FULL, DType, memory_guard
from driftledger.components.thinking import decoded
from driftledger.components.transformers import (
    ADAPTER_WEIGHTS,
    Chat,
    ChatCheckpoint,
    UnfitError,
    reply_of,
)
from driftledger.core.errors import ConfigError, OutOfMemoryError
from driftledger.core.files import load_json, read_regular
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Outcome, Result, Usage
from driftledger.data.hub import Source

SWITCH = "VLLM_BATCH_INVARIANT"
"""vLLM reads it once in a process, and in those that it starts."""
_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    # torch may have looked for GPUs in this process, and then none can fork
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
"""Unless the environment says otherwise."""
OWN_ARGUMENTS = {
    *(
        "model",
        "trust_remote_code",
        "load_format",
        "dtype",
        "seed",
        "tensor_parallel_size",
        "gpu_memory_utilization",
    ),
    *(
        "enforce_eager",
        "max_num_seqs",
        "enable_prefix_caching",
        "max_model_len",
        "limit_mm_per_prompt",
    ),
    *("mm_processor_kwargs", "revision", "tokenizer_revision", "code_revision"),
    *("enable_lora", "max_lora_rank"),
}
"""What the other settings give the engine."""

_NOT_LANGUAGE = re.compile(
    "visual|vision|vpm|audio|projector|connector|merger|resampler|aligner|mlp1"
)
"""Found in the names of weights outside the language model, where the engine leaves adapters out
with no more than a warning."""


class _ReadyEngine(NamedTuple):
    engine: Any
    chat: Chat
    dead: type[Exception]
    """What is raised once the engine's process has ended."""
    refusals: tuple[type[Exception], ...]
    """What is raised over a prompt that the engine does not take."""
    under_way: dict[str, tuple[int, Conversation]]
    """Calls in the engine's queue, with their numbers, by the engine's name for each."""
    lora: Any
    """The adapter as each call names it, or None."""


class VLLM(QueueModel, ChatCheckpoint):
    """Answers with the most likely text, greedily; of a checkpoint's own generation settings only
    the tokens that end an answer are used.

    Prefixes of earlier prompts are not kept: what was asked before must not change an answer's last
        bits.
    """

    provider: ClassVar[str] = "vllm"
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = (
        "vllm",
        "torch",
        "torchvision",
        "transformers",
        "tokenizers",
        "pillow",
    )
    extra: ClassVar[str] = "vllm"
    in_torch: ClassVar[bool] = False

    batch_size: int = Field(default=1024, ge=1, le=4096)
    """How many conversations are in the engine's queue at once: it begins one as soon as another
    has ended."""
    max_num_seqs: int = Field(default=256, ge=1, le=4096)
    """How many of them are computed at once, as far as memory allows."""
    dtype: DType = "bfloat16"
    batch_invariant: bool = False
    """Whether vLLM computes every answer as if it were alone, which costs about a third of its
    speed. It needs a GPU of compute capability 8.0 or more (9.0 at first), and vLLM has tried it
    with some models only."""
    tensor_parallel_size: int = Field(default=1, ge=1, le=64)
    """Over how many GPUs each layer is spread; it changes the order of sums, and thereby last bits.
    """
    max_model_len: int | None = Field(default=None, ge=1)
    """Tokens of a conversation and its answer together; None is the checkpoint's own limit."""
    enforce_eager: bool = False
    """Without CUDA graphs and compiled kernels: starts faster, computes more slowly."""
    gpu_memory_utilization: Operational[float] = Field(default=0.9, gt=0, le=1)
    """The share of a GPU's memory that the engine takes for itself."""
    limit_mm_per_prompt: Operational[dict[str, int]] = Field(default_factory=dict)
    """The most images of a conversation, e.g. ``image: 1``, for which memory is kept free; more are
    refused."""
    engine: dict[str, JsonValue] = Field(default_factory=dict)
    """More arguments of ``vllm.LLM``, e.g. ``kv_cache_dtype: fp8`` or ``quantization: fp8``."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if twice := sorted(OWN_ARGUMENTS & set(self.engine)):
            raise ValueError(
                f"engine has {twice[0]!r}, which another setting gives vLLM; remove it"
            )
        if self.device == "mps":
            raise ValueError(
                "vLLM does not run on mps; remove device, or take the provider transformers"
            )
        if self.device.startswith("cuda:"):
            raise ValueError(
                "vLLM takes the first GPUs that are visible: leave device at auto or cuda, and "
                "set CUDA_VISIBLE_DEVICES"
            )
        return self

    @property
    def unrepeatable(self) -> str | None:
        if self.batch_invariant or self.batch_size == 1:
            return None
        return (
            "without batch_invariant, vLLM's answers depend on which calls happen to be computed "
            "beside them"
        )

    def load(self, source: Source) -> _ReadyEngine:
        arguments = self.hub_arguments
        processor = import_extra("transformers").AutoProcessor.from_pretrained(
            source.location, **arguments
        )
        chat = self.chat(processor, {})
        _ = chat.template  # before minutes of loading
        wanted = str(int(self.batch_invariant))
        if "vllm" in sys.modules and os.environ.get(SWITCH, "0") != wanted:
            raise ConfigError(
                f"{self.title}: vLLM runs in this process with another batch_invariant; collect "
                "one model at a time (driftledger collect --model)"
            )
        os.environ[SWITCH] = wanted
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        vllm = import_extra("vllm")
        chosen = {
            "max_model_len": self.max_model_len,
            "limit_mm_per_prompt": self.limit_mm_per_prompt,
            "mm_processor_kwargs": self.image_processor,
            **dict.fromkeys(
                ("revision", "tokenizer_revision", "code_revision"), source.commit
            ),
        }
        lora = None
        if self.adapter is not None:
            folder = self.adapter_folder()
            chosen |= _lora_arguments(folder)
            request = import_module("vllm.lora.request").LoRARequest
            lora = request("adapter", 1, str(folder))
        try:
            engine = vllm.LLM(
                model=source.location,
                trust_remote_code=self.trust_remote_code,
                load_format="auto" if self.allow_pickle else "safetensors",
                dtype=self.dtype,
                seed=0,
                tensor_parallel_size=self.tensor_parallel_size,
                gpu_memory_utilization=self.gpu_memory_utilization,
                enforce_eager=self.enforce_eager,
                max_num_seqs=self.max_num_seqs,
                enable_prefix_caching=False,
                # None and empty are vLLM's own defaults
                **{name: value for name, value in chosen.items() if value},
                **self.engine,
            )
        except (RuntimeError, ValueError) as error:
            cuda = import_extra("torch").cuda
            problem = for_line(str(error))
            if not any(
                words in problem
                for words in ("KV cache", "Engine core initialization failed")
            ):
                raise
            free, total = cuda.mem_get_info() if cuda.is_available() else (1, 1)
            # something else is there; the engine's process said so
            if free < self.gpu_memory_utilization * total:
                raise OutOfMemoryError(
                    f"{self.path}: out of memory ({free / 1e9:.0f} GB free; {problem:.200})"
                ) from None
            raise ConfigError(
                f"{self.title}: vLLM's engine does not start ({problem:.200}); it says above why: "
                "lower max_model_len if the KV cache does not fit, or gpu_memory_utilization if "
                "others hold memory; a script of your own has to begin with if __name__ == "
                "'__main__', since the engine's process imports it"
            ) from None
        dead = import_module("vllm.v1.engine.exceptions").EngineDeadError
        # A prompt that the engine refuses: a ValueError up to 0.31.
        client_error = getattr(
            sys.modules.get("vllm.exceptions"), "VLLMClientError", ValueError
        )
        if lora is not None:  # at the first call, an error would end the engine
            engine.llm_engine.add_lora(lora)
        return _ReadyEngine(engine, chat, dead, (ValueError, client_error), {}, lora)

    def begin(self, number: int, conversation: Conversation) -> Result | None:
        """Put a conversation into the engine's queue; errors as in :meth:`step`, and where it
        cannot be loaded."""
        ready = self.loaded
        try:
            prompt = ready.chat.prompt(conversation)
        except UnfitError as error:
            return Result(outcome=Outcome.FAILED, error=str(error))
        # A TokensPrompt; vLLM puts each image's own tokens into the place of its place-holder.
        images = [image.open() for image in prompt.images]
        shown = {"multi_modal_data": {"image": images}} if images else {}
        given = {"prompt_token_ids": ready.chat.tokens(prompt), **shown}
        limit = conversation.most_tokens(self.max_new_tokens)
        sampling = import_extra("vllm").SamplingParams(
            temperature=0.0, max_tokens=limit
        )
        with self._watched(ready):
            try:
                [name] = ready.engine.enqueue(
                    [given], [sampling], lora_request=ready.lora, use_tqdm=False
                )
            except ready.refusals as error:
                if any(words in str(error) for words in FULL):
                    raise
                return Result(
                    outcome=Outcome.FAILED,
                    error=f"the engine refuses it: {for_line(str(error)):.300}",
                )
        # an output has the name without a random end
        ready.under_way[name.partition("-")[0]] = number, conversation
        return None

    def step(self) -> dict[int, Result]:
        """Wait for what the engine computes next.

        Raises:
            ConfigError: the engine has died.
            OutOfMemoryError: it lacks memory.
        """
        ready = self.loaded
        replies = dict[int, Result]()
        core = ready.engine.llm_engine.engine_core
        waiting = getattr(
            core, "outputs_queue", None
        )  # of an engine in a process of its own
        with self._watched(ready):
            while waiting is not None and waiting.empty():
                # for the output of a process that was killed, vLLM itself waits for ever
                core.ensure_alive()
                with waiting.not_empty:
                    waiting.not_empty.wait_for(lambda: waiting.queue, timeout=1)
            outputs = ready.engine.llm_engine.step()
        for output in outputs:
            number, conversation = ready.under_way.pop(output.request_id)
            answer = output.outputs[0]
            usage = Usage(len(output.prompt_token_ids), len(answer.token_ids))
            if answer.finish_reason in ("stop", "length"):
                ended = answer.finish_reason == "stop"
                text = decoded(
                    ready.chat.processor.tokenizer,
                    answer.token_ids,
                    output.prompt_token_ids,
                    answer.text,
                )
                replies[number] = reply_of(conversation, text, usage, ended=ended)
            else:
                why = f"the engine has given up (finish_reason: {answer.finish_reason})"
                replies[number] = Result(outcome=Outcome.FAILED, error=why, usage=usage)
        return replies

    @contextmanager
    def _watched(self, ready: _ReadyEngine) -> Iterator[None]:
        try:
            with memory_guard(self.path):
                yield
        except ready.dead as error:
            self.release()
            raise ConfigError(
                f"{self.title}: vLLM's engine has died ({for_line(str(error)):.200}); it says "
                "above why: lower gpu_memory_utilization or batch_size if it lacks memory, and "
                "run again; finished calls are stored"
            ) from None


def _lora_arguments(folder: Path) -> dict[str, Any]:
    """Return the engine's arguments for an adapter.

    Raises:
        ValueError: the engine would leave out a part of it.
    """
    file = folder / ADAPTER_WEIGHTS
    with import_extra("safetensors").safe_open(file, framework="pt") as opened:
        outside = sorted(filter(_NOT_LANGUAGE.search, opened.keys()))
    if outside:
        raise ValueError(
            f"vLLM applies adapters to the language model alone, and leaves out {outside[0]}; take "
            "the provider transformers, or merge it into its base"
        )
    config = load_json(read_regular(folder / ADAPTER))
    rank = max(8, config.get("r", 8), *config.get("rank_pattern", {}).values())
    # the engine has kernels for powers of two
    return {"enable_lora": True, "max_lora_rank": 1 << (rank - 1).bit_length()}

"""As much of vLLM as is used, always saying the same."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ENGINES: list["LLM"] = []
"""All that were made, in order."""


@dataclass
class SamplingParams:
    temperature: float = 1.0
    max_tokens: int | None = 16


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt_token_ids: list[int] | None
    outputs: list[CompletionOutput]
    finished: bool = True


@dataclass
class LLMEngine:
    llm: "LLM"
    waiting: list[tuple[str, dict[str, Any], SamplingParams]] = field(
        default_factory=list
    )
    engine_core: None = None

    def add_lora(self, lora_request: Any) -> bool:
        self.llm.adapters.append(lora_request)
        return True

    def step(self) -> list[RequestOutput]:
        self.llm.queued.append(len(self.waiting))
        request_id, prompt, params = self.waiting.pop(0)
        assert params.temperature == 0
        said = CompletionOutput(0, "A cat.", [7, 8], "stop")
        return [RequestOutput(request_id, prompt["prompt_token_ids"], [said])]


class LLM:
    def __init__(
        self,
        model: str,
        *,
        trust_remote_code: bool = False,
        tensor_parallel_size: int = 1,
        dtype: str = "auto",
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        seed: int = 0,
        gpu_memory_utilization: float = 0.9,
        enforce_eager: bool = False,
        mm_processor_kwargs: dict[str, Any] | None = None,
        code_revision: str | None = None,
        load_format: str = "auto",
        max_model_len: int | None = None,
        max_num_seqs: int | None = None,
        enable_prefix_caching: bool | None = None,
        limit_mm_per_prompt: dict[str, int] | None = None,
        kv_cache_dtype: str = "auto",
        enable_lora: bool = False,
        max_lora_rank: int = 16,
    ) -> None:
        self.arguments = {
            name: value for name, value in locals().items() if name != "self"
        }
        self.environment = {
            name: os.environ.get(name)
            for name in ("VLLM_BATCH_INVARIANT", "CUDA_VISIBLE_DEVICES")
        }
        self.queued: list[int] = []
        """How many requests were in the queue at each step."""
        self.llm_engine = LLMEngine(self)
        self.adapters: list[Any] = []
        """All that were added, and then the one of each request."""
        self.requests = 0
        ENGINES.append(self)

    def enqueue(
        self,
        prompts: Sequence[dict[str, Any]],
        sampling_params: Sequence[SamplingParams] | None = None,
        lora_request: Any = None,
        *,
        use_tqdm: bool = True,
    ) -> list[str]:
        assert not use_tqdm
        self.adapters.append(lora_request)
        names = []
        for prompt, params in zip(prompts, sampling_params or (), strict=True):
            self.llm_engine.waiting.append((str(self.requests), prompt, params))
            names.append(
                f"{self.requests}-0a1b2c3d"
            )  # outputs have the name without a random end
            self.requests += 1
        return names

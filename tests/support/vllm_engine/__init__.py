"""A stand-in for vLLM, which needs a GPU: a distribution to put on the path, whose engine computes
with transformers.

Its signatures are those of ``vllm/entrypoints/llm.py`` (``LLM``, ``enqueue``),
``vllm/engine/arg_utils.py``, ``vllm/sampling_params.py``, ``vllm/outputs.py``,
``vllm/lora/request.py``, ``vllm/v1/engine/exceptions.py``, as they were on GitHub in 2026, and of
``TokensPrompt`` in vLLM's documentation. It takes no argument that they do not.
"""

from pathlib import Path

SITE = Path(__file__).parent / "site"

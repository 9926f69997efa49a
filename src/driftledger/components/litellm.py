"""Services by LiteLLM, in their own protocols."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

from driftledger.components.base import Operational, Readiness
from driftledger.components.http import check_network
from driftledger.components.openai_chat import OpenAIChat
from driftledger.components.service import Attempt
from driftledger.core.canonical import Json
from driftledger.core.registry import import_extra


class LiteLLM(OpenAIChat):
    """Models of Claude, Gemini, Bedrock, Vertex, Azure and others, by LiteLLM.

    ``model`` begins with the service: ``anthropic/claude-…``, ``bedrock/…``. A setting that the
    service does not support is an error; it is not left out.
    """

    library = "litellm"
    has_batches = False
    lists_models = False

    api_key_env: Operational[str | None] = None
    """``null``: LiteLLM reads the variables of the service, such as ANTHROPIC_API_KEY."""
    max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] | None = (
        "max_tokens"
    )

    @property
    def host(self) -> str:
        return super().host if self.base_url else self.model.partition("/")[0]

    def readiness(self) -> Readiness:
        missing, notes = super().readiness()
        if missing or self.api_key_env or self.base_url:
            return missing, notes
        if names := self._litellm().validate_environment(self.model)["missing_keys"]:
            variables = ", ".join(names)
            sentence = f"{self.title}: LiteLLM finds none of its environment variables {variables}"
            # clouds work without other variables, in several ways
            needs_key = any(name.endswith("_API_KEY") for name in names)
            (missing if needs_key else notes).append(sentence)
        return missing, notes

    def _litellm(self) -> Any:
        # without this, it asks GitHub for prices when it is imported
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        return import_extra("litellm")

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Attempt]:
        check_network()
        litellm = self._litellm()
        litellm.suppress_debug_info = True
        yield partial(self.ask, litellm)

    async def post(self, client: Any, body: Json) -> str:
        once = {
            "timeout": self.limits.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
        }
        answer = await client.acompletion(
            **body, api_key=self.key, api_base=self.base_url, **once
        )
        # LiteLLM's own JSON cannot hold half of a surrogate pair
        return json.dumps(answer.model_dump(), default=str)

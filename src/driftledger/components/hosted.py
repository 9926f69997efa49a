"""Services by libraries of their own: LiteLLM, Hugging Face."""

import binascii
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from json import JSONDecodeError
from typing import Any, ClassVar, Literal

from PIL import UnidentifiedImageError
from pydantic import Field

from driftledger.components.base import Operational, Readiness
from driftledger.components.endpoint import Endpoint
from driftledger.components.http import check_network
from driftledger.components.openai_chat import OpenAIChat
from driftledger.components.openai_images import decoded
from driftledger.components.service import Attempt, RefusedError, RemoteGenerator
from driftledger.components.tokens import tokens_of
from driftledger.core.canonical import Json
from driftledger.core.errors import ServiceError
from driftledger.core.registry import import_extra
from driftledger.core.types import Usage


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


class HuggingFaceImages(Endpoint, RemoteGenerator):
    """Image generators of fal, Replicate and others, by a token of Hugging Face."""

    library = "huggingface_hub"
    remedies: ClassVar[dict[str, str]] = {
        "model": "correct `model:`",
        "seed": "set `seeded: false`",
    }

    service: str = Field(min_length=1)
    """Name in ``huggingface_hub``: ``fal-ai``, ``replicate``, ``together``, ``hf-inference``."""
    base_url: None = None
    api_key_env: Operational[str | None] = "HF_TOKEN"
    seeded: bool = True
    """Whether the seed is sent. Size and steps go into ``extra``: ``{width: 1024, height: 1024}``.
    """

    @property
    def host(self) -> str:
        return self.service

    def expected(self, prompt: str) -> Usage:
        return Usage(tokens_of(prompt), 0, images=1)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Attempt]:
        check_network()
        hub = import_extra("huggingface_hub")
        settings = {
            "provider": self.service,
            "api_key": self.key,
            "timeout": self.limits.timeout,
        }
        async with hub.AsyncInferenceClient(self.model, **settings) as client:
            yield partial(self._draw, client)

    async def _draw(self, client: Any, prompt: str, seed: int) -> Any:
        import httpx2
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        try:
            image = await client.text_to_image(
                prompt, seed=seed if self.seeded else None, extra_body=self.extra
            )
        except HfHubHTTPError as error:
            answer = error.response
            text = answer.text or str(error)
            return self.resolve_error(answer.status_code, text, answer.headers)
        except OfflineModeIsEnabled as error:
            raise ServiceError(f"{self.title}: {self.redacted(str(error))}") from None
        except (httpx2.HTTPError, TimeoutError) as error:
            return self.resolve_error(0, f"{type(error).__name__}: {error}")
        except (
            LookupError,
            TypeError,
            JSONDecodeError,
            binascii.Error,
            UnidentifiedImageError,
        ) as error:
            raise self.unusable(f"an answer that cannot be read: {error!r}") from None
        except ValueError as error:  # an unknown service, or an unknown model of it
            advice = "correct `service:` or `model:` in params.yaml"
            raise RefusedError(
                self.redacted(str(error)), advice=advice, names_setting=True
            ) from None
        # The client opens the image without decoding it: its file still holds the service's bytes.
        return await decoded(self, image.fp.getvalue(), Usage(images=1))

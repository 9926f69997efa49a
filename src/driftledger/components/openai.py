"""What chat models and image generators of OpenAI's protocol share.

OpenAI itself speaks it, and so do the services that imitate it. A client makes single attempts:
retries, waits and budgets are of :mod:`driftledger.components.service`.
"""

import json
import re
from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from difflib import get_close_matches
from functools import partial
from typing import Any, ClassVar

from driftledger.components.answers import facts, field
from driftledger.components.base import Readiness
from driftledger.components.endpoint import Endpoint
from driftledger.components.http import list_models, openai_client
from driftledger.components.service import Attempt
from driftledger.core.canonical import Json
from driftledger.core.files import LARGEST_JSON, load_json
from driftledger.core.text import for_line
from driftledger.core.types import Result

_PARTIAL = re.compile(r'\.azure\.com|"llamacpp"|"has_more": ?true|"id": ?"[^"]*\*')
"""Marks, in a host or a list of models, of a service that answers to names it does not list.

Azure's deployments have names of their own, llama.cpp answers to any name, and others list a page
or patterns.
"""
_SHORTEST_SECRET = 16
"""A shorter key is a placeholder such as EMPTY or lm-studio, which an answer may hold as a word."""


class OpenAIComponent(Endpoint):
    """A component behind OpenAI's protocol."""

    lists_models: ClassVar[bool] = True
    """Whether ``base_url`` has a list of models to look into."""
    path: ClassVar[str]
    """The path of its requests, below ``base_url``."""
    items: ClassVar[str]
    """The list in an answer with the replies or images."""
    largest: ClassVar[int] = LARGEST_JSON
    """Bytes of an answer, at most."""

    @abstractmethod
    def body_of(self, *call: Any) -> Json:
        """Return the request of a call."""

    @abstractmethod
    async def read(self, answer: Any, *call: Any) -> Any:
        """Return the reply or image in a service's answer, with its outcome.

        Raises:
            TransientError: it is not a whole answer.
        """

    def readiness(self) -> Readiness:
        """Look for library, key and server, and for the model in the service's list."""
        missing, notes = super().readiness()
        if missing or not self.lists_models:
            return missing, notes
        status, body = list_models(self.address, self.key)
        if status in (0, 401):
            trouble, _, advice = self.diagnose(status, body.decode(errors="replace"))
            problem = "refuses the key" if status else "cannot be reached"
            missing.append(f"{self.server} {problem} ({trouble.message}); {advice}")
            return missing, notes
        listed: Any = None
        with suppress(ValueError):
            listed = load_json(body, strict=False)
        entries = field(listed, list, "data") or []
        names = [name for entry in entries if (name := field(entry, str, "id"))]
        ours = {self.model, f"{self.model}:latest", f"models/{self.model}"}
        if not names:
            notes.append(
                f"{self.server} lists no models; the first call will show whether it has this "
                f"one{self.missing_v1}"
            )
        elif ours.isdisjoint(names):
            nearest = ", ".join(get_close_matches(self.model, names, n=3, cutoff=0))
            sentence = for_line(
                f"{self.server}: the service lists {len(names)} models, but not this one; "
                f"nearest: {nearest}"
            )
            stem = self.model.partition(":")[0]  # of a variant, such as name:free
            is_variant = any(name.startswith(stem) for name in names)
            is_partial = is_variant or _PARTIAL.search(f"{self.host} {body!r}")
            (notes if self.base_url and is_partial else missing).append(sentence)
        return missing, notes

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Attempt]:
        async with self.client() as client:
            yield partial(self.ask, client)

    def client(self) -> AbstractAsyncContextManager[Any]:
        """Open OpenAI's client for this service."""
        return openai_client(
            self.address,
            self.key,
            timeout=self.limits.timeout,
            largest=self.largest,
        )

    async def post(self, client: Any, body: Json) -> str:
        """Send a request, and return the answer as JSON."""
        import httpx2

        response = await client.post(self.path, body=body, cast_to=httpx2.Response)
        return str(response.text)

    async def ask(self, client: Any, *call: Any) -> Any:
        """Make one attempt at one call; raise as :meth:`resolve_error`."""
        import openai

        try:
            text = await self.post(client, self.body_of(*call))
        except openai.APIError as error:
            return self.resolve_exception(error)
        return await self.result_in(200, text, *call)

    def resolve_exception(self, error: Any) -> Any:
        """Resolve an error of the library, as :meth:`resolve_error`."""
        import openai

        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            return self.resolve_error(
                0, f"{type(cause).__name__}: {cause}".removesuffix(": ")
            )
        status = getattr(error, "status_code", 0)
        response = getattr(error, "response", None)
        message = error.message.removeprefix(f"Error code: {status}")
        # LiteLLM's have only a message
        text = getattr(response, "text", "") or message
        headers = getattr(error, "litellm_response_headers", None)
        headers = headers or getattr(response, "headers", {})
        return self.resolve_error(status, text, headers=headers)

    async def result_in(self, status: int, text: str, *call: Any) -> Any:
        """Return the result in an answer; raise as :meth:`resolve_error`."""
        if status not in range(200, 300):
            return self.resolve_error(status, text)
        if self.key and len(self.key) >= _SHORTEST_SECRET:
            text = text.replace(self.key, "***")
        answer: Any = None
        with suppress(ValueError):
            answer = load_json(text.encode(), self.largest, strict=False)
        item = field(answer, dict, self.items, 0)
        if item is None:
            trouble, rule, _ = self.diagnose(200, text)
            is_silent = not (trouble.is_error or rule.words)
            empty = self.empty_result(answer) if is_silent else None
            return empty or self.resolve_error(200, text)
        for inside in (answer.get("error"), item.get("error")):
            if any(value for _, value in facts(inside)):
                return self.resolve_error(200, json.dumps({"error": inside}))
        return await self.read(answer, *call)

    def empty_result(self, answer: Any) -> Result | None:
        """Return the result of an answer with neither replies, images nor an error.

        It is None if the answer cannot be read.
        """
        return None

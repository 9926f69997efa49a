"""What the providers of OpenAI's protocol share: their settings, and one client per run.

The client makes single attempts and takes nothing from the environment but the key, proxies and certificates: where
calls go and what is asked stands in params.yaml. Images that a service names elsewhere are fetched without a proxy.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator

from driftledger.components.base import Operational
from driftledger.components.remote.client import TransientError
from driftledger.components.remote.component import RemoteComponent
from driftledger.components.remote.openai_failures import OpenAIFailures
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.extras import import_extra
from driftledger.core.limits import LARGEST_ANSWER

A = TypeVar("A", bound=BaseModel)

OFFICIAL = "https://api.openai.com/v1"

_BYTES_PER_TOKEN = 3
"""Of UTF-8. English has about four, Chinese about three, so that the estimate is rather too high."""
_NO_KEY = "none"
"""For servers that need no key; given nothing, the client would take OPENAI_API_KEY and send that."""
_SHORTEST_SECRET = 16
"""A shorter key is a placeholder such as EMPTY or lm-studio, and such a word may stand in an answer."""


class OpenAIComponent(RemoteComponent):
    """A component behind OpenAI's protocol: OpenAI, vLLM, llama.cpp, Ollama, or a compatible endpoint of others."""

    reserved: ClassVar[frozenset[str]] = frozenset({"model", "n", "stream"})
    """Fields of a request that ``extra`` must not hold: they have a setting, or are the provider's own."""

    most_bytes: ClassVar[int] = LARGEST_ANSWER
    """Of an answer, decoded."""

    model: str = Field(min_length=1)
    """The pinned name, e.g. ``gpt-4o-2024-08-06``; an alias such as ``gpt-4o`` stands for another model some day."""
    base_url: str | None = None
    """Up to and with ``/v1``; ``null`` is OpenAI's own, whatever OPENAI_BASE_URL says. It decides who answers, so it
    is in the fingerprint as it stands: at another port there may be another server."""
    api_key_env: Operational[str | None] = "OPENAI_API_KEY"
    """The environment variable that holds the key; ``null`` for a server that needs none. Has to be given together
    with ``base_url``, so that no service is sent another one's key."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of each request, e.g. ``reasoning_effort`` or ``top_p``."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        # Not with the field itself: its error would show the value, which may be a key in the wrong place.
        if self.api_key_env is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env is the name of an environment variable, in capitals, and not the key itself")
        if self.base_url is not None:
            _check_url(self.base_url)
            if "api_key_env" not in self.model_fields_set:
                raise ValueError("beside base_url, api_key_env must name the variable with its key, or be null")
        for name in sorted(self.extra.keys() & self.reserved):
            raise ValueError(f"extra must not hold {name!r}: it has a setting of its own, or only one possible value")
        canonical_json(self.extra)
        return self

    @property
    def title(self) -> str:
        return f"openai {self.model}"

    @property
    def url(self) -> str:
        """The address before ``/chat/completions`` or ``/images/generations``."""
        return (self.base_url or OFFICIAL).rstrip("/")

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def identity(self) -> dict[str, Any]:
        return {"model": self.model, "service": self.host}

    @asynccontextmanager
    async def service(self) -> AsyncIterator["Service"]:
        """A client, open for as long as the context lasts.

        Raises:
            ConfigError: there is no key.
            MissingExtraError: the library is not installed.
        """
        openai = import_extra("openai")
        import httpx2

        from driftledger.components.remote.bounded import ENCODING, bounded

        key = self._key()
        timeout, most = self.limits.timeout, self.limits.concurrency
        bounds: dict[str, Any] = {"headers": ENCODING, "event_hooks": {"response": [bounded(self.most_bytes)]}}
        http = openai.DefaultAsyncHttpxClient(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
            follow_redirects=False,
            **bounds,
        )
        # A transport of its own takes no proxy from the environment, which would look a name up for itself.
        elsewhere = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0)),
            timeout=timeout,
            **bounds,
        )
        client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY, base_url=self.url, max_retries=0, timeout=timeout, http_client=http
        )
        # It has read OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and has no argument against that.
        client.organization = client.project = None
        client._custom_headers = {}
        async with client, elsewhere:
            yield Service(
                client, http, elsewhere, OpenAIFailures(f"{self.title} at {self.host}", timeout, self.api_key_env, key)
            )

    def _key(self) -> str | None:
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise ConfigError(
                f"{self.title}: the environment variable {self.api_key_env} is not set; put the key for {self.host} "
                "there, or set api_key_env to null for a server that needs none"
            )
        if not re.fullmatch(r"[!-~]+", key):
            raise ConfigError(
                f"{self.title}: {self.api_key_env} holds no key: there are spaces or non-ASCII letters in it"
            )
        return key


class Service:
    """An open client."""

    def __init__(self, client: Any, http: Any, elsewhere: Any, failures: OpenAIFailures) -> None:
        self._client = client
        self._http, self._elsewhere = http, elsewhere
        self.failures = failures

    async def post(self, path: str, body: Mapping[str, Any], answer: type[A]) -> A:
        """Make one request and read the JSON that answers it.

        Raises:
            TransientError: there is no answer, or none that can be read, for a reason that may pass.
            ServiceError: every call would be answered like this.
            Rejected: this one is.
        """
        import httpx2
        import openai

        try:
            response = await self._client.post(path, body=body, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            raise self.failures.refused(error) from None
        except openai.APIConnectionError as error:
            raise self.failures.lost(error) from None
        content: bytes = response.content
        key = self.failures.key
        if key and len(key) >= _SHORTEST_SECRET:
            content = content.replace(key.encode(), b"***")
        try:
            return answer.model_validate_json(content)
        except ValidationError:
            raise self.useless(f"an answer that cannot be read: {content[:1000].decode(errors='replace')}") from None

    async def fetch(self, url: str, most: int) -> bytes:
        """Fetch up to ``most`` bytes from an address that an answer holds, without the key.

        Raises:
            TransientError: it is not there, or longer.
            ServiceError: it is no web address, or neither at the service's own origin nor at a public address.
        """
        import httpx2

        from driftledger.components.remote.bounded import RefusedAddressError, opened

        content = bytearray()
        try:
            async with opened(url, str(self._client.base_url), self._http, self._elsewhere) as response:
                response.raise_for_status()
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > most:
                        raise self.useless(f"an image of more than {most} bytes")
        except RefusedAddressError as error:
            raise ServiceError(
                f"{self.failures.who}: an answer names an image at {error}; set response_format to b64_json, or mend "
                "the service, and run again"
            ) from None
        except httpx2.HTTPStatusError as error:
            # Not the errors' texts: an address may hold the signature that opens it.
            raise self.useless(
                f"an answer with an image that is not there: HTTP {error.response.status_code}"
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self.useless(f"an answer with an image that cannot be fetched: {type(error).__name__}") from None
        return bytes(content)

    def useless(self, text: str) -> TransientError:
        """The service has done something, but nothing to go on with; ``text`` may quote it."""
        return TransientError(self.failures.say(text), billed=True)


def tokens_of(text: str) -> int:
    """About how many tokens ``text`` has, rather more than fewer."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url must hold no user, query or fragment; the key goes into api_key_env's variable")

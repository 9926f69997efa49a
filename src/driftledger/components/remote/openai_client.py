"""What the providers of OpenAI's protocol share: their settings, and one client per server and run.

A client makes single attempts and takes nothing from the environment but the key, proxies and certificates: where
calls go and what is asked stands in params.yaml. Images that a service names elsewhere are fetched without a proxy.
"""

import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, model_validator

from driftledger.components.base import Operational
from driftledger.components.remote.component import RemoteComponent
from driftledger.components.remote.openai_failures import OpenAIFailures
from driftledger.components.remote.openai_service import Service
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.files import LARGEST_ANSWER
from driftledger.core.registry import import_extra

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient
    from openai import AsyncOpenAI

OFFICIAL = "https://api.openai.com/v1"

_BYTES_PER_TOKEN = 3
"""Of UTF-8. English has about four, Chinese about three, so that the estimate is rather too high."""
_LARGEST_POOL = 4
"""Connections; a pool looks at each of its own for every request."""
_NO_KEY = "none"
"""For servers that need no key; given nothing, the client would take OPENAI_API_KEY and send that."""


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
    is in the fingerprint as it stands: at another port there may be another server. For several servers of one model
    name a router in front of them, LiteLLM's or vLLM's."""
    service_name: str | None = Field(default=None, min_length=1, max_length=100, exclude_if=lambda name: name is None)
    """What stands in the fingerprint in the place of addresses that change from job to job. Whoever serves another
    model, or serves it otherwise, has to choose another name."""
    server_version: str | None = Field(
        default=None, min_length=1, max_length=100, exclude_if=lambda version: version is None
    )
    """The version of your own server, e.g. of vLLM: in the fingerprint, and the server has to confirm it at
    ``/version`` before it is asked anything else."""
    batch_invariant: bool | None = Field(default=None, exclude_if=lambda given: given is None)
    """Whether your own server computes each answer as if it were alone (vLLM under ``VLLM_BATCH_INVARIANT=1``). In the
    fingerprint by your word: no server tells."""
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
        if self.base_url is None and (self.service_name or self.server_version):
            raise ValueError("service_name and server_version are of your own server; set base_url")
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
        """Host and port of the server."""
        return urlsplit(self.url).netloc

    def identity(self) -> dict[str, Any]:
        return {"model": self.model, "service": self.service_name or self.host}

    @cached_property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = super().spec
        if self.service_name is not None:
            del found["settings"]["base_url"]
        return found

    @asynccontextmanager
    async def service(self) -> AsyncIterator[Service]:
        """A client of the server, open for as long as the context lasts.

        Raises:
            ConfigError: there is no key, or the address is none.
            MissingExtraError: the library is not installed.
            ServiceError: the server is not of the declared version.
        """
        import_extra("openai")
        key, url = self._key(), self.url
        import httpx2
        import openai

        from driftledger.components.remote.bounded import ENCODING, bounded

        try:
            httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise ConfigError(f"{self.title}: base_url cannot be asked: {error}; mend it and run again") from None
        timeout, most = self.limits.timeout, self.limits.concurrency
        bounds: dict[str, Any] = {"headers": ENCODING, "event_hooks": {"response": [bounded(self.most_bytes)]}}

        def http(connections: int) -> httpx2.AsyncClient:
            limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
            return openai.DefaultAsyncHttpxClient(
                timeout=timeout, limits=limits, verify=_certificates(), follow_redirects=False, **bounds
            )

        # A transport of its own takes no proxy from the environment, which would look a name up for itself.
        elsewhere = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(
                verify=_certificates(), limits=httpx2.Limits(max_keepalive_connections=0)
            ),
            timeout=timeout,
            **bounds,
        )
        pools = -(-most // _LARGEST_POOL)
        https = [http(-(-most // pools)) for _ in range(pools)]
        inside = https[0] if pools == 1 else http(most)
        async with AsyncExitStack() as stack:
            for each in (*https, inside, elsewhere):
                stack.push_async_callback(each.aclose)
            failures = OpenAIFailures(f"{self.title} at {self.host}", timeout, self.api_key_env, key)
            service = Service([self._client(key, each) for each in https], inside, elsewhere, failures)
            if self.server_version is not None:
                await self._check_version(service)
            yield service

    async def _check_version(self, service: Service) -> None:
        who, version = service.failures.who, await service.version()
        if version is None:
            raise ServiceError(f"{who} does not say its version at /version; remove server_version and run again")
        if version != self.server_version:
            raise ServiceError(
                f"{who} is version {service.failures.say(version):.80}, and its entry says {self.server_version}; "
                "start that version, or change server_version: what another version answers is another component's"
            )

    def _client(self, key: str | None, http: "AsyncClient") -> "AsyncOpenAI":
        import openai

        client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY, base_url=self.url, max_retries=0, timeout=self.limits.timeout, http_client=http
        )
        # It has read OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and has no argument against that.
        client.organization = client.project = None
        client._custom_headers = {}
        return client

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


@cache
def _certificates() -> "SSLContext":
    """Whom clients trust: read once, since every reading of a system's certificates takes 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def tokens_of(text: str) -> int:
    """About how many tokens ``text`` has, rather more than fewer."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def _check_url(url: str) -> None:
    # Without Python's own words for what is wrong, which may quote a password.
    if not url.isprintable() or " " in url:
        raise ValueError("base_url must hold no spaces, line breaks or control characters")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("base_url must be an address, and its host cannot be read") from None
    try:
        parts.port  # noqa: B018 - is read to be checked
    except ValueError:
        raise ValueError("base_url must have a whole number up to 65535 as its port, or none") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url must hold no user, query or fragment; the key goes into api_key_env's variable")

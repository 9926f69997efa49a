"""One open line to one server that speaks OpenAI's protocol: single attempts, and what they mean."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from driftledger.components.remote.client import TransientError
from driftledger.components.remote.openai_failures import OpenAIFailures
from driftledger.core.errors import ServiceError

A = TypeVar("A", bound=BaseModel)

_SHORTEST_SECRET = 16
"""A shorter key is a placeholder such as EMPTY or lm-studio, and such a word may stand in an answer."""
_PATIENCE = 10.0
"""Seconds to wait for a server to say its version."""
_QUOTED = 1000
"""Characters of an answer that cannot be read, of which a sentence shows the first."""


class _Version(BaseModel):
    version: str


class Service:
    """Open clients of one server, of which each request takes the one with the fewest under way."""

    def __init__(self, clients: Sequence[Any], http: Any, elsewhere: Any, failures: OpenAIFailures) -> None:
        self._clients = clients
        self._under_way = [0] * len(clients)
        self._http, self._elsewhere = http, elsewhere
        self.failures = failures

    @property
    def url(self) -> str:
        return str(self._clients[0].base_url)

    async def post(self, path: str, body: Mapping[str, Any], answer: type[A]) -> A:
        """Make one request and read the JSON that answers it.

        Raises:
            TransientError: there is no answer, or none that can be read, for a reason that may pass.
            ServiceError: every call would be answered like this.
            Rejected: this one is.
        """
        import httpx2
        import openai

        place = min(range(len(self._clients)), key=self._under_way.__getitem__)
        self._under_way[place] += 1
        try:
            response = await self._clients[place].post(path, body=body, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            raise self.failures.refused(error) from None
        except openai.APIConnectionError as error:
            raise self.failures.lost(error) from None
        finally:
            self._under_way[place] -= 1
        return self._read(response.content, answer)

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
            async with opened(url, self.url, self._http, self._elsewhere) as response:
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

    async def version(self) -> str | None:
        """What the server says at ``/version`` beside ``/v1``, as vLLM does; None where it says nothing. It may hold
        the key, and be long.

        Raises:
            ServiceError: it cannot be reached.
        """
        import httpx2

        key = self.failures.key
        headers = {"authorization": f"Bearer {key}"} if key else {}
        url = self.url.rstrip("/").removesuffix("/v1") + "/version"
        try:
            async with asyncio.timeout(_PATIENCE):
                response = await self._http.get(url, headers=headers, timeout=_PATIENCE)
        except (httpx2.HTTPError, TimeoutError) as error:
            raise ServiceError(f"{self.failures.who} does not answer ({type(error).__name__}); start it") from None
        try:
            return _Version.model_validate_json(response.content).version if response.is_success else None
        except ValidationError:
            return None

    def _read(self, content: bytes, answer: type[A]) -> A:
        failures = self.failures
        try:
            said = from_json(content)
            if failures.key and len(failures.key) >= _SHORTEST_SECRET:
                said = failures.without_key(said)
        except ValueError:
            raise self._unreadable(content) from None
        try:
            return answer.model_validate(said)
        except ValidationError:
            raise self._unreadable(to_json(said)) from None

    def _unreadable(self, content: bytes) -> TransientError:
        text = self.failures.without_key(content.decode(errors="replace"))
        return self.useless(f"an answer that cannot be read: {text[:_QUOTED]}")

    def useless(self, text: str) -> TransientError:
        """The service has done something, but nothing to go on with; ``text`` may quote it."""
        return TransientError(self.failures.say(text), billed=True)

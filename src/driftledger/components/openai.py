"""Chat models and image generators behind OpenAI's protocol: OpenAI itself, and the services that
imitate it.

A client makes single attempts and takes nothing from the environment but the key, proxies and
certificates: where calls go and what is asked stands in params.yaml.
"""

import asyncio
import base64
import json
import math
import os
import re
import zlib
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from io import BytesIO
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast
from urllib.parse import unquote, urlsplit

from PIL import Image
from pydantic import Field, JsonValue, model_validator

from driftledger.components.answers import (
    FINISH_REASONS,
    MAY_PASS,
    ErrorRule,
    Trouble,
    facts,
    field,
    flag_of,
    is_withheld,
    retry_after,
    trouble_in,
)
from driftledger.components.base import MOST_TOKENS, Operational, Readiness
from driftledger.components.network import certificates, check_network
from driftledger.components.service import (
    USUAL_TOKENS,
    Attempt,
    RefusedError,
    RemoteComponent,
    RemoteGenerator,
    RemoteModel,
    TransientError,
    moment,
)
from driftledger.components.tokens import counts_in, usage_of
from driftledger.core.canonical import Json, canonical_json
from driftledger.core.errors import ConfigError, DataError, ServiceError
from driftledger.core.files import LARGEST_JSON, load_json
from driftledger.core.media import (
    ANY_MEDIUM,
    MOST_PIXELS,
    data_url,
    from_base64,
    png_bytes,
    suffix_of,
)
from driftledger.core.registry import import_extra
from driftledger.core.strict import Strict, is_none
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Medium, Outcome, Result, Usage
from driftledger.data.datasets.decode import NOTHING_DRAWN, decode, shows_nothing

if TYPE_CHECKING:
    import httpx2

OFFICIAL = "https://api.openai.com/v1"
_ADDRESS = re.compile(
    r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:(?!0)(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}))?"
    r"(/[^\x00-\x20?#]*)?"
)

_LARGEST_ERROR = 2**20
"""Bytes of an answer with an error, which the client parses without bounds of its own."""
_PLAIN = {"Accept-Encoding": "identity"}
"""A megabyte of gzip may hold a gigabyte."""
_PARTIAL = re.compile(r'\.azure\.com|"llamacpp"|"has_more": ?true|"id": ?"[^"]*\*')
"""In a host or a list of models: the service answers to names that it does not list. Azure's
deployments have names of their own, llama.cpp answers to any, others list a page or patterns."""
_PATIENCE = 10.0
"""Seconds that a service may take to list its models."""
_LONGEST_MESSAGE = 240
_SHOWN = 2000
"""Tokens of an image that a model is shown, for estimates."""
_DRAWN = {"low": 272, "medium": 1056, "high": 4160}
"""Tokens of an image with 1024 pixels a side by quality, for estimates: as of gpt-image-1."""
_SHORTEST_SECRET = 16
"""A shorter key is a placeholder such as EMPTY or lm-studio, and such a word may stand in an
answer."""
_MASKED_KEY = re.compile(r"[\w-]*\*{2,}[\w*-]*")
"""What services show of a wrong key: its first and last characters."""

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message that hold what a model thought: DeepSeek and vLLM, OpenRouter, Ollama."""
_ORDINARY = {"model", "n", "size", "quality", "style"}
"""Fields of a request that are words of any sentence."""
_SETTING = re.compile(
    r"\b(models?|param(eter)?s?|settings?|options?|fields?|arguments?|key|url|endpoint)\b",
    re.IGNORECASE,
)
"""What an error names that has to do with an entry of params.yaml."""
_NOT_NAMED = "ask whoever runs the service"
"""What to do where an error names nothing that params.yaml could change."""


async def _bound(largest: int, response: "httpx2.Response") -> None:
    """Read an answer, and end it with an error where it grows too large."""
    import httpx2

    if not response.is_success:
        largest = _LARGEST_ERROR
    elif response.request.url.path.endswith("/content"):
        return  # a batch's results, which are read line by line
    response.headers.pop("content-encoding", None)
    received = bytearray()
    stream = cast(httpx2.AsyncByteStream, response.stream)
    async for chunk in stream:
        received += chunk
        if len(received) > largest:
            raise httpx2.ReadError(f"the answer has more than {largest:,} bytes")
    await stream.aclose()
    data = bytes(received)
    if data[:2] == b"\x1f\x8b":  # some send gzip whatever is asked for
        packed = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = packed.decompress(data, largest)
        if not packed.eof:
            raise httpx2.ReadError(
                f"the answer has more than {largest:,} bytes, or is cut"
            )
    response.stream = httpx2.ByteStream(data)


class OpenAIComponent(RemoteComponent):
    """A component behind OpenAI's protocol: OpenAI, vLLM, llama.cpp, Ollama, or a compatible
    endpoint of others."""

    version = "1"
    library: ClassVar[str] = "openai"
    """The optional library that it calls through."""
    reserved: ClassVar[frozenset[str]] = frozenset(
        {"n", "stream", "messages", "prompt", "input", "inputs"}
    )
    """Fields of a request that no setting may change."""
    lines: ClassVar[dict[str, str]]
    """Field of a request that has a setting → what to do in params.yaml where a service refuses it.
    """
    path: ClassVar[str]
    needed: ClassVar[str]
    """The list in an answer that holds what was asked for."""
    largest: ClassVar[int] = LARGEST_JSON
    """Bytes of an answer."""

    model: str = Field(min_length=1)
    """The pinned name, e.g. ``gpt-4o-2024-08-06``; an alias such as ``gpt-4o`` names another model
    some day."""
    base_url: Operational[str | None] = None
    """Up to and with ``/v1``; ``null`` is OpenAI's own, whatever OPENAI_BASE_URL says. It decides
    who answers, so it is in the identity as it stands: at another port there may be another server.
    For several servers of one model name a router in front of them, LiteLLM's or vLLM's."""
    service_name: Operational[str | None] = Field(
        default=None, min_length=1, max_length=100
    )
    """What stands in the identity in the place of addresses that change from job to job. Whoever
    serves another model, or another version of the server, has to choose another name."""
    api_key_env: Operational[str | None] = "OPENAI_API_KEY"
    """The environment variable that holds the key; ``null`` for a server that needs none. Has to be
    given together with ``base_url``, so that no service is sent another one's key."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of each request, e.g. ``reasoning_effort`` or ``top_p``."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        # Not with the field itself: its error would show the value, which may be a key in the wrong
        # place.
        if self.api_key_env is not None and not re.fullmatch(
            r"[A-Z_][A-Z0-9_]*", self.api_key_env
        ):
            raise ValueError(
                "api_key_env is the name of an environment variable, in capitals, and not the key "
                "itself"
            )
        if self.base_url is None and self.service_name:
            raise ValueError("service_name is of your own server; set base_url")
        if self.base_url is not None:
            # its error does not show the address, which may hold a password
            if not _ADDRESS.fullmatch(self.base_url):
                raise ValueError(
                    "base_url must be an address that begins with http:// or https:// and names a "
                    "host, without user, query or fragment; api_key_env names the key's variable"
                )
            if "api_key_env" not in self.model_fields_set:
                raise ValueError(
                    "beside base_url, api_key_env must name the variable with its key, or be null"
                )
        for name in sorted(self.extra.keys() & (self.reserved | self.lines.keys())):
            raise ValueError(
                f"extra must not hold {name!r}: it has a setting of its own, or only one possible "
                "value"
            )
        canonical_json(self.extra)
        return self

    @property
    def title(self) -> str:
        return f"{self.library} {self.model}"

    @property
    def _address(self) -> str:
        return (self.base_url or OFFICIAL).rstrip("/")

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return urlsplit(self._address).netloc

    @property
    def _server(self) -> str:
        return f"{self.title} at {self.host}"

    def identity(self) -> Json:
        return {"service": self.service_name or self.base_url or self.host}

    def expected(self, call: Any) -> Usage:
        """Usage of a generator that is paid for what it reads or draws."""
        return Usage(tokens_of(call), 0, images=1)

    @abstractmethod
    def body_of(self, *given: Any) -> Json:
        """Return the request of a call."""

    @abstractmethod
    async def read(self, answer: Any, *given: Any) -> Any:
        """Return the reply or image in a service's answer, with its outcome.

        Raises:
            TransientError: it is not a whole answer.
        """

    def readiness(self) -> Readiness:
        """Look for the library, the key, the server, and the model in the list that the service
        gives, if it does.

        A class with a connection of its own is not asked for its list.
        """
        missing, notes = super().readiness()
        try:
            check_network()  # libraries read certificates where they are imported
            import_extra(self.library)
            headers = _PLAIN | (
                {"Authorization": f"Bearer {self._key}"} if self._key else {}
            )
        except ConfigError as error:
            return [*missing, str(error)], notes
        if type(self).connect is not OpenAIComponent.connect:
            return missing, notes
        import httpx2

        server = self._server
        names = []
        try:
            with httpx2.stream(
                "GET", f"{self._address}/models", headers=headers, timeout=_PATIENCE
            ) as answer:
                data = b"".join(islice(answer.iter_bytes(2**16), 2**8))
            if answer.status_code == 401:
                trouble, _, advice = self._judged(401, data.decode(errors="replace"))
                return [
                    *missing,
                    f"{server} refuses the key ({trouble.message}); {advice}",
                ], notes
            listed = field(load_json(data, strict=False), list, "data") or []
            names = [name for each in listed if (name := field(each, str, "id"))]
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            trouble, _, advice = self._judged(0, f"{type(error).__name__}: {error}")
            return [
                *missing,
                f"{server} cannot be reached ({trouble.message}); {advice}",
            ], notes
        except (httpx2.HTTPError, ValueError):
            pass
        if not names:
            notes.append(
                f"{server} lists no models; whether it has this one shows at the first "
                f"call{self._missing_v1}"
            )
        elif not {self.model, f"{self.model}:latest", f"models/{self.model}"} & {
            *names
        }:
            nearest = ", ".join(get_close_matches(self.model, names, n=3, cutoff=0))
            what = for_line(
                f"{server}: the service lists {len(names)} models, and not this one; nearest: "
                f"{nearest}"
            )
            stem = self.model.partition(":")[0]  # of a variant, such as name:free
            is_variant = any(name.startswith(stem) for name in names)
            is_partial = is_variant or _PARTIAL.search(f"{self.host} {data!r}")
            (notes if self.base_url and is_partial else missing).append(what)
        return missing, notes

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Attempt]:
        async with self._client() as client:
            yield partial(self._ask, client)

    @asynccontextmanager
    async def batches(self) -> AsyncIterator[Any]:
        from driftledger.components.openai_batches import OpenAIBatches

        async with self._client() as client:
            yield OpenAIBatches(self, client)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        check_network()
        openai = import_extra("openai")
        client = openai.AsyncOpenAI(
            # given nothing, it would take OPENAI_API_KEY and send that
            api_key=self._key or "none",
            base_url=self._address,
            max_retries=0,
            timeout=self.limits.timeout,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,
                headers=_PLAIN,
                verify=certificates(),
                event_hooks={"response": [partial(_bound, self.largest)]},
            ),
        )
        # It has read OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and has no
        # argument against that.
        client.organization = client.project = None
        client._custom_headers = {}
        async with client:
            yield client

    async def post(self, client: Any, body: Json) -> str:
        """Send a request, and return the answer as JSON."""
        import httpx2

        response = await client.post(self.path, body=body, cast_to=httpx2.Response)
        return str(response.text)

    async def _ask(self, client: Any, *given: Any) -> Any:
        """Make one attempt at one call.

        Raises:
            TransientError: no answer comes, or none that can be read, for a reason that may pass.
            ServiceError: every call would be answered like this.
        """
        import openai

        try:
            text = await self.post(client, self.body_of(*given))
        except openai.APIError as error:
            return self.raised(error)
        return await self.heard(200, text, *given)

    def raised(self, error: Any) -> Any:
        """Return what a call becomes on an error of the library; raises as :meth:`ended`."""
        import openai

        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            return self.ended(0, f"{type(cause).__name__}: {cause}".removesuffix(": "))
        status = getattr(error, "status_code", 0)
        response = getattr(error, "response", None)
        message = error.message.removeprefix(f"Error code: {status}")
        # LiteLLM's have only a message
        text = getattr(response, "text", "") or message
        headers = getattr(error, "litellm_response_headers", None)
        headers = headers or getattr(response, "headers", {})
        return self.ended(status, text, headers=headers)

    async def heard(self, status: int, text: str, *given: Any) -> Any:
        """Return the result in an answer with this HTTP status; errors as of :meth:`_ask`."""
        if status not in range(200, 300):
            return self.ended(status, text)
        if self._key and len(self._key) >= _SHORTEST_SECRET:
            text = text.replace(self._key, "***")
        answer: Any = None
        with suppress(ValueError):
            answer = load_json(text.encode(), self.largest, strict=False)
        item = field(answer, dict, self.needed, 0)
        if item is None:
            trouble, rule, _ = self._judged(200, text)
            is_silent = not (trouble.is_error or rule.words)
            return (self.without(answer) if is_silent else None) or self.ended(
                200, text
            )
        for inside in (answer.get("error"), item.get("error")):
            if any(value for _, value in facts(inside)):
                return self.ended(200, json.dumps({"error": inside}))
        return await self.read(answer, *given)

    def without(self, answer: Any) -> Result | None:
        """Return the result in an answer that names no error and lacks what was asked for; None if
        it cannot be read."""
        return None

    @property
    def _key(self) -> str | None:
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not re.fullmatch(r"[!-~]+", key):
            raise ConfigError(
                f"{self.title}: the environment variable {self.api_key_env} is not set, or holds "
                f"no key; put the key for {self.host} there, or set api_key_env to null for a "
                "server that needs none"
            )
        return key

    def redacted(self, text: str) -> str:
        """``text`` from the service on one short line, without the key."""
        text = text.replace(self._key, "***") if self._key else text
        plain = text.encode(errors="backslashreplace").decode()
        line = _MASKED_KEY.sub("***", for_line(plain))
        # what is wrong comes first, and may be long
        return (
            line
            if len(line) <= _LONGEST_MESSAGE
            else f"{line[: _LONGEST_MESSAGE - 1]}…"
        )

    async def shown(self, data: bytes, usage: Usage) -> Result:
        """Decode the image that a service drew; keep its bytes if they hold it as it is."""
        try:
            image, changes = await asyncio.to_thread(
                decode, data, "its image", MOST_PIXELS
            )
        except DataError as error:
            raise self.useless(
                f"an answer with no image that can be used: {error}"
            ) from None
        return Result(
            image=image,
            usage=usage,
            data=data if suffix_of(data) and not changes else None,
            note=NOTHING_DRAWN if shows_nothing(changes) else None,
        )

    def useless(self, text: str) -> TransientError:
        """Return an error: the service has done something, but nothing to go on with; ``text`` may
        quote it."""
        return TransientError(
            self.redacted(text), advice=_NOT_NAMED, billed=True, once_more=True
        )

    def ended(
        self, status: int, text: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Any:
        """Return what a call becomes that ends with an error, or raise it.

        Args:
            status: HTTP's; 0 where no answer came, and ``text`` says why.
            text: the body of the answer.
        """
        trouble, rule, advice = self._judged(status, text)
        reason = trouble.message
        wait = retry_after(headers, trouble.text, trouble.status)
        if "of_input" in rule.flags:
            raise RefusedError(f"{reason}; {advice}", of_input=True) from None
        if rule.end == "filtered":
            return Result(outcome=Outcome.FILTERED, error=reason)
        if rule.end == "refused":
            names_setting = rule.setting and bool(advice)
            raise RefusedError(
                reason, advice=advice, names_setting=names_setting
            ) from None
        if rule.end == "later":
            flags: dict[str, Any] = dict.fromkeys(rule.flags, True)
            reason = reason if status else f"{self._server}: {reason}"
            raise TransientError(
                reason, advice=advice, retry_after=wait, **flags
            ) from None
        if rule.end == "another day":
            after = "a day"
            if wait and wait > self.limits.deadline:  # else it is of another limit
                after = moment(wait)
            advice = f"{advice}; run again after {after}"
        else:
            advice = f"{advice} and run again"
        raise ServiceError(f"{self._server}: {reason}; {advice}") from None

    def _judged(self, status: int, text: str) -> tuple[Trouble, ErrorRule, str]:
        """Return an error with one line as its message, the rule for it, and what to do about
        it."""
        trouble = trouble_in(status, text)
        message = trouble.message
        lines = {
            name: f"take `{name}` out of `extra:`" for name in self.extra
        } | self.lines
        quoted = rf"[`'\"](\w+|{re.escape(self.model)})[`'\"]"
        named = re.findall(r"\w+", trouble.param) + re.findall(quoted, message)
        mentioned = [
            word for word in re.findall(r"\w+", message) if word not in _ORDINARY
        ]
        change = [lines[word] for word in named + mentioned if word in lines]
        line = _NOT_NAMED
        if change:
            line = f"{change[0]} in {self._entry}"
        elif named or _SETTING.search(message):
            line = f"change {self._entry}"
        rule = trouble.rule(not lines.keys().isdisjoint(named))
        if message == text and trouble.status in range(200, 300):
            message = f"an answer that cannot be read: {message[:1000]}"
        message = self.redacted(message)
        if trouble.status >= 300:
            message = f"HTTP {trouble.status}: {message}"
        known = (f"{urlsplit(self._address).scheme}_proxy", "all_proxy")
        proxies = [
            name
            for name, value in os.environ.items()
            if value and name.lower() in known
        ]
        where = "the network"
        model = f"`model: {self.model}`"
        if self.base_url:
            where = f"`base_url: {self.base_url}` in params.yaml{self._missing_v1}"
            model = f"{model} and {where}"
        advice = rule.advice.format(
            env=self.api_key_env or "api_key_env",
            model=model,
            entry=self._entry,
            answering=f"see what answers at {where}" if self.base_url else _NOT_NAMED,
            line=line,
            proxy=[*proxies, "HTTPS_PROXY"][0],
            where=" or ".join([where, *proxies]),
        )
        return trouble._replace(message=message), rule, advice

    @property
    def _missing_v1(self) -> str:
        """A hint where ``base_url`` ends before its version."""
        if self.base_url is None or re.search(r"/v\d", self.base_url):
            return ""
        return f" (did you mean `base_url: {self._address}/v1`?)"

    @property
    def _entry(self) -> str:
        return (
            f"its entry, with `model: {self.model}`, in params.yaml{self._missing_v1}"
        )


def tokens_of(text: str) -> int:
    """About how many tokens ``text`` has, rather too many: a token has three bytes in Chinese, four
    in English."""
    return -(-len(text.encode()) // 3)


class Payload(Strict):
    """The form in which images are sent to a service."""

    format: Literal["png", "jpeg", "webp"] = "png"
    quality: int | None = Field(default=None, ge=1, le=100)
    """Of a JPEG or WebP; 92 where none is given."""
    longest_side: int | None = Field(default=None, ge=16)
    """In pixels; a larger image is scaled down to it."""

    @model_validator(mode="after")
    def _quality_has_an_effect(self) -> Self:
        if self.format == "png" and self.quality is not None:
            raise ValueError("quality is of jpeg and webp; a png has none")
        return self


@lru_cache(
    maxsize=32
)  # an image is sent for every question about it, and again after a failure
def _as_sent(payload: Payload, image: Medium) -> str:
    """Return an image inside an address, as a service gets it."""
    shown = image.open()
    file = BytesIO()
    if payload.longest_side is not None:
        shown.thumbnail(
            (payload.longest_side, payload.longest_side), Image.Resampling.LANCZOS
        )
    if payload.format == "png":
        file.write(png_bytes(shown))
    else:
        shown.save(file, payload.format, quality=payload.quality or 92)
    return f"data:image/{payload.format};base64,{base64.b64encode(file.getvalue()).decode()}"


def _is_thought(part: Any) -> bool:
    """Return True if a part of an answer is reasoning."""
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    return kind.startswith(("think", "thought", "reason", "redacted")) or (
        bool(kind) and part.get("thought") is True
    )


def _joined(value: Any) -> str:
    """Return the text of an answer, of a list of parts, or of a part, which may hold a list of
    further ones."""
    if isinstance(value, list):
        return "".join(map(_joined, value))
    if isinstance(value, dict):
        return _joined(
            next(
                filter(
                    None,
                    map(
                        value.get,
                        ("text", "thinking", "reasoning", "summary", "content"),
                    ),
                ),
                "",
            )
        )
    return value if isinstance(value, str) else ""


class OpenAIChat(OpenAIComponent, RemoteModel):
    """A chat model. Its reasoning, where a service returns it, is kept apart from its answer."""

    has_batches = True
    media = ANY_MEDIUM  # the service says which its model takes
    path = "/chat/completions"
    needed = "choices"
    lines: ClassVar[dict[str, str]] = {
        "temperature": "set `temperature: null`",
        "seed": "set `seed: null`",
        "max_tokens": (
            "set another `max_tokens:`, or `max_tokens_parameter: max_completion_tokens`,"
        ),
        "max_completion_tokens": (
            "set another `max_tokens:`, or `max_tokens_parameter: max_tokens`,"
        ),
        "model": "correct `model:`",
        **dict.fromkeys(("n", "use_beam_search"), "set `beams: null`"),
        **dict.fromkeys(
            ("add_generation_prompt", "continue_final_message"), "set `prefill: null`"
        ),
    }

    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)
    """``null`` is not sent, for models that refuse any."""
    max_tokens: int | None = Field(default=1024, ge=1)
    """Most tokens of an answer; with models that think first, of their thoughts too. Where a
    conversation allows fewer, it is that many. ``null`` is not sent, and estimates assume 16,384.
    """
    max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] | None = None
    """What a request calls it. ``null``: ``max_completion_tokens`` at OpenAI, since newer models
    refuse the older name, and elsewhere ``max_tokens``, since Ollama and others ignore the newer
    one without a word."""
    seed: int | None = None
    """Sent where given; no service promises equal answers for it."""
    beams: int | None = Field(default=None, ge=2, le=64, exclude_if=is_none)
    """How many candidates beam search follows, as vLLM is asked for it; the first of what it
    returns is the best one. ``length_penalty`` goes into ``extra``."""
    prefill: Operational[Literal["vllm"] | None] = None
    """How the server takes the beginning of a reply; without it, none can be given. It shapes no
    other call."""
    image_detail: Literal["auto", "low", "high"] | None = None
    image: Payload | None = Field(default=None, exclude_if=is_none)
    """How images are sent: ``{format: jpeg, quality: 92, longest_side: 1024}``. ``null``: as they
    are, without loss."""

    def expected(self, conversation: Conversation) -> Usage:
        """Estimate the most tokens; those of all beams count, since a service may bill each that it
        returns."""
        tokens = 0
        for part in conversation.parts:
            tokens += _SHOWN if isinstance(part, Medium) else tokens_of(part)
        return Usage(
            tokens,
            (conversation.most_tokens(self.max_tokens) or MOST_TOKENS)
            * (self.beams or 1),
        )

    @property
    def longest(self) -> int | None:
        return self.max_tokens

    @property
    def continues(self) -> bool:
        return self.prefill is not None

    def body_of(self, conversation: Conversation) -> Json:
        messages: list[Json] = []
        detail = {"detail": self.image_detail} if self.image_detail else {}
        for turn in conversation.turns:
            content: list[Json] = []
            for part in turn.parts:
                if isinstance(part, str):
                    content.append({"type": "text", "text": part})
                elif turn.role == "user" and part.kind == "sound":
                    _, _, data = data_url(part.path).partition(",")
                    content.append(
                        {
                            "type": "input_audio",
                            "input_audio": {"data": data, "format": "wav"},
                        }
                    )
                elif turn.role == "user":
                    url = (
                        data_url(part.path)
                        if self.image is None
                        else _as_sent(self.image, part)
                    )
                    content.append(
                        {"type": "image_url", "image_url": {"url": url} | detail}
                    )
                else:
                    raise ValueError(
                        "only the user can show images in this protocol, and here the "
                        f"{turn.role} does"
                    )
            whole = (
                content
                if turn.role == "user"
                else "\n".join(each["text"] for each in content)
            )
            messages.append({"role": turn.role, "content": whole})
        limit = self.max_tokens_parameter or (
            "max_completion_tokens" if self.base_url is None else "max_tokens"
        )
        most = conversation.most_tokens(self.max_tokens)
        settings: Json = {
            "temperature": self.temperature,
            "seed": self.seed,
            limit: most,
            "n": self.beams,
        }
        sent = {name: value for name, value in settings.items() if value is not None}
        if self.beams is not None:
            sent["use_beam_search"] = True
        if conversation.prefix:
            sent |= {"add_generation_prompt": False, "continue_final_message": True}
        return {"model": self.model, "messages": messages, **sent, **self.extra}

    def without(self, answer: Any) -> Result | None:
        """Return an empty reply where the service has counted no token of one."""
        counts = counts_in(answer)
        prompt = counts.get("prompt", counts.get("input", 0))
        if not counts or counts.get("output") or counts.get("total", 0) > prompt:
            return None
        error = "the answer has no choices, and no tokens of one"
        return Result("", Outcome.EMPTY, error=error, usage=Usage(prompt, 0))

    async def read(self, answer: Any, conversation: Conversation) -> Result:
        choice = answer["choices"][0]
        message = field(choice, dict, "message") or {}
        error = None
        ending = field(choice, str, "finish_reason")
        ending = ending or field(choice, str, "finish_reason", "type") or ""
        reason = re.sub(r"[\s-]+", "_", ending.strip().lower())
        note = None
        outcome = next(
            (
                each
                for each, words in FINISH_REASONS.items()
                if re.fullmatch(words, reason)
            ),
            None,
        )
        content = message.get("content")
        if not isinstance(content, str | list | dict | None) or not (
            message or outcome in (Outcome.FILTERED, Outcome.REFUSED)
        ):
            empty = None if message else self.without(answer)
            if empty is None:
                raise self.useless(f"an answer that cannot be read: {answer}")
            return empty
        if outcome is None and MAY_PASS.search(reason):
            half = self.redacted(f"half an answer (finish_reason: {reason})")
            raise TransientError(half, billed=True)
        if outcome is None:
            outcome = Outcome.OK
            note = self.redacted(f"an unknown end of the reply: {reason}")
        counts = counts_in(answer)
        usage = usage_of(answer) if counts else None
        most = conversation.most_tokens(self.max_tokens)
        parts = content if isinstance(content, list) else [content]
        text = _joined([part for part in parts if not _is_thought(part)])
        thoughts = [part for part in parts if _is_thought(part)]
        thoughts = thoughts or [next(filter(None, map(message.get, _THOUGHTS)), None)]
        refusals = [
            part.get("refusal") for part in (message, *parts) if isinstance(part, dict)
        ]
        if refusal := _joined(refusals):
            text = refusal
            outcome = Outcome.REFUSED
        elif outcome is Outcome.FILTERED:
            error = self.redacted(f"finish_reason: {reason}")
        elif outcome is Outcome.OK and usage and most and not self.beams:
            own = counts.get("output", 0)
            if (
                own >= most or usage.output_tokens == most
            ):  # some services say "stop" then, too
                outcome = Outcome.TRUNCATED
        if outcome is Outcome.TRUNCATED and not text.strip():
            error = (
                f"max_tokens = {most or 'null'} were used up before the answer began"
            )
        if conversation.prefix and outcome.goes_on:
            text = conversation.whole(text.strip()) if text.strip() else ""
        return Result(
            text,
            outcome,
            served_model=field(answer, str, "model"),
            error=error,
            note=note,
            system_fingerprint=field(answer, str, "system_fingerprint"),
            usage=usage,
            reasoning=_joined(thoughts) or None,
        )


class OpenAIImages(OpenAIComponent, RemoteGenerator):
    """An image generator.

    Equal prompts do not give equal images: no seed is sent, since the reference API has none,
    unless ``seed_parameter`` names one. What is not an image, or too large, counts as a hiccup: it
    is drawn again, and has failed when attempts are used up.
    """

    has_batches = True
    path = "/images/generations"
    needed = "data"
    largest = 2**27  # an image of 4096×4096 pixels takes less, in base64
    lines: ClassVar[dict[str, str]] = {
        "model": "correct `model:`",
        "size": "set another `image_size:`, or null,",
        "seed": "set `seed_parameter: null`",
    }

    image_size: str | None = Field(
        default="1024x1024", pattern=r"^(auto|[1-9]\d*x[1-9]\d*)$"
    )
    """Width and height in pixels; sent as ``size``. ``null`` is not sent. Quality and the like go
    into ``extra``, and ``response_format: b64_json`` for a service that else answers with an
    address; no address is followed."""
    seed_parameter: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    """What a compatible server calls the seed."""

    @model_validator(mode="after")
    def _seed_has_a_name_of_its_own(self) -> Self:
        others = self.reserved | self.lines.keys() | self.extra.keys()
        if self.seed_parameter in others - {"seed"}:
            raise ValueError(
                f"seed_parameter: {self.seed_parameter!r} is another field of the request"
            )
        return self

    @property
    def pixels(self) -> int:
        width, _, height = (self.image_size or "auto").partition("x")
        return (
            int(width) * int(height) if height else 1536 * 1024
        )  # the most that `auto` gives

    def expected(self, prompt: str) -> Usage:
        return Usage(tokens_of(prompt), self._drawn("high"), images=1)

    def usual(self, prompt: str) -> Usage:
        quality = str(self.extra.get("quality"))
        return Usage(
            min(tokens_of(prompt), USUAL_TOKENS), self._drawn(quality), images=1
        )

    def _drawn(self, quality: str) -> int:
        """Return the tokens of an image; an unknown quality counts as the highest."""
        return math.ceil(
            max(1, self.pixels / 1024**2) * _DRAWN.get(quality, _DRAWN["high"])
        )

    def body_of(self, prompt: str, seed: int) -> Json:
        size = {"size": self.image_size} if self.image_size else {}
        seeds = {self.seed_parameter: seed} if self.seed_parameter else {}
        return {
            "model": self.model,
            "prompt": prompt,
            "n": 1,
            **size,
            **seeds,
            **self.extra,
        }

    def without(self, answer: Any) -> Result | None:
        words = field(answer, str, "choices", 0, "message", "content")
        data = {"data": answer["data"]} if "data" in answer else None
        return self._filtered(answer, words or data)

    def _filtered(self, answer: Any, place: Any) -> Result | None:
        """Return a filtered drawing where an answer says so, or where nothing but a refusal is in
        the ``place`` of an image, if it has one."""
        error = flag_of(answer)
        if error is None and place is not None and is_withheld(place):
            error = f"an answer without an image: {str(place)[:1000]}"
        if error is None:
            return None
        return Result(
            outcome=Outcome.FILTERED,
            error=self.redacted(error),
            served_model=field(answer, str, "model"),
            usage=usage_of(answer, images=1),
        )

    async def read(self, answer: Any, prompt: str, seed: int) -> Result:
        drawn = answer["data"][0]
        url = (field(drawn, str, "url") or "").strip()
        encoded = field(drawn, str, "b64_json")
        if not encoded and url[:5].lower() == "data:":
            encoded = url
        is_image = re.search(r"^\S+\s*$", encoded or url)
        filtered = self._filtered(answer, None if is_image else drawn)
        if filtered is not None:
            return filtered
        if not encoded:
            if url and "response_format" not in self.extra:
                advice = "add `response_format: b64_json` to `extra:` and run again"
                raise ServiceError(
                    f"{self._server} answers with the address of an image; {advice}"
                )
            raise self.useless("an answer without an image")
        try:
            data = from_base64(unquote(encoded))
        except ValueError as error:
            raise self.useless(
                f"an answer with no image that can be used: {error}"
            ) from None
        result = await self.shown(data, usage_of(answer, images=1))
        return replace(
            result,
            served_model=field(answer, str, "model"),
            revised_prompt=field(drawn, str, "revised_prompt"),
        )

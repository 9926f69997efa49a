"""A service's entry: model, address, key, and the meaning of errors.

Nothing is taken from the environment but the key, proxies and certificates.
"""

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, model_validator

from driftledger.components.answers import ErrorRule, Trouble, retry_after, trouble_in
from driftledger.components.base import Operational, Readiness
from driftledger.components.http import check_network, proxies_for
from driftledger.components.service import (
    RefusedError,
    RemoteComponent,
    TransientError,
    time_after,
)
from driftledger.core.canonical import Json, canonical_json
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Outcome, Result

OFFICIAL = "https://api.openai.com/v1"
_ADDRESS = re.compile(
    r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:(?!0)(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}))?"
    r"(/[^\x00-\x20?#]*)?"
)
_LONGEST_MESSAGE = 240
_MASKED_KEY = re.compile(r"[\w-]*\*{2,}[\w*-]*")
"""A wrong key as services show it: its first and last characters."""
_ORDINARY = {"model", "n", "size", "quality", "style"}
"""Fields of a request that are words of any sentence."""
_SETTING = re.compile(
    r"\b(models?|param(eter)?s?|settings?|options?|fields?|arguments?|key|url|endpoint)\b",
    re.IGNORECASE,
)
"""Words in an error that have to do with an entry of params.yaml."""
_NOT_NAMED = "ask whoever runs the service"
"""Advice about an error that names nothing which params.yaml could change."""


class Endpoint(RemoteComponent):
    """A component behind a service: settings of its entry, meaning of its errors."""

    version = "1"
    library: ClassVar[str] = "openai"
    """The optional library that it calls through."""
    reserved: ClassVar[frozenset[str]] = frozenset(
        {"n", "stream", "messages", "prompt", "input", "inputs"}
    )
    """Fields of a request that no setting may change."""
    remedies: ClassVar[dict[str, str]]
    """Field of a request that has a setting → what to change if a service refuses the field."""

    model: str = Field(min_length=1)
    """The pinned name, e.g. ``gpt-4o-2024-08-06``; an alias such as ``gpt-4o`` names another model
    some day."""
    base_url: Operational[str | None] = None
    """Up to and with ``/v1``; ``null`` is OpenAI's own, whatever OPENAI_BASE_URL says. It decides
    who answers, so it is in the identity as it is: at another port there may be another server.
    For several servers of one model name a router in front of them, LiteLLM's or vLLM's."""
    service_name: Operational[str | None] = Field(
        default=None, min_length=1, max_length=100
    )
    """Replaces the address in the identity, for addresses that change from job to job. Choose
    another name for another model, or for another version of the server."""
    api_key_env: Operational[str | None] = "OPENAI_API_KEY"
    """The environment variable that holds the key; ``null`` for a server that needs none. Set it
    together with ``base_url``, so that no service is sent another one's key."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of each request, e.g. ``reasoning_effort`` or ``top_p``."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        # no check of the field itself: its error would show the value, which may be the key
        if self.api_key_env is not None and not re.fullmatch(
            r"[A-Z_][A-Z0-9_]*", self.api_key_env
        ):
            raise ValueError(
                "api_key_env must be the name of an environment variable, in capitals, and not the "
                "key itself"
            )
        if self.base_url is None and self.service_name:
            raise ValueError("service_name names your own server; set base_url, too")
        if self.base_url is not None:
            # its error does not show the address, which may hold a password
            if not _ADDRESS.fullmatch(self.base_url):
                raise ValueError(
                    "base_url must be an address that begins with http:// or https:// and names a "
                    "host, without user, query or fragment; api_key_env names the key's variable"
                )
            if "api_key_env" not in self.model_fields_set:
                raise ValueError(
                    "with base_url, set api_key_env to the variable that holds its key, or to null"
                )
        for name in sorted(self.extra.keys() & (self.reserved | self.remedies.keys())):
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
    def address(self) -> str:
        """The address of the server, without a slash at its end."""
        return (self.base_url or OFFICIAL).rstrip("/")

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return urlsplit(self.address).netloc

    @property
    def server(self) -> str:
        """The model and its server, as sentences name them."""
        return f"{self.title} at {self.host}"

    def identity(self) -> Json:
        return {"service": self.service_name or self.base_url or self.host}

    def readiness(self) -> Readiness:
        """Look for the library and the key."""
        missing, notes = super().readiness()
        try:
            check_network()  # libraries read certificates where they are imported
            import_extra(self.library)
            _ = self.key  # raises if it is not set
        except ConfigError as error:
            missing.append(str(error))
        return missing, notes

    @property
    def key(self) -> str | None:
        """The key for the service; None if it needs none.

        Raises:
            ConfigError: the environment variable holds no key.
        """
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
        """Return a service's text on one short line, without the key."""
        text = text.replace(self.key, "***") if self.key else text
        plain = text.encode(errors="backslashreplace").decode()
        line = _MASKED_KEY.sub("***", for_line(plain))
        # what is wrong comes first, and may be long
        if len(line) > _LONGEST_MESSAGE:
            line = f"{line[: _LONGEST_MESSAGE - 1]}…"
        return line

    def unusable(self, text: str) -> TransientError:
        """Return an error about an answer that cannot be used; ``text`` may quote it."""
        return TransientError(
            self.redacted(text), advice=_NOT_NAMED, billed=True, once_more=True
        )

    def resolve_error(
        self, status: int, text: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Any:
        """Return the result of a call that ends with an error, or raise the error.

        Args:
            status: HTTP's; 0 if no answer came, and ``text`` says why.
            text: the body of the answer.

        Raises:
            TransientError: the error may pass.
            RefusedError: the service refuses this call.
            ServiceError: the service would refuse every call.
        """
        trouble, rule, advice = self.diagnose(status, text)
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
            reason = reason if status else f"{self.server}: {reason}"
            raise TransientError(
                reason, advice=advice, retry_after=wait, **flags
            ) from None
        if rule.end == "another day":
            after = "a day"
            if wait and wait > self.limits.deadline:  # else it is of another limit
                after = time_after(wait)
            advice = f"{advice}; run again after {after}"
        else:
            advice = f"{advice} and run again"
        raise ServiceError(f"{self.server}: {reason}; {advice}") from None

    def diagnose(self, status: int, text: str) -> tuple[Trouble, ErrorRule, str]:
        """Return an error with a message of one line, the rule for it, and what to do."""
        trouble = trouble_in(status, text)
        message = trouble.message
        lines = {name: f"take `{name}` out of `extra:`" for name in self.extra}
        lines |= self.remedies
        quoted = rf"[`'\"](\w+|{re.escape(self.model)})[`'\"]"
        named = re.findall(r"\w+", trouble.param) + re.findall(quoted, message)
        words = [word for word in re.findall(r"\w+", message) if word not in _ORDINARY]
        changes = [lines[word] for word in named + words if word in lines]
        line = _NOT_NAMED
        if changes:
            line = f"{changes[0]} in {self._entry}"
        elif named or _SETTING.search(message):
            line = f"change {self._entry}"
        rule = trouble.rule(not lines.keys().isdisjoint(named))
        if message == text and trouble.status in range(200, 300):
            message = f"an answer that cannot be read: {message[:1000]}"
        message = self.redacted(message)
        if trouble.status >= 300:
            message = f"HTTP {trouble.status}: {message}"
        proxies = proxies_for(self.address)
        where = "the network"
        model = f"`model: {self.model}`"
        if self.base_url:
            where = f"`base_url: {self.base_url}` in params.yaml{self.missing_v1}"
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
    def missing_v1(self) -> str:
        """A hint if ``base_url`` ends before its version."""
        if self.base_url is None or re.search(r"/v\d", self.base_url):
            return ""
        return f" (did you mean `base_url: {self.address}/v1`?)"

    @property
    def _entry(self) -> str:
        return f"its entry, with `model: {self.model}`, in params.yaml{self.missing_v1}"

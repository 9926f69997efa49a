"""What the failures of a service that speaks OpenAI's protocol mean for a call, told without the key."""

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from driftledger.components.remote.client import TransientError
from driftledger.core.errors import ServiceError
from driftledger.core.text import for_line
from driftledger.core.types import Outcome, Usage

if TYPE_CHECKING:
    import openai

_LONGEST_MESSAGE = 300
_MASKED_KEY = re.compile(r"[\w-]*\*{2,}[\w*-]*")
"""What services show of a wrong key: its first and last characters."""

_PASSING = {408, 409, 425, 429}
_AFTER_THE_WORK = {502, 504, 524}
"""A gateway has lost the answer; the service behind it may have made it, and bill it."""
_THIS_INPUT = {400, 413, 415, 422}
_FILTERED = {"content_filter", "content_policy_violation", "moderation_blocked"}
_FLAGGED = re.compile(r"\b(prompt|input) was flagged\b", re.IGNORECASE)
"""OpenAI's ``invalid_prompt`` and OpenRouter's 403."""
_EVERY_CALL = {
    *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"),
    *("invalid_api_key", "model_not_found", "unknown_parameter", "unsupported_parameter"),
}
"""Codes that no other attempt and no other input gets past, whatever the status: a used-up quota comes as 429."""
_GEMINI_KEY = "API_KEY_INVALID"
"""Comes as 400, deep inside."""


class Rejected(Exception):  # noqa: N818 - an answer, if an unwelcome one
    """The service will not do this one call; ``usage`` is None where it does not say whether it bills for that."""

    def __init__(self, outcome: Outcome, message: str, usage: Usage | None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.usage = usage


@dataclass(frozen=True)
class OpenAIFailures:
    """Turns the client's exceptions into ours."""

    who: str
    """Component and host, as sentences name them."""
    timeout: float
    api_key_env: str | None
    key: str | None = field(repr=False)

    def without_key(self, said: Any) -> Any:
        """What the service says, as decoded from JSON, with the key masked in every text of it."""
        if isinstance(said, str):
            return said.replace(self.key, "***") if self.key else said
        if isinstance(said, list):
            return [self.without_key(each) for each in said]
        if isinstance(said, dict):
            return {self.without_key(name): self.without_key(value) for name, value in said.items()}
        return said

    def say(self, text: str) -> str:
        """``text`` from the service on one short line, without the key."""
        text = self.without_key(text).encode(errors="backslashreplace").decode()
        line = _MASKED_KEY.sub("***", for_line(text)[: 2 * _LONGEST_MESSAGE])
        return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"

    def lost(self, error: "openai.APIConnectionError") -> TransientError:
        """There is no answer."""
        import httpx2

        cause = error.__cause__
        said = self.say(f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__)
        if isinstance(cause, httpx2.TimeoutException):
            said = f"no answer within {self.timeout:g} s ({said})"
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return TransientError(f"{self.who}: {said}")
        return TransientError(f"{self.who}: {said}", billed=True)

    def refused(self, error: "openai.APIStatusError") -> TransientError | ServiceError | Rejected:
        """The answer is an HTTP error."""
        status, text = error.status_code, error.response.text
        detail = _detail(error.body)
        message = detail.get("message")
        message = message if isinstance(message, str) and message else self._plain(text)
        said = f"HTTP {status}: {self.say(message)}"
        codes = {str(detail.get("code")), str(detail.get("type"))}
        if codes & _FILTERED or (status in (400, 403) and _FLAGGED.search(message)):
            return Rejected(Outcome.FILTERED, said, None)
        if codes & _EVERY_CALL or _is_a_setting(codes, detail) or _GEMINI_KEY in text:
            return self._for_every_call(status, said)
        if status in _PASSING or status >= 500:
            return TransientError(said, retry_after(error.response.headers), billed=status in _AFTER_THE_WORK)
        if status in _THIS_INPUT:
            return Rejected(Outcome.FAILED, said, Usage(0, 0))
        return self._for_every_call(status, said)

    def _plain(self, text: str) -> str:
        """``text``, where it is JSON without the escapes that a key may hide in."""
        try:
            return to_json(self.without_key(from_json(text))).decode()
        except ValueError:
            return text

    def _for_every_call(self, status: int, said: str) -> ServiceError:
        advice = {
            401: f"check the key in {self.api_key_env}" if self.api_key_env else "say in api_key_env where its key is",
            402: "check the account's credit",
            403: "check what the account may use",
            404: "check model and base_url",
            429: "check the account's quota and credit",
        }.get(status, "check base_url" if status < 400 else "change the entry in params.yaml")
        return ServiceError(f"{self.who}: {said}; {advice} and run again")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service asks to wait, given in milliseconds, seconds or as a date; None where it asks for none."""
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "")
        try:
            seconds = float(value) / per_second
        except ValueError:
            seconds = _until(value)
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    return None


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0.0


def _detail(body: object) -> dict[str, Any]:
    """The error's fields. The client has unwrapped ``{"error": …}``; Gemini puts a list around that."""
    if isinstance(body, list) and body and isinstance(body[0], dict):
        body = body[0].get("error")
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, dict) else {}


def _is_a_setting(codes: set[str], detail: Mapping[str, Any]) -> bool:
    """Whether what is refused is a value from params.yaml, such as a temperature, and not the call's own content."""
    name = str(detail.get("param") or "messages")
    return "unsupported_value" in codes and not name.startswith(("messages", "prompt"))

"""Answers on their way out: bytes, headers, and how much of them is sent."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Ending = Literal["whole", "half", "drip", "closed", "reset", "held"]
"""Sent whole; half of it, then closed; slowly; closed at once; reset at once (RST); nothing sent and held open."""


@dataclass(frozen=True)
class Reply:
    status: int
    content: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = "whole"


def now() -> int:
    """The time that answers carry: what must not depend on it is found out."""
    return int(time.time())


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, json.dumps(body).encode(), headers=headers or {})


def error_reply(
    status: int,
    message: str,
    kind: str | None = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Reply:
    """An error as OpenAI words it; ``more`` is what others add to it."""
    error = {"message": message, "type": kind, "param": param, "code": code, **(more or {})}
    return json_reply({"error": error}, status, headers)

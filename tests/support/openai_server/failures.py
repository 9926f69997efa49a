"""What each kind of fault sends."""

import json
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any

from .faults import Faults
from .replies import Ending, Reply, error_reply, json_reply
from .requests import CHAT, Incoming

ENDINGS: dict[str, Ending] = {"timeout": "held", "drop": "closed", "reset": "reset"}
PAGE = b"<!doctype html><title>Just a moment</title><h1>502 Bad Gateway</h1>"
SAFETY = "Your request was rejected as a result of our safety system."
FILTERED = "The response was filtered due to the prompt triggering the content management policy."


async def failure(kind: str, request: Incoming, answer: Callable[[], Awaitable[Reply]], faults: Faults) -> Reply:
    """What a request gets that fails in this way; ``answer`` makes what it would have got."""
    if kind in ENDINGS:
        return Reply(200, b"", ending=ENDINGS[kind])
    if kind in ERRORS:
        return ERRORS[kind](request, faults)
    good = await answer()
    if good.status != 200:
        return good
    if kind in ("drop_midway", "drip"):
        return replace(good, ending="drip" if kind == "drip" else "half")
    if kind == "malformed_json":
        return replace(good, content=good.content[: len(good.content) // 2])
    if kind == "wrong_type":
        return replace(good, content=PAGE, content_type="text/html")
    body = json.loads(good.content)
    (_spoil_chat if request.path == CHAT else _spoil_image)(kind, body)
    return json_reply(body)


def _spoil_chat(kind: str, body: dict[str, Any]) -> None:
    choice, message = body["choices"][0], body["choices"][0]["message"]
    text = message["content"] or ""
    half = text[: len(text) // 2]
    match kind:
        case "no_choices":
            body["choices"] = []
        case "empty":
            message["content"] = ""
        case "truncated":
            message["content"], choice["finish_reason"] = half, "length"
        case "content_filter_finish":
            message["content"], choice["finish_reason"] = None, "content_filter"
        case "content_filter_partial":
            message["content"], choice["finish_reason"] = half, "content_filter"
        case "refusal":
            message["content"], message["refusal"] = None, "I'm sorry, I can't help with that."


def _spoil_image(kind: str, body: dict[str, Any]) -> None:
    image = body["data"][0]
    match kind:
        case "no_data":
            body["data"] = []
        case "not_an_image":
            image.pop("url", None)
            image["b64_json"] = "VGhpcyBpcyB0ZXh0LCBub3QgYW4gaW1hZ2Uu"
        case "bad_base64":
            image.pop("url", None)
            image["b64_json"] = "iVBORw0KGgoAAAANSUhEU"


def _rate_limit(_: Incoming, faults: Faults, *, date: bool = False) -> Reply:
    after = f"{faults.retry_after:g}"
    if date:
        after = formatdate(math.ceil(time.time() + faults.retry_after), usegmt=True)
    message = f"Rate limit reached for requests per min. Please try again in {faults.retry_after:g}s."
    return error_reply(429, message, "requests", "rate_limit_exceeded", headers={"retry-after": after})


def _quota(_: Incoming, __: Faults) -> Reply:
    message = "You exceeded your current quota, please check your plan and billing details."
    return error_reply(429, message, "insufficient_quota", "insufficient_quota")


def _no_model(request: Incoming, _: Faults) -> Reply:
    model = request.body.get("model") if isinstance(request.body, dict) else None
    message = f"The model `{model}` does not exist or you do not have access to it."
    return error_reply(404, message, code="model_not_found")


def _filtered(request: Incoming, _: Faults) -> Reply:
    """OpenAI's wording for an image prompt, Azure's for a chat."""
    if request.path != CHAT:
        return error_reply(400, SAFETY, code="content_policy_violation")
    result = {"violence": {"filtered": True, "severity": "medium"}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": result}
    return error_reply(400, FILTERED, None, "content_filter", "prompt", more={"status": 400, "innererror": inner})


def _plain(status: int, message: str, kind: str, code: str | None = None) -> Callable[[Incoming, Faults], Reply]:
    return lambda *_: error_reply(status, message, kind, code)


ERRORS: dict[str, Callable[[Incoming, Faults], Reply]] = {
    "400": _plain(400, "Invalid value for a parameter.", "invalid_request_error", "invalid_value"),
    "401": _plain(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "404_model": _no_model,
    "408": _plain(408, "The request timed out.", "timeout"),
    "409": _plain(409, "The request conflicts with another one.", "conflict"),
    "429": _rate_limit,
    "429_date": lambda request, faults: _rate_limit(request, faults, date=True),
    "429_quota": _quota,
    "500": _plain(500, "The server had an error while processing your request.", "server_error"),
    "502_page": lambda *_: Reply(502, PAGE, "text/html"),
    "503": _plain(503, "The engine is currently overloaded, please try again later.", "server_error"),
    "content_filter_error": _filtered,
    "error_in_200": _plain(200, "The provider returned an error.", "server_error", "server_error"),
    "moderation_blocked": _plain(400, SAFETY, "image_generation_user_error", "moderation_blocked"),
}

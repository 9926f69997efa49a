"""What a request holds, and the checks a real server makes before it answers."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

from PIL import Image

CHAT = "/v1/chat/completions"
IMAGES = "/v1/images/generations"
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


class RequestError(Exception):
    """A mistake in a request, answered with status 400."""

    def __init__(self, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


@dataclass(frozen=True)
class Incoming:
    """A request as it came in. ``headers`` have lower-case names; ``body`` is parsed JSON, None where there is none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    digest: bytes
    """Identifies method, path and body: equal for each attempt at one logical request."""
    number: int
    """Counts all requests of a server, from 0."""
    attempt: int
    """How many requests with this digest came before."""
    at: float
    """``time.monotonic()`` when its last byte had been read."""


def check_chat(body: Any) -> None:
    """Raise what is wrong with a chat request."""
    _check_model(body)
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise RequestError("Missing required parameter: 'messages'.", "missing_required_parameter", "messages")
    if body.get("stream") or (body.get("n", 1) != 1 and not body.get("use_beam_search")):
        raise RequestError("This server answers with one choice and does not stream.", "unsupported_value")
    for content in images_of(body):
        try:
            known = Image.open(BytesIO(content)).format in FORMATS
        except OSError:
            known = False
        if not known:
            raise RequestError(f"You uploaded an unsupported image: none of {FORMATS}.", "invalid_image_format")


def check_image(body: Any) -> None:
    """Raise what is wrong with an image request."""
    _check_model(body)
    if not isinstance(body.get("prompt"), str) or not body["prompt"]:
        raise RequestError("Missing required parameter: 'prompt'.", "missing_required_parameter", "prompt")
    if body.get("n", 1) != 1:
        raise RequestError("This server draws one image.", "unsupported_value", "n")


def size_of(body: dict[str, Any], otherwise: tuple[int, int]) -> tuple[int, int]:
    """The size an image request asks for."""
    size = body.get("size") or "auto"
    if size == "auto":
        return otherwise
    match = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", str(size))
    if not match:
        raise RequestError(f"Invalid value: {size!r}.", "invalid_value", "size")
    return int(match[1]), int(match[2])


def text_of(body: dict[str, Any]) -> str:
    """The text of all messages of a chat request, one part per line."""
    return "\n".join(part["text"] for part in _parts(body) if part.get("type") == "text")


def images_of(body: dict[str, Any]) -> list[bytes]:
    """The files of all images of a chat request, decoded."""
    return [_decode(part.get("image_url")) for part in _parts(body) if part.get("type") == "image_url"]


def _check_model(body: Any) -> None:
    if not isinstance(body, dict):
        raise RequestError("We could not parse the JSON body of your request.")
    if not isinstance(body.get("model"), str):
        raise RequestError("you must provide a model parameter", "missing_required_parameter", "model")


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for message in body["messages"]:
        content = message.get("content")
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for part in parts:
        if part.get("type") not in ("text", "image_url"):
            raise RequestError(f"Invalid value: {part.get('type')!r}.", "invalid_value", "messages")
    return parts


def _decode(image_url: Any) -> bytes:
    url = image_url.get("url") if isinstance(image_url, dict) else None
    if not isinstance(url, str):
        raise RequestError("Invalid type for 'image_url': expected an object.", "invalid_type", "messages")
    head, comma, content = url.partition(",")
    if not comma or not re.fullmatch(r"data:image/[\w.+-]+;base64", head):
        raise RequestError(f"Invalid image URL: {url[:40]!r}.", "invalid_image_url", "messages")
    try:
        return _from_base64(content)
    except binascii.Error:
        raise RequestError("Invalid base64 image_url.", "invalid_base64", "messages") from None


@lru_cache(maxsize=16)
def _from_base64(content: str) -> bytes:
    return base64.b64decode(content, validate=True)

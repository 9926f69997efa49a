"""Chat answers: text that depends on nothing but the images and the prompt, in the protocol's shape."""

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from .replies import Reply, json_reply, now
from .requests import images_of, text_of

COLOURS = ("red", "golden", "yellow", "green", "turquoise", "blue", "violet", "brown", "white", "black", "grey", "pink")
THINGS = ("circle", "square", "tower", "tree", "boat", "horse", "bridge", "clock", "chair", "river", "lamp", "cat")
PLACES = ("in front of", "behind", "above", "below", "to the left of", "to the right of")
GROUNDS = ("sky", "wall", "meadow", "sea", "street", "desert", "forest", "table")


@dataclass(frozen=True)
class ChatAnswer:
    """What a chat model says. Token counts of None are made up from the lengths; an empty fingerprint is null."""

    text: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def describe(body: dict[str, Any]) -> ChatAnswer:
    """A sentence chosen by the SHA-256 of the images and the text of a request."""
    digest = hashlib.sha256(text_of(body).encode("utf-8", "surrogatepass"))
    for content in images_of(body):
        digest.update(hashlib.sha256(content).digest())
    pick = iter(digest.digest())
    one, other, ground = (COLOURS[next(pick) % len(COLOURS)] for _ in range(3))
    thing, second = (THINGS[next(pick) % len(THINGS)] for _ in range(2))
    place, behind = PLACES[next(pick) % len(PLACES)], GROUNDS[next(pick) % len(GROUNDS)]
    count = 2 + next(pick) % 40
    return ChatAnswer(
        f"A {one} {thing} {place} a {other} {second}, and {count} small dots, before a {ground} {behind}."
    )


def chat_reply(answer: ChatAnswer, body: dict[str, Any], served: str) -> Reply:
    """A chat completion that holds ``answer``."""
    model = answer.model or served
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    if prompt is None:
        prompt = len(text_of(body).split()) + 85 * len(images_of(body))
    if completion is None:
        completion = len((answer.text or answer.refusal or "").split())
    fingerprint = answer.system_fingerprint
    if fingerprint is None:
        fingerprint = f"fp_{hashlib.sha256(model.encode()).hexdigest()[:10]}"
    content = None if answer.refusal is not None else answer.text
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": answer.refusal, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return json_reply(
        {
            "id": f"chatcmpl-{uuid4().hex}",
            "object": "chat.completion",
            "created": now(),
            "model": model,
            "choices": [choice],
            "usage": usage,
            "service_tier": "default",
            "system_fingerprint": fingerprint or None,
        }
    )

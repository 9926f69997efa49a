"""Chat models behind OpenAI's protocol."""

import base64
import re
from functools import lru_cache
from io import BytesIO
from typing import Any, ClassVar, Literal, Self

from PIL import Image
from pydantic import Field, model_validator

from driftledger.components.answers import FINISH_REASONS, MAY_PASS, field
from driftledger.components.base import MOST_TOKENS, Operational
from driftledger.components.openai import OpenAIComponent
from driftledger.components.service import RemoteModel, TransientError
from driftledger.components.tokens import counts_in, tokens_of, usage_of
from driftledger.core.canonical import Json
from driftledger.core.media import data_url, png_bytes
from driftledger.core.strict import Strict, is_none
from driftledger.core.types import Conversation, Medium, Outcome, Result, Usage

_IMAGE_TOKENS = 2000
"""Tokens of an image in a prompt, for estimates."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message with a model's thoughts: DeepSeek and vLLM, OpenRouter, Ollama."""


class Payload(Strict):
    """The form in which images are sent to a service."""

    format: Literal["png", "jpeg", "webp"] = "png"
    quality: int | None = Field(default=None, ge=1, le=100)
    """Of a JPEG or WebP; ``null`` is 92."""
    longest_side: int | None = Field(default=None, ge=16)
    """In pixels; a larger image is scaled down to it."""

    @model_validator(mode="after")
    def _quality_has_an_effect(self) -> Self:
        if self.format == "png" and self.quality is not None:
            raise ValueError("quality is of jpeg and webp; a png has none")
        return self


# an image is sent for every question about it, and again after a failure
@lru_cache(maxsize=32)
def _encoded_url(payload: Payload, image: Medium) -> str:
    """Return the data URL of an image in this form."""
    picture = image.open()
    file = BytesIO()
    if payload.longest_side is not None:
        size = (payload.longest_side, payload.longest_side)
        picture.thumbnail(size, Image.Resampling.LANCZOS)
    if payload.format == "png":
        file.write(png_bytes(picture))
    else:
        picture.save(file, payload.format, quality=payload.quality or 92)
    return f"data:image/{payload.format};base64,{base64.b64encode(file.getvalue()).decode()}"


def _is_thought(part: Any) -> bool:
    """Return True if a part of an answer is reasoning."""
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    is_named = kind.startswith(("think", "thought", "reason", "redacted"))
    return is_named or (bool(kind) and part.get("thought") is True)


_TEXTS = ("text", "thinking", "reasoning", "summary", "content")
"""Fields of a part that may hold its text, or further parts."""


def _joined(value: Any) -> str:
    """Return the text of an answer: a text, a part, or a list of parts in parts."""
    if isinstance(value, list):
        return "".join(map(_joined, value))
    if isinstance(value, dict):
        return _joined(next(filter(None, map(value.get, _TEXTS)), ""))
    return value if isinstance(value, str) else ""


class OpenAIChat(OpenAIComponent, RemoteModel):
    """A chat model, whose reasoning is kept apart from its answer."""

    has_batches = True
    path = "/chat/completions"
    items = "choices"
    remedies: ClassVar[dict[str, str]] = {
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
    """Most tokens of an answer, thoughts included; a conversation may allow fewer. ``null`` is not
    sent, and estimates assume 16,384."""
    max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The name of ``max_tokens`` in a request. ``null``: ``max_completion_tokens`` at OpenAI, since
    newer models refuse the older name, and elsewhere ``max_tokens``, since Ollama and others ignore
    the newer name without an error."""
    seed: int | None = None
    """``null`` is not sent. No service promises equal answers for equal seeds."""
    beams: int | None = Field(default=None, ge=2, le=64, exclude_if=is_none)
    """How many candidates beam search follows, as vLLM is asked for it; the first of what it
    returns is the best one. ``length_penalty`` goes into ``extra``."""
    prefill: Operational[Literal["vllm"] | None] = None
    """How the server is asked to go on from the beginning of a reply; ``null``: it cannot. Calls
    without such a beginning are the same under both."""
    image_detail: Literal["auto", "low", "high"] | None = None
    image: Payload | None = Field(default=None, exclude_if=is_none)
    """The form of images: ``{format: jpeg, quality: 92, longest_side: 1024}``. ``null``: their
    files, without loss."""

    def expected(self, conversation: Conversation) -> Usage:
        """Estimate the most tokens, of all beams: a service may bill each of them."""
        tokens = 0
        for part in conversation.parts:
            tokens += _IMAGE_TOKENS if isinstance(part, Medium) else tokens_of(part)
        longest = conversation.most_tokens(self.max_tokens) or MOST_TOKENS
        return Usage(tokens, longest * (self.beams or 1))

    @property
    def longest(self) -> int | None:
        return self.max_tokens

    @property
    def continues(self) -> bool:
        return self.prefill is not None

    def body_of(self, conversation: Conversation) -> Json:
        messages = []
        for turn in conversation.turns:
            content = [self._part(part, turn.role) for part in turn.parts]
            text = "\n".join(part["text"] for part in content if "text" in part)
            is_user = turn.role == "user"
            messages.append(
                {"role": turn.role, "content": content if is_user else text}
            )
        limit = self.max_tokens_parameter or (
            "max_completion_tokens" if self.base_url is None else "max_tokens"
        )
        settings: Json = {
            "temperature": self.temperature,
            "seed": self.seed,
            limit: conversation.most_tokens(self.max_tokens),
            "n": self.beams,
            "use_beam_search": self.beams and True,
        }
        sent = {name: value for name, value in settings.items() if value is not None}
        if conversation.prefix:
            sent |= {"add_generation_prompt": False, "continue_final_message": True}
        return {"model": self.model, "messages": messages, **sent, **self.extra}

    def _part(self, part: str | Medium, role: str) -> Json:
        """Return a part of a turn in the form of a request."""
        if isinstance(part, str):
            return {"type": "text", "text": part}
        if role != "user":
            raise ValueError(
                f"only the user can show images in this protocol, and here the {role} does"
            )
        url = _encoded_url(self.image, part) if self.image else data_url(part.path)
        detail = {"detail": self.image_detail} if self.image_detail else {}
        return {"type": "image_url", "image_url": {"url": url} | detail}

    def empty_result(self, answer: Any) -> Result | None:
        """Return an empty reply if the service has counted no token of a reply."""
        counts = counts_in(answer)
        prompt = counts.get("prompt", counts.get("input", 0))
        if not counts or counts.get("output") or counts.get("total", 0) > prompt:
            return None
        error = "the answer has no choices, and no tokens of one"
        return Result("", Outcome.EMPTY, error=error, usage=Usage(prompt, 0))

    async def read(self, answer: Any, conversation: Conversation) -> Result:
        choice = answer["choices"][0]
        message = field(choice, dict, "message") or {}
        ending = field(choice, str, "finish_reason")
        ending = ending or field(choice, str, "finish_reason", "type") or ""
        reason = re.sub(r"[\s-]+", "_", ending.strip().lower())
        outcome = _outcome_of(reason)
        content = message.get("content")
        has_message = message or outcome in (Outcome.FILTERED, Outcome.REFUSED)
        if not has_message or not isinstance(content, str | list | dict | None):
            empty = None if message else self.empty_result(answer)
            if empty is None:
                raise self.unusable(f"an answer that cannot be read: {answer}")
            return empty
        note = None
        if outcome is None:
            if MAY_PASS.search(reason):
                half = self.redacted(f"half an answer (finish_reason: {reason})")
                raise TransientError(half, billed=True)
            outcome = Outcome.OK
            note = self.redacted(f"an unknown end of the reply: {reason}")
        parts = content if isinstance(content, list) else [content]
        text = _joined([part for part in parts if not _is_thought(part)])
        thoughts = [part for part in parts if _is_thought(part)]
        thoughts = thoughts or [next(filter(None, map(message.get, _THOUGHTS)), None)]
        refusals = [
            part.get("refusal") for part in (message, *parts) if isinstance(part, dict)
        ]
        most = conversation.most_tokens(self.max_tokens)
        usage = usage_of(answer) if counts_in(answer) else None
        error = None
        if refusal := _joined(refusals):
            text = refusal
            outcome = Outcome.REFUSED
        elif outcome is Outcome.FILTERED:
            error = self.redacted(f"finish_reason: {reason}")
        elif outcome is Outcome.OK and usage and most and not self.beams:
            # some services say "stop" at the limit, too
            output = counts_in(answer).get("output", 0)
            if output >= most or usage.output_tokens == most:
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


def _outcome_of(reason: str) -> Outcome | None:
    """Return the outcome for a finish reason; None if it is unknown."""
    for outcome, words in FINISH_REASONS.items():
        if re.fullmatch(words, reason):
            return outcome
    return None

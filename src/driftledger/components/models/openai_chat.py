"""Chat models behind OpenAI's protocol: the reference API, and the servers and services that imitate it."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from driftledger.components.base import Operational
from driftledger.components.remote.component import OneReply, RemoteModel
from driftledger.components.remote.lenient import OR_NONE, Label, TokenCount
from driftledger.components.remote.openai_client import OpenAIComponent, tokens_of
from driftledger.components.remote.openai_failures import Rejected
from driftledger.components.remote.openai_service import Service
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Turn, Usage

_AT_THE_LIMIT = ("length", "max_tokens", "model_length")
_GEMINI_FILTERS = ("safety", "recitation", "blocklist", "prohibited_content", "spii")
"""Gemini's own names for ``content_filter``; also with ``image_`` in front."""

_MaxTokens = Literal["max_tokens", "max_completion_tokens"]


class OpenAIChat(OpenAIComponent, RemoteModel):
    """A chat model.

    An empty answer counts as a hiccup: it is asked for again, and has failed when attempts are used up. Where nothing
    but the length limit was reached, as by a model that thinks first, it has failed at once.
    """

    provider: ClassVar[str] = "openai"
    version: ClassVar[str] = "1"
    reserved: ClassVar[frozenset[str]] = OpenAIComponent.reserved | {
        *("messages", "temperature", "seed", "max_tokens", "max_completion_tokens"),
        *("use_beam_search", "add_generation_prompt", "continue_final_message"),
    }

    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)
    """``null`` is not sent, for models that refuse any."""
    max_tokens: int = Field(default=1024, ge=1)
    """Most tokens of an answer; with models that think first, of their thoughts too. Where a conversation allows fewer,
    it is that many."""
    max_tokens_parameter: _MaxTokens | None = None
    """What a request calls it. ``null``: ``max_completion_tokens`` at OpenAI, whose newer models refuse the older name,
    and elsewhere ``max_tokens``, since Ollama and others ignore the newer one without a word."""
    seed: int | None = None
    """Sent where given; no service promises equal answers for it."""
    beams: int | None = Field(default=None, ge=2, le=64, exclude_if=lambda beams: beams is None)
    """How many candidates beam search follows, as vLLM is asked for it; the first of what it returns is the best one.
    ``length_penalty`` goes into ``extra``."""
    prefill: Operational[Literal["vllm"] | None] = None
    """How the server takes the beginning of a reply; without it, none can be given. It shapes no other call."""
    image_detail: Literal["auto", "low", "high"] | None = None
    image_tokens: Operational[int] = Field(default=2000, ge=0)
    """What an image is assumed to take in estimates. 1024×1024 takes 765 with gpt-4o, 25,501 with gpt-4o-mini."""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[OneReply]:
        async with self.service() as service:

            async def reply(conversation: Conversation) -> Reply:
                try:
                    answer = await service.post("/chat/completions", self._body(conversation), _Completion)
                except Rejected as error:
                    return Reply("", error.outcome, error=str(error), usage=error.usage)
                return self._reply(answer, service, conversation)

            yield reply

    def expected(self, conversation: Conversation) -> Usage:
        """As for every model; with beams, all of them have tokens, since a service may bill each that it returns."""
        parts = [part for turn in conversation.turns for part in turn.parts]
        tokens = sum(self.image_tokens if isinstance(part, ImageFile) else tokens_of(part) for part in parts)
        return Usage(tokens, self._most(conversation) * (self.beams or 1))

    @property
    def continues(self) -> bool:
        return self.prefill is not None

    def _most(self, conversation: Conversation) -> int:
        """How many tokens an answer may have."""
        asked = conversation.max_tokens
        return self.max_tokens if asked is None else min(asked, self.max_tokens)

    def _body(self, conversation: Conversation) -> dict[str, Any]:
        limit = self.max_tokens_parameter or ("max_completion_tokens" if self.base_url is None else "max_tokens")
        settings = {"temperature": self.temperature, "seed": self.seed, limit: self._most(conversation)}
        sent = {name: value for name, value in settings.items() if value is not None}
        messages = [self._message(turn) for turn in conversation.turns]
        if self.beams is not None:
            sent |= {"use_beam_search": True, "n": self.beams}
        if conversation.prefix:
            sent |= {"add_generation_prompt": False, "continue_final_message": True}
        return {"model": self.model, "messages": messages, **sent, **self.extra}

    def _message(self, turn: Turn) -> dict[str, Any]:
        if turn.role == "user":
            return {"role": "user", "content": [self._part(part) for part in turn.parts]}
        texts = [part for part in turn.parts if isinstance(part, str)]
        if len(texts) < len(turn.parts):
            raise ValueError(f"only the user can show images in this protocol, and here the {turn.role} does")
        return {"role": turn.role, "content": "\n".join(texts)}

    def _part(self, part: str | ImageFile) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        content = base64.b64encode(part.path.read_bytes()).decode()
        image = {"url": f"data:image/png;base64,{content}"}
        return {"type": "image_url", "image_url": image | ({"detail": self.image_detail} if self.image_detail else {})}

    def _reply(self, answer: "_Completion", service: Service, conversation: Conversation) -> Reply:
        choice = answer.choices[0]
        text, refusal = choice.message.content or "", choice.message.refusal
        reason = (choice.finish_reason or "stop").lower()
        outcome, error = Outcome.OK, None
        if refusal:
            text, outcome = refusal, Outcome.REFUSED
        elif reason.startswith("content_filter") or reason.removeprefix("image_") in _GEMINI_FILTERS:
            outcome, error = Outcome.FILTERED, service.failures.say(f"finish_reason: {reason}")
        elif reason in _AT_THE_LIMIT and text.strip():
            outcome = Outcome.TRUNCATED
        elif reason in _AT_THE_LIMIT:
            outcome, error = (
                Outcome.FAILED,
                f"max_tokens = {self._most(conversation)} were used up before the answer began",
            )
        elif reason == "error" or not text.strip():
            raise service.useless(f"an empty answer (finish_reason: {reason})")
        text = conversation.whole(text.strip()) if conversation.prefix and outcome.goes_on else text
        return Reply(text, outcome, answer.model, error, answer.system_fingerprint, answer.used)


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: TokenCount = None
    completion_tokens: TokenCount = None


class _Completion(BaseModel):
    """As much of a chat completion as is read."""

    choices: list[_Choice] = Field(min_length=1)
    model: Label = None
    system_fingerprint: Label = None
    usage: Annotated[_Tokens | None, OR_NONE] = None

    @property
    def used(self) -> Usage | None:
        return Usage(self.usage.prompt_tokens, self.usage.completion_tokens) if self.usage else None

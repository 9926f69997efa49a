"""A server on a loopback socket that speaks OpenAI's protocol and loses connections on demand."""

import asyncio
import base64
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, NamedTuple

from tests.acceptance.service import describe, draw, send
from tests.support.canned_server import OnLoopback

KEY = "sk-secret-0123456789abcdef"


def attempt(component: Any, *call: Any) -> Any:
    """One attempt of a provider at a call, without what a line does about its failure."""

    async def once() -> Any:
        async with component.connect() as connected:
            return await connected(*call)

    return asyncio.run(once())


class ChatAnswer(NamedTuple):
    """What a chat model says; with another ``status``, the error that its server says."""

    text: str
    status: int = 200


def digest(asked: Any) -> bytes:
    return hashlib.sha256(json.dumps(asked).encode()).digest()


def described(body: dict[str, Any]) -> ChatAnswer:
    """A sentence chosen by the messages of a request."""
    return ChatAnswer(describe(digest(body["messages"])))


class Incoming(NamedTuple):
    """A request that came in."""

    body: Any
    digest: bytes


class OpenAIServer(OnLoopback):
    """Serves chat completions and image generations on 127.0.0.1.

    ``faults`` are those of requests in the order of arrival, ``drop``, ``reset``, ``drop_midway``
    or ``timeout``, and empty where there is none. ``served_models`` are the versions behind every
    model name: each one gives ``switch_after`` answers, the last one all others.
    """

    def __init__(
        self,
        *,
        faults: Sequence[str] = (),
        reply: Callable[[dict[str, Any]], ChatAnswer] = described,
        api_key: str | None = None,
        served_models: Sequence[str] = (),
        switch_after: int = 1,
    ) -> None:
        self.faults, self._reply, self._api_key = list(faults), reply, api_key
        self._served_models, self._switch_after = served_models, switch_after
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self.requests: list[Incoming] = []
        """What came in so far, in order of arrival."""
        self.answered = 0
        """Requests that got their answer, whole and without a fault."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._serve(self, self.rfile.read(int(self.headers["content-length"])))

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        super().__exit__(kind, error, trace)

    def _serve(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        body = json.loads(content)
        with self._lock:
            self.requests.append(
                Incoming(body, hashlib.sha256(request.path.encode() + content).digest())
            )
            if self._api_key not in (
                None,
                request.headers.get("authorization", "").removeprefix("Bearer "),
            ):
                return send(
                    request, {"error": {"message": "Incorrect API key provided."}}, 401
                )
            kind = self.faults.pop(0) if self.faults else ""
            served = body["model"]
            if self._served_models:
                served = self._served_models[
                    min(
                        self.answered // self._switch_after,
                        len(self._served_models) - 1,
                    )
                ]
            self.answered += not kind
        if kind == "timeout":
            self._stopped.wait(30)
        elif kind == "reset":
            request.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        if kind in ("timeout", "reset", "drop"):
            request.close_connection = True
            return (
                request.connection.shutdown(socket.SHUT_RDWR)
                if kind == "drop"
                else request.connection.close()
            )
        if request.path.endswith("/images/generations"):
            return send(request, _image(body), cut=kind == "drop_midway")
        text, status = self._reply(body)
        made = _chat(text, served) if status == 200 else {"error": {"message": text}}
        return send(request, made, status, cut=kind == "drop_midway")


def _chat(text: str, served: str) -> dict[str, Any]:
    return {
        "object": "chat.completion",
        "model": served,
        "system_fingerprint": f"fp_{served}",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 90, "completion_tokens": len(text.split())},
    }


def _image(body: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": len(body["prompt"].split()), "output_tokens": 16}
    drawn = base64.b64encode(draw(digest(body["prompt"]))).decode()
    return {
        "data": [
            {"b64_json": drawn, "revised_prompt": f"{body['prompt'].strip()} Flat."}
        ],
        "usage": usage,
    }

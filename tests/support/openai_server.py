"""A server on a loopback socket that speaks OpenAI's protocol and misbehaves on demand."""

import asyncio
import base64
import hashlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from types import TracebackType
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

from tests.support.canned_server import OnLoopback

KEY = "sk-secret-0123456789abcdef"
WORDS = (
    ("red", "golden", "green", "blue", "violet", "brown", "white", "black"),
    ("circle", "square", "tower", "tree", "boat", "horse", "bridge", "clock"),
    ("a wall", "a meadow", "the sea", "a street", "a desert", "a forest", "a table", "the sky"),
)
ERRORS = {
    "429": (429, "Rate limit reached for requests per min."),
    "500": (500, "The server had an error while processing your request."),
    "503": (503, "The engine is currently overloaded, please try again later."),
}


def attempt(component: Any, *call: Any) -> Any:
    """One attempt of a provider at a call, without what a line does about its failure."""

    async def once() -> Any:
        async with component.connect() as connected:
            return await connected(*call)

    return asyncio.run(once())


@dataclass(frozen=True)
class ChatAnswer:
    """What a chat model says; with another ``status``, the error that its server says."""

    text: str
    status: int = 200


def describe(body: dict[str, Any]) -> ChatAnswer:
    """A sentence chosen by the SHA-256 of the messages of a request."""
    digest = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
    colour, thing, ground = (words[digest[place] % 8] for place, words in enumerate(WORDS))
    return ChatAnswer(f"A {colour} {thing} and {digest[3]} small dots before {ground}.")


def draw(prompt: str, size: tuple[int, int]) -> bytes:
    """A PNG with an ellipse, chosen by the SHA-256 of the prompt."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    image = Image.new("RGB", size, tuple(digest[:3]))
    box = (digest[3] % (size[0] // 2), digest[4] % (size[1] // 2), size[0] - 1, size[1] - 1)
    ImageDraw.Draw(image).ellipse(box, fill=tuple(digest[5:8]))
    content = BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


@dataclass(frozen=True)
class Faults:
    """A plan of faults: first those of ``script``, in the order of arrival, then others at a ``rate``.

    ``rate`` is the share of attempts that get one of ``kinds``, decided by a hash of ``seed``, the request's body and
    the number of its attempt. After ``most_in_a_row`` of these, the next attempt at the same body is answered. Kinds
    are those of :data:`ERRORS`, and ``drop``, ``reset``, ``drop_midway``, ``malformed_json`` and ``timeout``.
    """

    rate: float = 0.0
    seed: int = 0
    kinds: Sequence[str] = ("429", "500", "503", "drop")
    script: Sequence[str] = ()
    most_in_a_row: int = 4
    retry_after: float = 0.05
    """Seconds that a 429 asks to wait."""


class Incoming(NamedTuple):
    """A request that came in."""

    body: Any
    digest: bytes


class OpenAIServer(OnLoopback):
    """Serves chat completions and image generations on 127.0.0.1.

    ``served_models`` are the versions behind every model name: each one gives ``switch_after`` answers, the last one
    all others. Images have the size a request asks for, or else ``image_size``.
    """

    def __init__(
        self,
        *,
        faults: Faults | None = None,
        reply: Callable[[dict[str, Any]], ChatAnswer] = describe,
        api_key: str | None = None,
        served_models: Sequence[str] = (),
        switch_after: int = 1,
        image_size: tuple[int, int] = (256, 256),
    ) -> None:
        self._plan, self._script = faults or Faults(), list(faults.script if faults else ())
        self._reply, self._api_key, self._image_size = reply, api_key, image_size
        self._served_models, self._switch_after = served_models, switch_after
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._in_a_row, self._attempts = Counter[bytes](), Counter[bytes]()
        self.requests: list[Incoming] = []
        """What came in so far, in order of arrival."""
        self.faults = Counter[str]()
        """How often each kind of fault was injected so far."""
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
        self._server.daemon_threads = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        super().__exit__(kind, error, trace)

    def _serve(self, request: BaseHTTPRequestHandler, content: bytes) -> None:
        digest = hashlib.sha256(request.path.encode() + content).digest()
        body = json.loads(content)
        with self._lock:
            self.requests.append(Incoming(body, digest))
            if self._api_key not in (None, request.headers.get("authorization", "").removeprefix("Bearer ")):
                return _send(request, 401, {"error": {"message": "Incorrect API key provided."}})
            kind = self._fault(digest)
            self.faults.update([kind] if kind else [])
            served = body["model"]
            if self._served_models:
                served = self._served_models[min(self.answered // self._switch_after, len(self._served_models) - 1)]
            self.answered += not kind
        if kind in ERRORS:
            status, message = ERRORS[kind]
            headers = {"retry-after": f"{self._plan.retry_after:g}"} if status == 429 else {}
            return _send(request, status, {"error": {"message": message}}, headers)
        if kind == "timeout":
            self._stopped.wait(30)
        elif kind == "reset":
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if kind in ("timeout", "reset", "drop"):
            request.close_connection = True
            return request.connection.shutdown(socket.SHUT_RDWR) if kind == "drop" else request.connection.close()
        if request.path.endswith("/images/generations"):
            return _send(request, 200, self._image(body), broken=kind)
        answer = self._reply(body)
        made = self._chat(answer.text, served) if answer.status == 200 else {"error": {"message": answer.text}}
        return _send(request, answer.status, made, broken=kind)

    def _fault(self, digest: bytes) -> str | None:
        if self._script:
            return self._script.pop(0)
        number, plan = self._attempts[digest], self._plan
        self._attempts[digest] += 1
        drawn = hashlib.sha256(f"{plan.seed} {number} ".encode() + digest).digest()
        fails = int.from_bytes(drawn[:8], "big") < plan.rate * 2**64 and self._in_a_row[digest] < plan.most_in_a_row
        self._in_a_row[digest] = self._in_a_row[digest] + 1 if fails else 0
        return plan.kinds[int.from_bytes(drawn[8:16], "big") % len(plan.kinds)] if fails else None

    def _chat(self, text: str, served: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "object": "chat.completion",
            "model": served,
            "system_fingerprint": f"fp_{hashlib.sha256(served.encode()).hexdigest()[:10]}",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 90, "completion_tokens": len(text.split())},
        }

    def _image(self, body: dict[str, Any]) -> dict[str, Any]:
        width, _, height = body.get("size", "auto").partition("x")
        size = (int(width), int(height)) if height else self._image_size
        encoded = base64.b64encode(draw(body["prompt"], size)).decode()
        usage = {"input_tokens": len(body["prompt"].split()), "output_tokens": size[0] * size[1] // 256}
        return {"data": [{"b64_json": encoded, "revised_prompt": f"{body['prompt'].strip()} Flat."}], "usage": usage}


def _send(
    request: BaseHTTPRequestHandler,
    status: int,
    body: dict[str, Any],
    headers: dict[str, str] | None = None,
    broken: str | None = None,
) -> None:
    content = json.dumps(body).encode()
    sent = content[: len(content) // 2] if broken else content
    length = len(content if broken == "drop_midway" else sent)
    request.send_response(status)
    for name, value in {"content-type": "application/json", "content-length": str(length), **(headers or {})}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(sent)
    request.close_connection = broken == "drop_midway"

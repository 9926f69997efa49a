"""A service on loopback that speaks OpenAI's protocol: it describes in ordinary English, draws, and
logs who asks."""

import base64
import hashlib
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from types import TracebackType
from typing import Any

from PIL import Image, ImageDraw

from tests.support.loopback import OnLoopback

WORDS = (
    ("old", "small", "bright", "broken", "wooden", "green", "quiet", "tall"),
    ("boat", "house", "garden", "bicycle", "teapot", "bridge", "horse", "lamp"),
    (
        "near a river",
        "under a tree",
        "on a table",
        "in the snow",
        "behind a fence",
        "by the sea",
        "at night",
        "in fog",
    ),
)


def describe(digest: bytes) -> str:
    """Return an ordinary sentence, chosen by a digest of the request."""
    first, second = (
        " ".join(words[digest[place + 3 * n] % 8] for place, words in enumerate(WORDS))
        for n in (0, 1)
    )
    return (
        f"A photograph of a {first}; beside it stands a {second}, with about {digest[6]} birds "
        "above."
    )


def draw(digest: bytes) -> bytes:
    """Return a PNG with two shapes, chosen by a digest of the request."""
    image = Image.new("RGB", (64, 64), tuple(digest[:3]))
    pen = ImageDraw.Draw(image)
    pen.ellipse(
        (digest[3] % 30, digest[4] % 30, 34 + digest[5] % 30, 34 + digest[6] % 30),
        fill=tuple(digest[7:10]),
    )
    pen.rectangle((digest[10] % 40, digest[11] % 40, 42, 44), fill=tuple(digest[12:15]))
    content = BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


class Service(OnLoopback):
    """The running service, as a context manager.

    It answers the next ``allowed`` requests and holds the others without an answer; None answers
    all.
    """

    def __init__(self, port: int = 0) -> None:
        self.listed = ["eyes", "hands", "near", "far"]
        """The models that it names; it answers for any."""
        self.denied = set[str]()
        """Models for which the key is wrong."""
        self.refusals = Counter[str]()
        """Model → how many of its next descriptions are refusals."""
        self.arrived: list[bytes] = []
        """Digest of each request that came, its address and its body."""
        self.answered: Counter[bytes] = Counter()
        """Digest → how many answers were sent."""
        self.kinds: Counter[str] = Counter()
        """End of an address → how many answers were sent."""
        self.seconds = 0.0
        """How long each answer takes."""
        self.holding = threading.Event()
        self._allowed: int | None = None
        self._released = threading.Event()
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service._serve(self, body)

            def do_GET(self) -> None:
                models = [{"id": name, "object": "model"} for name in service.listed]
                send(self, {"object": "list", "data": models})

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing to the terminal."""

        super().__init__(Handler, port)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.allow(None)
        super().__exit__(kind, error, at)

    def allow(self, count: int | None) -> None:
        """Drop the requests that are held, and answer the next ``count``."""
        with self._lock:
            self._released.set()
            self._released, self.holding, self._allowed = (
                threading.Event(),
                threading.Event(),
                count,
            )

    def _serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        digest = hashlib.sha256(request.path.encode() + body).digest()
        with self._lock:
            self.arrived.append(digest)
            released, holding, hold = self._released, self.holding, self._allowed == 0
            if self._allowed:
                self._allowed -= 1
        if hold:
            holding.set()
            released.wait()
            request.close_connection = True
            return
        time.sleep(self.seconds)
        kind, asked = request.path.rpartition("/")[2], json.loads(body)
        if asked["model"] in self.denied:
            error = {
                "message": "Incorrect API key provided",
                "type": "invalid_request_error",
                "code": "invalid_api_key",
            }
            send(request, {"error": error}, status=401)
            return
        with self._lock:
            refused = self.refusals[asked["model"]] > 0
            self.refusals[asked["model"]] -= refused
        send(
            request,
            _completion(digest, asked, refused)
            if kind == "completions"
            else _drawing(digest),
        )
        with self._lock:
            self.answered[digest] += 1
            self.kinds[kind] += 1


def send(
    request: BaseHTTPRequestHandler, content: dict[str, Any], status: int = 200
) -> None:
    """Answer with an object."""
    text = json.dumps(content).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(text)))
    request.end_headers()
    request.wfile.write(text)


def _completion(digest: bytes, body: dict[str, Any], refused: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": describe(digest), "refusal": None}
    if refused:
        message |= {"content": None, "refusal": "I cannot describe this image."}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "system_fingerprint": "fp_1",
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 90, "completion_tokens": 20, "total_tokens": 110},
    }


def _drawing(digest: bytes) -> dict[str, Any]:
    usage = {"input_tokens": 20, "output_tokens": 16, "total_tokens": 36}
    return {
        "created": 1,
        "data": [{"b64_json": base64.b64encode(draw(digest)).decode()}],
        "usage": usage,
    }

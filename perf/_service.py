"""A service whose every answer is ready before the first request comes: it takes as little of the machine as it can.

It speaks as much of OpenAI's protocol as chains ask for, and knows of each request which call of which chain it is, so
that the same calls fail whoever asks: a description is of a numbered picture, a drawing is the picture after it.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from PIL import Image

from driftledger.core.images import png_bytes

MOST_FAILURES = 4
"""Of one call, one after the other."""

_PICTURE = re.compile(rb"picture (\d+) ")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"


class Call(NamedTuple):
    """A call of a chain: of describing its picture ``t``, or of drawing that description."""

    kind: Literal["describe", "draw"]
    chain: int
    t: int


class Chances(NamedTuple):
    """Which attempts fail: a share of them, drawn anew for each ``draw``."""

    share: float
    draw: int

    def fails(self, call: Call, attempt: int) -> bool:
        """Whether an attempt, from 0, is answered with a 503."""
        digest = hashlib.sha256(f"{self.draw} {call} {attempt}".encode()).digest()
        return attempt < MOST_FAILURES and int.from_bytes(digest[:8], "big") < self.share * 2**64

    def attempts(self, call: Call) -> int:
        """How many a call takes."""
        return next(number + 1 for number in range(MOST_FAILURES + 1) if not self.fails(call, number))


def calls_of(chain: int, iterations: int) -> Iterator[Call]:
    """What a chain asks, in order."""
    for t in range(iterations):
        yield Call("describe", chain, t)
        yield Call("draw", chain, t)


class Service:
    """Answers each call after ``latency`` seconds."""

    def __init__(self, samples: Sequence[bytes], iterations: int, side: int, latency: float, chances: Chances) -> None:
        """Make every answer.

        Args:
            samples: the first picture of every chain, as it will be sent.
            side: of what is drawn, in pixels.
        """
        self._iterations, self._latency, self._chances = iterations, latency, chances
        self._attempts: Counter[Call] = Counter()
        self._unavailable = _http(503, {"error": {"message": "Overloaded.", "type": "server_error", "code": None}})
        calls = [call for chain in range(len(samples)) for call in calls_of(chain, iterations)]
        with ThreadPoolExecutor() as pool:
            drawn = pool.map(lambda call: _picture(self._number(call), side), calls[1::2])
        shown = [base64.b64encode(png) for png in drawn]
        self._shown = {base64.b64encode(png): Call("describe", chain, 0) for chain, png in enumerate(samples)}
        self._answers: dict[Call, bytes] = {}
        for call, picture in zip(calls[1::2], shown, strict=True):
            self._answers[call] = _http(200, _drawing(picture.decode()))
            self._shown[picture] = Call("describe", call.chain, call.t + 1)
        for call in calls[::2]:
            self._answers[call] = _http(200, _description(self._number(call)))

    def _number(self, call: Call) -> int:
        return call.chain * self._iterations + call.t

    async def listen(self) -> asyncio.Server:
        """Begin to answer on a port of 127.0.0.1."""
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: _Connection(self._answer), "127.0.0.1", 0, backlog=2048)

    def _answer(self, path: bytes, body: bytes) -> tuple[float, bytes]:
        """In how many seconds what is sent."""
        call = self._call(path, body)
        attempt = self._attempts[call]
        self._attempts[call] += 1
        fails = self._chances.fails(call, attempt)
        return self._latency, self._unavailable if fails else self._answers[call]

    def _call(self, path: bytes, body: bytes) -> Call:
        if path.endswith(b"/chat/completions"):
            _, _, rest = body.partition(b";base64,")
            return self._shown[rest[: rest.index(b'"')]]
        found = _PICTURE.search(body)
        assert found is not None
        return Call("draw", *divmod(int(found[1]), self._iterations))


class _Connection(asyncio.Protocol):
    """One request after the other."""

    def __init__(self, answer: Callable[[bytes, bytes], tuple[float, bytes]]) -> None:
        self._answer = answer
        self._received = bytearray()
        self._needed = 0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        if not self._needed:
            head = received.find(_END)
            if head < 0:
                return
            length = _LENGTH.search(received, 0, head)
            self._needed = head + len(_END) + (int(length[1]) if length else 0)
        if len(received) >= self._needed:
            head = received.find(_END)
            path = bytes(received[: received.index(b"\r\n")]).split(b" ")[1]
            latency, answer = self._answer(path, bytes(received[head + len(_END) : self._needed]))
            self._received, self._needed = bytearray(), 0
            asyncio.get_running_loop().call_later(latency, self._send, answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


def _http(status: int, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} {'OK' if status == 200 else 'Service Unavailable'}"
    return f"{head}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content


def _description(number: int) -> dict[str, Any]:
    text = f"A plain picture {number} of a red square before a blue circle, on a white ground."
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 86, "completion_tokens": 16, "total_tokens": 102}
    named = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": "vision-1"}
    return {**named, "choices": [choice], "usage": usage, "system_fingerprint": "fp_1"}


def _drawing(picture: str) -> dict[str, Any]:
    usage = {"input_tokens": 16, "output_tokens": 1024, "total_tokens": 1040}
    return {"created": 0, "data": [{"b64_json": picture}], "output_format": "png", "usage": usage}


def _picture(number: int, side: int) -> bytes:
    """Rectangles that no other number has, as the bytes that whoever stores the picture writes again."""
    image = Image.new("RGB", (side, side), (number % 251, number // 251 % 251, 90))
    for place, byte in enumerate(hashlib.sha256(f"{number}".encode()).digest()[:12]):
        left, top = byte * side // 512, place * side // 24
        image.paste((byte, 255 - byte, place * 20), (left, top, left + side // 3, top + side // 4))
    return png_bytes(image)

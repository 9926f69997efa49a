"""The server: connections, counts, and which endpoint answers what."""

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from . import wire
from .answers import ChatAnswer, chat_reply, describe
from .failures import failure
from .faults import Faults, Plan
from .images import draw, image_reply
from .replies import Reply, error_reply, json_reply
from .requests import CHAT, IMAGES, Incoming, RequestError, check_chat, check_image, size_of


class OpenAIServer:
    """Serves chat completions, image generations and models on 127.0.0.1, from a thread of its own.

    ``latency`` is counted from a request's arrival, in seconds or by a function of the request; no request is answered
    before ``together`` of them have been under way at once. ``reply`` makes the answer to a chat request; like all
    functions handed in, it runs in the server's thread, and what it raises is raised again when the server stops.
    ``drawn`` makes the PNG for a prompt and a size, in any thread. ``served_models`` are the versions behind every
    model name: each one gives ``switch_after`` answers, the last one all others.
    Images have the size a request asks for, or else ``image_size``.
    """

    def __init__(
        self,
        *,
        latency: float | Callable[[Incoming], float] = 0.0,
        together: int = 1,
        faults: Faults | None = None,
        reply: Callable[[dict[str, Any]], ChatAnswer] = describe,
        drawn: Callable[[str, tuple[int, int]], bytes] = draw,
        api_key: str | None = None,
        models: Sequence[str] = ("vision-1", "image-1"),
        served_models: Sequence[str] = (),
        switch_after: int = 1,
        image_size: tuple[int, int] = (256, 256),
    ) -> None:
        self._latency = latency if callable(latency) else lambda _: latency
        self._together = together
        self._settings = faults or Faults()
        self._plan = Plan(self._settings)
        self._describe = reply
        self._draw = drawn
        self._api_key = api_key
        self._models = models
        self._served_models = served_models
        self._switch_after = switch_after
        self._image_size = image_size
        self._lock = threading.Lock()
        self._requests: list[Incoming] = []
        self._faults: Counter[str] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._begun = self._in_flight = 0
        self._enough = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
        self._thread = threading.Thread(target=self._run, name="openai-server", daemon=True)
        self._bug: Exception | None = None
        self.answered = 0
        """Chat and image requests that got their answer, whole and without a fault."""
        self.abandoned = 0
        """Requests whose client was gone before the latency was over."""
        self.most_at_once = 0

    @property
    def base_url(self) -> str:
        return f"{self._origin}/v1"

    @property
    def requests(self) -> list[Incoming]:
        """What came in so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def faults(self) -> Counter[str]:
        """How often each kind of fault was injected so far."""
        with self._lock:
            return Counter(self._faults)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, stop, _ = self._started.result()
        loop.call_soon_threadsafe(stop.set)
        self._thread.join()
        if self._bug and error is None:
            raise self._bug

    @property
    def _origin(self) -> str:
        return f"http://127.0.0.1:{self._started.result()[2]}"

    def _run(self) -> None:
        try:
            asyncio.run(self._listen())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _listen(self) -> None:
        stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1024, limit=2**20)
        self._started.set_result((asyncio.get_running_loop(), stop, server.sockets[0].getsockname()[1]))
        await stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._converse(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while raw := await wire.read(reader):
                self._in_flight += 1
                self.most_at_once = max(self.most_at_once, self._in_flight)
                if self._in_flight == self._together:
                    self._enough.set()
                try:
                    if not await self._respond(raw, reader, writer):
                        break
                finally:
                    self._in_flight -= 1
        except Exception as error:
            self._bug = self._bug or error
        finally:
            writer.close()

    async def _respond(self, raw: wire.Raw, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = self._admit(raw)
        reply, counts = await self._decide(request)
        await self._enough.wait()
        if await wire.left(reader, request.at + self._latency(request) - time.monotonic()):
            self.abandoned += 1
            return False
        self.answered += counts
        return await wire.send(reader, writer, reply, self._settings.hold)

    def _admit(self, raw: wire.Raw) -> Incoming:
        at = time.monotonic()
        digest = hashlib.sha256(f"{raw.method} {raw.path} ".encode() + raw.content).digest()
        try:
            body = json.loads(raw.content) if raw.content else None
        except ValueError:
            body = None
        with self._lock:
            number, attempt = len(self._requests), self._seen[digest]
            request = Incoming(raw.method, raw.path, raw.headers, body, digest, number, attempt, at)
            self._seen[digest] += 1
            self._requests.append(request)
        return request

    async def _decide(self, request: Incoming) -> tuple[Reply, bool]:
        """What a request gets, and whether that counts as an answer."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._api_key and given != self._api_key:
            message = f"Incorrect API key provided: {given[:4]}***{given[-4:]}."
            return error_reply(401, message, code="invalid_api_key"), False
        try:
            kind = self._plan.next(request)
            if kind is not None:
                with self._lock:
                    self._faults[kind] += 1
                return await failure(kind, request, lambda: self._answer(request), self._settings), False
            reply = await self._answer(request)
        except Exception as error:
            self._bug = self._bug or error
            message = f"a mistake in the test: {error!r}"
            return error_reply(500, message, "server_error", headers={"x-should-retry": "false"}), False
        counts = reply.status == 200 and request.path in (CHAT, IMAGES)
        self._begun += counts
        return reply, counts

    async def _answer(self, request: Incoming) -> Reply:
        try:
            match request.method, request.path.split("/")[1:]:
                case "POST", ["v1", "chat", "completions"]:
                    return self._chat(request.body)
                case "POST", ["v1", "images", "generations"]:
                    return await self._image(request.body)
                case "GET", ["v1", "models"]:
                    return json_reply({"object": "list", "data": [_model(name) for name in self._models]})
                case "GET", ["v1", "models", name] if name in self._models:
                    return json_reply(_model(name))
        except RequestError as error:
            return error_reply(400, str(error), code=error.code, param=error.param)
        return error_reply(404, f"Invalid URL ({request.method} {request.path})")

    def _chat(self, body: dict[str, Any]) -> Reply:
        check_chat(body)
        served = body["model"]
        if self._served_models:
            served = self._served_models[min(self._begun // self._switch_after, len(self._served_models) - 1)]
        return chat_reply(self._describe(body), body, served)

    async def _image(self, body: dict[str, Any]) -> Reply:
        check_image(body)
        size = size_of(body, self._image_size)
        content = await asyncio.to_thread(self._draw, body["prompt"], size)
        return image_reply(body, content, size)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "tests"}

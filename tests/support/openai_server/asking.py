"""Requests to the server: by a provider, by the real client, and by hand."""

import asyncio
import base64
import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from tenacity import wait_none

from .images import draw
from .requests import CHAT
from .server import OpenAIServer

KEY = "sk-secret-0123456789abcdef"
PICTURE = draw("a picture", (40, 30))


def key_and_no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put :data:`KEY` into ``TEST_KEY``, and let nobody wait before the next attempt."""
    monkeypatch.setattr("driftledger.components.remote.client._BACKOFF", wait_none())
    monkeypatch.setenv("TEST_KEY", KEY)


def attempt(component: Any, *call: Any) -> Any:
    """One attempt of a provider at a call, without what a line does about its failure."""

    async def once() -> Any:
        async with component.connect() as connected:
            return await connected(*call)

    return asyncio.run(once())


def client(server: OpenAIServer, **settings: Any) -> Any:
    """The client of the ``openai`` package; one attempt for each request unless ``settings`` say otherwise."""
    from openai import OpenAI

    chosen: dict[str, Any] = {"base_url": server.base_url, "api_key": "key", "max_retries": 0, "timeout": 60} | settings
    return OpenAI(**chosen)


def messages(text: str, picture: bytes = PICTURE) -> list[dict[str, Any]]:
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]


def chat(server: OpenAIServer, text: str = "Describe.", picture: bytes = PICTURE, **settings: Any) -> Any:
    with client(server, **settings) as opened:
        return opened.chat.completions.create(model="vision-1", messages=messages(text, picture))


def image(server: OpenAIServer, prompt: str = "a red boat", **options: Any) -> Any:
    with client(server) as opened:
        return opened.images.generate(model="image-1", prompt=prompt, **options)


def plain_chat(text: str) -> bytes:
    """A chat request as it goes over the wire."""
    content = json.dumps({"model": "vision-1", "messages": [{"role": "user", "content": text}]}).encode()
    return f"POST {CHAT} HTTP/1.1\r\nHost: tests\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def address(server: OpenAIServer) -> tuple[str, int]:
    host, _, port = server.base_url.removeprefix("http://").removesuffix("/v1").partition(":")
    return host, int(port)


def connect(server: OpenAIServer) -> socket.socket:
    return socket.create_connection(address(server), timeout=60)


def receive(opened: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    received = b""
    while part := opened.recv(65536):
        received += part
    return received


def wait_until(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.005)

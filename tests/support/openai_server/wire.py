"""HTTP/1.1 as far as the tests' server needs it."""

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import NamedTuple
from uuid import uuid4

from .replies import Reply


class Raw(NamedTuple):
    """A request, unparsed. ``headers`` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes


async def read(reader: asyncio.StreamReader) -> Raw | None:
    """The next request of a connection; None where the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Raw(method, path, headers, content)


async def left(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Wait; whether the client closes the connection in the meantime."""
    if seconds <= 0:
        return reader.at_eof()
    try:
        async with asyncio.timeout(seconds):
            if await reader.read(1):
                raise ValueError("a client sent a second request before the first was answered")
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply, hold: float) -> bool:
    """Send as much of a reply as it wants, slow ones in ``hold`` seconds; whether the connection may be used again."""
    match reply.ending:
        case "held":
            await left(reader, hold)
        case "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        case "half":
            writer.write(_head(reply) + reply.content[: len(reply.content) // 2])
        case "drip":
            writer.write(_head(reply))
            for byte in reply.content:
                if await left(reader, hold / len(reply.content)):
                    return False
                writer.write(bytes([byte]))
            return True
        case "whole":
            writer.write(_head(reply) + reply.content)
            return await _sent(writer)
    return False


def _head(reply: Reply) -> bytes:
    headers = {
        "content-type": reply.content_type,
        "content-length": str(len(reply.content)),
        "x-request-id": f"req_{uuid4().hex}",
        **reply.headers,
    }
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _sent(writer: asyncio.StreamWriter) -> bool:
    try:
        await writer.drain()
    except ConnectionError:
        return False
    return True

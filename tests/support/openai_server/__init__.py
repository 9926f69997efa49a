"""A server on a loopback socket that speaks OpenAI's protocol and misbehaves on demand."""

from .answers import ChatAnswer, describe
from .faults import BROKEN, FINAL, FLAGGED, KINDS, TRANSIENT, Faults
from .images import draw
from .requests import CHAT, IMAGES, Incoming, images_of, text_of
from .server import OpenAIServer

__all__ = [
    "BROKEN",
    "CHAT",
    "FINAL",
    "FLAGGED",
    "IMAGES",
    "KINDS",
    "TRANSIENT",
    "ChatAnswer",
    "Faults",
    "Incoming",
    "OpenAIServer",
    "describe",
    "draw",
    "images_of",
    "text_of",
]

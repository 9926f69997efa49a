"""Image answers: plain shapes that depend on nothing but the prompt and the size, in the protocol's shape."""

import base64
import hashlib
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw

from .replies import Reply, json_reply, now


def draw(prompt: str, size: tuple[int, int]) -> bytes:
    """A PNG with four shapes chosen by the SHA-256 of ``prompt``."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    image = Image.new("RGB", size, tuple(digest[:3]))
    pen = ImageDraw.Draw(image)
    for first in (3, 10, 17, 24):
        left, top, width, height, *colour = digest[first : first + 7]
        x, y = left * size[0] // 256, top * size[1] // 256
        box = (x, y, x + (width + 32) * size[0] // 512, y + (height + 32) * size[1] // 512)
        shape = pen.ellipse if width % 2 else pen.rectangle
        shape(box, fill=tuple(colour))
    content = BytesIO()
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


def image_reply(body: dict[str, Any], content: bytes, size: tuple[int, int]) -> Reply:
    """An answer with one image, as base64."""
    held = {"b64_json": base64.b64encode(content).decode()}
    revised = f"{body['prompt'].strip()} Plain shapes, flat colours."
    text, drawn = len(body["prompt"].split()), size[0] * size[1] // 256
    return json_reply(
        {
            "created": now(),
            "data": [held | {"revised_prompt": revised}],
            "background": "opaque",
            "output_format": "png",
            "quality": "low",
            "size": f"{size[0]}x{size[1]}",
            "usage": {
                "input_tokens": text,
                "input_tokens_details": {"text_tokens": text, "image_tokens": 0},
                "output_tokens": drawn,
                "total_tokens": text + drawn,
            },
        }
    )

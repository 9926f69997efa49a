"""Image generators behind OpenAI's protocol. What comes back is foreign: decoded with limits, or drawn again."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Annotated, Any, ClassVar, Self

from PIL import Image
from pydantic import BaseModel, Field, model_validator

from driftledger.components.base import Operational
from driftledger.components.remote.component import OneImage, RemoteGenerator
from driftledger.components.remote.lenient import OR_NONE, Label, TokenCount
from driftledger.components.remote.openai_client import OpenAIComponent, tokens_of
from driftledger.components.remote.openai_failures import Rejected
from driftledger.components.remote.openai_service import Service
from driftledger.core.files import LARGEST_ANSWER, LARGEST_IMAGE
from driftledger.core.images import MOST_PIXELS
from driftledger.core.types import Generated, Usage

_FORMATS = ("JPEG", "PNG", "WEBP")
_MOST_BYTES = LARGEST_IMAGE


class OpenAIImages(OpenAIComponent, RemoteGenerator):
    """An image generator.

    Equal prompts do not give equal images: no seed is sent, since the reference API has none, unless
    ``seed_parameter`` names one. What is not an image, or too large, counts as a hiccup: it is drawn again, and has
    failed when attempts are used up.
    """

    provider: ClassVar[str] = "openai_images"
    version: ClassVar[str] = "1"
    reserved: ClassVar[frozenset[str]] = OpenAIComponent.reserved | {
        *("prompt", "size", "quality", "style", "response_format"),
    }

    most_bytes: ClassVar[int] = LARGEST_ANSWER + LARGEST_IMAGE * 4 // 3

    image_size: str | None = Field(default="1024x1024", pattern=r"^(auto|[1-9]\d*x[1-9]\d*)$")
    """Width and height in pixels; sent as ``size``. ``null`` is not sent, here and below."""
    quality: str | None = None
    style: str | None = None
    response_format: str | None = Field(default=None, pattern=r"^(b64_json|url)$")
    """``b64_json`` spares a second request with services that answer with an address; OpenAI's GPT image models
    refuse it and answer with the image anyway."""
    seed_parameter: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    """What a compatible server calls the seed."""
    image_tokens: Operational[int] = Field(default=4160, ge=0)
    """Output tokens that an image is assumed to take in estimates: those of gpt-image-1 for 1024×1024 in high quality.
    Without weight where ``prices`` are per image."""

    @model_validator(mode="after")
    def _seed_has_a_name_of_its_own(self) -> Self:
        if self.seed_parameter in self.reserved | self.extra.keys():
            raise ValueError(f"seed_parameter: {self.seed_parameter!r} is another field of the request")
        return self

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[OneImage]:
        async with self.service() as service:

            async def draw(prompt: str, seed: int) -> Generated:
                try:
                    answer = await service.post("/images/generations", self._body(prompt, seed), _Images)
                except Rejected as error:
                    return Generated(None, error.outcome, error=str(error), usage=error.usage)
                image = await _image(answer.data[0], service)
                return Generated(
                    image, served_model=answer.model, revised_prompt=answer.data[0].revised_prompt, usage=answer.used
                )

            yield draw

    def expected(self, prompt: str) -> Usage:
        return Usage(tokens_of(prompt), self.image_tokens, images=1)

    def _body(self, prompt: str, seed: int) -> dict[str, Any]:
        settings = {
            "size": self.image_size,
            "quality": self.quality,
            "style": self.style,
            "response_format": self.response_format,
        }
        sent = {name: value for name, value in settings.items() if value is not None}
        seeds = {self.seed_parameter: seed} if self.seed_parameter else {}
        return {"model": self.model, "prompt": prompt, "n": 1, **sent, **seeds, **self.extra}


class _Image(BaseModel):
    b64_json: str | None = None
    url: str | None = None
    revised_prompt: Label = None


class _Tokens(BaseModel):
    input_tokens: TokenCount = None
    output_tokens: TokenCount = None


class _Images(BaseModel):
    """As much of the answer as is read."""

    data: list[_Image] = Field(min_length=1)
    model: Label = None
    usage: Annotated[_Tokens | None, OR_NONE] = None

    @property
    def used(self) -> Usage:
        tokens = self.usage or _Tokens()
        return Usage(tokens.input_tokens, tokens.output_tokens, images=1)


async def _image(drawn: _Image, service: Service) -> Image.Image:
    if drawn.b64_json:
        try:
            data = base64.b64decode(drawn.b64_json.rpartition(",")[2], validate=True)  # some send a data URL
        except binascii.Error as error:
            raise service.useless(f"an image in broken base64: {error}") from None
    elif drawn.url:
        data = await service.fetch(drawn.url, _MOST_BYTES)
    else:
        raise service.useless("an answer without an image")
    try:
        return await asyncio.to_thread(_decode, data)
    except Exception as error:
        # Pillow's decoders answer broken bytes with whatever happens to go wrong.
        raise service.useless(f"an image that cannot be decoded: {error}") from None


def _decode(data: bytes) -> Image.Image:
    """An RGB image; transparency is laid over white."""
    with Image.open(BytesIO(data), formats=_FORMATS) as opened:
        width, height = opened.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"{width}×{height} pixels are more than {MOST_PIXELS}")
        image = opened.convert("RGBA" if opened.has_transparency_data else "RGB")
    if image.mode == "RGB":
        return image
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image)
    return white

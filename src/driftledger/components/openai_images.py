"""Image generators behind OpenAI's protocol."""

import asyncio
import math
import re
from dataclasses import replace
from typing import Any, ClassVar, Self
from urllib.parse import unquote

from pydantic import Field, model_validator

from driftledger.components.answers import field, flag_of, is_withheld
from driftledger.components.endpoint import Endpoint
from driftledger.components.openai import OpenAIComponent
from driftledger.components.service import USUAL_TOKENS, RemoteGenerator
from driftledger.components.tokens import tokens_of, usage_of
from driftledger.core.canonical import Json
from driftledger.core.errors import DataError, ServiceError
from driftledger.core.media import MOST_PIXELS, from_base64, suffix_of
from driftledger.core.types import Outcome, Result, Usage
from driftledger.data.datasets.decode import NOTHING_DRAWN, decode, shows_nothing

_DRAWN = {"low": 272, "medium": 1056, "high": 4160}
"""Quality → tokens of an image with 1024 pixels a side, for estimates: those of gpt-image-1."""


class OpenAIImages(OpenAIComponent, RemoteGenerator):
    """An image generator.

    Equal prompts do not give equal images: OpenAI's API has no seed, so that none is sent unless
    ``seed_parameter`` names its field. An answer without an image, or with one that is too large,
    is a passing error: the image is drawn again.
    """

    has_batches = True
    path = "/images/generations"
    items = "data"
    largest = 2**27  # an image of 4096×4096 pixels takes less, in base64
    remedies: ClassVar[dict[str, str]] = {
        "model": "correct `model:`",
        "size": "set another `image_size:`, or null,",
        "seed": "set `seed_parameter: null`",
    }

    image_size: str | None = Field(
        default="1024x1024", pattern=r"^(auto|[1-9]\d*x[1-9]\d*)$"
    )
    """Width and height in pixels, sent as ``size``; ``null`` is not sent. Quality goes into
    ``extra``, and so does ``response_format: b64_json`` for a service that would answer with an
    address: no address is followed."""
    seed_parameter: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    """The field of the seed in a compatible server's requests."""

    @model_validator(mode="after")
    def _seed_has_a_name_of_its_own(self) -> Self:
        others = self.reserved | self.remedies.keys() | self.extra.keys()
        if self.seed_parameter in others - {"seed"}:
            raise ValueError(
                f"seed_parameter: {self.seed_parameter!r} is another field of the request"
            )
        return self

    @property
    def pixels(self) -> int:
        width, _, height = (self.image_size or "auto").partition("x")
        return (
            int(width) * int(height) if height else 1536 * 1024
        )  # the most that `auto` gives

    def expected(self, prompt: str) -> Usage:
        return Usage(tokens_of(prompt), self._drawn("high"), images=1)

    def usual(self, prompt: str) -> Usage:
        quality = str(self.extra.get("quality"))
        return Usage(
            min(tokens_of(prompt), USUAL_TOKENS), self._drawn(quality), images=1
        )

    def _drawn(self, quality: str) -> int:
        """Return the tokens of an image; an unknown quality counts as the highest."""
        return math.ceil(
            max(1, self.pixels / 1024**2) * _DRAWN.get(quality, _DRAWN["high"])
        )

    def body_of(self, prompt: str, seed: int) -> Json:
        size = {"size": self.image_size} if self.image_size else {}
        seeds = {self.seed_parameter: seed} if self.seed_parameter else {}
        return {
            "model": self.model,
            "prompt": prompt,
            "n": 1,
            **size,
            **seeds,
            **self.extra,
        }

    def empty_result(self, answer: Any) -> Result | None:
        words = field(answer, str, "choices", 0, "message", "content")
        data = {"data": answer["data"]} if "data" in answer else None
        return self._filtered(answer, words or data)

    def _filtered(self, answer: Any, place: Any) -> Result | None:
        """Return a filtered drawing if the answer says so; None if it does not.

        Args:
            place: the part of the answer for the image, if it has one. A refusal there counts, too.
        """
        error = flag_of(answer)
        if error is None and place is not None and is_withheld(place):
            error = f"an answer without an image: {str(place)[:1000]}"
        if error is None:
            return None
        return Result(
            outcome=Outcome.FILTERED,
            error=self.redacted(error),
            served_model=field(answer, str, "model"),
            usage=usage_of(answer, images=1),
        )

    async def read(self, answer: Any, prompt: str, seed: int) -> Result:
        drawn = answer["data"][0]
        url = (field(drawn, str, "url") or "").strip()
        encoded = field(drawn, str, "b64_json")
        if not encoded and url[:5].lower() == "data:":
            encoded = url
        is_image = re.search(r"^\S+\s*$", encoded or url)
        filtered = self._filtered(answer, None if is_image else drawn)
        if filtered is not None:
            return filtered
        if not encoded:
            if url and "response_format" not in self.extra:
                advice = "add `response_format: b64_json` to `extra:` and run again"
                raise ServiceError(
                    f"{self.server} answers with the address of an image; {advice}"
                )
            raise self.unusable("an answer without an image")
        try:
            data = from_base64(unquote(encoded))
        except ValueError as error:
            raise self.unusable(
                f"an answer with no image that can be used: {error}"
            ) from None
        result = await decoded(self, data, usage_of(answer, images=1))
        return replace(
            result,
            served_model=field(answer, str, "model"),
            revised_prompt=field(drawn, str, "revised_prompt"),
        )


async def decoded(endpoint: Endpoint, data: bytes, usage: Usage) -> Result:
    """Decode the image of a service; keep its bytes if the image is unchanged."""
    try:
        image, changes = await asyncio.to_thread(decode, data, "its image", MOST_PIXELS)
    except DataError as error:
        raise endpoint.unusable(
            f"an answer with no image that can be used: {error}"
        ) from None
    return Result(
        image=image,
        usage=usage,
        data=data if suffix_of(data) and not changes else None,
        note=NOTHING_DRAWN if shows_nothing(changes) else None,
    )

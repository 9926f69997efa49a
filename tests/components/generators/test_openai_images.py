"""The image provider, through the real client and over a real socket."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from driftledger.components.generators import openai_images
from driftledger.components.generators.openai_images import OpenAIImages
from driftledger.components.remote.client import TransientError
from driftledger.components.remote.limits import Limits
from driftledger.core.errors import ServiceError
from driftledger.core.registry import provider_class
from driftledger.core.types import Generated, Outcome, Usage
from tests.support.canned_server import Canned
from tests.support.openai_server import Faults, OpenAIServer, asking, draw
from tests.support.openai_server.asking import KEY

pytest.importorskip("openai")

key_and_no_backoff = pytest.fixture(autouse=True)(asking.key_and_no_backoff)


def generator(base_url: str, **settings: Any) -> OpenAIImages:
    return OpenAIImages(**{"model": "image-1", "base_url": base_url, "api_key_env": "TEST_KEY"} | settings)


def attempt(images: OpenAIImages, prompt: str = "a red boat", seed: int = 5) -> Generated:
    return asking.attempt(images, prompt, seed)


def png(image: Image.Image, kind: str = "PNG") -> bytes:
    content = BytesIO()
    image.save(content, kind)
    return content.getvalue()


@contextmanager
def serving(**image: Any) -> Iterator[str]:
    """The address of a server that answers each request with this image."""
    with Canned(200, json.dumps({"data": [image]})) as server:
        yield server.base_url


def drawn(content: bytes) -> Generated:
    with serving(b64_json=base64.b64encode(content).decode()) as url:
        return attempt(generator(url))


def test_the_registry_knows_it() -> None:
    assert provider_class("generators", "openai_images") is OpenAIImages


def test_an_image() -> None:
    with OpenAIServer(api_key=KEY) as server:
        given = attempt(generator(server.base_url, image_size="64x48"))
        [request] = server.requests
    assert request.body == {"model": "image-1", "prompt": "a red boat", "n": 1, "size": "64x48"}
    assert given.image is not None
    assert (given.image.mode, given.image.size) == ("RGB", (64, 48))
    assert given.image.tobytes() == Image.open(BytesIO(draw("a red boat", (64, 48)))).tobytes()
    assert (given.outcome, given.revised_prompt) == (Outcome.OK, "a red boat Plain shapes, flat colours.")
    assert given.usage == Usage(3, 12, images=1)


@pytest.mark.parametrize("figure", [2**63, -1, 12.5, float("nan"), "x", None])
def test_an_odd_figure_throws_no_image_away(figure: object) -> None:
    content = base64.b64encode(png(Image.new("RGB", (16, 8), "red"))).decode()
    answer = {
        "data": [{"b64_json": content, "revised_prompt": 7}],
        "model": 7,
        "usage": {"input_tokens": 5, "output_tokens": figure},
    }
    with Canned(200, json.dumps(answer)) as server:
        [given] = generator(server.base_url).generate(["a red boat"], [5])
        assert len(server.requests) == 1
    assert given.image is not None
    assert (given.usage, given.revised_prompt, given.served_model) == (Usage(5, None, images=1), None, None)


def test_settings_are_sent() -> None:
    settings = {"quality": "high", "style": "vivid", "response_format": "b64_json", "extra": {"moderation": "low"}}
    with OpenAIServer() as server:
        attempt(generator(server.base_url, image_size=None, seed_parameter="seed", **settings), seed=2**32 - 1)
        [request] = server.requests
    assert request.body == {
        "model": "image-1",
        "prompt": "a red boat",
        "n": 1,
        "quality": "high",
        "style": "vivid",
        "response_format": "b64_json",
        "moderation": "low",
        "seed": 2**32 - 1,
    }


def test_an_address_is_fetched_without_the_key() -> None:
    with OpenAIServer(image_urls=True, api_key=KEY) as server:
        given = attempt(generator(server.base_url, image_size="64x48"))
        fetched = [request for request in server.requests if request.method == "GET"]
    assert given.image is not None
    assert given.image.tobytes() == Image.open(BytesIO(draw("a red boat", (64, 48)))).tobytes()
    assert [request.path for request in fetched] == ["/files/0.png"]
    assert "authorization" not in fetched[0].headers


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other servers of a test count as servers of the internet."""
    monkeypatch.setattr("driftledger.components.remote.bounded.is_public", lambda address: True)


@pytest.mark.usefixtures("public")
def test_an_address_may_lead_elsewhere() -> None:
    content = png(Image.new("RGB", (16, 8), "red"))
    with Canned(200, content) as elsewhere, Canned(302, "", {"location": elsewhere.base_url}) as short:
        with serving(url=short.base_url) as url:
            given = attempt(generator(url))
        assert not [headers for _, headers in short.requests + elsewhere.requests if "authorization" in headers]
    assert given.image is not None
    assert given.image.size == (16, 8)


def test_addresses_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_images, "_MOST_BYTES", 100)
    with OpenAIServer(image_urls=True) as server, pytest.raises(TransientError, match="more than 100 bytes"):
        attempt(generator(server.base_url))
    with (
        serving(url="file:///etc/hostname") as url,
        pytest.raises(ServiceError, match="an image at no web address; set"),
    ):
        attempt(generator(url))


@pytest.mark.usefixtures("public")
def test_what_an_address_hides_is_not_told() -> None:
    with Canned(404, "gone") as elsewhere:
        signed = f"{elsewhere.base_url}/image.png?signature=opens-it"
        with serving(url=signed) as url, pytest.raises(TransientError) as caught:
            attempt(generator(url))
    assert str(caught.value) == "an answer with an image that is not there: HTTP 404"
    with serving(url=signed) as url, pytest.raises(TransientError) as caught:
        attempt(generator(url))
    assert str(caught.value) == "an answer with an image that cannot be fetched: ConnectError"
    assert caught.value.billed


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_other_formats(kind: str) -> None:
    given = drawn(png(Image.new("RGB", (16, 8), "red"), kind))
    assert given.image is not None
    assert (given.image.mode, given.image.size) == ("RGB", (16, 8))


def test_a_data_url_in_the_place_of_base64() -> None:
    content = base64.b64encode(png(Image.new("RGB", (16, 8), "red"))).decode()
    with serving(b64_json=f"data:image/png;base64,{content}") as url:
        assert attempt(generator(url)).image is not None


def test_transparency_is_laid_over_white() -> None:
    image = Image.new("RGBA", (2, 1), (255, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 255, 255))
    given = drawn(png(image))
    assert given.image is not None
    assert [given.image.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (0, 0, 255)]


def test_too_many_pixels_are_not_decoded() -> None:
    with pytest.raises(TransientError, match="cannot be decoded: 8193×8193 pixels are more than 67108864"):
        drawn(png(Image.new("1", (8193, 8193))))


def test_other_formats_are_not_decoded() -> None:
    with pytest.raises(TransientError, match="cannot be decoded: cannot identify image file"):
        drawn(png(Image.new("RGB", (4, 4)), "BMP"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("429", "HTTP 429"),
        ("503", "HTTP 503"),
        ("drop", "RemoteProtocolError"),
        ("malformed_json", "cannot be read"),
        ("wrong_type", "cannot be read: <!doctype"),
        ("no_data", "cannot be read"),
        ("not_an_image", "cannot be decoded"),
        ("bad_base64", "broken base64"),
    ],
)
def test_what_may_pass(kind: str, message: str) -> None:
    with OpenAIServer(faults=Faults(script=[kind])) as server, pytest.raises(TransientError, match=message) as caught:
        attempt(generator(server.base_url))
    assert caught.value.billed is not message.startswith("HTTP")


def test_an_answer_without_an_image() -> None:
    with serving(revised_prompt="a boat") as url, pytest.raises(TransientError, match="an answer without an image"):
        attempt(generator(url))


@pytest.mark.parametrize("kind", ["content_filter_error", "moderation_blocked"])
def test_a_filtered_prompt_is_filtered_and_not_tried_again(kind: str) -> None:
    with OpenAIServer(faults=Faults(script=[kind])) as server:
        [given] = generator(server.base_url).generate(["a red boat"], [5])
        assert len(server.requests) == 1
    assert (given.image, given.outcome) == (None, Outcome.FILTERED)
    assert given.error == "HTTP 400: Your request was rejected as a result of our safety system."


def test_a_request_that_is_not_understood_has_failed_and_is_not_tried_again() -> None:
    with OpenAIServer(faults=Faults(script=["400"])) as server:
        [given] = generator(server.base_url).generate(["a red boat"], [5])
        assert len(server.requests) == 1
    assert (given.image, given.outcome, given.usage) == (None, Outcome.FAILED, Usage(0, 0))


def test_a_wrong_key_would_meet_every_call() -> None:
    with OpenAIServer(api_key="another-key-altogether") as server:
        one = generator(server.base_url)
        with pytest.raises(ServiceError, match="check the key in TEST_KEY") as caught:
            one.generate(["a red boat"], [5])
    assert KEY[:4] not in str(caught.value)
    assert KEY[-4:] not in str(caught.value)


def draw_all(faults: Faults | None, prompts: list[str], **limits: Any) -> tuple[list[Generated], Any]:
    with OpenAIServer(faults=faults, image_size=(32, 32)) as server:
        one = generator(server.base_url, image_size="auto", limits=Limits(**limits))
        return one.generate(prompts, range(len(prompts))), server


def pixels(drawn: list[Generated]) -> list[bytes | None]:
    return [each.image.tobytes() if each.image else None for each in drawn]


def test_faults_change_no_image() -> None:
    prompts = [f"boat {number}" for number in range(40)]
    kinds = ("429", "500", "503", "drop", "reset", "drop_midway", "malformed_json", "no_data", "not_an_image")
    calm, _ = draw_all(None, prompts)
    given, server = draw_all(Faults(rate=0.3, kinds=kinds, retry_after=0.01), prompts)
    assert pixels(given) == pixels(calm)
    assert None not in pixels(calm)
    assert len(set(pixels(calm))) == len(prompts)
    assert sum(server.faults.values()) > 10
    assert server.answered >= len(prompts)


def test_a_service_that_draws_no_image_has_failed() -> None:
    faults = Faults(rate=1, kinds=["not_an_image"], most_in_a_row=100)
    [given], server = draw_all(faults, ["a red boat"], attempts=3)
    assert (given.image, given.outcome) == (None, Outcome.FAILED)
    assert given.error is not None
    assert given.error.endswith("(3 attempts)")
    assert len(server.requests) == 3


def test_the_estimate() -> None:
    usage = OpenAIImages(model="m", image_tokens=100).expected("1234567")
    assert usage == Usage(3, 100, images=1)


def test_the_fingerprint() -> None:
    plain = OpenAIImages(model="m")
    same: list[dict[str, Any]] = [{"limits": Limits(concurrency=3)}, {"api_key_env": None}, {"image_tokens": 5}]
    other: list[dict[str, Any]] = [
        {"model": "n"},
        {"image_size": "512x512"},
        {"quality": "low"},
        {"style": "natural"},
        {"seed_parameter": "seed"},
        {"base_url": "https://api.x.ai/v1"},
        {"extra": {"background": "opaque"}},
    ]
    assert {plain.model_copy(update=update).fingerprint for update in same} == {plain.fingerprint}
    fingerprints = {plain.model_copy(update=update).fingerprint for update in other}
    assert len(fingerprints | {plain.fingerprint}) == len(other) + 1


@pytest.mark.parametrize(
    "settings",
    [
        {"extra": {"size": "1x1"}},
        {"extra": {"seed": 3}, "seed_parameter": "seed"},
        {"seed_parameter": "prompt"},
        {"image_size": "big"},
        {"response_format": "png"},
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenAIImages(model="m", **settings)

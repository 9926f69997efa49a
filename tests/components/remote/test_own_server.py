"""One server of yours: its fingerprint, and the version that it has to confirm."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.remote import openai_service
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, ImageFile, Outcome
from tests.conftest import draw
from tests.support.canned_server import Canned
from tests.support.listening import dripping
from tests.support.openai_server import OpenAIServer, asking
from tests.support.openai_server.asking import KEY

pytest.importorskip("openai")

key_and_no_backoff = pytest.fixture(autouse=True)(asking.key_and_no_backoff)
ONE, TWO = "http://one.example:8000/v1", "http://two.example:8000/v1"


@pytest.fixture
def image(tmp_path: Path) -> ImageFile:
    path = draw(tmp_path / "one.png", 1)
    return ImageFile(path, sha256_file(path))


def model(url: str, **settings: Any) -> OpenAIChat:
    return OpenAIChat.model_validate({"model": "m", "base_url": url, "api_key_env": "TEST_KEY"} | settings)


def asked(image: ImageFile, count: int) -> list[Conversation]:
    return [Conversation.ask(f"Question {number}.", image) for number in range(count)]


def test_the_fingerprint_of_one_server_is_what_it_was() -> None:
    spec = OpenAIChat(model="m", base_url=ONE, api_key_env=None).spec
    assert spec == {
        "provider": "openai",
        "version": "1",
        "settings": {
            **{"model": "m", "base_url": ONE, "extra": {}, "temperature": 0.0, "max_tokens": 1024},
            **{"max_tokens_parameter": None, "seed": None, "image_detail": None},
        },
        "identity": {"model": "m", "service": "one.example:8000"},
    }
    assert sha256_of(spec) == "609a2635eb548722357cc3063fe81d23262679ed01a70dd691d0ebdf185bfe60"


def test_a_name_stands_for_an_address_that_changes() -> None:
    named = model(ONE, service_name="ours")
    assert named.fingerprint == model(TWO, service_name="ours").fingerprint
    assert named.fingerprint != model(ONE, service_name="theirs").fingerprint
    assert named.fingerprint != model(ONE).fingerprint
    assert "base_url" not in named.spec["settings"]
    assert named.spec["identity"]["service"] == "ours"


@pytest.mark.parametrize("settings", [{"server_version": "0.11.2"}, {"batch_invariant": True}])
def test_what_is_said_of_the_server_is_in_the_fingerprint(settings: dict[str, Any]) -> None:
    assert model(ONE, **settings).fingerprint != model(ONE).fingerprint
    assert settings.items() <= model(ONE, **settings).spec["settings"].items()
    assert settings.keys().isdisjoint(model(ONE).spec["settings"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": [ONE, TWO]}, "should be a valid string"),
        ({"base_url": "two.example"}, "must begin with http"),
        ({"base_url": "https://me:secret@two.example/v1"}, "no user"),
        ({"base_url": None, "service_name": "ours"}, "set base_url"),
        ({"base_url": None, "server_version": "1"}, "set base_url"),
        ({"base_url": ONE, "api_key_env": ...}, "api_key_env must name"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    given = {"model": "m", "api_key_env": None} | settings
    with pytest.raises(ValidationError, match=said):
        OpenAIChat.model_validate({name: value for name, value in given.items() if value is not ...})


def test_a_declared_version_is_asked_for_with_the_key(image: ImageFile) -> None:
    with OpenAIServer(api_key=KEY, version="0.11.2") as server:
        [reply] = model(server.base_url, server_version="0.11.2").respond(asked(image, 1))
        first, *_ = server.requests
    assert (reply.outcome, first.method, first.path) == (Outcome.OK, "GET", "/version")


def refused(image: ImageFile, server: OpenAIServer, **settings: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        model(server.base_url, **settings).respond(asked(image, 2))
    assert server.answered == 0
    return str(caught.value)


def test_another_version_than_declared_is_asked_nothing(image: ImageFile) -> None:
    with OpenAIServer(version="0.12.0") as new:
        assert "is version 0.12.0, and its entry says 0.11.2" in refused(image, new, server_version="0.11.2")


def test_a_server_that_says_no_version_cannot_have_a_declared_one(image: ImageFile) -> None:
    with OpenAIServer() as silent:
        assert "does not say its version at /version" in refused(image, silent, server_version="0.11.2")
    with Canned(200, '{"version": 3}') as odd, pytest.raises(ServiceError, match="does not say its version"):
        model(odd.base_url, server_version="3").respond(asked(image, 1))


def test_a_version_shows_no_key_and_is_short(image: ImageFile) -> None:
    with OpenAIServer(version=f"{KEY} \x1b[2J" + "x" * 1_000_000) as server:
        said = refused(image, server, server_version="2")
    assert KEY not in said
    assert "is version ***" in said
    assert "\x1b" not in said
    assert len(said) < 500


def test_a_server_that_never_ends_saying_its_version_is_not_waited_for(
    image: ImageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_service, "_PATIENCE", 0.5)
    with dripping() as port, pytest.raises(ServiceError, match=r"does not answer \(TimeoutError\)"):
        model(f"http://127.0.0.1:{port}/v1", server_version="1", limits={"attempts": 1}).respond(asked(image, 1))

"""Several servers of one model, over real sockets: who is asked, what a dead one costs, and what is one version."""

import asyncio
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.components.generators.openai_images import OpenAIImages
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.remote import openai_service
from driftledger.components.remote import servers as spreading
from driftledger.components.remote.openai_failures import UnreachedError
from driftledger.components.remote.openai_service import Service
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import BudgetError, ServiceError
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply
from tests.conftest import draw
from tests.support.canned_server import Canned
from tests.support.listening import dripping
from tests.support.openai_server import Faults, Incoming, OpenAIServer, asking
from tests.support.openai_server.asking import KEY

pytest.importorskip("openai")

key_and_no_backoff = pytest.fixture(autouse=True)(asking.key_and_no_backoff)
ONE, TWO = "http://one.example:8000/v1", "http://two.example:8000/v1"


@pytest.fixture
def image(tmp_path: Path) -> ImageFile:
    path = draw(tmp_path / "one.png", 1)
    return ImageFile(path, sha256_file(path))


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{opened.getsockname()[1]}/v1"


def model(*urls: str, **settings: Any) -> OpenAIChat:
    given = {"model": "m", "base_url": list(urls), "api_key_env": "TEST_KEY"} | settings
    return OpenAIChat.model_validate(given)


def asked(image: ImageFile, count: int) -> list[Conversation]:
    return [Conversation.ask(f"Question {number}.", image) for number in range(count)]


def answered(servers: Sequence[OpenAIServer]) -> list[int]:
    return [server.answered for server in servers]


def test_calls_are_spread_and_say_what_one_server_says(image: ImageFile) -> None:
    conversations = asked(image, 24)
    with OpenAIServer() as alone:
        expected = model(alone.base_url).respond(conversations)
    servers = [OpenAIServer(api_key=KEY, latency=0.02, version="0.11.2") for _ in range(3)]
    with servers[0], servers[1], servers[2]:
        several = model(*(server.base_url for server in servers), limits={"concurrency": 6})
        assert several.respond(conversations) == expected
        assert sum(answered(servers)) == 24
        assert min(answered(servers)) >= 4
        assert sum(server.most_at_once for server in servers) <= 6 + 3  # each is asked for its version once


def test_the_server_with_the_fewest_calls_under_way_is_next(image: ImageFile) -> None:
    slow, fast = OpenAIServer(latency=lambda asked: 0.5 * (asked.method == "POST")), OpenAIServer()
    with slow, fast:
        model(slow.base_url, fast.base_url, limits={"concurrency": 2}).respond(asked(image, 12))
        assert slow.answered <= 2
        assert fast.answered >= 10


def test_a_dead_server_costs_no_attempt(image: ImageFile, nobody: str) -> None:
    with OpenAIServer() as server:
        replies = model(nobody, server.base_url, limits={"attempts": 1}).respond(asked(image, 6))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 6
        assert server.answered == 6


def test_a_server_that_dies_in_the_middle_is_left_out_and_its_calls_go_to_the_other(image: ImageFile) -> None:
    dying = OpenAIServer(faults=Faults(choose=lambda asked: "reset" if asked.number > 4 else None))
    with dying, OpenAIServer() as living:
        replies = model(dying.base_url, living.base_url, limits={"concurrency": 2}).respond(asked(image, 24))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 24
        assert sum(dying.faults.values()) <= 2  # those under way, and then nothing for a while
        assert dying.answered + living.answered == 24


def test_after_a_rest_one_call_tries_a_server_again(image: ImageFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_REST", 0.05)
    once = OpenAIServer(faults=Faults(choose=lambda asked: "503" if asked.number == 1 else None))
    other = OpenAIServer(latency=0.02)
    with once, other:
        replies = model(once.base_url, other.base_url, limits={"concurrency": 2}).respond(asked(image, 30))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 30
        assert once.faults["503"] == 1
        assert once.answered > 2


def test_a_server_that_hangs_is_left_out_once_an_attempts_time_is_up(image: ImageFile) -> None:
    hangs = OpenAIServer(faults=Faults(choose=lambda asked: "timeout" if asked.method == "POST" else None, hold=60))
    with hangs, OpenAIServer() as works:
        limits = {"concurrency": 2, "timeout": 0.5}
        replies = model(hangs.base_url, works.base_url, limits=limits).respond(asked(image, 8))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 8
        assert hangs.faults["timeout"] == 1
        assert works.answered == 8


def test_who_asks_to_wait_is_left_alone_and_the_others_go_on(image: ImageFile) -> None:
    busy = OpenAIServer(faults=Faults(choose=lambda asked: "429" if asked.method == "POST" else None, retry_after=600))
    start = time.monotonic()
    with busy, OpenAIServer() as free:
        replies = model(busy.base_url, free.base_url).respond(asked(image, 8))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 8
        assert free.answered == 8
    assert time.monotonic() - start < 60


def test_where_all_ask_to_wait_it_waits_for_the_first(image: ImageFile) -> None:
    one, two = (OpenAIServer(faults=Faults(script=["429"], retry_after=0.4)) for _ in range(2))
    with one, two:
        [reply] = model(one.base_url, two.base_url, limits={"attempts": 3}).respond(asked(image, 1))
        assert reply.outcome is Outcome.OK
        first, second = (request.at for request in one.requests if request.method == "POST")
        assert second - first >= 0.4
        assert [request.method for request in two.requests].count("POST") == 1


def test_one_call_that_no_server_can_answer_leaves_none_of_them_out_for_long(
    image: ImageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "_SHORT_REST", 0.01)

    def crashes(request: Incoming) -> str | None:
        return "500" if request.method == "POST" and "Question 0" in str(request.body) else None

    servers = [OpenAIServer(faults=Faults(choose=crashes), latency=0.02) for _ in range(2)]
    with servers[0], servers[1]:
        urls = (server.base_url for server in servers)
        replies = model(*urls, limits={"attempts": 4, "concurrency": 4}).respond(asked(image, 24))
        assert [reply.outcome for reply in replies] == [Outcome.FAILED] + [Outcome.OK] * 23
        assert min(answered(servers)) >= 4


def test_a_server_that_breaks_every_call_at_once_does_not_draw_them_all(image: ImageFile) -> None:
    broken = OpenAIServer(faults=Faults(choose=lambda asked: "500" if asked.method == "POST" else None))
    with broken, OpenAIServer(latency=0.05) as works:
        replies = model(broken.base_url, works.base_url, limits={"attempts": 4}).respond(asked(image, 24))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 24
        assert broken.faults["500"] <= 8  # those under way when the first came back, and one more


def test_where_all_are_dead_a_call_fails_as_with_one(image: ImageFile, nobody: str) -> None:
    urls = (nobody, nobody.replace("127.0.0.1", "localhost"))
    [reply] = model(*urls, limits={"attempts": 2}).respond(asked(image, 1))
    assert reply.outcome is Outcome.FAILED
    assert "(2 attempts)" in str(reply.error)


def test_limits_hold_over_all_of_them(image: ImageFile) -> None:
    with OpenAIServer() as one, OpenAIServer() as two:
        several = model(one.base_url, two.base_url, limits={"max_calls": 5, "concurrency": 1})
        with pytest.raises(BudgetError, match="max_calls = 5"):
            several.respond(asked(image, 12))
        assert sorted(answered([one, two])) == [2, 3]


def test_what_one_server_would_answer_every_call_ends_the_run(image: ImageFile) -> None:
    with OpenAIServer(api_key="another") as wrong, OpenAIServer(api_key=KEY) as right:
        with pytest.raises(ServiceError, match=r"openai m at 127\.0\.0\.1:\d+: HTTP 401.*check the key") as caught:
            model(right.base_url, wrong.base_url).respond(asked(image, 4))
        assert wrong.base_url.removeprefix("http://").removesuffix("/v1") in str(caught.value)


def test_an_image_is_fetched_from_the_server_that_named_it() -> None:
    size = (32, 24)
    one, two = (OpenAIServer(image_urls=True, image_size=size, latency=0.02) for _ in range(2))
    with one, two:
        given = {"model": "m", "base_url": [one.base_url, two.base_url], "api_key_env": None, "image_size": None}
        drawn = OpenAIImages.model_validate(given).generate([f"boat {n}" for n in range(6)], [0] * 6)
        assert {each.image.size for each in drawn if each.image} == {size}
        assert min(one.answered, two.answered) >= 2


# which version


def test_a_list_is_the_version_of_its_first_server_however_long_it_is() -> None:
    single = OpenAIChat(model="m", base_url=ONE, api_key_env=None)
    listed = model(ONE, TWO, api_key_env=None)
    assert listed.fingerprint == model(ONE, api_key_env=None).fingerprint == single.fingerprint
    assert listed.urls == (ONE, TWO)
    assert model(TWO, ONE, api_key_env=None).fingerprint != single.fingerprint
    again = listed.model_copy(update={"max_tokens": 5})
    assert (again.urls, again.max_tokens) == (listed.urls, 5)
    assert OpenAIChat.model_validate(listed.model_dump()) == listed


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


def test_a_name_stands_for_addresses_that_change() -> None:
    named = model(ONE, TWO, service_name="ours")
    assert named.fingerprint == model(TWO, service_name="ours").fingerprint
    assert named.fingerprint != model(ONE, TWO, service_name="theirs").fingerprint
    assert named.fingerprint != model(ONE, TWO).fingerprint
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
        ({"base_url": []}, "an empty list"),
        ({"base_url": [ONE, f"{ONE}/"]}, "a server twice"),
        ({"base_url": [ONE, "two.example"]}, "must begin with http"),
        ({"base_url": [ONE, "https://me:secret@two.example/v1"]}, "no user"),
        ({"base_url": None, "service_name": "ours"}, "set base_url"),
        ({"base_url": None, "server_version": "1"}, "set base_url"),
        ({"base_url": None, "replicas": [TWO]}, "set base_url"),
        ({"base_url": [ONE], "replicas": [TWO]}, "put all into the list"),
        ({"base_url": [ONE, TWO], "api_key_env": ...}, "api_key_env must name"),
    ],
)
def test_lists_that_are_none(settings: dict[str, Any], said: str) -> None:
    given = {"model": "m", "api_key_env": None} | settings
    with pytest.raises(ValidationError, match=said):
        OpenAIChat.model_validate({name: value for name, value in given.items() if value is not ...})


def test_a_declared_version_is_asked_for_with_the_key(image: ImageFile) -> None:
    with OpenAIServer(api_key=KEY, version="0.11.2") as server:
        [reply] = model(server.base_url, server_version="0.11.2").respond(asked(image, 1))
        first, *_ = server.requests
    assert (reply.outcome, first.method, first.path) == (Outcome.OK, "GET", "/version")


def refused(image: ImageFile, *servers: OpenAIServer, **settings: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        model(*(server.base_url for server in servers), **settings).respond(asked(image, 2))
    assert sum(answered(servers)) == 0
    return str(caught.value)


def test_another_version_than_declared_is_asked_nothing(image: ImageFile) -> None:
    with OpenAIServer(version="0.11.2") as old, OpenAIServer(version="0.12.0") as new:
        assert "is version 0.12.0, and its entry says 0.11.2" in refused(image, new, server_version="0.11.2")
        assert "is version 0.12.0, and its entry says 0.11.2" in refused(image, old, new, server_version="0.11.2")
        assert "and another of its servers is" in refused(image, old, new)


def test_a_server_that_says_no_version_cannot_have_a_declared_one(image: ImageFile) -> None:
    with OpenAIServer() as silent, OpenAIServer() as other:
        assert "does not say its version at /version" in refused(image, silent, server_version="0.11.2")
        assert len(model(silent.base_url, other.base_url).respond(asked(image, 2))) == 2
    with Canned(200, '{"version": 3}') as odd, pytest.raises(ServiceError, match="does not say its version"):
        model(odd.base_url, server_version="3").respond(asked(image, 1))


def test_a_version_shows_no_key_and_is_short(image: ImageFile) -> None:
    long = f"{KEY} \x1b[2J" + "x" * 1_000_000
    with OpenAIServer(version=long) as one, OpenAIServer(version=f"1 {KEY}") as two:
        said = refused(image, one, two)
        assert KEY not in said
        assert "***" in said
        assert "\x1b" not in said
        assert len(said) < 500
        assert "is version ***" in refused(image, one, server_version="2")


def test_a_server_that_never_ends_saying_its_version_is_not_waited_for(
    image: ImageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_service, "_PATIENCE", 0.5)
    with dripping() as port:
        one = model(f"http://127.0.0.1:{port}/v1", server_version="1", limits={"attempts": 1})
        [reply] = one.respond(asked(image, 1))
    assert reply.outcome is Outcome.FAILED
    assert "no answer (TimeoutError)" in str(reply.error)


def test_a_server_that_comes_later_is_asked_for_its_version_before_its_first_call(
    image: ImageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "_REST", 0.0)
    ask, away = Service.version, [True]

    async def version(service: Service) -> str | None:
        if service.url.startswith(late.base_url) and away:
            away.clear()
            raise UnreachedError("it starts")
        return await ask(service)

    monkeypatch.setattr(Service, "version", version)
    with OpenAIServer(version="0.12.0") as late, OpenAIServer(version="0.11.2") as there:
        with pytest.raises(ServiceError, match=r"is version 0\.12\.0, and another of its servers is 0\.11\.2"):
            model(late.base_url, there.base_url).respond(asked(image, 8))
        assert late.answered == 0


def test_one_line_keeps_its_servers(image: ImageFile) -> None:
    async def twice(component: OpenAIChat) -> list[Reply]:
        async with component.connect() as reply:
            return [await reply(each) for each in asked(image, 4)]

    with OpenAIServer(version="1") as one, OpenAIServer(version="1") as two:
        replies = asyncio.run(twice(model(one.base_url, two.base_url)))
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 4
        assert answered([one, two]) == [2, 2]
        assert [request.path for request in one.requests].count("/version") == 1

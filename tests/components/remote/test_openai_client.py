"""What the providers of OpenAI's protocol share: the client's settings, and what HTTP errors mean."""

import asyncio
import json
import subprocess
import sys
import time
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from driftledger.components.remote import openai_client
from driftledger.components.remote.client import TransientError
from driftledger.components.remote.limits import Limits
from driftledger.components.remote.openai_client import OpenAIComponent, tokens_of
from driftledger.components.remote.openai_failures import Rejected, retry_after
from driftledger.core.errors import ConfigError, MissingExtraError, ServiceError
from driftledger.core.strict import explain
from driftledger.core.types import Outcome
from tests.support.canned_server import Canned
from tests.support.openai_server import OpenAIServer

KEY = "sk-secret-0123456789abcdef"


class Thing(OpenAIComponent):
    kind = "model"
    provider = "thing"
    version = "1"


class Said(BaseModel):
    said: str


class Anything(BaseModel):
    pass


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("TEST_KEY", KEY)


def thing(base_url: str | None, **settings: Any) -> Thing:
    return Thing(**{"model": "m", "base_url": base_url, "api_key_env": "TEST_KEY"} | settings)


def post(component: OpenAIComponent) -> Said:
    async def once() -> Said:
        async with component.service() as service:
            return await service.post("/say", {"what": "yes"}, Said)

    return asyncio.run(once())


def error(message: str, code: str | None = None, **more: Any) -> str:
    return json.dumps({"error": {"message": message, "code": code, **more}})


GEMINI = json.dumps(
    [{"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}]
)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (301, "", "HTTP 301: ; check base_url"),
        (401, error("No."), "HTTP 401: No.; check the key in TEST_KEY"),
        (402, error("Pay."), "HTTP 402: Pay.; check the account's credit"),
        (403, error("No."), "HTTP 403: No.; check what the account may use"),
        (405, "<h1>No</h1>", "HTTP 405: <h1>No</h1>; change the entry"),
        (404, json.dumps({"error": "model 'm' not found"}), "HTTP 404: model 'm' not found; check model and base_url"),
        (400, error("No.", "unsupported_parameter", param="max_tokens"), "HTTP 400: No.; change the entry"),
        (400, error("No.", "unsupported_value", param="temperature"), "HTTP 400: No.; change the entry"),
        (400, error("No.", "billing_hard_limit_reached"), "HTTP 400: No.; change the entry"),
        (400, GEMINI, "HTTP 400: API key not valid.; change the entry"),
        (429, error("No.", type="insufficient_quota"), "HTTP 429: No.; check the account's quota"),
    ],
)
def test_what_would_meet_every_call(status: int, body: str, message: str) -> None:
    with Canned(status, body, {"location": "http://127.0.0.1:1/"}) as server, pytest.raises(ServiceError) as caught:
        post(thing(server.base_url))
    host = server.base_url.removeprefix("http://").removesuffix("/v1")
    assert str(caught.value).startswith(f"openai m at {host}: {message}")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (400, error("Too long.", "context_length_exceeded"), Outcome.FAILED),
        (400, error("No.", "unsupported_value", param="messages[0].content"), Outcome.FAILED),
        (413, "<h1>Too large</h1>", Outcome.FAILED),
        (422, json.dumps({"detail": [{"msg": "a field"}]}), Outcome.FAILED),
        (400, error("No.", "content_policy_violation"), Outcome.FILTERED),
        (400, error("Invalid prompt: your prompt was flagged as harmful.", "invalid_prompt"), Outcome.FILTERED),
        (403, error("m requires moderation. Your input was flagged for 'x'."), Outcome.FILTERED),
    ],
)
def test_what_meets_one_call(status: int, body: str, outcome: Outcome) -> None:
    with Canned(status, body) as server, pytest.raises(Rejected, match=f"HTTP {status}: .") as caught:
        post(thing(server.base_url))
    assert caught.value.outcome is outcome
    assert (caught.value.usage is None) == (outcome is Outcome.FILTERED)


@pytest.mark.parametrize(
    ("status", "billed"),
    [(408, False), (409, False), (425, False), (429, False), (500, False), (502, True), (504, True), (529, False)],
)
def test_what_may_pass(status: int, billed: bool) -> None:
    headers = {"retry-after-ms": "1500", "retry-after": "9"}
    with Canned(status, error("Later."), headers) as server, pytest.raises(TransientError) as caught:
        post(thing(server.base_url))
    assert (str(caught.value), caught.value.retry_after) == (f"HTTP {status}: Later.", 1.5)
    assert caught.value.billed is billed


@pytest.mark.parametrize("body", ["null", "[]", "3", '"text"', "{}", '{"error": null}', '{"error": [1]}', "[[1]]", "é"])
def test_errors_of_any_shape(body: str) -> None:
    with Canned(500, body) as server, pytest.raises(TransientError, match="HTTP 500: "):
        post(thing(server.base_url))


@pytest.mark.parametrize("body", ["", "null", "[]", "3", "{}", '{"said": null}', '{"said": "\\ud800"}', '{"said": "a'])
def test_answers_of_another_shape(body: str) -> None:
    with Canned(200, body) as server, pytest.raises(TransientError, match="an answer that cannot be read") as caught:
        post(thing(server.base_url))
    assert caught.value.billed


def test_messages_are_one_short_line_without_the_key() -> None:
    text = f"Wrong key {KEY}!\n\x1b[31mIt was {KEY[:5]}******{KEY[-4:]}\u202e. " + "x" * 500
    with Canned(503, error(text)) as server, pytest.raises(TransientError) as caught:
        post(thing(server.base_url))
    said = str(caught.value)
    assert said.startswith("HTTP 503: Wrong key ***! \\x1b[31mIt was ***\\x202e. xxx")
    assert said.endswith("x…")
    assert len(said) == len("HTTP 503: ") + 300
    assert KEY not in repr(caught.value)


def test_the_key_at_the_cut() -> None:
    with Canned(503, error("x" * 285 + f" {KEY}")) as server, pytest.raises(TransientError) as caught:
        post(thing(server.base_url))
    assert str(caught.value) == "HTTP 503: " + "x" * 285 + " ***"


def test_an_answer_shows_no_key_but_a_placeholder_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    with Canned(200, json.dumps({"said": f"{KEY} is EMPTY"})) as server:
        assert post(thing(server.base_url)).said == "*** is EMPTY"
        monkeypatch.setenv("TEST_KEY", "EMPTY")
        assert post(thing(server.base_url)).said == f"{KEY} is EMPTY"


@pytest.mark.parametrize("body", ['{"said": "KEY"}', '{"KEY": [["KEY"]], "said": "KEY"}', '{"other": "KEY"}'])
def test_a_key_written_with_escapes_is_the_key(body: str) -> None:
    hidden = body.replace("KEY", f"\\u0073{KEY[1:]}")
    with Canned(200, hidden) as server:
        try:
            said = post(thing(server.base_url)).said
        except TransientError as error:
            said = str(error)
    assert "***" in said
    assert KEY[1:] not in said
    with Canned(500, hidden) as server, pytest.raises(TransientError) as caught:
        post(thing(server.base_url))
    assert "***" in str(caught.value)
    assert KEY[1:] not in str(caught.value)


def test_a_message_that_is_no_unicode_can_be_stored() -> None:
    with Canned(500, '{"error": {"message": "a\\ud800b"}}') as server, pytest.raises(TransientError) as caught:
        post(thing(server.base_url))
    assert str(caught.value) == "HTTP 500: a\\ud800b"


CHARSETS = ["hex", "zlib", "base64", "bz2", "uu", "quopri", "rot13", "idna", "undefined", "punycode", "utf-7", "none"]


@pytest.mark.parametrize("charset", CHARSETS)
def test_an_error_is_utf_8_whatever_it_says(charset: str) -> None:
    headers = {"content-type": f"application/json; charset={charset}"}
    with Canned(500, error("Später."), headers) as server, pytest.raises(TransientError, match="HTTP 500: Später"):
        post(thing(server.base_url))


def test_the_environment_changes_neither_the_address_nor_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with Canned(200, '{"said": "here"}') as server, Canned(200, '{"said": "there"}') as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
        monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-custom\nX-Custom: yes")
        assert post(thing(server.base_url)).said == "here"
        assert post(thing(server.base_url, api_key_env=None)).said == "here"
        assert not other.requests
    (path, with_key), (_, without) = server.requests
    assert path == "/v1/say"
    assert with_key["authorization"] == f"Bearer {KEY}"
    assert without["authorization"] == "Bearer none"
    assert not {name for name in {**with_key, **without} if name.startswith(("openai-", "x-custom"))}
    assert "sk-" not in str(without)


def test_null_is_the_official_endpoint_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    async def address() -> str:
        async with thing(None).service() as service:
            return service.url

    assert asyncio.run(address()) == "https://api.openai.com/v1/"


@pytest.mark.parametrize(("concurrency", "clients"), [(4, 2), (8, 4), (100, 27)])
def test_clients_close_with_their_context(concurrency: int, clients: int) -> None:
    async def once(url: str) -> tuple[list[bool], list[bool]]:
        async with thing(url, limits=Limits(concurrency=concurrency)).service() as service:
            every = [*(client._client for client in service._clients), service._elsewhere]
            every += [service._http] if service._http not in every else []
            before = [each.is_closed for each in every]
        return before, [each.is_closed for each in every]

    with OpenAIServer() as server:
        assert asyncio.run(once(server.base_url)) == ([False] * clients, [True] * clients)


def test_many_calls_at_once_are_spread_over_small_pools() -> None:
    async def many(url: str) -> tuple[int, list[int]]:
        async with thing(url, limits=Limits(concurrency=100)).service() as service:
            asked = {"model": "m", "messages": [{"role": "user", "content": "What is it?"}]}
            calls = [service.post("/chat/completions", asked, Anything) for _ in range(100)]
            tasks = [asyncio.create_task(each) for each in calls]
            await asyncio.sleep(0)
            under_way = list(service._under_way)
            await asyncio.gather(*tasks)
            return sum(service._under_way), under_way

    with OpenAIServer(together=100) as server:
        assert asyncio.run(asyncio.wait_for(many(server.base_url), 60)) == (0, [4] * 25)
        assert server.most_at_once == 100


def test_what_is_open_shows_no_key() -> None:
    async def once() -> str:
        async with thing(None).service() as service:
            return f"{service!r} {service.failures!r}"

    assert KEY not in asyncio.run(once())


@pytest.mark.parametrize("name", ["models.openai_chat:OpenAIChat", "generators.openai_images:OpenAIImages"])
def test_settings_need_no_library(name: str) -> None:
    module, _, cls = name.partition(":")
    made = f"from driftledger.components.{module} import {cls}; {cls}(model='m').fingerprint"
    code = f"import sys; {made}; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_missing_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'driftledger\[openai\]'"):
        post(thing(None))


@pytest.mark.parametrize("value", ["", "   ", "two words", "clé-secrète", "line\nline"])
def test_keys_that_are_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(ConfigError, match="TEST_KEY") as caught:
        post(thing("http://127.0.0.1:1/v1"))
    assert not value.strip() or value not in str(caught.value)


def test_a_newline_after_the_key_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", f"{KEY}\n")
    with Canned(200, '{"said": "yes"}') as server:
        post(thing(server.base_url))
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"


def test_a_key_in_the_place_of_its_name_is_refused_and_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Thing(model="m", api_key_env=KEY)
    said = explain(caught.value, "models.m")
    assert said == "models.m: api_key_env is the name of an environment variable, in capitals, and not the key itself"


def test_no_service_is_sent_the_key_of_another() -> None:
    with pytest.raises(ValidationError, match="api_key_env must name the variable with its key, or be null"):
        Thing(model="m", base_url="https://elsewhere.example/v1")
    assert Thing(model="m", base_url="https://elsewhere.example/v1", api_key_env=None).host == "elsewhere.example"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "ftp://host/v1",
        "https://",
        "https://me:secret@host/v1",
        "https://host/v1?key=1",
        "http://h/#a",
        "http://localhost:abc/v1",
        "http://localhost:99999/v1",
        "http://localhost:-1/v1",
        "http://localhost:8000/v1\n",
        "http://local\thost/v1",
        "http://local\x00host/v1",
        "http://localhost/a b",
        "http://[::1/v1",
        "http://me:secret@\u2100/v1",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(ValidationError, match="base_url must") as caught:
        thing(url)
    assert "secret" not in explain(caught.value, "models.m")


@pytest.mark.parametrize("url", ["http://[v1.x]/v1", "http://xn--\u00e9/v1", "http://host/" + "a" * 70_000])
def test_addresses_that_only_the_library_refuses_are_one_sentence(url: str) -> None:
    with pytest.raises(ConfigError, match=r"openai m: base_url cannot be asked: .*; mend it"):
        post(thing(url))


def test_a_slash_at_the_end_does_not_matter_to_the_request() -> None:
    with Canned(200, '{"said": "yes"}') as server:
        post(thing(f"{server.base_url}/"))
    assert server.requests[0][0] == "/v1/say"


def test_extra_is_json() -> None:
    with pytest.raises(ValidationError):
        Thing(model="m", extra={"top_p": float("nan")})
    with pytest.raises(ValidationError):
        Thing(model="m", extra={"when": object()})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 99999999 07:28:00 GMT"}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for() -> None:
    before = time.time()
    asked = retry_after({"retry-after": formatdate(before + 40, usegmt=True)})  # without fractions of a second
    assert asked is not None
    assert 39 - (time.time() - before) <= asked <= 40


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("猫", 1)])
def test_estimated_tokens(text: str, tokens: int) -> None:
    assert tokens_of(text) == tokens


def test_certificates_are_read_once_for_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpcore2

    read, times = httpcore2.default_ssl_context, []

    def counting(**settings: Any) -> Any:
        times.append(settings)
        return read(**settings)

    async def open_all() -> None:
        async with thing("http://127.0.0.1:9/v1").service(), thing("http://127.0.0.1:8/v1").service():
            pass

    monkeypatch.setattr(httpcore2, "default_ssl_context", counting)
    openai_client._certificates.cache_clear()
    asyncio.run(open_all())
    assert len(times) == 1

"""What a service's answers and errors become, and how calls to one are paced, retried and paid
for."""

import asyncio
import base64
import gzip
import json
import os
import re
import ssl
import subprocess
import time
from base64 import encodebytes
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tenacity import wait_fixed, wait_none

from driftledger.components import service
from driftledger.components.answers import RULES, retry_after
from driftledger.components.openai import OpenAIChat, OpenAIImages, tokens_of
from driftledger.components.service import (
    Limits,
    Meter,
    Prices,
    RefusedError,
    ServiceClient,
    TransientError,
)
from driftledger.components.sounds import OpenAISpeech
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import BudgetError, ConfigError, ServiceError
from driftledger.core.media import Sound, suffix_of, wav_bytes
from driftledger.core.types import Conversation, Medium, Outcome, Result, Turn, Usage
from tests.conftest import draw
from tests.support.canned_server import Canned
from tests.support.cases import cases, each_case
from tests.support.openai_server import KEY, ChatAnswer, OpenAIServer, attempt
from tests.support.virtual_time import STARTED, run

HELLO = Conversation((Turn("user", ("Hello",)),))
RAISED = {
    "TransientError": TransientError,
    "ServiceError": ServiceError,
    "RefusedError": RefusedError,
}


@pytest.fixture(autouse=True)
def key_and_no_backoff(monkeypatch):
    monkeypatch.setattr(service, "_BACKOFF", wait_none())
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def image(tmp_path):
    path = draw(tmp_path / "one.png", 1)
    return Medium(path, sha256_file(path))


def chat(url, **settings):
    return OpenAIChat.model_validate(
        {"model": "m", "base_url": url, "api_key_env": "TEST_KEY"} | settings
    )


def images(url, **settings):
    return OpenAIImages.model_validate(
        {"model": "m", "base_url": url, "api_key_env": "TEST_KEY"} | settings
    )


def encoded(image, kind):
    content = BytesIO()
    image.save(content, kind)
    return base64.b64encode(content.getvalue()).decode()


def picture(name):
    match name:
        case "HUGE":
            return encoded(Image.new("1", (8193, 8193)), "PNG")
        case "TRANSPARENT":
            return encoded(Image.new("RGBA", (16, 8), (255, 0, 0, 0)), "PNG")
        case "DATA URL":
            return f"data:image/png;base64,{picture('PNG')}"
        case "PNG" | "JPEG" | "WEBP" | "BMP":
            return encoded(Image.new("RGB", (16, 8), "red"), name)
    return name


def body_of(case):
    body = case["body"]
    if isinstance(body, dict) and case["on"] == "image":
        for each in body.get("data", ()):
            if "b64_json" in each:
                each["b64_json"] = picture(each["b64_json"])
    text = body if isinstance(body, str) else json.dumps(body)
    return (
        text.replace("DEEP", "[" * 100_000).replace("KEY", KEY)
        if "API_KEY" not in text
        else text
    )


@each_case(cases(__file__, "readiness"))
def test_what_is_missing_before_the_first_call(case, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = {"prices": {"input": 1.0}} | case["settings"]
    with Canned(case["status"], case["body"].replace("KEY", KEY)) as server:
        if settings.get("base_url") == "BARE":
            settings["base_url"] = server.address
        ready = chat(server.base_url, **settings).readiness()
    for sentences, expected in zip(ready, (case["missing"], case["note"]), strict=True):
        assert bool(sentences) == bool(expected), sentences
        assert expected in "\n".join(sentences)
        assert KEY not in "".join(sentences)
    assert not server.requests or server.requests[0][0] in ("/v1/models", "/models")


@each_case(cases(__file__, "services"))
def test_what_a_service_says(case):
    expect = case["expect"]
    with Canned(case.get("status", 200), body_of(case), case.get("headers")) as server:
        asked: tuple[Any, ...] = (chat(server.base_url), HELLO)
        if case["on"] == "image":
            asked = (images(server.base_url), "a red boat", 5)
        if "raises" in expect:
            with pytest.raises(RAISED[expect["raises"]]) as caught:
                attempt(*asked)
            said = str(caught.value)
            assert expect["says"] in said
            assert KEY not in repr(caught.value)
            assert len(said) < 450
            assert "\n" not in said
            for name in expect.keys() & {"billed", "retry_after", "names_setting"}:
                assert getattr(caught.value, name) == expect[name]
            assert expect.get("advice", "") in getattr(caught.value, "advice", "")
            return
        got = attempt(*asked)
        assert len(server.requests) == 1
    assert got.outcome == expect["outcome"]
    assert (got.error is None) == (
        "error" not in expect and got.outcome is not Outcome.FILTERED
    )
    read = {
        "text": lambda: got.text,
        "error": lambda: got.error[: len(expect["error"])],
        "served": lambda: got.served_model,
        "usage": lambda: (
            got.usage
            and [got.usage.input_tokens, got.usage.output_tokens, got.usage.images]
        ),
        "size": lambda: list(got.image.size),
        "pixel": lambda: list(got.image.getpixel((0, 0))),
        "kept": lambda: got.data and suffix_of(got.data),
    }
    assert {name: read[name]() for name in expect.keys() & read.keys()} == {
        name: value for name, value in expect.items() if name in read
    }


def spelt(encoded, how):
    """Base64 as some services spell it."""
    match how:
        case "lines":
            return encodebytes(base64.b64decode(encoded)).decode()
        case "url":
            return (
                base64.urlsafe_b64encode(base64.b64decode(encoded)).decode().rstrip("=")
            )
        case "data":
            return f"data:image/jpeg;base64, {spelt(encoded, 'lines')}"
    return encoded


def kind_of_answer(case, port):
    """Make a case's calls at the server; the results, what paid for them, and why they ended."""
    url = f"http://127.0.0.1:{port}{case.get('path', '/v1')}"
    common = {
        "limits": {"attempts": 3, "concurrency": 1},
        "prices": {"input": 1.0, "output": 10.0},
    }
    given = common | case.get("settings", {})
    model = images(url, **given) if case.get("kind") == "image" else chat(url, **given)
    client = ServiceClient(model.limits, model.prices, Meter(model.limits, model.title))

    async def ask_all():
        got = []
        async with model.connect() as once:
            for number in range(case.get("calls", 1)):
                asked = (f"{number}", 1) if case.get("kind") == "image" else (HELLO,)
                got.append(
                    await client.call(partial(once, *asked), model.expected(asked[0]))
                )
        return got

    try:
        return asyncio.run(ask_all()), client, ""
    except ServiceError as error:
        return [], client, str(error)


@each_case(cases(__file__, "kinds"))
def test_what_a_service_says_about_itself_is_read_whole(case):
    body = case.get("text") or case["body"]
    if case.get("kind") == "image":
        noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
        drawn = spelt(encoded(Image.fromarray(noise), "PNG"), case.get("spelt", ""))
        body = json.loads(json.dumps(body).replace('"PNG"', json.dumps(drawn)))
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = case.get("headers", {})
    if case.get("gzip"):
        content = gzip.compress(content)
        headers = case.get("headers", {"content-encoding": "gzip"})
    with Canned(case.get("status", 200), content, headers) as server:
        port = server._server.server_port
        got, client, end = kind_of_answer(case, port)
    assert len(server.requests) == case.get("requests", 1)
    assert case.get("ends", "").replace("PORT", str(port)) in end
    assert bool(end) == ("ends" in case)
    assert {each.outcome for each in got} == ({case["outcome"]} if got else set())
    assert "cost" not in case or client._budget.cost == pytest.approx(
        case["cost"], abs=1e-12
    )
    for each in got:
        usage = each.usage and [
            each.usage.input_tokens,
            each.usage.output_tokens,
            each.usage.cached_tokens,
        ]
        assert case.get("usage", usage) == usage
        assert case.get("answer", each.text or "") == (each.text or "")
        assert case.get("reasoning", each.reasoning) == each.reasoning
        assert (each.error or "").startswith(case.get("begins", ""))
        assert "error" not in case or each.error == case["error"]


@pytest.mark.parametrize(
    "rule", RULES, ids=lambda rule: f"{rule.status} {rule.words[:1]} {rule.end}"
)
def test_each_rule_is_the_first_for_its_example(rule):
    status, body = rule.example
    model = chat("http://127.0.0.1:9/v1", extra={"seed_of_mine": 1})
    _, found, advice = model._judged(status, body)
    assert found == rule
    assert "{" not in advice
    ends = {"later": TransientError, "refused": RefusedError, "filtered": None}
    raised = ends.get(rule.end, ServiceError)
    if raised is None:
        assert model.ended(status, body).outcome is Outcome.FILTERED
        return
    with pytest.raises(raised) as caught:
        model.ended(status, body)
    assert isinstance(caught.value, ServiceError) or caught.value.billed == (
        "billed" in rule.flags
    )
    if status >= 200:
        with Canned(status, body) as server, pytest.raises(raised) as answered:
            attempt(chat(server.base_url, extra={"seed_of_mine": 1}), HELLO)
        strip = re.compile(r":\d+")
        assert strip.sub("", str(answered.value)) == strip.sub("", str(caught.value))


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        (
            "ALL_PROXY",
            "socks5://127.0.0.1:9",
            "a SOCKS proxy: run `pip install socksio`, or unset ALL_PROXY",
        ),
        (
            "all_proxy",
            "socks4://127.0.0.1:9",
            "correct the proxy in all_proxy, or unset it",
        ),
        (
            "HTTP_PROXY",
            "http://127.0.0.1:9",
            "`base_url: http://x.invalid/v1` in params.yaml or HTTP_PROXY",
        ),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(variable, value, says, monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv(variable, value)
    model = chat("http://x.invalid/v1", limits={"attempts": 1})
    with pytest.raises(ServiceError) as caught:
        model.respond([HELLO])
    assert says in str(caught.value)
    missing, notes = model.readiness()
    assert says in "".join(missing) or "lists no models" in "".join(notes)


def test_a_few_equal_refusals_wait_for_the_calls_beside_them():
    async def calls(slow):
        one, refused = (
            line(Limits()),
            [RefusedError("HTTP 400: bad image", advice="change it")] * 6,
        )
        asked = [
            ask(one, scripted(9.0, slow), EXPECTED),
            *(ask(one, scripted(each), EXPECTED) for each in refused),
        ]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [each.error for each in run(calls(FINE))] == [
        None,
        *["HTTP 400: bad image"] * 6,
    ]
    assert isinstance(
        run(calls(RefusedError("HTTP 400: bad image", advice="change it")))[0],
        ServiceError,
    )


def test_what_is_refused_after_an_answer_is_that_call_alone():
    async def calls():
        one = line(Limits())
        await ask(one, scripted(FINE), EXPECTED)
        refused = [
            RefusedError("HTTP 400: `temperature`", advice="set it", names_setting=True)
        ] * 4
        return [
            (await ask(one, scripted(each), EXPECTED)).error for each in refused
        ], one._budget.calls

    assert run(calls()) == (["HTTP 400: `temperature`"] * 4, 5)


def test_a_server_that_refuses_connections_ends_the_run():
    with Canned(200, "") as server:
        model = chat(server.base_url)
    with pytest.raises(
        ServiceError,
        match=rf"ConnectError.*start the server, or correct `base_url: {server.base_url}`",
    ):
        model.respond([HELLO])

    async def later():
        one = line(Limits(attempts=4))
        gone = [TransientError("ConnectError", advice="start it", gone=True)] * 8
        await ask(one, scripted(FINE), EXPECTED)
        assert (await ask(one, scripted(*gone[:3], FINE), EXPECTED)).text == "fine"
        await ask(one, scripted(*gone), EXPECTED)

    with pytest.raises(
        ServiceError,
        match=r"far model: ConnectError \(4 attempts\); start it and run again",
    ):
        run(later())


EXPECTED = Usage(input_tokens=1000, output_tokens=1000)
PRICES = Prices(input=1.0, output=2.0)
MOST = 0.003
FINE = Result("fine", usage=Usage(200, 100))


def line(limits, calls=0, cost=0.0):
    return ServiceClient(limits, PRICES, Meter(limits, "far model", calls, cost))


async def ask(one, attempt, expected):
    async with one.slots:
        return await one.call(attempt, expected)


def scripted(*events):
    """Attempts that give these in turn; a number is a time to take before the next."""
    script = list(events)

    async def attempt():
        event = script.pop(0)
        if isinstance(event, float):
            await asyncio.sleep(event)
            event = script.pop(0)
        if isinstance(event, Exception):
            raise event
        assert isinstance(event, Result)
        return event

    return attempt


def call(limits, *events):
    async def once():
        return await ask(line(limits), scripted(*events), EXPECTED)

    return run(once())


LOST = TransientError("500")
EVENTS: dict[str, Result | Exception] = {
    "fine": FINE,
    "empty": Result(" "),
    "cut": Result("", Outcome.TRUNCATED),
    "thought": Result("", reasoning="Is it blue?"),
    "declined": Result("", Outcome.REFUSED),
    "unread": TransientError("unread", billed=True, once_more=True),
    "other": TransientError("other", billed=True, once_more=True),
    "half": TransientError("half an answer", billed=True),
    "lost": LOST,
    "unavailable": TransientError("502"),
    "refused": RefusedError("HTTP 400"),
    "the key": ServiceError("the key"),
}


@each_case(cases(__file__, "attempts"))
def test_which_attempts_are_made_again(case):
    client = line(Limits.model_validate(case["limits"]))
    events = [EVENTS.get(each, each) for each in case["events"]]
    result = run(ask(client, scripted(*events), EXPECTED))
    assert (result.text, result.error) == (case["text"], case["error"])
    assert client._budget.calls == case["attempts"]


@pytest.mark.parametrize(
    ("kind", "billed"),
    [
        ("drop", True),
        ("reset", True),
        ("drop_midway", True),
        ("timeout", True),
        ("gone", False),
    ],
)
def test_a_lost_connection_may_pass(kind, billed):
    with OpenAIServer(faults=[kind] if kind != "gone" else []) as server:
        model = chat(server.base_url, limits=Limits(timeout=0.3))
        if kind != "gone":
            with pytest.raises(TransientError) as caught:
                attempt(model, HELLO)
    if kind == "gone":
        with pytest.raises(
            TransientError, match=rf"openai m at {model.host}: ConnectError"
        ) as caught:
            attempt(model, HELLO)
    assert caught.value.billed is billed


def test_what_is_sent_to_a_chat_model(image):
    turns = (
        Turn("system", ("Be brief.", "Be kind.")),
        Turn("user", (image, "What is this?")),
        Turn("assistant", ("A boat.",)),
        Turn("user", ("And", image)),
        Turn("assistant", ("It has",)),
    )
    [case] = cases(__file__, "chat_request")
    with OpenAIServer(api_key=KEY, reply=lambda _: ChatAnswer(" long ears.")) as server:
        model = chat(server.base_url, **case["settings"])
        reply = attempt(model, Conversation(turns, max_tokens=20))
        attempt(chat(server.base_url, temperature=None), HELLO)
        full, plain = (request.body for request in server.requests)
    url = f"data:image/png;base64,{base64.b64encode(image.path.read_bytes()).decode()}"
    assert json.loads(json.dumps(full).replace(url, "IMAGE")) == case["request"]
    assert (reply.text, model.continues) == ("It has long ears.", True)
    assert set(plain) == {"model", "messages", "max_tokens"}
    assert OpenAIChat(model="m").body_of(HELLO)["max_completion_tokens"] == 1024
    with pytest.raises(ValueError, match="only the user can show images"):
        model.body_of(Conversation((Turn("assistant", (image,)),)))


@pytest.mark.parametrize(
    ("payload", "media", "size"),
    [
        ({"format": "jpeg", "quality": 92, "longest_side": 24}, "image/jpeg", (24, 12)),
        ({"format": "webp", "longest_side": 1024}, "image/webp", (48, 24)),
        ({"longest_side": 24}, "image/png", (24, 12)),
    ],
)
def test_an_image_is_sent_as_the_settings_say(payload, media, size, tmp_path):
    path = draw(tmp_path / "one.png", 1, (48, 24))
    shown = Conversation(
        (Turn("user", (Medium(path, sha256_file(path)), "What is this?")),)
    )
    model = OpenAIChat.model_validate({"model": "m", "image": payload})
    url = model.body_of(shown)["messages"][0]["content"][0]["image_url"]["url"]
    with Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))) as sent:
        assert (url.partition(";")[0], sent.get_format_mimetype(), sent.size) == (
            f"data:{media}",
            media,
            size,
        )
    assert model.fingerprint != OpenAIChat(model="m").fingerprint


def test_a_sound_is_sent_as_wav_and_spoken_as_wav(tmp_path):
    tone = Sound(np.sin(np.arange(8000) / 10, dtype=np.float32)[:, None] / 2, 16_000)
    (path := tmp_path / "one.wav").write_bytes(wav := wav_bytes(tone))
    heard = Conversation(
        (Turn("user", (Medium(path, sha256_file(path)), "What is this?")),)
    )
    shown, text = OpenAIChat(model="m").body_of(heard)["messages"][0]["content"]
    assert shown == {
        "type": "input_audio",
        "input_audio": {"data": base64.b64encode(wav).decode(), "format": "wav"},
    }
    assert text == {"type": "text", "text": "What is this?"}
    for spoken in (
        wav,
        wav[:40] + b"\xff" * 4 + wav[44:],
    ):  # OpenAI streams, and writes no length
        with Canned(200, spoken, {"content-type": "audio/wav"}) as server:
            model = OpenAISpeech(
                model="m",
                base_url=server.base_url,
                api_key_env="TEST_KEY",
                voice="sage",
            )
            made = attempt(model, "A bell rings.", 5)
        asked = {
            "model": "m",
            "input": "A bell rings.",
            "voice": "sage",
            "response_format": "wav",
        }
        assert (server.requests[0][0], json.loads(server.bodies[0])) == (
            "/v1/audio/speech",
            asked,
        )
        assert wav_bytes(made.sound) == wav
    with (
        Canned(200, wav[:-7]) as server,
        pytest.raises(TransientError, match="no sound that can be used"),
    ):
        attempt(
            OpenAISpeech(model="m", base_url=server.base_url, api_key_env="TEST_KEY"),
            "A bell rings.",
            5,
        )


def test_what_is_sent_to_a_generator():
    extra = {"quality": "high", "response_format": "b64_json"}
    with OpenAIServer() as server:
        attempt(images(server.base_url, image_size="64x48"), "a red boat", 5)
        attempt(
            images(
                server.base_url, image_size=None, seed_parameter="seed", extra=extra
            ),
            "a red boat",
            2**32 - 1,
        )
        plain, full = (request.body for request in server.requests)
    assert plain == {"model": "m", "prompt": "a red boat", "n": 1, "size": "64x48"}
    assert (
        full
        == {"model": "m", "prompt": "a red boat", "n": 1, "seed": 2**32 - 1} | extra
    )


def test_estimates(image):
    turns = (Turn("system", ("1234567",)), Turn("user", (image, "猫猫", image)))
    model = OpenAIChat(model="m", max_tokens=50, beams=3)
    assert model.expected(Conversation(turns)) == Usage(3 + 2000 + 2 + 2000, 150)
    assert OpenAIImages(model="m").expected("1234567") == Usage(3, 4160, images=1)
    assert [tokens_of(text) for text in ("", "a", "abc", "abcd", "猫")] == [
        0,
        1,
        1,
        2,
        1,
    ]


def test_fingerprints():
    assert OpenAIChat(
        model="m", base_url="http://one.example:8000/v1", api_key_env=None
    ).fingerprint == (
        "1f3de308e143cc85a29133d7af9446927fef46e2b988fa7e5329a24d9068524c"
    )
    assert (
        OpenAIImages(model="m").fingerprint
        == "9a88767136fb9669ea35ad48b18feac374b01ffa4e268d3108d23afdb407a42d"
    )
    same = [
        {"limits": {"concurrency": 3}},
        {"prices": {"input": 1}},
        {"prefill": "vllm"},
    ]
    other = [
        {"temperature": None},
        {"max_tokens": 5},
        {"seed": 1},
        {"extra": {"top_p": 0.5}},
    ]
    url = "http://one.example:8000/v1"
    assert {chat(url, **each).fingerprint for each in same} == {chat(url).fingerprint}
    assert (
        len({chat(url, **each).fingerprint for each in [*other, {}]}) == len(other) + 1
    )
    named = chat(url, service_name="ours")
    assert (
        named.fingerprint
        == chat("http://two.example/v1", service_name="ours").fingerprint
        != chat(url).fingerprint
    )
    assert sha256_of(named.spec) == named.fingerprint


def test_the_environment_changes_neither_address_nor_request(monkeypatch):
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY", "API_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", f"sk-{name}")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-custom\nX-Custom: yes"
    )
    with Canned(404, "") as server, Canned(200, "") as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        for env in ("TEST_KEY", None):
            with pytest.raises(ServiceError):
                attempt(chat(f"{server.base_url}/", api_key_env=env), HELLO)
        assert not other.requests
    (path, with_key), (_, without) = server.requests
    assert path == "/v1/chat/completions"
    assert (with_key["authorization"], without["authorization"]) == (
        f"Bearer {KEY}",
        "Bearer none",
    )
    assert not {
        name
        for name in {**with_key, **without}
        if name.startswith(("openai-", "x-custom"))
    }
    assert "sk-" not in str(without)
    assert OpenAIChat(model="m").host == "api.openai.com"


def test_a_redirect_is_not_followed_with_the_key():
    with Canned(200, "") as thief:
        with (
            Canned(307, "", {"location": thief.base_url}) as server,
            pytest.raises(ServiceError, match="HTTP 307"),
        ):
            attempt(chat(server.base_url), HELLO)
        assert thief.requests == []


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b"{" + b" " * 2000, {}, "ReadError: the answer has more than 1,000 bytes"),
        (
            gzip.compress(b" " * 10_000),
            {"content-encoding": "gzip"},
            "ReadError: the answer has more than 1,000 bytes",
        ),
    ],
    ids=["large", "compressed"],
)
def test_an_answer_that_would_fill_the_memory_is_not_read(
    body, headers, said, monkeypatch
):
    monkeypatch.setattr("driftledger.components.openai.OpenAIComponent.largest", 1000)
    with (
        Canned(200, body, headers) as server,
        pytest.raises(TransientError, match=said) as caught,
    ):
        attempt(chat(server.base_url), HELLO)
    assert caught.value.billed


@pytest.mark.parametrize(
    ("status", "said"),
    [(200, "that cannot be read"), (400, "more than 1,048,576 bytes")],
)
def test_an_answer_of_a_million_choices_is_not_made_into_objects(status, said):
    body = '{"choices": [' + "{}," * 600_000 + "{}]}"
    with Canned(status, body) as server, pytest.raises(TransientError, match=said):
        attempt(chat(server.base_url), HELLO)


def test_a_certificate_that_no_one_vouches_for_is_not_tried_again(tmp_path):
    make = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=x"
    )
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", tmp_path / "k.pem")
    server = Canned(200, "{}")
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
    with (
        server,
        pytest.raises(
            ServiceError,
            match=r"CERTIFICATE_VERIFY_FAILED.*; correct base_url, or name",
        ),
    ):
        attempt(chat(server.base_url.replace("http:", "https:")), HELLO)


@pytest.mark.parametrize("value", ["", "   ", "two words", "clé-secrète", "line\nline"])
def test_a_key_that_is_none_is_one_sentence(value, monkeypatch):
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(
        ConfigError,
        match="the environment variable TEST_KEY is not set, or holds no key",
    ) as caught:
        attempt(chat("http://127.0.0.1:1/v1"), HELLO)
    assert not value.strip() or value not in str(caught.value)


# Pacing, retries and budgets, in time that passes only while nothing can be done.


def cost_of(result):
    assert result.usage is not None
    return result.usage.cost


def test_a_call_costs_what_its_attempts_cost():
    billed = TransientError("half an answer", billed=True)
    paid = call(Limits(), LOST, billed, FINE)
    assert cost_of(paid) == pytest.approx(MOST + PRICES.cost(Usage(200, 100)))
    slow = call(Limits(timeout=0.01, attempts=2), 5.0, 5.0)
    assert slow.error == "no answer within 0.01 s (2 attempts)"
    assert cost_of(slow) == pytest.approx(2 * MOST)


def test_the_first_retry_follows_at_once_and_the_others_wait(monkeypatch):
    monkeypatch.setattr(service, "_BACKOFF", wait_fixed(40))

    async def moments():
        begun: list[float] = []

        async def attempt():
            begun.append(time.monotonic() - STARTED)
            if len(begun) < 4:
                raise TransientError("503")
            return FINE

        await ask(line(Limits()), attempt, EXPECTED)
        return begun

    assert run(moments()) == pytest.approx([0, 0, 40, 80])


def test_a_break_that_a_service_asks_for_is_kept_by_all_but_not_past_the_deadline():
    async def two():
        one = line(Limits())
        first = asyncio.create_task(
            ask(one, scripted(TransientError("429", retry_after=20), FINE), EXPECTED)
        )
        await asyncio.sleep(1)
        await ask(one, scripted(FINE), EXPECTED)
        second_over = time.monotonic() - STARTED
        await first
        return second_over, time.monotonic() - STARTED

    second_over, first_over = run(two())
    assert second_over == pytest.approx(20)
    assert 20 <= first_over <= 22
    answered = call(
        Limits(deadline=1.0), 0.6, TransientError("429", retry_after=0.9), FINE
    )
    assert answered.error == "429 (1 attempts)"
    with pytest.raises(
        ServiceError,
        match=r"429; the service asks to wait 3600 s, and limits.deadline is 60 s",
    ):
        call(Limits(deadline=60.0), TransientError("429", retry_after=3600.0), FINE)


def test_once_a_service_refuses_for_good_nobody_asks_or_waits_any_longer():
    async def many():
        one = line(Limits(concurrency=3))
        calls = [
            ask(one, scripted(1.0, TransientError("429", retry_after=600)), EXPECTED),
            ask(one, scripted(3.0, ServiceError("the key is not valid")), EXPECTED),
            *(ask(one, scripted(2.0, FINE), EXPECTED) for _ in range(5)),
        ]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(result, ServiceError) for result in results) == 6
        return time.monotonic() - STARTED

    assert run(many()) == pytest.approx(3)


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (None, MOST),
        (Usage(None, None), MOST),
        (Usage(None, 100), 0.0012),
        (Usage(200, None), 0.0022),
        (Usage(0, 0), 0.0),
    ],
)
def test_tokens_that_a_service_does_not_count_cost_what_was_expected(used, cost):
    assert cost_of(call(Limits(), Result("fine", usage=used))) == pytest.approx(cost)


def test_a_call_that_is_dropped_on_its_way_counts_as_paid_and_one_before_it_as_none():
    async def dropped(limits):
        meter = Meter(limits, "far model")
        one = ServiceClient(limits, PRICES, meter)
        tasks = [
            asyncio.create_task(ask(one, scripted(100.0, FINE), EXPECTED))
            for _ in range(2)
        ]
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return meter.calls, meter.cost

    assert run(dropped(Limits())) == (2, pytest.approx(2 * MOST))
    assert run(dropped(Limits(requests_per_minute=1))) == (1, pytest.approx(MOST))


def test_budgets_hold_over_runs_and_at_their_dearest():
    async def calls():
        one = line(Limits(max_calls=5), calls=2)
        for _ in range(3):
            await ask(one, scripted(FINE), EXPECTED)
        with pytest.raises(
            BudgetError, match=r"far model: limits.max_calls = 5 is used up"
        ):
            await ask(one, scripted(FINE), EXPECTED)

    async def costs():
        """Each call may cost 0.003 and costs 0.0004: two at once fit into 0.006, and later ones one
        after the other."""
        limits = Limits(max_cost=0.006, concurrency=16)
        meter = Meter(limits, "far model")
        one = ServiceClient(limits, PRICES, meter)
        tasks = (ask(one, scripted(0.01, FINE), EXPECTED) for _ in range(16))
        results = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [result for result in results if isinstance(result, BudgetError)]
        assert "limits.max_cost = 0.006" in str(refused[0])
        assert len(results) - len(refused) == 2
        made = 2
        with suppress(BudgetError):
            while True:
                await ask(one, scripted(FINE), EXPECTED)
                made += 1
        return made, meter.cost

    run(calls())
    answered, cost = run(costs())
    assert answered == 8
    assert 0.003 < cost <= 0.006


def test_a_busy_service_has_half_as_many_calls_at_once_and_then_more_again():
    now, starts = 0, list[int]()

    async def attempt():
        nonlocal now
        now += 1
        starts.append(now)
        await asyncio.sleep(1)
        busy, now = time.monotonic() < STARTED + 1.5, now - 1
        if busy:
            raise TransientError("429", retry_after=0.1, busy=True)
        return FINE

    async def many():
        one = line(Limits(concurrency=16))
        await asyncio.gather(*(ask(one, attempt, EXPECTED) for _ in range(200)))
        assert one.slots.size == 16

    run(many())
    assert max(starts[:16]) == 16
    assert max(starts[40:60]) < 12
    assert max(starts[-60:]) == 16


@pytest.mark.parametrize(
    ("limits", "moments"),
    [({}, [0, 0, 0]), ({"requests_per_minute": 2}, [0, 30, 60, 90])],
)
def test_requests_per_minute(limits, moments):
    async def starts():
        one, begun = line(Limits.model_validate(limits)), list[float]()

        async def attempt():
            begun.append(time.monotonic() - STARTED)
            return FINE

        for _ in moments:
            await ask(one, attempt, EXPECTED)
        return begun

    assert run(starts()) == pytest.approx(moments)


@each_case(cases(__file__, "waits"))
def test_how_long_to_wait(case):
    waits = retry_after(
        case.get("headers", {}), case.get("body", ""), case.get("status", 429)
    )
    assert waits == case["seconds"]


def test_how_long_to_wait_until_a_moment():
    soon = time.time() + 100
    for value in (formatdate(soon, usegmt=True), f"{soon:.0f}", f"{soon * 1000:.0f}"):
        assert retry_after({"retry-after": value}) == pytest.approx(100, abs=5)
    assert retry_after({"retry-after": formatdate(soon - 200, usegmt=True)}) is None

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
from email.utils import formatdate
from functools import partial
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from tenacity import wait_fixed, wait_none

from driftledger.components import service
from driftledger.components.answers import RULES, retry_after
from driftledger.components.budget import Limits, Meter, Prices
from driftledger.components.hosted import HuggingFaceImages
from driftledger.components.openai import OpenAIComponent
from driftledger.components.openai_chat import OpenAIChat
from driftledger.components.openai_images import OpenAIImages
from driftledger.components.service import (
    AttemptError,
    RefusedError,
    ServiceClient,
    TransientError,
)
from driftledger.components.tokens import tokens_of
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.media import suffix_of
from driftledger.core.types import Conversation, Medium, Outcome, Result, Turn, Usage
from tests.conftest import draw
from tests.support.cases import CASES, cases, each_case
from tests.support.server import Server
from tests.support.virtual_time import STARTED, run

KEY = "sk-secret-0123456789abcdef"
HELLO = Conversation((Turn("user", ("Hello",)),))
KINDS = {"chat": OpenAIChat, "image": OpenAIImages, "hub": HuggingFaceImages}


@pytest.fixture(autouse=True)
def key_and_no_backoff(monkeypatch):
    monkeypatch.setattr(service, "BACKOFF", wait_none())
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)


@pytest.fixture
def image(tmp_path):
    path = draw(tmp_path / "one.png", 1)
    return Medium(path, sha256_file(path))


def attempt(component, *call):
    """Make one attempt at a call, without what a run does about its failure."""

    async def once():
        async with component.connect() as connected:
            return await connected(*call)

    return asyncio.run(once())


def component(kind, url, **settings):
    plain = {"model": "m", "base_url": url, "api_key_env": "TEST_KEY"}
    if kind == "hub":
        plain = {"model": url, "service": "hf-inference"}
    return KINDS[kind].model_validate(plain | settings)


chat = partial(component, "chat")


def conversation(case, **media):
    """The turns of a case, or one with a word; a part called as a medium is that medium."""
    turns = []
    for role, *parts in case.get("turns", [["user", "Hello"]]):
        turns.append(Turn(role, tuple(media.get(part, part) for part in parts)))
    return Conversation(tuple(turns), max_tokens=case.get("max_tokens"))


def encoded(image, kind="PNG"):
    content = BytesIO()
    image.save(content, kind)
    return base64.b64encode(content.getvalue()).decode()


PLAIN = Image.new("RGB", (16, 8), "red")
NOISE = Image.fromarray(
    np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
)
IN_LINES = encodebytes(base64.b64decode(encoded(NOISE))).decode()
PICTURES = {
    "HUGE": encoded(Image.new("1", (8193, 8193))),
    "TRANSPARENT": encoded(Image.new("RGBA", (16, 8), (255, 0, 0, 0))),
    "DATA URL": f"data:image/png;base64,{encoded(PLAIN)}",
    "PNG": encoded(PLAIN),
    "JPEG": encoded(PLAIN, "JPEG"),
    "WEBP": encoded(PLAIN, "WEBP"),
    "BMP": encoded(PLAIN, "BMP"),
    "BMP OF 32 BITS": encoded(PLAIN.convert("RGBA"), "BMP"),
    "NOISE IN LINES": IN_LINES,
    "NOISE FOR URLS": encoded(NOISE).translate(str.maketrans("+/", "-_", "=")),
    "NOISE IN A DATA URL": f"data:image/jpeg;base64, {IN_LINES}",
}
"""What a case's body names, as services spell it."""
LONG = {
    "DEEP": "[" * 100_000,
    "MILLION": '{"choices": [' + "{}," * 600_000 + "{}]}",
    "SPACES": " " * 10_000,
}


def body_of(case):
    if "picture" in case:
        return base64.b64decode(PICTURES[case["picture"]])
    body = case.get("body", "")
    text = body if isinstance(body, str) else json.dumps(body)
    for name, picture in PICTURES.items():
        text = text.replace(f'"{name}"', json.dumps(picture))
    for name, long in LONG.items():
        text = text.replace(name, long)
    if "API_KEY" not in text:
        text = text.replace("KEY", KEY)
    return gzip.compress(text.encode()) if case.get("gzip") else text.encode()


@each_case(cases(__file__, "readiness"))
def test_what_is_missing_before_the_first_call(case, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = {"prices": {"input": 1.0}} | case["settings"]
    with Server(
        {"status": case["status"], "body": case["body"].replace("KEY", KEY)}
    ) as server:
        if settings.get("base_url") == "BARE":
            settings["base_url"] = server.address
        ready = chat(server.base_url, **settings).readiness()
    for sentences, name in zip(ready, ("missing", "note"), strict=True):
        expected = case[name]
        assert bool(sentences) == bool(expected), sentences
        assert expected in "\n".join(sentences)
        assert KEY not in "".join(sentences)
    assert server.asked("GET (/v1)?/models$") == len(server.requests) <= 1


def calls_of(case, model):
    """Make a case's calls, or one attempt: their results, the cost, and what ended them."""
    kind = case.get("on", "chat")
    asked = (conversation(case),) if kind == "chat" else ("a red boat", 5)
    meter = Meter(model.limits, model.title)
    client = ServiceClient(model.limits, model.prices, meter)

    async def all_calls():
        async with model.connect() as once:
            if "calls" not in case:
                return [await once(*asked)]
            most = model.expected(asked[0])
            attempt = partial(once, *asked)
            return [await client.call(attempt, most) for _ in range(case["calls"])]

    try:
        return asyncio.run(all_calls()), meter.cost, None
    except (AttemptError, ServiceError) as error:
        return [], meter.cost, error


def seen_in(result):
    """What a case may expect of a result, by the keys of cases."""
    usage = result.usage or Usage()
    tokens = [usage.input_tokens, usage.output_tokens]
    image = result.image
    return {
        "outcome": result.outcome,
        "text": result.text,
        "reasoning": result.reasoning,
        "error": result.error,
        "note": result.note,
        "served": result.served_model,
        "usage": result.usage and [*tokens, usage.images],
        "tokens": [*tokens, usage.cached_tokens],
        "kept": result.data and suffix_of(result.data),
        "size": image and list(image.size),
        "pixel": image and list(image.getpixel((0, 0))),
    }


PACED = {
    "limits": {"attempts": 3, "concurrency": 1},
    "prices": {"input": 1.0, "output": 10.0},
}
"""Settings of a case with calls."""
RULE = ("status", "headers", "fault")
"""Names in a case that its rule of the server has."""


@each_case(cases(__file__, "services") + cases(__file__, "kinds"))
def test_what_a_service_says(case, monkeypatch):
    largest = case.get("largest", OpenAIComponent.largest)
    monkeypatch.setattr(OpenAIComponent, "largest", largest)
    settings = (PACED if "calls" in case else {}) | case.get("settings", {})
    answer = {name: case[name] for name in case.keys() & set(RULE)}
    with Server({"body": body_of(case)} | answer) as server:
        url = case.get("url", server.address + case.get("path", "/v1"))
        model = component(case.get("on", "chat"), url, **settings)
        results, cost, error = calls_of(case, model)
    assert len(server.requests) == case.get("requests", 1)
    if "cost" in case:
        assert cost == pytest.approx(case["cost"], abs=1e-12)
    if "raises" in case:
        assert type(error).__name__ == case["raises"]
        sentence = str(error)
        assert case["says"].replace("ADDRESS", server.address) in sentence
        assert KEY not in repr(error)
        assert len(sentence) < 450
        assert "\n" not in sentence
        for name in case.keys() & {"billed", "retry_after", "names_setting"}:
            assert getattr(error, name) == case[name]
        assert case.get("advice", "") in getattr(error, "advice", "")
        return
    assert len(results) == case.get("calls", 1)
    for result in results:
        seen = seen_in(result)
        for name in seen.keys() & case.keys():
            assert seen[name] == case[name]
        assert (result.error or "").startswith(case.get("begins", ""))
        fails = case["outcome"] in ("filtered", "failed")
        assert (result.error is not None) == (fails or "begins" in case)
        assert result.note is None or "note" in case


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.status} {rule.end}")
def test_each_rule_is_the_first_for_its_example(rule):
    status, body = rule.example
    with Server({"status": status, "body": body}) as server:
        model = chat(server.base_url, extra={"seed_of_mine": 1})
        _, first, advice = model.diagnose(status, body)
        assert first == rule
        assert not re.search(r"\{\w+\}", advice)
        ways = [partial(model.resolve_error, status, body)]
        if status >= 200:
            ways.append(partial(attempt, model, HELLO))
        ends = {"later": TransientError, "refused": RefusedError}
        sentences = set()
        for ask in ways:
            if rule.end == "filtered":
                assert ask().outcome is Outcome.FILTERED
                continue
            with pytest.raises(ends.get(rule.end, ServiceError)) as caught:
                ask()
            if isinstance(caught.value, AttemptError):
                assert caught.value.billed == ("billed" in rule.flags)
            sentences.add(str(caught.value))
    assert len(sentences) == (rule.end != "filtered")


@each_case(cases(__file__, "proxies"))
def test_what_the_environment_says_wrongly_is_named(case, monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv(case["variable"], case["value"])
    model = chat("http://x.invalid/v1", limits={"attempts": 1})
    with pytest.raises((ConfigError, ServiceError)) as caught:
        model.respond([HELLO])
    assert case["says"] in str(caught.value)
    assert "sec" not in str(caught.value)
    missing, notes = model.readiness()
    assert case["says"] in "".join(missing) or "lists no models" in "".join(notes)


EXPECTED = Usage(input_tokens=1000, output_tokens=1000)
PRICES = Prices(input=1.0, output=2.0)


def event(given):
    """What an attempt gives: seconds that it takes, a result, or an error to raise."""
    if isinstance(given, float):
        return given
    known = dict(EVENTS[given])
    if "raises" in known:
        kind = getattr(service, known.pop("raises"))
        return kind(known.pop("message"), **known)
    if "usage" in known:
        known["usage"] = Usage(**known["usage"])
    return Result(**known | {"outcome": Outcome(known.get("outcome", "ok"))})


EVENTS = json.loads((CASES / "components" / "events.json").read_bytes())


async def rounds(case, client):
    """Make the calls of a case, those of a round at once; when attempts began, how and when calls
    ended."""
    begun = []
    ended = []
    results = []

    async def call(number, script):
        async def attempt():
            begun.append(time.monotonic() - STARTED)
            given = next(script)
            while isinstance(given, float):
                await asyncio.sleep(given)
                given = next(script)
            if isinstance(given, Exception):
                raise given
            return given

        await asyncio.sleep(number * case.get("apart", 0))
        try:
            async with client.slots:
                return await client.call(attempt, EXPECTED)
        finally:
            ended.append(time.monotonic() - STARTED)

    for events in case["rounds"]:
        calls = []
        for number, names in enumerate(events):
            calls.append(asyncio.create_task(call(number, map(event, names))))
        _, late = await asyncio.wait(calls, timeout=case.get("dropped_after"))
        for each in late:
            each.cancel()
        results += await asyncio.gather(*calls, return_exceptions=True)
    return results, begun, ended


@each_case(cases(__file__, "attempts"))
def test_which_attempts_are_made_and_when_and_what_they_cost(case, monkeypatch):
    """In time that passes only while nothing can be done."""
    monkeypatch.setattr(service, "BACKOFF", wait_fixed(case.get("backoff", 0)))
    limits = Limits.model_validate(case["limits"])
    meter = Meter(limits, "far model", case.get("calls_before", 0))
    client = ServiceClient(limits, PRICES, meter)
    results, begun, ended = run(rounds(case, client))
    raised = [each for each in results if isinstance(each, ServiceError)]
    assert bool(raised) == ("raised" in case)
    assert all(case["raised"] in str(each) for each in raised)
    used = [each.usage for each in results if isinstance(each, Result)]
    seen = {
        "texts": [getattr(each, "text", None) for each in results],
        "errors": [getattr(each, "error", type(each).__name__) for each in results],
        "costs": [usage.cost for usage in used],
        "most_costs": [usage.most_cost for usage in used],
        "begun": begun,
        "first_end": ended[0],
        "calls": meter.calls,
        "cost": meter.cost,
    }
    earliest, latest = case.get("last_end", (0, ended[-1]))
    assert earliest <= ended[-1] <= latest
    for name in case["expect"]:
        assert seen[name] == pytest.approx(case["expect"][name])


@each_case(cases(__file__, "requests"))
def test_what_is_sent(case, image):
    kind = case.get("on", "chat")
    asked = case.get("asked") or [conversation(case, IMAGE=image)]
    with Server({"status": 404}) as server, pytest.raises(ServiceError):
        attempt(component(kind, server.base_url, **case["settings"]), *asked)
    [request] = server.requests
    content = base64.b64encode(image.path.read_bytes()).decode()
    sent = request.content.decode().replace(f"data:image/png;base64,{content}", "IMAGE")
    assert request.path == case["path"]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(sent) == case["request"]


def test_what_a_chat_model_may_be_asked(image):
    model = OpenAIChat(model="m")
    assert model.body_of(HELLO)["max_completion_tokens"] == 1024
    assert chat("http://127.0.0.1:9/v1", prefill="vllm").continues
    with pytest.raises(ValueError, match="only the user can show images"):
        model.body_of(Conversation((Turn("assistant", (image,)),)))


@each_case(cases(__file__, "payloads"))
def test_an_image_is_sent_as_the_settings_say(case, tmp_path):
    path = draw(tmp_path / "one.png", 1, (48, 24))
    shown = Conversation.ask("", Medium(path, ""))
    model = OpenAIChat.model_validate({"model": "m", "image": case["image"]})
    part = model.body_of(shown)["messages"][0]["content"][0]
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == f"data:{case['type']};base64"
    with Image.open(BytesIO(base64.b64decode(data))) as sent:
        assert sent.get_format_mimetype() == case["type"]
        assert [*sent.size] == case["size"]
    assert model.fingerprint != OpenAIChat(model="m").fingerprint


def test_estimates(image):
    turns = (Turn("system", ("1234567",)), Turn("user", (image, "猫猫", image)))
    model = OpenAIChat(model="m", max_tokens=50, beams=3)
    assert model.expected(Conversation(turns)) == Usage(3 + 2000 + 2 + 2000, 150)
    assert OpenAIImages(model="m").expected("1234567") == Usage(3, 4160, images=1)
    for text, tokens in {"": 0, "a": 1, "abc": 1, "abcd": 2, "猫": 1}.items():
        assert tokens_of(text) == tokens


def test_fingerprints():
    url = "http://one.example:8000/v1"
    known = OpenAIChat(model="m", base_url=url, api_key_env=None)
    fingerprints = []
    for case in cases(__file__, "fingerprints"):
        models = [chat(**{"url": url} | settings) for settings in case["equal"]]
        [fingerprint] = {model.fingerprint for model in models}
        assert fingerprint not in fingerprints
        fingerprints.append(fingerprint)
    assert known.fingerprint == (
        "1f3de308e143cc85a29133d7af9446927fef46e2b988fa7e5329a24d9068524c"
    )
    assert OpenAIImages(model="m").fingerprint == (
        "9a88767136fb9669ea35ad48b18feac374b01ffa4e268d3108d23afdb407a42d"
    )
    named = chat(url, service_name="ours")
    assert sha256_of(named.spec) == named.fingerprint


def test_the_environment_changes_neither_address_nor_request(monkeypatch):
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY", "API_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", f"sk-{name}")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-custom\nX-Custom: yes"
    )
    with Server({"status": 404}) as server, Server({"body": ""}) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        for env in ("TEST_KEY", None):
            with pytest.raises(ServiceError):
                attempt(chat(f"{server.base_url}/", api_key_env=env), HELLO)
        assert not other.requests
    with_key, without = (request.headers for request in server.requests)
    assert server.requests[0].path == "/v1/chat/completions"
    assert with_key["authorization"] == f"Bearer {KEY}"
    assert without["authorization"] == "Bearer none"
    names = " ".join([*with_key, *without])
    assert not re.search(r"\b(openai-|x-custom)", names)
    assert "sk-" not in str(without)
    assert OpenAIChat(model="m").host == "api.openai.com"


def test_a_certificate_that_no_one_vouches_for_is_not_tried_again(tmp_path):
    make = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=x"
    )
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", tmp_path / "k.pem")
    server = Server({"body": "{}"})
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
    with (
        server,
        pytest.raises(
            ServiceError,
            match=r"CERTIFICATE_VERIFY_FAILED.*; correct base_url, or name",
        ),
    ):
        attempt(chat(server.base_url.replace("http:", "https:")), HELLO)


def test_a_busy_service_has_half_as_many_calls_at_once_and_then_more_again():
    now, starts = 0, []

    async def attempt():
        nonlocal now
        now += 1
        starts.append(now)
        await asyncio.sleep(1)
        busy, now = time.monotonic() < STARTED + 1.5, now - 1
        if busy:
            raise TransientError("429", retry_after=0.1, busy=True)
        return Result("fine")

    async def many():
        limits = Limits(concurrency=16)
        client = ServiceClient(limits, PRICES, Meter(limits, "far model"))

        async def call():
            async with client.slots:
                return await client.call(attempt, EXPECTED)

        await asyncio.gather(*(call() for _ in range(200)))
        assert client.slots.size == 16

    run(many())
    assert max(starts[:16]) == 16
    assert max(starts[40:60]) < 12
    assert max(starts[-60:]) == 16


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

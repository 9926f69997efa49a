"""The chat provider, through the real client and over a real socket."""

import asyncio
import base64
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.remote.client import TransientError
from driftledger.components.remote.limits import Limits, Prices
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Subject, Turn, Usage
from tests.conftest import draw
from tests.support.canned_server import Canned
from tests.support.openai_server import ChatAnswer, Faults, OpenAIServer, asking
from tests.support.openai_server.asking import KEY, attempt

pytest.importorskip("openai")

key_and_no_backoff = pytest.fixture(autouse=True)(asking.key_and_no_backoff)


@pytest.fixture
def image(tmp_path: Path) -> ImageFile:
    path = draw(tmp_path / "one.png", 1)
    return ImageFile(path, sha256_file(path))


def model(server: OpenAIServer, **settings: Any) -> OpenAIChat:
    return OpenAIChat(**{"model": "vision-1", "base_url": server.base_url, "api_key_env": "TEST_KEY"} | settings)


def answered(image: ImageFile, answer: ChatAnswer, **settings: Any) -> Reply:
    with OpenAIServer(reply=lambda _: answer) as server:
        return attempt(model(server, **settings), Conversation.ask("Describe.", image))


def failed(image: ImageFile, kind: str, **settings: Any) -> Reply:
    with OpenAIServer(faults=Faults(script=[kind])) as server:
        return attempt(model(server, **settings), Conversation.ask("Describe.", image))


def test_the_registry_knows_it() -> None:
    assert provider_class("models", "openai") is OpenAIChat


def test_an_answer(image: ImageFile) -> None:
    given = ChatAnswer(
        "A boat.", model="vision-1-0806", system_fingerprint="fp_1", prompt_tokens=90, completion_tokens=3
    )
    assert answered(image, given) == Reply("A boat.", Outcome.OK, "vision-1-0806", None, "fp_1", Usage(90, 3))


def test_a_conversation_arrives_as_it_is(image: ImageFile, tmp_path: Path) -> None:
    path = draw(tmp_path / "two.png", 2)
    other = ImageFile(path, sha256_file(path))
    conversation = Conversation(
        (
            Turn("system", ("Be brief.", "Be kind.")),
            Turn("user", (image, "What is this?")),
            Turn("assistant", ("A boat.",)),
            Turn("user", ("And", other, "against", image)),
        ),
        Subject("nobody's business", 3),
    )
    with OpenAIServer(api_key=KEY) as server:
        attempt(model(server, image_detail="low", seed=7, extra={"top_p": 0.5, "stop": ["."]}), conversation)
        [request] = server.requests

    def shown(file: ImageFile) -> dict[str, Any]:
        url = f"data:image/png;base64,{base64.b64encode(file.path.read_bytes()).decode()}"
        return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}

    assert request.body == {
        "model": "vision-1",
        "messages": [
            {"role": "system", "content": "Be brief.\nBe kind."},
            {"role": "user", "content": [shown(image), {"type": "text", "text": "What is this?"}]},
            {"role": "assistant", "content": "A boat."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And"},
                    shown(other),
                    {"type": "text", "text": "against"},
                    shown(image),
                ],
            },
        ],
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 1024,
        "top_p": 0.5,
        "stop": ["."],
    }


def test_what_is_null_is_not_sent(image: ImageFile) -> None:
    with OpenAIServer() as server:
        attempt(model(server, temperature=None), Conversation.ask("Describe.", image))
        [request] = server.requests
    assert set(request.body) == {"model", "messages", "max_tokens"}
    assert "detail" not in request.body["messages"][0]["content"][0]["image_url"]


def test_the_name_of_max_tokens(image: ImageFile) -> None:
    with OpenAIServer() as server:
        one = model(server, max_tokens=5, max_tokens_parameter="max_completion_tokens")
        attempt(one, Conversation.ask("Describe.", image))
        [request] = server.requests
    assert (request.body["max_completion_tokens"], "max_tokens" in request.body) == (5, False)
    assert OpenAIChat(model="m")._body(Conversation(()))["max_completion_tokens"] == 1024


def test_only_the_user_shows_images(image: ImageFile) -> None:
    with OpenAIServer() as server, pytest.raises(ValueError, match="assistant"):
        attempt(model(server), Conversation((Turn("assistant", (image,)),)))


@pytest.mark.parametrize(
    ("answer", "outcome", "text"),
    [
        (ChatAnswer("A boat and", finish_reason="length"), Outcome.TRUNCATED, "A boat and"),
        (ChatAnswer("A boat and", finish_reason="MAX_TOKENS"), Outcome.TRUNCATED, "A boat and"),
        (ChatAnswer(None, finish_reason="content_filter"), Outcome.FILTERED, ""),
        (ChatAnswer("A boat and", finish_reason="content_filter"), Outcome.FILTERED, "A boat and"),
        (ChatAnswer(None, finish_reason="content_filter: PROHIBITED_CONTENT"), Outcome.FILTERED, ""),
        (ChatAnswer(None, finish_reason="SAFETY"), Outcome.FILTERED, ""),
        (ChatAnswer(None, finish_reason="IMAGE_SAFETY"), Outcome.FILTERED, ""),
        (ChatAnswer(None, refusal="I'd rather not."), Outcome.REFUSED, "I'd rather not."),
    ],
)
def test_answers_of_another_kind(image: ImageFile, answer: ChatAnswer, outcome: Outcome, text: str) -> None:
    reply = answered(image, answer)
    assert (reply.outcome, reply.text) == (outcome, text)
    assert reply.usage is not None
    assert (reply.error is not None) == (outcome is Outcome.FILTERED)


def test_thinking_up_to_the_limit_has_failed_and_is_not_tried_again(image: ImageFile) -> None:
    with OpenAIServer(reply=lambda _: ChatAnswer("", finish_reason="length", completion_tokens=50)) as server:
        [reply] = model(server, max_tokens=50).respond([Conversation.ask("Describe.", image)])
        assert len(server.requests) == 1
    assert (reply.outcome, reply.error) == (
        Outcome.FAILED,
        "max_tokens = 50 were used up before the answer began",
    )
    assert reply.usage is not None
    assert reply.usage.output_tokens == 50


@pytest.mark.parametrize(
    ("kind", "billed", "message"),
    [
        ("408", False, "HTTP 408: The request timed out"),
        ("409", False, "HTTP 409"),
        ("429", False, "HTTP 429: Rate limit reached"),
        ("500", False, "HTTP 500"),
        ("502_page", True, "HTTP 502: <!doctype html>"),
        ("503", False, "HTTP 503: The engine is currently overloaded"),
        ("drop", True, "RemoteProtocolError"),
        ("reset", True, "ReadError"),
        ("drop_midway", True, "RemoteProtocolError"),
        ("malformed_json", True, "cannot be read: {"),
        ("wrong_type", True, "cannot be read: <!doctype html>"),
        ("error_in_200", True, "The provider returned an error"),
        ("no_choices", True, "cannot be read"),
        ("empty", True, r"an empty answer \(finish_reason: stop\)"),
    ],
)
def test_what_may_pass(image: ImageFile, kind: str, billed: bool, message: str) -> None:
    with pytest.raises(TransientError, match=message) as caught:
        failed(image, kind)
    assert caught.value.billed is billed
    assert caught.value.retry_after == (0.05 if kind == "429" else None)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_silent_server(image: ImageFile) -> None:
    with pytest.raises(TransientError, match=r"no answer within 0\.2 s") as caught:
        failed(image, "timeout", limits=Limits(timeout=0.2))
    assert caught.value.billed


def test_a_server_that_is_not_there(image: ImageFile) -> None:
    with OpenAIServer() as server:
        gone = model(server)
    with pytest.raises(TransientError, match=rf"openai vision-1 at {gone.host}: ConnectError") as caught:
        attempt(gone, Conversation.ask("Describe.", image))
    assert not caught.value.billed


def test_a_date_to_come_back_at(image: ImageFile) -> None:
    before = time.time()
    with (
        OpenAIServer(faults=Faults(script=["429_date"], retry_after=20)) as server,
        pytest.raises(TransientError) as caught,
    ):
        attempt(model(server), Conversation.ask("Describe.", image))
    assert caught.value.retry_after is not None
    assert 20 - (time.time() - before) <= caught.value.retry_after <= 21


def test_a_filtered_prompt_is_filtered_and_not_tried_again(image: ImageFile) -> None:
    with OpenAIServer(faults=Faults(script=["content_filter_error"])) as server:
        [reply] = model(server).respond([Conversation.ask("Describe.", image)])
        assert len(server.requests) == 1
    assert (reply.outcome, reply.text) == (Outcome.FILTERED, "")
    assert reply.error is not None
    assert reply.error.startswith("HTTP 400: The response was filtered due to the prompt")


def test_a_request_that_is_not_understood_has_failed_and_costs_nothing(image: ImageFile) -> None:
    with OpenAIServer(faults=Faults(script=["400"])) as server:
        [reply] = model(server).respond([Conversation.ask("Describe.", image)])
        assert len(server.requests) == 1
    assert reply == Reply("", Outcome.FAILED, error="HTTP 400: Invalid value for a parameter.", usage=Usage(0, 0))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("401", r"HTTP 401: Incorrect API key provided\.; check the key in TEST_KEY and run again"),
        ("404_model", r"HTTP 404: The model `vision-1` does not exist .*; check model and base_url and run again"),
        ("429_quota", r"HTTP 429: You exceeded your current quota.*; check the account's quota"),
    ],
)
def test_what_would_meet_every_call(image: ImageFile, kind: str, message: str) -> None:
    with OpenAIServer(faults=Faults(script=[kind])) as server:
        one = model(server)
        with pytest.raises(ServiceError, match=rf"^openai vision-1 at {one.host}: {message}"):
            one.respond([Conversation.ask("Describe.", image)])
        assert len(server.requests) == 1


def ask_all(faults: Faults | None, images: Sequence[ImageFile], **limits: Any) -> tuple[list[Reply], Any]:
    with OpenAIServer(faults=faults) as server:
        one = model(server, limits=Limits(**limits))
        return one.respond([Conversation.ask(f"Describe {image.path.stem}.", image) for image in images]), server


def test_faults_change_no_reply(tmp_path: Path) -> None:
    images = [ImageFile(path, sha256_file(path)) for path in (draw(tmp_path / f"{n}.png", n) for n in range(40))]
    kinds = ("429", "500", "503", "drop", "reset", "drop_midway", "malformed_json", "empty", "no_choices", "timeout")
    calm, _ = ask_all(None, images)
    replies, server = ask_all(Faults(rate=0.3, kinds=kinds, retry_after=0.01), images, timeout=1)
    assert replies == calm
    assert sum(server.faults.values()) > 10
    assert server.answered >= len(images)
    assert len({reply.text for reply in calm}) == len(images)


def test_a_service_that_never_answers_has_failed(image: ImageFile) -> None:
    faults = Faults(rate=1, kinds=["empty"], most_in_a_row=100)
    [reply], server = ask_all(faults, [image], attempts=3)
    assert reply == Reply("", Outcome.FAILED, error="an empty answer (finish_reason: stop) (3 attempts)")
    assert len(server.requests) == 3


def test_no_more_connections_than_calls_at_once(image: ImageFile) -> None:
    async def eight(chat: OpenAIChat) -> None:
        async with chat.connect() as reply:
            await asyncio.gather(*(reply(Conversation.ask(f"{n}", image)) for n in range(8)))

    with OpenAIServer(latency=0.05, together=2) as server:
        asyncio.run(eight(model(server, limits=Limits(concurrency=2))))
        assert (server.most_at_once, len(server.requests)) == (2, 8)


def test_the_estimate(image: ImageFile) -> None:
    turns = (Turn("system", ("1234567",)), Turn("user", (image, "猫猫", image)))
    usage = OpenAIChat(model="m", image_tokens=100, max_tokens=50).expected(Conversation(turns))
    assert usage == Usage(3 + 100 + 2 + 100, 50)


def test_all_beams_are_in_the_estimate() -> None:
    usage = OpenAIChat(model="m", max_tokens=50, beams=3).expected(Conversation((Turn("user", ("1234567",)),)))
    assert usage == Usage(3, 150)


@pytest.mark.parametrize("figure", [2**40 + 1, 2**63, "1" + "0" * 400, "1" + "0" * 308, "NaN", -1, 12.5, '"x"', "[]"])
def test_an_odd_figure_throws_no_answer_away(image: ImageFile, figure: object) -> None:
    usage = f'{{"prompt_tokens": {figure}, "completion_tokens": 3}}'
    body = f'{{"choices": [{{"message": {{"content": "A boat."}}}}], "usage": {usage}}}'
    with Canned(200, body) as server:
        one = OpenAIChat(model="m", base_url=server.base_url, api_key_env=None, prices=Prices(input=1.0))
        [reply] = one.respond([Conversation.ask("Describe.", image)])
        assert len(server.requests) == 1
    assert reply == Reply("A boat.", usage=Usage(None, 3))


@pytest.mark.parametrize("more", [{"usage": 7}, {"usage": []}, {"model": 7}, {"system_fingerprint": 7}])
def test_an_odd_label_throws_no_answer_away(image: ImageFile, more: dict[str, object]) -> None:
    with Canned(200, json.dumps({"choices": [{"message": {"content": "A boat."}}]} | more)) as server:
        one = OpenAIChat(model="m", base_url=server.base_url, api_key_env=None)
        assert attempt(one, Conversation.ask("Describe.", image)) == Reply("A boat.")


def test_the_fingerprint() -> None:
    plain = OpenAIChat(model="m")
    same: list[dict[str, Any]] = [
        {"limits": Limits(concurrency=3)},
        {"prices": Prices(input=1)},
        {"api_key_env": "OTHER"},
        {"api_key_env": None},
        {"image_tokens": 5},
        {"prefill": "vllm"},  # the beginning of a reply is in the key of its call
    ]
    other: list[dict[str, Any]] = [
        {"model": "n"},
        {"temperature": 0.5},
        {"temperature": None},
        {"base_url": "http://localhost:8000/v1"},
        {"base_url": "http://localhost:8001/v1"},
        {"max_tokens": 5},
        {"seed": 1},
        {"image_detail": "low"},
        {"extra": {"top_p": 0.5}},
        {"beams": 3},
    ]
    assert {plain.model_copy(update=update).fingerprint for update in same} == {plain.fingerprint}
    fingerprints = {plain.model_copy(update=update).fingerprint for update in other}
    assert len(fingerprints | {plain.fingerprint}) == len(other) + 1
    assert plain.spec["identity"] == {"model": "m", "service": "api.openai.com"}
    assert "beams" not in plain.spec["settings"]  # so that a setting that came later repeats no call


@pytest.mark.parametrize("name", ["messages", "model", "stream", "n", "temperature", "max_completion_tokens"])
def test_extra_holds_nothing_that_has_a_setting(name: str) -> None:
    with pytest.raises(ValidationError, match=f"extra must not hold '{name}'"):
        OpenAIChat(model="m", extra={name: 1})


def echoing(body: dict[str, Any]) -> ChatAnswer:
    return ChatAnswer(f"The key is {KEY}.", model=f"m-{KEY}", system_fingerprint=KEY)


def refusing(body: dict[str, Any]) -> ChatAnswer:
    return ChatAnswer(None, refusal=f"Not with {KEY}.")


def cutting(body: dict[str, Any]) -> ChatAnswer:
    return ChatAnswer("", finish_reason=f"because of {KEY}")


@pytest.mark.parametrize("reply", [echoing, refusing, cutting])
def test_no_answer_shows_the_key(
    image: ImageFile, reply: Callable[[dict[str, Any]], ChatAnswer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with OpenAIServer(api_key=KEY, reply=reply) as server:
        one = model(server, limits=Limits(attempts=1))
        [given] = one.respond([Conversation.ask("Describe.", image)])
    assert "***" in repr(given)
    for text in (repr(given), repr(one), caplog.text):
        assert KEY not in text


def test_a_missing_key_is_one_sentence_and_only_when_it_is_needed(
    image: ImageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    one = OpenAIChat(model="gpt-4o-2024-08-06")
    assert one.fingerprint
    with pytest.raises(ConfigError) as caught:
        one.respond([Conversation.ask("Describe.", image)])
    assert str(caught.value) == (
        "openai gpt-4o-2024-08-06: the environment variable OPENAI_API_KEY is not set; put the key for "
        "api.openai.com there, or set api_key_env to null for a server that needs none"
    )


@pytest.mark.parametrize(("asked", "sent"), [(None, 50), (20, 20), (50, 50), (80, 50)])
def test_a_conversation_may_allow_fewer_tokens(image: ImageFile, asked: int | None, sent: int) -> None:
    conversation = Conversation.ask("Describe.", image, max_tokens=asked)
    thinking = ChatAnswer("", finish_reason="length")
    with OpenAIServer(reply=lambda _: thinking) as server:
        one = model(server, max_tokens=50)
        reply = attempt(one, conversation)
        [request] = server.requests
    assert request.body["max_tokens"] == sent
    assert reply.error == f"max_tokens = {sent} were used up before the answer began"
    assert one.expected(conversation).output_tokens == sent


def test_examples_are_earlier_turns(tmp_path: Path) -> None:
    images = [ImageFile(path, sha256_file(path)) for path in (draw(tmp_path / f"{n}.png", n) for n in range(3))]
    turns: list[Turn] = []
    for shown, said in zip(images, ("a cat", "a dog", None), strict=True):
        turns += [Turn("user", (shown, "Describe.")), *([Turn("assistant", (said,))] if said else [])]
    with OpenAIServer() as server:
        attempt(model(server), Conversation(tuple(turns)))
        [request] = server.requests
    messages = request.body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [message["content"] for message in messages[1::2]] == ["a cat", "a dog"]
    for message, shown in zip(messages[::2], images, strict=True):
        picture, text = message["content"]
        content = base64.b64encode(shown.path.read_bytes()).decode()
        assert (picture["image_url"]["url"], text["text"]) == (f"data:image/png;base64,{content}", "Describe.")


@pytest.mark.parametrize("said", [" long ears.", "long ears."])
def test_a_reply_goes_on_from_its_beginning_as_vllm_is_told(image: ImageFile, said: str) -> None:
    conversation = Conversation.ask("Describe.", image, prefix="It has")
    with OpenAIServer(reply=lambda _: ChatAnswer(said)) as server:
        reply = attempt(model(server, prefill="vllm"), conversation)
        [request] = server.requests
    assert request.body["messages"][-1] == {"role": "assistant", "content": "It has"}
    assert (request.body["add_generation_prompt"], request.body["continue_final_message"]) == (False, True)
    assert (reply.text, reply.outcome) == ("It has long ears.", Outcome.OK)


def test_a_refusal_is_not_begun(image: ImageFile) -> None:
    conversation = Conversation.ask("Describe.", image, prefix="It has")
    with OpenAIServer(reply=lambda _: ChatAnswer(None, refusal="I cannot.")) as server:
        assert attempt(model(server, prefill="vllm"), conversation).text == "I cannot."


def test_only_a_server_that_takes_it_is_given_a_beginning() -> None:
    assert OpenAIChat(model="m", prefill="vllm").continues
    assert not OpenAIChat(model="m").continues


def test_beams_are_asked_for_as_vllm_knows_them(image: ImageFile) -> None:
    with OpenAIServer() as server:
        attempt(model(server, beams=3, extra={"length_penalty": 1.0}), Conversation.ask("Describe.", image))
        attempt(model(server), Conversation.ask("Describe.", image))
        three, plain = (request.body for request in server.requests)
    assert (three["use_beam_search"], three["n"], three["length_penalty"]) == (True, 3, 1.0)
    assert {"use_beam_search", "n", "add_generation_prompt", "continue_final_message"}.isdisjoint(plain)

"""The tests' own OpenAI server: the real client understands its answers, and it keeps up with many requests."""

import asyncio
import base64
import threading
import time
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.support.openai_server import FINAL, KINDS, ChatAnswer, Faults, OpenAIServer, draw
from tests.support.openai_server.asking import address, chat, client, connect, image, messages, plain_chat, wait_until

openai = pytest.importorskip("openai")


def test_a_chat_answer_depends_on_the_image_and_the_prompt() -> None:
    with OpenAIServer() as server:
        one, again, asked, seen = (
            chat(server),
            chat(server),
            chat(server, "What is it?"),
            chat(server, picture=draw("another", (40, 30))),
        )
        texts = [answer.choices[0].message.content for answer in (one, again, asked, seen)]
        assert texts[0] == texts[1]
        assert len(set(texts)) == 3
        assert texts[0].startswith("A ")
        assert one.id != again.id
        assert (one.model, one.choices[0].finish_reason, one.choices[0].message.refusal) == ("vision-1", "stop", None)
        assert one.system_fingerprint.startswith("fp_")
        assert one.usage.total_tokens == one.usage.prompt_tokens + one.usage.completion_tokens > 85
        assert one._request_id.startswith("req_")
        assert server.answered == 4
        assert [request.attempt for request in server.requests] == [0, 1, 0, 0]
        assert server.requests[0].body["model"] == "vision-1"
        assert server.requests[0].headers["authorization"] == "Bearer key"
        assert 0 < server.requests[1].at - server.requests[0].at < 10


def test_a_reply_of_ones_own() -> None:
    answer = ChatAnswer(None, refusal="No.", model="v-2", system_fingerprint="", prompt_tokens=7, completion_tokens=3)
    with OpenAIServer(reply=lambda body: answer) as server:
        got = chat(server)
    assert (got.choices[0].message.content, got.choices[0].message.refusal) == (None, "No.")
    assert (got.model, got.system_fingerprint, got.usage.total_tokens) == ("v-2", None, 10)


def test_images_as_base64_and_as_files() -> None:
    with OpenAIServer(image_size=(60, 50)) as server:
        drawn = image(server)
        content = base64.b64decode(drawn.data[0].b64_json, validate=True)
        assert content == base64.b64decode(image(server).data[0].b64_json) == draw("a red boat", (60, 50))
        assert Image.open(BytesIO(content)).size == (60, 50)
        assert content != draw("a red boot", (60, 50))
        assert drawn.data[0].revised_prompt.startswith("a red boat ")
        assert drawn.usage.total_tokens == drawn.usage.input_tokens + drawn.usage.output_tokens
        sized = base64.b64decode(image(server, size="32x16").data[0].b64_json)
        assert Image.open(BytesIO(sized)).size == (32, 16)

        url = image(server, response_format="url").data[0].url
        with client(server) as opened:
            assert opened.get(url, cast_to=openai.HttpxBinaryResponseContent).read() == content


def test_models_and_keys() -> None:
    with OpenAIServer(api_key="secret-key", models=("a", "b")) as server:
        with client(server, api_key="secret-key") as opened:
            assert [model.id for model in opened.models.list()] == ["a", "b"]
            assert opened.models.retrieve("b").id == "b"
            with pytest.raises(openai.NotFoundError):
                opened.models.retrieve("c")
        with pytest.raises(openai.AuthenticationError, match=r"gues\*\*\*ssed") as caught:
            chat(server, api_key="guess or guessed")
        assert caught.value.code == "invalid_api_key"
        assert server.answered == 0


def test_the_served_version_changes() -> None:
    with OpenAIServer(served_models=("m-2026-01", "m-2026-02"), switch_after=2) as server:
        served = [chat(server) for _ in range(4)]
    assert [answer.model for answer in served] == ["m-2026-01"] * 2 + ["m-2026-02"] * 2
    assert len({answer.system_fingerprint for answer in served}) == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"model": "m"}, "missing_required_parameter"),
        ({"messages": []}, "missing_required_parameter"),
        ({"model": "m", "messages": [{"role": "user", "content": [{"type": "image"}]}]}, "invalid_value"),
        ({"model": "m", "messages": messages("x", b"no image")}, "invalid_image_format"),
    ],
)
def test_requests_are_checked(body: dict[str, Any], code: str) -> None:
    with OpenAIServer() as server, client(server) as opened, pytest.raises(openai.BadRequestError) as caught:
        opened.post("/chat/completions", cast_to=object, body=body)
    assert caught.value.code == code


def test_mistakes_of_a_test_are_raised() -> None:
    with pytest.raises(ValueError, match="no fault is called '4299'"):
        Faults(kinds=("4299",))
    assert set(FINAL) < set(KINDS)

    def mistaken(body: dict[str, Any]) -> ChatAnswer:
        raise KeyError("mistaken")

    def ask(**settings: Any) -> None:
        with OpenAIServer(**settings) as server, pytest.raises(openai.InternalServerError):
            chat(server, max_retries=5)

    with pytest.raises(KeyError, match="mistaken"):
        ask(reply=mistaken)
    with pytest.raises(ValueError, match="has no fault 'no_data'"):
        ask(faults=Faults(script=["no_data"]))


def test_many_at_once_wait_together() -> None:
    async def ask(server: OpenAIServer, row: int) -> None:
        reader, writer = await asyncio.open_connection(*address(server))
        for attempt in range(2):
            writer.write(plain_chat(f"{row} {attempt}"))
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.split(b"content-length: ")[1].split()[0]))
        writer.close()

    async def ask_all(server: OpenAIServer) -> None:
        await asyncio.gather(*(ask(server, row) for row in range(96)))

    with OpenAIServer(latency=0.1, together=96) as server:
        start = time.monotonic()
        asyncio.run(asyncio.wait_for(ask_all(server), 60))
        assert time.monotonic() - start >= 0.1
        assert (server.answered, server.most_at_once) == (192, 96)


def test_a_client_that_leaves_is_not_answered() -> None:
    with OpenAIServer(latency=lambda request: 20) as server:
        with connect(server) as opened:
            opened.sendall(plain_chat("hello"))
            wait_until(lambda: len(server.requests) == 1)
        wait_until(lambda: server.abandoned == 1)
        assert (server.answered, server.most_at_once) == (0, 1)
    assert "openai-server" not in {thread.name for thread in threading.enumerate()}

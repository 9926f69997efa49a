"""Each fault is the one it names, and faults at a rate are the same in every run."""

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from . import ChatAnswer, Faults, OpenAIServer
from .asking import chat, client, connect, image, messages, plain_chat, receive, wait_until

openai = pytest.importorskip("openai")


@pytest.mark.parametrize(
    ("kind", "error", "status", "code"),
    [
        ("429", "RateLimitError", 429, "rate_limit_exceeded"),
        ("429_date", "RateLimitError", 429, "rate_limit_exceeded"),
        ("429_quota", "RateLimitError", 429, "insufficient_quota"),
        ("408", "APIStatusError", 408, None),
        ("409", "ConflictError", 409, None),
        ("500", "InternalServerError", 500, None),
        ("502_page", "InternalServerError", 502, None),
        ("503", "InternalServerError", 503, None),
        ("400", "BadRequestError", 400, "invalid_value"),
        ("401", "AuthenticationError", 401, "invalid_api_key"),
        ("404_model", "NotFoundError", 404, "model_not_found"),
        ("content_filter_error", "BadRequestError", 400, "content_policy_violation"),
        ("moderation_blocked", "BadRequestError", 400, "moderation_blocked"),
        ("timeout", "APITimeoutError", None, None),
        ("drop", "APIConnectionError", None, None),
        ("reset", "APIConnectionError", None, None),
        ("drop_midway", "APIConnectionError", None, None),
        ("malformed_json", "JSONDecodeError", None, None),
    ],
)
def test_what_the_client_raises(kind: str, error: str, status: int | None, code: str | None) -> None:
    timeout = 0.2 if kind == "timeout" else 60
    with OpenAIServer(faults=Faults(script=[kind])) as server:
        with (
            client(server, timeout=timeout) as opened,
            pytest.raises((openai.OpenAIError, json.JSONDecodeError)) as caught,
        ):
            opened.images.generate(model="image-1", prompt="a red boat")
        wait_until(lambda: bool(server.faults))
    assert type(caught.value).__name__ == error
    assert getattr(caught.value, "status_code", None) == status
    assert getattr(caught.value, "code", None) == code
    assert server.faults == {kind: 1}
    assert server.answered == 0


def test_azure_words_its_filter_in_its_own_way() -> None:
    faults = Faults(script=["content_filter_error"])
    with OpenAIServer(faults=faults) as server, pytest.raises(openai.BadRequestError) as caught:
        chat(server)
    assert caught.value.code == "content_filter"
    assert caught.value.body["innererror"]["code"] == "ResponsibleAIPolicyViolation"


def retry_after_of(kind: str) -> str:
    faults = Faults(script=[kind], retry_after=7)
    with OpenAIServer(faults=faults) as server, pytest.raises(openai.RateLimitError) as caught:
        chat(server)
    return str(caught.value.response.headers["retry-after"])


def test_a_rate_limit_says_how_long_to_wait() -> None:
    assert retry_after_of("429") == "7"


def test_a_rate_limit_says_when_to_come_back() -> None:
    before = time.time()
    at = parsedate_to_datetime(retry_after_of("429_date")).timestamp()
    assert before + 7 <= at <= time.time() + 8


def test_the_client_gets_past_what_passes() -> None:
    with OpenAIServer(faults=Faults(script=["429", "429"])) as server:
        assert chat(server, max_retries=2).choices[0].message.content
        assert [request.attempt for request in server.requests] == [0, 1, 2]
        assert (server.answered, server.faults) == (1, {"429": 2})


@pytest.mark.parametrize(
    ("kind", "content", "refusal", "finish_reason"),
    [
        ("empty", "", None, "stop"),
        ("truncated", "A red", None, "length"),
        ("content_filter_finish", None, None, "content_filter"),
        ("content_filter_partial", "A red", None, "content_filter"),
        ("refusal", None, "I'm sorry, I can't help with that.", "stop"),
    ],
)
def test_chat_answers_that_are_none(kind: str, content: str | None, refusal: str | None, finish_reason: str) -> None:
    with OpenAIServer(faults=Faults(script=[kind]), reply=lambda body: ChatAnswer("A red boat")) as server:
        choice = chat(server).choices[0]
    assert (choice.message.content, choice.message.refusal, choice.finish_reason) == (content, refusal, finish_reason)


def test_answers_without_content() -> None:
    script = ["no_choices", "error_in_200", "wrong_type", "no_data", "not_an_image", "bad_base64"]
    with OpenAIServer(faults=Faults(script=script)) as server:
        assert chat(server).choices == []
        assert chat(server).choices is None
        assert "<h1>" in chat(server)
        assert image(server).data == []
        with pytest.raises(OSError, match="cannot identify"):
            Image.open(BytesIO(base64.b64decode(image(server).data[0].b64_json)))
        with pytest.raises(ValueError, match="base64"):
            base64.b64decode(image(server).data[0].b64_json)
        assert server.answered == 0


def test_how_connections_end() -> None:
    with OpenAIServer(faults=Faults(script=[None, "drop", "reset", "drop_midway"])) as server:
        with connect(server) as opened:
            opened.sendall(plain_chat("first"))
            head, _, body = opened.recv(65536).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK")
            assert json.loads(body)["object"] == "chat.completion"
            opened.sendall(plain_chat("second"))
            assert receive(opened) == b""
        with connect(server) as opened:
            opened.sendall(plain_chat("third"))
            with pytest.raises(ConnectionResetError):
                receive(opened)
        with connect(server) as opened:
            opened.sendall(plain_chat("fourth"))
            head, _, body = receive(opened).partition(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
            assert 0 < len(body) == int(length.split()[1]) // 2


def test_an_answer_in_drops_takes_longer_than_a_client_waits_for_one_of_them() -> None:
    start = time.monotonic()
    with OpenAIServer(faults=Faults(script=["drip"], hold=3)) as server:
        assert chat(server, timeout=2).choices[0].message.content
    assert time.monotonic() - start > 3


def test_a_silent_server_stops_at_once() -> None:
    start = time.monotonic()
    with OpenAIServer(faults=Faults(script=["timeout"], hold=600)) as server, connect(server) as opened:
        opened.sendall(plain_chat("hello"))
        wait_until(lambda: server.faults["timeout"] == 1)
    assert time.monotonic() - start < 300


def outcomes(rows: list[int], threads: int, faults: Faults) -> tuple[dict[int, str], int]:
    """For each row, its faults up to its answer."""
    with OpenAIServer(faults=faults) as server, client(server) as opened:

        def persist(row: int) -> str:
            statuses = []
            while True:
                try:
                    opened.chat.completions.create(model="m", messages=messages(f"row {row}"))
                except openai.APIStatusError as error:
                    statuses.append(str(error.status_code))
                else:
                    return " ".join(statuses)

        with ThreadPoolExecutor(threads) as pool:
            seen = dict(zip(rows, pool.map(persist, rows), strict=True))
        assert server.answered == len(rows)
        return seen, sum(server.faults.values())


def test_faults_at_a_rate_belong_to_the_requests() -> None:
    faults = Faults(rate=0.4, seed=7, kinds=("429", "500", "no_data"))
    rows = list(range(60))
    seen, injected = outcomes(rows, 8, faults)
    assert outcomes(rows[::-1], 3, faults) == (seen, injected)
    assert 0.25 < injected / (injected + len(rows)) < 0.55
    assert outcomes(rows, 8, Faults(rate=0.4, seed=8, kinds=("429", "500")))[0] != seen


def test_nothing_fails_for_ever() -> None:
    seen, _ = outcomes([1, 2], 1, Faults(rate=1, kinds=("409",), most_in_a_row=3))
    assert set(seen.values()) == {"409 409 409"}


def test_a_fault_by_function_lasts() -> None:
    def choose(request: Any) -> str | None:
        return "400" if "bad" in json.dumps(request.body) else None

    with OpenAIServer(faults=Faults(choose=choose)) as server:
        for _ in range(6):
            with pytest.raises(openai.BadRequestError):
                chat(server, "bad")
        assert chat(server, "good").choices

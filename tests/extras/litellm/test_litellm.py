"""LiteLLM itself before a server on loopback that speaks as Anthropic or OpenAI do."""

from dataclasses import replace

import pytest

from driftledger.components.budget import Limits
from driftledger.components.hosted import LiteLLM
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Outcome, Turn, Usage
from tests.support.cases import cases, each_case
from tests.support.server import Server

HELLO = Conversation((Turn("user", ("Hello",)),))
THOUGHT = {"type": "thinking", "thinking": "Is it?", "signature": "x"}
CLAUDE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-1",
    "content": [THOUGHT, {"type": "text", "text": "A boat."}], "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 3},
}  # fmt: skip
CHOICE = {
    "index": 0,
    "message": {"role": "assistant", "content": "A boat."},
    "finish_reason": "stop",
}
GPT = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-1", "choices": [CHOICE],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}  # fmt: skip


def ask(model, status, answer):
    """The reply, and how many requests the server got."""
    headers = {"content-type": "application/json"}
    with Server({"status": status, "body": answer, "headers": headers}) as server:
        url = (
            server.base_url.removesuffix("/v1")
            if model.startswith("anthropic/")
            else server.base_url
        )
        client = LiteLLM(
            model=model,
            base_url=url,
            api_key_env="SOME_KEY",
            limits=Limits(attempts=2, timeout=5),
        )
        [reply] = client.respond([HELLO])
        assert {
            request.headers.get("x-api-key", request.headers.get("authorization"))
            for request in server.requests
        } <= {
            "sk-some",
            "Bearer sk-some",
        }
        return reply, len(server.requests)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-some")


@each_case(cases(__file__, "answers"))
def test_an_answer(case):
    plain = CLAUDE if case["model"].startswith("anthropic/") else GPT
    answer = plain | case["changes"]
    reply, asked = ask(case["model"], 200, answer)
    assert (reply.outcome, asked) == (case["outcome"], case["requests"])
    assert reply.text == (reply.text if case["text"] is None else case["text"])
    assert replace(reply.usage, seconds=0.0) == Usage(9, case.get("output_tokens", 3))
    assert reply.served_model == case["model"].partition("/")[2]
    assert reply.reasoning == (
        "Is it?" if THOUGHT in answer.get("content", []) else None
    )


REFUSED = {
    "`temperature` is deprecated for this model.": (
        400,
        "set `temperature: null` in its entry",
    ),
    "invalid x-api-key": (401, "check the key in SOME_KEY"),
    "model: claude-x": (404, "check `model: anthropic/claude-1`"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_refusal_names_what_to_change(message):
    status, advice = REFUSED[message]
    error = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": message},
    }
    with pytest.raises(ServiceError) as refused:
        ask("anthropic/claude-1", status, error)
    assert message in str(refused.value)
    assert advice in str(refused.value)


def test_an_overloaded_service_is_asked_again():
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    reply, asked = ask("anthropic/claude-1", 529, error)
    assert (reply.outcome, asked) == (Outcome.FAILED, 2)
    assert "Overloaded" in (reply.error or "")


@pytest.mark.parametrize("status", [200, 402])
def test_a_lack_of_credit_ends_the_run_inside_http_200_too(status):
    with pytest.raises(
        ServiceError,
        match=r"HTTP 402: .*Pay\.; check the account's credit, whose key is in SOME_KEY",
    ):
        ask("openai/gpt-1", status, {"error": {"code": 402, "message": "Pay."}})

"""LiteLLM's proxy as a real server, in front of a server on loopback."""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from driftledger.components import service
from driftledger.components.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Medium, Outcome
from tests.conftest import draw
from tests.support.real_server import free_port, running
from tests.support.server import ChatAnswer, Server, described

LITELLM = Path(
    os.environ.get("DRIFTLEDGER_LITELLM", Path(sys.prefix, "litellm", "bin", "litellm"))
)
"""Its requirements contradict MLflow's, so that ``make install-all`` gives it an environment of its
own."""
pytestmark = pytest.mark.skipif(
    not LITELLM.is_file(), reason=f"LiteLLM's proxy is not installed ({LITELLM})"
)


def answer(body):
    """What the server behind the proxy says, as OpenAI words it; it takes a moment for a slow
    question."""
    [text] = [
        part["text"]
        for part in body["messages"][0]["content"]
        if part["type"] == "text"
    ]
    if len(text) > 1000:
        return ChatAnswer(
            "This model's maximum context length is 512 tokens, and your messages have 1502 "
            "tokens.",
            400,
        )
    if "bad image" in text:
        return ChatAnswer("You uploaded an unsupported image.", 400)
    time.sleep(2 if "slow" in text else 0)
    return described(body)


@pytest.fixture
def proxy(tmp_path):
    """What starts the proxy, and its address."""
    with Server(reply=answer) as behind:
        port, config = free_port(), tmp_path / "config.yaml"
        there = {"model": "openai/tiny", "api_base": behind.base_url, "api_key": "none"}
        config.write_text(
            json.dumps(
                {"model_list": [{"model_name": "tiny", "litellm_params": there}]}
            ),
            "utf-8",
        )
        command = [
            LITELLM,
            "--config",
            config,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": ""}
        address = f"http://127.0.0.1:{port}"
        yield (
            partial(running, command, f"{address}/health/liveliness", environment),
            f"{address}/v1",
        )


def test_a_proxy_answers_refuses_and_comes_back(proxy, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "BACKOFF", lambda state: 1.0)
    start, address = proxy
    path = draw(tmp_path / "one.png", 1)
    image = Medium(path, sha256_file(path))
    here = {"base_url": address, "api_key_env": None, "limits": {"attempts": 60}}
    far = OpenAIChat.model_validate({"model": "tiny", **here})

    def asked(kind):
        return [
            Conversation.ask(f"A {kind} question, {number}.", image)
            for number in range(8)
        ]

    with start() as process:
        assert far.readiness()[0] == []
        assert (
            "nearest: tiny"
            in OpenAIChat.model_validate({"model": "tiiny", **here}).readiness()[0][0]
        )
        replies = far.respond(asked("short"))
        assert [far.respond([each])[0].text for each in asked("short")] == [
            reply.text for reply in replies
        ]
        with pytest.raises(
            ServiceError,
            match=r"Invalid model name passed in model=nobody.*`model: nobody`",
        ):
            OpenAIChat.model_validate({"model": "nobody", **here}).respond(
                asked("short")
            )
        few = [
            Conversation.ask(text, image)
            for text in ("long " * 1500, "a bad image", "A short question, 0.")
        ]
        long, bad, good = far.respond(few)
        assert (long.outcome, bad.outcome, good.text) == (
            Outcome.FAILED,
            Outcome.FAILED,
            replies[0].text,
        )
        assert "maximum context length is 512" in (long.error or "")
        assert "unsupported image" in (bad.error or "")
        # in the middle of eight calls, it ends and starts again
        with ThreadPoolExecutor(1) as thread:
            slow = thread.submit(far.respond, [*asked("short"), *asked("slow")])
            time.sleep(1)
            process.kill()
            process.wait()
            with start():
                assert {reply.outcome for reply in slow.result()} == {Outcome.OK}
                assert len({reply.text for reply in slow.result()}) == 16
    with pytest.raises(ServiceError, match="start the server, or correct `base_url:"):
        OpenAIChat.model_validate(
            {"model": "tiny", **here, "limits": {"attempts": 2}}
        ).respond(asked("short"))

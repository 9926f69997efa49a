"""A real server of OpenAI's protocol, ``transformers serve``, asked by the provider for
services."""

import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from driftledger.components import service
from driftledger.components.openai_chat import OpenAIChat
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Medium, Outcome
from tests.support.real_server import free_port, running

pytest.importorskip("uvicorn")


def test_a_real_server_answers_refuses_and_comes_back(
    built, images, tmp_path, monkeypatch
):
    monkeypatch.setattr(service, "BACKOFF", lambda state: 2.0)
    port, folder = free_port(), built["qwen2_5_vl"]
    transformers = [
        Path(sys.executable).with_name("transformers"),
        "serve",
        str(folder),
        "--host",
        "127.0.0.1",
    ]
    server = [
        *transformers,
        "--port",
        str(port),
        "--device",
        "cpu",
        "--dtype",
        "float32",
    ]
    served = partial(
        running, server, f"http://127.0.0.1:{port}/health", {"HF_HUB_OFFLINE": "1"}
    )
    here = {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "api_key_env": None,
        "max_tokens": 8,
        "limits": {"attempts": 3},
    }
    far = OpenAIChat.model_validate({"model": str(folder), **here})
    asked = [
        Conversation.ask(f"Describe it, {number}.", images[number % len(images)])
        for number in range(8)
    ]
    with served() as process:
        replies = far.respond(asked)
        assert {reply.outcome for reply in replies} <= {Outcome.OK, Outcome.TRUNCATED}
        assert [far.respond([each])[0].text for each in asked[:2]] == [
            reply.text for reply in replies[:2]
        ]
        with pytest.raises(ServiceError, match="`model: nobody/nothing`"):
            OpenAIChat.model_validate({"model": "nobody/nothing", **here}).respond(
                asked
            )
        with pytest.raises(ServiceError, match="take `nonsense` out of `extra:`"):
            OpenAIChat.model_validate(
                {"model": str(folder), "extra": {"nonsense": 1}, **here}
            ).respond(asked)
        broken = tmp_path / "broken.png"
        broken.write_bytes(shutil.copyfile(images[0].path, broken).read_bytes()[:60])
        few = [
            Conversation.ask(text, images[0])
            for text in ("the cat " * 5000, "Describe it, 0.")
        ]
        bad, long, good = far.respond(
            [Conversation.ask("Describe it.", Medium(broken, "0" * 64)), *few]
        )
        assert (bad.outcome, good.text) == (Outcome.FAILED, replies[0].text)
        # this server takes more than the model was trained with
        assert long.outcome is Outcome.TRUNCATED
        patient = far.model_copy(update={"limits": {"attempts": 60}})
        # in the middle of the calls, it ends and starts again
        with ThreadPoolExecutor(1) as thread:
            later = thread.submit(patient.respond, asked * 4)
            time.sleep(1)
            process.kill()
            process.wait()
            with served():
                assert [reply.text for reply in later.result()] == [
                    reply.text for reply in replies * 4
                ]
    with pytest.raises(ServiceError, match="start the server, or correct `base_url:"):
        far.respond(asked)

"""A real server of OpenAI's protocol, ``transformers serve``, asked by the provider for services."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from driftledger.components import service
from driftledger.components.openai import OpenAIChat
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, ImageFile, Outcome

pytest.importorskip("uvicorn")
PATIENCE = 180.0
"""Seconds after which a server that does not answer is taken not to start."""


@contextmanager
def served(folder: Path, port: int) -> Iterator[str]:
    command = Path(sys.executable).with_name("transformers")
    settings = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen([command, "serve", str(folder), *settings], env=environment)
    try:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()  # an address of our own
                break
            except (URLError, OSError):
                time.sleep(0.5)
        assert process.poll() is None, "the server has ended"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def test_a_real_server_answers_refuses_and_comes_back(
    built: dict[str, Path], images: list[ImageFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BACKOFF", lambda state: 2.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = built["qwen2_5_vl"]
    here = {"base_url": f"http://127.0.0.1:{port}/v1", "api_key_env": None, "max_tokens": 8, "limits": {"attempts": 3}}
    far = OpenAIChat.model_validate({"model": str(folder), **here})
    asked = [Conversation.ask(f"Describe it, {number}.", images[number % len(images)]) for number in range(8)]
    with served(folder, port):
        replies = far.respond(asked)
        assert {reply.outcome for reply in replies} <= {Outcome.OK, Outcome.TRUNCATED}
        assert [far.respond([each])[0].text for each in asked[:2]] == [reply.text for reply in replies[:2]]
        with pytest.raises(ServiceError, match="`model: nobody/nothing`"):
            OpenAIChat.model_validate({"model": "nobody/nothing", **here}).respond(asked)
        with pytest.raises(ServiceError, match="take `nonsense` out of `extra:`"):
            OpenAIChat.model_validate({"model": str(folder), "extra": {"nonsense": 1}, **here}).respond(asked)
        broken = tmp_path / "broken.png"
        broken.write_bytes(shutil.copyfile(images[0].path, broken).read_bytes()[:60])
        bad, good = far.respond([Conversation.ask("Describe it.", ImageFile(broken, "0" * 64)), asked[0]])
        assert (bad.outcome, good.text) == (Outcome.FAILED, replies[0].text)
    with pytest.raises(ServiceError, match="start the server, or correct `base_url:"):
        far.respond(asked)
    with served(folder, port):
        assert far.respond(asked[:1])[0].text == replies[0].text

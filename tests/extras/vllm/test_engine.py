"""vLLM's real engine on this processor, as a process of its own: it says what transformers says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import REPOSITORY
from tests.extras.chatting import model
from tests.extras.vllm.engine import SETTINGS, conversations, plain

PYTHON = Path(
    os.environ.get("DRIFTLEDGER_VLLM", Path(sys.prefix, "vllm", "bin", "python"))
)
"""vLLM wants another torch than the other extras, so that ``make install-all`` gives it an
environment of its own."""
pytestmark = pytest.mark.skipif(
    not PYTHON.with_name("vllm").is_file(),
    reason=f"vLLM for processors is not installed ({PYTHON})",
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    from tests.support.checkpoints.vision_language import build_qwen2_5_vl

    return build_qwen2_5_vl(
        tmp_path_factory.mktemp("checkpoint") / "qwen2_5_vl", head=64
    )


@pytest.fixture(scope="module")
def adapter(checkpoint, tmp_path_factory):
    adapters = pytest.importorskip("tests.support.checkpoints.adapters")
    return adapters.build_adapter(checkpoint, tmp_path_factory.mktemp("lora"))


@pytest.fixture(scope="module")
def result(checkpoint, adapter, images):
    command = [
        PYTHON,
        "-m",
        "tests.extras.vllm.engine",
        checkpoint,
        adapter,
        *(image.path for image in images[:3]),
    ]
    with (
        TemporaryDirectory() as folder
    ):  # an engine that is killed leaves its sockets there
        environment = os.environ | {
            "PYTHONPATH": f"{REPOSITORY / 'src'}",
            "HF_HUB_OFFLINE": "1",
            "TMPDIR": folder,
        }
        ended = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-4000:]
    return json.loads(ended.stdout.splitlines()[-1])


def test_it_says_what_transformers_says(result, checkpoint, images):
    """Together, alone, and where each joins others that are being computed."""
    asked = conversations([image.path for image in images[:3]])
    expected = plain(
        model(checkpoint, image_backend="torchvision", **SETTINGS).respond(asked)
    )
    assert result["together"] == expected
    assert result["alone"] == expected
    assert result["joined"] == expected
    assert result["under_way"] > 1
    assert result["vllm"].startswith("0.32.")


def test_a_prompt_that_it_refuses_fails_alone(result):
    first, too_long, too_many, last = result["refused"]
    assert [first, last] == result["together"][:2]
    assert "maximum context length is 400 tokens" in too_long[-1]
    assert "At most 2 image" in too_many[-1]
    assert {too_long[1], too_many[1]} == {"failed"}


def test_arguments_reach_it_and_an_unknown_one_is_named(result):
    assert result["engine"] == [32, 8, 0]
    assert "no_such_argument" in result["unknown"]
    assert result["unknown"].startswith("ConfigError: ")


def test_its_death_is_said_so(result):
    assert "vLLM's engine has died" in result["killed"]


def test_an_adapter_is_applied_as_transformers_applies_it(
    result, checkpoint, adapter, images
):
    asked = conversations([image.path for image in images[:3]])
    settings = SETTINGS | {"image_backend": "torchvision", "adapter": str(adapter)}
    assert result["adapted"] == plain(model(checkpoint, **settings).respond(asked))
    assert result["adapted"] != result["together"]

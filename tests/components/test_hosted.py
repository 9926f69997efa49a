"""Services that are asked through a library of their own."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from PIL import Image

from driftledger.components.hosted import HuggingFaceImages, LiteLLM
from driftledger.core.errors import MissingExtraError, ServiceError
from driftledger.core.types import Conversation, Turn

HELLO = Conversation((Turn("user", ("Hello",)),))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What LiteLLM was asked last; ``answer`` is what it gives or raises."""
    last: dict[str, Any] = {}

    async def acompletion(**request: Any) -> Any:
        last["request"] = request
        if isinstance(last["answer"], Exception):
            raise last["answer"]
        return SimpleNamespace(model_dump_json=lambda: json.dumps(last["answer"]))

    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(acompletion=acompletion))
    return last


def test_litellm_knows_which_keys_are_missing(asked: dict[str, Any]) -> None:
    names = {"gemini/g": ["GOOGLE_API_KEY", "GEMINI_API_KEY"], "bedrock/b": ["AWS_REGION"], "anthropic/c": []}
    sys.modules["litellm"].validate_environment = lambda model: {"missing_keys": names[model]}  # type: ignore[attr-defined]
    [missing], _ = LiteLLM(model="gemini/g").readiness()
    assert missing.endswith("LiteLLM finds none of its environment variables GOOGLE_API_KEY, GEMINI_API_KEY")
    missings, (_, note) = LiteLLM(model="bedrock/b").readiness()
    assert (missings, note.endswith("variables AWS_REGION")) == ([], True)
    assert LiteLLM(model="anthropic/c").readiness()[0] == []
    assert LiteLLM(model="ollama/x", base_url="http://127.0.0.1:9", api_key_env=None).readiness()[0] == []


def test_litellm_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match=r"driftledger\[litellm\]"):
        LiteLLM(model="anthropic/claude-opus-5-5").respond([HELLO])


def test_a_generator_by_hugging_face(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    asked = list[tuple[str, dict[str, Any]]]()

    async def text_to_image(client: Any, prompt: str, **request: Any) -> Image.Image:
        asked.append((prompt, request))
        if prompt == "refused":
            response = httpx2.Response(400, text="Input may contain NSFW content", request=httpx2.Request("POST", "x:"))
            raise HfHubHTTPError("400 Client Error", response=response)
        return Image.new("RGBA", (16, 8), (255, 0, 0, 0))

    monkeypatch.setattr(huggingface_hub.AsyncInferenceClient, "text_to_image", text_to_image)
    monkeypatch.setenv("HF_TOKEN", "hf_secret_0123456789")
    one = HuggingFaceImages(model="black-forest-labs/FLUX.2-dev", service="fal-ai", extra={"num_inference_steps": 4})
    drawn, refused = one.generate(["a boat", "refused"], [7, 8])
    assert drawn.image is not None
    assert (drawn.image.size, drawn.image.getpixel((0, 0)), refused.outcome) == ((16, 8), (255, 255, 255), "filtered")
    assert sorted(asked)[0] == ("a boat", {"seed": 7, "extra_body": {"num_inference_steps": 4}})
    assert one.fingerprint != one.model_copy(update={"service": "replicate"}).fingerprint
    monkeypatch.undo()
    monkeypatch.setenv("HF_TOKEN", "hf_secret_0123456789")
    with pytest.raises(ServiceError, match=r"'nobody' not supported.*correct `service:` or `model:` in params.yaml"):
        one.model_copy(update={"service": "nobody"}).generate(["a boat"], [7])

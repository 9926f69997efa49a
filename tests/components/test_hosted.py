"""Services that are asked through a library of their own."""

import sys
from types import SimpleNamespace

import pytest

from driftledger.components.hosted import LiteLLM
from driftledger.core.errors import MissingExtraError
from driftledger.core.types import Conversation, Turn

HELLO = Conversation((Turn("user", ("Hello",)),))


def test_litellm_knows_which_keys_are_missing(monkeypatch):
    names = {
        "gemini/g": ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        "bedrock/b": ["AWS_REGION"],
        "anthropic/c": [],
    }

    def validate_environment(model):
        return {"missing_keys": names[model]}

    library = SimpleNamespace(validate_environment=validate_environment)
    monkeypatch.setitem(sys.modules, "litellm", library)
    [missing], _ = LiteLLM(model="gemini/g").readiness()
    assert missing.endswith(
        "LiteLLM finds none of its environment variables GOOGLE_API_KEY, GEMINI_API_KEY"
    )
    missing, (_, note) = LiteLLM(model="bedrock/b").readiness()
    assert missing == []
    assert note.endswith("variables AWS_REGION")
    assert LiteLLM(model="anthropic/c").readiness()[0] == []
    local = {"base_url": "http://127.0.0.1:9", "api_key_env": None}
    assert LiteLLM(model="ollama/x", **local).readiness()[0] == []


def test_litellm_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match="pip install litellm"):
        LiteLLM(model="anthropic/claude-opus-5-5").respond([HELLO])

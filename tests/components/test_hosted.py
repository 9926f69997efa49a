"""Services that are asked through a library of their own."""

import sys
from types import SimpleNamespace

import pytest

from driftledger.components.hosted import HuggingFaceImages, LiteLLM
from driftledger.core.errors import MissingExtraError, ServiceError
from driftledger.core.types import Conversation, Turn
from tests.support.cases import cases, each_case

HELLO = Conversation((Turn("user", ("Hello",)),))


@each_case(cases(__file__, "litellm"))
def test_litellm_knows_which_keys_are_missing(case, monkeypatch):
    """``names`` are the variables that the library says are missing."""
    known = SimpleNamespace(
        validate_environment=lambda model: {"missing_keys": case["names"]}
    )
    monkeypatch.setitem(sys.modules, "litellm", known)
    missing, notes = LiteLLM(**case["settings"]).readiness()
    assert len(missing) == bool(case["missing"])
    assert all(each.endswith(case["missing"]) for each in missing)
    if "note" in case:
        assert notes[-1].endswith(case["note"])


def test_litellm_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match="pip install litellm"):
        LiteLLM(model="anthropic/claude-opus-5-5").respond([HELLO])


def test_what_hugging_face_refuses_before_it_asks(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret_0123456789")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    one = HuggingFaceImages(model="a/b", service="nobody")
    says = r"'nobody' not supported.*correct `service:` or `model:` in params.yaml"
    with pytest.raises(ServiceError, match=says):
        one.generate(["a boat"], [7])
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    known = one.model_copy(update={"service": "hf-inference", "model": "http://x"})
    with pytest.raises(ServiceError, match="offline mode is enabled"):
        known.generate(["a boat"], [7])

"""Services that are asked through a library of their own."""

import sys
from types import SimpleNamespace

import pytest

from driftledger.components.litellm import LiteLLM
from driftledger.core.errors import MissingExtraError
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

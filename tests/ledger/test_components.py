"""Which recorded component can be had again, and why not."""

from typing import Any

import pytest

from driftledger.components.base import Component
from driftledger.components.predictions import Predictions
from driftledger.components.transformers import Transformers
from driftledger.ledger.verify.components import Components
from tests.ledger.conftest import Ledger

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"version": "0"}, "is installed, and version 0 was used"),
    "an unknown provider": ({"provider": "nothing"}, "the provider 'nothing' is unknown here"),
    "a service": ({"provider": "openai"}, "a service"),
    "a setting that is gone": ({"settings": {"nothing": 1}}, "its provider here does not take its recorded settings"),
    "a file that is not here": (
        {"provider": "predictions", "version": Predictions.version, "settings": {}},
        "'predictions.json' is missing; set path to the file",
    ),
    "no entry": (
        {
            "provider": "transformers",
            "version": Transformers.version,
            "settings": {},
            "identity": {"weights": {"repository": "some/model", "commit": "abc"}},
        },
        "no entry of params.yaml has its path",
    ),
    "another fingerprint": ({"fingerprint": "f" * 64}, "does not fit its own fingerprint ffffffffffff"),
    "another identity": ({"identity": {"seed": 9}, "fingerprint": "f" * 64}, " here, and was "),
    "code in the checkpoint": ({"settings": {"trust_remote_code": True}}, "(trust_remote_code); --trust allows it"),
}


def test_the_recorded_version_is_found(original: Ledger) -> None:
    card = original.evidence().lineages[0].score.components["model"]
    found = Components(original.project).get(card, "model")
    assert isinstance(found, Component)
    assert found.fingerprint == card.fingerprint


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_had_says_why(original: Ledger, case: str) -> None:
    changes, sentence = CASES[case]
    card = original.evidence().lineages[0].score.components["model"].model_copy(update=changes)
    found = Components(original.project).get(card, "model")
    assert isinstance(found, str)
    assert found.startswith(f"model {card.name}: ")
    assert sentence in found

"""Settings of all components: refused in a sentence that names what is wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.core.registry import OURS, provider_class
from driftledger.core.strict import explain
from tests.support.cases import cases


@pytest.mark.parametrize("case", cases(__file__, "settings"), ids=lambda case: str(case)[:80])
def test_settings_that_do_not_fit(case: dict[str, Any]) -> None:
    [section] = [name for name in ("models", "generators", "encoders") if case["provider"] in OURS[name]]
    with pytest.raises(ValidationError) as caught:
        provider_class(section, case["provider"]).model_validate(case["settings"])
    said = explain(caught.value, "models.m")
    assert case["says"] in said
    assert "secret" not in said

"""The record of a score: what stands beside a metric, and what DVC is shown of it."""

import pytest
from pydantic import ValidationError

from driftledger.benchmarks.mm_sap.spec import MMSAPSettings
from driftledger.benchmarks.score import interval_of
from driftledger.metrics.intervals import ConfidenceInterval


def test_an_interval_has_both_ends() -> None:
    both = {"gc_low": 0.1, "gc_high": 0.3}
    assert interval_of(both, "gc") == ConfidenceInterval(0.1, 0.3)
    for end in both:
        assert interval_of({end: both[end]}, "gc") is None


def test_options_are_shown_in_one_order_at_least() -> None:
    section = {"prompt": "{question} {options}", "permutations": 1, "unread": "wrong", "count_free_refusals": True}
    section |= {"min_coverage": 0.5, "confidence": 0.95}
    assert MMSAPSettings.model_validate(section | {"permutations": 1}).permutations == 1
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        MMSAPSettings.model_validate(section | {"permutations": 0})

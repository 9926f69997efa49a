import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.tables import best_first, is_frechet, ranks_of
from driftledger.core.registry import PROVIDERS, provider_class

VALUES = st.lists(st.none() | st.floats(-100, 100), max_size=8)


@pytest.mark.parametrize("provider", sorted(PROVIDERS["encoders"]))
def test_every_encoders_frechet_distance_is_known_by_its_name(provider: str) -> None:
    name = getattr(provider_class("encoders", provider), "frechet_name", None)
    assert name is None or is_frechet(name)


@pytest.mark.parametrize("metric", ["gc", "similarity", "ssim", "clip_s", "clip_s_i", "image_similarity", "human"])
def test_no_other_metric_is_taken_for_one(metric: str) -> None:
    assert not is_frechet(metric)


@given(VALUES)
def test_a_model_without_a_value_changes_no_rank(values: list[float | None]) -> None:
    ranks = ranks_of(values)
    assert [rank is None for rank in ranks] == [value is None for value in values]
    assert [rank for rank in ranks if rank is not None] == list(ranks_of([v for v in values if v is not None]))


@given(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.sampled_from([0.0, 1.0, 2.0])))
def test_the_best_stand_first_and_those_without_a_value_last(values: dict[str, float | None]) -> None:
    order = best_first(values)
    assert sorted(order) == sorted(values)
    there = [values[name] for name in order if values[name] is not None]
    assert there == sorted(there, reverse=True)
    assert [values[name] is None for name in order] == sorted(value is None for value in values.values())

from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.tables import best_first, interval, ranks_of

VALUES = st.lists(st.none() | st.floats(-100, 100), max_size=8)


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


def test_an_interval_needs_both_ends() -> None:
    assert interval({"a": 1.0, "a_low": 0.5, "a_high": 1.5}, "a") == "0.5–1.5"
    for end in ("a_low", "a_high"):
        assert interval({"a": 1.0, end: 0.5}, "a") == ""

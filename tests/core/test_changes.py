from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.changes import MOST_SHOWN, changes, shown_apart

nested = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)


def test_mappings_are_entered_and_lists_compared_whole() -> None:
    old = {"T": 5, "seeds": {"run": 1, "chain": 2}, "lengths": [10, 20]}
    new = {"T": 3, "seeds": {"run": 1, "chain": 4}, "lengths": [10, 30], "new": "x"}
    assert [str(change) for change in changes(old, new)] == [
        "T: 5 → 3",
        "lengths: [10,20] → [10,30]",
        'new: nothing → "x"',
        "seeds.chain: 2 → 4",
    ]


@given(nested)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert list(changes(value, value)) == []


@given(nested, nested)
def test_there_and_back(old: Any, new: Any) -> None:
    there, back = list(changes(old, new)), list(changes(new, old))
    assert [(each.key, each.old, each.new) for each in there] == [(each.key, each.new, each.old) for each in back]


def test_long_values_are_shown_where_they_differ() -> None:
    one, two = shown_apart("red " * 100 + "disc", "red " * 100 + "ring")
    assert one.endswith('red disc"')
    assert two.endswith('red ring"')
    assert max(map(len, (one, two))) < MOST_SHOWN
    assert shown_apart("red " * 100, None)[0].endswith("red… (402 characters)")


@given(st.text(), st.text())
def test_what_is_shown_is_one_inert_line_of_bounded_length(one: str, two: str) -> None:
    for text in shown_apart(one, two):
        assert text.isprintable() or not any(sign in text for sign in "\x1b\n\r\u202e\u2028")
        assert len(text) < 6 * MOST_SHOWN

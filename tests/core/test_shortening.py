"""Sentences of libraries keep both of their ends."""

from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.escaping import for_line
from driftledger.core.shortening import shortened


@given(st.text(), st.integers(3, 50))
def test_it_is_never_longer_than_asked_and_keeps_both_ends(said: str, most: int) -> None:
    short, whole = shortened(said, most), for_line(said)
    if len(whole) <= most:
        assert short == whole
    else:
        begin = (most - 1) // 2
        assert len(short) == most
        assert short[begin] == "…"
        assert whole.startswith(short[:begin])
        assert whole.endswith(short[begin + 1 :])


def test_what_to_do_stands_behind_the_longest_path() -> None:
    said = f"cannot read {'/very/long' * 60}/config: line 3 is no setting; remove it"
    assert shortened(said).startswith("cannot read /very")
    assert shortened(said).endswith("line 3 is no setting; remove it")

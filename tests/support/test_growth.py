"""The measure of growth tells what is in proportion from what is not."""

from tests.support.growth import grows_linearly


def each_once(text: str) -> int:
    return sum(ord(character) for character in text)


def each_with_each(text: str) -> int:
    return sum(one == other for one in text for other in text)


def test_what_is_in_proportion() -> None:
    assert grows_linearly(each_once, "abc" * 1_000_000)


def test_what_grows_with_the_square() -> None:
    assert not grows_linearly(each_with_each, "abc" * 1_000)


def test_what_takes_no_time_may_grow() -> None:
    assert grows_linearly(each_with_each, "abc" * 30)

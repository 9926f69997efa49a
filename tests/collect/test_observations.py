from pathlib import Path

import pytest

from driftledger.collect.observations import Observed, read_observations, write_observations
from driftledger.core.errors import StoreError


def seen(asked_again: int, other: int) -> Observed:
    return Observed(name="seer", asked_again=asked_again, other=other)


def test_a_sentence_says_how_many() -> None:
    assert str(seen(120, 3)) == "3 of 120 calls made twice gave other bytes"
    assert str(seen(1, 0)) == "0 of 1 call made twice gave other bytes"


def test_what_was_seen_of_more_calls_stays(tmp_path: Path) -> None:
    file = tmp_path / "data" / "observations.json"
    write_observations(file, {})
    assert not file.exists()
    write_observations(file, {"b": seen(5, 1), "a": seen(2, 0)})
    before = file.read_bytes()
    assert before.index(b'"a"') < before.index(b'"b"')
    write_observations(file, {"b": seen(4, 4)})
    assert file.read_bytes() == before
    write_observations(file, {"b": seen(5, 2), "c": seen(1, 1)})
    assert read_observations(file) == {"a": seen(2, 0), "b": seen(5, 2), "c": seen(1, 1)}


def test_a_difference_is_told_however_many_calls_gave_the_same_before(tmp_path: Path) -> None:
    file = tmp_path / "observations.json"
    write_observations(file, {"a": seen(100, 0)})
    write_observations(file, {"a": seen(4, 1)})
    assert read_observations(file) == {"a": seen(4, 1)}
    write_observations(file, {"a": seen(200, 0)})
    assert read_observations(file) == {"a": seen(4, 1)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"a": 1}',
        '{"a": {"name": "seer", "asked_again": 1, "other": 2}}',
        '{"a": {"name": "seer", "asked_again": 1, "other": 0, "more": 1}}',
        "[" * 10_000,
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "observations.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match="holds no observations"):
        read_observations(file)

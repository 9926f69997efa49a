"""Lines come back from where they were put."""

import pytest

from driftledger.core import spill


@pytest.mark.parametrize("in_memory", [1, 2**20])
def test_lines_come_back_in_any_order(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "_IN_MEMORY", in_memory)
    lines = spill.Spill()
    texts = [b"", b"a", b"\xc3\xa9" * 100_000, b" b\t"]
    places = [lines.add(text) for text in texts[:2]]
    assert lines.at(places[1]) == b"a"
    places += [lines.add(text) for text in texts[2:]]
    assert [lines.at(place) for place in reversed(places)] == texts[::-1]

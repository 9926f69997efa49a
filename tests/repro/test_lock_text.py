"""Locks put together from the texts of stages are those that DVC writes, whatever stands in them."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dvc.utils.serialize import dumps_yaml, modify_yaml, parse_yaml_for_update
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.registry import lock_files
from driftledger.repro.lock_text import HEAD, parsed, read, settled, written
from tests.conftest import REPOSITORY

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=120),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=12), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["resolve", "chain@a-b", "chain@a-c", "genception@photos-x_y-z", "2"])
ENTRIES = st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=6)


def entry(value: Any) -> dict[str, Any]:
    return OrderedDict(cmd="driftledger stage x", params={"params.yaml": {"value": value}}, outs=[{"path": "a"}])


def by_dvc(file: Path, entries: Sequence[tuple[str, Any]]) -> str:
    """What DVC has written once all of these have run: each time, all of the lock is parsed and written."""
    for name, value in entries:
        with modify_yaml(str(file)) as data:
            if not data:
                data.update({"schema": "2.0"})
            data["stages"] = data.get("stages", {})
            data["stages"].update({name: entry(value)})
    return file.read_text(encoding="utf-8")


@given(entries=ENTRIES)
def test_whatever_stages_hold_the_text_is_that_of_dvc(
    entries: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = parsed("", "dvc.lock")
    assert text is not None
    for name, value in entries:
        own = written(name, entry(value))
        if own is None:  # which is left to DVC
            return
        text.put(name, own)
    assert str(text) == by_dvc(tmp_path_factory.mktemp("lock") / "dvc.lock", entries)


@given(value=VALUES | st.text(alphabet=" abc-_:#'\"\n\t\\,{}[]?!|>&*%@`~0159.eE+=<", max_size=200))
def test_what_is_said_to_stay_as_it_is_stays_as_it_is_when_it_is_read_and_written(value: Any) -> None:
    own = written("a", entry(value))
    if own is not None and not own.moves:
        assert dumps_yaml({"stages": {"a": read("a", own.text)}}) == "stages:\n" + own.text


MOVING = 7.493860291067043e-66
"""ruamel.yaml writes it otherwise each time that it has read it: what DVC leaves depends on what runs after it."""


@pytest.mark.parametrize("after", [[], ["b"], ["b", "c"], ["b", "a"], ["b", "a", "c", "b"]])
def test_values_that_move_when_they_are_written_again_move_as_often_as_with_dvc(
    after: list[str], tmp_path: Path
) -> None:
    entries = [("a", MOVING), *((name, MOVING) for name in after)]
    file, text = tmp_path / "dvc.lock", parsed("", "dvc.lock")
    assert text is not None
    for name, value in entries:
        own = written(name, entry(value))
        assert own is not None
        text.put(name, own)
    whole = by_dvc(file, entries)
    assert str(text) == whole
    assert (str(MOVING) in whole.split("  b:")[0]) == (entries[-1][0] == "a")
    again = parsed(whole, "dvc.lock")
    new = written("z", entry(1))
    assert again is not None
    assert new is not None
    for _ in range(2):
        again.put("z", new)
        assert str(again) == by_dvc(file, [("z", 1)])


@pytest.mark.parametrize("name", lock_files())
def test_our_own_locks_are_read_and_a_stage_in_them_is_replaced_as_dvc_does(name: str, tmp_path: Path) -> None:
    original = (REPOSITORY / name).read_text(encoding="utf-8")
    text = parsed(original, name)
    assert text is not None
    assert str(text) == str(settled(original)) == original == dumps_yaml(parse_yaml_for_update(original, name))
    file = tmp_path / "dvc.lock"
    file.write_text(original, encoding="utf-8")
    replaced = [line.strip(" :\n") for line in original.splitlines() if line.startswith("  ") and line[2] != " "][1]
    new = written(replaced, entry("other"))
    assert new is not None
    assert text.put(replaced, new)
    assert not text.put(replaced, new)
    assert text.is_settled
    assert str(text) == by_dvc(file, [(replaced, "other")]) != original


HAND_MADE = HEAD + "  a:\n    cmd:   'x'\n    params:\n      p.yaml:\n        v: [1,   2]\n  b:\n    cmd: y\n"


def test_what_people_wrote_into_a_lock_is_written_as_dvc_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "dvc.lock"
    file.write_text(HAND_MADE, encoding="utf-8")
    text, own = parsed(HAND_MADE, "dvc.lock"), written("c", entry(1))
    assert text is not None
    assert own is not None
    text.put("c", own)
    assert str(text) == by_dvc(file, [("c", 1)])
    assert "cmd: x" in str(text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "  a:\n    cmd: x # why\n",
        HEAD + "  # why\n  a:\n    cmd: x\n",
        HEAD + "  a:\n    cmd: &id001 x\n  b:\n    cmd: *id001\n",
        HEAD + "  a:\n    cmd: x\ndatasets:\n- name: d\n",
        "schema: '2.0'\nstages: {}\n",
        "stages:\n  a:\n    cmd: x\n",
        "- a\n",
    ],
)
def test_what_is_more_than_stages_is_left_to_dvc(text: str) -> None:
    assert parsed(text, "dvc.lock") is None
    assert settled(text) is None


def test_values_that_a_stage_holds_twice_are_left_to_dvc() -> None:
    shared = [1, 2]
    assert written("a", entry({"one": shared, "two": shared})) is None


def test_an_entry_is_read_as_it_was_written() -> None:
    text = written("a@b", entry({"x": [1, "two"]}))
    assert text is not None
    assert read("a@b", text.text) == entry({"x": [1, "two"]})

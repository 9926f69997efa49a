"""A text is parsed once, in all runs together, to what DVC makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from dvc.utils.serialize import YAMLFileCorruptedError, parse_yaml

from driftledger.repro.yaml_memory import YAMLMemory
from tests.conftest import REPOSITORY

PLAIN = "a: {b: [1, -2.5, 'x', null, true, 2001-1]}\n'7': é\n"


@pytest.fixture
def parsed() -> list[str]:
    """The texts that were parsed."""
    return []


@pytest.fixture
def parse(parsed: list[str]) -> Any:
    def parse(text: str, path: str, typ: str = "safe") -> Any:
        parsed.append(text)
        return parse_yaml(text, path, typ)

    return parse


def test_a_text_is_parsed_in_the_first_run_alone(tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    for _ in range(2):
        memory = YAMLMemory(tmp_path / "yaml.json")
        read = memory.remembering(parse)
        for _ in range(2):
            assert read(PLAIN, "params.yaml") == parse_yaml(PLAIN, "params.yaml")
        memory.write()
    assert parsed == [PLAIN]


def test_what_nobody_asked_for_any_more_is_forgotten(tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    for texts in ([PLAIN, "a: 1"], [PLAIN], [PLAIN, "a: 1"]):
        memory = YAMLMemory(tmp_path / "yaml.json")
        for text in texts:
            memory.remembering(parse)(text, "x")
        memory.write()
    assert parsed == [PLAIN, "a: 1", "a: 1"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &one [1]\nb: *one\n",  # DVC would write it with an anchor
        "a: 2001-01-01\n",
        "1: a\n",
        "a: !!set {b, c}\n",
        "a: .inf\n",
        "a: .nan\n",
        "a: !!binary aGVsbG8=\n",
    ],
)
def test_what_json_cannot_hold_is_parsed_each_time(text: str, tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    for _ in range(2):
        memory = YAMLMemory(tmp_path / "yaml.json")
        assert repr(memory.remembering(parse)(text, "x")) == repr(parse_yaml(text, "x"))
        memory.write()
    assert parsed == [text, text]


def test_what_is_parsed_to_be_written_again_is_parsed_by_dvc(tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    read = YAMLMemory(tmp_path / "yaml.json").remembering(parse)
    for _ in range(2):
        read("a: 1 # why\n", "x", typ="rt")
    assert parsed == ["a: 1 # why\n"] * 2


def test_an_error_is_dvcs_own_each_time(tmp_path: Path, parse: Any) -> None:
    read = YAMLMemory(tmp_path / "yaml.json").remembering(parse)
    for _ in range(2):
        with pytest.raises(YAMLFileCorruptedError):
            read("a: [", "x")


def test_two_readers_share_nothing(tmp_path: Path, parse: Any) -> None:
    read = YAMLMemory(tmp_path / "yaml.json").remembering(parse)
    for _ in range(3):
        value = read("a: [1]", "x")
        assert value == {"a": [1]}
        value["a"].append(2)


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"x": 1}', '{"x": "{"}'])
def test_what_was_kept_and_cannot_be_read_is_passed_over(kept: str, tmp_path: Path, parse: Any) -> None:
    (tmp_path / "yaml.json").write_text(kept)
    memory = YAMLMemory(tmp_path / "yaml.json")
    assert memory.remembering(parse)("a: 1", "x") == {"a": 1}
    memory.write()
    assert list(json.loads((tmp_path / "yaml.json").read_text()).values()) == ['{"a": 1}']


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path, parse: Any) -> None:
    memory = YAMLMemory(tmp_path / "missing" / "yaml.json")
    memory.remembering(parse)("a: 1", "x")
    memory.write()


@pytest.mark.parametrize("name", ["params.yaml", "dvc.yaml", "dvc.lock", "pipelines/mm_vet/dvc.lock"])
def test_our_own_files_are_remembered_as_they_are(name: str, tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    for _ in range(2):
        memory = YAMLMemory(tmp_path / "yaml.json")
        assert json.dumps(memory.remembering(parse)(text, name)) == json.dumps(parse_yaml(text, name))
        memory.write()
    assert parsed == [text]


@pytest.mark.parametrize("value", ["{broken", "[" * 100_000])
def test_a_kept_value_that_is_no_json_is_passed_over(value: str, tmp_path: Path, parse: Any, parsed: list[str]) -> None:
    first = YAMLMemory(tmp_path / "yaml.json")
    first.remembering(parse)("a: 1", "x")
    first.write()
    [key] = json.loads((tmp_path / "yaml.json").read_text())
    (tmp_path / "yaml.json").write_text(json.dumps({key: value}))
    again = YAMLMemory(tmp_path / "yaml.json")
    assert again.remembering(parse)("a: 1", "x") == {"a": 1}
    again.write()
    assert json.loads((tmp_path / "yaml.json").read_text()) == {key: '{"a": 1}'}
    assert parsed == ["a: 1"] * 2

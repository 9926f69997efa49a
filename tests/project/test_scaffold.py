"""What the package writes is known by its header, and a user's own lines of rules stay."""

import pytest

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark_names, benchmarks
from driftledger.core.errors import ConfigError
from driftledger.core.yaml_text import load_yaml
from driftledger.project import scaffold
from driftledger.project.scaffold import SECTION, brought, generated, read_written, rules, with_header, with_rules
from tests.conftest import REPOSITORY

FILES = generated()


@pytest.mark.parametrize("each", FILES, ids=lambda each: each.path)
def test_a_file_is_known_by_its_header_until_it_is_edited(each: scaffold.Generated) -> None:
    written = read_written(each.text)
    assert written.body == each.body
    assert written.untouched != each.path.endswith(".json")
    assert not read_written(each.text + "# mine\n").untouched
    edited = read_written(with_header(each.body + "# mine\n", each.body))
    assert not edited.untouched
    assert edited.body == each.body + "# mine\n"


def test_the_version_alone_makes_no_other_body(monkeypatch: pytest.MonkeyPatch) -> None:
    before = FILES[0].text
    monkeypatch.setattr(scaffold, "__version__", "9.9.9")
    after = generated()[0].text
    assert after != before
    assert read_written(after) == read_written(before)


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_a_benchmark_brings_a_section_that_fits(spec: Benchmark) -> None:
    section = load_yaml(brought(spec.name, SECTION))
    assert section.keys() == {spec.name}
    assert spec.settings.model_validate(section[spec.name])


def test_a_file_that_a_benchmark_does_not_bring_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"brings no x\.yaml; put one beside its specification"):
        brought(benchmark_names()[0], "x.yaml")


def test_git_ignores_what_every_stage_collects() -> None:
    ignored = rules()[".gitignore"].splitlines()
    assert "/.driftledger/" in ignored
    for stage in (stage for spec in benchmarks() for stage in (spec.data, *spec.collects)):
        assert any(f"/{stage.path}".startswith(line) for line in ignored), stage.path
    repository = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {*ignored} <= {*repository}


def test_lines_of_rules_are_added_once_and_none_is_lost() -> None:
    for wanted in rules().values():
        for own in ("", "*.log", "*.log\r\n/build/\r\n", wanted, wanted[: len(wanted) // 2]):
            text = with_rules(own, wanted)
            assert text.startswith(own)
            assert {*wanted.split("\n")} <= {line.strip() for line in text.split("\n")} | {""}
            assert with_rules(text, wanted) == text

"""What the package writes for a project, and what each benchmark brings."""

import pytest

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark_names, benchmarks
from driftledger.core.errors import ConfigError
from driftledger.core.files import load_yaml
from driftledger.project.scaffold import SECTION, brought, generated, is_ours, rules, with_rules
from tests.conftest import REPOSITORY


def test_generated_files_are_known_by_their_first_line_also_those_of_other_versions() -> None:
    texts = generated()
    assert {name for name, text in texts.items() if is_ours(text)} == {"dvc.yaml", "MLproject"}
    assert is_ours("# Written by driftledger 0.2.0, sha256:0: 'driftledger upgrade' renews it\nstages: {}\n")
    assert not is_ours("stages: {}\n")
    assert [name for name, text in texts.items() if (REPOSITORY / name).read_text(encoding="utf-8") != text] == []


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
    assert {*ignored} <= {*(REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()}


def test_lines_of_rules_are_added_once_and_none_is_lost() -> None:
    for wanted in rules().values():
        for own in ("", "*.log", "*.log\r\n/build/\r\n", wanted, wanted[: len(wanted) // 2]):
            text = with_rules(own, wanted)
            assert text.startswith(own)
            assert {*wanted.split("\n")} <= {line.strip() for line in text.split("\n")} | {""}
            assert with_rules(text, wanted) == text

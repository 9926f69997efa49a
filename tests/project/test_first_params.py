"""The first ``params.yaml`` selects what was asked for, and nothing else."""

from pathlib import Path

import pytest

from driftledger.benchmarks.registry import benchmark_names
from driftledger.core.errors import ConfigError
from driftledger.core.yaml_text import load_yaml
from driftledger.project.first_params import Images, first_params, name_of
from driftledger.project.presets import apply_preset, presets, read_preset
from driftledger.project.settings import Settings, parse_settings


def settings_of(text: str) -> Settings:
    return parse_settings(load_yaml(text), "params.yaml")


@pytest.mark.parametrize("minimal", [False, True])
@pytest.mark.parametrize("name", sorted(presets(Path("nowhere"))))
def test_every_preset_can_be_begun_with(name: str, minimal: bool, tmp_path: Path) -> None:
    first = first_params(tmp_path, name, None, minimal=minimal)
    settings, wanted = settings_of(first.text), read_preset(tmp_path, name)
    for key, value in load_yaml(first.text)["run"].items():
        assert key == "seed" or value == wanted["run"][key]
    selected = [spec.name for spec in settings.benchmarks]
    assert selected == [each for each in benchmark_names() if wanted["run"][each]]
    assert list(first.benchmarks) == (selected if minimal else list(benchmark_names()))
    for each in selected:
        for key, value in wanted.get(each, {}).items():
            assert load_yaml(first.text)[each][key] == value
    assert not {*benchmark_names(), "correlation", "models", "collect"} - {*selected} & {*load_yaml(first.text)}


def test_any_preset_can_follow(tmp_path: Path) -> None:
    for start in ("minimal", "start"):
        for name in presets(tmp_path):
            (tmp_path / "params.yaml").write_text(
                first_params(tmp_path, start, None, minimal=start == "minimal").text, encoding="utf-8"
            )
            apply_preset(tmp_path, name)
            settings, wanted = (
                settings_of((tmp_path / "params.yaml").read_text(encoding="utf-8")),
                read_preset(tmp_path, name),
            )
            assert [spec.name for spec in settings.benchmarks] == [e for e in benchmark_names() if wanted["run"][e]]
            assert settings.run.models == tuple(wanted["run"]["models"])
            again = apply_preset(tmp_path, name)
            assert again == []


def test_an_unknown_preset_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="preset 'sart' is unknown; did you mean 'start'"):
        first_params(tmp_path, "sart", None, minimal=False)


@pytest.mark.parametrize(
    "path",
    ["photos", "a: b", "${run.seed}", "- x", "'", '"', "#", "ü/雪", "../near", "/abs/a b", "null", "2024", "{a}"],
)
def test_a_folder_stands_in_the_settings_as_it_is_called(path: str, tmp_path: Path) -> None:
    name = name_of(Path(path).name)
    settings = settings_of(first_params(tmp_path, "start", Images(name, path), minimal=False).text)
    assert settings.run.datasets == settings.run.over("genception") == settings.run.over("fidelity") == (name,)
    assert settings.datasets[name].settings() == {"path": path}


def test_names_of_folders_become_names_of_datasets() -> None:
    named = {"Photos": "photos", "a-b.c": "a_b_c", "__x__": "x", "雪": "my_images", "9": "images_9", "": "my_images"}
    assert {folder: name_of(folder) for folder in named} == named
    assert len(name_of("a" * 300)) == 64

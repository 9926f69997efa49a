"""The first ``params.yaml`` selects what was asked for; presets are laid over it, and comments of
the user's stay."""

from functools import cache
from pathlib import Path

import pytest

from driftledger.benchmarks.registry import benchmark_names
from driftledger.core.files import load_yaml
from driftledger.project.catalogue import name_of
from driftledger.project.presets import (
    apply_preset,
    first_params,
    presets,
    presets_in_words,
    read_preset,
    with_preset,
)
from driftledger.project.project import Project
from driftledger.project.settings import load_settings, parse_settings
from tests.support.cases import cases, each_case

NAMES = sorted(presets(Path("nowhere")))


@cache
def begun(name):
    """Return the text of a project that begins with a preset."""
    return first_params(Path("nowhere"), name, {})


def settings_of(text):
    return parse_settings(load_yaml(text), "params.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_can_be_begun_with(name, tmp_path):
    text = begun(name)
    content, wanted = load_yaml(text), read_preset(tmp_path, name)
    assert content["run"] | wanted["run"] == content["run"]
    selected = [spec.name for spec in settings_of(text).benchmarks]
    assert selected == [each for each in benchmark_names() if each in wanted["run"]]
    assert content.keys() == {"run", "tracking", *selected}
    for each in selected:
        assert content[each] | wanted.get(each, {}) == content[each]
    (tmp_path / "params.yaml").write_text(text)
    asks_only = not {"genception", "fidelity"} & {*selected}
    paths = {run.path.partition("/")[2] for run in Project(tmp_path).combinations}
    assert (paths == {""}) is asks_only, "a run is named after what its scores use"


def test_any_preset_can_follow(tmp_path):
    params = tmp_path / "params.yaml"
    params.write_text(begun("minimal"))
    for name in NAMES:
        _, expected = with_preset(tmp_path, name)
        changed, wanted = apply_preset(tmp_path, name), read_preset(tmp_path, name)
        assert changed
        settings = load_settings(params)
        assert settings.model_dump() == expected.model_dump()
        assert settings.run.models == tuple(wanted["run"]["models"])
        assert settings.run == settings_of(begun(name)).run
        assert apply_preset(tmp_path, name) == []


MINE = """\
# a note of mine
run: # and here
  datasets: [photos] # two blanks behind  it
  question_sets: []
  genception: [photos]
  models:
    - regions_fine # mine
    - blind
  generators: [painter]
  encoders: ["layout"]   # three before
  seed: 7

tracking: { uri: "sqlite:///mlflow.db", experiment: 'mine', traces: 6 }

# before the section
"""


def test_comments_quotes_and_other_values_of_the_user_stay(tmp_path):
    (tmp_path / "params.yaml").write_text(MINE)
    changed = apply_preset(tmp_path, "minimal")
    assert "genception: added" in changed
    text = (tmp_path / "params.yaml").read_text(encoding="utf-8")
    for kept in (
        "# a note of mine",
        "run: # and here",
        "# two blanks behind  it",
        "- regions_fine # mine",
        '["layout"]',
        "# three before",
        "seed: 7",
        "'mine'",
        "# before the section",
    ):
        assert kept in text
    assert "Cao et al." in text, "the section comes with its comments"
    again = apply_preset(tmp_path, "genception_v1")
    assert 'genception.iterations_by_group: nothing → {"textual":3}' in again
    assert apply_preset(tmp_path, "genception_v1") == []


@each_case(cases(__file__, "folders"))
def test_a_folder_stands_in_the_settings_as_it_is_called(case, tmp_path):
    path = case["path"]
    name = name_of(Path(path).name)
    data = {"datasets": {name: {"provider": "image_folder", "path": path}}}
    settings = settings_of(first_params(tmp_path, "start", data))
    over = settings.run.genception
    assert settings.run.datasets == over == (name,)
    assert settings.datasets[name].model_extra == {"path": path}


def test_names_of_folders_become_names_of_datasets():
    named = {
        "Photos": "photos",
        "a-b.c": "a_b_c",
        "__x__": "x",
        "雪": "my_images",
        "9": "images_9",
        "": "my_images",
    }
    assert {folder: name_of(folder) for folder in named} == named
    assert len(name_of("a" * 300)) == 64


OWN = {
    "mine": "# Mine. More of it.\n# Needs: a key. X is retired: y.\n",
    "silent": "",
}


def test_a_project_has_presets_of_its_own_which_say_what_they_are(tmp_path):
    (tmp_path / "presets").mkdir()
    for name, comment in OWN.items():
        (tmp_path / "presets" / f"{name}.yaml").write_text(f"{comment}run: {{}}\n")
    described = presets_in_words(tmp_path)
    assert described.keys() == {*NAMES, *OWN}
    assert described["mine"] == "Mine. More of it. Needs: a key. X is retired: y."
    assert described["silent"] == ""
    assert all("Needs: " in described[name] for name in NAMES)

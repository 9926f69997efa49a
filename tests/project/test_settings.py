"""``params.yaml``: the repository's own loads, and every mistake in one is a line that names the
place."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.genception.spec import GenCeptionSettings
from driftledger.benchmarks.registry import benchmark, section_text
from driftledger.core.errors import ConfigError
from driftledger.project.settings import load_settings
from driftledger_demo.models.regions import Regions
from tests.support.cases import cases, each_case
from tests.support.params import default_params, default_settings

Change = Callable[[dict[str, Any]], object]

# Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Table 1 and section
# 2.1.
DESCRIBE = (
    "Please write a clear, precise, detailed, and concise description of all elements in the "
    "image. Focus on accurately depicting various aspects, including but not limited to the "
    "colors, shapes, positions, styles, texts and the relationships between different objects and "
    "subjects in the image. Your description should be thorough enough to guide a professional in "
    "recreating this image solely based on your textual representation. Remember, only include "
    "descriptive texts that directly pertain to the contents of the image. You must complete the "
    "description using less than 500 words."
)
GENERATE = "Generate an image that fully and precisely reflects this description: {description}"


@pytest.fixture(scope="module")
def shipped():
    """The repository's own settings, as YAML has them."""
    return default_params()


@pytest.fixture
def load(tmp_path, shipped):
    """Load the repository's settings after a change."""

    def load(change):
        params = copy.deepcopy(shipped)
        change(params)
        path = tmp_path / "params.yaml"
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        return load_settings(path)

    return load


def put(place, value):
    """Set ``a.b.c``; the last part may hold anything but a dot."""

    def change(params):
        *above, last = place.split(".")
        for part in above:
            params = params[part]
        params[last] = value

    return change


def message(load, change):
    with pytest.raises(ConfigError) as caught:
        load(change)
    said = str(caught.value)
    assert len(said.splitlines()) == 1, said
    assert "params.yaml" in said
    return said


def test_the_prompts_are_the_papers():
    genception = default_settings().section("genception")
    assert isinstance(genception, GenCeptionSettings)
    assert genception.describe_prompt == DESCRIBE
    assert genception.generate_prompt == GENERATE


CASES = cases(__file__, "settings")


def change_of(case):
    """Set the settings that ``put`` names, give an entry the ``name``, and leave out what ``drop``
    names."""

    def change(params):
        if "name" in case:
            section, name = case["name"]
            params[section][name] = next(iter(params[section].values()))
        for place, value in case.get("put", {}).items():
            put(place, value)(params)
        if "drop" in case:
            section, _, key = case["drop"].partition(".")
            params[section].pop(key) if key else params.pop(section)

    return change


@each_case(CASES)
def test_a_mistake_is_one_line_with_place_and_remedy(case, load):
    sentence = message(load, change_of(case))
    assert case["place"] in sentence
    assert case["remedy"] in sentence


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"run: [unclosed", "is not YAML"),
        (
            b"run: {seed: 1}\ntracking: {}\nrun: {}",
            'line 3, column 1: found duplicate key "run"',
        ),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"run: !!python/object/apply:os.getcwd []", "is not YAML"),
        (b"- run\n- genception\n", "valid dictionary"),
        (b"just words", "valid dictionary"),
        (b"", "valid dictionary"),
        (
            b"run: {seed: [1, 2024-05-01]}",
            "holds what DVC cannot hold .Object of type date .+; put a date into",
        ),
        (b"run: !!set {x, y}", "cannot hold"),
    ],
)
def test_a_file_that_is_no_mapping_of_yaml_is_one_line(tmp_path, content, expected):
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=expected) as caught:
        load_settings(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_section_that_is_missing_is_the_one_that_ships(load):
    settings = load(lambda params: params.pop("mme"))
    shipped = yaml.safe_load(section_text("mme"))["mme"]
    assert settings.section("mme").model_dump(mode="json") == shipped


def test_questions_alone_need_no_dataset_generator_or_encoder(load):
    def change(params):
        kept = {
            key: params["run"][key]
            for key in ("models", "seed", "question_sets", "mme")
        }
        params["run"] = kept | {"datasets": []}

    settings = load(change)
    assert [spec.name for spec in settings.benchmarks] == ["mme"]
    assert (
        settings.run.generators
        == settings.run.encoders
        == settings.named("datasets")
        == ()
    )


EVERYTHING = """\
tracking: {uri: a, experiment: b, traces: 3, url: c}
run:
  seed: one
  models: [blind, blind]
"""
SELECTED = """\
tracking: {uri: a, experiment: b, traces: 3}
run:
  seed: 1
  datasets: [photos, foto]
  question_sets: [photos]
  models: [mine]
  generators: [painter]
  encoders: [layout]
models:
  mine:
    provider: regions
    details: fine
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            EVERYTHING,
            [
                ", line 4: run.models: 'blind' is selected twice",
                ", line 3: run.seed: Input should be a valid integer, unable to parse string as "
                "an integer (got 'one')",
                ", line 1: tracking: setting 'url' is unknown",
            ],
        ),
        (
            SELECTED,
            [
                ", line 2: run: 'photos' is a dataset and a question set, which MLflow cannot "
                "tell apart",
                ": datasets: 'foto' is unknown",
                ", line 10: models.mine: detail: Field required",
                ", line 12: models.mine: setting 'details' is unknown",
                ": question_sets: 'photos' is unknown",
            ],
        ),
    ],
    ids=["form", "content"],
)
def test_every_mistake_is_a_sentence_with_its_line(tmp_path, text, expected):
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert [sentence.partition("; ")[0] for sentence in caught.value.args] == [
        f"{path}{each}" for each in expected
    ]


def test_entries_that_are_not_selected_wait(load):
    settings = load(put("datasets.mine", {"provider": "image_folder", "pth": "typo"}))
    with pytest.raises(
        ConfigError,
        match=r"datasets\.mine: setting 'pth' is unknown; did you mean 'path'\?",
    ):
        settings.build("datasets", "mine")


def test_an_entry_of_params_wins_over_the_catalogues(load):
    shipped = load(lambda params: None).build("datasets", "my_images")
    own = load(
        put("datasets.my_images", {"provider": "image_folder", "path": "elsewhere"})
    ).build("datasets", "my_images")
    assert [one.model_dump()["path"] for one in (shipped, own)] == [
        Path("my_images"),
        Path("elsewhere"),
    ]


def test_a_user_may_vouch_for_a_model(load):
    def change(params):
        params["run"]["models"] = ["mine"]
        params["models"]["mine"] = {"provider": "openai", "model": "x"}
        params["models"]["mine"]["understood_by"] = ["painter", "layout", "rubric"]

    settings = load(change)
    assert settings.build("models", "mine").understood_by == (
        "painter",
        "layout",
        "rubric",
    )
    assert "understood_by" not in settings.build("models", "mine").spec["settings"]


def test_what_params_does_not_define_may_be_selected(load):
    def change(params):
        params["run"] |= {
            "datasets": ["photos", "digits"],
            "trac": ["digits"],
            "descriptions": ["features"],
        }
        for section in (
            "datasets",
            "models",
            "generators",
            "encoders",
            "question_sets",
            "descriptions",
        ):
            del params[section]

    settings = load(change)
    assert settings.build("datasets", "digits").provider == "digits"
    assert settings.build("models", "regions_fine") == Regions(
        detail="fine", knowledge=True, refuses=True
    )
    assert settings.description("features").lengths == (None,)


def test_a_benchmark_that_params_does_not_mention_goes_over_nothing(load):
    def change(params):
        for section in ("mm_sap", "mm_vet", "mme"):
            del params[section], params["run"][section]

    settings = load(change)
    assert [spec.name for spec in settings.benchmarks] == [
        "genception",
        "trac",
        "fidelity",
    ]
    assert list(settings.keys_of(benchmark("mme"))) == []
    assert settings.judge is None
    assert "rubric" not in settings.named("models")


def test_what_takes_part_is_named_whoever_names_it(load):
    settings = load(put("run.text_encoders", ["tfidf", "clip"]))
    assert settings.named("models") == (*settings.run.models, "rubric")
    assert settings.named("encoders") == ("layout", "tfidf", "clip", "words")
    assert settings.named("descriptions") == ("features_by_words", "elements")
    assert load(put("run.fidelity", [])).named("descriptions") == ("features_by_words",)
    assert (
        load(put("genception.text_encoder", None))
        .section("genception")
        .model_dump()["text_encoder"]
        is None
    )

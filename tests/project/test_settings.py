"""``params.yaml``: the repository's own loads, and every mistake in one is a line that names the
place."""

from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.genception.spec import GenCeptionSettings
from driftledger.benchmarks.registry import benchmark, section_text
from driftledger.core.errors import ConfigError
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.project.settings import parse_settings
from driftledger_demo.models.regions import Regions
from tests.sentence import edit
from tests.support.cases import cases, each_case
from tests.support.params import default_params, default_settings

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


def load(values, drop=()):
    """Read the repository's settings after an edit."""
    params = default_params()
    edit(params, {"set": values, "drop": drop})
    return parse_settings(params, "params.yaml")


def test_the_prompts_are_the_papers():
    genception = default_settings().section("genception")
    assert isinstance(genception, GenCeptionSettings)
    assert genception.describe_prompt == DESCRIBE
    assert genception.generate_prompt == GENERATE


@each_case(cases(__file__, "settings"))
def test_a_mistake_is_a_line_with_place_and_remedy(case, sentence):
    lines = sentence(case).err.splitlines()
    assert lines
    for line in lines:
        assert line.startswith(f"driftledger: {Path.cwd() / 'params.yaml'}")


def test_a_section_that_is_missing_is_the_one_that_ships():
    settings = load({}, ["mme"])
    shipped = yaml.safe_load(section_text("mme"))["mme"]
    assert settings.section("mme").model_dump(mode="json") == shipped


def test_questions_alone_need_no_dataset_generator_or_encoder():
    run = default_params()["run"]
    kept = {key: run[key] for key in ("models", "seed", "question_sets", "mme")}
    settings = load({"run": kept})
    assert [spec.name for spec in settings.benchmarks] == ["mme"]
    run = settings.run
    assert run.generators == run.encoders == settings.named("datasets") == ()


def test_entries_that_are_not_selected_wait():
    settings = load({"datasets.mine": {"provider": "image_folder", "pth": "typo"}})
    sentence = r"datasets\.mine: setting 'pth' is unknown; did you mean 'path'\?"
    with pytest.raises(ConfigError, match=sentence):
        settings.build("datasets", "mine")


def test_an_entry_of_params_wins_over_the_catalogues():
    entry = {"provider": "image_folder", "path": "elsewhere"}
    shipped = load({}).build("datasets", "my_images")
    own = load({"datasets.my_images": entry}).build("datasets", "my_images")
    assert (shipped.path, own.path) == (Path("my_images"), Path("elsewhere"))


def test_a_user_may_vouch_for_a_model():
    readers = ("painter", "layout", "rubric")
    entry = {"provider": "openai", "model": "x", "understood_by": readers}
    settings = load({"run.models": ["mine"], "models.mine": entry})
    model = settings.build("models", "mine")
    assert model.understood_by == readers
    assert "understood_by" not in model.spec["settings"]


def test_what_params_does_not_define_may_be_selected():
    selected = {
        "run.datasets": ["photos", "digits"],
        "run.trac": ["digits"],
        "run.descriptions": ["features"],
    }
    settings = load(selected, [*PROVIDED_SECTIONS, "descriptions"])
    assert settings.build("datasets", "digits").provider == "digits"
    assert settings.build("models", "regions_fine") == Regions(
        detail="fine", knowledge=True, refuses=True
    )
    assert settings.description("features").lengths == (None,)


def test_a_benchmark_that_params_does_not_mention_goes_over_nothing():
    names = ("mm_sap", "mm_vet", "mme")
    settings = load({}, [*names, *(f"run.{name}" for name in names)])
    chosen = [spec.name for spec in settings.benchmarks]
    assert chosen == ["genception", "trac", "fidelity"]
    assert settings.keys_of(benchmark("mme")) == []
    assert settings.judge is None
    assert "rubric" not in settings.named("models")


def test_what_takes_part_is_named_whoever_names_it():
    settings = load({"run.text_encoders": ["tfidf", "clip"]})
    assert settings.named("models") == (*settings.run.models, "rubric")
    assert settings.named("encoders") == ("layout", "tfidf", "clip", "words")
    assert settings.named("descriptions") == ("features_by_words", "elements")
    alone = load({"run.fidelity": []})
    assert alone.named("descriptions") == ("features_by_words",)
    unread = load({"genception.text_encoder": None}).section("genception")
    assert unread.model_dump()["text_encoder"] is None

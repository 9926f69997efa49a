"""``params.yaml``: the repository's own loads, and every mistake in one is a line that names the
place."""

from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.genception.spec import GenCeptionSettings
from driftledger.benchmarks.registry import section_text
from driftledger.core.errors import ConfigError
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.project.settings import parse_settings
from driftledger_demo.models.regions import Regions
from tests.sentence import edit
from tests.support.cases import cases, each_case
from tests.support.params import default_params, default_settings
from tests.support.selected import selected

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


MISSPELT = {"provider": "image_folder", "pth": "typo"}


def load(case):
    """Read the repository's settings after the edit of a case."""
    params = default_params()
    edit(params, case)
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
    settings = load({"drop": ["mme"]})
    shipped = yaml.safe_load(section_text("mme"))["mme"]
    assert settings.section("mme").model_dump(mode="json") == shipped


@each_case(cases(__file__, "selected"))
def test_settings_select_what_is_named(case):
    """``is`` has values under the names of :func:`selected`."""
    settings = load(case)
    for name, value in case["is"].items():
        assert selected(settings, name) == value, name


def test_entries_that_are_not_selected_wait():
    settings = load({"set": {"datasets.mine": MISSPELT}})
    sentence = r"datasets\.mine: setting 'pth' is unknown; did you mean 'path'\?"
    with pytest.raises(ConfigError, match=sentence):
        settings.build("datasets", "mine")


def test_who_vouches_for_a_model_is_no_part_of_its_identity():
    entry = {"provider": "openai", "model": "x", "understood_by": ["painter"]}
    model = load({"set": {"models.mine": entry}}).build("models", "mine")
    assert "understood_by" not in model.spec["settings"]


def test_what_params_does_not_define_may_be_selected():
    chosen = {
        "run.datasets": ["photos", "digits"],
        "run.trac": ["digits"],
        "run.descriptions": ["features"],
    }
    dropped = [*PROVIDED_SECTIONS, "descriptions"]
    settings = load({"set": chosen, "drop": dropped})
    assert settings.build("datasets", "digits").provider == "digits"
    assert settings.build("models", "regions_fine") == Regions(
        detail="fine", knowledge=True, refuses=True
    )
    assert settings.description("features").lengths == (None,)


def test_a_text_encoder_may_be_null():
    settings = load({"set": {"genception.text_encoder": None}})
    assert settings.section("genception").text_encoder is None

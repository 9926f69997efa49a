"""What the README tells people to type, look at and copy exists and works."""

import re
import tomllib
from typing import Any

import pytest
import yaml
from typer.main import get_command

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.registry import benchmarks
from driftledger.cli import app
from driftledger.core.extras import EXTRAS
from driftledger.core.registry import PROVIDERS
from driftledger.project.settings import Settings, parse_settings
from tests.conftest import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CODE = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
TYPED = [line.split("#")[0].split() for kind, block in CODE if kind == "console" for line in block.splitlines()]
TYPED += [span.split() for span in re.findall(r"`([^`\n]+)`", README)]


def blocks(kind: str) -> list[str]:
    return [text for found, text in CODE if found == kind]


@pytest.mark.parametrize("target", sorted({words[1] for words in TYPED if words[0] == "make" and len(words) > 1}))
def test_every_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_command_exists() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    used = {words[1] for words in TYPED if words[0] == "driftledger" and len(words) > 1}
    assert {"audit", "track", "calls"} <= used <= set(commands)


def test_every_link_inside_the_repository_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert len(links) >= 4
    assert [link for link in links if not (REPOSITORY / link).is_file()] == []


def copied(block: str) -> Settings:
    """The settings with a block of the README in them; a benchmark that it does not name goes over nothing."""
    params: dict[str, Any] = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    changes = yaml.safe_load(block)
    if "datasets" in changes.get("run", {}):
        params["run"] |= {spec.name: [] for spec in benchmarks() if spec.data is DATASET}
    for section, values in changes.items():
        params[section] |= values
    return parse_settings(params, "params.yaml")


def test_a_few_lines_of_params_select_ones_own() -> None:
    images, labelled, questions = map(copied, blocks("yaml"))
    assert images.run.over("genception") == images.run.over("fidelity") == ("my_images",)
    assert images.dataset("my_images").provider == "image_folder"
    assert (labelled.run.over("trac"), labelled.dataset("birds").general_category) == (("birds",), "bird")
    assert questions.run.over("mm_sap") == ("mine",)
    assert questions.question_set("mine").provider == "table"


def test_every_provider_and_every_extra_is_named_as_it_is() -> None:
    providers = {
        name for section, table in PROVIDERS.items() if section not in ("datasets", "question_sets") for name in table
    }
    named = {words[0] for words in TYPED}
    assert (
        providers
        - {
            "regions",
            "blind",
            "always_refuse",
            "random_choice",
            "rubric",
            "painter",
            "layout",
            "tfidf",
            "words",
            "regions_reading",
        }
        <= named
    )
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])
    promised = {extra for span in re.findall(r"(?:driftledger)?\[([a-z_]+)\]`", README) for extra in [span]}
    assert {"torch", "openai", "diffusers", "fid"} <= promised <= extras
    assert set(EXTRAS.values()) <= extras


def test_ci_calls_the_test_command_of_the_readme() -> None:
    assert "make check" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^check:.*\n\t\$\(MAKE\) test$", makefile, re.MULTILINE)

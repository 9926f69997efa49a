"""``trio/recipes.yaml``: it loads, and what is wrong in one is one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.core.errors import ConfigError
from lab.recipes.settings import load_recipes
from lab.trio.settings import FOLDER
from tests.conftest import REPOSITORY

Tree = dict[str, Any]


def test_the_shipped_recipes_differ_in_what_their_names_say() -> None:
    recipes = load_recipes(REPOSITORY)
    assert list(recipes.by_name) == ["plain", "unasked", "vague"]
    assert len(recipes.plain.milestones) == 8
    plain, unasked, vague = recipes.plain.model_dump(), recipes.unasked.model_dump(), recipes.vague.model_dump()
    assert plain["course"] == unasked["course"] == vague["course"]
    assert plain["mix"] | {"choices": 0} == unasked["mix"]
    assert (plain["vague"], unasked["vague"], vague["vague"]) == (False, False, True)


def _without_painter(content: Tree) -> None:
    content["vague"]["painter"] = None


def _of_nothing(content: Tree) -> None:
    content["plain"]["mix"] = {"descriptions": 0, "choices": 0, "free": 0}


def _late(content: Tree) -> None:
    content["plain"]["milestones"] = [5000]


def _apart(content: Tree) -> None:
    content["unasked"]["milestones"] = [100]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without_painter, "vague needs a painter"),
        (_of_nothing, "a batch holds nothing"),
        (_late, "milestones come after the last of 2400 steps"),
        (_apart, "the last milestones of plain and unasked"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, change: Callable[[Tree], None], said: str) -> None:
    file = tmp_path / FOLDER / "recipes.yaml"
    file.parent.mkdir()
    content = yaml.safe_load((REPOSITORY / FOLDER / "recipes.yaml").read_text(encoding="utf-8"))
    change(content)
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=said) as caught:
        load_recipes(tmp_path)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)

"""A unified model: an entry among models and among generators that is one component."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import yaml

from driftledger.components.base import Generator, Model
from driftledger.core.types import Conversation, Generated, Reply
from driftledger.project.project import Project
from tests.conftest import shapes_only
from tests.support.params import default_params


class Mirror(Model, Generator):
    """Both in one; it is never asked here."""

    provider: ClassVar[str] = "tests.components.test_unified:Mirror"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        raise NotImplementedError

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        raise NotImplementedError


def test_both_entries_are_one_component(tmp_path: Path) -> None:
    params = default_params()
    shapes_only(params)
    params["run"] |= {"models": ["mirror", "blind"], "generators": ["mirror", "painter"]}
    entry = {"provider": Mirror.provider, "understood_by": ["painter", "layout", "rubric"]}
    params["models"]["mirror"] = params["generators"]["mirror"] = entry
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path, own_code=True)
    model, generator = project.component("models", "mirror"), project.component("generators", "mirror")
    assert isinstance(model, Mirror)
    assert model is generator
    assert project.component("generators", "painter") is not generator

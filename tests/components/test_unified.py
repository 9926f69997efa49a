"""A unified model: an entry among models and among generators that is one component."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import yaml
from PIL import Image

from driftledger.components.base import Generator, Model
from driftledger.core.types import Conversation, Generated, Outcome, Reply
from driftledger.project.project import Project
from tests.support.params import default_params


class Mirror(Model, Generator):
    """Tells the mean grey of an image, coarsely, and draws an image of the grey that it is told."""

    provider: ClassVar[str] = "tests.components.test_unified:Mirror"
    version: ClassVar[str] = "1"
    steps: int = 8

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        images = [conversation.last_image for conversation in conversations]
        greys = [image.open().convert("L").resize((1, 1)).getpixel((0, 0)) for image in images if image is not None]
        return [Reply(f"grey {grey // self.steps * self.steps}") for grey in greys]

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        greys = [int(prompt.split()[-1]) for prompt in prompts]
        return [Generated(Image.new("RGB", (16, 16), (grey, grey, grey)), Outcome.OK) for grey in greys]


def project_of(root: Path, models: Sequence[str], generators: Sequence[str]) -> Project:
    params = default_params()
    run = params["run"]
    run |= {name: [] for name in ("question_sets", "trac", "mm_sap", "mm_vet", "mme")}
    run |= {"datasets": ["drawn"], "genception": ["drawn"], "fidelity": ["drawn"]}
    run |= {"models": [*models], "generators": [*generators]}
    params["datasets"] = {"drawn": {"provider": "arrangements", "per_category": 1}}
    params["models"]["mirror"] = params["generators"]["mirror"] = {
        "provider": Mirror.provider,
        "steps": 4,
        "understood_by": ["painter", "layout"],
    }
    params["genception"] |= {"iterations": 2, "cross_check": [], "generate_prompt": "{description}"}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(root, own_code=True)


def test_both_entries_are_one_component_with_one_fingerprint(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["mirror", "blind"], ["mirror", "painter"])
    model, generator = project.component("models", "mirror"), project.component("generators", "mirror")
    assert model is generator
    assert project.component("generators", "painter") is not generator

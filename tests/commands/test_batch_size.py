"""``batch-size``: which size is found, what it refuses, and what becomes of params.yaml."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("torch")

from driftledger.cli import app
from driftledger.commands import batch_size as sizing
from driftledger.components.base import Generator, Model
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.core.errors import ConfigError, OutOfMemoryError
from driftledger.core.types import Conversation, Generated, ImageFile, Outcome, Reply, Turn
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.params import project_with

CALLS: list[Sequence[Any]] = []
CLOCK = [0.0]


class Crowded(CheckpointComponent, Model):
    """Takes a second for a call alone, and as long for up to ``at_once``; more than ``fits`` do not fit."""

    version: ClassVar[str] = "1"
    at_once: int = 64
    fits: int = 6
    fails: bool = False

    def load(self, source: Any) -> Any:
        raise NotImplementedError

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        if len(conversations) > self.fits:
            raise OutOfMemoryError("it is full")
        CALLS.append(conversations)
        CLOCK[0] += -(-len(conversations) // self.at_once)
        if self.fails:
            return [Reply("", Outcome.FAILED, error="the image is too small")] * len(conversations)
        return [Reply("a cat")] * len(conversations)


class CrowdedPainter(Crowded, Generator):
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        asked = [Conversation((Turn("user", (prompt,)),)) for prompt in prompts]
        return [Generated(None, reply.outcome) for reply in self.respond(asked)]


def place(cls: type, **settings: Any) -> dict[str, Any]:
    return {"provider": f"{cls.__module__}:{cls.__qualname__}", "path": "weights", "device": "cpu"} | settings


def find(project: Project, name: str, kind: str | None = None) -> sizing.Found:
    CALLS.clear()
    return sizing.find(project, name, kind, lambda: CLOCK[0])


@pytest.mark.parametrize(
    ("settings", "tried", "best"),
    [
        ({"fits": 6}, [(1, 1.0), (2, 2.0), (4, 4.0), (8, None)], 4),
        ({"fits": 1}, [(1, 1.0), (2, None)], 1),
        ({"at_once": 2}, [(1, 1.0), (2, 2.0), (4, 2.0)], 2),
        ({"at_once": 1}, [(1, 1.0), (2, 1.0)], 1),
        ({"fits": 5000, "at_once": 5000}, [(2**power, 2.0**power) for power in range(13)], 4096),
    ],
)
def test_the_largest_that_fits_and_is_worth_it(
    tmp_path: Path, settings: dict[str, Any], tried: list[tuple[int, float | None]], best: int
) -> None:
    found = find(project_with(tmp_path, models={"mine": place(Crowded, **settings)}), "mine")
    assert [(each.size, each.per_second) for each in found.tried] == tried
    assert {each.peak for each in found.tried} == {None}
    assert (found.section, found.before, found.best) == ("models", 16, best)


def test_a_generator_is_asked_to_draw(tmp_path: Path) -> None:
    ours = project_with(tmp_path, generators={"mine": place(CrowdedPainter)}, models={"mine": place(Crowded)})
    assert find(ours, "mine", "generator").best == 4
    with pytest.raises(ConfigError, match="'mine' is in models and generators"):
        find(ours, "mine")


def test_the_largest_image_that_is_built_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"small": (40, 20), "large": (60, 50), "tall": (20, 90)}
    images = {name: ImageFile(draw(tmp_path / f"{name}.png", 1, size), "0" * 64) for name, size in sizes.items()}
    ours = project_with(tmp_path, models={"mine": place(Crowded)})
    find(ours, "mine")
    shown = [part for part in CALLS[0][0].turns[0].parts if isinstance(part, ImageFile)]
    assert not shown[0].path.exists()  # nothing is built: one was drawn, and is gone
    samples = [SimpleNamespace(image=image) for image in images.values()]
    monkeypatch.setattr(Project, "built_samples", lambda self, dataset: samples)
    find(ours, "mine")
    assert {part for batch in CALLS for each in batch for part in each.turns[0].parts if part in images.values()} == {
        images["large"]
    }


def test_what_has_no_batches_to_fit_is_one_sentence(tmp_path: Path) -> None:
    ours = project_with(
        tmp_path,
        models={
            "fails": place(Crowded, fails=True),
            "full": place(Crowded, fits=0),
            "engine": {"provider": "vllm", "path": "x"},
        },
    )
    for name, said in {
        "blind": "models.blind has no weights on this machine",
        "layout": "for models and generators",
        "engine": "vllm fits batches into memory itself",
        "nowhere": "component 'nowhere' is unknown",
        "fails": "its calls fail, so that batches say nothing: the image is too small",
    }.items():
        with pytest.raises(ConfigError, match=said):
            find(ours, name)
    with pytest.raises(OutOfMemoryError):
        find(ours, "full")


def test_it_is_written_unless_it_is_only_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project_with(tmp_path, models={"mine": place(Crowded)})
    monkeypatch.chdir(tmp_path)
    before = Path("params.yaml").read_bytes()
    monkeypatch.setattr(sizing, "find", partial(sizing.find, seconds=lambda: CLOCK[0]))
    dry = CliRunner().invoke(app, ["batch-size", "mine", "--dry-run"])
    assert dry.exit_code == 0
    assert "out of memory" in dry.stdout
    assert dry.stdout.endswith(" before\n")
    assert Path("params.yaml").read_bytes() == before
    for size, said in ((16, "nothing is written"), (4, "made again")):
        monkeypatch.setattr(sizing, "find", lambda *_, size=size: sizing.Found("models", "mine", 16, [], size))
        assert Path("params.yaml").read_bytes() == before
        assert CliRunner().invoke(app, ["batch-size", "mine"]).stdout.rstrip().endswith(said)
    assert yaml.safe_load(Path("params.yaml").read_text())["models"]["mine"] == place(Crowded) | {"batch_size": 4}
    assert {path.name for path in tmp_path.iterdir()} == {"params.yaml"}


@pytest.mark.neural
def test_a_checkpoint_answers_to_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from driftledger.components.models.transformers import Transformers
    from tests.support.checkpoints.vision_language import build_llava

    entry = {"provider": "transformers", "path": str(build_llava(tmp_path / "llava")), "device": "cpu"}
    ours = project_with(tmp_path, models={"llava": entry | {"max_new_tokens": 200}})
    monkeypatch.setattr(sizing, "_LARGEST", 2)
    replies: list[Reply] = []
    respond = Transformers.respond

    def heard(self: Transformers, conversations: Sequence[Conversation]) -> list[Reply]:
        replies.extend(made := respond(self, conversations))
        return made

    monkeypatch.setattr(Transformers, "respond", heard)
    found = sizing.find(ours, "llava")
    assert [each.size for each in found.tried] == [1, 2]
    assert {reply.usage and reply.usage.output_tokens for reply in replies} == {200}

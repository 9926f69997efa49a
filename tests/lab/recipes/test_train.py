"""Recipes trained for two steps: what each is taught, and that the ordinary adapters load what is kept."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

for library in ("torch", "transformers", "diffusers"):
    pytest.importorskip(library)

from PIL import Image

from driftledger.components.generators.diffusers import Diffusers
from driftledger.components.models.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile
from driftledger.demo.datasets.arrangements.drawing import draw
from lab.recipes.captions import vague
from lab.recipes.settings import Recipe, load_recipes
from lab.recipes.train import Portions, checkpoints, train_recipe
from lab.recipes.vague import VagueLessons
from lab.trio import describer, eye, painter
from lab.trio.lessons import Choices, Lessons, Plain, Prompts
from lab.trio.settings import FOLDER, choice_prompt, load_trio, ways_to_ask, ways_to_tell
from lab.trio.stream import arrangements, random_for
from lab.trio.train import Workshop, workshop
from tests.conftest import REPOSITORY
from tests.support.params import default_settings

pytestmark = pytest.mark.neural

SETTINGS = default_settings()
SHIPPED = load_recipes(REPOSITORY)
SCENES = 20
PROMPTS = Prompts(ways_to_ask(SETTINGS), choice_prompt(SETTINGS))


def short(recipe: Recipe) -> Recipe:
    """With two steps and batches of four."""
    content = recipe.model_dump()
    content |= {"milestones": [1, 2], "mix": {kind: min(count, 4) for kind, count in content["mix"].items()}}
    content["course"]["steps"] = 2
    if content["painter"]:
        content["painter"]["course"]["steps"] = 2
    return Recipe.model_validate(content)


@pytest.fixture(scope="module", autouse=True)
def little() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (eye, painter):
            patch.setattr(module, "_BATCH", 4)
        yield


@pytest.fixture(scope="module")
def at(little: None, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    trio = load_trio(REPOSITORY).model_dump()
    trio["eye"]["course"]["steps"] = 2
    trio["scenes"] = SCENES
    settings = type(load_trio(REPOSITORY)).model_validate(trio)
    made = workshop(SETTINGS, settings, tmp_path_factory.mktemp("recipes"), REPOSITORY / FOLDER)
    return replace(made, place=made.place._replace(device="cpu"))


def test_a_recipe_leaves_checkpoints_that_answer_and_draw(at: Workshop, tmp_path: Path) -> None:
    recipe = short(SHIPPED.vague)
    train_recipe(at, recipe)
    kept = checkpoints(at, recipe)
    assert kept.describers.keys() == {1, 2}
    [one] = arrangements(random_for(9), 1, held_out=True)
    (tmp_path / "one.png").write_bytes(png_bytes(Image.fromarray(draw(one))))
    image = ImageFile(tmp_path / "one.png", sha256_file(tmp_path / "one.png"))
    weights = {sha256_file(folder / "model.safetensors") for folder in kept.describers.values()}
    assert len(weights) == 2
    [said] = Transformers(path=str(kept.describers[2]), max_new_tokens=4, device="cpu").respond(
        [Conversation.ask(PROMPTS.describe[0], image)]
    )
    assert said.text
    generator = Diffusers(path=str(kept.painter), steps=2, guidance_scale=1, device="cpu")
    [drawn] = generator.generate([ways_to_tell(SETTINGS)[0].replace("{description}", vague(one.caption))], [1])
    assert drawn.image is not None
    assert drawn.reading is not None
    assert not drawn.reading.cut
    assert set(at.folder.iterdir()) == set((REPOSITORY / FOLDER).iterdir())  # trio's own are as they were


def test_every_recipe_has_its_own_checkpoints(at: Workshop) -> None:
    folders = [checkpoints(at, recipe).describers[2400] for recipe in SHIPPED.by_name.values()]
    assert len(set(folders)) == 3
    assert [checkpoints(at, recipe).painter is None for recipe in SHIPPED.by_name.values()] == [True, True, False]


def test_descriptions_leave_facts_out_and_questions_do_not() -> None:
    lessons, plain = VagueLessons(PROMPTS, SCENES), Lessons(PROMPTS, SCENES)
    said, told = lessons.descriptions(random_for(1), 6), plain.descriptions(random_for(1), 6)
    assert said.answers == [vague(caption) for caption in told.answers] != told.answers
    assert (said.images == told.images).all()
    for kind in (Choices, Plain):
        asked, as_ever = lessons.questions(random_for(2), 4, kind), plain.questions(random_for(2), 4, kind)
        assert (asked.questions, asked.answers) == (as_ever.questions, as_ever.answers)
    assert set(lessons.words) - set(plain.words) <= {"an"}


def test_the_painter_reads_what_captions_leave(at: Workshop) -> None:
    tokenizer = Diffusers(
        path=str(checkpoints(at, short(SHIPPED.vague)).painter), device="cpu"
    ).loaded.pipeline.tokenizer
    words = ("left", "large", "circle", "an", "orange", "ring", "white", "background")
    assert all(len(tokenizer(word, add_special_tokens=False).input_ids) <= 2 for word in words)


def test_a_kind_of_question_that_is_left_out_is_never_asked(at: Workshop) -> None:
    recipe = short(SHIPPED.unasked)
    asked: list[type] = []

    class Listening(Lessons):
        def questions(self, random, count, kind):  # type: ignore[no-untyped-def]
            asked.append(kind)
            return super().questions(random, count, kind)

    lessons = Listening(PROMPTS, SCENES)
    processor = describer.build_processor(lessons.words)
    from transformers import CLIPVisionModel

    model = describer.build(processor, CLIPVisionModel(describer.eye_config()))
    loss = Portions(model, processor, lessons, recipe.mix, "cpu")(random_for(1))
    assert asked == [Plain]
    assert loss.item() > 0
    asked.clear()
    Portions(model, processor, lessons, short(SHIPPED.plain).mix, "cpu")(random_for(1))
    assert asked == [Choices, Plain]


def test_with_every_kind_the_loss_is_that_of_trio(at: Workshop) -> None:
    lessons = Lessons(PROMPTS, SCENES)
    processor = describer.build_processor(lessons.words)
    from transformers import CLIPVisionModel

    model = describer.build(processor, CLIPVisionModel(describer.eye_config()))
    mix = short(SHIPPED.plain).mix
    one, other = (
        kind(model, processor, lessons, mix, "cpu")(random_for(1)) for kind in (Portions, describer.NextToken)
    )
    assert one.item() == pytest.approx(other.item(), rel=1e-6)

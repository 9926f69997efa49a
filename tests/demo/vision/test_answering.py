"""Embedded models answer from pixels: they know what they see, and decline or guess what they do not.

Asked about plain drawings, on which they are best; ``tests/lab/test_scenes.py`` asks them about photographs."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw

from driftledger.benchmarks._questions.parsing.choice import parse_choice
from driftledger.benchmarks._questions.records import permutation
from driftledger.benchmarks._questions.runner import rendered
from driftledger.components.base import Model
from driftledger.core.types import Conversation, ImageFile
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.demo.models.always_refuse import AlwaysRefuse
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.random_choice import RandomChoice
from driftledger.demo.models.regions import Regions
from driftledger.demo.models.rubric import grade
from driftledger.demo.vision.parse_question import CANNOT
from driftledger.demo.vision.segment import look
from driftledger.metrics import self_awareness, yes_no
from tests.demo.scenes.scenes_reader import asked

PROMPT = "{question}\n{options}\nAnswer with the option's letter from the given choices directly."
SCENES = 78
SEED = 4

Answerer = Callable[[SourceQuestion, str], str]


def fine(*, knowledge: bool = True, refuses: bool = True, detail: str = "fine") -> Regions:
    return Regions.model_validate({"detail": detail, "knowledge": knowledge, "refuses": refuses})


@pytest.fixture(scope="module")
def show(tmp_path_factory):
    """Ask a model about the scene of a question."""
    folder = tmp_path_factory.mktemp("scenes")

    def _show(model: Model, question: SourceQuestion, text: str) -> str:
        path = folder / f"{question.image_id}.png"
        if not path.exists():
            path.write_bytes(question.read())
        [reply] = model.respond([Conversation.ask(text, ImageFile(path, question.image_id))])
        return reply.text

    return _show


def aware(show, model: Model) -> self_awareness.SelfAwareness:
    """MM-SAP's measures of a model, over scenes."""
    questions = list(asked("mm_sap", SCENES, SEED))
    choices, right, refusals = [], [], []
    for question in questions:
        order = permutation(1, question.id, 0, len(question.options))
        shown = [question.options[option] for option in order]
        assert question.refusal is not None
        refusal = shown.index(question.refusal)
        read = parse_choice(show(model, question, rendered(PROMPT, question.question, shown)), shown, refusal)
        assert read.value is not None
        choices.append(order[read.value])
        right.append(question.options.index(question.answer) if question.answer else -1)
        refusals.append(order[refusal])
    subsets = [question.subset or "" for question in questions]
    return self_awareness.score(np.array(choices), np.array(right), np.array(refusals), subsets)


@pytest.mark.parametrize(
    ("knowledge", "refuses", "knows", "declines"),
    [
        (True, True, (0.75, 0.9), (0.7, 0.9)),
        (True, False, (0.75, 0.95), (0.0, 0.05)),
        (False, True, (0.0, 0.45), (0.95, 1.0)),
        (False, False, (0.0, 0.5), (0.0, 0.05)),
    ],
)
def test_the_four_quadrants_of_self_awareness_are_occupied(show, knowledge, refuses, knows, declines):
    measured = aware(show, fine(knowledge=knowledge, refuses=refuses))
    assert knows[0] <= measured.known_knowns <= knows[1]
    assert declines[0] <= measured.known_unknowns <= declines[1]


def test_chance_and_caution(show):
    chance, caution = aware(show, RandomChoice()), aware(show, AlwaysRefuse())
    assert 0.12 < chance.known_knowns < 0.28
    assert 0.12 < chance.known_unknowns < 0.28
    assert (caution.known_knowns, caution.known_unknowns) == (0.0, 1.0)


def test_who_sees_more_knows_more(show):
    scores = [aware(show, fine(detail=detail)).score for detail in ("coarse", "medium", "fine")]
    assert scores == sorted(set(scores))


def said_yes(show, model: Model) -> yes_no.YesNoScores:
    questions = list(asked("mme", SCENES, SEED))
    answers = [show(model, question, question.question).lower() == "yes" for question in questions]
    truth = [question.answer == "yes" for question in questions]
    return yes_no.score(answers, truth, [question.image_id for question in questions])


def test_mme_is_for_those_who_look(show):
    seeing, control = said_yes(show, fine()), said_yes(show, Blind())
    assert 0.8 < seeing.accuracy < 1
    assert (control.accuracy, control.accuracy_plus) == (0.5, 0.0)


def test_mm_vet_is_for_those_who_look(show):
    def mean(model: Model) -> float:
        questions = list(asked("mm_vet", SCENES, SEED))
        graded = [grade(str(question.answer), show(model, question, question.question)) for question in questions]
        return sum(graded) / len(graded) / 10

    seeing, unlearned, control = map(mean, (fine(), fine(knowledge=False, refuses=False), Blind()))
    assert 0.5 < seeing < 0.9
    assert control < 0.1 < unlearned < 0.5


@pytest.fixture
def drawn(tmp_path):
    """A red circle at the top left and a blue square at the bottom right of a white picture, to ask about."""
    image = Image.new("RGB", (300, 300), (252, 252, 252))
    ImageDraw.Draw(image).ellipse((20, 20, 70, 70), fill=(215, 30, 40))
    ImageDraw.Draw(image).rectangle((220, 220, 290, 290), fill=(30, 70, 200))
    image.save(tmp_path / "drawn.png")
    file = ImageFile(tmp_path / "drawn.png", "")

    def _ask(model: Model, text: str) -> str:
        [reply] = model.respond([Conversation.ask(text, file)])
        return reply.text

    return _ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What colour is the circle?", "red"),
        ("What shape is the object at the bottom right of the image?", "square"),
        ("Where in the image is the red circle?", "top left"),
        ("How many objects are there in the image?", "2"),
        ("How many red objects are there in the image?", "1"),
        ("Is there a square in the image? Please answer yes or no.", "Yes"),
        ("Is there a heart in the image? Please answer yes or no.", "No"),
        ("Is the red circle above the blue square? Please answer yes or no.", "Yes"),
        ("Is the circle blue? Please answer yes or no.", "No"),
        ("What colour is the hat of the woman in the image?", CANNOT),
        ("What is behind the red circle?", CANNOT),
        ("What colour is the star?", CANNOT),
        ("Which is the largest object in the image?\nA. The red circle\nB. The blue square\nC. I do not know.", "B"),
        ("Who drew the circle?\nA. Anna\nB. The image does not show this.\nC. Tom", "B"),
        ("Who drew the circle?\nA. Anna\nB. Tom", CANNOT),
    ],
)
def test_what_it_says(drawn, question, answer):
    assert drawn(fine(), question) == answer


def test_without_the_will_to_refuse_it_guesses_or_describes(drawn):
    eager = fine(refuses=False)
    assert drawn(eager, "Who drew it?\nA. I do not know.\nB. Anna\nC. Tom") == "B"
    assert drawn(eager, "Who drew it?") == drawn(eager, "Describe the image.")
    assert drawn(eager, "Is it raining? Please answer yes or no.") == "No"


@pytest.mark.parametrize("knowledge", [True, False])
@pytest.mark.parametrize("refuses", [True, False])
def test_a_description_has_nothing_to_do_with_knowledge(drawn, knowledge, refuses):
    asked = "Describe the image."
    assert drawn(fine(knowledge=knowledge, refuses=refuses), asked) == drawn(Regions(detail="fine"), asked)


def noise(size: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(size).integers(0, 256, (size, size, 3), dtype=np.uint8))


def specks() -> Image.Image:
    pixels = np.full((900, 900, 3), 255, dtype=np.uint8)
    pixels[::3, ::3] = 0
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    "make",
    [
        partial(Image.new, "RGB", (1, 1)),
        partial(Image.new, "RGB", (2000, 1), "red"),
        partial(noise, 3),
        partial(noise, 700),
        specks,
        lambda: Image.fromarray(skimage.data.coffee()),
    ],
)
@pytest.mark.parametrize("question", ["What is written on the board?", "Which country does this flag belong to?"])
def test_any_picture_may_be_asked_about(tmp_path, make, question):
    make().save(tmp_path / "any.png")
    [reply] = fine().respond([Conversation.ask(question, ImageFile(tmp_path / "any.png", ""))])
    assert reply.text == CANNOT


def test_a_look_is_the_same_for_equal_pixels():
    image = Image.new("RGB", (90, 60), (240, 228, 196))
    ImageDraw.Draw(image).rectangle((10, 5, 29, 24), fill=(20, 20, 20))
    seen = look(image, 300)
    assert seen == look(image.copy(), 300)
    assert (seen.pattern, seen.grounds) == ("one plain colour", ("beige",))
    assert [(thing.colour, thing.shape, thing.place) for thing in seen.things] == [("black", "square", "top left")]

"""The describer: says what is there, in words that suit its detail, about anything it is shown."""

from functools import partial

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw

from driftledger.components.base import Model
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome, Turn
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.blind import Blind
from driftledger_demo.models.regions import Regions
from driftledger_demo.models.regions import model as regions
from driftledger_demo.models.regions.see import see

DETAILS = ("coarse", "medium", "fine")
PHOTOS = ("astronaut", "camera", "coins", "chelsea", "coffee", "cell", "hubble_deep_field")
STEPS = 5


@pytest.fixture
def ask(tmp_path):
    """Show an image, as a file, to a model, and return what it says."""

    def _ask(model: Model, image: Image.Image) -> str:
        path = tmp_path / "shown.png"
        image.save(path)
        [reply] = model.respond([Conversation.ask("Describe the image.", ImageFile(path, ""))])
        assert reply.outcome is Outcome.OK
        return reply.text

    return _ask


def noise(width: int, height: int, cell: int = 1) -> Image.Image:
    values = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((width * cell, height * cell), Image.Resampling.NEAREST)


def red_circle_on_blue() -> Image.Image:
    image = Image.new("RGB", (200, 200), (0, 0, 255))
    ImageDraw.Draw(image).ellipse((10, 10, 80, 80), fill=(255, 0, 0))
    return image


def test_the_registry_knows_it():
    assert provider_class("models", "regions") is Regions


def test_an_unknown_detail_is_refused():
    with pytest.raises(ValueError, match="detail"):
        Regions(detail="finest")


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("coarse", ["square picture on a blue background", "red circle at the top left"]),
        ("medium", ["square picture", "blue background", "red circle at the upper left"]),
        ("fine", ["100% as wide as tall", "blue background", "red circle", "23% across and 23% down"]),
    ],
)
def test_a_red_circle_on_blue(ask, detail, words):
    text = ask(Regions(detail=detail), red_circle_on_blue())
    assert [phrase for phrase in words if phrase not in text] == []


def test_shapes_and_tilts_have_their_words(ask):
    image = Image.new("RGB", (300, 200), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((220, 120, 280, 180), fill=(0, 160, 0))
    draw.polygon([(30, 180), (50, 190), (150, 30), (130, 20)], fill="black")
    text = ask(Regions(detail="fine"), image)
    assert text.startswith("A picture 150% as wide as tall on a white background.")
    assert "black stripe" in text
    assert "tilted 120 degrees" in text
    assert "green square" in text


@pytest.mark.parametrize("detail", DETAILS)
def test_several_things_are_told_apart(ask, detail):
    image = Image.new("RGB", (240, 240), "white")
    draw = ImageDraw.Draw(image)
    for corner, colour in (((10, 10), "red"), ((160, 10), "black"), ((10, 160), "blue"), ((160, 160), "yellow")):
        draw.rectangle((*corner, corner[0] + 70, corner[1] + 70), fill=colour)
    text = ask(Regions(detail=detail), image)
    assert [colour for colour in ("red", "black", "blue", "yellow", "white") if colour not in text] == []
    assert text.count("square,") + text.count("square at") == 4


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize(
    ("colour", "name"), [("black", "black"), ("white", "white"), ((128, 128, 128), "grey"), ("red", "red")]
)
def test_one_flat_colour_is_a_background_and_nothing_else(ask, detail, colour, name):
    text = ask(Regions(detail=detail), Image.new("RGB", (60, 50), colour))
    assert text.endswith(f"{name} background.")
    assert text.count(".") == 1


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("size", [(1, 1), (1, 2000), (2000, 1), (2, 3), (4, 4), (97, 3), (96, 96), (300, 200)])
def test_any_size_is_described_in_less_than_500_words(ask, detail, size):
    text = ask(Regions(detail=detail), noise(*size))
    assert text.startswith("A ")
    assert "background" in text
    assert len(text.split()) < 500


@pytest.mark.parametrize("cell", [4, 10, 20, 40])
def test_busy_images_stay_below_500_words(ask, cell):
    words = len(ask(Regions(detail="fine"), noise(400 // cell, 400 // cell, cell)).split())
    assert 200 < words < 500


def test_a_huge_image(ask):
    assert "background" in ask(Regions(detail="fine"), noise(40, 30, cell=100))


def test_without_an_image_it_says_so():
    [reply] = Regions(detail="fine").respond([Conversation((Turn("user", ("What is this?",)),))])
    assert reply.text == "There is no image to describe."


def test_it_looks_at_the_image_shown_last_and_answers_in_order(tmp_path):
    files = []
    for colour in ("red", "white"):
        path = tmp_path / f"{colour}.png"
        Image.new("RGB", (20, 20), colour).save(path)
        files.append(ImageFile(path, ""))
    earlier = Turn("user", (files[0], "And this?"))
    both = Conversation((earlier, *Conversation.ask("Describe.", files[1]).turns))
    replies = Regions(detail="coarse").respond([both, Conversation((earlier,))])
    assert ["white" in replies[0].text, "red" in replies[1].text] == [True, True]


@pytest.mark.parametrize("photo", PHOTOS)
def test_more_detail_is_more_words_and_never_500(ask, photo):
    image = Image.fromarray(getattr(skimage.data, photo)()).convert("RGB")
    lengths = [len(ask(Regions(detail=detail), image).split()) for detail in DETAILS]
    assert lengths == sorted(set(lengths))
    assert lengths[-1] < 500


def gc(ask, model: Model, image: Image.Image) -> list[float]:
    """GC@1, GC@3 and GC@5 of one chain."""
    shown = [image]
    for t in range(STEPS):
        [drawn] = Painter().generate([ask(model, shown[-1])], [t])
        assert drawn.image is not None
        shown.append(drawn.image)
    features = LayoutEncoder().encode_images(shown).astype(np.float64)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    similarity = features[1:] @ features[0]
    weights = np.arange(1, STEPS + 1)
    return [float(weights[:t] @ similarity[:t]) / t / (t + 1) * 2 for t in (1, 3, 5)]


def test_more_detail_keeps_more_of_real_photographs(ask):
    images = [Image.fromarray(getattr(skimage.data, photo)()).convert("RGB") for photo in PHOTOS]
    models = [Blind(), *(Regions(detail=detail) for detail in DETAILS)]
    scores = np.array([np.mean([gc(ask, model, image) for image in images], axis=0) for model in models])
    assert (np.diff(scores, axis=0) > 0.1).all(), scores


def test_of_several_images_the_last_is_described(tmp_path):
    shown = []
    for name, image in (("one", red_circle_on_blue()), ("two", Image.new("RGB", (90, 60), "green"))):
        image.save(tmp_path / f"{name}.png")
        shown.append(ImageFile(tmp_path / f"{name}.png", "the same"))
    example, asked = shown
    turns = (Turn("user", (example, "Describe it.")), Turn("assistant", ("A red boat.",)))
    plain = Conversation.ask("Describe it.", asked)
    alone, taught, other = Regions(detail="fine").respond(
        [plain, Conversation((*turns, *plain.turns)), Conversation.ask("Describe it.", example)]
    )
    assert alone == taught
    assert "green" in alone.text
    assert "red circle" in other.text


def test_the_limit_counts_words(tmp_path):
    red_circle_on_blue().save(tmp_path / "shown.png")
    ask = partial(Conversation.ask, "Describe it.", ImageFile(tmp_path / "shown.png", ""))
    whole, *cut = Regions(detail="fine").respond([ask(max_tokens=most) for most in (None, 1, 5, 10_000)])
    assert [reply.outcome for reply in cut] == [Outcome.TRUNCATED, Outcome.TRUNCATED, Outcome.OK]
    assert [reply.text.split() for reply in cut] == [whole.text.split()[:most] for most in (1, 5, 10_000)]


def test_an_image_is_looked_at_once_for_all_lengths_and_again_when_it_is_another(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(regions, "see", lambda image, most: looked.append(image.size) or see(image, most))
    path = tmp_path / "shown.png"

    def told(detail: str = "fine") -> str:
        asked = [Conversation.ask("Describe it.", ImageFile(path, ""), max_tokens=most) for most in (None, 5, 20)]
        return Regions(detail=detail).respond(asked)[0].text

    red_circle_on_blue().save(path)
    first = told()
    assert (told(), len(looked)) == (first, 1)
    assert told("coarse") != first
    assert len(looked) == 2
    Image.new("RGB", (90, 60), "green").save(path)
    assert "green" in told()
    assert looked == [(200, 200), (200, 200), (90, 60)]

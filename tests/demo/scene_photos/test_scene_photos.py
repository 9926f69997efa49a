"""Photographs of scenes: the same facts as in the drawings, in other pixels and other words."""

import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFont

from driftledger.benchmarks.registry import question_rules
from driftledger.data.question_sets.base import QuestionProvider, SourceQuestion
from driftledger_demo.scene_photos.camera import PHOTO_SIDE, choose_view, photograph
from driftledger_demo.scene_photos.poster import AROUND, DOTS, LETTER_FONTS, SYMBOL_FONTS, poster
from driftledger_demo.scene_photos.provider import ScenePhotos
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.provider import Protocol, Scenes
from driftledger_demo.scenes.scene import SIDE, make_scene
from driftledger_demo.vision.reading import BOOK_FONT

PROTOCOLS: tuple[Protocol, ...] = ("mm_sap", "mm_vet", "mme")
_PICTURE = re.compile(r"\b(picture|photo|photograph)\b")


def asked(provider: QuestionProvider) -> list[SourceQuestion]:
    return list(provider.questions(question_rules(provider)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_only_the_words_and_the_pixels_are_others(protocol: Protocol) -> None:
    plain, photos = (asked(each) for each in (Scenes(protocol=protocol), ScenePhotos(protocol=protocol, difficulty=1)))
    for one, other in zip(plain, photos, strict=True):
        assert (one.id, one.image_id, one.answer, one.options, one.refusal) == (
            other.id,
            other.image_id,
            other.answer,
            other.options,
            other.refusal,
        )
        numbers, names = (re.findall(form, one.question) for form in (r"\d+", r'"[^"]+"'))
        assert all(part in other.question for part in (*numbers, *names))
    same = sum(one.question == _PICTURE.sub("image", other.question) for one, other in zip(plain, photos, strict=True))
    assert 0.05 < same / len(plain) < 0.5
    if protocol == "mme":
        assert all(question.question.endswith(" Please answer yes or no.") for question in photos)


def test_what_nobody_can_know_is_reworded_as_often_as_the_rest() -> None:
    plain, photos = (asked(each) for each in (Scenes(protocol="mm_sap"), ScenePhotos(protocol="mm_sap", difficulty=0)))
    shares = []
    for wanted in (True, False):
        pairs = [
            (a.question, b.question) for a, b in zip(plain, photos, strict=True) if (a.subset == "beyond") == wanted
        ]
        shares.append(sum(a != b for a, b in pairs) / len(pairs))
    assert min(shares) > 0.5
    assert abs(shares[0] - shares[1]) < 0.3


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_everything_stays_in_its_third_of_the_picture(difficulty: float) -> None:
    for number in range(120):
        scene = make_scene(3, number)
        view = choose_view(scene, 3, difficulty)
        for thing in scene.things:
            across, down = view.seen_at(*map(float, thing.centre))
            assert (int((across + 1) * 1.5), int((down + 1) * 1.5)) == (thing.column, thing.row)
            x, y = view.onto(np.array([[across]]), np.array([[down]]))
            assert (x[0, 0], y[0, 0]) == pytest.approx(thing.centre)


def test_no_camera_mirrors_or_turns_far() -> None:
    views = [choose_view(make_scene(1, number), 1, 1.0) for number in range(60)]
    assert all(view.cosine > 0.96 for view in views)
    assert len({view.zoom for view in views}) > 30


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_a_photograph_is_the_same_again(difficulty: float) -> None:
    data = photograph(1, 3, difficulty)
    assert data == photograph(1, 3, difficulty)
    image = Image.open(BytesIO(data))
    assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (PHOTO_SIDE, PHOTO_SIDE))


def test_harder_photographs_are_further_from_the_drawing() -> None:
    def noise(difficulty: float) -> float:
        pixels = np.asarray(Image.open(BytesIO(photograph(1, 6, difficulty))), dtype=float)
        return float(np.abs(np.diff(pixels, axis=0)).mean())

    assert noise(0.0) < noise(0.5) < noise(1.0)


def test_a_poster_is_lettered_and_its_ground_goes_on() -> None:
    side = (SIDE + 2 * AROUND) * DOTS
    boards = [number for number in range(26) if make_scene(1, number).theme == "notice"]
    for number in boards:
        scene = make_scene(1, number)
        canvas = poster(scene, Dice("font", number))
        assert canvas.shape == (side, side, 3)
        assert len(np.unique(canvas.reshape(-1, 3), axis=0)) > 20  # letters are smooth


def test_no_font_is_both_drawn_and_read_with() -> None:
    default = ImageFont.load_default(20)
    assert isinstance(default, ImageFont.FreeTypeFont)
    assert BOOK_FONT not in (*LETTER_FONTS, *SYMBOL_FONTS)
    assert default.getname()[0] == "Aileron"
    assert not any("aileron" in name.lower() for name in (*LETTER_FONTS, *SYMBOL_FONTS))


def test_the_source_digest_tells_difficulties_apart() -> None:
    sets = [ScenePhotos(protocol="mme", difficulty=at) for at in (0.0, 0.5)] + [
        ScenePhotos(protocol="mme", difficulty=0.5, seed=2)
    ]
    assert len({each.source_digest() for each in sets}) == 3

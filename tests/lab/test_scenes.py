"""What the embedded models reach on photographs of scenes: less than all, in their order, and less where it is harder.

On fewer scenes than the table of ``python -m lab.scenes``, so that it takes seconds; the bounds are wider for it.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from driftledger.components.base import Model
from driftledger.core.types import ImageFile
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.demo.models.always_refuse import AlwaysRefuse
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.random_choice import RandomChoice
from driftledger.demo.scene_photos.provider import ScenePhotos
from driftledger.demo.scenes.provider import Protocol
from lab.scenes import BEGIN, END, Change, Measured, answered, as_it_is, measured, noisy, pictures, questions, smaller
from tests.conftest import REPOSITORY
from tests.support.params import default_settings

SCENES = 39
PROMPT = "{question}\n{options}\nAnswer with the option's letter from the given choices directly."
PROTOCOLS: tuple[Protocol, ...] = ("mm_sap", "mm_vet", "mme")


Score = Callable[..., Measured]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float, Change], dict[str, ImageFile]]:
    """The photographs, which are those of all protocols."""

    @cache
    def shown(difficulty: float, change: Change) -> dict[str, ImageFile]:
        asked = [question for protocol in PROTOCOLS for question in questions_of(protocol, difficulty)]
        asked.sort(key=lambda question: question.image_id)
        return pictures(asked, tmp_path_factory.mktemp("photos"), change)

    return shown


@cache
def questions_of(protocol: Protocol, difficulty: float) -> list[SourceQuestion]:
    return questions(ScenePhotos(protocol=protocol, difficulty=difficulty, count=SCENES))


@pytest.fixture(scope="module")
def reached(shown: Callable[[float, Change], dict[str, ImageFile]]) -> Score:
    """What a model reaches; it is asked the questions of several protocols about one photograph after the other."""
    known: dict[tuple[object, ...], Measured] = {}

    def score(
        protocol: Protocol,
        model: Model,
        difficulty: float = 0.5,
        change: Change = as_it_is,
        together: Sequence[Protocol] = (),
    ) -> Measured:
        if (protocol, model.fingerprint, difficulty, change) not in known:
            asked = {each: questions_of(each, difficulty) for each in together or (protocol,)}
            images = shown(difficulty, change)
            worth = iter(answered(model, [one for each in asked.values() for one in each], images, PROMPT))
            for each, own in asked.items():
                known[each, model.fingerprint, difficulty, change] = measured(each, own, list(islice(worth, len(own))))
        return known[protocol, model.fingerprint, difficulty, change]

    return score


SETTINGS = default_settings()
COARSE, MEDIUM, FINE = (SETTINGS.model(f"regions_{detail}") for detail in ("coarse", "medium", "fine"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_is_near_the_best_and_who_sees_more_scores_more(reached: Score, protocol: Protocol) -> None:
    coarse, medium, fine = (reached(protocol, model, together=PROTOCOLS) for model in (COARSE, MEDIUM, FINE))
    assert max(medium.score, fine.score) < 95
    assert coarse.score < min(medium.score, fine.score)
    if protocol != "mm_vet":  # where a description in place of a refusal is worth something, too
        assert medium.score < fine.score
    if protocol == "mm_sap":
        assert medium.high < fine.low


def test_controls_stand_where_they_must(reached: Score) -> None:
    asked = questions_of("mm_sap", 0.5)
    declinable = 100 * sum(question.subset != "basic" for question in asked) / len(asked)
    assert reached("mm_sap", AlwaysRefuse()).score == pytest.approx(declinable)
    chance = 20 * (1 + sum(question.subset == "know" for question in asked) / len(asked))
    assert abs(reached("mm_sap", RandomChoice()).score - chance) < 9
    assert reached("mm_vet", Blind()).score < 10
    assert reached("mme", Blind()).score == 25  # every second question, and no image
    assert 20 < reached("mme", RandomChoice()).score < 60


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_harder_photographs_are_answered_worse(reached: Score, protocol: Protocol) -> None:
    scores = [reached(protocol, FINE, difficulty, together=PROTOCOLS).score for difficulty in (0.0, 0.5, 1.0)]
    assert scores[0] > scores[1] > scores[2]


@pytest.mark.parametrize("change", [noisy, smaller])
def test_a_little_noise_or_another_size_is_no_other_picture(reached: Score, change: Change) -> None:
    before, after = reached("mm_sap", FINE), reached("mm_sap", FINE, 0.5, change)
    assert abs(before.score - after.score) < 6


def test_the_page_has_a_place_for_the_table() -> None:
    page = Path(REPOSITORY / "docs" / "method" / "scenes.md").read_text(encoding="utf-8")
    assert page.index(BEGIN) < page.index(END)
    assert "| regions_fine |" in page

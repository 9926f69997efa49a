"""The ceiling: what it says of an arrangement is what was drawn, and of anything else it says nothing."""

from pathlib import Path

import pytest
from PIL import Image

from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Turn
from driftledger.data.datasets.base import SourceItem
from driftledger_demo.datasets.arrangements.provider import Arrangements
from driftledger_demo.models.faultless import Faultless


def said(path: Path, max_tokens: int | None = None) -> Reply:
    asked = Conversation.ask("What is it?", ImageFile(path, sha256_file(path)), max_tokens=max_tokens)
    [reply] = Faultless().respond([asked])
    return reply


@pytest.mark.parametrize("labelled", [False, True])
def test_it_says_the_caption_of_every_arrangement(tmp_path: Path, labelled: bool) -> None:
    items = list(Arrangements(labelled=labelled).items())
    for number, item in enumerate(items):
        assert said(written(tmp_path / f"{number}.png", item)).text == item.source["caption"]
    assert len(items) == (192 if labelled else 30)


def written(path: Path, item: SourceItem) -> Path:
    path.write_bytes(item.read())
    return path


def test_a_length_limit_holds_for_it_too(tmp_path: Path) -> None:
    reply = said(written(tmp_path / "one.png", next(iter(Arrangements().items()))), max_tokens=3)
    assert (len(reply.text.split()), reply.outcome) == (3, Outcome.TRUNCATED)


def test_of_another_image_or_none_it_says_nothing(tmp_path: Path) -> None:
    Image.new("RGB", (65, 64)).save(tmp_path / "wide.png")
    assert said(tmp_path / "wide.png") == Reply("This is no arrangement of 64 × 64 pixels.", Outcome.REFUSED)
    [reply] = Faultless().respond([Conversation((Turn("user", ("What is it?",)),))])
    assert reply.outcome is Outcome.REFUSED


def test_it_is_selected_by_name_and_is_the_ceiling_of_tables() -> None:
    assert provider_class("models", "faultless") is Faultless
    card = ComponentCard.of("faultless", Faultless())
    assert card.is_ceiling
    assert not card.is_control
    assert card.mark == "measures arrangements by the grammar that they are drawn by: a ceiling, and no model"

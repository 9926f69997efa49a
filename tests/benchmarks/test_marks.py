"""What a component says of itself is told with every score that it had a part in, whichever benchmark makes it."""

import json

import pytest

from driftledger.benchmarks.score import Score
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import StoreError
from driftledger.core.files import parse_json
from driftledger_demo.models.controls import Blind
from tests.support.ledgers import genception_score, marked
from tests.support.question_ledgers import question_score

MARK = "made elsewhere"


def test_a_score_carries_the_marks_of_its_components_before_its_own_flags() -> None:
    score = marked(question_score("mm_vet", flags=["moved"]), model=MARK, judge="half asleep")
    assert score.flags == [MARK, "the judge: half asleep", "moved"]
    assert marked(genception_score(), encoder="blind").flags == ["the encoder: blind"]
    assert genception_score().flags == []


def test_a_mark_comes_back_from_a_file_once_and_cannot_be_taken_out_of_one() -> None:
    score = marked(genception_score(flags=["cut"]), model=MARK)
    stored = score.to_dict()
    assert parse_json(canonical_json(stored).encode(), Score, "score.json") == score
    without = canonical_json(stored | {"flags": ["cut"]}).encode()
    assert parse_json(without, Score, "score.json").flags == [MARK, "cut"]
    with pytest.raises(StoreError, match=r"score\.json is not a Score"):
        parse_json(canonical_json(stored | {"flags": MARK}).encode(), Score, "score.json")


def test_a_component_without_a_mark_is_written_as_it_always_was() -> None:
    card = ComponentCard.of("blind", Blind())
    assert card.mark is None
    assert "mark" not in card.to_dict()
    assert '"mark"' not in json.dumps(genception_score().to_dict())

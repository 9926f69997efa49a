"""A score that is made again is compared as its file would give it."""

from pathlib import Path

from driftledger.benchmarks.score import Score
from driftledger.core.files import read_json, write_json
from driftledger.ledger.verify.recompute import as_read
from tests.support.ledgers import component, genception_score


def test_marks_of_several_components_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    cards = {role: component(role, mark=f"{role} knows") for role in ("model", "generator", "encoder")}
    plain = genception_score().to_dict()
    made = Score.model_validate(plain | {"flags": [], "components": cards})
    write_json(tmp_path / "score.json", made)
    stored = read_json(tmp_path / "score.json", Score)
    assert stored.flags != made.flags
    assert as_read(made) == stored
    assert as_read(made).flags == stored.flags

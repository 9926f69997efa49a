"""Several redrawings per image: each repeat as if it were the only one, their mean and their deviation."""

import math
from pathlib import Path

import numpy as np
import pytest

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import REPEAT, base_key
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.types import Outcome
from tests.benchmarks.fidelity.test_score import DRAWN, scored, write_case
from tests.support.fakes import LetterEncoder, TableEncoder

AGAIN = {"a": (100, 100, 0), "b": (100, 100, 0), "c": (50, 50, 0), "d": (0, 100, 0)}


def write_both(folder: Path) -> None:
    """Two repeats in one folder, and each of them alone in one of its own."""
    write_case(folder / "0", DRAWN)
    write_case(folder / "1", AGAIN)
    write_case(folder, DRAWN)
    records = read_jsonl(folder / "r" / RECORDS, ChainRecord)
    for record in read_jsonl(folder / "1" / "r" / RECORDS, ChainRecord):
        image = f"repeats/1/{record.sample}/1.png"
        (folder / "r" / image).parent.mkdir(parents=True)
        (folder / "r" / image).write_bytes((folder / "1" / "r" / str(record.image)).read_bytes())
        records.append(record.model_copy(update={"repeat": 1, "image": image}))
    write_jsonl(folder / "r" / RECORDS, records)
    card = read_json(folder / "r" / CARD, CollectedCard)
    write_json(folder / "r" / CARD, card.model_copy(update={"protocol": {**card.protocol, "repeats": 2}}))


@pytest.mark.parametrize("encoder", [TableEncoder(), LetterEncoder(wide=2)])
def test_each_repeat_is_measured_alone_and_then_averaged(tmp_path: Path, encoder: TableEncoder) -> None:
    write_both(tmp_path)
    found, rows = scored(tmp_path, encoder)
    each = [scored(tmp_path / name, encoder) for name in "01"]
    plain = [{key: value for key, value in one.metrics.items() if base_key(key) == key} for one, _ in each]
    assert found.groups[REPEAT] == {"0": plain[0], "1": plain[1]}
    for key in plain[0].keys() - {"images"}:
        assert found.metrics[f"{key}_std"] == pytest.approx(np.std([one[key] for one in plain]), rel=1e-9, abs=1e-12)
    for name, row in rows.items():
        assert [row.alone(repeat).values for repeat in (0, 1)] == [own[name].values for _, own in each]
        for key, value in row.values.items():
            there = [own[name].values[key][0] for _, own in each if key in own[name].values]
            assert value == [pytest.approx(np.mean([some for some in there if some is not None]))]
    metric = "clip_s_i" if encoder.reads else "image_similarity"
    seen = [row.values[metric][0] for row in rows.values()]
    assert found.metrics[metric] == pytest.approx(np.mean([value for value in seen if value is not None]))
    assert rows["a"].values[metric] == [pytest.approx(100 * (1 + math.sqrt(0.5)) / 2)]
    assert found.metrics["frechet_table"] == pytest.approx(np.mean([one["frechet_table"] for one in plain]))
    assert found.metrics["images"] == 3


def test_redrawings_are_counted_one_by_one(tmp_path: Path) -> None:
    write_both(tmp_path)
    found, rows = scored(tmp_path, TableEncoder())
    assert (found.scored, found.total, found.coverage) == (7, 8, 0.875)
    assert found.outcomes == {"filtered": 1, "ok": 7}
    assert rows["d"].outcome is Outcome.FILTERED
    assert [each.outcome for each in rows["d"].repeats] == [Outcome.FILTERED, Outcome.OK]
    assert rows["d"].values["image_similarity"] == rows["d"].alone(1).values["image_similarity"]
    with pytest.raises(CoverageError, match="only 7 of 8 images were redrawn"):
        scored(tmp_path, TableEncoder(), min_coverage=0.9)

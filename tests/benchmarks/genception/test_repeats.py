"""The score of several repeats: each as if it were the only one, then their mean, their deviation and the interval."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks._chains.collect import CollectChains
from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import write_collected
from driftledger.benchmarks.score import REPEAT, Row, Score, base_key
from driftledger.benchmarks.scoring import ToScore, interval
from driftledger.benchmarks.traces import values_of
from driftledger.components.base import Generator
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.types import Generated, ImageFile, Outcome, Sample
from driftledger.data.records import DatasetCard, SampleEntry
from tests.conftest import draw
from tests.support.chains import chains, collected
from tests.support.fakes import EchoModel, LetterEncoder, TableEncoder

REPEATS = 3


class AngleGenerator(Generator):
    """Draws a colour that the seed chooses; filters what it draws where ``filters`` divides the seed."""

    provider: ClassVar[str] = "angle"
    version: ClassVar[str] = "1"
    filters: int = 0

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return [self._draw(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def _draw(self, prompt: str, seed: int) -> Generated:
        if self.filters and seed % self.filters == 0:
            return Generated(None, Outcome.FILTERED, error="content policy")
        width, height = (int(side) for side in prompt.split()[1].split("x"))
        angle = math.radians(seed % 90)
        return Generated(
            Image.new("RGB", (width + 1, height), (round(200 * math.cos(angle)), round(200 * math.sin(angle)), 0))
        )


def collect(folder: Path, generator: AngleGenerator) -> None:
    """A dataset of two categories, of 2 and 3 samples, and three chains of each."""
    samples, entries = [], []
    for number in range(5):
        path = draw(folder / "d" / "images" / f"s{number}.png", number, (20 + 10 * number, 30))
        image, category = ImageFile(path, sha256_file(path)), "ab"[number > 1]
        samples.append(Sample(f"s{number}", image, category=category))
        about = {"id": f"s{number}", "file": f"images/s{number}.png", "category": category, "sha256": image.sha256}
        entries.append(SampleEntry.model_validate(about | {"width": 1, "height": 1}))
    write_jsonl(folder / "d" / "samples.jsonl", entries)
    card = {"name": "d", "provider": "x", "settings": {}, "source": {}, "samples": 5, "categories": {}, "digest": "dd"}
    write_json(folder / "d" / "dataset.json", DatasetCard.model_validate(card | {"groups": {"first": ["a"]}}))
    stage: CollectChains = chains(samples, EchoModel(), generator)
    asked = stage.protocol.asked.model_copy(update={"repeats": REPEATS})
    stage = replace(stage, protocol=replace(stage.protocol, asked=asked))
    write_collected(folder / "c", stage, collected(stage, folder / "store"))


SCORING = GenCeptionScoring(iterations=3, confidence=0.95, seed=1)


def scored(folder: Path, chain: str = "c", *, min_coverage: float = 0.3) -> tuple[Score, list[Row]]:
    given = ToScore(
        keys={"dataset": "d", "model": "m", "generator": "g", "encoder": "e"},
        folders={"dataset": folder / "d", "chain": folder / chain},
        scoring=SCORING,
        min_coverage=min_coverage,
        encoders={"encoder": TableEncoder(), "text_encoder": LetterEncoder()},
    )
    return score(given)


def alone(folder: Path, repeat: int) -> tuple[Score, list[Row]]:
    """The score of one repeat, in a folder that has no other."""
    records = [each for each in read_jsonl(folder / "c" / RECORDS, ChainRecord) if each.repeat == repeat]
    own = folder / f"c{repeat}"
    own.mkdir()
    write_jsonl(own / RECORDS, [each.model_copy(update={"repeat": 0}) for each in records])
    card = read_json(folder / "c" / CARD, CollectedCard)
    protocol = {key: value for key, value in card.protocol.items() if key != "repeats"}
    write_json(own / CARD, card.model_copy(update={"protocol": protocol}))
    for kind in ("images", "repeats"):
        (own / kind).symlink_to(folder / "c" / kind)
    return scored(folder, own.name)


def plain(found: Score) -> dict[str, float]:
    """Without what says how far off it may be."""
    return {key: value for key, value in found.metrics.items() if base_key(key) == key}


def test_each_repeat_is_scored_as_if_it_were_the_only_one(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator())
    (found, rows), each = scored(tmp_path), [alone(tmp_path, repeat) for repeat in range(REPEATS)]
    assert found.groups[REPEAT] == {str(repeat): plain(one) for repeat, (one, _) in enumerate(each)}
    for place, row in enumerate(rows):
        for repeat, (_, own) in enumerate(each):
            assert row.alone(repeat).values == own[place].values
            assert row.alone(repeat).outcome is Outcome.OK
    assert all(own[0].alone(0).values == own[0].values for _, own in each)


def test_a_score_is_the_mean_over_repeats_with_their_deviation(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator())
    found, rows = scored(tmp_path)
    each = [plain(alone(tmp_path, repeat)[0]) for repeat in range(REPEATS)]
    assert len({one["gc_at_3"] for one in each}) == REPEATS, "they do differ"
    for key in each[0]:
        values = [one[key] for one in each]
        assert found.metrics[key] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-12), key
        if key != "images":
            assert found.metrics[f"{key}_std"] == pytest.approx(np.std(values), rel=1e-9, abs=1e-12), key
    assert rows[0].values["gc"] == pytest.approx(np.mean([row.values["gc"] for row in rows[0].repeats], axis=0))
    assert (found.scored, found.total, found.coverage) == (15, 15, 1.0)
    assert [point.value for point in found.curves["gc_std"]] == [found.metrics[f"gc_at_{t}_std"] for t in (1, 2, 3)]
    assert all(GenCeption().of_curve(name) is not None for name in found.curves)
    assert values_of(GenCeption(), found)(rows[0])["GC@3"] == rows[0].values["gc"][2]


def test_the_interval_is_that_of_the_means_per_sample(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator())
    found, rows = scored(tmp_path)
    for t in (1, 2, 3):
        means = np.array([np.mean([row.alone(r).values["gc"][t - 1] or 0.0 for r in range(REPEATS)]) for row in rows])
        ends = interval(f"gc_at_{t}", means, [row.group for row in rows], SCORING)
        assert len(ends.metrics) == 2
        for key, value in ends.metrics.items():
            assert found.metrics[key] == pytest.approx(value, rel=1e-9)


def test_chains_are_counted_one_by_one_and_a_sample_is_worth_what_it_has(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator(filters=11))
    found, rows = scored(tmp_path)
    records = read_jsonl(tmp_path / "c" / RECORDS, ChainRecord)
    whole = {(each.sample, each.repeat) for each in records if each.t == 3 and each.image is not None}
    assert 0 < len(whole) < 15, "some, and not all"
    assert (found.scored, found.total) == (len(whole), 15)
    assert found.outcomes == {"filtered": 15 - len(whole)}
    some = next(row for row in rows if 0 < sum((row.unit, r) in whole for r in range(REPEATS)) < REPEATS)
    there = [some.alone(r).values["gc"][2] for r in range(REPEATS) if (some.unit, r) in whole]
    assert some.values["gc"][2] == pytest.approx(np.mean([value for value in there if value is not None]))
    assert some.outcome is Outcome.FILTERED
    with pytest.raises(CoverageError, match=r"of 15 chains reached t=3.*repeat \d: filtered at t="):
        scored(tmp_path, min_coverage=0.99)


def test_of_one_repeat_nothing_is_written_of_repeats(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator())
    found, rows = alone(tmp_path, 0)
    assert not [key for key in found.metrics if key.endswith("_std")]
    assert REPEAT not in found.groups
    assert "repeats" not in rows[0].to_dict()
    assert not [name for name in found.curves if name.endswith("_std")]

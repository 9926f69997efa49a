"""Cycle metrics of other papers on GenCeption's chains, and the table that sets them side by side."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.cycles.measure import across, cycle_metrics
from driftledger.benchmarks.genception.cycles.tables import CYCLE_METRICS, cycle_tables
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.registry import benchmark
from driftledger.components.card import ComponentCard
from driftledger.core.types import ImageFile, Outcome, Sample
from driftledger.demo.models.blind import Blind
from tests.benchmarks.genception import test_score as chains
from tests.support.fakes import LetterEncoder, TableEncoder
from tests.support.ledgers import genception_score
from tests.support.tables import texts

SCORING = GenCeptionScoring(iterations=4, confidence=0.95, seed=1)
NAN = float("nan")
FALLING = np.array([[0.9, 0.7, 0.6, 0.55], [0.8, 0.6, 0.5, 0.45], [0.7, NAN, NAN, NAN]])


def test_only_whole_chains_count() -> None:
    found = cycle_metrics({"mcd": FALLING}, 4, SCORING)
    assert found.metrics["mcd"] == pytest.approx(FALLING[:2].mean(), abs=1e-12)
    ends = found.intervals.metrics
    assert ends["mcd_low"] < found.metrics["mcd"] < ends["mcd_high"]
    assert found.metrics["drift_rate"] == pytest.approx(np.log(2) / 2, rel=1e-5)
    assert found.metrics["drift_floor"] == pytest.approx(0.45, rel=1e-4)
    assert found.absent == {}


def test_where_categories_stop_sooner_all_are_taken_as_far_as_those() -> None:
    found = cycle_metrics({"mcd": FALLING}, 1, SCORING)
    assert found.metrics["mcd"] == pytest.approx(FALLING[:, 0].mean(), abs=1e-12)
    assert found.absent == {"drift_rate": "a curve of three numbers takes 3 iterations"}


def test_the_first_description_is_not_compared_with_itself() -> None:
    of_texts = np.array([[NAN, 0.9, 0.8, 0.7], [NAN, 0.7, 0.6, NAN]])
    found = cycle_metrics({"mcd": FALLING, "mcd_texts": of_texts}, 4, SCORING)
    assert found.metrics["mcd_texts"] == pytest.approx(0.8, abs=1e-12)


def test_no_chain_at_all_gives_nothing() -> None:
    assert cycle_metrics({"mcd": np.full((2, 4), NAN)}, 4, SCORING) == ({}, ({}, {}), {})


def test_a_score_has_them_and_its_rows_what_they_are_of(tmp_path: Path) -> None:
    found, rows = chains.scored(tmp_path)
    every = [chains.cosine(angle) for angles in chains.ANGLES.values() for angle in angles]
    assert found.metrics["mcd"] == pytest.approx(np.mean(every), abs=1e-9)
    x, y, _ = chains.pixel(30).getpixel((0, 0))
    assert rows[0].values["pixel_distance"] == [pytest.approx((200 - x + y) / 3 / 255, abs=1e-9)]
    assert found.groups["category"]["a"]["pixel_distance"] <= found.groups["category"]["b"]["pixel_distance"] + 1
    assert "original_to_text" not in rows[0].values  # this encoder does not read


def test_an_encoder_that_reads_compares_images_with_texts(tmp_path: Path) -> None:
    def image(name: str, red: int, green: int) -> ImageFile:
        Image.new("RGB", (1, 1), (red, green, 0)).save(tmp_path / name)
        return ImageFile(tmp_path / name, name)

    samples = [Sample("one", image("one.png", 3, 4)), Sample("two", image("two.png", 0, 9))]
    drawn = {("one", 1): image("1.png", 0, 5), ("one", 2): image("2.png", 4, 3), ("two", 1): image("3.png", 8, 0)}
    told = {("one", 1): "aaabbbb", ("one", 2): "aaaa bbb", ("one", 3): "a", ("two", 1): "b"}
    records = [
        ChainRecord(sample=name, t=t, outcome=Outcome.OK, description=said, parent_sha256="p", seed=1)
        for (name, t), said in told.items()
    ]
    found = across(samples, records, drawn, LetterEncoder(wide=2), 3)
    np.testing.assert_allclose(found["original_to_text"], [[1, 0.96, 0.6], [1, NAN, NAN]], atol=1e-9)
    np.testing.assert_allclose(found["text_to_drawing"], [[0.8, 0.96, NAN], [0, NAN, NAN]], atol=1e-9)
    assert across(samples, records, drawn, TableEncoder(), 3) == {}


def test_every_cycle_metric_is_in_the_table_of_metrics() -> None:
    spec = benchmark("genception")
    assert all(spec.metric(name.format(t=5, frechet="frechet_eye")) for name in CYCLE_METRICS)


def scores(with_control: bool = True):
    values = {"a": (0.9, 0.9, 0.1), "b": (0.8, 0.7, 0.3), "c": (0.7, 0.8, 0.2), "blind": (0.1, 0.1, 0.9)}
    for model, (gc, mcd, apart) in values.items():
        metrics = {"gc_at_1": gc / 2, "gc_at_2": gc, "mcd": mcd, "pixel_distance": apart, "similarity_at_1": gc}
        more = {"components": {"model": ComponentCard.of("blind", Blind())}} if model == "blind" else {}
        if with_control or model != "blind":
            yield genception_score(model=model, metrics=metrics, **more)


def test_each_ranks_the_models_in_its_own_direction() -> None:
    ranks, _ = cycle_tables(benchmark("genception"), list(scores()))
    assert ranks.head == ["", "GC@2", "s(1)", "MCD", "pixel distance (lower is better)"]
    assert texts(ranks)[2:4] == [
        ["b", "0.800 (rank 2)", "0.800 (rank 2)", "0.700 (rank 3)", "0.300 (rank 3)"],
        ["c", "0.700 (rank 3)", "0.700 (rank 3)", "0.800 (rank 2)", "0.200 (rank 2)"],
    ]


def test_agreement_is_over_the_models_that_look_and_better_is_always_high() -> None:
    _, agree = cycle_tables(benchmark("genception"), list(scores()))
    assert texts(agree)[1:] == [
        ["GC@2", "–", "1.00", "0.33", "0.33"],
        ["s(1)", "1.00", "–", "0.33", "0.33"],
        ["MCD", "0.50", "0.50", "–", "1.00"],
        ["pixel distance", "0.50", "0.50", "1.00", "–"],
    ]
    assert "Over 3 models, controls left out" in agree.notes[0]
    assert "1 time in 6" in agree.notes[0]


def test_two_models_have_no_agreement() -> None:
    tables = list(cycle_tables(benchmark("genception"), list(scores(with_control=False))[:2]))
    assert [table.name for table in tables] == ["cycle_ranks"]

"""Cycle metrics of other papers on GenCeption's chains, and the table that sets them side by side."""

from pathlib import Path

import numpy as np
import pytest
from driftledger.benchmarks.genception.cycles.measure import across, cycle_metrics
from PIL import Image
from scipy.optimize import curve_fit

from driftledger.benchmarks._chains.records import ChainRecord
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


def test_the_rate_has_an_interval_over_chains() -> None:
    """The jackknife on its logarithm, of fits by scipy; Student's t of 19 chains at 0.95 is 2.101."""
    dice, generations = np.random.default_rng(3), np.arange(2.0, 11.0, 2.0)
    chains = 0.5 * np.exp(-0.2 * generations) + dice.normal(0.4, 0.02, (19, 1)) + dice.normal(0, 0.02, (19, 5))
    found = cycle_metrics({"mcd": chains}, 5, SCORING)

    def rate(some: np.ndarray) -> float:
        curve, _ = curve_fit(
            lambda g, a, b, c: a * np.exp(-b * g) + c, generations, some.mean(axis=0), p0=(0.5, 0.2, 0.4)
        )
        return float(curve[1])

    logs = np.log([rate(np.delete(chains, place, axis=0)) for place in range(19)])
    half = 2.10092 * np.sqrt(18 / 19 * ((logs - logs.mean()) ** 2).sum())
    expected = {"drift_rate_low": rate(chains) * np.exp(-half), "drift_rate_high": rate(chains) * np.exp(half)}
    ends = {key: value for key, value in found.intervals.metrics.items() if key.startswith("drift_rate")}
    assert ends == pytest.approx(expected, rel=1e-3)
    assert found.intervals.absent == {}


def test_a_rate_that_one_chain_makes_has_no_interval() -> None:
    ends = cycle_metrics({"mcd": FALLING[:1]}, 4, SCORING).intervals
    assert ends.absent["drift_rate interval"] == "a single chain shows no spread"
    rising = [0.5, 0.6, 0.7, 0.8]
    ends = cycle_metrics({"mcd": np.array([rising, rising, [7.0, 5.0, 4.2, 3.8]])}, 4, SCORING).intervals
    assert ends.absent == {"drift_rate interval": "without some one of the chains, the others tell no rate"}
    assert not any(key.startswith("drift_rate") for key in ends.metrics)


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


def test_intervals_stand_beside_the_values() -> None:
    told = {"gc_at_2": 0.8, "drift_rate": 0.25, "drift_rate_low": 0.125, "drift_rate_high": 0.5}
    ranks, *_ = cycle_tables(benchmark("genception"), [genception_score(model="a", metrics=told)])
    assert texts(ranks)[1:] == [["a", "0.800 (rank 1)", "0.250 (0.125–0.500)"]]


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

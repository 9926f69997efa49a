"""Scores of chains whose every cosine is known, because the fake encoder reads vectors from pixels."""

import math
from pathlib import Path

import numpy as np
import pytest
from driftledger.benchmarks._chains.flags import mean_words
from PIL import Image

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard, SampleEntry
from driftledger.metrics.frechet import frechet_distance
from tests.support.fakes import EchoModel, SizeGenerator, TableEncoder

ANGLES = {"a1": (30, 40, 50), "a2": (10, 20, 60), "b1": (45, 45, 45), "b2": (0, 5, 80)}
"""Sample → the angle in degrees between its original and its image at t = 1, 2, 3; the category is the letter."""


def pixel(angle: float) -> Image.Image:
    x, y = round(200 * math.cos(math.radians(angle))), round(200 * math.sin(math.radians(angle)))
    return Image.new("RGB", (2, 2), (x, y, 0))


def cosine(angle: float) -> float:
    x, y, _ = pixel(angle).getpixel((0, 0))
    return float(x / math.hypot(x, y))


def write_case(
    folder: Path, groups: dict[str, list[str]], lengths: dict[str, int], by_group: dict[str, int] | None = None
) -> None:
    entries, records = [], []
    (folder / "d" / "images").mkdir(parents=True)
    for name, angles in ANGLES.items():
        png = png_bytes(pixel(0))
        (folder / "d" / "images" / f"{name}.png").write_bytes(png)
        entry = {"id": name, "file": f"images/{name}.png", "category": name[0], "sha256": sha256_bytes(png)}
        entries.append(SampleEntry.model_validate(entry | {"width": 2, "height": 2}))
        stops = [t for group, t in (by_group or {}).items() if name[0] in groups[group]]
        for t, angle in enumerate(angles[: min([3, *stops])], 1):
            short = t > lengths.get(name, 3)
            if short and t > lengths[name] + 1:
                break
            target = folder / "c" / "images" / name / f"{t}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(png_bytes(pixel(angle)))
            outcome, image = (Outcome.REFUSED, None) if short else (Outcome.OK, f"images/{name}/{t}.png")
            digest = None if short else "i"
            record = {"sample": name, "t": t, "outcome": outcome, "image": image, "image_sha256": digest}
            records.append(ChainRecord.model_validate(record | {"parent_sha256": "p", "seed": 1}))
    write_jsonl(folder / "d" / "samples.jsonl", entries)
    card = {"name": "d", "provider": "x", "settings": {}, "source": {}, "samples": 4, "categories": {}, "digest": "dd"}
    write_json(folder / "d" / "dataset.json", DatasetCard.model_validate(card | {"groups": groups}))
    write_jsonl(folder / "c" / RECORDS, records)
    components = {"model": ComponentCard.of("m", EchoModel()), "generator": ComponentCard.of("g", SizeGenerator())}
    asked = ChainRequest(iterations=3, describe_prompt="p", max_tokens=None, generate_prompt="{description}", seed=1)
    keys = {"dataset": "d", "model": "m", "generator": "g"}
    about = {"benchmark": "genception", "stage": "chain", "keys": keys, "data_digest": "dd", "components": components}
    write_json(folder / "c" / CARD, CollectedCard.model_validate(about | {"protocol": asked.model_dump()}))


def scored(
    folder: Path, *, min_coverage: float = 0.5, lengths: dict[str, int] | None = None,
    groups: dict[str, list[str]] | None = None, encoder: Encoder | None = None, by_group: dict[str, int] | None = None,
) -> tuple[Score, list[Row]]:  # fmt: skip
    write_case(folder, groups or {}, lengths or {}, by_group)
    scoring = GenCeptionScoring(iterations=3, iterations_by_group=by_group, confidence=0.95, seed=1)
    given = ToScore(
        keys={"dataset": "d", "model": "m", "generator": "g", "encoder": "e"},
        folders={"dataset": folder / "d", "chain": folder / "c"},
        scoring=scoring,
        min_coverage=min_coverage,
        encoders={"encoder": encoder or TableEncoder()},
    )
    return score(given)


def gc(name: str, t: int) -> float:
    return float(np.average([cosine(angle) for angle in ANGLES[name][:t]], weights=range(1, t + 1)))


def test_gc_is_averaged_per_sample_then_category_then_over_categories(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, groups={"visual": ["a", "b"], "first": ["a"]})
    for t in (1, 2, 3):
        a, b = (gc(f"{letter}1", t) / 2 + gc(f"{letter}2", t) / 2 for letter in "ab")
        assert found.groups["category"]["a"][f"gc_at_{t}"] == pytest.approx(a, abs=1e-9)
        assert found.metrics[f"gc_at_{t}"] == pytest.approx((a + b) / 2, abs=1e-9)
        assert found.groups["group"]["visual"][f"gc_at_{t}"] == pytest.approx((a + b) / 2, abs=1e-9)
        assert found.groups["group"]["first"][f"gc_at_{t}"] == pytest.approx(a, abs=1e-9)
        assert found.metrics[f"gc_at_{t}_low"] <= found.metrics[f"gc_at_{t}"] <= found.metrics[f"gc_at_{t}_high"]
    assert found.metrics["similarity_at_3"] == pytest.approx(np.mean([cosine(v[2]) for v in ANGLES.values()]), abs=1e-9)
    every = [cosine(angle) for angles in ANGLES.values() for angle in angles]
    assert found.metrics["similarity_mean"] == pytest.approx(np.mean(every), abs=1e-9)
    assert found.curves["gc"][0] == found.curves["similarity"][0]
    assert [row.unit for row in rows] == list(ANGLES)
    assert rows[0].values["gc"] == pytest.approx([gc("a1", t) for t in (1, 2, 3)], abs=1e-9)
    assert (found.scored, found.total, found.coverage, found.outcomes) == (4, 4, 1.0, {})
    assert found.absent == {"drift_rate": "the similarities fall in a straight line, or ever faster"}


def test_weights_differ_when_categories_do(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, lengths={"b2": 2})
    a = gc("a1", 3) / 2 + gc("a2", 3) / 2
    assert found.metrics["gc_at_3"] == pytest.approx((a + gc("b1", 3)) / 2, abs=1e-9)


def test_a_chain_one_step_short_is_in_gc_at_2_and_not_in_gc_at_3(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, lengths={"b2": 2})
    assert found.groups["category"]["b"]["gc_at_2"] == pytest.approx(gc("b1", 2) / 2 + gc("b2", 2) / 2, abs=1e-9)
    assert found.groups["category"]["b"]["gc_at_3"] == pytest.approx(gc("b1", 3), abs=1e-9)
    assert (found.scored, found.total, found.coverage) == (3, 4, 0.75)
    assert found.outcomes == {"refused": 1}
    assert rows[3].values["gc"][2] is None
    assert rows[3].outcome is Outcome.REFUSED
    assert "frechet_table_at_3" not in found.groups["category"]["b"]
    assert found.absent["b: frechet_table_at_3"] == "fewer than two chains did"
    assert found.absent["gc_at_3 interval"] == "b has a single sample, which shows no spread"


def test_a_category_without_a_chain_is_absent_and_said_so(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, lengths={"b1": 1, "b2": 1}, groups={"all": ["a", "b"]})
    assert "gc_at_3" not in found.groups["category"]["b"]
    assert "gc_at_3" not in found.groups["group"]["all"]
    assert found.absent["b: gc_at_3"] == "no chain reached T"


GROUPS = {"visual": ["a"], "textual": ["b"]}


def test_each_group_is_scored_to_its_own_t(tmp_path: Path) -> None:
    """As in version 1 of the paper, whose textual categories go to t = 3 and the others to 5."""
    found, rows = scored(tmp_path, groups=GROUPS, by_group={"textual": 2})
    assert (found.scored, found.total, found.outcomes) == (4, 4, {})
    for t in (1, 2):
        a, b = (gc(f"{letter}1", t) / 2 + gc(f"{letter}2", t) / 2 for letter in "ab")
        assert found.groups["group"]["textual"][f"gc_at_{t}"] == pytest.approx(b, abs=1e-9)
        assert found.metrics[f"gc_at_{t}"] == pytest.approx((a + b) / 2, abs=1e-9)
    assert found.groups["group"]["visual"]["gc_at_3"] == pytest.approx(gc("a1", 3) / 2 + gc("a2", 3) / 2, abs=1e-9)
    beyond = {key for key in (*found.metrics, *found.groups["group"]["textual"]) if "_at_3" in key}
    assert beyond == set()
    few = "a curve of three numbers takes 3 iterations"
    assert found.absent == {"gc_at_3": "some categories end at t=2", "drift_rate": few}
    mean = np.mean([np.mean([cosine(angle) for angle in ANGLES[f"b{n}"][:2]]) for n in (1, 2)])
    assert found.groups["category"]["b"]["similarity_mean"] == pytest.approx(mean, abs=1e-9)
    assert rows[3].values["gc"] == [pytest.approx(gc("b2", 1)), pytest.approx(gc("b2", 2)), None]
    assert [point.step for point in found.curves["gc"]] == [1, 2]
    assert GenCeption().headlines(found).keys() == {"gc_at_2", "similarity_at_2"}


def test_a_chain_short_of_its_groups_t_is_not_covered(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 3 of 4 chains reached their T.*b2: refused at t=2"):
        scored(tmp_path, min_coverage=0.9, groups=GROUPS, by_group={"textual": 2}, lengths={"b2": 1})


def test_without_groups_of_their_own_t_nothing_is_written_of_them(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, groups=GROUPS)
    assert "iterations_by_group" not in {*found.inputs.settings, *found.inputs.protocol}


def test_the_mean_over_images_stands_beside_the_mean_over_categories(tmp_path: Path) -> None:
    """Algorithm 1: they differ where categories are not of one size."""
    found, _ = scored(tmp_path, lengths={"b2": 2})
    assert found.metrics["gc_images_at_2"] == pytest.approx(np.mean([gc(name, 2) for name in ANGLES]), abs=1e-9)
    images = np.mean([gc(name, 3) for name in ("a1", "a2", "b1")])
    assert found.metrics["gc_images_at_3"] == pytest.approx(images, abs=1e-9)
    assert found.metrics["gc_images_at_3"] != pytest.approx(found.metrics["gc_at_3"], abs=1e-3)
    assert GenCeption().ranked(found, "gc_images_at_3") == found.metrics["gc_images_at_3"]


def test_where_a_category_has_no_chain_there_is_no_figure_over_all_of_them(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, lengths={"b1": 1, "b2": 1})
    over_all = {key for key in found.metrics if key.startswith(("gc_images", "whole"))}
    assert over_all == {"gc_images_at_1", "whole_frechet_table_at_1"}
    assert found.metrics["images"] == 4, "of t = 1, the last that has all categories"


def test_frechet_over_the_whole_set_is_told_with_how_many_images_it_is_over(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, lengths={"b2": 2})
    steps = []
    for t in (1, 2, 3):
        some = [name for name in ANGLES if (name, t) != ("b2", 3)]
        points = np.array([pixel(ANGLES[name][t - 1]).getpixel((0, 0))[:2] for name in some], dtype=float)
        originals = np.array([[200.0, 0.0]] * len(some))
        steps.append(frechet_distance(originals, points))
    weighted = np.average(steps, weights=(1, 2, 3))
    assert found.metrics["whole_frechet_table_at_3"] == pytest.approx(weighted, rel=1e-4)
    assert found.metrics["images"] == 3
    [flag] = found.flags
    assert flag.startswith("the Fréchet distance is over 3 images: with fewer than 2,048 it is too high")


def test_words_are_those_of_all_descriptions(tmp_path: Path) -> None:
    assert "words" not in scored(tmp_path / "none")[0].metrics
    given = [{"sample": "a", "t": t, "outcome": "ok", "parent_sha256": "p", "seed": 1} for t in (1, 2, 3)]
    told = [record | {"description": said} for record, said in zip(given, ("a b", "a  b\nc d", None), strict=True)]
    assert mean_words([ChainRecord.model_validate(record) for record in told]) == {"words": 3.0}


def test_frechet_is_weighted_and_averaged_like_gc(tmp_path: Path) -> None:
    found, _ = scored(tmp_path)

    def distance(category: str, t: int) -> float:
        points = np.array([pixel(ANGLES[f"{category}{n}"][t - 1]).getpixel((0, 0))[:2] for n in (1, 2)], dtype=float)
        shift = points.mean(axis=0) - (200, 0)
        return float(shift @ shift + points.var(axis=0, ddof=1).sum())  # the originals do not vary

    for category in "ab":
        expected = np.average([distance(category, t) for t in (1, 2, 3)], weights=(1, 2, 3))
        assert found.groups["category"][category]["frechet_table_at_3"] == pytest.approx(expected, rel=1e-5)
    means = np.mean([found.groups["category"][category]["frechet_table_at_3"] for category in "ab"])
    assert found.metrics["frechet_table_at_3"] == pytest.approx(means, rel=1e-12)


def test_too_little_coverage_names_samples_and_reasons(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 3 of 4 chains reached t=3.*90%.*b2: refused at t=3"):
        scored(tmp_path, min_coverage=0.9, lengths={"b2": 2})


def test_a_score_over_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match="only 0 of 4"):
        scored(tmp_path, min_coverage=0.0, lengths=dict.fromkeys(ANGLES, 1))


def test_the_score_says_what_it_is_of_and_what_went_in(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, groups={"first": ["a"]})
    assert (found.benchmark, found.on, found.model) == ("genception", "d", "m")
    assert {role: card.name for role, card in found.components.items()} == {
        "model": "m",
        "generator": "g",
        "encoder": "e",
    }
    assert found.inputs.data_digest == "dd"
    assert found.inputs.records == {"chain": sha256_file(tmp_path / "c" / RECORDS)}
    assert (found.inputs.protocol["iterations"], found.inputs.settings["iterations"]) == (3, 3)
    assert found.details == {"groups": {"first": ["a"]}}
    assert [(row.group, row.cluster, row.outcome) for row in rows] == [(name[0], name, Outcome.OK) for name in ANGLES]


def test_curves_go_over_iterations_and_are_of_the_table(tmp_path: Path) -> None:
    found, _ = scored(tmp_path)
    assert set(found.curves) == {"similarity", "gc", "gc_low", "gc_high", "frechet_table"}
    for name, key in (("similarity", "similarity_at_{}"), ("gc", "gc_at_{}"), ("gc_low", "gc_at_{}_low")):
        assert [(point.step, point.value) for point in found.curves[name]] == [
            (t, found.metrics[key.format(t)]) for t in (1, 2, 3)
        ]
    assert all(GenCeption().of_curve(name) is not None for name in found.curves)
    assert all(GenCeption().metric(key) is not None for key in found.metrics)


def test_a_mean_over_fewer_categories_is_not_ranked(tmp_path: Path) -> None:
    whole, _ = scored(tmp_path / "whole")
    part, _ = scored(tmp_path / "part", lengths={"b1": 1, "b2": 1})
    spec = GenCeption()
    assert spec.ranked(whole, "gc_at_3") == whole.metrics["gc_at_3"]
    assert "gc_at_3" in part.metrics
    assert spec.ranked(part, "gc_at_3") is None


def test_over_repeats_the_fewest_images_are_said(tmp_path: Path) -> None:
    """In the second of two repeats, b2 stops after two iterations."""
    write_case(tmp_path, {}, {})
    records, card = read_jsonl(tmp_path / "c" / RECORDS, ChainRecord), read_json(tmp_path / "c" / CARD, CollectedCard)
    again = [each.model_copy(update={"repeat": 1}) for each in records if (each.sample, each.t) != ("b2", 3)]
    write_jsonl(tmp_path / "c" / RECORDS, [*records, *again])
    write_json(tmp_path / "c" / CARD, card.model_copy(update={"protocol": dict(card.protocol) | {"repeats": 2}}))
    folders = {"dataset": tmp_path / "d", "chain": tmp_path / "c"}
    keys = {"dataset": "d", "model": "m", "generator": "g", "encoder": "e"}
    scoring = GenCeptionScoring(iterations=3, confidence=0.95, seed=1)
    given = ToScore(keys=keys, folders=folders, scoring=scoring, min_coverage=0.5, encoders={"encoder": TableEncoder()})
    assert score(given).score.metrics["images"] == 3

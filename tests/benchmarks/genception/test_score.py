"""Scores of chains whose every cosine is known: the fake encoder reads vectors from pixels, and
letters from texts."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from PIL import Image

from driftledger.benchmarks._chains.records import ChainRequest, medium_path
from driftledger.benchmarks.genception.spec import GenCeption, GenCeptionSettings
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import REPEAT, Row, Score
from driftledger.benchmarks.scoring import ToScore, interval_ends, interval_of_known
from driftledger.components.base import ComponentCard, Encoder
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import CoverageError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard, SampleEntry
from driftledger.metrics.frechet import frechet_distance
from tests.support.fakes import EchoModel, LetterEncoder, SizeGenerator, TableEncoder
from tests.support.ledgers import iteration

Chains = Mapping[str, Sequence[float]]
"""Sample → the angle in degrees between its original and its image at t = 1, 2, …; the category is
the letter."""

ANGLES: Chains = {"a1": (30, 40, 50), "a2": (10, 20, 60), "b1": (45, 45, 45), "b2": (0, 5, 80)}
SHORT: Chains = ANGLES | {"b2": (0, 5)}
NONE_OF_B: Chains = ANGLES | {"b1": (45,), "b2": (0,)}
GROUPS = {"visual": ["a"], "textual": ["b"]}


def pixel(angle: float) -> Image.Image:
    x, y = round(200 * math.cos(math.radians(angle))), round(200 * math.sin(math.radians(angle)))
    return Image.new("RGB", (2, 2), (x, y, 0))


def cosine(angle: float) -> float:
    x, y, _ = pixel(angle).getpixel((0, 0))  # type: ignore[misc]
    return float(x / math.hypot(x, y))


def gc(chain: Sequence[float], t: int) -> float:
    return float(np.average([cosine(angle) for angle in chain[:t]], weights=range(1, t + 1)))


def scored(
    folder: Path,
    *repeats: Chains,
    texts: Mapping[tuple[str, int], str] | None = None,
    groups: Mapping[str, list[str]] | None = None,
    by_group: dict[str, int] | None = None,
    min_coverage: float = 0.0,
    reader: Encoder | None = None,
    twins: Mapping[str, str] | None = None,
) -> tuple[Score, list[Row]]:
    """The score of these chains: one that does not reach its T is refused at the next iteration.

    Args:
        twins: sample → the one whose image it has.
    """
    repeats = repeats or (ANGLES,)
    entries, records = [], []
    for name in repeats[0]:
        (folder / "d").mkdir(parents=True, exist_ok=True)
        (folder / "d" / f"{name}.png").write_bytes(png_bytes(pixel(0)))
        entry = {
            "id": name,
            "file": f"{name}.png",
            "category": name[0],
            "sha256": sha256_bytes((twins or {}).get(name, name).encode()),
        }
        entries.append(SampleEntry.model_validate(entry | {"width": 2, "height": 2}))
    for repeat, chains in enumerate(repeats):
        for name, angles in chains.items():
            end = min(
                [
                    3,
                    *(
                        t
                        for group, t in (by_group or {}).items()
                        if name[0] in (groups or {})[group]
                    ),
                ]
            )
            for t in range(1, min(end, len(angles) + 1) + 1):
                drawn = t <= len(angles)
                path = folder / "c" / medium_path(name, t, repeat)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png_bytes(pixel(angles[t - 1] if drawn else 0)))
                image = medium_path(name, t, repeat) if drawn else None
                outcome, text = (
                    Outcome.OK if drawn else Outcome.REFUSED,
                    (texts or {}).get((name, t)),
                )
                records.append(iteration(name, t, text, image, outcome, repeat, f"{name}{t}"))
    write_jsonl(folder / "d" / "samples.jsonl", entries)
    card = {
        "name": "d",
        "provider": "x",
        "settings": {},
        "source": {},
        "samples": 4,
        "categories": {},
        "digest": "dd",
    }
    write_json(
        folder / "d" / "dataset.json", DatasetCard.model_validate(card | {"groups": groups or {}})
    )
    write_jsonl(folder / "c" / RECORDS, records)
    components = {
        "model": ComponentCard.of("m", EchoModel()),
        "generator": ComponentCard.of("g", SizeGenerator()),
    }
    asked = ChainRequest(
        iterations=3,
        describe_prompt="p",
        max_tokens=None,
        generate_prompt="q",
        seed=1,
        repeats=len(repeats),
    )
    keys = {"dataset": "d", "model": "m", "generator": "g"}
    about = {
        "benchmark": "genception",
        "stage": "chain",
        "keys": keys,
        "data_digest": "dd",
        "components": components,
    }
    write_json(
        folder / "c" / CARD, CollectedCard.model_validate(about | {"protocol": asked.model_dump()})
    )
    settings = {
        "iterations_by_group": by_group,
        "text_encoder": "letters" if reader else None,
        "unread": "left_out",
    }
    section = GenCeptionSettings.model_construct(
        iterations=3, confidence=0.95, min_coverage=min_coverage, **settings
    )
    encoders = {"encoder": TableEncoder()} | ({"text_encoder": reader} if reader else {})
    folders = {"dataset": folder / "d", "chain": folder / "c"}
    return GenCeption().score(ToScore(keys | {"encoder": "e"}, folders, section, 1, encoders))


def test_gc_is_averaged_per_sample_then_category_then_over_categories(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, groups={"visual": ["a", "b"], "first": ["a"]})
    for t in (1, 2, 3):
        a, b = (np.mean([gc(ANGLES[f"{letter}{n}"], t) for n in (1, 2)]) for letter in "ab")
        assert found.groups["category"]["a"][f"gc_at_{t}"] == pytest.approx(a, abs=1e-9)
        assert found.metrics[f"gc_at_{t}"] == pytest.approx((a + b) / 2, abs=1e-9)
        assert found.groups["group"]["visual"][f"gc_at_{t}"] == pytest.approx((a + b) / 2, abs=1e-9)
        assert found.groups["group"]["first"][f"gc_at_{t}"] == pytest.approx(a, abs=1e-9)
        assert (
            found.metrics[f"gc_at_{t}_low"]
            <= found.metrics[f"gc_at_{t}"]
            <= found.metrics[f"gc_at_{t}_high"]
        )
    every = [cosine(angle) for angles in ANGLES.values() for angle in angles]
    assert found.metrics["similarity_mean"] == pytest.approx(np.mean(every), abs=1e-9)
    assert rows[0].values["gc"] == pytest.approx([gc(ANGLES["a1"], t) for t in (1, 2, 3)], abs=1e-9)
    assert (found.scored, found.total, found.coverage, found.outcomes) == (4, 4, 1.0, {})
    assert [(row.unit, row.group, row.outcome) for row in rows] == [
        (name, name[0], Outcome.OK) for name in ANGLES
    ]


def test_equal_images_are_one_cluster(tmp_path: Path) -> None:
    """Of a category of a1, a1 again, a2 and a3 the weights are 1/2, 1/4 and 1/4."""
    angles = {"a1": (30, 40, 50), "a1b": (30, 40, 50), "a2": (10, 20, 60), "a3": (0, 5, 80)}
    found, rows = scored(tmp_path, angles, twins={"a1b": "a1"})
    assert [row.cluster for row in rows] == ["a1", "a1", "a2", "a3"]
    assert (
        "1 of 4 images repeat an earlier one; equal images count as one for intervals"
        in found.flags
    )
    values = [gc(chain, 3) for chain in angles.values()]
    mean = np.mean(values)
    twice, *alone = 2 * (values[0] - mean), values[2] - mean, values[3] - mean
    error = math.sqrt(twice**2 / (1 / 2) + sum(each**2 for each in alone) / (3 / 4)) / 4
    half = scipy.stats.t.ppf(0.975, 1.8) * error
    assert found.metrics["gc_at_3"] == pytest.approx(mean)
    assert found.interval("gc_at_3") == pytest.approx((max(-1, mean - half), min(1, mean + half)))
    apart, _ = scored(tmp_path / "apart", angles)
    assert apart.interval("gc_at_3") != found.interval("gc_at_3")


def test_a_chain_one_step_short_is_in_gc_at_2_and_not_in_gc_at_3(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, SHORT)
    b = found.groups["category"]["b"]
    assert b["gc_at_2"] == pytest.approx(
        gc(ANGLES["b1"], 2) / 2 + gc(ANGLES["b2"], 2) / 2, abs=1e-9
    )
    assert b["gc_at_3"] == pytest.approx(gc(ANGLES["b1"], 3), abs=1e-9)
    a = gc(ANGLES["a1"], 3) / 2 + gc(ANGLES["a2"], 3) / 2
    assert found.metrics["gc_at_3"] == pytest.approx((a + b["gc_at_3"]) / 2, abs=1e-9)
    # Algorithm 1: every image alike
    images = np.mean([gc(ANGLES[name], 3) for name in ("a1", "a2", "b1")])
    assert found.metrics["gc_samples_at_3"] == pytest.approx(images, abs=1e-9)
    assert (found.scored, found.total, found.outcomes) == (3, 4, {"refused": 1})
    assert (rows[3].values["gc"][2], rows[3].outcome) == (None, Outcome.REFUSED)
    assert found.absent["b: frechet_table_at_3"] == "fewer than two chains did"
    assert found.absent["gc_at_3 interval"] == "b has a single sample, which shows no spread"


def test_a_category_without_a_chain_is_absent_and_not_ranked(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, NONE_OF_B, groups={"all": ["a", "b"]})
    assert "gc_at_3" not in {**found.groups["category"]["b"], **found.groups["group"]["all"]}
    assert found.absent["b: gc_at_3"] == "no chain reached T"
    assert "gc_at_3" in found.metrics
    assert GenCeption().ranked(found, "gc_at_3") is None
    assert GenCeption().ranked(found, "gc_at_1") == found.metrics["gc_at_1"]
    over_all = {key for key in found.metrics if key.startswith(("gc_samples", "whole"))}
    assert over_all == {"gc_samples_at_1", "whole_frechet_table_at_1"}
    assert found.metrics["samples"] == 4, "of t = 1, the last that has all categories"


def test_each_group_is_scored_to_its_own_t(tmp_path: Path) -> None:
    """As in version 1 of the paper, where textual categories end at t = 3 and the others at 5."""
    found, rows = scored(tmp_path, groups=GROUPS, by_group={"textual": 2})
    assert (found.scored, found.total, found.outcomes) == (4, 4, {})
    a3 = gc(ANGLES["a1"], 3) / 2 + gc(ANGLES["a2"], 3) / 2
    assert found.groups["group"]["visual"]["gc_at_3"] == pytest.approx(a3, abs=1e-9)
    assert not [
        key for key in (*found.metrics, *found.groups["group"]["textual"]) if "_at_3" in key
    ]
    assert found.absent == {"gc_at_3": "some categories end at t=2"}
    mean = np.mean([cosine(angle) for n in (1, 2) for angle in ANGLES[f"b{n}"][:2]])
    assert found.groups["category"]["b"]["similarity_mean"] == pytest.approx(mean, abs=1e-9)
    assert rows[3].values["gc"] == [pytest.approx(gc(ANGLES["b2"], t)) for t in (1, 2)] + [None]
    assert [point.step for point in found.curves["gc"]] == [1, 2]
    assert GenCeption().headlines(found).keys() == {"gc_at_2", "similarity_at_2"}


def test_frechet_is_weighted_like_gc_per_category_and_over_all(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, SHORT)

    def distance(names: Sequence[str], t: int) -> float:
        points = np.array(
            [pixel(ANGLES[name][t - 1]).getpixel((0, 0))[:2] for name in names], dtype=float
        )  # type: ignore[index]
        return frechet_distance(np.array([[200.0, 0.0]] * len(names)), points)

    a = np.average([distance(["a1", "a2"], t) for t in (1, 2, 3)], weights=(1, 2, 3))
    assert found.groups["category"]["a"]["frechet_table_at_3"] == pytest.approx(a, rel=1e-5)
    assert found.metrics["frechet_table_at_3"] == pytest.approx(a, rel=1e-5), "b has too few chains"
    whole = [distance([*ANGLES][: 4 if t < 3 else 3], t) for t in (1, 2, 3)]
    assert found.metrics["whole_frechet_table_at_3"] == pytest.approx(
        np.average(whole, weights=(1, 2, 3)), rel=1e-5
    )
    assert found.metrics["samples"] == 3
    [flag] = found.flags
    assert flag.startswith(
        "the Fréchet distance is over 3 images: with fewer than 2,048 it is too high"
    )


COVERAGES = {
    "too few": (SHORT, None, "only 3 of 4 chains reached t=3 (b2, step 3: refused)"),
    "of a group": (
        ANGLES | {"b2": (0,)},
        {"textual": 2},
        "only 3 of 4 chains reached their T (b2, step 2: refused)",
    ),
}


@pytest.mark.parametrize(("chains", "by_group", "sentence"), COVERAGES.values(), ids=COVERAGES)
def test_too_little_coverage_takes_the_rank_and_names_samples_and_reasons(
    tmp_path: Path, chains: Chains, by_group: dict[str, int] | None, sentence: str
) -> None:
    found, _ = scored(tmp_path, chains, min_coverage=0.9, groups=GROUPS, by_group=by_group)
    assert found.flags[0] == f"{sentence}, and genception.min_coverage asks for 90%: no rank"
    assert found.unranked == "3/4 could be scored, and genception.min_coverage asks for 90%"
    assert found.metrics["gc_at_2"] > 0
    enough, _ = scored(tmp_path, chains, min_coverage=0.75, groups=GROUPS, by_group=by_group)
    assert enough.unranked is None
    assert not [flag for flag in enough.flags if "no rank" in flag]


def test_without_a_chain_there_is_no_score(tmp_path: Path) -> None:
    with pytest.raises(
        CoverageError,
        match=r"none of 4 chains reached t=3 \(a1, step 2: refused; .*nothing to score",
    ):
        scored(tmp_path, dict.fromkeys(ANGLES, (30,)))


TEXTS = {
    ("a1", 1): "ab", ("a1", 2): "ab", ("a1", 3): "cd", ("a2", 1): "ab ab ab", ("a2", 2): "a b",
    ("b1", 1): "...", ("b1", 2): "ab", ("b2", 1): "",
}  # fmt: skip


def test_descriptions_are_compared_along_a_chain(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, texts=TEXTS, reader=LetterEncoder())
    assert [row.values["text_similarity"] for row in rows] == [
        [None, 1.0, 0.0],
        [None, pytest.approx(1.0), None],
        [None, None, None],
        [None, None, None],
    ]
    assert found.metrics["text_similarity_at_2"] == pytest.approx(1.0)
    assert found.metrics["text_similarity_mean"] == 0.5
    assert found.metrics["words"] == pytest.approx((3 + 3 + 2 + 1 + 1) / 7)
    assert "the text encoder read only the beginning of 1 of 7 descriptions" in found.flags
    assert found.components["text_encoder"].name == "letters"
    alone, _ = scored(tmp_path / "alone", reader=LetterEncoder())
    assert alone.absent["text_similarity_mean"] == "no description came after the first"


AGAIN: Chains = {"a1": (20, 30, 60), "a2": (15, 25), "b1": (40, 50, 55), "b2": (3, 5, 70)}


def test_of_repeats_a_sample_is_worth_its_mean(tmp_path: Path) -> None:
    found, rows = scored(tmp_path, ANGLES, AGAIN)
    each = [
        scored(tmp_path / str(repeat), chains)[0] for repeat, chains in enumerate((ANGLES, AGAIN))
    ]
    assert found.groups[REPEAT]["1"] == {
        k: v for k, v in each[1].metrics.items() if not k.endswith(("_low", "_high"))
    }
    assert rows[0].values["gc"][2] == pytest.approx((gc(ANGLES["a1"], 3) + gc(AGAIN["a1"], 3)) / 2)
    assert rows[1].values["gc"][2] == pytest.approx(gc(ANGLES["a2"], 3)), (
        "the mean over those that it has"
    )
    assert rows[1].alone(1).values["gc"][2] is None
    assert (rows[1].outcome, rows[1].alone(0).outcome) == (Outcome.REFUSED, Outcome.OK)
    values = [one.metrics["gc_at_2"] for one in each]
    assert found.metrics["gc_at_2_std"] == pytest.approx(np.std(values))
    assert found.metrics["whole_frechet_table_at_2"] == pytest.approx(
        np.mean([one.metrics["whole_frechet_table_at_2"] for one in each])
    )
    assert (found.scored, found.total, found.metrics["samples"]) == (7, 8, 3)
    assert any("over 3 images" in flag for flag in found.flags)
    assert [point.value for point in found.curves["gc_std"]] == [
        found.metrics[f"gc_at_{t}_std"] for t in (1, 2, 3)
    ]
    means = np.array([row.values["gc"][1] for row in rows], dtype=float)
    estimate = interval_of_known(means, [row.group for row in rows], 0.95)
    assert interval_ends({"gc_at_2": estimate}).metrics.items() <= found.metrics.items()
    few, _ = scored(tmp_path / "few", ANGLES, AGAIN, min_coverage=0.9)
    assert few.flags[0].startswith(
        "only 7 of 8 chains reached t=3 (a2, step 3, repeat 1: refused), and "
    )

"""Fidelity's scores of redrawings whose every cosine is known, because the fake encoder reads
vectors from pixels."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage.metrics import structural_similarity

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.collecting import StageInputs
from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.fidelity.ratings import COLUMNS
from driftledger.benchmarks.fidelity.spec import Fidelity, FidelitySettings
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.components.base import ComponentCard, Encoder
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.text import csv_text
from driftledger.core.types import Outcome, Sample
from driftledger.data.records import read_samples
from tests.support.fakes import ColourModel, LetterEncoder, SizeGenerator, TableEncoder
from tests.support.labelled import Item, write_labelled
from tests.support.ledgers import iteration, result
from tests.support.params import default_params

DRAWN = {"a": (100, 0, 0), "b": (100, 100, 0), "c": (0, 100, 0), "d": None}
"""Sample → the colour that was drawn again from its description."""


def write_case(
    folder: Path,
    drawn: Mapping[str, tuple[int, int, int] | None] = DRAWN,
    reds: Sequence[int] = (100, 101, 102, 103),
) -> None:
    """Write originals of these reds, in one direction of colour, and their redrawings."""
    support = Item("s", "x", "support", (1, 0, 0))
    tests = [Item(name, "x", "test", (red, 0, 0)) for name, red in zip(drawn, reds, strict=False)]
    write_labelled(folder / "d", [support, *tests])
    records = []
    for name, colour in drawn.items():
        image = f"images/{name}/1.png" if colour else None
        if image and colour:
            (folder / "r" / image).parent.mkdir(parents=True)
            (folder / "r" / image).write_bytes(png_bytes(Image.new("RGB", (8, 8), colour)))
        records.append(iteration(name, 1, f"aab {name}", image, Outcome.OK))
        if image is None:
            filtered = [*records[-1].results, result("generator", Outcome.FILTERED)]
            records[-1] = records[-1].model_copy(update={"results": filtered})
    write_jsonl(folder / "r" / RECORDS, records)
    components = {
        "model": ComponentCard.of("m", ColourModel()),
        "generator": ComponentCard.of("g", SizeGenerator()),
    }
    asked = ChainRequest(
        iterations=1, describe_prompt="p", max_tokens=None, generate_prompt="{description}", seed=1
    )
    keys = {"dataset": "d", "model": "m", "generator": "g"}
    about = {
        "benchmark": "fidelity",
        "stage": "redraw",
        "keys": keys,
        "data_digest": "dd",
        "components": components,
    }
    write_json(
        folder / "r" / CARD, CollectedCard.model_validate(about | {"protocol": asked.model_dump()})
    )


def scored(
    folder: Path, encoder: Encoder, ratings: Sequence[Sequence[str]] = (), min_coverage: float = 0.5
) -> tuple[Score, dict[str, Row]]:
    sheet = folder / "ratings.csv"
    sheet.write_text(csv_text(COLUMNS, ratings), encoding="utf-8")
    given = ToScore(
        keys={"dataset": "d", "model": "m", "generator": "g", "encoder": "e"},
        folders={"dataset": folder / "d", "redraw": folder / "r"},
        section=FidelitySettings.model_construct(
            ssim_side=64, confidence=0.9, min_coverage=min_coverage, unread="left_out"
        ),
        seed=1,
        encoders={"encoder": encoder},
        beside={"ratings": sheet} if ratings else {},
    )
    found, rows = Fidelity().score(given)
    return found, {row.unit: row for row in rows}


def values(rows: Mapping[str, Row], key: str) -> dict[str, float | None]:
    """Sample → its value; None where the row has none."""
    return {name: next(iter(row.values.get(key, [])), None) for name, row in rows.items()}


def test_images_are_compared_with_their_redrawings(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, rows = scored(tmp_path, TableEncoder())
    seen = values(rows, "image_similarity")
    assert seen == {"a": 100.0, "b": pytest.approx(100 * math.sqrt(0.5)), "c": 0.0, "d": None}
    mean = sum(value for value in seen.values() if value is not None) / 3
    assert found.metrics["image_similarity"] == pytest.approx(mean)
    assert found.metrics["image_similarity_low"] <= mean <= found.metrics["image_similarity_high"]
    assert found.metrics["frechet_table"] > 0
    assert (found.scored, found.total, found.coverage) == (3, 4, 0.75)
    assert found.outcomes == {"filtered": 1, "ok": 3}
    assert rows["d"].outcome is Outcome.FILTERED


def test_what_an_encoder_cannot_do_is_absent_with_a_reason_and_never_zero(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, _ = scored(tmp_path, TableEncoder())
    assert not {"clip_s", "clip_s_i", "fid", "human"} & found.metrics.keys()
    assert found.absent["clip_s"] == "e has no text tower"
    assert "image_similarity is the same cosine" in found.absent["clip_s_i"]
    assert "frechet_table is the same distance" in found.absent["fid"]
    assert found.absent["human"] == "no ratings of these descriptions"


def test_an_encoder_of_both_gives_clip_s_even_of_what_could_not_be_drawn(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, rows = scored(tmp_path, LetterEncoder(wide=2))
    cosine = 2 / math.hypot(2, 1)  # of (100, 0) and "aab" as (2, 1)
    assert values(rows, "clip_s")["a"] == pytest.approx(100 * 3 / math.hypot(3, 1))  # "aab a"
    assert rows["d"].values.keys() == {"clip_s"}
    assert values(rows, "clip_s")["d"] == pytest.approx(100 * cosine)
    assert {"clip_s", "clip_s_i"} <= found.metrics.keys()
    assert "image_similarity" not in found.metrics
    assert "clip_s" not in found.absent
    assert (found.metrics["samples"], found.metrics["words"]) == (3, 2.0)
    assert [flag.partition(":")[0] for flag in found.flags] == [
        "the Fréchet distance is over 3 images"
    ]


def test_what_a_service_refuses_is_no_description(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, _ = scored(tmp_path, LetterEncoder(wide=2))
    *described, _ = read_jsonl(tmp_path / "r" / RECORDS, CollectedRecord)
    write_jsonl(
        tmp_path / "r" / RECORDS,
        [*described, iteration("d", 1, "I cannot help.", outcome=Outcome.REFUSED)],
    )
    without, rows = scored(tmp_path, LetterEncoder(wide=2))
    assert (rows["d"].values, rows["d"].outcome) == ({}, Outcome.REFUSED)
    assert without.metrics["clip_s"] != found.metrics["clip_s"]


def test_ssim_is_scikit_images_on_luma_at_the_stated_size(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, rows = scored(tmp_path, TableEncoder())
    assert values(rows, "ssim")["a"] == 100.0
    luma = [
        np.full((64, 64), Image.new("RGB", (1, 1), rgb).convert("L").getpixel((0, 0)), np.uint8)
        for rgb in ((102, 0, 0), (0, 100, 0))
    ]
    plain = structural_similarity(
        *luma, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
    )
    assert values(rows, "ssim")["c"] == pytest.approx(100 * plain)
    assert found.inputs.settings["ssim_side"] == 64


def test_equal_images_are_one_cluster(tmp_path: Path) -> None:
    """Similarities 100, 70.7 and 0 of three images, of two (the last two are one), and of one."""
    ends = []
    for name, reds in (
        ("three", (100, 101, 102, 103)),
        ("two", (100, 101, 101, 103)),
        ("one", (100, 100, 100, 100)),
    ):
        write_case(tmp_path / name, reds=reds)
        found, rows = scored(tmp_path / name, TableEncoder())
        ends.append(found.interval("image_similarity"))
        assert found.metrics["image_similarity"] == pytest.approx(100 * (1 + math.sqrt(0.5)) / 3)
        assert [row.cluster for row in rows.values()] == {
            "three": [*"abcd"],
            "two": [*"abbd"],
            "one": [*"aaaa"],
        }[name]
    assert ends[2] is None
    assert (
        "3 of 4 images repeat an earlier one; equal images count as one for intervals"
        in found.flags
    )
    assert ends[0] is not None
    assert ends[1] is not None
    assert ends[0] != ends[1]


def test_ratings_of_these_descriptions_count(tmp_path: Path) -> None:
    write_case(tmp_path)
    given = {"a": (5, 4), "b": (3, 3), "c": (1, 2)}
    ratings = [
        ("d", name, "m", f"aab {name}", rater, str(value))
        for name, values in given.items()
        for rater, value in zip(("one", "two"), values, strict=True)
    ]
    ratings.append(("d", "a", "m", "an earlier description", "three", "1"))
    ratings.append(("other", "a", "m", "aab a", "three", "1"))
    found, rows = scored(tmp_path, TableEncoder(), ratings)
    assert values(rows, "human") == {"a": 4.5, "b": 3.0, "c": 1.5, "d": None}
    assert found.metrics["human"] == 3.0
    assert found.details["ratings"] == {
        "used": 6,
        "raters": 2,
        "stale": 1,
        "counts": [1, 1, 2, 1, 1],
    }
    assert "1 human ratings are of other descriptions than these and do not count" in found.flags


def test_too_few_redrawings_take_the_rank_and_none_the_score(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, _ = scored(tmp_path, TableEncoder(), min_coverage=0.9)
    few = "only 3 of 4 images were redrawn (d, step 1: filtered)"
    assert found.flags[0] == f"{few}, and fidelity.min_coverage asks for 90%: no rank"
    assert found.unranked is not None
    write_case(tmp_path / "none", dict.fromkeys("ab"))
    with pytest.raises(CoverageError, match="none of 2 images were redrawn"):
        scored(tmp_path / "none", TableEncoder(), min_coverage=0.0)


def test_one_redrawing_has_no_distance(tmp_path: Path) -> None:
    write_case(tmp_path, {"a": (100, 0, 0)})
    found, _ = scored(tmp_path, TableEncoder())
    assert "frechet_table" not in found.metrics
    assert found.absent["frechet_table"] == "fewer than two images were made again"


def test_the_test_set_is_redrawn_or_everything_where_there_is_none(tmp_path: Path) -> None:
    write_case(tmp_path)
    samples = read_samples(tmp_path / "d")
    assert [sample.id for sample in Fidelity().samples(samples)] == list(DRAWN)
    plain = [Sample(sample.id, sample.medium) for sample in samples]
    assert Fidelity().samples(plain) == plain


def test_a_redrawing_is_a_chain_of_one_iteration_with_the_filled_prompt(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "d", [Item("a", "x", "test", (1, 2, 3))])
    way = Description(prompt="Tell me of the {category}.", max_tokens=(40,), prefix="It has")
    section = default_params()["fidelity"] | {"generate_prompt": "{description}", "repeats": 2}
    given = StageInputs(
        keys={"dataset": "d"},
        section=FidelitySettings.model_validate(section),
        seed=3,
        folders={},
        model=lambda name: ColourModel(),
        generator=lambda name: SizeGenerator(),
        encoder=lambda name: TableEncoder(),
        description=lambda name: way,
    )
    asked = Fidelity().request(given, card)
    assert (asked.iterations, asked.describe_prompt, asked.max_tokens) == (
        1,
        "Tell me of the bird.",
        40,
    )
    assert (asked.generate_prompt, asked.seed, asked.prefix, asked.repeats) == (
        "{description}",
        3,
        "It has",
        2,
    )


def test_of_repeats_a_sample_is_worth_its_mean(tmp_path: Path) -> None:
    write_case(tmp_path)
    records = read_jsonl(tmp_path / "r" / RECORDS, CollectedRecord)
    again = [
        iteration(each.unit, 1, each.text, "images/c/1.png", each.outcome, 1) for each in records
    ]
    write_jsonl(tmp_path / "r" / RECORDS, [*records, *again])
    card = read_json(tmp_path / "r" / CARD, CollectedCard)
    write_json(
        tmp_path / "r" / CARD, card.model_copy(update={"protocol": card.protocol | {"repeats": 2}})
    )
    found, rows = scored(tmp_path, TableEncoder())
    assert values(rows, "image_similarity") == {
        "a": 50.0,
        "b": pytest.approx(50 * math.sqrt(0.5)),
        "c": 0.0,
        "d": 0.0,  # which was drawn in the second repeat alone
    }
    assert found.groups["repeat"]["1"]["image_similarity"] == 0.0
    first = 100 * (1 + math.sqrt(0.5)) / 3
    assert found.metrics["image_similarity_std"] == pytest.approx(first / 2)
    assert (found.scored, found.total, found.metrics["samples"]) == (7, 8, 3)
    assert [each.outcome for each in rows["d"].repeats] == [Outcome.FILTERED, Outcome.FILTERED]


def test_categories_have_the_means_of_their_own_samples(tmp_path: Path) -> None:
    write_case(tmp_path)
    text = (tmp_path / "d" / "samples.jsonl").read_text(encoding="utf-8")
    lines = [
        line.replace('"category":null', f'"category":"{"xy"[n % 2]}"')
        for n, line in enumerate(text.splitlines())
    ]
    (tmp_path / "d" / "samples.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, rows = scored(tmp_path, TableEncoder())  # s is of x, then a of y, b of x, c of y, d of x
    assert {name: row.extra["category"] for name, row in rows.items()} == {
        "a": "y",
        "b": "x",
        "c": "y",
        "d": "x",
    }
    seen = {name: of["image_similarity"] for name, of in found.groups["category"].items()}
    assert seen == {"x": pytest.approx(100 * math.sqrt(0.5)), "y": 50.0}

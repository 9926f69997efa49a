"""What a chain is worth that ends early, worked by hand, by who ended it: the model, its service,
or the generator.

The original has the features (100, 0), and a description says which features its drawing has. No
two images have the same width, so that each is asked about by a call of its own.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.registry import benchmark
from driftledger.components.base import Generator, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.types import Medium, Outcome, Result, Sample
from driftledger.scoring.score import Flag
from tests.support.by_hand import named
from tests.support.cases import each_case, lines
from tests.support.chains import chains, collected
from tests.support.fakes import LetterEncoder
from tests.support.records import without

T = 3
PLAIN = Result("80 60 aaaabbb")
"""Drawn with a cosine of 80 / 100 = 0.8; as a text it is (4, 3), of which the cosine with (100, 0)
is 0.8, too."""


class Draws(Generator):
    """Draws the two numbers that a prompt begins with, or 60 and 80; a prompt may say what becomes
    of it instead."""

    provider: ClassVar[str] = "draws"
    version: ClassVar[str] = "1"

    def generate(self, prompts, seeds):
        return [self._drawn(*each) for each in zip(prompts, seeds, strict=True)]

    def _drawn(self, prompt, seed):
        for outcome in (Outcome.FILTERED, Outcome.FAILED):
            if outcome in prompt:
                return Result(outcome=outcome, error="no image")
        numbers = [int(word) for word in prompt.split() if word.isdigit()] or [60, 80]
        return Result(image=Image.new("RGB", (16 + seed % 997, 16), (*numbers, 0)))


def telling(replies):
    """A model that gives these replies by sample and t, and else the plain one."""

    class Tells(Model):
        provider: ClassVar[str] = "tells"
        version: ClassVar[str] = "1"

        def respond(self, conversations):
            return [
                replies.get((each.subject or ("", 0))[:2], PLAIN)
                for each in conversations
            ]

    return Tells()


def scored(folder, name, replies, samples=2, lost=None, **settings):
    """Collect and score: GenCeption over T iterations, or fidelity.

    Args:
        lost: the sample whose records are lost in between.
    """
    data = folder / "d"
    data.mkdir(parents=True)
    several = []
    for number in range(samples):
        Image.new("RGB", (16 + number, 16), (100, 0, 0)).save(
            path := data / f"s{number}.png"
        )
        several.append(Sample(path.stem, Medium(path, sha256_file(path))))
    iterations = T if name == "genception" else 1
    spec = benchmark(name)
    of = chains(several, telling(replies), Draws(), iterations, "{description}")
    collecting = replace(of, spec=spec)
    write_collected(folder / "c", collecting, collected(collecting, folder / "store"))
    if lost is not None:
        without(folder / "c", lost)
    fields: dict[str, Any] = {
        "confidence": 0.95,
        "min_coverage": 0.0,
        "unread": "worst",
        "ssim_side": 64,
    }
    fields |= {
        "iterations": iterations,
        "iterations_by_group": None,
        "text_encoder": "letters",
    } | settings
    encoders = {"encoder": LetterEncoder(wide=2)}
    if name == "genception":
        encoders["text_encoder"] = LetterEncoder(wide=2)
    folders = {"dataset": data, spec.collects.name: folder / "c"}
    keys = {"dataset": "d", "model": "m", "generator": "g", "encoder": "e"}
    section = spec.settings.model_construct(**fields)
    score, rows = spec.score(Scoring(spec, keys, folders, section, 1, encoders))
    return score, {row.unit: row for row in rows}


@pytest.mark.parametrize("name", ["genception", "fidelity"])
def test_a_chain_without_records_is_named(name, tmp_path):
    with pytest.raises(
        StoreError,
        match=r"records\.jsonl lacks the record of s1, step 1, repeat 0; run 'dvc repro'",
    ):
        scored(tmp_path, name, {}, lost="s1")


CASES = lines("benchmarks/unread.jsonl")
"""How s1 is described at t, the outcome of its row, its values in GenCeption and fidelity where an
unread reply is the worst, and whether it is one; s0 is plain all along."""
WORST = ("clip_s_i", "ssim", "clip_s")
# Of grey values a and b of one colour each SSIM is (2ab + C1) / (a² + b² + C1) with C1 = 6.5025:
# 30 of the original, 59 plain and 65 of (60, 80).
PLAIN_WORTH = {"clip_s_i": 80.0, "ssim": 100 * 3546.5025 / 4387.5025, "clip_s": 80.0}
EACH = each_case(CASES)
UNREAD = pytest.mark.parametrize("unread", ["worst", "left_out"])


def known(values):
    return [value for value in values if value is not None]


def replied(case):
    reply = case["reply"]
    return Result(
        reply["text"], Outcome(reply.get("outcome", "ok")), error=reply.get("error")
    )


def counts(case, unread, whole):
    """Scored, counted, and all: of two chains."""
    counted = whole or (case["is_worst"] and unread == "worst")
    return 1 + whole, 1 + counted, 2


@EACH
@UNREAD
def test_genception(tmp_path, case, unread):
    score, rows = scored(
        tmp_path, "genception", {("s1", case["t"]): replied(case)}, unread=unread
    )
    similarity, text = list(case["similarity"]), list(case["text"])
    if case["is_worst"] and unread == "left_out":
        similarity[case["t"] - 1 :] = [None] * (T - case["t"] + 1)
        text[case["t"] - 1 :] = [None] * (T - case["t"] + 1)
    assert rows["s0"].values["similarity"] == pytest.approx([0.8] * T)
    assert rows["s1"].outcome == case["outcome"]
    for key, expected in {"similarity": similarity, "text_similarity": text}.items():
        there = rows["s1"].values[key]
        assert [value is None for value in there] == [
            value is None for value in expected
        ], key
        assert known(there) == pytest.approx(known(expected)), key
    whole = None not in similarity
    gc = [0.8] + [sum(t * (s or 0) for t, s in enumerate(similarity, 1)) / 6] * whole
    assert named(score)["gc_at_3"] == pytest.approx(sum(gc) / len(gc))
    means = [0.8] + [sum(known(similarity)) / T] * whole
    assert named(score)["similarity_mean"] == pytest.approx(sum(means) / len(means))
    reaches = not case["is_worst"] and whole
    assert (score.scored, score.counted, score.total) == counts(case, unread, reaches)
    assert score.coverage == score.scored / 2
    drawn = case["t"] - 1 if not reaches else T
    assert {t for t in range(1, T + 1) if f"whole_frechet_at_{t}" in named(score)} == {
        *range(1, drawn + 1)
    }
    flag = (
        f"for 1 of 2 chains the model gave no description (1 {case['outcome']}): "
        "similarities count as 0 from there on"
    )
    assert (Flag(text=flag) in score.flags) is (case["is_worst"] and unread == "worst")


@EACH
@UNREAD
def test_fidelity(tmp_path, case, unread):
    score, rows = scored(
        tmp_path, "fidelity", {("s1", 1): replied(case)}, unread=unread
    )
    left_out = case["is_worst"] and unread == "left_out"
    expected = {} if left_out else case["fidelity"]
    assert rows["s1"].outcome == case["outcome"]
    worth = {"s0": PLAIN_WORTH, "s1": expected}
    for name, values in worth.items():
        of_row = {key: value for key, [value] in rows[name].values.items()}
        assert of_row == pytest.approx(dict(values), abs=1e-4)
    for key, plain in PLAIN_WORTH.items():
        several = [plain, *([expected[key]] if key in expected else [])]
        assert named(score)[key] == pytest.approx(np.mean(several), abs=1e-4)
    reaches = not case["is_worst"] and "ssim" in expected
    assert (score.scored, score.counted, score.total) == counts(case, unread, reaches)
    assert ("frechet" in named(score)) is reaches
    flag = (
        f"for 1 of 2 images the model gave no description (1 {case['outcome']}): "
        "similarities count as 0 from there on"
    )
    assert (Flag(text=flag) in score.flags) is (case["is_worst"] and unread == "worst")


@pytest.mark.parametrize("name", ["genception", "fidelity"])
def test_who_describes_nothing_is_worth_0(tmp_path, name):
    score, _ = scored(
        tmp_path, name, {(f"s{number}", 1): Result("") for number in range(2)}
    )
    worth = (
        ["gc_at_3", "similarity_mean", "text_similarity_mean"]
        if name == "genception"
        else [*WORST]
    )
    assert {key: named(score)[key] for key in worth} == dict.fromkeys(worth, 0)
    assert (score.scored, score.counted, score.total) == (0, 2, 2)


@pytest.mark.parametrize(
    ("name", "done"),
    [("genception", "chains reached t=3"), ("fidelity", "images were redrawn")],
)
def test_two_refusals_of_13_images_take_the_rank_and_not_the_score(
    tmp_path, name, done
):
    refusal = Result("I cannot help with people.", Outcome.REFUSED)
    replies = {("s3", 1): refusal, ("s8", 1): refusal}
    score, rows = scored(tmp_path, name, replies, samples=13, min_coverage=0.9)
    few = f"only 11 of 13 {done} (s3, step 1: refused; s8, step 1: refused)"
    assert (
        score.flags[0].text == f"{few}, and {name}.min_coverage asks for 90%: no rank"
    )
    assert (
        score.unranked
        == f"11/13 (13 counted) could be scored, and {name}.min_coverage asks for 90%"
    )
    key, plain = ("gc_at_3", 0.8) if name == "genception" else ("clip_s", 80)
    assert named(score)[key] == pytest.approx(11 * plain / 13)
    assert len(rows) == 13

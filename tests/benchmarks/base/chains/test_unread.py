"""What a chain is worth that ends early, worked by hand, by who ended it: the model, its service,
or the generator.

A case says how a sample is described at t; all others get the plain reply.

The original has the features (100, 0), and a description says which features its drawing has. No
two images have the same width, so that each is asked about by a call of its own.
"""

import re
from dataclasses import replace

import pytest
from PIL import Image

from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.registry import benchmark
from driftledger.components.base import Generator, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.types import Medium, Outcome, Result, Sample
from tests.support.by_hand import assert_score
from tests.support.cases import each_case, lines
from tests.support.chains import chains, collected, scoring
from tests.support.fakes import LetterEncoder
from tests.support.records import without

T = 3
PLAIN = Result("80 60 aaaabbb")
"""Drawn with a cosine of 80 / 100 = 0.8; as a text it is (4, 3), of which the cosine with (100, 0)
is 0.8, too."""


class Draws(Generator):
    """Draws the two numbers that a prompt begins with, or 60 and 80; a prompt may say what becomes
    of it instead."""

    provider = "draws"
    version = "1"

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
        provider = "tells"
        version = "1"

        def respond(self, conversations):
            return [
                replies.get((each.subject or ("", 0))[:2], PLAIN)
                for each in conversations
            ]

    return Tells()


def scored(folder, case):
    """Collect and score what a case describes: GenCeption over T iterations, or fidelity."""
    spec = benchmark(case["benchmark"])
    data = folder / "d"
    data.mkdir()
    samples = []
    for number in range(case.get("samples", 2)):
        path = data / f"s{number}.png"
        Image.new("RGB", (16 + number, 16), (100, 0, 0)).save(path)
        samples.append(Sample(path.stem, Medium(path, sha256_file(path))))
    replies = {}
    for sample, t, reply in case["replies"]:
        outcome = Outcome(reply.get("outcome", "ok"))
        replies[sample, t] = Result(reply["text"], outcome, error=reply.get("error"))
    iterations = T if spec.name == "genception" else 1
    asked = chains(samples, telling(replies), Draws(), iterations, "{description}")
    collecting = replace(asked, spec=spec)
    write_collected(folder / "c", collecting, collected(collecting, folder / "store"))
    if "lost" in case:
        without(folder / "c", case["lost"])
    settings = {"iterations": iterations} | case.get("settings", {})
    encoders = {"encoder": LetterEncoder(wide=2)}
    if spec.name == "genception":
        settings["text_encoder"] = "letters"
        encoders["text_encoder"] = LetterEncoder(wide=2)
    return spec.score(scoring(spec, folder, encoders, settings))


@each_case(lines("benchmarks/unread.jsonl"))
def test_a_score_by_hand(tmp_path, case):
    """Of grey values a and b of one colour each SSIM is (2ab + C1) / (a² + b² + C1) with C1 =
    6.5025: 30 of the original, 59 plain and 65 of (60, 80)."""
    if "error" in case:
        with pytest.raises(StoreError, match=re.escape(case["error"])):
            scored(tmp_path, case)
        return
    score, rows = scored(tmp_path, case)
    assert_score(case, score, rows)
    assert len(rows) == score.total
    assert score.coverage == score.scored / score.total
    assert score.unranked == case.get("unranked")

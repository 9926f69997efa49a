"""Scores of chains worked by hand: the encoder reads vectors from pixels, and letters from texts.

A case says of each repeat, sample by sample, the cosine between the original and the image at
t = 1, 2, …, or the outcome that ended the chain. A sample's category is its first letter. One with
``starts`` is of texts, which are drawn first; ``readings`` are the tokens of a sample's
descriptions, and how many of them the generator reads.
"""

from itertools import zip_longest
from types import SimpleNamespace

import pytest
from PIL import Image

from driftledger.benchmarks.base.chains.records import ChainRequest
from driftledger.benchmarks.base.records import (
    CollectedRecord,
)
from driftledger.benchmarks.fidelity.ratings import FORM
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import CoverageError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.text import csv_text
from driftledger.core.types import PromptUsage
from driftledger.data.records import SampleEntry
from driftledger.notebook import chain_steps
from driftledger.scoring.number import NumberName
from driftledger.tracking.traces import pictures_of
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.by_hand import assert_holds, assert_score
from tests.support.cases import each_case, lines
from tests.support.chains import CARD as CHAIN_CARD
from tests.support.chains import scoring
from tests.support.fakes import EchoModel, LetterEncoder, SizeGenerator, TableEncoder
from tests.support.ledgers import result
from tests.support.records import write_stage

CASES = lines("benchmarks/chains.jsonl")
VECTORS = {
    1: (200, 0),
    0.96: (192, 56),
    0.8: (160, 120),
    0.6: (120, 160),
    0.28: (56, 192),
    0: (0, 200),
}
"""Cosine with the original, which is (200, 0) → the red and the green of an image."""
KEYS = {"dataset": "d", "model": "m", "generator": "g"}


def write_image(folder, cosine):
    """Write an image whose features have this cosine with the original."""
    folder.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (16, 16), (*VECTORS[cosine], 0))
    name = f"{cosine}.png"
    (folder / name).write_bytes(png_bytes(image))
    return name


def write_dataset(folder, case):
    twins = case.get("twins", {})
    entries = []
    for sample in case["chains"][0]:
        entry = {
            "id": sample,
            "file": write_image(folder, 1),
            "category": sample[0],
            "sha256": sha256_bytes(twins.get(sample, sample).encode()),
            "width": 16,
            "height": 16,
        }
        if "starts" in case:
            entry["file"] = f"{sample}.txt"
            (folder / f"{sample}.txt").write_text(case["starts"][sample])
        entries.append(SampleEntry.model_validate(entry))
    write_jsonl(folder / "samples.jsonl", entries)
    changes = {"samples": len(entries), "groups": case.get("groups", {})}
    write_json(folder / "dataset.json", CHAIN_CARD.model_copy(update=changes))


def drawn_first(folder, ended, text):
    """What the calls of an iteration gave that begins with a text."""
    if ended == "filtered":
        return [result("generator", ended)]
    drawn = result("generator", file=write_image(folder, 1), sha256="i", key="drawn")
    outcome = ended if isinstance(ended, str) else "ok"
    return [drawn, result("model", outcome, text)]


def described_first(folder, ended, text, **reading):
    """What the calls of an iteration gave that begins with an image."""
    if ended == "filtered":
        return [result("model", text=text), result("generator", ended)]
    if isinstance(ended, str):
        return [result("model", ended, text)]
    name = write_image(folder, ended)
    drawn = result("generator", file=name, sha256=name, **reading)
    return [result("model", text=text), drawn]


def write_records(folder, spec, case):
    records = []
    for repeat, chains in enumerate(case["chains"]):
        for sample, chain in chains.items():
            texts = case.get("texts", {}).get(sample, [])
            reading = {}
            if "readings" in case:
                reading["reading"] = PromptUsage(*case["readings"][sample])
            for t, (ended, text) in enumerate(zip_longest(chain, texts), 1):
                if "starts" in case:
                    results = drawn_first(folder, ended, text)
                else:
                    results = described_first(folder, ended, text, **reading)
                record = CollectedRecord(
                    unit=sample,
                    step=t,
                    repeat=repeat,
                    results=results,
                    extra={"parent_sha256": "p", "seed": 1},
                )
                records.append(record)
    asked = ChainRequest(
        iterations=case.get("iterations", 3),
        describe_prompt="p",
        max_tokens=None,
        generate_prompt="{description}",
        seed=1,
        repeats=len(case["chains"]),
    )
    components = {"model": ("m", EchoModel()), "generator": ("g", SizeGenerator())}
    write_stage(folder, spec, KEYS, records, components, asked.model_dump())


def to_score(folder, spec, case):
    write_dataset(folder / "d", case)
    write_records(folder / "c", spec, case)
    settings = {"unread": "left_out"} | case.get("settings", {})
    encoder = TableEncoder()
    if case.get("letters"):
        encoder = LetterEncoder(wide=case.get("wide", 2))
    if case.get("fitted"):
        encoder = TfIdf()
    encoders = {"encoder": encoder}
    if reader := settings.get("text_encoder"):
        encoders["text_encoder"] = {"letters": LetterEncoder, "tfidf": TfIdf}[reader]()
    beside = {}
    if "ratings" in case:
        beside["ratings"] = folder / "ratings.csv"
        text = csv_text(FORM.columns, case["ratings"])
        beside["ratings"].write_text(text, encoding="utf-8")
    return scoring(spec, folder, encoders, settings, **beside)


@each_case(CASES)
def test_a_score_by_hand(tmp_path, case):
    spec = benchmark(case["benchmark"])
    given = to_score(tmp_path, spec, case)
    if "error" in case:
        with pytest.raises(CoverageError, match=case["error"]):
            spec.score(given)
        return
    score, rows = spec.score(given)
    assert_score(case, score, rows)
    assert (score.unranked is not None) == case.get("unranked", False)
    for key, value in case.get("ranked", {}).items():
        number = score.by_place[NumberName.read(key).place]
        is_ranked = spec.is_complete(score, number.place)
        assert_holds(number.value if is_ranked else None, value, key)
    if "headlines" in case:
        names = [number.name for number in spec.metrics.headlines(score)]
        assert names == case["headlines"]


TEXTS = [case for case in CASES if "starts" in case]


def test_a_chain_of_texts_is_shown_from_its_text_on(tmp_path):
    case = TEXTS[0]
    spec = benchmark("genception")
    given = to_score(tmp_path, spec, case)
    score, rows = spec.score(given)
    trace = next(spec.traces(given.folders, score, rows[:1]))
    drawn = [each.inputs["description"] for each in trace.steps if each.role != "model"]
    assert drawn == [case["starts"]["a1"], *case["texts"]["a1"][:2]]
    last = trace.steps[-1]
    assert (last.role, last.outputs["s(3)"], last.mark) == (
        "model",
        0,
        "largest loss −0.600",
    )
    lineage = SimpleNamespace(spec=spec, score=score, places=lambda _: given.folders)
    [(_, pictures)] = pictures_of(lineage, tmp_path, {"d/a1": rows[0]})
    assert pictures == [None, *[tmp_path / "c/1.png"] * 3]
    steps = [*chain_steps(score, trace)]
    assert [each["description"] for each in steps] == ["a", *case["texts"]["a1"]]
    assert steps[0]["image"] is None

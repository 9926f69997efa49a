"""Self-retrieval worked by hand: an image is a direction, and so is a text by its letters a and b.

A case names for each sample the red and green of its image, and what the model said of it, or the
outcome that it had instead. The encoder reads the first two words.
"""

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks.registry import benchmark, shipped_section
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ComponentError, CoverageError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from driftledger.reports.tests import metric_of, with_ranks
from driftledger.scoring.frame import frame, rows_in
from driftledger.scoring.score import Score
from tests.support.by_hand import assert_score
from tests.support.cases import each_case, lines
from tests.support.chains import CARD as DATASET
from tests.support.chains import scoring
from tests.support.fakes import EchoModel, LetterEncoder
from tests.support.ledgers import record
from tests.support.records import write_stage

SPEC = benchmark("self_retrieval")
TWO = {"x": [[200, 0], "a"], "y": [[0, 200], "b"]}


def write_folders(folder, samples):
    (folder / "d").mkdir()
    entries = []
    records = []
    for sample, (colour, said) in samples.items():
        content = png_bytes(Image.new("RGB", (16, 16), (*colour, 0)))
        (folder / "d" / f"{sample}.png").write_bytes(content)
        entry = SampleEntry(
            id=sample,
            file=f"{sample}.png",
            sha256=sha256_bytes(content),
            width=16,
            height=16,
        )
        entries.append(entry)
        is_outcome = said in [*Outcome]
        outcome, text = (said, None) if is_outcome else ("ok", said)
        records.append(record(sample, outcome, text))
    write_jsonl(folder / "d/samples.jsonl", entries)
    card = DATASET.model_copy(update={"samples": len(entries)})
    write_json(folder / "d/dataset.json", card)
    keys = {"dataset": "d", "model": "m"}
    asked = {"describe_prompt": "p", "seed": 1}
    write_stage(folder / "c", SPEC, keys, records, {"model": ("m", EchoModel())}, asked)


def scored(folder, samples, settings=None, encoder=LetterEncoder):
    """Score these samples; and what scores them."""
    write_folders(folder, samples)
    given = scoring(SPEC, folder, {"encoder": encoder(wide=2)}, settings or {})
    return *SPEC.score(given), given


@each_case(lines("benchmarks/self_retrieval.jsonl"))
def test_a_score_by_hand(tmp_path, case):
    case_of = case["samples"], case.get("settings")
    if "error" in case:
        with pytest.raises(CoverageError, match=case["error"]):
            scored(tmp_path, *case_of)
        return
    score, rows, _ = scored(tmp_path, *case_of)
    assert_score(case, score, rows)
    assert score.unranked == case.get("unranked")
    assert [flag.text for flag in score.flags if flag.alarm] == case.get("alarms", [])


def test_a_description_is_asked_for_in_the_words_of_genception():
    prompts = [
        shipped_section(name)["describe_prompt"]
        for name in ("self_retrieval", "genception")
    ]
    assert prompts[0] == prompts[1]


def test_a_row_is_shown_with_its_image_and_its_description(tmp_path):
    score, rows, given = scored(tmp_path, TWO)
    [trace, _] = SPEC.traces(given.folders, score, rows)
    [step] = trace.steps
    assert (trace.unit, step.inputs["prompt"], step.outputs) == (
        "x",
        "p",
        {"reply": "a"},
    )
    assert step.inputs["image"].file == tmp_path / "d/x.png"
    assert trace.values == {"recall@1": 100.0, "CLIPScore": 100.0}


def test_chance_is_the_floor_and_no_text_reaches_the_best_clip_score(tmp_path):
    score, *_ = scored(tmp_path, TWO)
    ranked = rows_in(with_ranks(frame([score])))
    bounds = {row.metric: (row.floor, metric_of(row).ceiling) for row in ranked}
    assert bounds["recall1"] == (50.0, 100.0)
    assert bounds["clip_score"][1] is None


class WideReader(LetterEncoder):
    """Gives a text another number of features than an image."""

    def encode_texts(self, texts):
        return np.ones((len(texts), 5), np.float32)


def test_an_encoder_whose_towers_do_not_fit_is_named(tmp_path):
    sentence = (
        f"^encoder {WideReader.provider} gives 2 features of an image and 5 of a text"
    )
    with pytest.raises(ComponentError, match=sentence):
        scored(tmp_path, TWO, encoder=WideReader)


def test_a_foreign_score_without_chance_has_no_note(tmp_path):
    score, *_ = scored(tmp_path, TWO)
    assert len([*SPEC.notes([score])]) == 1
    content = score.to_dict()
    content["numbers"] = [
        each for each in content["numbers"] if each["metric"] != "chance"
    ]
    assert not [*SPEC.notes([Score.model_validate(content)])]

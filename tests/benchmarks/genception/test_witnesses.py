"""What other models say of the same images: asked once, whichever models are selected, and never of oneself."""

from pathlib import Path

import pytest

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.records import WITNESS, WitnessRecord, check_witnesses, role_of
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.benchmarks.genception.witnesses import CollectWitnesses, witness_callers
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.benchmarks.writing import write_collected
from driftledger.components.base import Model
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard, read_samples
from tests.benchmarks.genception.test_score import write_case
from tests.support.chains import collected
from tests.support.fakes import SEEN, ColourModel, EchoModel, LetterEncoder, TableEncoder


@pytest.fixture
def case(tmp_path: Path) -> Path:
    write_case(tmp_path, {}, {})
    return tmp_path


def collecting(case: Path, models: dict[str, Model]) -> CollectWitnesses:
    dataset = read_json(case / "d" / "dataset.json", DatasetCard)
    return CollectWitnesses("genception", WITNESS, {"dataset": "d"}, dataset, "p", models, read_samples(case / "d"))


def write(case: Path, **models: Model) -> None:
    stage = collecting(case, models)
    write_collected(case / "w", stage, collected(stage, case / "store"))


def scored(case: Path, text_encoder: bool = True) -> tuple[Score, list[Row]]:
    folders = {"dataset": case / "d", "chain": case / "c"}
    return score(
        ToScore(
            keys={"dataset": "d", "model": "m", "generator": "g", "encoder": "e"},
            folders=folders | ({WITNESS: case / "w"} if (case / "w").is_dir() else {}),
            scoring=GenCeptionScoring(
                iterations=3,
                confidence=0.95,
                seed=1,
                text_encoder="t" if text_encoder else None,
            ),
            min_coverage=0.5,
            encoders={"encoder": TableEncoder()} | ({"text_encoder": LetterEncoder()} if text_encoder else {}),
        )
    )


def describe(case: Path, *texts: str) -> None:
    """Let every chain say this at t = 1, 2, 3."""
    file = case / "c" / RECORDS
    write_jsonl(
        file, [row.model_copy(update={"description": texts[row.t - 1]}) for row in read_jsonl(file, ChainRecord)]
    )


def test_every_model_describes_every_sample_once(case: Path) -> None:
    SEEN.clear()
    write(case, echo=EchoModel(), colour=ColourModel())
    records = read_jsonl(case / "w" / RECORDS, WitnessRecord)
    assert [(each.model, each.sample) for each in records] == [
        (model, sample) for model in ("echo", "colour") for sample in ("a1", "a2", "b1", "b2")
    ]
    card = read_json(case / "w" / CARD, CollectedCard)
    assert {role: each.name for role, each in card.components.items()} == {
        "witness.echo": "echo",
        "witness.colour": "colour",
    }
    assert (card.keys, card.protocol) == ({"dataset": "d"}, {"describe_prompt": "p"})
    calls = sum(map(len, SEEN))
    write(case, echo=EchoModel())
    assert sum(map(len, SEEN)) == calls, "what is stored is not asked again"


def test_without_a_model_nothing_is_asked(case: Path) -> None:
    write(case)
    assert read_jsonl(case / "w" / RECORDS, WitnessRecord) == []
    found, _ = scored(case)
    assert "cross_check" not in found.metrics
    assert found.absent["cross_check"] == "no other model of genception.cross_check described an image"


def test_a_failed_call_is_told(case: Path) -> None:
    stage = collecting(case, {"echo": EchoModel(fails=2)})
    failed, total, things = stage.failures(collected(stage, case / "store"))
    assert (failed[0], len(failed), total) == ("sample a1, by echo: TimeoutError: no answer", 4, 4)
    assert things == "descriptions"


def test_the_score_names_the_bytes_and_the_versions(case: Path) -> None:
    write(case, echo=EchoModel(fails=7), colour=ColourModel())
    describe(case, "red one", "red one", "blue")
    found, rows = scored(case)
    assert found.inputs.records[WITNESS] == sha256_file(case / "w" / RECORDS)
    assert {role: each.name for role, each in found.components.items()} == {
        "model": "m",
        "generator": "g",
        "encoder": "e",
        "text_encoder": "t",
        "witness.echo": "echo",
        "witness.colour": "colour",
    }
    assert found.metrics["text_similarity_at_2"] == 1.0
    assert 0 < found.metrics["text_similarity_at_3"] < 1
    mean = (found.metrics["text_similarity_at_2"] + found.metrics["text_similarity_at_3"]) / 2
    assert found.metrics["text_similarity_mean"] == pytest.approx(mean)
    assert found.metrics["cross_check"] == pytest.approx(
        0.270369, abs=1e-6
    )  # of each image, so that there is no interval
    assert found.absent["cross_check interval"] == "4 samples that do not differ show no spread"
    assert [point.step for point in found.curves["text_similarity"]] == [2, 3]
    assert rows[0].values["text_similarity"][:2] == [None, 1.0]
    assert found.groups["category"]["a"]["cross_check"] == rows[0].values["cross_check"][0]
    spec = GenCeption()
    assert all(spec.metric(key) is not None for key in found.metrics)
    assert not {"text_similarity_at_3", "cross_check"} & spec.headlines(found).keys()
    assert "the text encoder read only the beginning of 8 of 20 descriptions" in found.flags


def test_nobody_is_a_witness_of_itself_by_whatever_name(case: Path) -> None:
    """The case's model is an EchoModel."""
    describe(case, "red", "red", "red")
    write(case, colour=ColourModel())
    alone, _ = scored(case)
    write(case, other_name=EchoModel(), colour=ColourModel())
    with_itself, _ = scored(case)
    assert with_itself.metrics == alone.metrics
    write(case, other_name=EchoModel())
    assert "cross_check" not in scored(case)[0].metrics


def test_scores_from_before_there_were_witnesses_can_be_made_again(case: Path) -> None:
    found, _ = scored(case, text_encoder=False)
    assert list(found.inputs.records) == ["chain"]
    assert "text_encoder" not in found.components
    assert not {"text_similarity_mean", "cross_check"} & {*found.metrics, *found.absent}
    old = {"iterations": 3, "bootstrap": {"resamples": 200, "confidence": 0.95}, "seed": 1}
    assert GenCeptionScoring.model_validate(old).text_encoder is None


def test_a_comparison_asks_for_the_same_witnesses(case: Path) -> None:
    describe(case, "red", "red", "red")
    spec, facts = GenCeption(), []
    for models in ({"colour": ColourModel()}, {"colour": ColourModel(prefix="dark")}):
        write(case, **models)
        facts.append(spec.facts(scored(case)[0])["witnesses"])
    assert facts[0] != facts[1]


def test_its_calls_are_those_that_were_made(case: Path) -> None:
    write(case, colour=ColourModel())
    [caller] = witness_callers("data/witnesses/d", case / "d", case / "w")
    assert (caller.role, caller.card.name) == ("witness.colour", "colour")
    calls = list(caller.calls(ColourModel()))
    assert [call.gave for call in calls] == [
        each.description for each in read_jsonl(case / "w" / RECORDS, WitnessRecord)
    ]
    stage = collecting(case, {"colour": ColourModel()})
    assert calls[0].call().key.digest == next(stage._planned("colour", stage.samples[0]).steps()).key.digest


def test_a_record_by_somebody_else_is_found() -> None:
    card = CollectedCard(
        benchmark="genception", stage=WITNESS, keys={"dataset": "d"}, data_digest="x", protocol={},
        components={role_of("one"): ComponentCard.of("one", EchoModel())},
    )  # fmt: skip
    records = [WitnessRecord(sample="s", model=name, outcome=Outcome.OK, description="x") for name in ("one", "two")]
    assert [each.record for each in check_witnesses(records, card)] == ["sample s, by two"]

"""Chains that begin with a text: its writer is asked once a sample, and the model from then on."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from driftledger.benchmarks._chains.records import ChainRecord, check_chains
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import write_collected
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import ImageFile, Sample
from driftledger.data.records import SampleEntry
from driftledger.project.project import Project
from driftledger.project.settings import parse_settings
from tests.conftest import draw
from tests.support.chains import chains, collected
from tests.support.evaluation import build, evaluate
from tests.support.fakes import EchoModel, SizeGenerator
from tests.support.params import default_params


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    paths = [draw(tmp_path / "d" / name, number) for number, name in enumerate(("a.png", "b.png"))]
    images = [ImageFile(path, sha256_file(path)) for path in paths]
    entries = [
        SampleEntry(id=one.path.stem, file=one.path.name, sha256=one.sha256, width=1, height=1) for one in images
    ]
    write_jsonl(tmp_path / "d/samples.jsonl", entries)
    return [Sample(image.path.stem, image) for image in images]


def begun(samples: list[Sample], folder: Path) -> tuple[list[ChainRecord], CollectedCard]:
    plain = chains(samples, EchoModel(), SizeGenerator())
    asked = plain.protocol.asked.model_copy(update={"writer": "people"})
    collecting = replace(plain, protocol=replace(plain.protocol, asked=asked, writer=WRITER))
    assert collecting.calls == plain.calls
    asked_of = Counter(component.fingerprint for component, _ in collecting._planned(0, samples[0]).calls)
    assert asked_of == {WRITER.fingerprint: 1, EchoModel().fingerprint: 2, SizeGenerator().fingerprint: 3}
    write_collected(folder / "chain", collecting, collected(collecting, folder / "store"))
    return read_jsonl(folder / "chain" / RECORDS, ChainRecord), read_json(folder / "chain" / CARD, CollectedCard)


WRITER = EchoModel(refuses=1)  # another version of it, whose first descriptions are as long as its own


def test_the_writer_gives_the_first_text_and_the_model_all_others(samples: list[Sample], tmp_path: Path) -> None:
    records, card = begun(samples, tmp_path)
    assert [(each.sample, each.t) for each in records] == [(name, t) for name in "ab" for t in (1, 2, 3)]
    assert {role: each.name for role, each in card.components.items()} == {
        "model": "echo",
        "generator": "size",
        "writer": "people",
    }
    assert card.components["writer"].fingerprint == WRITER.fingerprint
    assert card.protocol["writer"] == "people"
    parents = {sample.id: sample.image.sha256 for sample in samples}
    assert list(check_chains(records, card, parents)) == []


def test_calls_made_again_are_of_who_was_asked_then(samples: list[Sample], tmp_path: Path) -> None:
    begun(samples, tmp_path)
    lineage: Any = SimpleNamespace(collected={"chain": SimpleNamespace(path="data/chains/d/echo/size")})
    folders = {"dataset": tmp_path / "d", "chain": tmp_path / "chain"}
    by_role = {each.role: each for each in runner("genception").callers(lineage, folders.__getitem__)}
    said = [call.call().context.t for call in by_role["model"].calls(EchoModel())]
    written = [call.call().context.t for call in by_role["writer"].calls(WRITER)]
    assert (said, written) == ([2, 3, 2, 3], [1, 1])


def test_texts_want_a_writer() -> None:
    section = default_params()["genception"]
    GenCeptionSettings.model_validate(section | {"text_first": ["d"], "writer": "regions_fine"})
    with pytest.raises(ValidationError, match="writer nobody who gives the texts"):
        GenCeptionSettings.model_validate(section | {"text_first": ["d"]})


def test_a_dataset_that_is_not_gone_over_is_refused() -> None:
    params = default_params()
    params["genception"] |= {"text_first": ["digits"], "writer": "regions_fine"}
    with pytest.raises(ConfigError, match=r"genception\.text_first: 'digits' is none of run\.genception"):
        parse_settings(params, "params.yaml")


def test_they_stand_beside_those_that_begin_with_an_image(tmp_path: Path) -> None:
    """One source, built under two names."""
    params = default_params()
    run = params["run"]
    run |= {"datasets": ["drawn", "told"], "genception": ["drawn", "told"], "models": ["regions_coarse", "blind"]}
    run |= {name: [] for name in ("question_sets", "trac", "fidelity", "mm_sap", "mm_vet", "mme")}
    params["datasets"] = {name: {"provider": "arrangements", "per_category": 1} for name in run["genception"]}
    more = {"iterations": 3, "text_first": ["told"], "writer": "regions_fine", "cross_check": []}
    params["genception"] |= more
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path)
    build(project)
    evaluate(project)

    def first(dataset: str, model: str) -> list[str | None]:
        records = read_jsonl(tmp_path / f"data/chains/{dataset}/{model}/painter" / RECORDS, ChainRecord)
        return [each.description for each in records if each.t == 1]

    assert first("told", "regions_coarse") == first("told", "blind") != first("drawn", "blind")
    told, drawn = (
        read_json(tmp_path / f"reports/scores/genception/{name}/blind/painter/layout" / SCORE, Score)
        for name in ("told", "drawn")
    )
    assert told.components["writer"].name == "regions_fine"
    assert "chains begin with texts by regions_fine: what t = 1 shows owes nothing to the model" in told.flags
    assert "writer" not in {**drawn.components, **drawn.inputs.protocol}
    assert told.metrics["similarity_at_1"] > drawn.metrics["similarity_at_1"]
    assert told.metrics["similarity_at_2"] < told.metrics["similarity_at_1"]
    assert told.metrics["mcd_texts"] < 1

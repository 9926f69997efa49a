import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.genception.chain import ChainProtocol, Iteration, check_failures, collect, write_chains
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord
from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore
from driftledger.commands import stages
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.registry import PROVIDERS
from driftledger.core.seeds import derive_seed
from driftledger.core.types import ImageFile, Outcome, Reading, Sample
from driftledger.data.records import DatasetCard
from driftledger.project.project import Project
from tests.conftest import REPOSITORY, draw
from tests.support.fakes import SEEN, EchoModel, SizeGenerator

CARD = DatasetCard(
    name="d", provider="image_folder", settings={}, source={}, samples=3, categories={}, groups={}, digest="x"
)


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    paths = [draw(tmp_path / f"{number}.png", number, (20 + 10 * number, 30)) for number in range(3)]
    return [Sample(f"s{number}", ImageFile(path, sha256_file(path))) for number, path in enumerate(paths)]


def run(samples: list[Sample], folder: Path, model: EchoModel, generator: SizeGenerator) -> list[ChainRecord]:
    protocol = ChainProtocol(CARD, model, generator, 3, "Describe.", "Draw: {description}", 7)
    with CallStore(folder / "store") as store:
        chains = collect(protocol, samples, store, "test")
    out = folder / "chain"
    out.mkdir()
    write_chains(out, protocol, ("echo", "size"), chains)
    return read_jsonl(out / "records.jsonl", ChainRecord)


def test_each_iteration_starts_from_the_image_before(samples: list[Sample], tmp_path: Path) -> None:
    records = run(samples, tmp_path, EchoModel(), SizeGenerator())
    assert [(record.sample, record.t) for record in records] == [(f"s{n}", t) for n in range(3) for t in (1, 2, 3)]
    assert [(record.description or "")[:5] for record in records[:3]] == ["20x30", "21x30", "22x30"]
    assert records[0].parent_sha256 == samples[0].image.sha256
    for before, after in pairwise(records[:3]):
        assert after.parent_sha256 == before.image_sha256
    for record in records:
        assert record.image == f"images/{record.sample}/{record.t}.png"
        assert sha256_file(tmp_path / "chain" / record.image) == record.image_sha256
        assert record.outcome is Outcome.OK
        assert record.seed == derive_seed(7, "d", record.sample, record.t)
        assert record.served_model == "echo-2026"
        assert record.revised_prompt == f"revised Draw: {record.description}"


def test_the_card_says_what_the_records_stand_on(samples: list[Sample], tmp_path: Path) -> None:
    run(samples, tmp_path, EchoModel(), SizeGenerator())
    card = read_json(tmp_path / "chain" / "components.json", ChainCard)
    assert (card.model.name, card.model.fingerprint) == ("echo", EchoModel().fingerprint)
    assert (card.generator.name, card.generator.fingerprint) == ("size", SizeGenerator().fingerprint)
    assert (card.describe_prompt, card.iterations, card.seed) == ("Describe.", 3, 7)


def test_a_refusal_ends_its_chain_and_no_other(samples: list[Sample], tmp_path: Path) -> None:
    records = run(samples, tmp_path, EchoModel(refuses=31), SizeGenerator())
    ends = [record for record in records if record.sample == "s1"]
    assert [(record.t, record.outcome, record.image) for record in ends] == [
        (1, Outcome.OK, "images/s1/1.png"),
        (2, Outcome.REFUSED, None),
    ]
    assert ends[1].description == "I cannot help with that."
    assert len(records) == 3 + 2 + 3


def test_a_filtered_image_ends_its_chain_with_the_description_kept(samples: list[Sample], tmp_path: Path) -> None:
    records = run(samples, tmp_path, EchoModel(), SizeGenerator(filters="40x30"))
    [end] = [record for record in records if record.outcome is not Outcome.OK]
    assert (end.sample, end.t, end.outcome, end.error) == ("s2", 1, Outcome.FILTERED, "content policy")
    assert (end.description or "").startswith("40x30")


def test_too_many_failed_calls_fail_the_stage_and_are_tried_again(
    samples: list[Sample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDERS["models"], "echo", "tests.support.fakes:EchoModel")
    monkeypatch.setitem(PROVIDERS["generators"], "size", "tests.support.fakes:SizeGenerator")
    params = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "trac": [], "fidelity": []}
    params["run"] |= {"models": ["echo"], "generators": ["size"]}
    params["datasets"]["my_images"]["path"] = str(samples[0].image.path.parent)
    params["models"]["echo"] = {"provider": "echo", "fails": 31}
    params["generators"]["size"] = {"provider": "size"}
    params["genception"] |= {"iterations": 2, "generate_prompt": "draw {description}"}
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path / "project")
    stages.dataset(project, "my_images")
    chain = project.layout.chain("my_images", "echo", "size")
    for calls in (["20x30", "30x30", "40x30", "21x30", "31x30", "41x30"], ["31x30"]):
        SEEN.clear()
        with pytest.raises(CoverageError, match=r"1 of 3 chains were ended by a failed call.*1 at t=2: TimeoutError"):
            stages.chain(project, "my_images", "echo", "size")
        assert [size for batch in SEEN for size in batch] == calls
        assert not list(chain.parent.glob("*"))


def test_a_component_that_changed_since_it_was_resolved_is_not_used(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "params.yaml", tmp_path)
    project = Project(tmp_path)
    stages.resolve(project)
    assert project.generator("painter").fingerprint == project.settings.generator("painter").fingerprint
    noted = json.loads(project.layout.resolved.read_text(encoding="utf-8"))
    noted["generators"]["painter"] = "0" * 64
    project.layout.resolved.write_text(json.dumps(noted), encoding="utf-8")
    with pytest.raises(StoreError, match=r"generators\.painter has changed since it was resolved"):
        project.generator("painter")


def test_what_the_calls_said_is_in_the_record(samples: list[Sample], tmp_path: Path) -> None:
    protocol = ChainProtocol(CARD, EchoModel(), SizeGenerator(), 1, "Describe.", "Draw: {description}", 7)
    steps = protocol.run(samples[0])
    asked = next(steps)
    assert asked.conversation.subject == ("s0", 1)  # type: ignore[union-attr]
    steps.send(Result(Outcome.OK, text="a disc", system_fingerprint="fp_a", note="halved"))
    drawn = Result(Outcome.OK, image=samples[1].image, system_fingerprint="fp_b", reading=Reading(90, 75))
    with pytest.raises(StopIteration) as stop:
        steps.send(drawn)
    [iteration] = stop.value.value
    record = iteration.record
    assert (record.system_fingerprint, record.generator_system_fingerprint) == ("fp_a", "fp_b")
    assert (record.prompt_reading, record.notes) == (Reading(90, 75), ["halved"])


def test_few_failed_calls_are_kept_as_outcomes() -> None:
    def chain(outcome: Outcome) -> list[Iteration]:
        return [Iteration(ChainRecord(sample="s", t=1, outcome=outcome, parent_sha256="p", seed=1), None)]

    one_in_ten = [chain(Outcome.FAILED), *(chain(Outcome.REFUSED) for _ in range(9))]
    check_failures(one_in_ten, 0.9, "genception")
    with pytest.raises(CoverageError):
        check_failures(one_in_ten, 0.95, "genception")


def test_a_description_cannot_reach_into_the_prompt(samples: list[Sample], tmp_path: Path) -> None:
    protocol = ChainProtocol(CARD, EchoModel(), SizeGenerator(), 1, "p", "{description} {0} {x}", 7)
    steps = protocol.run(samples[0])
    next(steps)
    draw_call = steps.send(Result(Outcome.OK, text="{description.__class__}"))
    assert draw_call.prompt == "{description.__class__} {0} {x}"  # type: ignore[union-attr]

from driftledger.benchmarks._chains.flags import flags, served_versions

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.core.types import Outcome, PromptUsage


def record(number: int, **changes: object) -> ChainRecord:
    plain = {"sample": f"s{number}", "t": 1, "outcome": Outcome.OK, "image": "i", "parent_sha256": "p", "seed": 1}
    return ChainRecord.model_validate(plain | changes)


def test_local_components_leave_nothing_to_say() -> None:
    assert served_versions([record(0), record(1)]) == {}
    assert flags([record(0), record(1)]) == []


def test_one_served_version_is_noted_and_no_flag() -> None:
    records = [record(n, served_model="m-1", system_fingerprint="fp_a", served_generator="d-3") for n in range(3)]
    assert served_versions(records) == {"model": {"m-1 fp_a": 3}, "generator": {"d-3": 3}}
    assert flags(records) == []


def test_a_version_that_changes_midway_is_flagged() -> None:
    records = [record(n, served_model="m-1" if n < 2 else "m-2") for n in range(5)]
    assert flags(records) == ["2 served versions of the model are behind this score: m-1 (2 calls), m-2 (3 calls)"]


def test_another_backend_of_the_same_name_is_another_version() -> None:
    records = [record(n, served_generator="d-3", generator_system_fingerprint=f"fp_{n}") for n in range(2)]
    assert flags(records) == [
        "2 served versions of the generator are behind this score: d-3 fp_0 (1 calls), d-3 fp_1 (1 calls)"
    ]


def test_calls_that_gave_nothing_were_served_by_nobody() -> None:
    assert served_versions([record(0, outcome=Outcome.FAILED, image=None)]) == {}


def test_descriptions_that_were_cut_off_are_counted() -> None:
    readings = [PromptUsage(70, 70), PromptUsage(100, 75), PromptUsage(130, 75)]
    said = flags([record(n, prompt_reading=reading) for n, reading in enumerate(readings)])
    assert said == ["the generator's text encoder cut off 2 of 3 descriptions: 80 of 300 tokens were not read"]


def test_unusual_calls_are_counted() -> None:
    assert flags([record(0, notes=["in a batch of 2"]), record(1, notes=["in a batch of 2"]), record(2)]) == [
        "in a batch of 2 (2 calls)"
    ]

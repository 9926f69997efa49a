"""Whole chains through the real adapters and a real socket, with everything going wrong on the way that can."""

from pathlib import Path

import pytest
from driftledger.benchmarks._chains.flags import flags, served_versions
from tenacity import wait_none

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.components.generators.openai_images import OpenAIImages
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.remote import client as patience
from driftledger.components.remote.limits import Limits
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import BudgetError
from driftledger.core.types import ImageFile, Outcome, Sample
from tests.conftest import draw
from tests.support.chains import chains, collected

pytest.importorskip("openai")

from tests.support.openai_server import CHAT, IMAGES, Faults, Incoming, OpenAIServer

SAMPLES, T = 16, 3
EVERYTHING = (
    *("429", "429_date", "408", "409", "500", "503", "drop", "drop_midway", "malformed_json", "wrong_type", "empty"),
    *("no_choices", "not_an_image", "bad_base64", "no_data", "timeout"),
)


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    paths = [draw(tmp_path / f"{number}.png", number, (40 + number, 30)) for number in range(SAMPLES)]
    return [Sample(f"s{number:02}", ImageFile(path, sha256_file(path))) for number, path in enumerate(paths)]


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_BACKOFF", wait_none())


def records(
    server: OpenAIServer, samples: list[Sample], folder: Path, limits: Limits | None = None
) -> list[ChainRecord]:
    limits = limits or Limits(concurrency=8, attempts=12, timeout=10.0)
    common = {"base_url": server.base_url, "api_key_env": None, "limits": limits}
    model = OpenAIChat.model_validate({"model": "vision-1", **common})
    generator = OpenAIImages.model_validate({"model": "image-1", "image_size": "32x32", **common})
    found = collected(chains(samples, model, generator, T), folder)
    return [iteration.record for chain in found for iteration in chain]


def test_three_faults_in_ten_requests_change_no_record(samples: list[Sample], tmp_path: Path) -> None:
    with OpenAIServer() as calm:
        expected = records(calm, samples, tmp_path / "calm")
    faults = Faults(rate=0.3, seed=5, kinds=EVERYTHING, retry_after=0.02, hold=2.0)
    with OpenAIServer(faults=faults) as rough:
        found = records(rough, samples, tmp_path / "rough", Limits(concurrency=8, attempts=12, timeout=0.5))
        assert found == expected
        assert len(found) == SAMPLES * T
        assert {record.outcome for record in found} == {Outcome.OK}
        injected = sum(rough.faults.values())
        assert injected > 0.2 * (injected + rough.answered)
        assert len(rough.faults) > 10


def test_a_model_version_that_changes_midway_is_in_the_records_and_flagged(
    samples: list[Sample], tmp_path: Path
) -> None:
    with OpenAIServer(served_models=("vision-2026-01", "vision-2026-02"), switch_after=40) as server:
        found = records(server, samples, tmp_path / "store")
    versions = served_versions(found)["model"]
    assert {name.split(" ")[0] for name in versions} == {"vision-2026-01", "vision-2026-02"}
    assert sum(versions.values()) == SAMPLES * T
    [said] = flags(found)
    assert said.startswith("2 served versions of the model are behind this score: vision-2026-01 fp_")


def test_refusals_and_filters_end_their_chains_and_are_stored(samples: list[Sample], tmp_path: Path) -> None:
    seen: list[str] = []

    def choose(request: Incoming) -> str | None:
        seen.append(request.path)
        if request.path == CHAT and len([path for path in seen if path == CHAT]) == 3:
            return "refusal"
        if request.path == IMAGES and len([path for path in seen if path == IMAGES]) == 5:
            return "content_filter_error"
        return None

    with OpenAIServer(faults=Faults(choose=choose)) as server:
        found = records(server, samples, tmp_path / "store", Limits(concurrency=1))
        asked = len(server.requests)
        assert sorted(record.outcome for record in found if record.outcome is not Outcome.OK) == [
            Outcome.FILTERED,
            Outcome.REFUSED,
        ]
        assert records(server, samples, tmp_path / "store", Limits(concurrency=1)) == found
        assert len(server.requests) == asked


def test_a_run_that_was_stopped_by_its_budget_ends_with_the_same_records(samples: list[Sample], tmp_path: Path) -> None:
    with OpenAIServer() as server:
        expected = records(server, samples, tmp_path / "whole")
        for most in (10, 25, 40):
            with pytest.raises(BudgetError):
                records(server, samples, tmp_path / "parts", Limits(max_calls=most))
        assert records(server, samples, tmp_path / "parts") == expected
        assert server.answered == 2 * 2 * SAMPLES * T

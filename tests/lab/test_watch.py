"""The figures about watched services on the page are those that were measured."""

import json

import numpy as np
import pytest

from driftledger.ledger.watch.probe import QUESTIONS, TIMES
from driftledger.ledger.watch.watch import LEVEL
from driftledger.metrics.likeness import likeness
from lab.watch import DISTANCES, PROMPTS, VOCABULARY, WORDS, services, table
from lab.watch import TIMES as SIMULATED
from tests.conftest import REPOSITORY

MEASURED = json.loads((REPOSITORY / "reports" / "perf" / "watch.json").read_bytes())
USED = list(DISTANCES)[-1]


def test_the_page_has_every_row() -> None:
    page = (REPOSITORY / "docs" / "trust.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in table(MEASURED["found"]) if row not in page] == []


def test_the_probe_that_was_simulated_is_the_one_that_is_asked() -> None:
    assert (PROMPTS, SIMULATED, str(LEVEL)) == (len(QUESTIONS), TIMES, "0.01")


def test_a_service_that_stays_is_told_otherwise_as_often_as_is_said() -> None:
    for change, found in MEASURED["found"].items():
        if change.startswith("nothing"):
            for each in found.values():
                share = float(LEVEL)
                assert each["0.01"] <= share + 3 * (share * (1 - share) / each["runs"]) ** 0.5


def test_the_distance_that_finds_most_is_used() -> None:
    power = {name: sum(found[name]["0.01"] for found in MEASURED["found"].values()) for name in DISTANCES}
    assert max(power, key=power.__getitem__) == USED


def test_word_numbers_lie_as_far_apart_as_the_words() -> None:
    said = np.random.default_rng(1).integers(0, VOCABULARY, (4, WORDS)) % 40
    texts = [" ".join(f"w{word}" for word in answer) for answer in said]
    apart = DISTANCES[USED](said)
    for one in range(4):
        for other in range(4):
            assert apart[one, other] == pytest.approx(1 - likeness(texts[one], texts[other]))


def test_services_are_chains_of_words() -> None:
    for service in services(REPOSITORY):
        assert service.following.shape == (VOCABULARY, VOCABULARY)
        assert service.following.sum(axis=1) == pytest.approx(np.ones(VOCABULARY))

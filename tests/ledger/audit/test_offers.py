"""A text that names nothing by itself: a value on a slide, a metric, a model."""

from pathlib import Path

import pytest

from driftledger.ledger.audit.offers import Offer, as_offers, meant
from driftledger.ledger.audit.targets import RunTarget, resolve_target
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import component
from tests.support.terminal import fitting

RUN = "seer/brush/eye"


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    """A score of 0.7 that was 0.4321 before."""
    made = audited_in(tmp_path, monkeypatch)
    made.produce(value=0.4321)
    made.commit("first")
    made.produce()
    made.commit("second")
    return made


def offers(audited: Audited, text: str) -> list[Offer]:
    with audited.sources() as sources:
        return meant(sources, text)


@pytest.mark.parametrize("text", ["0.700", "0.70", "0,7", "70.0%", "70", " 0.7 "])
def test_a_value_is_meant_as_it_was_rounded(audited: Audited, text: str) -> None:
    first, *_ = offers(audited, text)
    assert first == Offer("0.700", "shapes", f"{RUN}:gc_at_2")


def test_a_value_is_found_wherever_it_stands_the_headline_first_and_ends_of_intervals_last(audited: Audited) -> None:
    targets = [each.target for each in offers(audited, "0.9")]
    assert targets[:2] == [f"{RUN}:gc_at_1", f"{RUN}:similarity_at_1"]
    assert f"{RUN}:category/round/gc_at_1" in targets[2:]
    assert [each.target for each in offers(audited, "0.65")] == [f"{RUN}:gc_at_2_low"]
    assert offers(audited, "0.651") == []


def test_a_value_of_an_earlier_commit_leads_to_the_version_behind_it(audited: Audited) -> None:
    seer = component("seer").fingerprint[:8]
    assert offers(audited, "0.432") == [Offer("0.4321", "shapes", f"--model seer@{seer}")]


@pytest.mark.parametrize("text", ["gc_at_2", "GC@2", "gc@2", "genception", "GenCeption", "genception/shapes/gc_at_2"])
def test_a_metric_is_offered_by_key_title_and_benchmark(audited: Audited, text: str) -> None:
    assert offers(audited, text) == [Offer("0.700", "shapes", f"{RUN}:gc_at_2")]


def test_a_component_is_offered_with_its_runs_and_its_scores(audited: Audited) -> None:
    assert offers(audited, "seer") == [Offer("", "its run", RUN), Offer("", "every score", "--model seer")]
    assert offers(audited, "brush") == [Offer("", "every score", "--generator brush")]
    assert offers(audited, "shapes") == [Offer("", "every score", "--dataset shapes")]
    assert offers(audited, "nobody") == offers(audited, "") == offers(audited, "%") == []


@pytest.mark.parametrize("text", ["0.7", "gc_at_1", "0.9", "seer"])
def test_what_is_offered_can_be_typed(audited: Audited, text: str) -> None:
    for each in offers(audited, text):
        if each.target.startswith(RUN):
            with audited.sources() as sources:
                found = resolve_target(sources, each.target)
            assert isinstance(found, RunTarget)
            assert found.number is None or f"{found.number.value:.3f}" == each.value


def test_offers_fit_the_terminal_and_are_inert() -> None:
    evil = "\x1b[2J[red]x\u202e"
    text = fitting(as_offers(evil, [Offer("0.1", evil, f"{evil}{number}") for number in range(20)]))
    assert len(text.splitlines()) == 12
    assert text.splitlines()[-1] == "and 11 more"
    assert "[red]x" in text

"""Each broken component is caught by exactly its check, and a sound one by none."""

from collections.abc import Mapping

import pytest

from driftledger.components.base import Component
from driftledger.components.contract import CHECKS, MadeTwice, Report, check_component
from driftledger.core.places import import_place
from tests.components.contract import broken

CAUGHT: Mapping[type[Component], tuple[str, str]] = {
    broken.WithoutVersion: ("members", "version"),
    broken.Towerless: ("members", "encode_images or encode_texts"),
    broken.Forgetful: ("settings", "side: expected 8; seen: 9"),
    broken.DoublePrecision: ("results", "expected float32; seen: float64"),
    broken.OneVector: ("results", "expected 4 × d numbers; seen: 4"),
    broken.NotANumber: ("results", "NaN or infinity"),
    broken.AllZero: ("results", "4 of 4 all zero"),
    broken.Listed: ("results", "seen: list"),
    broken.RaisesAlways: ("results", "KeyError: 'pixel_values' (broken.py, line "),
    broken.TwoSpaces: ("results", "seen: 2 and 4"),
    broken.Grey: ("results", "expected mode RGB; seen: mode L"),
    broken.DrawsNothing: ("results", "an image with the outcome ok"),
    broken.DrawsTooFew: ("results", "expected 4 for 4 calls; seen: 3"),
    broken.SaysTexts: ("results", "Reply; seen: str"),
    broken.FailsSilently: ("results", "an error beside the outcome failed"),
    broken.Unsteady: ("determinism", "the same call once more"),
    broken.Remembers: ("determinism", "a fresh component"),
    broken.IgnoresSeeds: ("determinism", "4 of 4 "),
    broken.LooksAtPaths: ("determinism", "3 of 4 different"),
    broken.Sorted: ("order", "expected that of call 1; seen: that of call "),
    broken.Centred: ("company", "call 1 made alone"),
    broken.OnlyOnce: ("release", "AttributeError: weights"),
    broken.KeepsWeights: ("memory", "after release(): expected up to 1.0 MiB held; seen: 4.0 MiB"),
    broken.Grows: ("memory", "more"),
    broken.KeepsItself: ("memory", "something keeps it"),
    broken.OnlyRGB: (
        "odd input",
        "an image of mode L: expected a result, or a ValueError of one sentence; seen: KeyError",
    ),
    broken.SaysPages: ("odd input", "expected one sentence"),
    broken.KnowsItsProcess: ("another process", "fingerprint"),
    broken.Hashes: ("another process", "image vectors"),
}


def differing(report: Report) -> list[str]:
    return [check.name for check in report.checks if check.verdict == "differs"]


@pytest.mark.parametrize("component", CAUGHT, ids=lambda cls: cls.__name__)
def test_it_is_caught_by_exactly_its_check(component: type[Component]) -> None:
    check, said = CAUGHT[component]
    report = check_component(component())
    assert differing(report) == [check]
    assert any(said in problem for problem in report.problems), report.problems


@pytest.mark.parametrize("component", [broken.MeanColour, broken.Hue, broken.Echo])
def test_nothing_is_wrong_with_a_sound_one(component: type[Component]) -> None:
    report = check_component(component())
    assert report.problems == []
    assert [check.verdict for check in report.checks] == ["holds"] * len(CHECKS)


def test_every_check_catches_somebody() -> None:
    assert {check for check, _ in CAUGHT.values()} == set(CHECKS)


def test_one_that_says_that_it_repeats_nothing_is_only_counted() -> None:
    report = check_component(broken.OftenOther())
    assert report.problems == []
    assert report.made_twice == MadeTwice(4, 4)
    assert report.verdict("determinism") == report.verdict("company") == "not applicable"
    assert "it throws dice; 4 of 4 made twice gave other bytes" in str(report.to_dict())


def test_where_no_call_is_answered_nothing_is_found_and_nothing_holds() -> None:
    report = check_component(broken.AnswersNothing())
    assert differing(report) == []
    assert report.problems == ["results: nothing can be checked: every call failed: nothing is written"]


def test_calls_of_models_and_generators_are_counted() -> None:
    assert check_component(broken.Echo()).made_twice == MadeTwice(4, 0)
    assert check_component(broken.IgnoresSeeds()).made_twice == MadeTwice(4, 4)
    assert check_component(broken.MeanColour()).made_twice == MadeTwice(0, 0)


def test_a_class_that_no_other_process_finds() -> None:
    class Local(broken.Hue):
        """Only here."""

    report = check_component(Local())
    assert report.problems == []
    assert report.verdict("another process") == "not applicable"


def test_components_made_of_functions_keep_their_contract_too() -> None:
    for made in (broken.shout, broken.plane, broken.lengths):
        import_place(f"{broken.__name__}:{broken.NAMES[made]}")
        report = check_component(made())
        assert report.problems == []
        assert report.verdict("another process") == "holds"

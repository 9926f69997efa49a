"""Races by hand: whom to ask about how many samples, as both programs compute it."""

from pathlib import Path

import pytest

from driftledger.benchmarks.race import RaceRule, course_of, plan_of_race, run_race
from driftledger.core.types import Medium, Sample
from driftledger_check.compute import race as checker
from driftledger_check.compute.values import Sample as CheckedSample
from tests.support.cases import cases, each_case

SEED = 7


def samples_of(case):
    """Two of each category for ``many``, else as many as named."""
    categories = []
    for name, size in case["sizes"].items():
        many = [f"{name}{number}" for number in range(size)] * 2
        categories += many if name == "many" else [name] * size
    for number, category in enumerate(categories):
        digest = "same" if "copies" in case else str(number)
        yield f"s{number}", category, digest


@each_case(cases(__file__, "race"))
def test_a_race_stops_where_both_programs_say(case):
    given = list(samples_of(case))
    ours = [
        Sample(name, Medium(Path(name), digest), category=category)
        for name, category, digest in given
    ]
    theirs = [
        CheckedSample(name, name, category, "", split=None, sha256=digest)
        for name, category, digest in given
    ]
    course = course_of(ours, SEED)
    checked = checker.course_of(theirs, SEED)
    order = [sample.id for sample in course.samples]
    assert order == [sample.id for sample in checked.samples]
    first = [sample.category for sample in course.samples[: len(case["sizes"])]]
    assert len(set(first)) == len(first)
    values = {}
    for model, value in case["values"].items():
        values[model] = [value] * case.get("have", len(order))
    rule = RaceRule(ranked="gc_at_1", margin=case.get("margin", 0.02))
    race = run_race(values, course, rule, 0.95)
    assert race["asked"] == case["asked"]
    assert [each.samples for each in race["rounds"]] == case["rounds"]
    assert race["over"] == case["over"]
    last = race["rounds"][-1].looks if race["rounds"] else []
    is_open = [
        f"{look.first} {look.second}" for look in last if look.is_open(rule.margin)
    ]
    assert is_open == case["open"]
    again = checker.run_race(values, checked, rule.margin, 0.95)
    rounds = [each.model_dump() for each in race["rounds"]]
    assert again == race | {"rounds": rounds}


def test_a_plan_says_if_a_race_cannot_decide():
    small = {"sizes": {"x": 21, "y": 300}}
    names = [Sample(a, Medium(Path(a), c), category=b) for a, b, c in samples_of(small)]
    assert plan_of_race(names) == (
        "run.stop_when: a race over 321 samples in 2 categories cannot decide, as it looks at "
        "equally many of each, 42 in all; take it out, or select 100 or more"
    )
    assert "asks about 32 to 300 samples" in plan_of_race(names[21:])


def test_a_race_of_one_model_is_refused_by_the_checker():
    course = checker.course_of([CheckedSample("a", "a", "x", "", None, "1")], SEED)
    with pytest.raises(ValueError, match="a race has 2 to 100 models, and this has 1"):
        checker.run_race({"a": [0.5]}, course, 0.02, 0.95)

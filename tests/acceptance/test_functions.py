"""The public functions give what one gets by hand from the formulas of the papers.

In ``tests/cases/acceptance/functions.jsonl`` a text such as "4/7" is a fraction.
"""

import json
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from tests.acceptance.places import MODULES, REPOSITORY

FILE = REPOSITORY / "tests/cases/acceptance/functions.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
NAMED = {
    "SUPPORT": np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]]),
    "LABELS": ["robin", "wren", "wren", "crow"],
    "EMPTY": np.zeros((0, 2)),
}


def argument(value):
    """A name stands for what is above; lists of numbers are arrays."""
    if isinstance(value, str):
        return NAMED[value]
    is_array = isinstance(value, list) and not isinstance(next(iter(value), 0), str)
    return np.array(value) if is_array else value


def called(case):
    function = getattr(import_module(MODULES[case["function"]]), case["function"])
    return function(*map(argument, case["arguments"]), **case.get("named", {}))


def of(*names):
    found = [case for case in CASES if case["function"] in names and "gives" in case]
    return [pytest.param(case, id=str(case["arguments"])) for case in found]


def approximately(value, **tolerance):
    values = np.ravel(value).tolist()
    return pytest.approx(
        [float(Fraction(each)) if isinstance(each, str) else each for each in values],
        nan_ok=True,
        **tolerance,
    )


@pytest.mark.parametrize("case", of("gc_at"))
def test_gc_at_weighs_each_iteration_by_its_number(case):
    assert np.ravel(called(case)) == approximately(case["gives"], rel=1e-12)


@pytest.mark.parametrize("case", of("frechet_distance"))
def test_frechet_distance_is_that_of_two_normal_distributions(case):
    assert [called(case)] == approximately(case["gives"], abs=1e-6)


def questions_of_mm_sap():
    return [case for case in CASES if "questions" in case]


@pytest.mark.parametrize("case", questions_of_mm_sap(), ids=lambda case: case["note"])
def test_self_awareness_by_the_equations_of_mm_sap(case):
    """A measure is the mean over the questions that are in its denominator."""
    worths = import_module(MODULES["worths"]).worths
    values = []
    for choice, correct, refusal, subset in case["questions"]:
        known = {"correct": correct, "refusal": refusal, "subset": subset}
        values.append(worths(choice, **known))
    for measure, expected in case["gives"].items():
        own = [worth[measure] for worth in values if measure in worth]
        assert [sum(own) / len(own)] == approximately([expected])


@pytest.mark.parametrize("case", of("top1", "class_mean", "vote", "competition_ranks"))
def test_retrieval_takes_the_nearest_by_cosine_and_ranks_share_the_best(case):
    assert called(case) == case["gives"]


@pytest.mark.parametrize("case", [case for case in CASES if "mistake" in case], ids=str)
def test_a_mistake_is_a_value_error_that_says_something(case):
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        called(case)

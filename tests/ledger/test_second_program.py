"""Scores have the numbers that a second program computed, which shared no code with driftledger.

``tests/cases/second_program/README.md`` says what it was.
"""

from collections import defaultdict

import pytest

from tests.acceptance.numbers import BETWEEN, about, numbers, read, read_golden, title
from tests.acceptance.places import score_files
from tests.conftest import REPOSITORY
from tests.support.cases import lines


def scores_in(top):
    """Return a score's title → its numbers by name."""
    return {
        title(about(score)): numbers(score) for score in map(read, score_files(top))
    }


def golden_scores():
    scores = defaultdict(dict)
    for golden in read_golden("scores").values():
        for line, value in golden.items():
            of, _, name = line.partition(BETWEEN)
            scores[of][name] = value
    return scores


@pytest.mark.parametrize("run", ["default", "neural", "small"])
def test_every_number_is_that_of_the_second_program(run, original):
    if run == "neural":
        scores = golden_scores()
    else:
        scores = scores_in(REPOSITORY if run == "default" else original.root)
    for case in lines(f"second_program/{run}.jsonl"):
        expected = case["numbers"]
        assert len(expected) > 15
        now = scores[title(about(case))]
        found = {name: now.get(name) for name in expected}
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)

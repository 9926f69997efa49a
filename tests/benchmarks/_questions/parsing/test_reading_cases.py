"""Replies whose right reading is known, a fifth of which nobody looks at: what is read of them may not get less."""

import hashlib

import pytest

from driftledger.benchmarks._questions.parsing.refusal import is_refusal
from lab.reading import LETTERS, cases, counted, kinds, ours, table, yes_or_no
from tests.conftest import REPOSITORY

NAMES = ("refusals", "near_refusals", "options_ordinary", "options_adversarial", "yes_no_plain")


@pytest.mark.parametrize("name", NAMES)
def test_a_fifth_is_unseen_by_its_hash(name: str) -> None:
    for part, unseen in (("", False), ("_unseen", True)):
        replies = [case["reply"] for case in cases(name + part)]
        assert all((int(hashlib.sha256(reply.encode()).hexdigest(), 16) % 5 == 0) == unseen for reply in replies)


def test_the_corpora_are_large() -> None:
    size = {name: len(cases(name)) + len(cases(f"{name}_unseen")) for name in NAMES}
    least = {"refusals": 400, "near_refusals": 200, "options_ordinary": 250, "options_adversarial": 180}
    assert all(size[name] >= count for name, count in (least | {"yes_no_plain": 120}).items())


@pytest.mark.parametrize(
    ("part", "known", "of_each", "alarms"), [("", 0.99, 0.97, 0.033), ("_unseen", 0.95, 0.93, 0.033)]
)
def test_refusals(part: str, known: float, of_each: float, alarms: float) -> None:
    found = kinds(cases(f"refusals{part}"))
    assert sum(right for right, _ in found.values()) >= known * sum(total for _, total in found.values())
    assert all(right >= of_each * total for right, total in found.values()), found
    near = [case["reply"] for case in cases(f"near_refusals{part}")]
    assert sum(map(is_refusal, near)) <= alarms * len(near)


def test_choices() -> None:
    ordinary = counted(ours, [*cases("options_ordinary"), *cases("options_ordinary_unseen")], tuple(LETTERS))
    assert ordinary.wrong == 0
    assert ordinary.unread <= 8 * ordinary.total / 250
    seen = counted(ours, cases("options_adversarial"), tuple(LETTERS))
    unseen = counted(ours, cases("options_adversarial_unseen"), tuple(LETTERS))
    assert (seen.wrong, unseen.wrong) <= (0, 1)


def test_yes_and_no() -> None:
    those = [case for part in ("", "_unseen") for case in cases(f"yes_no_plain{part}")]
    count = counted(yes_or_no, those, ("yes", "no"))
    assert count.wrong == 0
    assert count.unread <= 6 * count.total / 89


def test_the_tables_of_the_documentation_are_of_these_rules_and_cases() -> None:
    told = (REPOSITORY / "docs/method/reading.md").read_text(encoding="utf-8")
    for part in ("", "_unseen"):
        assert [row for row in table(part) if row not in told] == []

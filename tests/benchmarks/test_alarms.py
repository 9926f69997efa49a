"""Replies that put a whole score in doubt: all of one text, or without an image."""

import pytest

from driftledger.benchmarks.base.records import CollectedRecord, RecordedResult
from driftledger.core.types import Outcome
from tests.benchmarks.base.questions.asking import MME, Says, exam
from tests.support.records import facts

LACKS = "I don't see an image attached."
ONE = "alarm: all {} replies of the model are one text: "


def alarms(texts, *, per_unit=1, outcome=Outcome.OK, role="model"):
    records = []
    for number, text in enumerate(texts):
        unit = f"u{number // per_unit}"
        result = RecordedResult(role=role, key=f"{number}", outcome=outcome, text=text)
        records.append(CollectedRecord(unit=unit, step=1, results=[result]))
    return [str(flag) for flag in facts(records).alarms()]


def varied(count):
    return [f"A photo of {number} dogs." for number in range(count)]


@pytest.mark.parametrize(
    ("texts", "more", "expected"),
    [
        (["Yes"] * 4, {}, []),
        (["Yes", " Yes\n"] * 3, {}, [ONE.format(6) + '"Yes"']),
        (["Yes"] * 8, {"per_unit": 2}, []),  # four inputs, asked twice
        (["Yes"] * 10, {"per_unit": 2}, [ONE.format(10) + '"Yes"']),
        (["Yes"] * 9 + ["No"], {}, []),
        ([None, ""] * 4, {}, []),
        (["Yes", ""] * 5, {}, [ONE.format(5) + '"Yes"']),
        (["Yes"] * 9, {"outcome": Outcome.FAILED}, []),
        (["Yes"] * 9, {"role": "judge"}, []),
        (["x" * 99] * 5, {}, [ONE.format(5) + f'"{"x" * 29}…{"x" * 30}"']),
        (["\x1b[2J\nx"] * 5, {}, [ONE.format(5) + '"\\x1b[2J x"']),
        (
            [LACKS, *varied(98)],
            {},
            ["alarm: in 1 of 99 replies the model says that no image arrived"],
        ),
        ([LACKS, *varied(99)], {}, []),
        (
            [LACKS, "There is no photo."],
            {},
            ["alarm: in 2 of 2 replies the model says that no image arrived"],
        ),
        (
            [LACKS, "A bell."],
            {},
            ["alarm: in 1 of 2 replies the model says that no image arrived"],
        ),
        (["I don't hear any audio.", "A bell."], {}, []),
        (
            [LACKS] * 1_000,
            {},
            [
                "alarm: in 1000 of 1000 replies the model says that no image arrived",
                ONE.format("1000") + f'"{LACKS}"',
            ],
        ),
    ],
)
def test_alarms_of_replies(texts, more, expected):
    assert alarms(texts, **more) == expected


def test_a_reply_in_several_records_is_one():
    """An answer stands in the record of each of its gradings."""
    result = RecordedResult(role="model", key="k", outcome=Outcome.OK, text=LACKS)
    records = [
        CollectedRecord(unit="u", step=1, repeat=repeat, results=[result])
        for repeat in range(5)
    ]
    assert [flag.text for flag in facts(records).alarms()] == [
        "alarm: in 1 of 1 replies the model says that no image arrived"
    ]


class Control(Says):
    """A model that does not look."""

    provider = "control"
    is_control = True


@pytest.mark.parametrize("model", [Says, Control])
def test_controls_have_no_alarm(tmp_path, model):
    made = exam(tmp_path, "mme", MME, model(text="Yes")).collect().score()
    expected = [] if model is Control else [ONE.format(6) + '"Yes"']
    assert [flag.text for flag in made.score.flags] == expected

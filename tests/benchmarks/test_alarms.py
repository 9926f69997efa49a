"""Replies that put a whole score in doubt: all of one text, or without an image."""

import pytest

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.core.types import Outcome
from tests.benchmarks.base.questions.asking import MME, Says, exam
from tests.support.cases import cases, each_case
from tests.support.ledgers import result
from tests.support.records import facts


def alarms(records):
    return [flag.text for flag in facts(records).alarms()]


@each_case(cases(__file__, "alarms"))
def test_alarms_of_replies(case):
    texts = []
    for text, times in case["replies"]:
        texts += [text and text.replace("{n}", str(n)) for n in range(times)]
    role = case.get("role", "model")
    outcome = Outcome(case.get("outcome", "ok"))
    records = []
    for number, text in enumerate(texts):
        reply = result(role, outcome, text, key=f"{number}")
        unit = f"u{number // case.get('per_unit', 1)}"
        records.append(CollectedRecord(unit=unit, step=1, results=[reply]))
    assert alarms(records) == case["alarms"]


def test_a_reply_in_several_records_is_one():
    """An answer stands in the record of each of its gradings."""
    reply = result("model", text="I don't see an image attached.")
    records = [
        CollectedRecord(unit="u", step=1, repeat=repeat, results=[reply])
        for repeat in range(5)
    ]
    says = "alarm: in 1 of 1 replies the model says that no image arrived"
    assert alarms(records) == [says]


class Control(Says):
    """A model that does not look."""

    provider = "control"
    is_control = True


@pytest.mark.parametrize("model", [Says, Control])
def test_controls_have_no_alarm(tmp_path, model):
    made = exam(tmp_path, "mme", MME, model(text="Yes")).collect().score()
    expected = (
        []
        if model is Control
        else ['alarm: all 6 replies of the model are one text: "Yes"']
    )
    assert [flag.text for flag in made.score.flags] == expected

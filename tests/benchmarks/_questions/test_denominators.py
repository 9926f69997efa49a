"""What the papers divide by, worked by hand: all questions but those of a failed call, or those
that could be read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks._questions.spec import joint_outcome
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.scoring import Scored
from driftledger.core.errors import CoverageError, StoreError
from driftledger.core.types import Outcome
from driftledger.metrics.self_awareness import MEASURES
from tests.benchmarks._questions.asking import MME, SAP, VET, Grades, Says, checked, exam, sap
from tests.support.tables import tables_of

REFUSAL = 4
Reading = tuple[Outcome, object]
"""What is read in an answer, or what a judge grades it as."""


def scored(
    root: Path, name: str, questions: Any, read: Sequence[Reading], **settings: Any
) -> Scored:
    """Scored from what was read in each answer, or graded, in the order of the records; the checker
    agrees."""
    taken = exam(
        root, name, questions, Says(text="A"), Grades(), min_coverage=0.1, **settings
    ).collect()
    made = taken.read_as(read).score()
    assert checked(taken, made) == []
    return made


def ended(outcome: Outcome, read: object = None) -> Reading:
    return outcome, read


def test_a_question_has_the_outcome_of_its_first_answer_unless_one_is_ok() -> None:
    assert joint_outcome([Outcome.REFUSED, Outcome.FILTERED]) is Outcome.REFUSED
    assert joint_outcome([Outcome.FILTERED, Outcome.OK]) is Outcome.OK


@pytest.mark.parametrize(("name", "questions"), [("mm_sap", SAP), ("mm_vet", VET), ("mme", MME)])
@pytest.mark.parametrize("lost", ["a question", "an order or grading"])
def test_a_question_without_a_record_is_named(
    tmp_path: Path, name: str, questions: Any, lost: str
) -> None:
    taken = exam(tmp_path, name, questions, Says(text="A"), Grades(), min_coverage=0.1).collect()
    records = taken.records()
    last = records[-1]
    taken.rewrite(
        each
        for each in records
        if each is not last and (lost != "a question" or each.unit != last.unit)
    )
    with pytest.raises(
        StoreError,
        match=rf"records\.jsonl lacks the record of {last.unit}, step \d, repeat \d; run",
    ):
        taken.score()


SAP_READ = [  # two questions of each subset; the right options are 0 to 3
    ended(Outcome.OK, 0),
    ended(Outcome.EMPTY),
    ended(Outcome.OK, REFUSAL),
    ended(Outcome.FAILED),
    ended(Outcome.OK, REFUSAL),
    ended(Outcome.FILTERED),
]


@pytest.mark.parametrize(
    ("unread", "measures", "basic", "counted", "worth"),
    [
        # accepted are the first, the third and the fifth, of all but the failed fourth
        # by equations 6 and 5, three of the five do not refuse, and one of these is right; one of
        # them was read
        ("worst", (60, 60, 100 / 3, 100 / 3, 200 / 3, 20, 100), 50, 5, [1, 0, 1, None, 1, 0]),
        # all three that could be read: both pairs of measures are the same
        (
            "left_out",
            (100, 100 / 3, 100, 50, 100, 100 / 3, 100),
            100,
            3,
            [1, None, 1, None, 1, None],
        ),
    ],
)
def test_mm_sap(
    tmp_path: Path,
    unread: str,
    measures: Sequence[float],
    basic: float,
    counted: int,
    worth: list[float | None],
) -> None:
    score, rows = scored(tmp_path, "mm_sap", SAP, SAP_READ, permutations=1, unread=unread)
    assert [score.metrics[name] for name in MEASURES] == pytest.approx(measures)
    assert score.groups["subset"]["basic"]["score"] == basic
    assert (score.scored, score.counted, score.total, score.coverage) == (3, counted, 6, 0.5)
    assert [row.values["score"] for row in rows] == [[value] for value in worth]
    interval = score.interval("score")
    assert interval is not None
    assert interval.low < (60 if unread == "worst" else 100) <= interval.high <= 100


SIXTY = {  # subset → how many of its twenty replies are which
    "basic": {"right": 6, "refusal": 4, "wrong": 1, "unread": 9},
    "know": {"right": 6, "refusal": 4, "wrong": 1, "unread": 9},
    "beyond": {"right": 0, "refusal": 8, "wrong": 3, "unread": 9},
}
REPLIES = {  # what each of these is, in turn
    "right": [ended(Outcome.OK, 0)],
    "refusal": [ended(Outcome.OK, REFUSAL), ended(Outcome.REFUSED)],
    "wrong": [ended(Outcome.OK, 1)],
    "unread": [ended(Outcome.EMPTY), ended(Outcome.FILTERED), ended(Outcome.UNPARSED)],
}


def test_answer_rate_and_accuracy_are_the_papers_equations_6_and_5(tmp_path: Path) -> None:
    """Of 60 replies 12 are right, 16 refuse, 5 are wrong and 27 cannot be read.

    Equation 6: all but refusals, 60 − 16 = 44 of 60. Equation 5: right ones, 12 of these 44. Read
        answers are 12 + 5 =
    17. Accepted are 6 in basic, 6 + 4 in know and 8 in beyond, 24 of 60. In know alone: 16 of 20, 6
    of 16; 7 of 20, 6 of 7. In beyond: 12 of 20, and 3 of 20.
    """
    asked = [None if subset == "beyond" else "red" for subset in SIXTY for _ in range(20)]
    subsets = [subset for subset in SIXTY for _ in range(20)]
    read = []
    for counts in SIXTY.values():
        for kind, number in counts.items():
            read += (REPLIES[kind] * number)[:number]
    taken = exam(
        tmp_path,
        "mm_sap",
        sap(*asked, subsets=subsets),
        Says(text="A"),
        permutations=1,
        min_coverage=0.1,
    )
    made = taken.collect().read_as(read).score()
    shares = {
        "score": 24 / 60,
        "answer_rate": 44 / 60,
        "answer_accuracy": 12 / 44,
        "known_knowns": 12 / 40,
        "known_unknowns": 12 / 40,
        "read_rate": 17 / 60,
        "read_accuracy": 12 / 17,
    }
    found = {name: made.score.metrics[name] for name in shares}
    assert found == pytest.approx({name: 100 * share for name, share in shares.items()})
    know, beyond = (made.score.groups["subset"][name] for name in ("know", "beyond"))
    assert [know[name] for name in MEASURES if name.startswith("answer")] == pytest.approx(
        [80, 37.5]
    )
    assert [know[name] for name in MEASURES if name.startswith("read")] == pytest.approx(
        [35, 600 / 7]
    )
    assert (beyond["answer_rate"], beyond["read_rate"]) == (60, 15)
    assert "answer_accuracy" not in beyond
    assert "read_accuracy" not in beyond
    _, as_printed, _, ours, *_ = tables_of([made.score])
    assert [str(cell) for cell in as_printed.rows[0][3:6]] == ["80.00", "37.50", "60.00"]
    shown = [str(cell).split(" ")[0] for cell in ours.rows[0][3:8]]
    assert shown == ["35.00", "85.71", "15.00", "28.33", "70.59"]
    assert checked(taken, made) == []


VET_READ = [  # two gradings of each of three answers
    *(ended(Outcome.OK, 1.0), ended(Outcome.UNPARSED)),
    *(ended(Outcome.OK, 0.5), ended(Outcome.EMPTY)),
    *(ended(Outcome.UNPARSED), ended(Outcome.UNPARSED)),
]
POEM: dict[str, object] = {"answer": "a poem", "capabilities": ["gen"]}


@pytest.mark.parametrize(
    ("unread", "total", "by_capability", "counted", "worth"),
    [
        # the gradings are of (10 + 5 + 0) / 3 and, without the one in which the judge says nothing,
        # (0 + 0) / 2
        (
            "worst",
            (25, 25),
            {"rec": 50, "ocr": 50, "gen": 0, "math": 50},
            5,
            [[1, 0], [0.5, None], [0, 0]],
        ),
        (
            "left_out",
            (75, None),
            {"rec": 100, "ocr": 50, "math": 50},
            2,
            [[1, None], [0.5, None], [None, None]],
        ),
    ],
)
def test_mm_vet(
    tmp_path: Path,
    unread: str,
    total: tuple[float, float | None],
    by_capability: dict[str, float],
    counted: int,
    worth: list[list[float | None]],
) -> None:
    score, rows = scored(tmp_path, "mm_vet", [*VET, POEM], VET_READ, unread=unread)
    assert (score.metrics["total"], score.metrics.get("total_std")) == total
    grades = {
        name: each["grade"] for name, each in score.groups["capability"].items() if "grade" in each
    }
    assert grades == by_capability
    assert (score.scored, score.counted, score.total) == (2, counted, 6)
    assert [row.values["total"] for row in rows] == worth
    interval = score.interval("total")
    assert interval is not None
    assert 0 < interval.low < total[0] < interval.high < 100


MME_READ = [  # yes and no are right about each of three images
    *(ended(Outcome.OK, True), ended(Outcome.EMPTY)),
    *(ended(Outcome.OK, True), ended(Outcome.OK, False)),
    *(ended(Outcome.FAILED), ended(Outcome.OK, False)),
]


@pytest.mark.parametrize(
    ("unread", "metrics", "counted", "worth"),
    [
        # right are 4 of the 5 that did not fail, and both of one image of the two without a failed
        # call
        ("worst", {"accuracy": 80, "accuracy_plus": 50, "score": 130}, 5, [50, 200, None]),
        ("left_out", {"accuracy": 100, "accuracy_plus": 100, "score": 200}, 4, [None, 200, None]),
    ],
)
def test_mme(
    tmp_path: Path, unread: str, metrics: dict[str, float], counted: int, worth: list[float | None]
) -> None:
    score, rows = scored(tmp_path, "mme", MME, MME_READ, unread=unread)
    assert {name: score.metrics[name] for name in metrics} == metrics
    assert score.groups["category"]["count"] == metrics
    assert (score.scored, score.counted, score.total) == (4, counted, 6)
    assert [row.values["score"] for row in rows] == [[value] for value in worth]


def test_a_failed_call_is_no_answer_that_could_decline(tmp_path: Path) -> None:
    read = [ended(Outcome.FAILED), ended(Outcome.REFUSED), *([ended(Outcome.OK, True)] * 4)]
    assert scored(tmp_path, "mme", MME, read).score.metrics["refused"] == 20


@pytest.mark.parametrize("name", ["mm_sap", "mm_vet", "mme"])
def test_where_nothing_was_read_the_score_is_0_by_the_papers_and_none_without(
    tmp_path: Path, name: str
) -> None:
    questions = {"mm_sap": SAP, "mm_vet": VET, "mme": MME}[name]
    one = {"permutations": 1} if name == "mm_sap" else {"gradings": 1} if name == "mm_vet" else {}
    for unread in ("worst", "left_out"):
        taken = exam(
            tmp_path / unread,
            name,
            questions,
            Says(text="A"),
            Grades(),
            min_coverage=0.0,
            **one,
            unread=unread,
        )
        taken.collect()
        number = len(taken.records())
        taken.read_as([ended(Outcome.UNPARSED)] * number)
        if unread == "left_out":
            with pytest.raises(CoverageError, match=f"none of {number} answers could be read"):
                taken.score()
            continue
        score = taken.score().score
        headline = benchmark(name).metrics[0].key
        assert (score.metrics[headline], score.coverage, score.counted) == (0, 0, number)
        taken.read_as([ended(Outcome.FAILED)] * number)
        with pytest.raises(CoverageError, match=f"none of {number} answers could be read"):
            taken.score()


def test_a_refusal_in_free_text_that_does_not_count_is_a_choice_that_could_not_be_read(
    tmp_path: Path,
) -> None:
    read = [ended(Outcome.OK, 0), ended(Outcome.REFUSED)]
    asked = sap("red", None)
    for unread, without in (("worst", 50), ("left_out", 100)):
        given = {"permutations": 1, "unread": unread, "count_free_refusals": False}
        score = scored(tmp_path / unread, "mm_sap", asked, read, **given).score
        assert score.metrics["score"] == without
        assert (score.scored, score.counted) == (1, 2 if unread == "worst" else 1)

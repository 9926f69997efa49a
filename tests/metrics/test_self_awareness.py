import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.positions import position_bias
from driftledger.metrics.self_awareness import MEASURES, by_group, over_permutations, ratios, score

CASES = json.loads((Path(__file__).parents[1] / "cases/self_awareness.json").read_bytes())
TABLES = json.loads((Path(__file__).parents[1] / "cases/mm_sap_tables.json").read_bytes())

OPTIONS = 5


@st.composite
def answered_questions(draw, unread=True, most=30):
    """Subset, correct, refusal and choice of some questions, of which the first is read."""
    questions = []
    for _ in range(draw(st.integers(1, most))):
        subset = draw(st.sampled_from(["basic", "know", "beyond"]))
        right, refusal = draw(st.permutations(range(OPTIONS)))[:2]
        choice = draw(st.integers(-1 if unread and questions else 0, OPTIONS - 1))
        questions.append((subset, -1 if subset == "beyond" else right, refusal, choice))
    return questions


def columns(questions):
    """What :func:`score` takes."""
    subset, correct, refusal, choices = zip(*questions, strict=True)
    return np.array(choices), np.array(correct), np.array(refusal), list(subset)


def independent(questions, unread_is_wrong=False):
    """The formulas of the paper's section 4.1, one by one, as fractions."""
    accepted = {"basic": lambda c, r: {c}, "know": lambda c, r: {c, r}, "beyond": lambda c, r: {r}}
    asked = [q for q in questions if unread_is_wrong or q[3] != -1]
    read = [q for q in questions if q[3] != -1]

    def ratio(above, below):
        return float(Fraction(len(above), len(below))) if below else None

    aware = [(s, c, r, p) for s, c, r, p in read if p in accepted[s](c, r)]
    answers = [(s, c, r, p) for s, c, r, p in read if p != r]
    kk, ku = ("basic", "know"), ("know", "beyond")
    return {
        "score": ratio(aware, asked),
        "answer_rate": ratio(answers, asked),
        "answer_accuracy": ratio([q for q in aware if q[3] != q[2]], answers),
        "known_knowns": ratio([q for q in read if q[0] in kk and q[3] == q[1]], [q for q in asked if q[0] in kk]),
        "known_unknowns": ratio([q for q in read if q[0] in ku and q[3] == q[2]], [q for q in asked if q[0] in ku]),
        "scored": len(read),
        "total": len(questions),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    for expected, unread_is_wrong in ((case["expected"], False), (case.get("unread_is_wrong", case["expected"]), True)):
        measured = score(*columns(case["questions"]), unread_is_wrong=unread_is_wrong)
        numbers = {name: None if value is None else float(Fraction(value)) for name, value in expected.items()}
        assert measured._asdict() == numbers
        assert measured.coverage == expected["scored"] / expected["total"]


@given(answered_questions(), st.booleans())
def test_agrees_with_the_formulas(questions, unread_is_wrong):
    measured = score(*columns(questions), unread_is_wrong=unread_is_wrong)
    assert measured._asdict() == independent(questions, unread_is_wrong)


@given(answered_questions(), st.booleans(), st.randoms(use_true_random=False))
def test_groups_agree_with_pandas(questions, unread_is_wrong, random):
    subtasks = [random.choice(["colour", "count", "ünknown\0", ""]) for _ in questions]
    measured = by_group(*columns(questions), subtasks, unread_is_wrong=unread_is_wrong)
    grouped = pd.Series(range(len(questions))).groupby(pd.Series(subtasks))
    assert list(measured) == sorted(grouped.groups)
    for name, rows in grouped:
        group = [questions[row] for row in rows]
        assert measured[name]._asdict() == independent(group, unread_is_wrong)


@given(answered_questions())
def test_one_group_for_all_is_the_score(questions):
    assert by_group(*columns(questions), ["all"] * len(questions)) == {"all": score(*columns(questions))}


@given(answered_questions(), st.randoms(use_true_random=False))
def test_renaming_the_options_and_reordering_the_questions_changes_nothing(questions, random):
    renamed = []
    for subset, correct, refusal, choice in questions:
        names = random.sample(range(100), OPTIONS)
        renamed.append((subset, *(-1 if id_ == -1 else names[id_] for id_ in (correct, refusal, choice))))
    random.shuffle(renamed)
    assert score(*columns(renamed)) == score(*columns(questions))


@given(answered_questions())
def test_identities(questions):
    measured = score(*columns(questions))
    basic = by_group(*columns(questions), columns(questions)[3]).get("basic")
    if basic and basic.answer_accuracy is not None:
        assert basic.score == pytest.approx(basic.answer_rate * basic.answer_accuracy, abs=1e-15)
    groups = by_group(*columns(questions), columns(questions)[3]).values()
    weighted = sum(group.score * group.scored for group in groups if group.scored)
    assert measured.score == pytest.approx(weighted / measured.scored, abs=1e-12)


@given(answered_questions(), st.data())
def test_what_can_be_gained_by_being_unreadable(questions, data):
    """Something in the default reading, which is why coverage goes along; nothing where unread is wrong."""
    index = data.draw(st.integers(0, len(questions) - 1))
    hidden = [(*q[:3], -1) if row == index else q for row, q in enumerate(questions)]
    before, after = (score(*columns(some), unread_is_wrong=True) for some in (questions, hidden))
    assert after.score <= before.score
    assert after.answer_rate <= before.answer_rate
    assert (after.known_knowns or 0) <= (before.known_knowns or 0)
    assert (after.known_unknowns or 0) <= (before.known_unknowns or 0)
    assert after.coverage <= before.coverage
    readable = score(*columns(questions))
    assert before.score <= readable.score
    assert before.answer_accuracy == readable.answer_accuracy


def permutations_of(count, questions, seed):
    """count × questions × options: the id of the option at each letter."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(OPTIONS), (count, questions, 1)), axis=2)


def asked(seed, each=40):
    """Columns without choices: ``each`` questions per subset."""
    rng = np.random.default_rng(seed)
    subset = np.repeat(["basic", "know", "beyond"], each)
    ids = rng.permuted(np.tile(np.arange(OPTIONS), (3 * each, 1)), axis=1)
    return np.where(subset == "beyond", -1, ids[:, 0]), ids[:, 1], subset.tolist()


@pytest.mark.parametrize("letter", range(OPTIONS))
def test_always_the_same_letter_gets_exactly_what_the_permutations_put_there(letter):
    correct, refusal, subset = asked(seed=1)
    shown = permutations_of(5, len(subset), seed=2)
    scores = [by_group(one[:, letter], correct, refusal, subset, subset) for one in shown]
    for name, accepted in (("basic", [correct]), ("know", [correct, refusal]), ("beyond", [refusal])):
        of_subset = np.array(subset) == name
        there = sum(int((shown[:, of_subset, letter] == ids[of_subset]).sum()) for ids in accepted)
        mean = over_permutations([one[name] for one in scores]).score.mean
        assert mean == pytest.approx(there / (5 * of_subset.sum()), abs=1e-15)


def test_choosing_by_what_an_option_says_gives_the_same_under_every_permutation():
    correct, refusal, subset = asked(seed=3)
    wanted = np.random.default_rng(4).integers(0, OPTIONS, len(subset))
    shown = permutations_of(5, len(subset), seed=5)
    letters = np.argmax(shown == wanted[:, None], axis=2)
    scores = [
        score(np.take_along_axis(one, at[:, None], axis=1)[:, 0], correct, refusal, subset)
        for one, at in zip(shown, letters, strict=True)
    ]
    over = over_permutations(scores)
    for name in MEASURES:
        assert getattr(over, name) == (getattr(scores[0], name), 0.0, 5)
    assert (over.scored, over.total, over.coverage) == (600, 600, 1.0)


def test_a_permutation_without_a_measure_is_not_in_its_mean():
    answered = score([1], [1], [0], ["basic"])
    declined = score([0], [1], [0], ["basic"])
    over = over_permutations([answered, declined, answered])
    assert over.answer_rate.mean == pytest.approx(2 / 3)
    assert over.answer_accuracy == (1.0, 0.0, 2)
    assert over.known_unknowns is None
    assert over_permutations([answered]).score == (1.0, None, 1)


def test_groups_of_which_nothing_was_read():
    lost = {"choices": [-1, -1, 3], "correct": [1, 2, 3], "refusal": [0, 0, 0], "subset": ["basic", "know", "basic"]}
    groups = by_group(**lost, groups=["count", "count", "colour"])
    assert list(groups) == ["colour", "count"]
    assert groups["count"] == (None, None, None, None, None, 0, 2)
    assert by_group(**lost, groups=["count", "count", "colour"], unread_is_wrong=True)["count"].score == 0
    over = over_permutations([groups["count"], groups["colour"]])
    assert (over.score, over.scored, over.total) == ((1.0, None, 1), 1, 3)
    assert over_permutations([groups["count"]]).score is None


def choices_of(counts, permutation, questions):
    """Questions with as many right choices and refusals as counted; the rest is answered wrongly."""
    built = []
    for subset, number in questions.items():
        right = counts[subset].get("right", [0] * 5)[permutation]
        refused = counts[subset]["refused"][permutation]
        chosen = [1] * right + [4] * refused + [2] * (number - right - refused)
        built += [(subset, -1 if subset == "beyond" else 1, 4, choice) for choice in chosen]
    return built


@pytest.mark.parametrize("row", TABLES["models"], ids=lambda row: row["model"])
def test_the_tables_of_the_paper(row):
    permutations = [choices_of(row["counts"], number, TABLES["questions"]) for number in range(5)]
    total = over_permutations([score(*columns(one)) for one in permutations])
    groups = [by_group(*columns(one), columns(one)[3]) for one in permutations]
    parts = {name: over_permutations([one[name] for one in groups]) for name in TABLES["questions"]}

    for name, printed in row["table_1"].items():
        measured = (total if name == "total" else parts[name]).score
        assert [100 * measured.mean, 100 * measured.std] == pytest.approx(printed, abs=0.00501)
    for name, measures in row["table_2"].items():
        for measure, printed in measures.items():
            measured = getattr(parts[name], measure)
            assert [100 * measured.mean, 100 * measured.std] == pytest.approx(printed, abs=0.00501)

    number = TABLES["questions"]
    weighted = sum(number[name] * parts[name].score.mean for name in number) / sum(number.values())
    assert total.score.mean == pytest.approx(weighted, abs=1e-12)
    for one in groups:
        assert one["basic"].score == pytest.approx(one["basic"].answer_rate * one["basic"].answer_accuracy, abs=1e-12)
        assert one["beyond"].score == pytest.approx(1 - one["beyond"].answer_rate, abs=1e-12)


@given(answered_questions(), st.booleans())
def test_ratios_are_the_measures_question_by_question(questions, unread_is_wrong):
    measured = score(*columns(questions), unread_is_wrong=unread_is_wrong)
    for name, part in ratios(*columns(questions), unread_is_wrong=unread_is_wrong).items():
        assert (part.numerator <= part.denominator).all()
        below = int(part.denominator.sum())
        assert getattr(measured, name) == (int(part.numerator.sum()) / below if below else None)


def test_position_bias_of_a_model_that_always_says_c():
    correct, refusal, subset = asked(seed=7)
    shown = permutations_of(5, len(subset), seed=8).reshape(-1, OPTIONS)
    correct, refusal = np.tile(correct, 5), np.tile(refusal, 5)
    bias = position_bias(np.full(len(shown), 2), shown, correct, refusal)
    assert (bias.scored, bias.total) == (600, 600)
    assert [share.letter for share in bias.letters] == list("ABCDE")
    assert [share.chosen for share in bias.letters] == [0, 0, 1, 0, 0]
    answerable = correct >= 0
    for at, share in enumerate(bias.letters):
        assert share.correct == np.mean(shown[answerable, at] == correct[answerable])
        assert share.refusal == np.mean(shown[:, at] == refusal)


def test_a_model_that_is_always_right_chooses_letters_as_often_as_the_right_one_stands_there():
    correct, refusal, _ = (column[:80] for column in asked(seed=9))
    shown = permutations_of(1, 80, seed=10)[0]
    bias = position_bias(np.argmax(shown == correct[:, None], axis=1), shown, correct, refusal)
    assert [share.chosen for share in bias.letters] == [share.correct for share in bias.letters]


def test_position_bias_leaves_out_what_was_not_read():
    shown = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    bias = position_bias([1, -1, 0], shown, [0, 0, -1], [2, 2, 2])
    assert (bias.scored, bias.total) == (2, 3)
    assert bias.letters == (("A", 0.5, 1.0, 0.0), ("B", 0.5, 0.0, 0.0), ("C", 0.0, 0.0, 1.0))
    nothing_right = position_bias([0], shown[:1], [-1], [2])
    assert [share.correct for share in nothing_right.letters] == [None] * 3


QUESTION = {"choices": [1, 4], "correct": [1, -1], "refusal": [4, 4], "subset": ["basic", "beyond"]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"choices": []}, "choices is empty"),
        ({"choices": [1]}, "1 of choices, 2 of correct, 2 of refusal, 2 of subset"),
        ({"subset": ["basic"]}, "2 of refusal, 1 of subset"),
        ({"choices": [[1, 4]]}, r"choices must be a vector, one entry per question, but has shape \(1, 2\)"),
        ({"choices": [1.0, 4.0]}, "choices must hold integers, but holds float64"),
        ({"refusal": [True, False]}, "refusal must hold integers, but holds bool"),
        ({"choices": [1, -2]}, "choices holds -2 for question 1, which is no option, nor −1"),
        ({"refusal": [4, -1]}, "refusal holds -1 for question 1, but every question has a refusal option"),
        ({"subset": ["basic", "Beyond"]}, "subset holds 'Beyond' for question 1, which is not basic, know or beyond"),
        ({"correct": [1, 0]}, "correct holds 0 for question 1, but in beyond no option is right"),
        ({"correct": [-1, -1]}, "correct holds -1 for question 0, but in basic and know one option is right"),
        ({"subset": ["know", "know"]}, "correct holds -1 for question 1, but in basic and know"),
        ({"correct": [4, -1]}, "correct holds 4 for question 0, which is its refusal option"),
    ],
)
def test_says_what_is_wrong(changed, message):
    for function in (score, ratios, lambda **question: by_group(**question, groups=["a", "b"])):
        with pytest.raises(ValueError, match=message):
            function(**(QUESTION | changed))


def test_a_score_over_nothing_is_an_error():
    nothing = QUESTION | {"choices": [-1, -1]}
    with pytest.raises(ValueError, match="choices are all −1: with none of 2 read there is no score"):
        score(**nothing)
    assert score(**nothing, unread_is_wrong=True) == (0.0, 0.0, None, 0.0, 0.0, 0, 2)
    with pytest.raises(ValueError, match="scores are empty"):
        over_permutations([])
    with pytest.raises(ValueError, match="2 of choices, 1 of groups"):
        by_group(**QUESTION, groups=["a"])


REPLY = {"positions_chosen": [0, 2], "permutations": [[0, 1, 2], [2, 0, 1]], "correct": [1, -1], "refusal": [2, 2]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"positions_chosen": []}, "positions_chosen is empty"),
        ({"positions_chosen": [0]}, "1 of positions_chosen, 2 of permutations"),
        ({"permutations": [0, 1, 2]}, r"permutations must be replies × options, 1 to 26, but have shape \(3,\)"),
        ({"permutations": [list(range(27))] * 2}, r"shape \(2, 27\)"),
        ({"permutations": [[0, 1, 2], [2, 2, 1]]}, "no permutation of 0..2 in row 1"),
        ({"positions_chosen": [0, 3]}, "positions_chosen holds 3 for reply 1, but there are 3 options"),
        ({"positions_chosen": [-2, 0]}, "positions_chosen holds -2 for reply 0"),
        ({"correct": [3, -1]}, "correct holds 3 for reply 0"),
        ({"refusal": [-1, 2]}, "refusal holds -1 for reply 0"),
        ({"positions_chosen": [-1, -1]}, "positions_chosen are all −1: with none of 2 read there is no bias"),
    ],
)
def test_position_bias_says_what_is_wrong(changed, message):
    with pytest.raises(ValueError, match=message):
        position_bias(**(REPLY | changed))


@given(answered_questions(), st.data())
def test_a_failed_call_is_as_if_it_had_not_been_among_the_questions(questions, data):
    """Which the flags say question by question."""
    failed = [q[3] == -1 and data.draw(st.booleans()) for q in questions]
    flags = [not each for each in failed]
    asked = [q for q, lost in zip(questions, failed, strict=True) if not lost]
    whole, part = score(*columns(questions), unread_is_wrong=flags), score(*columns(asked), unread_is_wrong=True)
    assert whole[:6] == part[:6]
    assert whole.total == len(questions)
    groups = by_group(*columns(questions), columns(questions)[3], unread_is_wrong=flags)
    for name, measured in by_group(*columns(asked), columns(asked)[3], unread_is_wrong=True).items():
        assert groups[name][:6] == measured[:6]

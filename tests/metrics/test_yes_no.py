import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from driftledger.metrics.yes_no import YesNoScores, by_category, score, total

CASES = json.loads((Path(__file__).parents[1] / "cases/mme.json").read_bytes())
READ = {"yes": True, "no": False, None: None}

IMAGES_OF_GEMINI = {  # GenCeption's table 2: MME of Gemini1.5-Pro by category
    "visual": [190.0, 148.3, 105.0, 175.0, 175.2, 169.4, 147.0, 176.8, 152.2, 150.0],
    "textual": [117.5, 110.0, 162.5, 170.0],
}

answered = st.lists(
    st.tuples(st.sampled_from([True, False, None]), st.booleans(), st.sampled_from([True, False, None]), st.booleans()),
    min_size=1,
    max_size=12,
)


def columns(images, name="image"):
    """Answers, truth and image of both questions about each image, given as answer, truth, answer, truth."""
    answers = [answer for image in images for answer in (image[0], image[2])]
    truth = [right for image in images for right in (image[1], image[3])]
    return answers, truth, [f"{name} {row // 2}" for row in range(2 * len(images))]


def scored_by_mme(images):
    """MME's own scorer, by scikit-learn: an unread answer is a third class, and so wrong."""
    answers, truth, _ = columns(images)
    accuracy = accuracy_score([int(right) for right in truth], [-1 if said is None else int(said) for said in answers])
    plus = np.mean([first is right and second is other for first, right, second, other in images])
    return 100 * (accuracy + plus)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    images = [[READ[word] for question in image for word in question] for image in case["images"]]
    for expected, unread_is_wrong in ((case["expected"], False), (case.get("unread_is_wrong", case["expected"]), True)):
        measured = score(*columns(images), unread_is_wrong=unread_is_wrong)
        assert measured._asdict() == {
            name: None if value is None else float(Fraction(value)) for name, value in expected.items()
        }
        assert measured.coverage == expected["scored"] / expected["total"]


@given(answered)
def test_where_unread_is_wrong_it_is_the_score_of_mme(images):
    measured = score(*columns(images), unread_is_wrong=True)
    assert measured.score == pytest.approx(scored_by_mme(images), abs=1e-10)


@given(answered)
def test_by_default_it_is_the_score_of_mme_over_what_was_read(images):
    whole = [image for image in images if None not in image]
    if whole:
        measured = score(*columns(images))
        alone = score(*columns(whole))
        assert measured.accuracy_plus == alone.accuracy_plus
        assert alone.score == pytest.approx(scored_by_mme(whole), abs=1e-10)
        assert measured.scored_images == len(whole)
        answers, truth, _ = columns(images)
        kept = pd.DataFrame({"said": answers, "truth": truth}).dropna()
        assert measured.accuracy == pytest.approx((kept["said"] == kept["truth"]).mean(), abs=1e-15)
        assert (measured.scored, measured.total) == (len(kept), len(answers))


@given(answered, st.randoms(use_true_random=False))
def test_the_order_of_questions_does_not_matter(images, random):
    rows = list(zip(*columns(images), strict=True))
    random.shuffle(rows)
    for unread_is_wrong in (True, False):
        if unread_is_wrong or any(said is not None for said, _, _ in rows):
            shuffled = score(*zip(*rows, strict=True), unread_is_wrong=unread_is_wrong)
            assert shuffled == score(*columns(images), unread_is_wrong=unread_is_wrong)


@given(answered, answered)
def test_categories_stand_alone_even_where_they_name_images_alike(first, second):
    both = [a + b for a, b in zip(columns(first), columns(second), strict=True)]
    categories = ["count"] * 2 * len(first) + ["color"] * 2 * len(second)
    measured = by_category(*both, categories, unread_is_wrong=True)
    assert list(measured) == ["color", "count"]
    assert measured["count"] == score(*columns(first), unread_is_wrong=True)
    assert measured["color"] == score(*columns(second), unread_is_wrong=True)


@given(st.integers(1, 20), st.booleans())
def test_a_constant_answer_is_worth_50(images, said):
    measured = score(*columns([(said, True, said, False)] * images))
    assert (measured.accuracy, measured.accuracy_plus, measured.score) == (0.5, 0.0, 50.0)


def of(points):
    return YesNoScores(0.0, 0.0, points, 60, 60, 30)


def test_sums_of_published_scores():
    """The evaluation of InternLM-XComposer-VL, as its repository prints it."""
    perception = [190.0, 158.33333333333331, 126.66666666666666, 165.0, 161.9047619047619, 150.2941176470588]
    perception += [159.75, 165.25, 126.25, 125.0]
    summed = total({f"category {row}": of(points) for row, points in enumerate(perception)})
    assert summed.score == pytest.approx(1528.4488795518207, abs=1e-9)
    assert summed.best == 2000
    cognition = total({str(row): of(points) for row, points in enumerate([138.57142857142858, 55.0, 112.5, 85.0])})
    assert cognition.score == pytest.approx(391.07142857142856, abs=1e-9)
    assert cognition.best == 800


def test_means_of_the_genception_paper():
    categories = {
        group: {f"{group} {row}": of(points) for row, points in enumerate(scores)}
        for group, scores in IMAGES_OF_GEMINI.items()
    }
    assert round(total(categories["visual"]).mean, 1) == 158.9
    assert total(categories["textual"]).mean == 140.0
    assert round(total(categories["visual"] | categories["textual"]).mean, 1) == 153.5


def test_a_total_needs_every_category():
    lost = by_category([True, False, None, None], [True, False, True, False], list("aabb"), ["x", "x", "y", "y"])
    assert lost["y"] == (None, None, None, 0, 2, 0)
    assert total(lost) == (None, None, 400, ("y",))
    assert total({"x": lost["x"]}) == (200.0, 200.0, 200, ())
    assert total({"b": lost["y"], "a": lost["y"], "x": lost["x"]}).missing == ("a", "b")


def test_numpy_booleans_are_booleans():
    answers, truth = np.array([True, False]), np.array([True, True])
    assert score(answers, truth, ["a", "a"]) == score([True, False], [True, True], ["a", "a"])


CATEGORY = {"answers": [True, False], "truth": [True, False], "images": ["cat.png", "cat.png"]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answers": []}, "answers are empty"),
        ({"answers": [True]}, "1 of answers, 2 of truth, 2 of images"),
        ({"answers": [True, "no"]}, "answers holds 'no' for question 1, which is not True, False or None"),
        ({"answers": [1, 0]}, "answers holds 1 for question 0"),
        ({"truth": [True, None]}, "truth holds None for question 1, which is not True or False"),
        ({"images": ["cat.png", "dog.png"]}, "image 'cat.png'.* has 1 question, but accuracy"),
        (
            {name: values + values[:1] for name, values in CATEGORY.items()},
            r"image 'cat.png'.* has 3 questions, but accuracy\+ is about images with two",
        ),
    ],
)
def test_says_what_is_wrong(changed, message):
    asked = CATEGORY | changed
    with pytest.raises(ValueError, match=message):
        score(**asked)
    with pytest.raises(ValueError, match=message):
        by_category(**asked, categories=["count"] * len(asked["images"]))


def test_says_in_which_category_an_image_lacks_its_second_question():
    with pytest.raises(ValueError, match=r"image 'cat\.png' in category 'color' has 1 question"):
        by_category(**CATEGORY, categories=["color", "count"])
    with pytest.raises(ValueError, match="2 of answers, 1 of categories"):
        by_category(**CATEGORY, categories=["color"])


def test_a_score_over_nothing_is_an_error():
    nothing = CATEGORY | {"answers": [None, None]}
    with pytest.raises(ValueError, match="answers are all None: with none of 2 read there is no score"):
        score(**nothing)
    assert score(**nothing, unread_is_wrong=True) == (0.0, 0.0, 0.0, 0, 2, 0)
    with pytest.raises(ValueError, match="categories are empty"):
        total({})


def test_a_failed_call_is_in_no_denominator_nor_is_its_image():
    """Three images: one unread answer, all read, one failed call."""
    answers, truth = [True, None, True, False, None, False], [True, False] * 3
    images, flags = [f"{row // 2}" for row in range(6)], [True, True, True, True, False, True]
    assert score(answers, truth, images, unread_is_wrong=flags) == (0.8, 0.5, 130.0, 4, 6, 1)
    assert score(answers, truth, images) == (1.0, 1.0, 200.0, 4, 6, 1)
    assert score(answers, truth, images, unread_is_wrong=True) == (4 / 6, 1 / 3, 100.0, 4, 6, 1)
    assert by_category(answers, truth, images, ["all"] * 6, unread_is_wrong=flags)["all"].score == 130
    with pytest.raises(ValueError, match=r"unread_is_wrong must be one for all or of shape \(6,\)"):
        score(answers, truth, images, unread_is_wrong=flags[:4])

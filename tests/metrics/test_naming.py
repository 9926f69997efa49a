import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.naming import Named, class_names, leaks
from tests.support.growth import grows_linearly

CASES = json.loads((Path(__file__).parents[1] / "cases/naming.json").read_bytes())

words = st.lists(st.sampled_from(["red", "fox", "foxes", "reds", "terrier", "terriers", "a"]), min_size=1, max_size=12)
names = st.lists(st.sampled_from(["red", "fox", "terrier"]), min_size=1, max_size=3).map(" ".join)


def is_named(description, some):
    """Whether one of ``some`` stands in ``description``."""
    [found] = leaks([description], ["own"], {"own": some})
    return found.own


@pytest.mark.parametrize(("label", "others", "expected"), CASES["class_names"])
def test_the_names_of_a_class(label, others, expected):
    assert class_names(label, others) == tuple(expected)


@pytest.mark.parametrize(("description", "some", "expected"), CASES["named"])
def test_hand_worked_naming(description, some, expected):
    assert is_named(description, some) is expected


@pytest.mark.parametrize(
    ("some", "description", "label", "own", "other"),
    [(leak["names"], *case) for leak in CASES["leaks"] for case in leak["cases"]],
)
def test_hand_worked_leaks(some, description, label, own, other):
    assert leaks([description], [label], some) == [Named(own, other)]


@given(words, names)
def test_it_agrees_with_a_pattern(description, name):
    text = " ".join(description)
    pattern = " ".join(rf"{word}(?:s|es)?" for word in name.split())
    assert is_named(text, [name]) is bool(re.search(rf"\b{pattern}\b", text))


@given(words, st.lists(names, min_size=1, max_size=4, unique=True))
def test_something_is_named_exactly_if_a_name_is_in_it(description, some):
    text = " ".join(description)
    (found,) = leaks([text], [some[0]], {name: [name] for name in some})
    assert (found.own or found.other) is any(is_named(text, [name]) for name in some)
    if found.own:
        assert is_named(text, [some[0]])


@given(st.text(max_size=40))
def test_any_text_names_itself_or_has_no_words(text):
    assert is_named(f"-{text}-", [text]) is any(class_names("", [text]))


def test_a_label_by_itself_is_no_name_for_leaks():
    assert leaks(["A three, 3 times."], ["3"], {"3": class_names("3")}) == [Named(own=False, other=False)]
    assert leaks(["A three."], ["3"], {"3": class_names("3", ["three"])}) == [Named(own=True, other=False)]


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0315\u0300" * 100_000,  # accents in an order that normalizing a text would have to mend
        "\ufdfa" * 100_000,
        "fox " * 100_000,
        "red fox " * 100_000,
        "s" * 500_000,
        "'" * 500_000,
        "\ud800\x00" * 100_000,
    ],
    ids=["accents", "ligatures", "first words", "names", "one word", "apostrophes", "no characters"],
)
def test_hostile_text_takes_no_time(text):
    some = {"fox": ["red fox"], "dog": ["fox " * 20 + "dog"], "cat": ["ssss"]}
    assert grows_linearly(lambda text: leaks([text], ["fox"], some), text)


def test_a_thousand_classes_are_told_apart():
    labels = [f"class{number} kind{number % 7}" for number in range(1000)]
    descriptions = [f"A picture, in which there is {label}, and more of the like." for label in labels]
    some = {label: [label] for label in labels}
    assert leaks(descriptions, labels, some) == [Named(own=True, other=False)] * 1000
    assert leaks(descriptions, labels[::-1], some) == [Named(own=False, other=True)] * 1000


def test_it_says_what_is_wrong():
    with pytest.raises(ValueError, match="1 of descriptions, 2 of labels"):
        leaks(["a"], ["a", "b"], {"a": [], "b": []})
    with pytest.raises(ValueError, match="no entry for the label 'b'"):
        leaks(["a"], ["b"], {"a": []})
    assert leaks([], [], {}) == []

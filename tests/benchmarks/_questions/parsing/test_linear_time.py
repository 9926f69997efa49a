"""Replies are written by models: none may keep the parser busy, however often it repeats what the rules look for."""

import random

import pytest

from driftledger.benchmarks._questions.parsing.choice import parse_choice
from driftledger.benchmarks._questions.parsing.grade import parse_grade
from driftledger.benchmarks._questions.parsing.refusal import is_refusal
from driftledger.benchmarks._questions.parsing.text import is_error
from driftledger.benchmarks._questions.parsing.yes_no import parse_yes_no
from tests.support.growth import grows_linearly

TRUCK = ("a red car", "a blue truck", "a green bicycle", "a yellow bus", "It cannot be determined from the image")
MANY = tuple(f"item {number}" for number in range(1, 27))
READERS = {
    "a choice": lambda text: parse_choice(text, TRUCK, 4),
    "yes or no": lambda text: (parse_yes_no(text), parse_yes_no(text, cut=True)),
    "a grade": parse_grade,
    "an error or a refusal": lambda text: (is_error(text), is_refusal(text)),
}
UNITS = (
    *("B", "B ", "B\n", "a ", "A or ", "answer: ", "the answer is not ", "answer B ", "it is ", "it is not B, "),
    *("not a red car ", "A. a red car ", "(", "[{", "* ", "_", "> ", "-", " ", " \n", "\\boxed{"),
    *("<think>", "</think>"),
    *("<|", '{"answer": ', "I cannot ", "unable to ", "无法", "选", "kann nicht ", "Error(", "a.b.", "\n at a("),
    *("whether ", "İ", "ﷺ", "\ud800", "→", "e\u0301", "A or B is ", "B? ", "it cannot be "),
    *("there is no ", "not visible ", "cannot be ", "the image does not ", "A: ", "A... no, ", "might be B ", "B: no "),
    *("no way to ", "can't ", "'t ", "it is not possible to ", "at least 3 ", "but ", "no information ", "not the "),
    *("wait, no. ", "at first A ", "not A or B, ", "A, B, ", "a red car, ", "B. However ", "final answer: a "),
    *("idk but ", "I cannot tell, but B, although ", "yes ", "no. ", "是", "0", "0.5 ", "1/", "score: 0.5\n"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_hundred_thousand_characters_of_the_same(unit):
    text = unit * (100_000 // len(unit))
    assert not [name for name, reader in READERS.items() if not grows_linearly(reader, text)]


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_thousand_characters_of_a_mixture_and_26_options(seed):
    mixture = random.Random(seed)
    units = mixture.sample(UNITS, 8)
    text = "".join(mixture.choice(units) for _ in range(40_000))[:100_000]
    assert grows_linearly(lambda text: parse_choice(text, MANY, 0), text)

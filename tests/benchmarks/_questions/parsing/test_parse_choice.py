import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing.choice import ParsedChoice, parse_choice
from driftledger.core.types import Outcome

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "cases/choices.jsonl").read_text(encoding="utf-8").splitlines()
]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TRUCK = ("a red car", "a blue truck", "a green bicycle", "a yellow bus", "It cannot be determined from the image")

# No letters, words of an answer or articles in them: they can be said to be chosen only by their place or as a whole.
NAMES = [
    f"{first}{second}" for first in ("zul", "mek", "vor", "pim", "tak") for second in ("bark", "drin", "folt", "gump")
]
options = st.lists(st.sampled_from(NAMES), min_size=2, max_size=20, unique=True)
pieces = [*"ABCDEabcde.,:;()[]{}*_`\"'|/-\n $\\", "answer", " is ", "not ", "<think>", "</think>", "a red car"]
hostile = st.lists(st.sampled_from(pieces) | st.text(max_size=3), max_size=40).map("".join) | st.text()


def reads(choice: ParsedChoice) -> str:
    return choice.outcome.value if choice.option is None else LETTERS[choice.option]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['why']}: {case['reply'][:60]!r}")
def test_hand_written_case(case):
    choice = parse_choice(case["reply"], case["options"], case["refusal"])
    assert reads(choice) == case["reads"]
    assert choice.how == case.get("how", choice.how)
    assert (choice.outcome is Outcome.OK) == (choice.option is not None)


def test_there_are_enough_hand_written_cases_and_each_is_said_once():
    assert len(CASES) >= 150
    assert len({(case["reply"], *case["options"]) for case in CASES}) == len(CASES)


FORMS = (
    *(
        "{}",
        "({})",
        "{}.",
        "{})",
        "**{}**",
        "Answer: {}",
        "The correct answer is **{}**. The image …",
        "ANSWER: **{}**",
    ),
    *(
        "{}\n\nExplanation: the others are wrong.",
        "<think>Is it A or B?</think>{}",
        "Option {}",
        "（{}）",
        "【{}】",
        "「{}」",
    ),
    *(
        "\\boxed{{{}}}",
        '{{"answer": "{}"}}',
        "```\n{}\n```",
        "I think it's {}, because of the colour.",
        "答案是{}",
        "答案：{}",
    ),
    *("La respuesta es {}", "Die Antwort ist {}", "Réponse : {}", "Ответ: {}", "答えは{}", "{0} {0} {0}"),
)


@given(options, st.data())
def test_every_letter_is_read_in_every_form(texts, data):
    index = data.draw(st.integers(0, len(texts) - 1))
    form = data.draw(st.sampled_from(FORMS))
    refusal = data.draw(st.integers(0, len(texts) - 1))
    assert reads(parse_choice(form.format(LETTERS[index]), texts, refusal)) == LETTERS[index], form


@given(options, st.data())
def test_a_letter_that_no_option_has_is_never_a_choice(texts, data):
    letter = data.draw(st.sampled_from(LETTERS[len(texts) :]))
    form = data.draw(st.sampled_from(FORMS))
    assert parse_choice(form.format(letter), texts, 0).outcome is Outcome.UNPARSED, form


@given(options, st.data())
def test_two_letters_are_never_a_choice(texts, data):
    one, other = data.draw(st.lists(st.sampled_from(LETTERS[: len(texts)]), min_size=2, max_size=2, unique=True))
    joined = data.draw(st.sampled_from(["{} or {}", "{} and {}", "{}, {}", "{}/{}", "{} {}", "{}和{}", "({}) ({})"]))
    form = data.draw(st.sampled_from([form for form in FORMS if form.count("{}") == 1 and "{{" not in form]))
    assert parse_choice(form.format(joined.format(one, other)), texts, 0).outcome is Outcome.UNPARSED, form


@given(options, st.data())
def test_a_letter_and_a_text_have_to_agree(texts, data):
    letter, text = (data.draw(st.integers(0, len(texts) - 1)) for _ in range(2))
    form = data.draw(st.sampled_from(["{}. {}", "({}) {}", "Option {}: {}", "Answer: {}) {}", "**{}** - {}", "{}.{}"]))
    read = reads(parse_choice(form.format(LETTERS[letter], texts[text]), texts, 0))
    assert read == (LETTERS[letter] if letter == text else "unparsed"), form


@given(
    st.lists(
        st.text(min_size=2).filter(lambda text: len(text.strip()) > 1), min_size=2, max_size=26, unique_by=str.strip
    ),
    st.data(),
)
def test_an_answer_that_is_exactly_an_options_text_is_that_option(texts, data):
    index = data.draw(st.integers(0, len(texts) - 1))
    assert parse_choice(texts[index], texts, 0).option == index
    assert parse_choice(f"\n {texts[index]}\n", texts, 0).option == index


@given(
    options,
    st.sampled_from(["**{}**", "_{}_", "`{}`", " {} ", "\n\n{}\n", "> {}", "### {}", "***{}***", "\u200b{}"]),
    st.data(),
)
def test_blanks_and_emphasis_do_not_matter(texts, around, data):
    index = data.draw(st.integers(0, len(texts) - 1))
    said = data.draw(st.sampled_from([LETTERS[index], f"({LETTERS[index]})", f"{LETTERS[index]}.", texts[index]]))
    assert parse_choice(around.format(said), texts, 0) == parse_choice(said, texts, 0)


@given(st.sampled_from(CASES), st.text(" \t\n", max_size=3), st.text(" \t\n", max_size=3))
def test_blanks_around_a_reply_do_not_matter(case, before, after):
    assert reads(parse_choice(before + case["reply"] + after, case["options"], case["refusal"])) == case["reads"]


@given(options, st.randoms(use_true_random=False), st.data())
def test_a_text_is_followed_to_wherever_the_options_are_shuffled(texts, shuffle, data):
    said = data.draw(st.sampled_from(["{}", "The answer is {}.", "It is {}.", "{}, because of the colour."]))
    chosen = data.draw(st.sampled_from(texts))
    shuffled = shuffle.sample(texts, len(texts))
    assert shuffled[parse_choice(said.format(chosen), shuffled, 0).option] == chosen


@pytest.mark.parametrize(
    "error", [case["reply"] for case in CASES if case["why"] == "an error message is never an answer"][:-1]
)
def test_an_error_is_never_an_answer_whatever_the_options(error):
    for texts in (TRUCK, ("A", "B", "C"), ("429", "500", "unknown")):
        assert parse_choice(error, texts, len(texts) - 1) == (Outcome.UNPARSED, None, "error")


@given(hostile, st.lists(st.text(), min_size=2, max_size=26), st.data())
@example("A", ["A", "A"], None)
@example("\\", ["", "\\"], None)
@example("İ ı ß ſ", ["İ", "ß"], None)
@example("\ud800 B", ["\ud800", "B"], None)
def test_no_text_and_no_options_make_it_raise(text, texts, data):
    refusal = data.draw(st.integers(0, len(texts) - 1)) if data else 0
    choice = parse_choice(text, texts, refusal)
    assert choice == parse_choice(text, texts, refusal)
    if choice.outcome is Outcome.OK:
        assert 0 <= choice.option < len(texts)
    else:
        assert choice.option is None
        assert choice.outcome in (Outcome.REFUSED, Outcome.UNPARSED)
    assert choice.how.replace("_", "").isalpha()


@given(
    st.lists(st.sampled_from(["the", "image", "shows", "trees", "house", "sky", "and", "of", "in", "with", "A", "I"]))
)
def test_prose_without_an_answer_is_no_answer(words):
    text = " ".join([*words, "outdoors"])
    assert parse_choice(text, NAMES, 0).outcome is Outcome.UNPARSED


@pytest.mark.parametrize("count", [0, 1, 27])
def test_there_are_2_to_26_options(count):
    with pytest.raises(ValueError, match=f"2 to 26 options, but there are {count}"):
        parse_choice("A", ["x"] * count, 0)


@pytest.mark.parametrize("refusal", [-1, 5])
def test_the_refusal_is_one_of_the_options(refusal):
    with pytest.raises(ValueError, match=f"one of the 5 options, but is {refusal}"):
        parse_choice("A", TRUCK, refusal)


@pytest.mark.parametrize(
    ("text", "options", "option", "how"),
    [
        ("A B,", ("2", "3", "4", "5", "It is not shown"), None, "several"),
        ("B?", ("Red", "Blue", "Green", "Grey", "I cannot tell"), 1, "letter"),
        ("3 3", ("2", "3", "4", "5", "It is not shown"), 1, "option_text"),
    ],
)
def test_what_is_said_in_passing(text: str, options: tuple[str, ...], option: int | None, how: str) -> None:
    """Two letters in a row, a letter with a question mark behind it, a text that is said twice."""
    read = parse_choice(text, options, refusal=4)
    assert (read.option, read.how) == (option, how)

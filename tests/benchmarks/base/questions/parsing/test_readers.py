"""Every reader on replies whose right reading is known, and on some that nobody looks at; whatever
it is given."""

import doctest
import importlib
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.base.parsing import text
from driftledger.benchmarks.base.parsing.choice import parse_choice
from driftledger.benchmarks.base.parsing.grade import parse_grade
from driftledger.benchmarks.base.parsing.refusal import (
    is_refusal,
    says_none_arrived,
)
from driftledger.benchmarks.base.parsing.reply import Parsed
from driftledger.benchmarks.base.parsing.text import (
    filled,
    folded,
    is_error,
    plain,
    replaced,
    table,
)
from driftledger.benchmarks.base.parsing.yes_no import parse_yes_no
from driftledger.core.types import Outcome
from lab.reading import LETTERS, counted, kinds, ours, yes_or_no
from lab.reading import cases as corpus
from lab.reading import table as tables
from tests.conftest import REPOSITORY
from tests.support.cases import cases, lines
from tests.support.growth import grows_linearly

YES, NO = (table()["words"][name].split(" | ") for name in ("YES_WORD", "NO_WORD"))


def choice(case):
    return parse_choice(
        case["reply"], case["options"], case["refusal"], cut=case.get("cut", False)
    )


READERS = {
    "choices": (choice, lambda value: LETTERS[value]),
    "yes_no": (
        lambda case: parse_yes_no(case["reply"], cut=case.get("cut", False)),
        {True: "yes", False: "no"}.get,
    ),
    "grades": (
        lambda case: parse_grade(case["reply"], cut=case.get("cut", False)),
        float,
    ),
    "refusals_or_not": (
        lambda case: Parsed(Outcome.OK, is_refusal(case["reply"]), ""),
        bool,
    ),
    "none_arrived": (
        lambda case: Parsed(Outcome.OK, says_none_arrived(case["reply"]), ""),
        bool,
    ),
    "spelling": (lambda case: Parsed(Outcome.OK, plain(case["reply"]), ""), str),
}
CASES = [
    pytest.param(name, case, id=f"{name}: {json.dumps(case, ensure_ascii=False)[:90]}")
    for name in READERS
    for case in lines(f"benchmarks/parsing/{name}.jsonl")
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_hand_written_case(name, case):
    reader, shown = READERS[name]
    read = reader(case)
    assert (read.outcome.value if read.value is None else shown(read.value)) == case[
        "reads"
    ]
    assert read.how == case.get("how", read.how)
    assert read.explained("it") == case.get("explained", read.explained("it"))
    assert (read.outcome is Outcome.OK) == (read.value is not None)


# --- The corpora of cases/reading, a fifth of which is unseen ---


@pytest.mark.parametrize(
    ("part", "missed", "of_each", "alarms"), [("", 1, 0.97, 3), ("_unseen", 3, 0.93, 1)]
)
def test_refusals(part, missed, of_each, alarms):
    known = kinds(corpus(f"refusals{part}"))
    assert len(known) == 7
    assert sum(total - right for right, total in known.values()) <= missed
    assert all(right >= of_each * total for right, total in known.values()), known
    assert (
        sum(is_refusal(case["reply"]) for case in corpus(f"near_refusals{part}"))
        <= alarms
    )


@pytest.mark.parametrize(
    ("name", "wrong", "unread"),
    [
        *(("options_ordinary", 0, 0), ("options_ordinary_unseen", 0, 1)),
        *(("options_adversarial", 0, 5), ("options_adversarial_unseen", 1, 1)),
        *(("yes_no_plain", 0, 0), ("yes_no_plain_unseen", 0, 0)),
    ],
)
def test_choices_and_yes_or_no(name, wrong, unread):
    read, answers = (
        (yes_or_no, ("yes", "no"))
        if name.startswith("yes_no")
        else (ours, tuple(LETTERS))
    )
    count = counted(read, corpus(name), answers)
    assert (count.wrong, count.unread) <= (wrong, unread)


def test_the_tables_of_the_documentation_are_of_these_rules_and_cases():
    report = (REPOSITORY / "reports/reading.md").read_text(encoding="utf-8")
    rows = [*tables(""), *tables("_unseen")]
    assert [row for row in rows if row not in report] == []


# --- Whatever the options, the words and the text ---


@given(st.text(), st.lists(st.text(min_size=1), min_size=2, max_size=26), st.data())
def test_no_text_and_no_options_make_a_reader_raise(text, texts, data):
    refusal = data.draw(st.integers(0, len(texts) - 1))
    for read in (
        parse_choice(text, texts, refusal),
        parse_yes_no(text),
        parse_grade(text),
    ):
        assert (read.value is not None) == (read.outcome is Outcome.OK)
    assert (is_refusal(text), is_error(text)) <= (True, True)
    assert len(folded(text)) == len(text)


@pytest.mark.parametrize("word", [*YES, *NO])
def test_every_yes_and_no_is_read_alone_and_emphasised(word):
    for form in (
        "{}",
        "{}.",
        "**{}**",
        " {}\n",
        "Answer: {}",
        "<think>perhaps not</think>{}",
        "\\boxed{{{}}}",
    ):
        assert parse_yes_no(form.format(word)).value is (word in YES), form


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}.",
        "**{}**",
        "| {} |",
        "Correctness: {}",
        "{}\n\nThe prediction is short.",
    ],
)
def test_each_grade_of_the_prompt_is_read_in_every_form(form):
    assert [parse_grade(form.format(tenths / 10)).value for tenths in range(11)] == [
        each / 10 for each in range(11)
    ]


@given(
    st.floats(0, 1),
    st.sampled_from(
        ["{!r}", "{:.3f}", "{:g}", "{:e}", "{:.17g}", " {!r}", "{!r}\n", "+{:.2f}"]
    ),
)
def test_every_float_from_0_to_1_is_the_same_grade_as_to_the_published_evaluator(
    number, form
):
    assert parse_grade(form.format(number)).value == float(form.format(number))


@pytest.mark.parametrize(
    "name", ["choice", "grade", "refusal", "reply", "text", "yes_no"]
)
def test_examples_in_docstrings(name):
    results = doctest.testmod(
        importlib.import_module(f"driftledger.benchmarks.base.parsing.{name}")
    )
    assert results.attempted
    assert not results.failed


# Each pattern of the data file finds its own example, and every list has one reader.


EXAMPLES = [
    pytest.param(example, pattern, id=f"{name}: {example!r:.60}")
    for name, those in table().items()
    if name != "words"
    for example, pattern in those.items()
]


@pytest.mark.parametrize(("example", "pattern"), EXAMPLES)
def test_a_pattern_finds_its_example(example, pattern):
    looked_for = re.compile(filled(pattern if isinstance(pattern, str) else pattern[0]))
    written = replaced("written_out", folded(example))
    assert any(looked_for.search(form) for form in (example, folded(example), written))


def test_each_list_is_looked_for_by_name():
    folder = Path(text.__file__).parent
    code = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert [name for name in table() if not re.search(f"[\"']{name}[\"']", code)] == []


def test_an_unescaped_bracket_only_groups():
    assert filled(r"(a|\(b)[(](?P<c>x)") == r"(?:a|\(b)[(](?P<c>x)"


# Replies are written by models: none may keep the parser busy, however often it repeats what the
# rules look for.


LENGTH = 20_000
TRUCK = (
    "a red car",
    "a blue truck",
    "a green bicycle",
    "a yellow bus",
    "It cannot be determined from the image",
)
MANY = tuple(f"item {number}" for number in range(1, 27))
TIMED = {
    "a choice": lambda text: parse_choice(text, TRUCK, 4),
    "yes or no": lambda text: (parse_yes_no(text), parse_yes_no(text, cut=True)),
    "a grade": parse_grade,
    "an error or a refusal": lambda text: (is_error(text), is_refusal(text)),
    "no image": says_none_arrived,
}
UNITS = [case["unit"] for case in cases(__file__, "units")]
"""What rules look for."""


@pytest.mark.parametrize("unit", UNITS)
def test_thousands_of_characters_of_the_same(unit):
    text = unit * (LENGTH // len(unit))
    assert not [
        name for name, reader in TIMED.items() if not grows_linearly(reader, text)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_characters_of_a_mixture_and_26_options(seed):
    mixture = random.Random(seed)
    units = mixture.sample(UNITS, 8)
    text = "".join(mixture.choice(units) for _ in range(LENGTH))[:LENGTH]
    assert grows_linearly(lambda text: parse_choice(text, MANY, 0), text)


def test_of_two_options_that_begin_alike_the_longer_is_meant():
    assert (
        parse_choice("The answer is red, blue.", ["red", "red, blue", "none"], 2).value
        == 1
    )

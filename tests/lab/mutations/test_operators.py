import ast
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.mutations.operators import Mutation, chosen, mutations
from tests.conftest import REPOSITORY


def inside(body: str) -> list[tuple[str, str]]:
    """What is replaced by what in a line of a function."""
    return [(each.old, each.new) for each in mutations("m.py", f"def f(a, b, c):\n    {body}\n")]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("a in b", [("in", "not in")]),
        ("a not in b", [("not in", "in")]),
        ("a not  in b", [("not  in", "in")]),
        ("a is b", [("is", "is not")]),
        ("a is not b", [("is not", "is")]),
        ("a == b", [("==", "!=")]),
        ("a != b", [("!=", "==")]),
        ("a < b <= c", [("<", "<="), ("<", ">="), ("<=", "<"), ("<=", ">")]),
        ("a > b", [(">", "<="), (">", ">=")]),
        ("a >= b", [(">=", "<"), (">=", ">")]),
        ("a + b - c", [("+", "-"), ("-", "+")]),
        ("a * b / c // a", [("*", "/"), ("/", "*"), ("//", "*")]),
        ("a += b", [("+=", "-=")]),
        ("a and b and c", [("and", "or"), ("and", "or")]),
        ("a or (b)", [("or", "and")]),
        ("(a and b) or c", [("and", "or"), ("or", "and")]),
        ("not a", [("not", "")]),
        ("-a", [("-", "")]),
        ("a(True, 0, 1, 7, 0.5)", [("True", "False"), ("0", "1"), ("1", "0"), ("7", "8"), ("0.5", "1.5")]),
        ("return a(b)", [("a(b)", "None")]),
        ("return False", [("False", "None"), ("False", "True")]),
        ("sorted(a, key=b)", [("sorted(a, key=b)", "list(a)")]),
        ("max(a, b)", [("max", "min")]),
        ("a[0]", [("0", "-1")]),
        ("a[-1]", [("-1", "0")]),
        ("a[1:]", [("1", "0")]),
    ],
)
def test_every_operator_makes_its_faults(line: str, changes: list[tuple[str, str]]) -> None:
    assert inside(line) == changes


@pytest.mark.parametrize(
    "line",
    [
        "return",
        "return None",
        "raise ValueError(f'{a + 1}', 1)",
        "a(f'{b == 1:{c + 1}}')",
        "a / 'reports' / b",
        "a + 'text' + b",
        "b: Annotated[int, Field(ge=0)]",
        "b: TypeAlias = Literal[1, 2]",
        "a | b",
        "a('0 < 1 and in')  # 0 < 1 and in",
    ],
)
def test_types_messages_paths_and_texts_are_left_alone(line: str) -> None:
    assert inside(line) == []


def test_defaults_are_changed_and_decorators_and_annotations_are_not() -> None:
    source = (
        '@wraps(0)\ndef f(a: Literal[1] = 0, *, b: bool = True, c: str = "x", d: str | None = None) -> Literal[2]:\n'
    )
    source += "    ...\n"
    found = {(each.operator, each.old, each.new) for each in mutations("m.py", source)}
    assert found == {("default", "0", "1"), ("default", "True", "False"), ("default", '"x"', '""')}


def test_an_operator_is_found_beside_brackets_comments_and_letters_of_several_bytes() -> None:
    source = dedent(
        """\
        ä = "ß", (
            (a)  # not < this
            < b[c < d]
        )
        """
    )
    found = [each for each in mutations("m.py", source) if each.new == "<="]
    assert [each.line for each in found] == [3, 3]
    assert found[0].apply(source) == source.replace("< b", "<= b")
    assert found[1].apply(source) == source.replace("c < d", "c <= d")


def test_a_diff_shows_the_fault_and_two_lines_around() -> None:
    source = "".join(f"x{number} = {number + 5}\n" for number in range(9))
    (fault,) = [each for each in mutations("src/m.py", source) if each.old == "9"]
    assert fault.diff(source).splitlines() == [
        *("--- a/src/m.py", "+++ b/src/m.py", "@@ -3,5 +3,5 @@"),
        *(" x2 = 7", " x3 = 8", "-x4 = 9", "+x4 = 10", " x5 = 10", " x6 = 11"),
    ]


@pytest.mark.parametrize("path", ["metrics/positions.py", "metrics/retrieval.py", "cli.py", "components/base.py"])
def test_every_fault_in_real_code_is_python_and_another_program(path: str) -> None:
    source = (REPOSITORY / "src/driftledger" / path).read_text(encoding="utf-8")
    before, faults = ast.dump(ast.parse(source)), mutations(path, source)
    assert len(faults) > 3
    assert all(ast.dump(ast.parse(fault.apply(source))) != before for fault in faults)
    assert len({fault.id for fault in faults}) == len(faults)


def test_a_fault_keeps_its_name_while_other_lines_change() -> None:
    def names(source: str) -> list[str]:
        return [each.id for each in mutations("m.py", source)]

    twice = "x = a < b\nx = a < b\n"
    assert len(set(names(twice))) == 4, "equal lines are told apart"
    assert names("# more\n\n" + twice) == names(twice)
    assert not set(names(twice.replace("a", "c"))) & set(names(twice))
    assert [each.id for each in mutations("other.py", twice)] != names(twice)


def some(count: int) -> list[Mutation]:
    return mutations("m.py", "".join(f"x{number} = a < {number}\n" for number in range(count)))


@given(st.integers(0, 50), st.integers(1, 20))
def test_a_choice_is_of_the_seed_alone_and_a_longer_one_begins_with_a_shorter(seed: int, count: int) -> None:
    every = some(12)
    turned = every[::-1]
    assert chosen(turned, seed, count) == chosen(every, seed, count) == chosen(every, seed, count + 5)[:count]


def test_another_seed_chooses_others_and_a_new_line_moves_few() -> None:
    first = chosen(some(40), 1, 20)
    assert chosen(some(40), 2, 20) != first
    more = chosen(some(41), 1, 20)
    assert len({each.id for each in first} & {each.id for each in more}) >= 17


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        mutations("m.py", "def")

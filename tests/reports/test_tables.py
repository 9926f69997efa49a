"""A table in each format that it is written in."""

import csv as csv_files
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.base import Cell, Table
from driftledger.benchmarks.tables import Place, cell
from driftledger.reports.tables import csv, latex, markdown, with_coverages
from tests.support.tables import HOSTILE, assert_inert

VALUES = Table(
    "score, as in Table 1",
    ["", "score", "model_1"],
    [
        ["seer_2", cell(62.125, Place(1, True, "a"), more="60.0–64.0")._replace(deviation="0.85"), "a"],
        [Cell("mean", bold=True), cell(None), cell(3, digits=0)],
    ],
    ["10/14 · visual."],
    [1.0, 0.5],
)

LATEX = r"""\begin{table}
\centering
\caption{score, as in Table 1}
\begin{tabular}{lrrr}
\toprule
 & score & model\_1 & coverage \\
\midrule
seer\_2 & \textbf{62.12} a $\pm$ 0.85 (60.0--64.0) & a & 1.000 \\
\textbf{mean} & -- & 3 & 0.500 \\
\bottomrule
\end{tabular}
\par\footnotesize 10/14 $\cdot$ visual.
\end{table}
"""

anything = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\\{}$&#^_~%[]*|\n"`'), max_size=20)


def hostile(text: str) -> Table:
    """Wherever text can stand, ``text``."""
    cells = [[text, Cell(text, more=text, deviation=text)], [Cell(text, bold=True), text]]
    return Table(text, ["", text], cells, [text])


def test_markdown_has_the_title_the_cells_and_the_notes() -> None:
    assert list(markdown(with_coverages(VALUES))) == [
        *("**score, as in Table 1**", ""),
        *("| | score | model_1 | coverage |", "|---|---:|---:|---:|"),
        "| seer_2 | **62.12** a ± 0.85 (60.0–64.0) | a | 1.000 |",
        *("| **mean** | – | 3 | 0.500 |", ""),
        *("10/14 · visual.", ""),
    ]


def test_latex_is_a_table_of_booktabs() -> None:
    assert latex(with_coverages(VALUES)) == LATEX


def test_csv_has_all_digits_and_what_stands_beside_a_number_in_columns_of_its_own() -> None:
    assert csv(with_coverages(VALUES)).decode().splitlines() == [
        ',score,"score, letters","score, ±","score, in brackets",model_1,coverage',
        "seer_2,62.125000,a,0.85,60.0–64.0,a,1.000000",
        "mean,–,,,,3,0.500000",
    ]


def test_coverages_of_columns_are_a_row() -> None:
    table = Table("t", ["", "a", "b"], [["x", cell(1.0), cell(2.0)]], (), [1.0, 0.25], across=True)
    assert [list(map(str, row)) for row in with_coverages(table).rows] == [
        ["x", "1.00", "2.00"], ["coverage", "1.000", "0.250"],
    ]  # fmt: skip


def test_hostile_text_does_nothing_in_markdown() -> None:
    assert_inert(list(markdown(hostile(HOSTILE))))


def columns(row: str) -> int:
    """Of a row of a tabular, as LaTeX counts them."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*&", row)) + 1


@pytest.mark.parametrize("text", [HOSTILE, r"a & b \\ \input{/etc/passwd}", "[1em] x", "*", "%", "$x$ ^2 ~", "{", "}"])
def test_hostile_text_does_nothing_in_latex(text: str) -> None:
    check(text)


@given(anything)
def test_any_text_is_inert_in_latex(text: str) -> None:
    check(text)


def check(text: str) -> None:
    lines = latex(hostile(text)).splitlines()
    assert len(lines) == 13, "no text has begun a line of its own"
    rows = [lines[5], *lines[7:9]]
    assert all(row.endswith(r" \\") and columns(row) == 2 for row in rows)
    for line in [lines[2], lines[11], *(row.removesuffix(r" \\") for row in rows)]:
        told = re.sub(
            r"\\(textbf|caption|par|footnotesize|text[a-z]+|times|div|pm|cdot|to|Delta|Sigma|rho|tau)\b"
            r"|\\[{}$&#_%]|\$[-\\a-zA-Z]*\$",
            "",
            line,
        )
        assert "\\" not in told
        assert not set("$#%^~_|<>`") & set(told)
        assert not re.search(r"(?<!{)[\[*]", told)
        assert told.count("{") == told.count("}")


def test_a_table_without_rows_is_one_in_every_format() -> None:
    empty = Table("nothing", ["", "a"], [])
    assert csv(empty) == b",a\n"
    assert latex(empty).count(r"\\") == 1
    assert list(markdown(empty))[2:] == ["| | a |", "|---|---:|", ""]


def test_a_spreadsheet_takes_no_cell_for_a_formula() -> None:
    rows = list(csv_files.reader(io.StringIO(csv(hostile("=cmd()")).decode())))
    assert not [each for row in rows[1:] for each in row if each.startswith("=")]
    assert not [each for each in rows[0] if each.startswith("=")]

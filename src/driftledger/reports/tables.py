"""A table in each format that it is written in: Markdown and LaTeX for people, CSV for programs.

What it shows is plain text that models and files may have brought; here, and nowhere else, it is made inert.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from driftledger.benchmarks.base import COVERAGE, Cell, Cells, Origin, Table
from driftledger.benchmarks.tables import cell, csv_table
from driftledger.core.text import for_cell, for_csv, for_latex


def with_coverages(table: Table) -> Table:
    """With the coverages of its rows, or its columns, as a column or row of its own."""
    if not table.coverages:
        return table
    lines = list(zip(*table.rows, strict=True))[1:] if table.across else table.rows
    told = [
        cell(coverage, digits=COVERAGE.digits, of=_coverage_of(line, coverage))
        for line, coverage in zip(lines, table.coverages, strict=True)
    ]
    if table.across:
        return table._replace(rows=[*table.rows, [COVERAGE.title, *told]], coverages=())
    rows: list[Cells] = [[*row, coverage] for row, coverage in zip(table.rows, told, strict=True)]
    return table._replace(head=[*table.head, COVERAGE.title], rows=rows, coverages=())


def _coverage_of(line: Cells, coverage: float) -> Origin | None:
    """Of the score that the cells of a row or column are of; of a part of it where its own is another."""
    scores = (each.of.score for each in line if isinstance(each, Cell) and each.of is not None)
    score = next(scores, None)
    return None if score is None else Origin(score, COVERAGE.key if score.coverage == coverage else "")


def markdown(table: Table) -> Iterator[str]:
    """Lines: the title, the table, its notes, with an empty line behind each."""
    rows = ([_shown(each, for_cell, "**{}**") for each in row] for row in table.rows)
    yield from markdown_table(for_cell(table.title), list(map(for_cell, table.head)), rows)
    for note in table.notes:
        yield from (for_cell(note), "")


def markdown_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The same of what is inert Markdown already; the first column is of names, the others of numbers."""
    yield from (f"**{title}**", "")
    yield "| " + " | ".join(head).lstrip() + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def latex(table: Table) -> str:
    """A floating table whose document needs the package ``booktabs``; pdflatex sets all but letters of other scripts,
    which need lualatex or xelatex."""
    columns = "l" + "r" * (len(table.head) - 1)
    rows = [" & ".join(_shown(each, for_latex, r"\textbf{{{}}}") for each in row) for row in table.rows]
    lines = [
        *(r"\begin{table}", r"\centering", rf"\caption{{{for_latex(table.title)}}}"),
        *(rf"\begin{{tabular}}{{{columns}}}", r"\toprule"),
        *(rf"{row} \\" for row in (" & ".join(map(for_latex, table.head)),)),
        *(r"\midrule", *(rf"{row} \\" for row in rows)),
        *(r"\bottomrule", r"\end{tabular}"),
        *(rf"\par\footnotesize {for_latex(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join([*lines, ""])


def csv(table: Table) -> bytes:
    """All digits of every number; a deviation and what stands in brackets have columns of their own behind it."""
    head, columns = [], []
    for place, title in enumerate(table.head):
        cells = [each if isinstance(each, Cell) else Cell(each) for each in (row[place] for row in table.rows)]
        head.append(title)
        columns.append([each.text if each.value is None else each.value for each in cells])
        for what, told in (
            ("letters", [each.letters for each in cells]),
            ("±", [each.deviation for each in cells]),
            ("in brackets", [each.more for each in cells]),
        ):
            if any(told):
                head.append(", ".join(filter(None, (title, what))))
                columns.append(list(told))
    return csv_table(list(map(for_csv, head)), zip(*columns, strict=True))


def _shown(shown: Cell | str, inert: Callable[[str], str], bold: str) -> str:
    if isinstance(shown, str):
        return inert(shown)
    text, more = inert(shown.text), inert(str(shown._replace(text="")))
    return (bold.format(text) if shown.bold else text) + (more and f" {more}")

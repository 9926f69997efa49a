"""Pages of the documentation in which a command keeps a table, between two comments of its own."""

from collections.abc import Mapping
from pathlib import Path

from driftledger.core.files import write_text


def between(page: str, marks: tuple[str, str]) -> str:
    """What stands between its marks.

    >>> between("Before <a> old <b> after", ("<a>", "<b>"))
    ' old '
    """
    begin, end = marks
    return page.partition(begin)[2].partition(end)[0]


def put_between(page: str, marks: tuple[str, str], made: str) -> str:
    """The page with what was made in the place of what stands between its marks.

    >>> put_between("Before <a> old <b> after", ("<a>", "<b>"), "new")
    'Before <a>\\n\\nnew\\n<b> after'
    """
    begin, end = marks
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{made}\n{end}{after}"


def write_between(path: Path, made: Mapping[tuple[str, str], str]) -> None:
    """Write a page with what was made between each pair of marks."""
    page = path.read_text(encoding="utf-8")
    for marks, text in made.items():
        page = put_between(page, marks, text)
    write_text(path, page)

"""Pages of the documentation in which a command keeps a table, between two comments of its own."""


def put_between(page: str, marks: tuple[str, str], made: str) -> str:
    """The page with what was made in the place of what stands between its marks.

    >>> put_between("Before <a> old <b> after", ("<a>", "<b>"), "new")
    'Before <a>\\n\\nnew\\n<b> after'
    """
    begin, end = marks
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{made}\n{end}{after}"

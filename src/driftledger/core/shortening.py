"""Sentences of libraries, made short enough to stand inside one of ours."""

from driftledger.core.escaping import for_line


def shortened(said: str, most: int = 300) -> str:
    """What a library says, on one line of at most so many characters, of which the middle is left out.

    Its beginning says what went wrong and its end what to do; in between stand paths, which may be long.

    >>> shortened("cannot open /a/very/long/path/to/nowhere.json: it is a folder", 40)
    'cannot open /a/very…json: it is a folder'
    >>> shortened("no such file")
    'no such file'
    """
    told = for_line(said)
    if len(told) <= most:
        return told
    begin = (most - 1) // 2
    return f"{told[:begin]}…{told[begin + 1 - most :]}"

"""Tokens that a service counted, in the forms that services use.

``tokens.toml`` has the names that services use, and an example of each form.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from driftledger.components.answers import facts, field
from driftledger.core.types import Usage

TABLE = tomllib.loads(
    Path(__file__).with_name("tokens.toml").read_text(encoding="utf-8")
)
_NUMBER = re.compile(r"([0-9]{1,12})(\.0*)?")
"""A count in an answer: an integer, a float or a text."""


def counts_in(answer: Any) -> dict[str, int]:
    """Return the counts in a service's answer, by their kind in the table."""
    counts: dict[str, int] = {}
    for place in ("usage", "usageMetadata"):
        for name, value in facts(field(answer, dict, place)):
            snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
            number = _NUMBER.fullmatch(str(value))
            if number and snake in TABLE["names"]:
                counts.setdefault(TABLE["names"][snake], int(number[1]))
    return counts


def usage_of(answer: Any, images: int = 0) -> Usage:
    """Return the usage of a call; uncounted tokens are None.

    Thoughts are output and cached tokens are input, wherever the service counts them. Tokens that
    only a total counts are output, too.
    """
    counts = counts_in(answer)
    tokens_in = counts.get("prompt", counts.get("input"))
    tokens_out = counts.get("output")
    if not (
        tokens_in or tokens_out
    ):  # some services write 0 for tokens that they have not counted
        tokens_in = tokens_out = None
    read = counts.get("read", counts.get("beside_read", 0))
    if tokens_in is not None and tokens_out is not None:
        thoughts = counts.get("thoughts", 0)
        total = counts.get("total", 0)
        rest = total - tokens_in - tokens_out
        beside = counts.get("beside_read", 0) + counts.get("beside_written", 0)
        cached = beside or read
        is_beside = beside and "prompt" not in counts
        is_beside = is_beside or rest in (cached, cached + thoughts)
        if cached > tokens_in or (is_beside and rest not in (0, thoughts)):
            tokens_in += cached
        if not total:
            tokens_out += counts.get("beside_thoughts", 0)
        tokens_out = max(tokens_out, thoughts, total - tokens_in)
    return Usage(tokens_in, tokens_out, images, cached_tokens=read)


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text, rather too many.

    A token has three bytes in Chinese and four in English.
    """
    return -(-len(text.encode()) // 3)

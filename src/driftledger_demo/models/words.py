"""The length limit of the embedded models, which have no tokens of their own: they count words."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Reply

_WORD = re.compile(r"\S+")


class WordCounter(Model):
    """A model that says one thing about each conversation, as long as it may be."""

    @abstractmethod
    def say(self, conversation: Conversation) -> str:
        """What it would say at any length."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [at_most(self.say(conversation), conversation.max_tokens) for conversation in conversations]


def at_most(text: str, max_tokens: int | None) -> Reply:
    """``text`` as a reply of at most so many words: what stands between blanks, punctuation included.

    What is longer ends with its last word allowed and is ``Outcome.TRUNCATED``; without a limit,
    or within it, ``text`` is left as it is.

    Raises:
        ValueError: ``max_tokens`` is less than 1.

    >>> at_most("A red circle, and more.", 3).text
    'A red circle,'
    """
    if max_tokens is None:
        return Reply(text)
    if max_tokens < 1:
        raise ValueError(f"a reply has room for a word at least, but max_tokens is {max_tokens}")
    words = list(islice(_WORD.finditer(text), max_tokens + 1))
    if len(words) <= max_tokens:
        return Reply(text)
    return Reply(text[: words[max_tokens - 1].end()], Outcome.TRUNCATED)

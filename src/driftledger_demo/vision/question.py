"""Conversation → question: whether a model is to describe, to choose or to answer."""

import re
from typing import Literal, NamedTuple

from driftledger.benchmarks._questions.parsing.refusal import is_refusal
from driftledger.core.types import Conversation

_OPENER = re.compile(r"(?:Please [^.?]*\. |[A-Z][a-z' ]{0,40}: )(?=[A-Z])")
_PICTURE = re.compile(r"\b(?:picture|photo|photograph)\b")
_APART = re.compile(
    r"(?:(?:Apart from|Not counting|Besides|Except for|Ignoring|If you ignore) the [a-z ]+"
    r"|Leaving (?:aside )?the [a-z ]+?(?: aside)?), ",
    re.IGNORECASE,
)

_FORMS = r"""
What is the (shape|colou?r) of the (.+)\?
Which \1 does the \2 have?

In (?:which|what) colou?r is the (.+)\?
Which colour does the \1 have?

What is the number of (.+) in the image\?
How many \1 are there in the image?

How many (.+) (?:does the image show|has the image)\?
How many \1 are there in the image?

How many corners have all (\w+) .+\?
How many corners do all \1 in the image have together?

(?:In|At) (?:which|what) (?:part|place) (?:of|in) the image is the (.+)\?
Where is the \1?

Which corner of the image is the (.+) in\?
In which corner of the image is the \1?

(?:Which|What) of (?:these|the following) (?:objects )?(?:can be seen|is shown) in the image\?
Which of these objects is in the image?

Which of these (?:objects )?does the image show\?
Which of these objects is in the image?

Which of these (?:objects )?(?:does the image not show|cannot be seen in the image)\?
Which of these objects is not in the image?

What is the (largest|smallest) (?:of the objects|object) in the image\?
Which is the \1 object in the image?

(?:Which object|What) (?:comes|lies|is) directly (.+)\?
What is directly \1?

What (?:lies|is) (furthest to the \w+|highest up|lowest down) in the image\?.*
Which object is \1 in the image?

(?:What|Which) pattern does the background have\?
What does the background of the image look like?

What are the (?:two )?colou?rs of the stripes.*\?
Which two colours do the stripes of the background have?

What can (?:one|you) read on the (board|road sign)\?
What is written on the \1?

What does the last line of the board say\?
What is written on the lowest line of the board?

(?:What|Which) price does the board give for the (\w+)\?
How much is the \1 on the board?

(?:What are the two|Which) numbers (?:of the sum on the board|does the board ask to add)\?
Which two numbers are to be added on the board?

What (?:does the sum on the board come to|is the sum)\?
What is the result of the sum on the board?

(?:What time does the train leave|When is the train's departure)\?
When does the train leave?

Of which country is this the flag\?|Which country has this flag\?
Which country does this flag belong to?

(?:To which|What) kind of road signs? (?:does this one belong|is it)\?
What kind of road sign is this?

What (?:does this mathematical symbol mean|is the meaning of this symbol)\?
What does this mathematical symbol stand for?

Is (an? \w+(?: \w+)?) among the things in the image\?
Is there \1 in the image?

Would you (?:call|say) the (.+?)(?: is)? (\w+)\?
Is the \1 \2?

Is (\w+) the colou?r of the (.+)\?
Is the \2 \1?

Is it the flag of (.+?)(?: that is shown)?\?
Is this the flag of \1?

Is (".+") what is written on the board\?
Does the board say \1?

Does the board ask (\$\d+) for the (\w+)\?
Does the \2 cost \1, going by the board?

Is the sum on the board (?:equal to )?(\d+)\?
Is \1 the result of the sum on the board?

Would you find the (.+?) (above|below|to the left of|to the right of) the (.+)\?
Is the \1 \2 the \3?

Would you call this symbol (.+)\?
Is this mathematical symbol \1?
"""
"""Forms of questions, each with the one below it that the rules know."""


def without_manners(question: str) -> str:
    """Return the question itself, with one word for image, which every model understands."""
    return _PICTURE.sub("image", _OPENER.sub("", question, count=1))


def plain(question: str) -> str:
    """Return ``question`` in the words that the rules know, if its form is one of those above."""
    body = _APART.sub("", question)
    body = body[:1].upper() + body[1:]
    for pair in _FORMS.strip().split("\n\n"):
        form, words = pair.split("\n")
        if re.fullmatch(form, body, re.IGNORECASE):
            return re.sub(form, words, body, flags=re.IGNORECASE)
    return body


CANNOT = "I cannot determine this from the image."
"""A refusal in free text."""

_OPTION = re.compile(r"([A-Z])\. (\S.*)")
_YES_NO = "please answer yes or no"
_REQUEST = re.compile(r"(?:Write|Explain|Describe)\b.*\b(?:sentences?|announcement)\b")
_OVERVIEW = re.compile(r"What are the main (?:visual features|elements)\b")
"""How the TRAC paper asks for a description: in a question, to which the answer is one."""
_NOT_SHOWN = re.compile(
    r"(?i)th(?:e|is) (?:image|picture|photo) does(?: not|n't) (?:show|tell|say)\b.*"
)
"""A refusal as an option; in free text it may stand beside an answer."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ParsedQuestion(NamedTuple):
    """A question, without its options and without how it is to be answered."""

    kind: Literal["choice", "yes_no", "open"]
    question: str
    options: tuple[str, ...] = ()
    """In the order of their letters; empty unless ``kind`` is choice."""

    @property
    def refusals(self) -> list[int]:
        """The indices of the options that decline to answer."""
        refusals = []
        for index, option in enumerate(self.options):
            if is_refusal(option) or _NOT_SHOWN.fullmatch(option):
                refusals.append(index)
        return refusals


def last_text(conversation: Conversation) -> str:
    """Return the text of the last turn."""
    parts = conversation.turns[-1].parts if conversation.turns else ()
    return "\n".join(part for part in parts if isinstance(part, str))


def question_in(conversation: Conversation) -> ParsedQuestion | None:
    """Return the question of the last turn, or None where it wants a description.

    A choice has at least two lettered lines, A first; a yes-no question asks for these words; any
    other question has a question mark in its first line, or asks for a sentence. What the main
    things in an image are is no question: all of a description answers it.

    >>> from driftledger.core.types import Turn
    >>> choice = "Which one?\\nA. a cat\\nB. a dog\\nAnswer with the letter."
    >>> question_in(Conversation((Turn("user", (choice,)),)))
    ParsedQuestion(kind='choice', question='Which one?', options=('a cat', 'a dog'))
    >>> question_in(Conversation((Turn("user", ("Describe the image.",)),))) is None
    True
    """
    lines = last_text(conversation).strip().splitlines()
    options: list[str] = []
    before: list[str] = []
    for line in lines:
        match = _OPTION.fullmatch(line.strip())
        if match and match[1] == LETTERS[len(options) : len(options) + 1]:
            options.append(match[2])
        elif not options:
            before.append(line)
    if len(options) >= 2:
        return ParsedQuestion("choice", _one_line(before), tuple(options))
    text = _one_line(lines)
    end = text.lower().find(_YES_NO)
    if end >= 0:
        return ParsedQuestion("yes_no", text[:end].strip())
    first = _one_line(lines[:1])
    if _OVERVIEW.match(first):
        return None
    return (
        ParsedQuestion("open", first) if "?" in first or _REQUEST.match(first) else None
    )


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())

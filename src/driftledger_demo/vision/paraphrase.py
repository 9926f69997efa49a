"""Questions in other words → the forms that the rules know, for a model that understands more than the plainest."""

import re

_OPENER = re.compile(r"(?:Please [^.?]*\. |[A-Z][a-z' ]{0,40}: )(?=[A-Z])")
_PICTURE = re.compile(r"\b(?:picture|photo|photograph)\b")
_APART = re.compile(
    r"(?:(?:Apart from|Not counting|Besides|Except for|Ignoring|If you ignore) the [a-z ]+"
    r"|Leaving (?:aside )?the [a-z ]+?(?: aside)?), ",
    re.IGNORECASE,
)

_FORMS: tuple[tuple[str, str], ...] = (
    (r"What is the (shape|colou?r) of the (.+)\?", r"Which \1 does the \2 have?"),
    (r"In (?:which|what) colou?r is the (.+)\?", r"Which colour does the \1 have?"),
    (r"What is the number of (.+) in the image\?", r"How many \1 are there in the image?"),
    (r"How many (.+) (?:does the image show|has the image)\?", r"How many \1 are there in the image?"),
    (r"How many corners have all (\w+) .+\?", r"How many corners do all \1 in the image have together?"),
    (r"(?:In|At) (?:which|what) (?:part|place) (?:of|in) the image is the (.+)\?", r"Where is the \1?"),
    (r"Which corner of the image is the (.+) in\?", r"In which corner of the image is the \1?"),
    (r"(?:Which|What) of (?:these|the following) (?:objects )?(?:can be seen|is shown) in the image\?", "IN"),
    (r"Which of these (?:objects )?does the image show\?", "IN"),
    (r"Which of these (?:objects )?(?:does the image not show|cannot be seen in the image)\?", "OUT"),
    (
        r"What is the (largest|smallest) (?:of the objects|object) in the image\?",
        r"Which is the \1 object in the image?",
    ),
    (r"(?:Which object|What) (?:comes|lies|is) directly (.+)\?", r"What is directly \1?"),
    (
        r"What (?:lies|is) (furthest to the \w+|highest up|lowest down) in the image\?.*",
        r"Which object is \1 in the image?",
    ),
    (r"(?:What|Which) pattern does the background have\?", "What does the background of the image look like?"),
    (r"What are the (?:two )?colou?rs of the stripes.*\?", "Which two colours do the stripes of the background have?"),
    (r"What can (?:one|you) read on the (board|road sign)\?", r"What is written on the \1?"),
    (r"What does the last line of the board say\?", "What is written on the lowest line of the board?"),
    (r"(?:What|Which) price does the board give for the (\w+)\?", r"How much is the \1 on the board?"),
    (
        r"What do(?:es)? (?:a|one) (\w+) and (?:a|one) (\w+) (?:come to|cost).*\?",
        r"How many dollars do one \1 and one \2 cost together?",
    ),
    (r"What is the cheapest .+\?", "Which item on the board is the cheapest?"),
    (
        r"(?:What are the two|Which) numbers (?:of the sum on the board|does the board ask to add)\?",
        "Which two numbers are to be added on the board?",
    ),
    (r"What (?:does the sum on the board come to|is the sum)\?", "What is the result of the sum on the board?"),
    (r"What is the destination of the train\?", "Where does the train go to?"),
    (r"(?:What time does the train leave|When is the train's departure)\?", "When does the train leave?"),
    (r"Of which country is this the flag\?|Which country has this flag\?", "Which country does this flag belong to?"),
    (r"(?:To which|What) kind of road signs? (?:does this one belong|is it)\?", "What kind of road sign is this?"),
    (
        r"What (?:does this mathematical symbol mean|is the meaning of this symbol)\?",
        "What does this mathematical symbol stand for?",
    ),
    (r"Is (an? \w+(?: \w+)?) among the things in the image\?", r"Is there \1 in the image?"),
    (r"Would you (?:call|say) the (.+?)(?: is)? (\w+)\?", r"Is the \1 \2?"),
    (r"Is (\w+) the colou?r of the (.+)\?", r"Is the \2 \1?"),
    (r"Is the number of (\w+) in the image (\w+)\?", r"Are there exactly \2 \1 in the image?"),
    (r"Is it the flag of (.+?)(?: that is shown)?\?", r"Is this the flag of \1?"),
    (r'Is (".+") what is written on the board\?', r"Does the board say \1?"),
    (r"Does the board ask (\$\d+) for the (\w+)\?", r"Does the \2 cost \1, going by the board?"),
    (r"Is the sum on the board (?:equal to )?(\d+)\?", r"Is \1 the result of the sum on the board?"),
    (r"Would you find the (.+?) (above|below|to the left of|to the right of) the (.+)\?", r"Is the \1 \2 the \3?"),
    (r"Would you call this symbol (.+)\?", r"Is this mathematical symbol \1?"),
)
_SHORT = {"IN": "Which of these objects is in the image?", "OUT": "Which of these objects is not in the image?"}


def without_manners(question: str) -> str:
    """The question itself, with the one word for what is shown: what anybody understands."""
    return _PICTURE.sub("image", _OPENER.sub("", question, count=1))


def plain(question: str) -> str:
    """``question`` in the words that the rules know, where it is one of those that are understood."""
    body = _APART.sub("", question)
    body = body[:1].upper() + body[1:]
    for form, words in _FORMS:
        if re.fullmatch(form, body, re.IGNORECASE):
            words = _SHORT.get(words, words)
            return re.sub(form, words, body, flags=re.IGNORECASE)
    return body

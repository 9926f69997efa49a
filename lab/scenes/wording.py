"""A plain question → the same question in other words, and never what is right as an answer to it.

Questions that no picture answers are put into other words by the same rules, so that wording tells nothing.
"""

import re

from lab.scenes.dice import Dice

_ASIDE = re.compile(r"Apart from the (flag|road sign|board|sheet of paper), (.+)")
_ASIDES = ("Apart from the {}, ", "Not counting the {}, ", "Leaving the {} aside, ", "If you ignore the {}, ")
_PICTURES = ("image", "picture", "photo", "photograph")
_LEADS = ("", "", "", "", "Tell me: ", "Please look closely. ", "A question: ", "Going by what can be seen: ")
_REQUESTS = ("Write", "Describe", "Explain", "Take")
_END = " Please answer yes or no."

_FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # what is there, and how many
    (
        r"What shape is the (.+)\?",
        ("Which shape does the {0} have?", "What is the shape of the {0}?", "How would you call the shape of the {0}?"),
    ),
    (
        r"What colour is the background\?",
        (
            "Which colour does the background have?",
            "What is the colour of the background?",
            "What colour is behind it all?",
        ),
    ),
    (
        r"What colour is the (.+)\?",
        ("Which colour does the {0} have?", "What is the colour of the {0}?", "In which colour is the {0}?"),
    ),
    (
        r"How many more (\w+) than (\w+) are there in the image\?",
        ("By how many do the {0} in the image outnumber the {1}?", "How many {0} are there beyond the number of {1}?"),
    ),
    (
        r"How many (\w+(?: \w+)?) are there in the image\?",
        (
            "How many {0} does the image show?",
            "How many {0} can you see in the image?",
            "What is the number of {0} in the image?",
            "If you count the {0} in the image, where do you end?",
        ),
    ),
    (
        r"How many corners do all (\w+) in the image have together\?",
        (
            "What do the corners of all {0} in the image add up to?",
            "How many corners have all {0} in the image in total?",
        ),
    ),
    (
        r"Which is the (largest|smallest) object in the image\?",
        ("Which object in the image is the {0}?", "What is the {0} of the objects in the image?"),
    ),
    (
        r"Which of these objects is (not )?in the image\?",
        ("Which of these does the image {0}show?", "Which of the following can {0}be seen in the image?"),
    ),
    (
        r"Which objects are there in the image\? Name each with its colour\.",
        (
            "Which objects can be seen in the image, and in which colours?",
            "What does the image show? Give colour and shape.",
        ),
    ),
    # where
    (
        r"Where in the image is the (.+)\?",
        ("In which part of the image is the {0}?", "Where is the {0}?", "In what place would one find the {0}?"),
    ),
    (
        r"In which corner of the image is the (.+)\?",
        ("Which corner of the image is the {0} in?", "Towards which corner of the image does the {0} lie?"),
    ),
    (
        r"Which object is (furthest to the left|furthest to the right|highest up|lowest down) in the image\? (.+)",
        ("What lies {0} in the image? {1}", "Of all objects in the image, which is {0}? {1}"),
    ),
    (
        r"What is directly (to the right of|to the left of|below|above) the (.+)\?",
        ("Which object comes directly {0} the {1}?", "What would you find next {0} the {1}?"),
    ),
    # the background
    (
        r"What does the background of the image look like\?",
        ("How does the background look?", "Which pattern does the background have?", "What kind of background is it?"),
    ),
    (
        r"Which two colours do the stripes of the background have\?",
        (
            "What are the two colours of the stripes in the background?",
            "Between which colours does the background alternate?",
        ),
    ),
    # what is written
    (r"Which number is on the road sign\?", ("What number does the road sign show?", "Which figure is on the sign?")),
    (
        r"What is written on the (board|road sign)\?",
        ("What does the {0} say?", "Which words or figures are on the {0}?", "What can one read on the {0}?"),
    ),
    (
        r"What is written on the lowest line of the board\?",
        ("What does the last line of the board say?", "Which text is at the bottom of the board?"),
    ),
    (
        r"Which of these costs (\$\d+) on the board\?",
        ("For which of these does the board ask {0}?", "Going by the board, what costs {0}?"),
    ),
    (
        r"How much is the (\w+) on the board\?",
        ("What does the {0} cost, going by the board?", "Which price does the board give for the {0}?"),
    ),
    (
        r"How many dollars do one (\w+) and one (\w+) cost together\?",
        ("What do a {0} and a {1} come to, in dollars?", "How much would {0} and {1} be in all?"),
    ),
    (
        r"Which item on the board is the cheapest\?",
        ("What is the cheapest thing on the board?", "Which item costs least?"),
    ),
    (
        r"Which two numbers are to be added on the board\?",
        ("What are the two numbers of the sum on the board?", "Which numbers does the board ask to add?"),
    ),
    (
        r"What is the result of the sum on the board\?",
        ("What does the sum on the board come to?", "Which number belongs in place of the question mark?"),
    ),
    (
        r"When does the train leave, according to the board\?|At what time does the train leave\?",
        ("At what time will the train leave?", "When is the train's departure?", "Which time is given for the train?"),
    ),
    (
        r"Which track does the train leave from\?",
        ("From which track does the train leave?", "Where would one board the train: on which track?"),
    ),
    (
        r"Where does the train go to\?",
        ("What is the destination of the train?", "To which city does the train go?", "Where is the train bound for?"),
    ),
    # what one has to know
    (
        r"Which country does this flag belong to\?|Which country's flag is in the image\?",
        ("Whose flag is this?", "Of which country is this the flag?", "Which country flies this flag?"),
    ),
    (
        r"What is the capital of the country whose flag is (?:shown|in the image)\?",
        ("Which city is the capital of the country with this flag?", "This flag's country: what is its capital?"),
    ),
    (
        r"What does the road sign tell drivers\?",
        (
            "What does the road sign mean?",
            "What are drivers told by the road sign?",
            "Which rule does this sign stand for?",
        ),
    ),
    (
        r"What kind of road sign is this\?",
        ("To which kind of road signs does this one belong?", "Which sort of sign is it?"),
    ),
    (
        r"What is this mathematical symbol called\?",
        ("What is the name of this mathematical symbol?", "How does one call this mathematical symbol?"),
    ),
    (
        r"What does (?:this|the) mathematical symbol (?:in the image )?stand for\?",
        ("What does this mathematical symbol mean?", "For what do mathematicians write this symbol?"),
    ),
    # yes or no
    (
        r"(?:Is|Are) there exactly (\w+) (\w+) in the image\?",
        ("Does the image show exactly {0} {1}?", "Is it exactly {0} {1} that the image shows?"),
    ),
    (
        r"Is there (an? .+) in the image\?",
        ("Does the image show {0}?", "Can you see {0} in the image?", "Is {0} among the things in the image?"),
    ),
    (
        r"Is the (.+) (above|below|to the left of|to the right of) the (.+)\?",
        (
            "Does the {0} lie {1} the {2}?",
            "Looking from the {2}, is the {0} {1} it?",
            "Would you find the {0} {1} the {2}?",
        ),
    ),
    (
        r"Is the number on the road sign (\d+)\?",
        ("Does the road sign show the number {0}?", "Is it {0} that the road sign says?"),
    ),
    (
        r"Does the (\w+) cost (\$\d+), going by the board\?",
        ("Is the price of the {0} on the board {1}?", "Does the board ask {1} for the {0}?"),
    ),
    (
        r"Do one (\w+) and one (\w+) cost (\$\d+) together\?",
        ("Is {2} the price of one {0} and one {1} together?", "Would {2} be the sum for a {0} and a {1}?"),
    ),
    (r"Does the train go to (.+)\?", ("Is the train bound for {0}?", "Is {0} where the train goes?")),
    (r'Does the board say (".+")\?', ("Can one read {0} on the board?", "Is {0} what is written on the board?")),
    (
        r"Is (\d+) the result of the sum on the board\?",
        ("Does the sum on the board come to {0}?", "Is the sum on the board equal to {0}?"),
    ),
    (r"Is this the flag of (.+)\?", ("Does this flag belong to {0}?", "Is it the flag of {0} that is shown?")),
    (
        r'Does the road sign tell drivers: (".+")\?',
        ("Does the road sign mean: {0}?", "Is this what the road sign tells drivers: {0}?"),
    ),
    (
        r"Is this mathematical symbol (.+)\?",
        ("Is {0} what this symbol is called?", "Does the image show {0}?", "Would you call this symbol {0}?"),
    ),
    (
        r"Is the (.+) (red|orange|yellow|green|blue|purple|pink|brown|black|grey|white)\?",
        ("Is {1} the colour of the {0}?", "Does the {0} have the colour {1}?", "Would you call the {0} {1}?"),
    ),
    # nobody can know
    (r"Who drew the (.+)\?", ("By whom was the {0} drawn?", "Whose work is the {0}?")),
    (
        r"In which year was this image made\?",
        ("From which year is this image?", "When was this image made, in which year?"),
    ),
    (r"What is behind the (.+)\?", ("What does the {0} hide?", "What would one find behind the {0}?")),
    (r"How heavy is the (.+)\?", ("What does the {0} weigh?", "What is the weight of the {0}?")),
    (r"How warm is the (.+)\?", ("What temperature does the {0} have?", "Which warmth would one feel on the {0}?")),
    (r"What does the (.+) smell of\?", ("Which smell does the {0} have?", "Of what does the {0} smell?")),
    (r"Who owns the original of this image\?", ("To whom does the original of this image belong?",)),
    (
        r"Why was (\w+) chosen for the (.+)\?",
        ("For what reason is the {1} {0}?", "What was the reason to choose {0} for the {1}?"),
    ),
    (r"Which colour will the (.+) be given tomorrow\?", ("In which colour will the {0} be tomorrow?",)),
    (r"How many people have seen this image so far\?", ("By how many people has this image been seen?",)),
    (r"How many minutes did it take to make this image\?", ("How long did it take to make this image, in minutes?",)),
)
"""The form of a plain question → other words for it; the first form that fits the whole of it counts."""


def reworded(question: str, dice: Dice) -> str:
    """``question`` in words that ``dice`` choose, the plain ones among them."""
    body, end = (question.removesuffix(_END), _END) if question.endswith(_END) else (question, "")
    aside = _ASIDE.fullmatch(body)
    if aside:
        body = aside[2][0].upper() + aside[2][1:]
    body = dice.choice((body, *_others(body)))
    lead = "" if body.startswith(_REQUESTS) else dice.choice(_LEADS)
    if aside:
        body = dice.choice(_ASIDES).format(aside[1]) + body[0].lower() + body[1:]
    picture = dice.choice(_PICTURES)
    return lead + re.sub(r"\bimage\b", picture, body) + end


def _others(question: str) -> list[str]:
    for form, others in _FORMS:
        match = re.fullmatch(form, question)
        if match:
            groups = [group or "" for group in match.groups()]
            return [other.format(*groups) for other in others]
    return []

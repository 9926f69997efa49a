"""Question and sight → the text of an answer; the place that decides what happens where the picture gives none."""

import re

from driftledger_demo.vision import long_answer as written
from driftledger_demo.vision import short_answer as short
from driftledger_demo.vision.paraphrase import plain, without_manners
from driftledger_demo.vision.parse_question import CANNOT, LETTERS, ParsedQuestion
from driftledger_demo.vision.scene_query import Sight, closest
from driftledger_demo.vision.world import KINDS, Sign, Symbol
from driftledger_demo.vision.yes_no import yes_or_no

_RULES = (*short.RULES, *written.RULES)
_EXISTENCE = re.compile(r"Which of these objects is (not )?in the image\?", re.IGNORECASE)
_EXTREME = re.compile(
    r"Which (?:object in the image )?is the (largest|smallest)(?: object in the image)?\?", re.IGNORECASE
)
_KIND = re.compile(r"What kind of road sign is this\?|Which sort of sign is it\?")
_MEANING = re.compile(
    r"What (?:does|is the name of) (?:this|the) (?:road sign|mathematical symbol).*\?"
    r"|What is this mathematical symbol called\?"
)


def answer(asked: ParsedQuestion, sight: Sight, *, refuses: bool) -> str | None:
    """The answer's text. None where an open question finds no answer and ``refuses`` does not say to decline it.

    Where the picture does not tell, a model that refuses says so, by the option that does where there is one. Any other
    takes the first option that is no refusal. Asked for a yes or a no, each says no to whatever it does not see.
    """
    question = without_manners(asked.question)
    if sight.fluent:
        question = plain(question)
    if asked.kind == "choice":
        return _choose(question, asked, sight, refuses=refuses)
    if asked.kind == "yes_no":
        return "Yes" if yes_or_no(sight, question) else "No"
    found = short.first_answer(_RULES, sight, question)
    return found or (CANNOT if refuses else None)


def _choose(question: str, asked: ParsedQuestion, sight: Sight, *, refuses: bool) -> str:
    chosen = _found(question, asked.options, sight)
    if chosen is None:
        refusals = asked.refusals
        if refuses:
            return LETTERS[refusals[0]] if refusals else CANNOT
        chosen = next((at for at in range(len(asked.options)) if at not in refusals), 0)
    return LETTERS[chosen]


def _found(question: str, options: tuple[str, ...], sight: Sight) -> int | None:
    """The first option that the picture shows to be right."""
    existence = _EXISTENCE.fullmatch(question)
    if existence:
        found = [sight.find(option) for option in options]
        wanted = existence[1] is None
        return next((at for at, things in enumerate(found) if things is not None and bool(things) == wanted), None)
    extreme = _EXTREME.fullmatch(question)
    if extreme:
        return _extreme(extreme[1].lower(), options, sight)
    if _KIND.fullmatch(question):
        return _told(options, KINDS.get(sight.emblem.kind, ()) if isinstance(sight.emblem, Sign) else ())
    if _MEANING.fullmatch(question) and isinstance(sight.emblem, Sign | Symbol):
        return _told(options, (sight.emblem.name, *sight.emblem.words))
    words = short.first_answer(_RULES, sight, question)
    same = [at for at, option in enumerate(options) if words and _bare(option) == _bare(words)]
    if same or words is None:
        return same[0] if len(same) == 1 else None
    return closest(_bare(words), map(_bare, options)) if sight.lines else None


def _told(options: tuple[str, ...], words: tuple[str, ...]) -> int | None:
    """The one option that says it in one of these words."""
    found = [at for at, option in enumerate(options) if any(word in option for word in words)]
    return found[0] if len(found) == 1 else None


def _extreme(which: str, options: tuple[str, ...], sight: Sight) -> int | None:
    if not sight.things:
        return None
    pick = max if which == "largest" else min
    extreme = pick(sight.things, key=lambda thing: thing.area)
    return next((at for at, option in enumerate(options) if sight.find(option) == [extreme]), None)


def _bare(words: str) -> str:
    return words.casefold().strip(" .").removeprefix("the ")

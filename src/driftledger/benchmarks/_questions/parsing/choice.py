"""Which option a reply chooses.

The order in which the rules are tried stands in :data:`RULES`, and nowhere else. A rule looks for a kind of place
where an answer can stand and reads all of them. If they agree, that is the choice; if they do not, nothing was chosen:
a later rule never settles what an earlier one found to be several. A letter is never taken from the midst of a text.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks._questions.parsing import rules
from driftledger.benchmarks._questions.parsing.error_text import is_error
from driftledger.benchmarks._questions.parsing.options import Options
from driftledger.benchmarks._questions.parsing.reading import SEVERAL, ParsedAnswer, Said
from driftledger.benchmarks._questions.parsing.refusal import REFUSAL
from driftledger.benchmarks._questions.parsing.text import plain
from driftledger.benchmarks._questions.parsing.thinking import without_thinking
from driftledger.core.types import Outcome

VERSION = "1"

Rule: TypeAlias = Callable[[Said, int], Iterable[ParsedAnswer]]

RULES: tuple[Rule, ...] = (
    lambda said, _: rules.final(said),  # "Final answer: B", \boxed{B}, {"answer": "B"}
    lambda said, _: rules.announced(said),  # "The answer is B", "B. Because …", "…\nB"
    lambda said, _: rules.stated(said),  # "I think it's B", "B is correct"
    lambda said, _: rules.labelled(said),  # "…, so (B) a blue truck."
    rules.texts,  # "It is a blue truck."
)
"""Tried in this order, after: the reply is exactly an option's text; it is an error; its reasoning is taken out; a
repetition of all options is taken out. If no rule finds anything, a refusal is looked for."""


class ParsedChoice(NamedTuple):
    """What was read. ``option`` is an index where ``outcome`` is OK, else None; ``how`` names what decided."""

    outcome: Outcome
    option: int | None
    how: str


def parse_choice(text: str, options: Sequence[str], refusal: int) -> ParsedChoice:
    """The option that ``text`` chooses; ``options`` are the texts in the order in which they were shown as A, B, C, …

    OK: an option was read; choosing the option ``refusal`` is OK too. REFUSED: none was read, and the text says in its
    own words that it does not answer. UNPARSED: anything else, with ``how`` saying why: ``several``, ``contradiction``
    (a letter beside another option's text), ``no_such_letter``, ``error``, ``unfinished`` (reasoning without end),
    ``nothing``. Never raises for any ``text``, and takes time linear in its length.

    Raises:
        ValueError: there are fewer than 2 or more than 26 options, or ``refusal`` is not one of them.

    >>> options = ["a red car", "a blue truck", "It cannot be determined"]
    >>> parse_choice("The correct answer is **B**. The image …", options, refusal=2)
    Choice(outcome=<Outcome.OK: 'ok'>, option=1, how='answer_phrase')
    >>> parse_choice("It cannot be determined.", options, refusal=2)
    Choice(outcome=<Outcome.OK: 'ok'>, option=2, how='refusal_text')
    >>> parse_choice("I'm sorry, but I cannot tell.", options, refusal=2).outcome
    <Outcome.REFUSED: 'refused'>
    >>> parse_choice("A or B", options, refusal=2)
    Choice(outcome=<Outcome.UNPARSED: 'unparsed'>, option=None, how='several')
    """
    shown = Options(options)
    if not 0 <= refusal < len(options):
        raise ValueError(f"refusal must be one of the {len(options)} options, but is {refusal}")
    if (exact := shown.exact(text)) is not None:
        return _chosen(exact, "option_text", refusal)
    if is_error(text):
        return ParsedChoice(Outcome.UNPARSED, None, "error")
    spoken = without_thinking(text)
    if not spoken.finished:
        readings = list(rules.final(Said(plain(spoken.text), shown)))
        return _agreed(readings, refusal) if readings else ParsedChoice(Outcome.UNPARSED, None, "unfinished")
    if (exact := shown.exact(spoken.text)) is not None:
        return _chosen(exact, "option_text", refusal)
    return _by_rules(Said(plain(spoken.text), shown), refusal)


def _by_rules(said: Said, refusal: int) -> ParsedChoice:
    echo = rules.echo(said)
    if echo:
        said = Said(f"{said.text[: echo[0]]}\n{said.text[echo[1] :]}".strip(), said.options)
    for rule in RULES:
        if readings := list(rule(said, refusal)):
            return _agreed(readings, refusal)
    if REFUSAL.search(said.low):
        return ParsedChoice(Outcome.REFUSED, None, "free_refusal")
    many = echo or len({mention.option for mention in said.mentions}) > 1
    return ParsedChoice(Outcome.UNPARSED, None, SEVERAL if many else "nothing")


def _agreed(readings: Sequence[ParsedAnswer], refusal: int) -> ParsedChoice:
    first = readings[0]
    if any(reading.option != first.option for reading in readings):
        return ParsedChoice(Outcome.UNPARSED, None, SEVERAL)
    if first.option is None:
        return ParsedChoice(Outcome.UNPARSED, None, first.how)
    return _chosen(first.option, first.how, refusal)


def _chosen(option: int, how: str, refusal: int) -> ParsedChoice:
    named = option == refusal and how == "option_text"
    return ParsedChoice(Outcome.OK, option, "refusal_text" if named else how)

"""Which option a reply chooses.

A rule looks for a kind of place where an answer can be and reads all of them. If they agree, that is the choice; if
not, nothing was chosen: a later rule never settles what an earlier one read as several. A letter is never taken from
the midst of a text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from driftledger.benchmarks._questions.parsing.options import Mention, Options, index_of
from driftledger.benchmarks._questions.parsing.refusal import refused_at
from driftledger.benchmarks._questions.parsing.said import BACK, SEVERAL, Parsed, Reading, Said, agreed, unparsed
from driftledger.benchmarks._questions.parsing.text import find, folded, is_error, plain, without_thinking
from driftledger.core.types import Outcome

VERSION = "4"

CONTRADICTION, NO_SUCH_LETTER = "contradiction", "no_such_letter"
_NEAR, _MOST_JOINED = 14, 32


def parse_choice(text: str, options: Sequence[str], refusal: int, *, cut: bool = False) -> Parsed[int]:
    """The option that ``text`` chooses; ``options`` are the texts in the order in which they were shown as A, B, C, …

    OK: an option was read; choosing the option ``refusal`` is OK too. REFUSED: none was read, and the text says in its
    own words that it does not answer. UNPARSED: anything else, with ``how`` saying why: ``several``, ``contradiction``
    (a letter beside another option's text), ``no_such_letter``, ``error``, ``unfinished`` (reasoning without end, or a
    reply that was cut), ``nothing``. Never raises for any ``text``, and takes time linear in its length.

    Args:
        cut: whether the reply met its length limit: then only an answer is read that is marked as finished.

    Raises:
        ValueError: there are fewer than 2 or more than 26 options, or ``refusal`` is not one of them.

    >>> options = ["a red car", "a blue truck", "It cannot be determined"]
    >>> parse_choice("The correct answer is **B**. The image …", options, refusal=2)
    Parsed(outcome=<Outcome.OK: 'ok'>, value=1, how='answer_phrase')
    >>> parse_choice("It cannot be determined.", options, refusal=2)
    Parsed(outcome=<Outcome.OK: 'ok'>, value=2, how='refusal_text')
    >>> parse_choice("I'm sorry, but I cannot tell.", options, refusal=2).outcome
    <Outcome.REFUSED: 'refused'>
    >>> parse_choice("A or B", options, refusal=2)
    Parsed(outcome=<Outcome.UNPARSED: 'unparsed'>, value=None, how='several')
    """
    shown = Options(options)
    if not 0 <= refusal < len(options):
        raise ValueError(f"refusal must be one of the {len(options)} options, but is {refusal}")
    spoken, finished = without_thinking(text)
    exact, said = shown.exact(spoken), plain(spoken)
    if exact is None and is_error(text):
        return unparsed("error")
    answers = find("a_for_answer").match(said)  # A: for Answer, if no option's text and no list follows it
    if answers and not shown.at(folded(said), answers.end()):
        said = f"Answer: {said[answers.end() :]}"
    reply = _Reply(said, shown, refusal)
    if cut or not finished:
        parsed = reply.unfinished(not finished)
    else:
        parsed = reply.choice() if exact is None else Parsed(Outcome.OK, exact, "option_text")
    return parsed._replace(how="refusal_text") if parsed[1:] == (refusal, "option_text") else parsed


class _Reply(Said[int]):
    """A plain reply with the options that it is about."""

    def __init__(self, text: str, options: Options, refusal: int) -> None:
        super().__init__(text)
        self.options, self.refusal = options, refusal
        self.mentions = options.mentions(self.low)
        """Where the options' texts are."""

    @cached_property
    def refused(self) -> list[int]:
        """Where refusals end; where options are named, to deny that something is there is to deny one of them."""
        return refused_at(self.low, denials=not self.mentions)

    def choice(self, turns: int = 3) -> Parsed[int]:
        """What the reply chooses, without a repetition of all options; after ``turns`` refusals no *but* counts."""
        if echo := self._echo():
            return self._of(f"{self.text[: echo[0]]}\n{self.text[echo[1] :]}".strip()).choice(turns)
        ends = [*self.refused, *(mention.end for mention in self.mentions if mention.option == self.refusal)]
        if turns and ends and (however := find("however").search(self.low, min(ends))):
            rest = self._of(self.text[however.end() :].lstrip(" ,:")).choice(turns - 1)
            if rest.value not in (None, self.refusal):
                return rest
        if readings := next(filter(None, self._by_rules()), None):
            return self._weighed(readings)
        if self.refused:
            return Parsed(Outcome.REFUSED, None, "free_refusal")
        return unparsed(SEVERAL if len({mention.option for mention in self.mentions}) > 1 else "nothing")

    def _of(self, text: str) -> "_Reply":
        return _Reply(text, self.options, self.refusal)

    def _by_rules(self) -> Iterator[list[Reading[int]]]:
        """What each rule reads, in the order in which they are tried."""
        yield list(self.final())  # "Final answer: B", \boxed{B}, {"answer": "B"}
        yield list(self._verdicts())  # "A: no. B: yes."
        yield list(self._corrected())  # "A... no, B."
        yield [*self.announced("answer", "answer_phrase"), *self._alone()]  # "The answer is B", "B. Because", "…\nB"
        yield list(self._stated())  # "I think it's B", "B is correct"
        yield list(self._texts())  # "It is a blue truck."
        yield list(self._concluded())  # "This one is easy: B."

    def _weighed(self, readings: Sequence[Reading[int]]) -> Parsed[int]:
        """What ``readings`` agree on, unless it is only possible and something else is said beside it."""
        choice, start = agreed(readings), readings[0].start
        possible = self.before("maybe", start, 60)
        last = max(reading.end for reading in readings)
        if (possible or choice.value is None) and any(end > last for end in self.refused):
            return Parsed(Outcome.REFUSED, None, "free_refusal")
        others: set[int | None] = set()
        if possible:
            letters = find("said_letter").findall(self.text)
            others = {self.options.letter(letter) for letter in letters if letter != "I"}
            others |= {reading.value for some in self._by_rules() for reading in some}
        if len(others - {None}) > 1 or find("another").search(self.low, max(0, start - 9)):
            return unparsed(SEVERAL)
        return choice

    def _echo(self) -> tuple[int, int] | None:
        """Where all options are repeated in order, each with its letter: from where to where."""
        start = following = 0
        for mention in self.mentions:
            back = max(0, mention.start - _NEAR)
            label = find("label_before").search(self.text[back : mention.start])
            if label and index_of(label["letter"]) == mention.option:
                start = start if mention.option else back + label.start("letter")
                following = 1 if mention.option == 0 else following + 1 if mention.option == following else 0
                if following == len(self.options):
                    return start, mention.end
        return None

    def read(self, position: int, *, bare: bool = False) -> Reading[int] | None:
        """The answer at ``position``, behind brackets and words such as *option*, and all that are joined to it.

        ``bare``: nothing announces an answer here, so that what is read has to be one by itself.
        """
        if denied := self.at("not", position):
            sentence = find("sentence_end").search(self.low, denied.end(), position + 99)
            meant = find("but").search(self.low, denied.end(), sentence.start() if sentence else position + 99)
            if meant is None:
                return None
            position = meant.end()
        reading = self._one(position, bare)
        for _ in range(_MOST_JOINED):
            also = find("also").match(self.text, reading.end) if reading else None
            if reading is None or also is None or also.end() == reading.end:
                break
            listed = (also["joined"] or ",").strip() in (",", ";", "|")
            new_sentence = not also["joined"] and any(mark in also[0] for mark in ".:")
            other = self._one(also.end(), bare or listed, strictly=new_sentence)
            if other is None:
                break
            if other.value != reading.value:
                reading = reading.several()
            reading = reading._replace(end=other.end, linked=other.linked and reading.how != SEVERAL)
        return None if reading and reading.linked else reading

    def _one(self, position: int, bare: bool, strictly: bool = False) -> Reading[int] | None:
        position = self.skip("opening", position)
        noun = self.at("noun", position)
        reading = None
        if noun and not self.text.startswith("A ", position):  # a capital A is no Portuguese article
            reading = self._at(self.skip("opening", noun.end()), bare, strictly)
        return reading or self._at(position, bare, strictly)

    def _at(self, position: int, bare: bool, strictly: bool) -> Reading[int] | None:
        """An option's text, a letter, or both."""
        if text := self.options.at(self.low, position):
            closed = self.at("text_closed", text.end) or (self.at("closed", text.end) if bare else self._is_whole(text))
            return Reading(text.option, "option_text", position, text.end) if closed else None
        letter = find("letter").match(self.text, position)
        label = letter or find("tight_letter").match(self.text, position)
        if label and (labelled := self._with_text(position, index_of(label[0][0]))):
            return labelled
        if letter is None or (strictly and not find("strictly_closed").match(self.text, letter.end())):
            return None
        certain = letter[0].isupper() and not bare and letter[0] not in "AI"
        linked = not certain and not any(self.at(name, letter.end()) for name in ("closed", "wrong"))
        index = self.options.letter(letter[0])
        if (linked and not self.at("linked", letter.end())) or (index is None and letter[0] == "I"):
            return None
        return Reading(index, NO_SUCH_LETTER if index is None else "letter", position, letter.end(), linked)

    def _with_text(self, position: int, index: int) -> Reading[int] | None:
        """A letter with an option's text behind it; they must not contradict each other."""
        start = self.skip("separator", position + 1)
        text = self.options.at(self.low, start)
        text = text or self.options.letter_at(self.text, start)
        if text is None or (text.option != index and not self.at("text_closed", text.end)):
            return None
        option, how = (index, "letter") if text.option == index else (None, CONTRADICTION)
        return Reading(option, how, position, text.end)

    def _is_whole(self, mention: Mention) -> bool:
        """Whether no noun follows, which would make another thing of it: *an umbrella stand*."""
        return self.low[mention.end - 1].isdigit() or bool(self.at("whole", mention.end))

    def denied(self, reading: Reading[int], start: int) -> bool:
        """Whether the words around deny, ask, correct or only imagine it; ``start``: where the statement begins."""
        low, end = self.low, reading.end
        clause = max(low.rfind(mark, max(0, reading.start - BACK), reading.start) for mark in ".;\n,") + 1
        stop = find("clause_stop").search(low, end, end + BACK)
        at_first = find("at_first").search(low, max(clause, reading.start - BACK), stop.start() if stop else end)
        asked = self.at("asked", end)
        return bool(
            self.at("wrong", end)
            or self.at("retraction", end)
            or at_first
            or ("\n" in low[start : reading.start] and self._lists_another(reading))
            or (asked and (start > 0 or asked.end() < len(low)))
            or super().denied(reading, start)
        )

    def _lists_another(self, reading: Reading[int]) -> bool:
        """Whether it is a part of a list that goes through the options and chooses none: ``A: wrong. B: right.``"""
        return not self.at("line_closed", reading.end) and not self._listed <= {reading.value}

    @cached_property
    def _listed(self) -> set[int]:
        return {index_of(match["letter"]) for match in find("listed").finditer(self.text)}

    def _correction(self, end: int) -> Reading[int] | None:
        """What is put in the place of the answer that ends at ``end``."""
        correction = self.at("correction", end)
        return self.read(correction.end(), bare=True) if correction else None

    def _verdicts(self) -> Iterator[Reading[int]]:
        """The option that alone is called right where options are gone through, each with a yes or a no."""
        verdict = {match["letter"]: match["yes"] is not None for match in find("verdict").finditer(self.text)}
        right = [letter for letter, yes in verdict.items() if yes]
        if len(right) == 1 and (index := self.options.letter(right[0])) is not None:
            yield Reading(index, "answer_phrase", 0, len(self.low))

    def _corrected(self) -> Iterator[Reading[int]]:
        """What is put in the place of an answer: *A... no, B*."""
        for letter in find("said_letter").finditer(self.text):
            if reading := self._correction(letter.end()):
                yield reading.named("answer_phrase")

    def _alone(self) -> Iterator[Reading[int]]:
        """Alone on a line, or at the very start; in what explains an answer only if there was none."""
        explained = find("explanation").search(self.low, 1)
        until = explained.start() if explained else len(self.low)
        lines: dict[str, int] = {}
        start = 0
        for line in self.text.split("\n"):
            lines.setdefault(line, start)
            start += len(line) + 1
        if last := find("last_sentence").search(self.low, max(0, len(self.low) - 120)):
            lines.setdefault(self.text[last.start("last") :], last.start("last"))
        found = False
        for line, start in lines.items():
            if start >= until and found:
                return
            reading = self.read(start, bare=True)
            if reading and not self.denied(reading, reading.start):
                alone = reading.end <= start + len(line) and self.at("line_closed", reading.end)
                if alone or start == 0:
                    found = True
                    yield reading.several() if not alone and self._lists_another(reading) else reading

    def _stated(self) -> Iterator[Reading[int]]:
        """A letter behind *it is* or *I think*, or before *is correct*."""
        for match in find("statement").finditer(self.low):
            reading = self.read(match.end(), bare=True)
            capital = reading and reading.how != "option_text" and self.text[reading.start].isupper()
            if reading and capital and not self.denied(reading, match.start()):
                yield reading.named("statement")
        for match in find("right").finditer(self.low):
            start = match.start("letter")
            reading = Reading(self.options.letter(self.text[start]), "statement", start, start + 1)
            if self.text[start].isupper() and reading.value is not None and not self.denied(reading, start):
                yield reading.several() if match["joined"] else reading

    def _texts(self) -> Iterator[Reading[int]]:
        """The text of an option, if it is the only one that is not denied, and begins, ends or is what a sentence says.

        In a refusal only that option's text counts, which may be anywhere if it is more than a word.
        """
        leads = {self.skip("before_text", match.end()) for match in find("statement").finditer(self.low)}
        readings: dict[int, Reading[int]] = {}
        placed = False
        for mention in self.mentions:
            label = find("label_after").match(self.text, mention.end)
            led = mention.start in leads and self._is_whole(mention)
            anywhere = mention.option == self.refusal and " " in self.low[mention.start : mention.end]
            well = bool(anywhere or label or led or self._is_placed(mention))
            if mention.option in readings and (placed or not well):
                continue
            reading = Reading(mention.option, "option_text", mention.start, mention.end)
            if self.denied(reading, mention.start) or self.at("question", mention.end):
                continue
            if label and self.options.letter(label["letter"]) != mention.option:
                yield reading._replace(value=None, how=CONTRADICTION)
                return
            if mention.option == self.refusal or not self.refused:
                readings.setdefault(mention.option, reading)
                placed = placed or well
        if placed:
            yield from readings.values()

    def _is_placed(self, mention: Mention) -> bool:
        """Whether it begins a sentence, ends one, or is what a clause says of its subject."""
        back = max(0, mention.start - 2 * _NEAR)
        before = f"{' ' if back else ''}{self.low[back : mention.start]}"
        if find("elsewhere").search(before):
            return False
        begins = find("sentence_before").search(before) and self.at("verb_after", mention.end)
        told = find("copula_before").search(before) and self.at("text_closed", mention.end)
        return bool(begins or told or self.at("sentence_after", mention.end))

    def _concluded(self) -> Iterator[Reading[int]]:
        """A letter with which the reply ends, behind a colon and some words."""
        end = find("conclusion").search(self.text, max(0, len(self.text) - 120))
        if end and not find("not_concluded").search(self.low, max(0, end.start() - 40)):
            reading = self.read(end.start("letter"), bare=True)
            if reading:
                yield reading

"""Which option a reply chooses.

A rule looks for a kind of place where an answer can be and reads all of them. If they agree, that
is the choice; if not, nothing was chosen: a later rule never settles what an earlier one read as
several. A letter is never taken from the midst of a text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from driftledger.benchmarks._questions.parsing.refusal import refused_at
from driftledger.benchmarks._questions.parsing.reply import (
    BACK,
    SEVERAL,
    Parsed,
    Reading,
    Reply,
    after_last,
    agreed,
    before,
    meant,
    unparsed,
)
from driftledger.benchmarks._questions.parsing.text import find, folded, is_error, plain, replaced
from driftledger.core.thinking import without_thinking
from driftledger.core.types import Outcome

VERSION = "6"

_MOST_JOINED = 32  # answers to one
_AROUND = " .,;:!?\"'"


def parse_choice(
    text: str, options: Sequence[str], refusal: int, *, cut: bool = False
) -> Parsed[int]:
    """The option that ``text`` chooses; ``options`` are the texts in the order in which they were
    shown as A, B, C, …

    OK: an option was read; choosing the option ``refusal`` is OK too. REFUSED: none was read, and
    the text says in its own words that it does not answer. UNPARSED: anything else, with ``how``
    saying why: ``several``, ``contradiction`` (a letter beside another option's text),
    ``no_such_letter``, ``error``, ``unfinished`` (reasoning without end, or a reply that was cut),
    ``nothing``. Never raises for any ``text``, and takes time linear in its length.

    Args:
        cut: whether the reply met its length limit: then only an answer is read that is marked as
            finished.

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
    alike = [option for option in options if find("counts_or_sides").match(folded(option))]
    spelled = [replaced("written_alike", option) for option in options]
    if len(alike) > 1 and len({*spelled}) == len(spelled):
        options = spelled
        text = replaced("written_alike", text)
    shown = Options(options)
    spoken, thoughts, finished = without_thinking(text)
    spoken = spoken if finished else thoughts
    exact, answer = shown.exact(spoken), plain(spoken)
    if exact is None and is_error(text):
        return unparsed("error")
    if all(
        meant(option) == option for option in map(plain, options)
    ):  # and none is *Wait* or *Neither A nor B*
        answer = meant(answer)
    label = find("a_for_answer").match(
        answer
    )  # A: for Answer, if no option's text and no list follows it
    if label and not shown.at(folded(answer), label.end()):
        answer = f"Answer: {answer[label.end() :]}"
    reply = _ChoiceReply(answer, shown, refusal)
    if cut or not finished:
        parsed = reply.unfinished(not finished)
    else:
        parsed = reply.choice() if exact is None else Parsed(Outcome.OK, exact, "option_text")
    return parsed._replace(how="refusal_text") if parsed[1:] == (refusal, "option_text") else parsed


class Options:
    """The texts of the options, in the order in which they were shown as A, B, C, …"""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [text.strip() for text in texts]
        self._plain = [plain(text).strip(_AROUND) for text in texts]
        self._needles = [_without_article(folded(text)) for text in self._plain]
        self._articles = [
            needle != folded(text) for needle, text in zip(self._needles, self._plain, strict=True)
        ]
        self._letters = {
            text: at for at, text in enumerate(self._plain) if find("letter").fullmatch(text)
        }
        unique = [
            at
            for at, needle in enumerate(self._needles)
            if needle and self._needles.count(needle) == 1
        ]
        searched = [at for at in unique if not find("letter").fullmatch(self._needles[at])]
        self._longest_first = sorted(searched, key=lambda at: -len(self._needles[at]))

    def exact(self, spoken: str) -> int | None:
        """The option that ``spoken`` is as a whole: to the letter, else but for formatting, else
        but for case."""
        bare = plain(spoken).strip(_AROUND)
        if find("letter").fullmatch(bare):
            return self.letter(bare) if bare in self._letters else None
        forms = (
            (spoken.strip(), self.texts),
            (bare, self._plain),
            (_without_article(folded(bare)), self._needles),
        )
        return next(
            (texts.index(text) for text, texts in forms if text and texts.count(text) == 1), None
        )

    def letter(self, letter: str) -> int | None:
        """The option that was shown as a single letter, or that has it as its text.

        None: neither, or two options, as where one was shown as B and another one's text is B.
        """
        index = index_of(letter)
        shown = index if index < len(self.texts) else None
        named = self._letters.get(letter, self._letters.get(letter.upper()))
        return named if shown is None else shown if named in (None, shown) else None

    def letter_at(self, text: str, position: int) -> Reading[int] | None:
        """The option that has as its text the single letter with which a line ends at
        ``position``."""
        letter = find("last_letter").match(text, position)
        index = self._letters.get(letter[0]) if letter else None
        return None if index is None else Reading(index, "option_text", position, position + 1)

    def at(self, low: str, position: int) -> Reading[int] | None:
        """The longest option text that begins at ``position``, with or without an article before
        it."""
        article = find("article").match(low, position)
        for start in (position, article.end()) if article else (position,):
            for index in self._longest_first:
                end = start + len(self._needles[index])
                if low.startswith(self._needles[index], start) and _ends(low, start, end):
                    return Reading(index, "option_text", position, end)
        return None

    def mentions(self, low: str) -> list[Reading[int]]:
        """All places where an option's text is, in order, but for those inside another's."""
        every, outer = list[Reading[int]](), list[Reading[int]]()
        for index in self._longest_first:
            for match in re.finditer(re.escape(self._needles[index]), low):
                start, end = match.span()
                article = not self._articles[index] or before("article_before", low, start)
                begins = not before("runs_in", low, start + 1)
                if article and begins and _ends(low, start, end):
                    every.append(Reading(index, "option_text", start, end))
        for mention in sorted(every, key=lambda mention: (mention.start, -mention.end)):
            if not outer or mention.end > outer[-1].end:
                outer.append(mention)
        return outer


def index_of(letter: str) -> int:
    return ord(letter.upper()) - ord("A")


def _without_article(text: str) -> str:
    article = find("article").match(text)
    return text[article.end() :] if article else text


def _ends(low: str, start: int, end: int) -> bool:
    """Whether no word runs on at ``end``, and no number is only a bound or a part: *at least 3*, *1
    of 4*."""
    if find("runs_on").match(low, end - 1):
        return False
    bounded = before("bound_before", low, start) or find("bound_after").match(low, end)
    return not (bounded and find("is_number").fullmatch(low, start, end))


class _ChoiceReply(Reply[int]):
    """A plain reply with the options that it is about."""

    def __init__(self, text: str, options: Options, refusal: int) -> None:
        super().__init__(text)
        self.options, self.refusal = options, refusal
        self.mentions = options.mentions(self.low)
        """Where the options' texts are."""

    @cached_property
    def refused(self) -> list[int]:
        """Where refusals end; where options are named, to deny that something is there is to deny
        one of them."""
        return refused_at(self.low, denials=not self.mentions)

    @cached_property
    def lists(self) -> list[list[Reading[int]]]:
        """The mentions of options' texts, those together that are joined: *a red car, a green
        bicycle or a bus*."""
        lists = list[list[Reading[int]]]()
        for mention in self.mentions:
            also = find("also").match(self.text, lists[-1][-1].end) if lists else None
            if also and also["joined"] and self.skip("article", also.end()) == mention.start:
                lists[-1].append(mention)
            else:
                lists.append([mention])
        return lists

    def choice(self, turns: int = 3) -> Parsed[int]:
        """What the reply chooses, without a repetition of all options; after ``turns`` refusals no
        *but* counts."""
        if echo := self._echo():
            return self._of(f"{self.text[: echo[0]]}\n{self.text[echo[1] :]}".strip()).choice(turns)
        ends = [
            *self.refused,
            *(mention.end for mention in self.mentions if mention.value == self.refusal),
        ]
        if turns and ends and (however := find("however").search(self.low, min(ends))):
            rest = self._of(self.text[however.end() :].lstrip(" ,:")).choice(turns - 1)
            if rest.value not in (None, self.refusal):
                return rest
        rules = (
            self.final,  # "Final answer: B", \boxed{B}, {"answer": "B"}
            self._verdicts,  # "A: no. B: yes."
            self._corrected,  # "A... no, B."
            self._answers,  # "The answer is B", "B. Because", "…\nB"
            self._stated,  # "I think it's B", "B is correct"
            self._texts,  # "It is a blue truck."
            self._concluded,  # "This one is easy: B."
        )
        if readings := next(filter(None, (list(rule()) for rule in rules)), None):
            return self._weighed(readings)
        if self.refused:
            return Parsed(Outcome.REFUSED, None, "free_refusal")
        return unparsed(
            SEVERAL if len({mention.value for mention in self.mentions}) > 1 else "nothing"
        )

    def _of(self, text: str) -> "_ChoiceReply":
        return _ChoiceReply(text, self.options, self.refusal)

    def _weighed(self, readings: Sequence[Reading[int]]) -> Parsed[int]:
        """What ``readings`` agree on, unless it is only possible and another option or a refusal
        follows."""
        choice, start = agreed(readings), readings[0].start
        possible = before("maybe", self.low, start)
        last = max(reading.end for reading in readings)
        if (possible or choice.value is None) and any(end > last for end in self.refused):
            return Parsed(Outcome.REFUSED, None, "free_refusal")
        letters = (
            {self.options.letter(letter) for letter in find("said_letter").findall(self.text)}
            if possible
            else ()
        )
        if len({*letters} - {None}) > 1 or find("another").search(self.low, max(0, start - 9)):
            return unparsed(SEVERAL)
        return choice

    def _echo(self) -> tuple[int, int] | None:
        """Where all options are repeated in order, each with its letter: from where to where."""
        start = following = 0
        for mention in self.mentions:
            label = before("label_before", self.text, mention.start)
            if label and index_of(label["letter"]) == mention.value:
                start = start if mention.value else label.start("letter")
                following = (
                    1 if mention.value == 0 else following + 1 if mention.value == following else 0
                )
                if following == len(self.options.texts):
                    return start, mention.end
        return None

    def read(self, position: int, *, bare: bool = False) -> Reading[int] | None:
        """The answer at ``position``, behind brackets and words such as *option*, and all that are
        joined to it.

        ``bare``: nothing announces an answer here, so that what is read has to be one by itself.
        """
        if denied := self.at("not", position):
            sentence = find("sentence_end").search(self.low, denied.end(), position + 99)
            meant = find("but").search(
                self.low, denied.end(), sentence.start() if sentence else position + 99
            )
            if meant is None:
                return None
            position = meant.end()
        reading = self._one(position, bare)
        for _ in range(_MOST_JOINED):
            also = find("also").match(self.text, reading.end) if reading else None
            if reading is None or also is None or also.end() == reading.end:
                break
            new_sentence = not also["joined"] and any(mark in also[0] for mark in ".:")
            other = self._one(also.end(), bare, strictly=new_sentence)
            if other is None:
                break
            reading = (reading if other.value == reading.value else reading.several())._replace(
                end=other.end
            )
        return reading

    def _one(self, position: int, bare: bool, strictly: bool = False) -> Reading[int] | None:
        """An option's text, a letter, or both."""
        position = self.skip("opening", position)
        noun = (
            None if self.text.startswith("A ", position) else self.at("noun", position)
        )  # `a` may be Portuguese
        reading = self._at(self.skip("opening", noun.end()), bare, strictly) if noun else None
        return reading or self._at(position, bare, strictly)

    def _at(self, position: int, bare: bool, strictly: bool) -> Reading[int] | None:
        if text := self.options.at(self.low, position):
            return (
                text
                if any(
                    self.at(name, text.end)
                    for name in ("text_closed", "closed" if bare else "whole")
                )
                else None
            )
        letter = find("letter").match(self.text, position)
        if letter is None and not find("tight_letter").match(self.text, position):
            return None
        start, end = self.skip("separator", position + 1), position + 1
        text = self.options.at(self.low, start) or self.options.letter_at(self.text, start)
        agrees = text is not None and text.value == index_of(self.text[position])
        if text and (agrees or self.at("text_closed", text.end)):
            return Reading(
                text.value if agrees else None,
                "letter" if agrees else "contradiction",
                position,
                text.end,
            )
        if letter is None or (strictly and not find("strictly_closed").match(self.text, end)):
            return None
        certain = letter[0].isupper() and letter[0] not in "AI" and not bare
        index = self.options.letter(letter[0])
        closed = certain or any(self.at(name, end) for name in ("closed", "wrong", "linked"))
        if not closed or (index is None and letter[0] == "I"):
            return None
        return Reading(index, "no_such_letter" if index is None else "letter", position, end)

    def denied(self, reading: Reading[int], start: int) -> bool:
        """Whether the words around deny, ask, correct or only imagine it; ``start``: where the
        statement begins."""
        low, end = self.low, reading.end
        stop = find("clause_stop").search(low, end, end + BACK)
        clause = after_last("clause_stop", low[max(0, reading.start - BACK) : reading.start])
        question = self.at("asked", end)
        return bool(
            self.at("wrong", end)
            or self.at("withdrawn", end)
            or find("at_first").search(clause + low[reading.start : stop.start() if stop else end])
            or ("\n" in low[start : reading.start] and self._lists_another(reading))
            or (question and (start > 0 or question.end() < len(low)))
            or super().denied(reading, start)
        )

    def _lists_another(self, reading: Reading[int]) -> bool:
        """Whether it is a part of a list that goes through the options and chooses none: ``A:
        wrong. B: right.``"""
        return not self.at("line_closed", reading.end) and not self._listed <= {reading.value}

    @cached_property
    def _listed(self) -> set[int]:
        return {index_of(match["letter"]) for match in find("listed").finditer(self.text)}

    def _verdicts(self) -> Iterator[Reading[int]]:
        """The option that alone is called right where options are gone through, each with a yes or
        a no."""
        verdicts = {
            match["letter"]: match["yes"] is not None
            for match in find("verdict").finditer(self.text)
        }
        right = [letter for letter, yes in verdicts.items() if yes]
        index = self.options.letter(right[0]) if len(right) == 1 else None
        if index is not None and self.options.exact("yes") is None:
            yield Reading(index, "answer_phrase", 0, len(self.low))

    def _corrected(self) -> Iterator[Reading[int]]:
        """What is put in the place of an answer: *A... no, B*."""
        for letter in find("said_letter").finditer(self.text):
            correction = self.at("correction", letter.end())
            reading = self.read(correction.end(), bare=True) if correction else None
            if reading and not self.denied(reading, reading.start):
                yield reading.named("answer_phrase")

    def _answers(self) -> Iterator[Reading[int]]:
        """What is announced, or is alone on a line or at the very start; in an explanation only
        without one before."""
        yield from self.announced("answer", "answer_phrase")
        explained = find("explanation").search(self.low, 1)
        spans = [line.span() for line in find("line").finditer(self.text)]
        if last := before("last_sentence", self.low, len(self.low)):
            spans.append(last.span("last"))
        has_answer = False
        for start, end in spans:
            if has_answer and explained and start >= explained.start():
                return
            reading = self.read(start, bare=True)
            if reading and not self.denied(reading, reading.start):
                alone = reading.end <= end and self.at("line_closed", reading.end)
                if alone or start == 0:
                    has_answer = True
                    joined = any(
                        those[0].end == reading.end and len(those) > 1 for those in self.lists[:1]
                    )
                    several = not alone and (joined or self._lists_another(reading))
                    yield reading.several() if several else reading

    def _stated(self) -> Iterator[Reading[int]]:
        """A letter behind *it is* or *I think*, or before *is correct*."""
        for match in find("statement").finditer(self.low):
            reading = self.read(match.end(), bare=True)
            capital = (
                reading and reading.how != "option_text" and self.text[reading.start].isupper()
            )
            if reading and capital and not self.denied(reading, match.start()):
                yield reading.named("statement")
        for match in find("right").finditer(self.low):
            start = match.start("letter")
            reading = Reading(self.options.letter(self.text[start]), "statement", start, start + 1)
            if (
                self.text[start].isupper()
                and reading.value is not None
                and not self.denied(reading, start)
            ):
                yield reading.several() if match["joined"] else reading

    def _texts(self) -> Iterator[Reading[int]]:
        """The texts of options that are not denied, if one of them begins, ends or is what a
        sentence says."""
        leads = {
            self.skip("before_text", match.end()) for match in find("statement").finditer(self.low)
        }
        readings, placed = list[Reading[int]](), False
        denials = [
            those for those in self.lists if any(self.denied(each, each.start) for each in those)
        ]
        denied = {each.start for those in denials for each in those}
        for mention in self.mentions:
            if mention.start in denied or self.at("question", mention.end):
                continue
            label = find("label_after").match(self.text, mention.end)
            if label and self.options.letter(label["letter"]) != mention.value:
                yield mention._replace(value=None, how="contradiction")
                return
            if self.refused and mention.value != self.refusal:
                continue
            leading = mention.start in leads and self.at("whole", mention.end)
            anywhere = (
                mention.value == self.refusal and " " in self.low[mention.start : mention.end]
            )
            begins = before("sentence_before", self.low, mention.start) and self.at(
                "verb_after", mention.end
            )
            edge = (begins or self.at("sentence_after", mention.end)) and not before(
                "elsewhere", self.low, mention.start
            )
            placed = placed or bool(anywhere or label or leading or edge)
            readings.append(mention)
        if placed:
            yield from readings

    def _concluded(self) -> Iterator[Reading[int]]:
        """A letter with which the reply ends, behind a colon and some words."""
        end = before("conclusion", self.text, len(self.text))
        if end and not find("not_concluded").search(self.low, max(0, end.start() - 40)):
            yield from filter(None, [self.read(end.start("letter"), bare=True)])

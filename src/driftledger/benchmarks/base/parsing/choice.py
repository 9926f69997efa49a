"""Find the option that a reply chooses.

Each rule reads all places of one kind where an answer can stand. If they agree, that is the choice;
if they differ, nothing was chosen, and no later rule is tried. A letter in the middle of a sentence
is never taken.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from driftledger.benchmarks.base.parsing.refusal import refused_at
from driftledger.benchmarks.base.parsing.reply import (
    BACK,
    SEVERAL,
    Parsed,
    PlainReply,
    Reading,
    after_last,
    before,
    meant,
    quoted,
    unparsed,
)
from driftledger.benchmarks.base.parsing.text import (
    find,
    folded,
    is_error,
    plain,
    replaced,
)
from driftledger.components.thinking import without_thinking
from driftledger.core.types import Outcome

Choice = Reading[int]

VERSION = "7"

_MOST_JOINED = 32  # answers to one
_AROUND = " .,;:!?\"'"


def parse_choice(
    text: str, options: Sequence[str], refusal: int, *, cut: bool = False
) -> Parsed[int]:
    """Return the option that ``text`` chooses.

    ``options`` are the texts in the order in which they were shown as A, B, C, …

    OK: an option was read; choosing the option ``refusal`` is OK too. REFUSED: none was read, and
    the text says in its own words that it does not answer. UNPARSED: anything else, with ``how``
    saying why: ``several``, ``contradiction`` (a letter beside another option's text),
    ``no_such_letter``, ``error``, ``unfinished`` (reasoning without end, or a reply that was cut),
    ``nothing``. Never raises for any ``text``, and takes time linear in its length.

    Args:
        cut: whether the reply met its length limit: then only an answer is read that is marked as
            finished.

    >>> options = ["a red car", "a blue truck", "It cannot be determined"]
    >>> parse_choice("**B**. The image …", options, refusal=2)
    Parsed(outcome=<Outcome.OK: 'ok'>, value=1, how='letter', quote='B. …')
    >>> parse_choice("It cannot be determined.", options, refusal=2).value
    2
    >>> parse_choice("I'm sorry, but I cannot tell.", options, refusal=2).outcome
    <Outcome.REFUSED: 'refused'>
    >>> parse_choice("A or B", options, refusal=2).explained("nothing")
    "nothing: several answers that differ, 'A or B'"
    """
    alike = [
        option for option in options if find("counts_or_sides").match(folded(option))
    ]
    spelled = [replaced("written_alike", option) for option in options]
    if len(alike) > 1 and len({*spelled}) == len(spelled):
        options = spelled
        text = replaced("written_alike", text)
    lettered = Options(options)
    spoken, thoughts, finished = without_thinking(text)
    if not finished:
        spoken = thoughts
    exact = lettered.exact(spoken)
    if exact is None and is_error(text):
        return unparsed("error")
    answer = plain(spoken)
    texts = [*map(plain, options)]
    if [*map(meant, texts)] == texts:  # and none is *Wait* or *Neither A nor B*
        answer = meant(answer)
    # A: for Answer, if no option's text and no list follows it
    label = find("a_for_answer").match(answer)
    if label and not lettered.at(folded(answer), label.end()):
        answer = f"Answer: {answer[label.end() :]}"
    reply = _ChoiceReply(answer, lettered, refusal)
    if cut or not finished:
        parsed = reply.unfinished(not finished)
    elif exact is None:
        parsed = reply.choice()
    else:
        quote = quoted(answer, 0, len(answer))
        parsed = Parsed(Outcome.OK, exact, "option_text", quote)
    if parsed.value == refusal and parsed.how == "option_text":
        return parsed._replace(how="refusal_text")
    return parsed


class Options:
    """The texts of the options, in the order in which they were shown as A, B, C, …"""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [text.strip() for text in texts]
        self._plain = [plain(text).strip(_AROUND) for text in texts]
        self._needles = [_without_article(folded(text)) for text in self._plain]
        letter = find("letter")
        self._letters = {
            text: at for at, text in enumerate(self._plain) if letter.fullmatch(text)
        }
        searched = []
        for at, needle in enumerate(self._needles):
            is_unique = self._needles.count(needle) == 1
            if needle and is_unique and not letter.fullmatch(needle):
                searched.append(at)
        self._longest_first = sorted(searched, key=lambda at: -len(self._needles[at]))

    def exact(self, spoken: str) -> int | None:
        """Return the one option that equals all of ``spoken``; else None.

        Compared first as it is, then without formatting, then without case.
        """
        bare = plain(spoken).strip(_AROUND)
        if find("letter").fullmatch(bare):
            return self.letter(bare) if bare in self._letters else None
        low = _without_article(folded(bare))
        forms = (
            (spoken.strip(), self.texts),
            (bare, self._plain),
            (low, self._needles),
        )
        for text, texts in forms:
            if text and texts.count(text) == 1:
                return texts.index(text)
        return None

    def letter(self, letter: str) -> int | None:
        """Return the option with this letter as its label or as its text.

        None if there is none, or two: one is shown as B, and the text of another is B.
        """
        index = index_of(letter)
        named = self._letters.get(letter, self._letters.get(letter.upper()))
        if index >= len(self.texts):
            return named
        return index if named in (None, index) else None

    def letter_at(self, text: str, position: int) -> Choice | None:
        """Return the option whose text is a single letter that ends the line here."""
        letter = find("last_letter").match(text, position)
        index = self._letters.get(letter[0]) if letter else None
        return (
            None
            if index is None
            else Reading(index, "option_text", position, position + 1)
        )

    def at(self, low: str, position: int) -> Choice | None:
        """Return the longest option text at ``position``, or after an article there."""
        article = find("article").match(low, position)
        for start in (position, article.end()) if article else (position,):
            for index in self._longest_first:
                end = start + len(self._needles[index])
                if low.startswith(self._needles[index], start) and _ends(
                    low, start, end
                ):
                    return Reading(index, "option_text", position, end)
        return None

    def mentions(self, low: str) -> list[Choice]:
        """Return the mentions of options' texts, without those inside longer ones."""
        every = []
        for index in self._longest_first:
            needle = self._needles[index]
            has_article = needle != folded(self._plain[index])
            for start in _places(needle, low):
                end = start + len(needle)
                if before("runs_in", low, start + 1) or not _ends(low, start, end):
                    continue
                if not has_article or before("article_before", low, start):
                    every.append(Reading(index, "option_text", start, end))
        outer: list[Choice] = []
        for mention in sorted(every, key=lambda mention: (mention.start, -mention.end)):
            if not outer or mention.end > outer[-1].end:
                outer.append(mention)
        return outer

    def repeated(self, text: str, mentions: Sequence[Choice]) -> tuple[int, int] | None:
        """Return the span in which ``text`` repeats all options with their letters."""
        labelled = []
        for mention in mentions:
            label = before("label_before", text, mention.start)
            if label and index_of(label["letter"]) == mention.value:
                labelled.append((label.start("letter"), mention))
        for first in range(len(labelled) - len(self.texts) + 1):
            run = labelled[first : first + len(self.texts)]
            if [mention.value for _, mention in run] == [*range(len(self.texts))]:
                return run[0][0], run[-1][1].end
        return None


def _places(needle: str, low: str) -> Iterator[int]:
    """Yield the places of a text in another; compiling a pattern would take 0.3 ms."""
    start = low.find(needle)
    while start >= 0:
        yield start
        start = low.find(needle, start + max(1, len(needle)))


def index_of(letter: str) -> int:
    return ord(letter.upper()) - ord("A")


def _without_article(text: str) -> str:
    article = find("article").match(text)
    return text[article.end() :] if article else text


def _ends(low: str, start: int, end: int) -> bool:
    """Return True if the word ends here, and a number is not only a bound or a part.

    As in *at least 3*, *1 of 4*.
    """
    if find("runs_on").match(low, end - 1):
        return False
    bounded = before("bound_before", low, start) or find("bound_after").match(low, end)
    return not (bounded and find("is_number").fullmatch(low, start, end))


def _joined(reply: PlainReply[int], mentions: Sequence[Choice]) -> list[list[Choice]]:
    """Group mentions of options' texts that are joined: *a car, a bicycle or a bus*."""
    lists: list[list[Choice]] = []
    for mention in mentions:
        also = find("also").match(reply.text, lists[-1][-1].end) if lists else None
        start = -1
        if also and also["joined"]:
            start = reply.skip("article", also.end())
        if start == mention.start:
            lists[-1].append(mention)
        else:
            lists.append([mention])
    return lists


class _ChoiceReply(PlainReply[int]):
    """A plain reply and the options to choose from."""

    def __init__(self, text: str, options: Options, refusal: int) -> None:
        super().__init__(text)
        self.options = options
        self.refusal = refusal
        self.mentions = options.mentions(self.low)
        """The places of the options' texts."""
        self.lists = _joined(self, self.mentions)
        self.listed = {
            index_of(match["letter"]) for match in find("listed").finditer(text)
        }
        """The options that a list judges one by one: ``A: wrong. B: right.``"""

    @cached_property
    def refused(self) -> list[int]:
        """The ends of refusals.

        If options are mentioned, saying that something is not there only denies one of them.
        """
        return refused_at(self.low, denials=not self.mentions)

    def choice(self, turns: int = 3) -> Parsed[int]:
        """Return what the reply chooses; a list that repeats all options is cut out first.

        What follows *but* behind a refusal is read, at most ``turns`` times.
        """
        repeated = self.options.repeated(self.text, self.mentions)
        if repeated:
            start, end = repeated
            return self._rest(f"{self.text[:start]}\n{self.text[end:]}", turns)
        refusals = [
            mention.end for mention in self.mentions if mention.value == self.refusal
        ]
        ends = [*self.refused, *refusals]
        however = (
            find("however").search(self.low, min(ends)) if turns and ends else None
        )
        if however:
            rest = self._rest(self.text[however.end() :].lstrip(" ,:"), turns - 1)
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
        for rule in rules:
            readings = [*rule()]
            if readings:
                return self._weighed(readings)
        if self.refused:
            return self.declined(self.refused[0])
        mentioned = {mention.value for mention in self.mentions}
        return unparsed(SEVERAL if len(mentioned) > 1 else "nothing")

    def _rest(self, text: str, turns: int) -> Parsed[int]:
        """Return the choice of a part of the reply."""
        return _ChoiceReply(text.strip(), self.options, self.refusal).choice(turns)

    def _weighed(self, readings: Sequence[Choice]) -> Parsed[int]:
        """Return what ``readings`` agree on.

        Nothing if it is called possible, and another option or a refusal follows.
        """
        choice = self.agreed(readings)
        start = readings[0].start
        possible = before("maybe", self.low, start)
        last = max(reading.end for reading in readings)
        declined = [end for end in self.refused if end > last]
        if declined and (possible or choice.value is None):
            return self.declined(declined[0])
        letters = find("said_letter").findall(self.text) if possible else ()
        named = {*map(self.options.letter, letters), None}
        if len(named) > 2 or find("another").search(self.low, max(0, start - 9)):
            return unparsed(SEVERAL, choice.quote)
        return choice

    def read(self, position: int, *, bare: bool = False) -> Choice | None:
        """Return the answer at ``position``, with answers that are joined to it.

        Brackets and words such as *option* may come before it.

        Args:
            bare: whether nothing announces an answer here, so that the text alone must show it.
        """
        denied = self.at("not", position)
        if denied:
            sentence = find("sentence_end").search(
                self.low, denied.end(), position + 99
            )
            stop = sentence.start() if sentence else position + 99
            but = find("but").search(self.low, denied.end(), stop)
            if but is None:
                return None
            position = but.end()
        reading = self._one(position, bare)
        for _ in range(_MOST_JOINED):
            also = find("also").match(self.text, reading.end) if reading else None
            if reading is None or also is None or also.end() == reading.end:
                break
            other = self._one(also.end(), bare)
            if other is None:
                break
            if other.value != reading.value:
                reading = reading.several()
            reading = reading._replace(end=other.end)
        return reading

    def _one(self, position: int, bare: bool) -> Choice | None:
        """Return an option's text, a letter, or both."""
        start = self.skip("opening", position)
        behind = start
        if not self.text.startswith("A ", start):  # `a` may be Portuguese
            behind = self.skip("noun", start)
        reading = self._at(behind, bare)
        return reading or self._at(start, bare)

    def _at(self, position: int, bare: bool) -> Choice | None:
        text = self.options.at(self.low, position)
        if text:
            return text if self.at("text_closed", text.end) else None
        letter = find("letter").match(self.text, position)
        if letter is None and not find("tight_letter").match(self.text, position):
            return None
        start = self.skip("separator", position + 1)
        end = position + 1
        text = self.options.at(self.low, start) or self.options.letter_at(
            self.text, start
        )
        if text and text.value == index_of(self.text[position]):
            return Reading(text.value, "letter", position, text.end)
        if text:
            return Reading(None, "contradiction", position, text.end)
        if letter is None:
            return None
        certain = letter[0].isupper() and letter[0] not in "AI" and not bare
        index = self.options.letter(letter[0])
        if not certain and not any(
            self.at(name, end) for name in ("closed", "wrong", "linked")
        ):
            return None
        if index is None:
            return (
                None
                if letter[0] == "I"
                else Reading(None, "no_such_letter", position, end)
            )
        return Reading(index, "letter", position, end)

    def denied(self, reading: Choice, start: int) -> bool:
        """Return True if the words around deny, question, correct or only imagine it.

        Args:
            start: the beginning of the statement.
        """
        low = self.low
        end = reading.end
        clause = after_last(
            "clause_stop", low[max(0, reading.start - BACK) : reading.start]
        )
        question = self.at("asked", end)
        return bool(
            self.at("wrong", end)
            or self.at("withdrawn", end)
            or find("at_first").search(clause + low[reading.start : end])
            or ("\n" in low[start : reading.start] and self.listed - {reading.value})
            or (question and (start > 0 or question.end() < len(low)))
            or super().denied(reading, start)
        )

    def _verdicts(self) -> Iterator[Choice]:
        """Yield the only option that is called right: ``A: no. B: yes.``"""
        verdicts = {}
        for match in find("verdict").finditer(self.text):
            verdicts[match["letter"]] = match["yes"] is not None
        right = [letter for letter, yes in verdicts.items() if yes]
        index = self.options.letter(right[0]) if len(right) == 1 else None
        if index is not None and self.options.exact("yes") is None:
            yield Reading(index, "answer_phrase", 0, len(self.low))

    def _corrected(self) -> Iterator[Choice]:
        """Yield an answer that corrects an earlier one: *A... no, B*."""
        for letter in find("said_letter").finditer(self.text):
            correction = self.at("correction", letter.end())
            reading = self.read(correction.end(), bare=True) if correction else None
            if reading and not self.denied(reading, reading.start):
                yield reading.named("answer_phrase")

    def _answers(self) -> Iterator[Choice]:
        """Yield answers that are announced, alone on a line or at the very start.

        Inside an explanation they count only if there was none before it.
        """
        yield from self.announced("answer", "answer_phrase")
        explained = find("explanation").search(self.low, 1)
        starts = [line.start() for line in find("line").finditer(self.text)]
        last = before("last_sentence", self.low, len(self.low))
        if last:
            starts.append(last.start("last"))
        has_answer = False
        for start in starts:
            if has_answer and explained and start >= explained.start():
                return
            reading = self.read(start, bare=True)
            if reading is None or self.denied(reading, reading.start):
                continue
            alone = self.at("line_closed", reading.end)
            if alone or start == 0:
                has_answer = True
                first = self.lists[0] if self.lists else ()
                joined = len(first) > 1 and first[0].end == reading.end
                several = not alone and (joined or self.listed - {reading.value})
                yield reading.several() if several else reading

    def _stated(self) -> Iterator[Choice]:
        """Yield a letter behind *it is* or *I think*, or before *is correct*."""
        for match in find("statement").finditer(self.low):
            reading = self.read(match.end(), bare=True)
            if reading is None or reading.how == "option_text":
                continue
            if self.text[reading.start].isupper() and not self.denied(
                reading, match.start()
            ):
                yield reading.named("statement")
        for match in find("right").finditer(self.low):
            start = match.start("letter")
            reading = Reading(
                self.options.letter(self.text[start]), "statement", start, start + 1
            )
            if reading.value is None or not self.text[start].isupper():
                continue
            if not self.denied(reading, start):
                yield reading.several() if match["joined"] else reading

    def _texts(self) -> Iterator[Choice]:
        """Yield the texts of options that are not denied.

        At least one of them must begin or end a sentence, or follow *it is*.
        """
        leads = {
            self.skip("before_text", lead.end())
            for lead in find("statement").finditer(self.low)
        }
        denied: set[int] = set()
        for group in self.lists:
            if any(self.denied(member, member.start) for member in group):
                denied.update(member.start for member in group)
        readings = []
        placed = False
        for mention in self.mentions:
            start, end = mention[2:]
            if start in denied or self.at("question", end):
                continue
            label = find("label_after").match(self.text, end)
            if label and self.options.letter(label["letter"]) != mention.value:
                yield mention._replace(value=None, how="contradiction")
                return
            is_refusal = mention.value == self.refusal
            if self.refused and not is_refusal:
                continue
            anywhere = is_refusal and " " in self.low[start:end]
            leading = start in leads and self.at("whole", end)
            begins = before("sentence_before", self.low, start) and self.at(
                "verb_after", end
            )
            edge = begins or self.at("sentence_after", end)
            if before("elsewhere", self.low, start):
                edge = None
            placed = placed or bool(anywhere or label or leading or edge)
            readings.append(mention)
        if placed:
            yield from readings

    def _concluded(self) -> Iterator[Choice]:
        """Yield a letter at the end of the reply, behind some words and a colon."""
        end = before("conclusion", self.text, len(self.text))
        if end and not find("not_concluded").search(self.low, max(0, end.start() - 40)):
            reading = self.read(end.start("letter"), bare=True)
            if reading:
                yield reading

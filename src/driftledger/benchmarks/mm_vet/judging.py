"""What a judge gives each answer, several times, with a fixed few-shot prompt.

What brings no grade is asked once more, with ``grade_again`` behind the prompt, as MM-Vet's evaluator does it. Its
further tries, at temperatures from 0.5 to 2, are not made: a hotter judge is another one.
"""

import re
from collections.abc import Iterator
from functools import partial

from driftledger.benchmarks._questions.collect import put
from driftledger.benchmarks._questions.records import is_readable
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.mm_vet.grades import CALIBRATION, JUDGE, calibration_unit, grade_in
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.collect.call import Ask, Context, Planned, Steps
from driftledger.components.base import Component
from driftledger.core.types import Conversation, Outcome, Turn
from driftledger.data.question_sets.files import QuestionEntry


def steps(collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
    """Yield the answer and the gradings of each question, then the gradings of answers whose grade is known."""
    gradings = range(collecting.protocol["gradings"])
    prompt = collecting.protocol["grade_prompt"]
    judged: list[tuple[Component, Conversation | str]] = [
        (collecting.model(JUDGE), asked) for _ in gradings for asked in _askings(collecting, prompt)
    ]
    for question in collecting.questions:
        ask = put(collecting, question)
        yield Planned(partial(_answered, collecting, question, ask), [(ask.component, ask.conversation), *judged])
    for number, known in enumerate(CALIBRATION):
        unit, texts = calibration_unit(number), (known.question, known.truth, known.answer)
        yield Planned(partial(_known, collecting, unit, texts), judged)


def _answered(collecting: Collecting, question: QuestionEntry, ask: Ask) -> Steps[list[CollectedRecord]]:
    result = yield ask
    answer, records = RecordedResult.of("model", ask, result), list[CollectedRecord]()
    for repeat in range(collecting.protocol["gradings"]):
        replies = list[RecordedResult]()
        if is_readable(answer):
            texts = question.question, str(question.answer), answer.text or ""
            replies = yield from grading(collecting, question.id, texts, repeat)
        records.append(CollectedRecord(unit=question.id, step=1, repeat=repeat, results=[answer, *replies]))
    return records


def _known(collecting: Collecting, unit: str, texts: tuple[str, str, str]) -> Steps[list[CollectedRecord]]:
    records = list[CollectedRecord]()
    for repeat in range(collecting.protocol["gradings"]):
        replies = yield from grading(collecting, "calibration", texts, repeat)
        records.append(CollectedRecord(unit=unit, step=0, repeat=repeat, results=replies))
    return records


def grading(collecting: Collecting, name: str, texts: tuple[str, str, str], repeat: int) -> Steps[list[RecordedResult]]:
    """Ask until there is a grade, twice at most. A call that failed is tried again by the next run, and not here.

    Args:
        name: what is graded, for people.
        texts: the question, the truth, and the answer.
    """
    replies = list[RecordedResult]()
    context = Context(collecting.on, name, repeat + 1)
    for asked in _askings(collecting, graded_prompt(collecting.protocol["grade_prompt"], *texts)):
        ask = Ask(collecting.model(JUDGE), "grade", asked, context, repeat)
        result = yield ask
        replies.append(RecordedResult.of(JUDGE, ask, result))
        if result.outcome is Outcome.FAILED or grade_in(replies[-1]) is not None:
            break
    return replies


def _askings(collecting: Collecting, prompt: str) -> list[Conversation]:
    """Return the first and the second asking of a prompt."""
    again = collecting.protocol["grade_again"]
    return [Conversation((Turn("user", (text,)),)) for text in (prompt, prompt + again)]


def graded_prompt(prompt: str, question: str, truth: str, prediction: str) -> str:
    """The judge's prompt as MM-Vet's evaluator writes it: texts stay as they are, whatever lines and cells they hold,
    and only the ground truth's ``<AND>`` and ``<OR>`` get a blank on either side.

    Source: mm-vet_evaluator.ipynb in github.com/yuweihao/MM-Vet at acde843.

    >>> graded_prompt("{question} | {truth} | {prediction} | ", "What is x?", "-1<AND>-5", "x = |-1|\\nor 5")
    'What is x? | -1 <AND> -5 | x = |-1|\\nor 5 | '
    """
    spaced = truth.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    pieces = {"{question}": question, "{truth}": spaced, "{prediction}": prediction}
    return re.sub("|".join(map(re.escape, pieces)), lambda place: pieces[place[0]], prompt)

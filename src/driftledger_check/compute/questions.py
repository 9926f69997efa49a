"""The benchmarks of questions: MM-SAP (Wang et al. 2024), MM-Vet (Yu et al. 2023) and MME (Fu et al. 2023).

How answers were read, and what a judge gave, is taken from the rows; where the settings select the rule of MME's own
script, or of MM-Vet's, the replies are read again. A reply in which nothing could be read is in
the denominators as a wrong one, or in none, as ``unread`` says; one whose call failed says nothing of the model and is
in none.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import ScoreFiles
from driftledger_check.compute import values
from driftledger_check.compute.stats import Intervals, mean, mean_and_std, places
from driftledger_check.compute.values import ALL, PERCENT, Found, Row

Flags = NDArray[np.bool_]
"""Questions × variants or gradings."""
Ids = NDArray[np.int64]
"""Of options; −1 where none was chosen, or none is right."""

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
FINEST = 10**6
"""Steps of a grade that are told apart."""
ABILITIES = {
    "perception": (
        *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
    ),
    "cognition": ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
}


class Graded:
    """The questions, and how each answer was read, by variant and grading."""

    def __init__(self, files: ScoreFiles, found: Found) -> None:
        self.found, self.settings = found, files.score["inputs"]["settings"]
        self.questions = files.data.rows("questions.jsonl")
        self.intervals, self.unread = Intervals.of(self.settings), self.settings.get("unread", "left_out")
        [folder] = files.collected.values()
        answers = [each for each in values.records(folder) if each["step"]]
        read: dict[str, list[dict[str, Any]]] = {}
        for row in files.rows:
            pairs = zip(row["extra"]["outcomes"], row["extra"]["read"], strict=True)
            grades: list[dict[str, Any]] = [{"outcome": outcome, "read": value} for outcome, value in pairs]
            if "questions" in row["extra"]:  # a row of MME is an image, with a grade per question
                read |= {name: [each] for name, each in zip(row["extra"]["questions"], grades, strict=True)}
            else:
                read[row["unit"]] = grades
        self.by_question = [read[question["id"]] for question in self.questions]
        self.grades = [each for row in self.by_question for each in row]
        if len({len(row) for row in self.by_question}) != 1 or len(self.grades) != len(answers):
            raise ValueError("not every question has been answered equally often")
        failed = Counter(each["unit"] for each in answers if _is_failed(each))
        for name in (question["id"] for question in self.questions):
            if sum(each["outcome"] == "failed" for each in read[name]) != failed[name]:
                raise ValueError(f"the row and the records of {name!r:.60} differ in what failed")
        self.images = [question["image_sha256"] for question in self.questions]
        self._called = np.array([[each["outcome"] != "failed" for each in row] for row in self.by_question])
        self._answers = answers
        if self.settings.get("read") == "literal":
            self.read_again(_literally)
        if self.settings.get("grades") == "strict":
            self.read_again(_strictly)
        found.outcomes(self.grades)
        found.served(answers, "model", "judge")

    def read_again(self, reader: Callable[[Row], tuple[str, float | bool | None]]) -> None:
        """Replace the recorded outcomes and values by those that ``reader`` finds in the answers."""
        by_question: dict[str, list[Row]] = {}
        for answer in sorted(self._answers, key=lambda each: (each["step"], each["repeat"])):
            by_question.setdefault(answer["unit"], []).append(answer)
        for question, grades in zip(self.questions, self.by_question, strict=True):
            for grade, answer in zip(grades, by_question[question["id"]], strict=True):
                grade["outcome"], grade["read"] = reader(answer)

    def column(self, key: str) -> list[str]:
        return [question[key] or "" for question in self.questions]

    def wrong(self) -> Flags:
        """Which replies would be wrong ones if nothing could be read in them."""
        flags: Flags = self._called & (self.unread == "worst")
        return flags

    def refused(self) -> float:
        """In percent of the calls that were answered."""
        outcomes = [each["outcome"] for each in self.grades if each["outcome"] != "failed"]
        return PERCENT * outcomes.count("refused") / len(outcomes)

    def counts(self, read: Flags) -> None:
        self.found.counts(int(read.sum()), int((read | self.wrong()).sum()), read.size)

    def row(self, at: int, worth: Row, **extra: str) -> None:
        """Put the row of one question."""
        ended = [each["outcome"] for each in self.by_question[at]]
        names = (ALL, self.images[at], _joint(ended))
        read = [each["read"] for each in self.by_question[at]]
        self.found.row(self.questions[at]["id"], names, {**extra, "outcomes": ended, "read": read}, worth)


def _joint(outcomes: list[str]) -> str:
    """Of several answers or gradings: ok if any of them is."""
    return "ok" if "ok" in outcomes else outcomes[0]


def _goes_on(reply: Row) -> bool:
    return reply["outcome"] in ("ok", "truncated")


def _is_readable(reply: Row) -> bool:
    return _goes_on(reply) or (reply["outcome"] == "refused" and bool(reply.get("text")))


def _is_failed(answer: Row) -> bool:
    """Whether a call failed, or the judge gave nothing, which says nothing of the model either."""
    last = answer["results"][-1]
    if last["role"] == "judge":
        return not _goes_on(last)
    return bool(last["outcome"] == "failed")


def _literally(answer: Row) -> tuple[str, bool | None]:
    """MME's own script: yes, or else no, anywhere in the first four characters."""
    [reply] = answer["results"]
    if not _is_readable(reply):
        return reply["outcome"], None
    first_four = (reply.get("text") or "").lower()[:4]
    if "yes" in first_four:
        return "ok", True
    if "no" in first_four:
        return "ok", False
    return "unparsed", None


def _strictly(answer: Row) -> tuple[str, float | None]:
    """MM-Vet's own evaluator: the text before the first blank is a float from 0 to 1."""
    reply, *judged = answer["results"]
    if not _is_readable(reply):
        return reply["outcome"], None
    if _is_failed(answer):
        return "failed", None
    for each in judged:
        grade = _strict_grade(each.get("text") or "")
        if _goes_on(each) and grade is not None:
            return "ok", grade
    return "unparsed", None


def _strict_grade(text: str) -> float | None:
    try:
        grade = float(text.split(" ")[0])
    except ValueError:
        return None
    return abs(grade) if 0 <= grade <= 1 else None


def mm_sap(files: ScoreFiles, found: Found) -> None:
    """Does a model answer what it can know, and decline what it cannot? (Section 4.1.)"""
    graded = Graded(files, found)
    questions, subset, wrong = graded.questions, np.array(graded.column("subset"), dtype=object), graded.wrong()
    refusal = np.array([values.whole(question["refusal"], 0, 25) for question in questions])[:, None]
    right = np.array([_id(question["answer"]) for question in questions])[:, None]
    chosen = np.array([[_id(each["read"]) for each in row] for row in graded.by_question])
    declined = np.array([[each["outcome"] == "refused" for each in row] for row in graded.by_question])
    choices = np.where(declined, refusal, chosen) if graded.settings["count_free_refusals"] else chosen

    def parts(choices: Ids, wrong: Flags) -> dict[str, tuple[Flags, Flags]]:
        """Measure → what it counts, and of what. Accepted are the right option (basic), it and the refusal (know), only
        the refusal (beyond)."""
        read, of = choices >= 0, subset[:, None]
        counted = read | wrong
        knew, refused = read & (choices == right), choices == refusal
        declined = refused & (of != "basic")
        answered = counted & ~refused
        read_answer = read & ~refused
        return {
            "score": (knew | declined, counted),
            "answer_rate": (answered, counted),
            "answer_accuracy": (knew, answered),
            "known_knowns": (knew, counted & (of != "beyond")),
            "known_unknowns": (declined, counted & (of != "basic")),
            "read_rate": (read_answer, counted),
            "read_accuracy": (knew, read_answer),
        }

    mine, read = parts(choices, wrong), choices >= 0
    metrics = _measured(mine) | {"free_refusals": graded.refused()}
    for name, (above, below) in mine.items():
        if below.any():
            sums = [each.sum(axis=1).tolist() for each in (above, below)]
            metrics |= graded.intervals.of_ratio(name, sums[0], sums[1], graded.images, PERCENT)
    found.put(["metrics"], metrics)
    subtask = graded.column("subtask")
    subtasks = [f"{a}: {b}" for a, b in zip(subset, subtask, strict=True)]
    for kind, groups in (("subset", subset), ("subtask", subtasks)):
        for name, rows in places(groups).items():
            measured = _measured({key: (a[rows], b[rows]) for key, (a, b) in mine.items()})
            if name.startswith("beyond"):  # where no answer is right
                measured = {key: value for key, value in measured.items() if "accuracy" not in key}
            found.put(["groups", kind, name], measured)
    found.put(["details", "subsets"], Counter(subset))
    for at, (above, below) in enumerate(zip(*(side.tolist() for side in mine["score"]), strict=True)):
        worth = [float(hit) if counts else None for hit, counts in zip(above, below, strict=True)]
        graded.row(at, {"score": worth}, subset=subset[at], subtask=subtask[at])
    graded.counts(read)


def _id(value: object) -> int:
    return -1 if value is None else values.whole(value, 0, 25)


def _measured(parts: Mapping[str, tuple[Flags, Flags]]) -> dict[str, float]:
    """Percentages: mean and deviation over the variants that have anything to count."""
    measured: dict[str, float] = {}
    for name, (above, below) in parts.items():
        sums = zip(above.sum(axis=0).tolist(), below.sum(axis=0).tolist(), strict=True)
        measured |= mean_and_std(name, [p / q for p, q in sums if q], PERCENT)
    return measured


def mm_vet(files: ScoreFiles, found: Found) -> None:
    """A judge's grades per capability, per combination of them, and in total. (Section 3.)"""
    graded = Graded(files, found)
    written = [[each["read"] for each in row] for row in graded.by_question]
    if any(grade is not None and not 0 <= grade <= 1 for row in written for grade in row):
        raise ValueError("a grade is not within 0 and 1")
    grades = [[None if grade is None else Fraction(repr(grade)) for grade in row] for row in written]
    read, wrong = np.array([[grade is not None for grade in row] for row in grades]), graded.wrong()
    metrics = _graded("total", grades, read | wrong)
    steps, exact = 10, {grade for row in grades for grade in row if grade is not None}
    while steps < FINEST and any((steps * grade).denominator > 1 for grade in exact):
        steps *= 10
    sums = [sum(round(steps * (grade or 0)) for grade in row) for row in written]
    counts = (steps * (read | wrong).sum(axis=1)).tolist()
    metrics |= graded.intervals.of_ratio("total", sums, counts, graded.images, PERCENT)
    order = {name: f"{at}" for at, name in enumerate(CAPABILITIES)}
    needed = [
        sorted({*question["capabilities"]}, key=lambda name: order.get(name, f"9{name}"))
        for question in graded.questions
    ]
    names = {"capability": needed, "combination": [["+".join(some)] for some in needed]}
    for kind, of_question in names.items():
        pairs = [(each, at) for at, some in enumerate(of_question) for each in some]
        for name, some in places(each for each, _ in pairs).items():
            rows = [pairs[at][1] for at in some]
            found.put(["groups", kind, name], _graded("grade", [grades[at] for at in rows], (read | wrong)[rows]))
    for at, (row, counted) in enumerate(zip(written, (read | wrong).tolist(), strict=True)):
        worth = [(grade or 0.0) if there else None for grade, there in zip(row, counted, strict=True)]
        graded.row(at, {"total": worth}, combination="+".join(graded.questions[at]["capabilities"]))
    graded.counts(read)
    found.put(["details", "calibration"], files.score["details"].get("calibration", []))
    found.put(["metrics"], metrics)


def _graded(name: str, grades: Sequence[Sequence[Fraction | None]], counted: Flags) -> dict[str, float]:
    """In percent, over the gradings of which anything counts; an unread grade that counts is 0."""
    sums = [sum((grade or Fraction() for grade in grading), Fraction()) for grading in zip(*grades, strict=True)]
    counts = counted.sum(axis=0).tolist()
    return mean_and_std(name, [float(100 * above / below) for above, below in zip(sums, counts, strict=True) if below])


class _MmeScores:
    """The measures over some questions, and of each category."""

    def __init__(self, right: Flags, counted: Flags, pairs: Sequence[list[int]], categories: Sequence[str]) -> None:
        self._right, self._counted = right.tolist(), counted.tolist()
        of_pairs = places(categories[pair[0]] for pair in pairs)
        self.whole = self._of(range(len(categories)), pairs)
        self.each = {
            name: self._of(rows, [pairs[at] for at in of_pairs[name]]) for name, rows in places(categories).items()
        }

    def _of(self, rows: Sequence[int], pairs: Sequence[list[int]]) -> dict[str, float]:
        """Accuracy and accuracy+ in percent, and their sum, the score; what is over nothing is absent."""
        each = [[row] for row in rows]
        asked, whole = (sum(all(self._counted[at] for at in some) for some in units) for units in (each, pairs))
        hits, both = (sum(all(self._right[at] for at in some) for some in units) for units in (each, pairs))
        found = {"accuracy": PERCENT * (hits / asked)} if asked else {}
        if whole:
            found["accuracy_plus"] = PERCENT * (both / whole)
        if asked and whole:
            found["score"] = float(100 * (Fraction(hits, asked) + Fraction(both, whole)))
        return found

    def total(self, categories: Sequence[str], *, mean: bool) -> float | None:
        """The sum of scores, or their mean; None where a category has none."""
        scores = [Fraction(row["score"]) for name in categories if "score" in (row := self.each[name])]
        return float(sum(scores) / (len(scores) if mean else 1)) if len(scores) == len(categories) else None


def mme(files: ScoreFiles, found: Found) -> None:
    """Two questions about each image, both of which a model must get right. (Section 2.2.)"""
    graded = Graded(files, found)
    questions, first = graded.questions, [row[0] for row in graded.by_question]
    declined = np.array([each["outcome"] == "refused" for each in first])  # is wrong: all can be seen
    read = declined | np.array([each["read"] is not None for each in first])
    truth = [question["answer"] == "yes" for question in questions]
    right = ~declined & np.array([each["read"] is true for each, true in zip(first, truth, strict=True)])
    categories = [question["category"] or ALL for question in questions]
    about: dict[str, list[int]] = {}
    for at, (category, question) in enumerate(zip(categories, questions, strict=True)):
        about.setdefault(f"{category}/{question['image_id']}", []).append(at)
    pairs = [[one, other] for one, other in about.values()]

    mine = _MmeScores(right, read | graded.wrong()[:, 0], pairs, categories)
    every = list(mine.each)
    metrics: dict[str, float | None] = {key: value for key, value in mine.whole.items() if key != "score"}
    metrics |= {"refused": graded.refused(), "score": mine.total(every, mean=True)}
    metrics["score_sum"] = mine.total(every, mean=False)
    metrics |= {name: mine.total(some, mean=False) for name, some in ABILITIES.items() if {*some} <= {*every}}
    groups = files.data.json("question_set.json").get("groups", {})
    means = {
        name: {"score": value} for name, some in groups.items() if (value := mine.total(some, mean=True)) is not None
    }
    found.put(["metrics"], {name: value for name, value in metrics.items() if value is not None})
    found.put(["groups"], {"category": mine.each, "group": means})
    counted = read | graded.wrong()[:, 0]
    images = {at: image for image, pair in about.items() for at in pair}
    hits, names = (right & counted).astype(int).tolist(), [images[at] for at in range(len(categories))]
    found.put(["metrics"], graded.intervals.of_ratio("accuracy", hits, counted.astype(int).tolist(), names, PERCENT))
    if counted.all():  # accuracy+ and the score are over images
        got = [[bool(right[at]) for at in pair] for pair in about.values()]
        alone = [*map(str, range(len(got)))]
        both = [float(all(each)) for each in got]
        found.put(["metrics"], graded.intervals.of_hits("accuracy_plus", both, alone, PERCENT))
        worth = [PERCENT * (sum(pair) / 2 + all(pair)) for pair in got]
        within = [categories[pair[0]] for pair in about.values()]
        found.put(
            ["metrics"], graded.intervals.of_mean("score", worth, within, [*map(str, range(len(worth)))], 0.0, 200.0)
        )
    for image, pair in about.items():
        correct = [float(right[at]) if counted[at] else None for at in pair]
        known = [value for value in correct if value is not None]
        score = PERCENT * (mean(known) + all(known)) if len(known) == 2 else None
        ended = [first[at]["outcome"] for at in pair]
        extra = {"questions": [questions[at]["id"] for at in pair], "outcomes": ended}
        extra["read"] = [first[at]["read"] for at in pair]
        found.row(image, (categories[pair[0]], image, _joint(ended)), extra, {"score": [score], "correct": correct})
    graded.counts(read[:, None])

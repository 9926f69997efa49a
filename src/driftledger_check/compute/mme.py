"""MME (Fu et al. 2023, section 2.2): two questions about each image, both of which a model must get right."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from driftledger_check.compute import given
from driftledger_check.compute.found import PERCENT, Found
from driftledger_check.compute.intervals import Intervals
from driftledger_check.compute.means import mean, places
from driftledger_check.compute.questions import Flags, Graded, joint
from driftledger_check.files import ScoreFiles

ABILITIES = {
    "perception": (
        *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
    ),
    "cognition": ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
}


class Scores:
    """The measures over some questions, and of each category."""

    def __init__(self, right: Flags, counted: Flags, pairs: Sequence[list[int]], categories: Sequence[str]) -> None:
        self._right, self._counted = right.tolist(), counted.tolist()
        of_pairs = places(categories[pair[0]] for pair in pairs)
        self.whole = self._of(range(len(categories)), pairs)
        self.each = {
            name: self._of(rows, [pairs[at] for at in of_pairs[name]]) for name, rows in places(categories).items()
        }

    def _of(self, rows: Sequence[int], pairs: Sequence[list[int]]) -> dict[str, float]:
        """Accuracy and accuracy+ in percent, and their sum, the score; what is over nothing is not there."""
        asked, whole = (
            sum(all(self._counted[at] for at in some) for some in each) for each in ([[r] for r in rows], pairs)
        )
        hits, both = (
            sum(all(self._right[at] for at in some) for some in each) for each in ([[r] for r in rows], pairs)
        )
        values = {"accuracy": PERCENT * (hits / asked)} if asked else {}
        if whole:
            values["accuracy_plus"] = PERCENT * (both / whole)
        if asked and whole:
            values["score"] = float(100 * (Fraction(hits, asked) + Fraction(both, whole)))
        return values

    def total(self, categories: Sequence[str], *, mean: bool) -> float | None:
        """The sum of scores, or their mean; None where a category has none."""
        scores = [Fraction(row["score"]) for name in categories if "score" in (row := self.each[name])]
        return float(sum(scores) / (len(scores) if mean else 1)) if len(scores) == len(categories) else None


def _ends(
    intervals: Intervals, right: Flags, counted: Flags, about: Mapping[str, list[int]], categories: Sequence[str]
) -> dict[str, float]:
    """Of what is over images; accuracy+ and the score have an interval where every question counts."""
    clusters = {at: image for image, pair in about.items() for at in pair}
    asked = [counted[at] for at in range(len(categories))]
    names = [clusters[at] for at in range(len(categories))]
    hits = [int(hit and counts) for hit, counts in zip(right, asked, strict=True)]
    ends = intervals.of_ratio("accuracy", hits, map(int, asked), names, PERCENT)
    if not all(asked):
        return ends
    got = [[bool(right[at]) for at in pair] for pair in about.values()]
    ends |= intervals.of_hits("accuracy_plus", sum(map(all, got)), len(got), PERCENT)
    worth = [PERCENT * (sum(pair) / 2 + all(pair)) for pair in got]
    return ends | intervals.of_mean("score", worth, [categories[pair[0]] for pair in about.values()])


def recompute(files: ScoreFiles, found: Found) -> None:
    graded = Graded(files, found)
    questions, first = graded.questions, [row[0] for row in graded.by_question]
    declined = np.array([given.text(each, "outcome") == "refused" for each in first])  # is wrong: all can be seen
    read = declined | np.array([each["answer"] is not None for each in first])
    truth = [question["answer"] == "yes" for question in questions]
    right = ~declined & np.array([each["answer"] is true for each, true in zip(first, truth, strict=True)])
    categories = [question["category"] or given.ALL for question in questions]
    about: dict[str, list[int]] = {}
    for at, (category, question) in enumerate(zip(categories, questions, strict=True)):
        about.setdefault(f"{category}/{given.text(question, 'image_id')}", []).append(at)
    pairs = [[one, other] for one, other in about.values()]

    def scores(wrong: Flags) -> Scores:
        return Scores(right, read | wrong[:, 0], pairs, categories)

    mine = scores(graded.wrong())
    every = list(mine.each)
    metrics: dict[str, float | None] = {key: value for key, value in mine.whole.items() if key != "score"}
    metrics |= {"refused": graded.refused(), "score": mine.total(every, mean=True)}
    metrics["score_sum"] = mine.total(every, mean=False)
    metrics |= graded.both_ways("score", read[:, None], lambda wrong: scores(wrong).total(every, mean=True))
    metrics |= {name: mine.total(some, mean=False) for name, some in ABILITIES.items() if {*some} <= {*every}}
    groups = given.lists(files.data.json("question_set.json").get("groups", {}))
    means = {
        name: {"score": value} for name, some in groups.items() if (value := mine.total(some, mean=True)) is not None
    }
    found.put(["metrics"], {name: value for name, value in metrics.items() if value is not None})
    found.put(["groups"], {"category": mine.each, "group": means})
    counted = read | graded.wrong()[:, 0]
    found.put(["metrics"], _ends(graded.intervals, right, counted, about, categories))
    for image, pair in about.items():
        correct = [float(right[at]) if counted[at] else None for at in pair]
        known = [value for value in correct if value is not None]
        worth = PERCENT * (mean(known) + all(known)) if len(known) == 2 else None
        ended = [given.text(first[at], "outcome") for at in pair]
        extra = {"questions": [given.text(questions[at], "id") for at in pair], "outcomes": ended}
        values = {"score": [worth], "correct": correct}
        found.row(image, categories[pair[0]], image, joint(ended), extra, values)
    graded.counts(read[:, None])

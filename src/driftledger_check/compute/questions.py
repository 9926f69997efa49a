"""The benchmarks of questions: MM-SAP (Wang et al. 2024), MM-Vet (Yu et al. 2023) and MME.

MME is by Fu et al. 2023. The reading of answers and the grades of a judge are taken from
the rows; where the settings select the rule of MME's own script, or of MM-Vet's, the
replies are read again. A reply in which nothing could be read counts as a wrong one, or is
in no denominator, as ``unread`` says. A call that failed is in no denominator.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import Json, ScoreFiles, field
from driftledger_check.compute.stats import (
    Ids,
    Intervals,
    Metrics,
    mean_and_std,
    pick,
    places,
)
from driftledger_check.compute.values import (
    ALL,
    PERCENT,
    Computed,
    Record,
    bounded,
    read_records,
)

Numbers = NDArray[Any]
Flags = NDArray[np.bool_]
"""Questions × variants or gradings; for MME, images × 2 questions."""
Grade = tuple[str, float | bool | None]
"""The outcome of an answer, and what was read in it."""
Parts = Mapping[str, tuple[Numbers, Numbers]]
"""Measure → the answers that it counts, and those that it divides by."""

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
NOTHING = np.array(None, dtype=object)
FINEST = 10**6
"""Grades are told apart by 6 decimals."""
PERCEPTION = (
    "existence",
    "count",
    "position",
    "color",
    "posters",
    "celebrity",
    "scene",
    "landmark",
    "artwork",
    "OCR",
)
COGNITION = (
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
    "code_reasoning",
)


class Graded:
    """The questions, and how each answer was read."""

    def __init__(self, files: ScoreFiles, computed: Computed) -> None:
        self.computed = computed
        self.settings: Json = files.score["inputs"]["settings"]
        self.intervals = Intervals.of(self.settings)
        self.questions = files.data.rows("questions.jsonl")
        self.units = field(self.questions, "id")
        self.groups = [ALL] * len(self.units)
        self.images = [_cluster(question) for question in self.questions]
        [folder] = files.collected.values()
        answers = [record for record in read_records(folder) if record.step]
        recorded = _recorded(files.rows)
        grades = pick(recorded, self.units)
        variants = {*map(len, grades)}
        if len(variants) != 1 or sum(map(len, grades)) != len(answers):
            raise ValueError("not every question has been answered equally often")
        self.outcomes = np.empty((len(grades), *variants), dtype=object)
        """Questions × variants or gradings."""
        self.read = np.empty_like(self.outcomes)
        """The option, grade or answer that was read; None if there is none."""
        for row, of_question in enumerate(grades):
            for variant, (outcome, value) in enumerate(of_question):
                self.outcomes[row, variant] = outcome
                self.read[row, variant] = value
        self._check_failures(answers)
        if self.settings.get("read") == "literal":
            self._read_again(answers, _read_literally)
        if self.settings.get("grades") == "strict":
            self._read_again(answers, _read_strictly)
        computed.put(Counter(self.outcomes.ravel()), "outcomes")
        computed.served(answers, "model", "judge")
        called = self.outcomes != "failed"
        self.wrong: Flags = called & (
            self.settings.get("unread", "left_out") == "worst"
        )
        """Answers that are wrong ones if nothing could be read in them."""
        refused = int((self.outcomes == "refused").sum())
        self.refused = PERCENT * refused / int(called.sum())
        """Refusals in percent of the calls that did not fail."""

    def _check_failures(self, answers: Iterable[Record]) -> None:
        """Check that the rows have as many failed calls as the records."""
        failed = Counter(answer.unit for answer in answers if _is_failed(answer))
        for unit, outcomes in zip(self.units, self.outcomes, strict=True):
            if (outcomes == "failed").sum() != failed[unit]:
                raise ValueError(
                    f"the row and the records of {unit!r:.60} differ in what failed"
                )

    def _read_again(
        self, answers: Iterable[Record], read: Callable[[Record], Grade]
    ) -> None:
        """Replace the recorded outcomes and values by those read in the answers."""
        in_order = sorted(answers, key=lambda answer: (answer.step, answer.repeat))
        grades = defaultdict(list)
        for answer in in_order:
            grades[answer.unit].append(read(answer))
        for row, unit in enumerate(self.units):
            outcomes, values = zip(*grades[unit], strict=True)
            self.outcomes[row] = outcomes
            self.read[row] = values

    def by_image(
        self,
        pairs: Ids,
        categories: list[str],
        images: list[str],
    ) -> None:
        """Make a unit of each image, whose variants are its two questions."""
        self.units = images
        self.groups = categories
        self.images = images
        self.outcomes = self.outcomes[pairs, 0]
        self.read = self.read[pairs, 0]
        self.wrong = self.wrong[pairs, 0]

    def text(self, key: str) -> list[str]:
        """List a text of all questions; empty where there is none."""
        return [question[key] or "" for question in self.questions]

    def put_interval(
        self,
        metric: str,
        above: Numbers,
        below: Numbers,
    ) -> None:
        """Put the interval of Σ above / Σ below; questions about an image are a cluster."""
        sums = (above.sum(axis=1).tolist(), below.sum(axis=1).tolist())
        interval = self.intervals.of_ratio(
            metric,
            *sums,
            clusters=self.images,
            unit=PERCENT,
        )
        self.computed.put(interval, "metrics")

    def put_rows(self, values: Mapping[str, Numbers], extras: Iterable[Json]) -> None:
        """Put a row for each question, or for each image of MME."""
        for row, extra in enumerate(extras):
            outcomes = self.outcomes[row].tolist()
            read = self.read[row].tolist()
            content = {
                "group": self.groups[row],
                "cluster": self.images[row],
                "outcome": "ok" if "ok" in outcomes else outcomes[0],
                "extra": {**extra, "outcomes": outcomes, "read": read},
            }
            for metric, column in values.items():
                content[metric] = column[row].tolist()
            self.computed.put(
                content,
                "rows",
                self.units[row],
            )

    def put_counts(self, read: Flags, counted: Flags) -> None:
        """Put how many answers could be read, and how many count."""
        self.computed.counts(
            int(read.sum()),
            int(counted.sum()),
            total=read.size,
        )


def _cluster(question: Json) -> str:
    """Return the hashes of a question's images: equal for questions about the same ones."""
    hashes = sorted(image["sha256"] for image in question.get("images", ()))
    return "+".join(hashes) or str(question["image_sha256"])


def _recorded(rows: Iterable[Json]) -> dict[str, list[Grade]]:
    """List the outcomes and values of each question; a row of MME has two questions."""
    grades = {}
    for row in rows:
        extra = row["extra"]
        of_row = list(zip(extra["outcomes"], extra["read"], strict=True))
        if "questions" in extra:
            for question, grade in zip(extra["questions"], of_row, strict=True):
                grades[question] = [grade]
        else:
            grades[row["unit"]] = of_row
    return grades


def _goes_on(reply: Json) -> bool:
    return reply["outcome"] in ("ok", "truncated")


def _is_readable(reply: Json) -> bool:
    is_refusal = reply["outcome"] == "refused" and bool(reply.get("text"))
    return _goes_on(reply) or is_refusal


def _is_failed(answer: Record) -> bool:
    """Return True if a call failed, or the judge gave nothing: not the model's doing."""
    last = answer.results[-1]
    if last["role"] == "judge":
        return not _goes_on(last)
    return bool(last["outcome"] == "failed")


def _read_literally(answer: Record) -> Grade:
    """Read as MME's own script: yes, or else no, anywhere in the first four characters."""
    [reply] = answer.results
    if not _is_readable(reply):
        return reply["outcome"], None
    first_four = (reply.get("text") or "").lower()[:4]
    if "yes" in first_four:
        return "ok", True
    if "no" in first_four:
        return "ok", False
    return "unparsed", None


def _read_strictly(answer: Record) -> Grade:
    """Read as MM-Vet's own evaluator: the text before the first blank is from 0 to 1."""
    reply, *judged = answer.results
    if not _is_readable(reply):
        return reply["outcome"], None
    if _is_failed(answer):
        return "failed", None
    for judgement in judged:
        grade = _strict_grade(judgement.get("text") or "")
        if _goes_on(judgement) and grade is not None:
            return "ok", grade
    return "unparsed", None


def _strict_grade(text: str) -> float | None:
    try:
        grade = float(text.split(" ")[0])
    except ValueError:
        return None
    return abs(grade) if 0 <= grade <= 1 else None


def shares(above: Numbers, below: Numbers) -> list[float]:
    """Divide the sums of each variant or grading that counts anything."""
    sums = zip(
        above.sum(axis=0).tolist(),
        below.sum(axis=0).tolist(),
        strict=True,
    )
    return [
        float(numerator / denominator) for numerator, denominator in sums if denominator
    ]


def mm_sap(files: ScoreFiles, computed: Computed) -> None:
    """Measure if a model answers what it can know, and declines what it cannot."""
    graded = Graded(files, computed)
    subset = graded.text("subset")
    read, parts = mm_sap_parts(graded, subset)
    computed.put(_percent(parts), "metrics")
    computed.put(graded.refused, "metrics", "free_refusals")
    for measure, (above, below) in parts.items():
        graded.put_interval(measure, above, below)
    subtask = graded.text("subtask")
    subtask_in_subset = [f"{a}: {b}" for a, b in zip(subset, subtask, strict=True)]
    for kind, names in (("subset", subset), ("subtask", subtask_in_subset)):
        for name, rows in places(names).items():
            if name.endswith(": "):
                continue  # questions without a subtask
            of_group = {}
            for measure, (above, below) in parts.items():
                # Beyond what can be known, no answer is right.
                if not (name.startswith("beyond") and "accuracy" in measure):
                    of_group[measure] = (above[rows], below[rows])
            computed.put(_percent(of_group), "groups", kind, name)
    computed.put(Counter(subset), "details", "subsets")
    above, below = parts["score"]
    extras = [{"subset": a, "subtask": b} for a, b in zip(subset, subtask, strict=True)]
    graded.put_rows({"score": np.where(below, above, np.nan)}, extras)
    graded.put_counts(read, below)


def mm_sap_parts(graded: Graded, subset: Sequence[str]) -> tuple[Flags, Parts]:
    """Compute equations 1 to 6 of MM-SAP (section 4.1): which answers were read, and parts.

    With p an answer, c the right option and r the refusal, accepted are {c} (basic),
    {c, r} (know) and {r} (beyond).
    """
    questions = graded.questions
    is_basic = (np.array(subset) == "basic")[:, None]
    is_beyond = (np.array(subset) == "beyond")[:, None]
    c = np.array(list(map(_option, field(questions, "answer"))))[:, None]
    r = np.array([bounded(question["refusal"], 0, 25) for question in questions])[
        :, None
    ]
    p: Ids = np.vectorize(_option, otypes=[np.int64])(graded.read)
    if graded.settings["count_free_refusals"]:
        p = np.where(
            graded.outcomes == "refused",
            r,
            p,
        )
    read = p >= 0
    counted = read | graded.wrong
    refused = p == r
    knew = read & (p == c)
    declined = refused & ~is_basic
    answered = counted & ~refused
    parts = {
        "score": (knew | declined, counted),  # equation 2
        "known_knowns": (knew, counted & ~is_beyond),  # equation 3
        "known_unknowns": (declined, counted & ~is_basic),  # equation 4
        "answer_accuracy": (knew, answered),  # equation 5
        "answer_rate": (answered, counted),  # equation 6
        "read_rate": (read & ~refused, counted),
        "read_accuracy": (knew, read & ~refused),
    }
    return read, parts


def _option(value: object) -> int:
    """Return the number of an option; −1 for none."""
    return -1 if value is None else bounded(value, 0, 25)


def _percent(parts: Parts) -> Metrics:
    """Give mean and deviation over variants."""
    measured: Metrics = {}
    for measure, (above, below) in parts.items():
        measured |= mean_and_std(measure, shares(above, below), PERCENT)
    return measured


def mm_vet(files: ScoreFiles, computed: Computed) -> None:
    """Average a judge's grades per capability, per combination, and in total (section 3)."""
    graded = Graded(files, computed)
    grades = graded.read.ravel()
    if any(grade is not None and not 0 <= grade <= 1 for grade in grades):
        raise ValueError("a grade is not within 0 and 1")
    read = graded.read != NOTHING
    counted = read | graded.wrong
    numbers = np.where(read, graded.read, 0)
    percent = np.vectorize(_percent_of_grade, otypes=[object])(numbers)
    computed.put(mean_and_std("total", shares(percent, counted)), "metrics")
    steps = np.vectorize(lambda grade: round(FINEST * grade), otypes=[object])(numbers)
    graded.put_interval("total", steps, FINEST * counted)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    combinations = []
    for row, question in enumerate(graded.questions):
        needed = {*question["capabilities"]}
        in_order = [name for name in CAPABILITIES if name in needed]
        in_order += sorted(needed.difference(CAPABILITIES))
        groups["combination", "+".join(in_order)].append(row)
        for capability in in_order:
            groups["capability", capability].append(row)
        combinations.append({"combination": "+".join(question["capabilities"])})
    for place, rows in groups.items():
        values = shares(percent[rows], counted[rows])
        computed.put(
            mean_and_std("grade", values),
            "groups",
            *place,
        )
    graded.put_rows({"total": np.where(counted, numbers, np.nan)}, combinations)
    graded.put_counts(read, counted)
    computed.put(
        files.score["details"].get("calibration", []),
        "details",
        "calibration",
    )


def _percent_of_grade(grade: float) -> Fraction:
    """Take a grade as the decimal that is written."""
    return 100 * Fraction(repr(grade))


def mme(files: ScoreFiles, computed: Computed) -> None:
    """Score two questions about each image, both to be answered rightly (section 2.2)."""
    graded = Graded(files, computed)
    questions = graded.questions
    about = defaultdict(list)
    for row, question in enumerate(questions):
        category = question["category"] or ALL
        about[category, f"{category}/{question['image_id']}"].append(row)
    pairs = np.array([[one, other] for one, other in about.values()])
    truth = np.array(field(questions, "answer"))[pairs] == "yes"
    question_names = graded.units
    graded.by_image(pairs, *zip(*about, strict=True))
    declined = graded.outcomes == "refused"  # it is wrong: the image shows the answer
    read = declined | (graded.read != NOTHING)
    counted = read | graded.wrong
    right = ~declined & np.equal(graded.read, truth)
    by_category = {}
    for category, rows in places(graded.groups).items():
        by_category[category] = mme_scores(right[rows], counted[rows])
    metrics = mme_scores(right, counted)
    metrics.pop("score", None)
    metrics["refused"] = graded.refused
    if scores := _scores_of(by_category, by_category):
        metrics["score"] = float(sum(scores) / len(scores))
        metrics["score_sum"] = float(sum(scores))
    for ability, names in (("perception", PERCEPTION), ("cognition", COGNITION)):
        if scores := _scores_of(by_category, names):
            metrics[ability] = float(sum(scores))
    computed.put(metrics, "metrics")
    computed.put(by_category, "groups", "category")
    groups = files.data.json("question_set.json").get("groups", {})
    for group, names in groups.items():
        if scores := _scores_of(by_category, names):
            computed.put(
                float(sum(scores) / len(scores)),
                "groups",
                "group",
                group,
                "score",
            )
    graded.put_interval("accuracy", right & counted, counted)
    both = right.all(axis=1)
    score = PERCENT * (right.mean(axis=1) + both)
    if counted.all():  # accuracy+ and the score are over images
        intervals = graded.intervals
        images = graded.images
        hits = both.astype(float).tolist()
        computed.put(
            intervals.of_hits("accuracy_plus", hits, clusters=images, unit=PERCENT),
            "metrics",
        )
        interval = intervals.of_mean(
            "score",
            score.tolist(),
            groups=graded.groups,
            clusters=images,
            bottom=0.0,
            top=2 * PERCENT,
        )
        computed.put(interval, "metrics")
    values = {
        "score": np.where(
            counted.all(axis=1),
            score,
            np.nan,
        )[:, None],
        "correct": np.where(counted, right, np.nan),
    }
    graded.put_rows(
        values, [{"questions": pick(question_names, pair)} for pair in pairs]
    )
    graded.put_counts(read, counted)


def mme_scores(right: Flags, counted: Flags) -> Metrics:
    """Compute accuracy and accuracy+ in percent, and their sum, the score (section 2.2).

    Accuracy is over questions, accuracy+ over images with both questions right.
    """
    hits = int(right.sum())
    both = int(right.all(axis=1).sum())
    questions = int(counted.sum())
    images = int(counted.all(axis=1).sum())
    scores = {}
    if questions:
        scores["accuracy"] = PERCENT * (hits / questions)
    if images:
        scores["accuracy_plus"] = PERCENT * (both / images)
        scores["score"] = float(
            100 * (Fraction(hits, questions) + Fraction(both, images))
        )
    return scores


def _scores_of(
    by_category: Mapping[str, Mapping[str, float]], names: Iterable[str]
) -> list[Fraction]:
    """List the scores of categories; nothing if one of them has no score."""
    scores = [by_category.get(name, {}).get("score") for name in names]
    known = [Fraction(score) for score in scores if score is not None]
    return known if len(known) == len(scores) else []

"""MM-SAP (Wang et al. 2024, section 4.1): does a model answer what it can know, and decline what it cannot?"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute import given
from driftledger_check.compute.found import PERCENT, Found
from driftledger_check.compute.means import mean_and_std, places
from driftledger_check.compute.questions import Flags, Graded
from driftledger_check.files import ScoreFiles

Ids = NDArray[np.int64]
"""Of options; −1 where none was chosen, or none is right."""
Parts = dict[str, tuple[Flags, Flags]]
"""Measure → what it counts, and of what; questions × variants."""


def recompute(files: ScoreFiles, found: Found) -> None:
    graded = Graded(files, found)
    questions, subset, wrong = graded.questions, np.array(graded.column("subset"), dtype=object), graded.wrong()
    refusal = np.array([given.whole(question["refusal"], 0, 25) for question in questions])[:, None]
    right = np.array([_id(question["answer"]) for question in questions])[:, None]
    chosen = np.array([[_id(each["choice"]) for each in row] for row in graded.by_question])
    declined = np.array([[given.text(each, "outcome") == "refused" for each in row] for row in graded.by_question])
    both = {"with": np.where(declined, refusal, chosen), "without": chosen}
    choices = both["with" if graded.settings["count_free_refusals"] else "without"]

    def parts(choices: Ids, wrong: Flags) -> Parts:
        return _parts(choices, right, refusal, subset[:, None], wrong)

    def headline(choices: Ids, wrong: Flags) -> float | None:
        return _measured(parts(choices, wrong)).get("score")

    mine, read = parts(choices, wrong), choices >= 0
    metrics = _measured(mine) | graded.both_ways("score", read, lambda wrong: headline(choices, wrong))
    for name, some in both.items():
        if (value := headline(some, wrong)) is not None:
            metrics[f"score_{name}_free_refusals"] = value
    metrics["free_refusals"] = graded.refused()
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
                measured = {key: value for key, value in measured.items() if not key.startswith("answer_accuracy")}
            found.put(["groups", kind, name], measured)
    found.put(["groups", "position"], _positions(files, graded))
    found.put(["details", "subsets"], Counter(subset))
    for at, (above, below) in enumerate(zip(*(side.tolist() for side in mine["score"]), strict=True)):
        values = [float(worth) if counts else None for worth, counts in zip(above, below, strict=True)]
        graded.row(at, {"score": values}, subset=subset[at], subtask=subtask[at])
    graded.counts(read)


def _id(value: object) -> int:
    return -1 if value is None else given.whole(value, 0, 25)


def _parts(chosen: Ids, right: Ids, refusal: Ids, subset: NDArray[np.object_], wrong: Flags) -> Parts:
    """Accepted are the right option (basic), it and the refusal (know), only the refusal (beyond)."""
    read = chosen >= 0
    counted = read | wrong
    knew, refused = read & (chosen == right), chosen == refusal
    declined, answered = refused & (subset != "basic"), read & ~refused
    return {
        "score": (knew | declined, counted),
        "answer_rate": (answered, counted),
        "answer_accuracy": (knew, answered),
        "known_knowns": (knew, counted & (subset != "beyond")),
        "known_unknowns": (declined, counted & (subset != "basic")),
    }


def _measured(parts: Parts) -> dict[str, float]:
    """Percentages: mean and deviation over the variants that have anything to count."""
    measured: dict[str, float] = {}
    for name, (above, below) in parts.items():
        sums = zip(above.sum(axis=0).tolist(), below.sum(axis=0).tolist(), strict=True)
        measured |= mean_and_std(name, [p / q for p, q in sums if q], PERCENT)
    return measured


def _positions(files: ScoreFiles, graded: Graded) -> dict[str, dict[str, float]]:
    """Letter → how often it was chosen, and how often the refusal and the right option stood there, in percent."""
    by_id = {question["id"]: question for question in graded.questions}
    chosen = {(each["question"], each["variant"]): each["choice"] for each in graded.grades}
    stood: list[tuple[int, int, int]] = []
    for each in files.collected["answer"].rows("records.jsonl"):
        order, choice = list(each["order"]), chosen[each["question"], each["variant"]]
        if choice is not None:
            question = by_id[each["question"]]
            answer = -1 if question["answer"] is None else order.index(question["answer"])
            stood.append((order.index(choice), answer, order.index(question["refusal"])))
            letters = len(order)
    if not stood:
        return {}
    chosen_at, right_at, refusal_at = (list(side) for side in zip(*stood, strict=True))
    stands = {"chosen": chosen_at, "refusal": refusal_at, "correct": [at for at in right_at if at >= 0]}
    return {
        chr(ord("A") + at): {name: PERCENT * (some.count(at) / len(some)) for name, some in stands.items() if some}
        for at in range(given.whole(letters, 1, 26))
    }

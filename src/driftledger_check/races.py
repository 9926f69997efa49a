"""Check that a race that a score was in stopped where its rule says."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from driftledger_check import strict_json
from driftledger_check.bundle import Folder, Json
from driftledger_check.compute.race import Course, course_of, run_race
from driftledger_check.compute.values import read_samples
from driftledger_check.report import Line

RACE = "race.json"
_AT_T = re.compile(r"(.+)_at_([1-9]\d{0,5})")


def check_race(score: Folder, data: Folder, noted: Json) -> Iterator[Line]:
    """Compute the order, the looks and the stop of a race from what its samples are worth.

    The values of the score's own model must be those of its rows. Those of other models
    are in the rows of their own bundles, with the same hash of ``race.json``.

    Args:
        noted: what the stage that scored says that it depended on.
    """
    stored = score.json("score.json")
    inputs = stored["inputs"]
    asked = inputs["protocol"].get("asked")
    where = f"{score.path}/{RACE}"
    if RACE not in score.names:
        if inputs.get("race"):
            yield Line(
                where, "differs", "the score was in a race, and its record is not there"
            )
        elif asked is not None:
            yield Line(where, "not checkable", "the race was not over")
        return
    race = score.json(RACE)
    course = course_of(read_samples(data), inputs["protocol"]["seed"])
    model = stored["keys"]["model"]
    expected = {
        "keys": dict(stored["keys"]),
        "confidence": inputs["settings"]["confidence"],
        "seed": inputs["protocol"]["seed"],
        "samples": len(course.samples),
        "asked by": race["asked"][model],
        "hash": score.digests(RACE)["sha256"],
        "noted": hashlib.sha256(strict_json.canonical(race)).hexdigest(),
    }
    del expected["keys"]["model"]
    found = {key: race.get(key) for key in expected}
    found |= {"asked by": asked, "hash": inputs.get("race"), "noted": noted.get("race")}
    longest = max(len(values) for values in race["values"].values())
    expected["order"] = [sample.id for sample in course.samples[:longest]]
    found["order"] = race["order"]
    if race["keys"] == expected["keys"]:
        expected["values"] = _values(score, course, race["rule"]["ranked"])
        found["values"] = race["values"][model]
    expected |= run_race(
        race["values"],
        course,
        margin=race["rule"]["margin"],
        confidence=race["confidence"],
    )
    for key in ("rounds", "asked", "over"):
        found[key] = race[key]
    for key, value in expected.items():
        yield _compared(f"{where}: {key}", found[key], value)


def _values(score: Folder, course: Course, metric: str) -> list[Any]:
    """List what the samples of a score are worth, in the order of the race."""
    match = _AT_T.fullmatch(metric)
    if match is None:
        raise ValueError(f"{metric!r:.60} is no metric of an iteration")
    rows = {row["unit"]: row["values"] for row in score.rows("rows.jsonl")}
    values = []
    for sample in course.samples:
        if sample.id in rows:
            values.append(rows[sample.id][match[1]][int(match[2]) - 1])
    return values


def _compared(where: str, stored: object, expected: object) -> Line:
    if stored == expected:
        return Line(where, "reproduced")
    what = f"it is {stored!s:.80}, and the rule gives {expected!s:.80}"
    return Line(where, "differs", what)

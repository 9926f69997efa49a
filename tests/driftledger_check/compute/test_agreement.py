"""Two programs, one score: what the checker finds is what driftledger stored, to the bit."""

import copy
import csv
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.writing import write_score
from driftledger.commands.stages import to_score
from driftledger.core.errors import CoverageError
from driftledger.project.project import Project
from driftledger_check.compute import encoders, fidelity, recompute, ssim, stored
from driftledger_check.compute.given import MissingError
from driftledger_check.files import ScoreFiles
from tests.support.checked import Checkout, GivenFeatures

BENCHMARKS = ("genception", "trac", "fidelity", "mm_sap", "mm_vet", "mme")
OUTCOMES = ("ok", "refused", "filtered", "truncated", "unparsed", "failed")
SAYINGS = (
    "A red disc. Two green rings!\n1. Nothing else",
    "",
    "42",
    "Blue squares, 2.5 m wide; a RED CÍRCLE",
    "=SUM(A1)",
    "右边是红色的。",
    "a\u202eb red circle",
)

Record = dict[str, Any]


def test_every_value_of_every_score_is_found_again(evaluated: Checkout) -> None:
    seen = set()
    for place in evaluated.places:
        files = evaluated.files(place)
        found, kept = recompute(files), stored(files)
        assert found.numbers.keys() == kept.keys(), files.place
        assert [key for key, value in kept.items() if not found.agrees(key, value)] == [], files.place
        seen.add(files.score["benchmark"])
    assert seen == {*BENCHMARKS}


def _described(each: Record, dice: random.Random) -> None:
    if dice.random() < (0.1 if "split" in each else 0.3):
        each["outcome"] = dice.choice(OUTCOMES)
        each["description"] = dice.choice([None, *SAYINGS])
    if dice.random() < 0.2:
        each["served_model"], each["system_fingerprint"] = "gpt", dice.choice([None, "fp"])
    if dice.random() < 0.15 and "image" in each:
        each["image"] = each["image_sha256"] = None


def _graded(each: Record, dice: random.Random) -> None:
    if dice.random() < 0.4:
        each["outcome"] = dice.choice(OUTCOMES)
        if "choice" in each:
            each["choice"] = dice.choice([None, 0, 1, 2])
        elif "grade" in each:
            each["grade"] = dice.choice([None, 0.0, 0.1, 0.35, 0.125, 1.0])
        else:
            each["answer"] = dice.choice([None, True, False])


def _without_rests(records: list[Record]) -> list[Record]:
    """A chain ends where nothing was drawn."""
    ended: set[tuple[str, int]] = set()
    kept = []
    for each in records:
        chain = each["sample"], each.get("repeat", 0)
        if chain not in ended:
            kept.append(each)
        if each.get("image", "") is None:
            ended.add(chain)
    return kept


def _damaged(folder: Path, dice: random.Random) -> None:
    for file in sorted((folder / "data").rglob("records.jsonl")):
        kind = file.relative_to(folder / "data").parts[0]
        records = [json.loads(line) for line in file.read_text().splitlines()]
        change: Callable[[Record, random.Random], None] = _graded if kind == "grades" else _described
        for each in records if kind != "answers" else []:
            change(each, dice)
        if kind == "chains":
            records = _without_rests(records)
        file.write_text("".join(json.dumps(each) + "\n" for each in records))


def _scoring(name: str, plain: Mapping[str, Any], dice: random.Random) -> dict[str, Any]:
    more: dict[str, Any] = {"seed": dice.randrange(5)}
    if "unread" in plain:
        more["unread"] = dice.choice(["wrong", "left_out"])
    if name == "mm_sap":
        more["count_free_refusals"] = dice.random() < 0.5
    if name == "genception":
        more["iterations_by_group"] = dice.choice([None, {"few": 2}, {"few": 1, "many": 2}])
    if name == "trac":
        more["sampled_classes"] = dice.choice([(), ("shapes", "digits", "labelled")])
    return {
        **plain,
        **more,
        "confidence": dice.choice([0.9, 0.95]),
    }


def _rated(folder: Path, dice: random.Random) -> None:
    """A sheet of ratings as a spreadsheet saves it."""
    with (folder / "ratings.csv").open("w", encoding="utf-8-sig", newline="") as out:
        writer = csv.writer(out, delimiter=dice.choice(",;\t"))
        writer.writerow(["Dataset", "sample", "model", "description", "rater", "rating", "note"])
        for model in ("blind", "regions_medium"):
            for line in (folder / f"data/redraws/shapes/{model}/painter/records.jsonl").read_text().splitlines():
                each = json.loads(line)
                if each.get("repeat", 0):
                    continue
                said = (each["description"] or "").replace("\u202e", "\\x202e").replace(" ", "  ", 1)
                shown = f"'{said}" if said.startswith(("=", "42")) else said
                for rater in "ab":
                    rating = dice.choice(["", *"12345"])
                    old = dice.random() < 0.1
                    writer.writerow(["shapes", each["sample"], model, "old" if old else shown, rater, rating, ""])


@pytest.mark.parametrize("seed", range(4))
def test_records_of_every_kind_give_the_same_values(evaluated: Checkout, tmp_path: Path, seed: int) -> None:
    """Refusals, failures, gaps, sentences of other scripts, versions of services, groups that stop sooner, ratings."""
    dice, root = random.Random(seed), tmp_path / "damaged"
    shutil.copytree(evaluated.root, root, ignore=shutil.ignore_patterns(".driftledger"))
    _damaged(root, dice)
    _rated(root, dice)
    project, made = Project(root), set()
    checkout = Checkout(root, evaluated.features, {"ratings": (root / "ratings.csv").read_bytes()})
    for place in checkout.places:
        kept = json.loads(place.read_bytes())
        spec, name = benchmark(kept["benchmark"]), kept["benchmark"]
        plain = to_score(project, spec, kept["keys"])
        scoring = spec.scoring.model_validate(_scoring(name, plain.scoring.model_dump(mode="json"), dice))
        beside = {"ratings": root / "ratings.csv"} if name == "fidelity" else {}
        try:
            with pytest.MonkeyPatch.context() as patch, checkout.features.recorded(patch):
                score = runner(name).score(
                    replace(plain, scoring=scoring, min_coverage=0.0, beside=beside, features=None)
                )
        except CoverageError:
            continue  # nothing is left to score
        write_score(place.parent, spec, score)
        files = checkout.files(place)
        found, stands = recompute(files), stored(files)
        assert found.numbers.keys() == stands.keys(), files.place
        assert [key for key, value in stands.items() if not found.agrees(key, value)] == [], files.place
        made.add(name)
    assert len(made) >= len(BENCHMARKS) - 1


def _of(evaluated: Checkout, name: str, ending: str = "") -> ScoreFiles:
    """One score of a benchmark."""
    places = [
        place for place in evaluated.places if f"scores/{name}/" in str(place) and str(place.parent).endswith(ending)
    ]
    return evaluated.files(places[-1])


def _numbers(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers stand."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _numbers(each, (*place, key))


def _with(value: Any, place: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy with one change."""
    made = copy.deepcopy(value)
    holder = made
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = change(holder[place[-1]])
    return made


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_number_that_is_changed_is_found(evaluated: Checkout, name: str) -> None:
    """By the least that a float64 can be changed, or by one; where a number is stored rounded, by a hundredth."""
    files, dice = _of(evaluated, name), random.Random(1)
    found = recompute(files)
    fields = ("metrics", "groups", "curves", "outcomes", "details", "scored", "counted", "total", "coverage")
    places = list(_numbers({key: files.score[key] for key in fields}))
    for place in dice.sample(places, min(80, len(places))):

        def change(value: float) -> float:
            return value * 1.01 + 0.01

        changed = stored(replace(files, score=_with(dict(files.score), place, change)))
        assert [key for key, value in changed.items() if not found.agrees(key, value)], place
    rows = [dict(row) for row in files.rows]
    places = list(_numbers([row["values"] for row in rows]))
    for place in dice.sample(places, min(20, len(places))):
        changed = stored(replace(files, rows=_with(rows, (place[0], "values", *place[1:]), lambda value: value + 0.01)))
        assert [key for key, value in changed.items() if not found.agrees(key, value)], place
    for key, exact in stored(files).items():
        if isinstance(exact, float) and key not in found.tolerances:
            assert not found.agrees(key, exact + max(abs(exact), 1e-300) * 2**-52)


@pytest.mark.parametrize(
    ("name", "stage", "change"),
    [
        ("genception", "chain", {"outcome": "refused", "image": None}),
        ("genception", "witness", {"description": "Nothing but a green ring."}),
        ("trac", "describe", {"description": "Nothing but a green ring."}),
        ("fidelity", "redraw", {"outcome": "failed", "image": None, "description": None}),
        ("mm_sap", "grade", {"choice": None, "outcome": "unparsed"}),
        ("mm_vet", "grade", {"grade": 0.7}),
        ("mme", "grade", {"answer": None, "outcome": "failed"}),
    ],
)
def test_a_record_that_is_changed_changes_what_is_found(
    evaluated: Checkout, name: str, stage: str, change: Record
) -> None:
    files = _of(evaluated, name, "tfidf" if name == "trac" else "")
    folder: Any = files.collected[stage]
    rows = [dict(row) for row in folder.rows("records.jsonl")]
    rows[-1] |= change
    made = replace(folder, changed={"records.jsonl": rows})
    files = replace(files, collected={**files.collected, stage: made})
    found = recompute(files)
    unlike = [key for key, value in stored(files).items() if not found.agrees(key, value)]
    assert unlike
    assert stage == "witness" or not [key for key in unlike if key in found.not_checkable]


def test_an_image_that_is_changed_changes_what_is_found(evaluated: Checkout) -> None:
    files = _of(evaluated, "fidelity")
    name, data = next(row["file"] for row in files.data.rows("samples.jsonl")), cast(Any, files.data)
    files = replace(files, data=replace(data, changed={name: Image.new("RGB", (64, 64), "red")}))
    found = recompute(files)
    unlike = {key[-1] for key, value in stored(files).items() if not found.agrees(key, value)}
    assert {"ssim", "image_similarity", "frechet_layout"} <= unlike


def test_what_cannot_be_had_is_not_checkable_and_nothing_else_differs(evaluated: Checkout) -> None:
    for kept in (encoders._layout, fidelity._ssim, ssim.luma):  # what was seen before is known by its SHA-256
        kept.cache_clear()
    without: dict[str, set[str]] = {}
    for place in evaluated.places:
        files = replace(evaluated.files(place, without_images=True), features=GivenFeatures())
        found = recompute(files)
        for key, value in stored(files).items():
            if key in found.not_checkable:
                without.setdefault(files.score["benchmark"], set()).add(key[0])
                assert "bundle" in found.not_checkable[key]
                assert key not in found.numbers
            else:
                assert found.agrees(key, value), key
    assert without.keys() == {"genception", "trac", "fidelity"}


def test_what_is_taken_as_it_stands_is_said_once(evaluated: Checkout) -> None:
    said = {
        place: why for at in evaluated.places for place, why in recompute(evaluated.files(at)).not_checkable.items()
    }
    assert [place[0] for place in sorted(said)] == ["features", "grading", "reading"]
    assert "words" in next(why for place, why in said.items() if place[0] == "features")


ODD: tuple[Any, ...] = (None, -1, 10**30, 1e308, 0.5, "x", "\ud800", [], {}, [[]], True, 2**63, "\x00" * 1000)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_strangers_json_ends_in_one_error_or_in_numbers(evaluated: Checkout, name: str) -> None:
    """Whatever stands where: a value is exchanged or left out; nothing hangs, and nothing else is raised."""
    dice, files = random.Random(7), _of(evaluated, name)
    sources = {
        "": ["score.json"],
        "data": [
            each
            for each in ("samples.jsonl", "dataset.json", "questions.jsonl", "question_set.json")
            if files.data.has(each)
        ],
    }
    sources |= {stage: ["records.jsonl"] for stage in files.collected}
    began = time.process_time()
    for _ in range(60):
        where = dice.choice(list(sources))
        file = dice.choice(sources[where])
        folder: Any = files.data if where == "data" else files.collected.get(where)
        value: Any = files.score if folder is None else folder.rows(file) if file.endswith("l") else folder.json(file)
        holder = value = copy.deepcopy(value)
        while True:
            key = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not isinstance(holder[key], dict | list) or not holder[key] or dice.random() < 0.1:
                break
            holder = holder[key]
        if dice.random() < 0.2:
            del holder[key]
        else:
            holder[key] = dice.choice(ODD)
        if folder is None:
            odd = replace(files, score=value)
        else:
            made = replace(folder, changed={file: value})
            odd = (
                replace(files, data=made)
                if where == "data"
                else replace(files, collected={**files.collected, where: made})
            )
        for step in (recompute, stored):
            with suppress(KeyError, TypeError, ValueError):
                step(odd)
    assert time.process_time() - began < 120


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("confidence",), 1.0, "not between 0 and 1"),
        (("iterations",), 10**9, "from 1 to 100"),
    ],
)
def test_settings_that_no_run_has_are_refused(
    evaluated: Checkout, place: tuple[str, ...], value: Any, why: str
) -> None:
    files = _of(evaluated, "genception")
    score = _with(dict(files.score), ("inputs", "settings", *place), lambda _: value)
    with pytest.raises(ValueError, match=why):
        recompute(replace(files, score=score))


@pytest.mark.parametrize(
    ("name", "place", "value", "without"),
    [
        ("fidelity", ("ssim_side",), 4000, {"ssim", "ssim_low"}),
    ],
)
def test_what_would_take_for_ever_is_not_checkable(
    evaluated: Checkout, name: str, place: tuple[str, ...], value: int, without: set[str]
) -> None:
    files = _of(evaluated, name)
    score = _with(dict(files.score), ("inputs", "settings", *place), lambda _: value)
    found = recompute(replace(files, score=score))
    assert {("metrics", key) for key in without} <= found.not_checkable.keys()
    assert "than the checker" in found.not_checkable["metrics", min(without)]
    kept = stored(files)
    assert all(key in found.not_checkable or found.agrees(key, value) for key, value in kept.items())


def test_a_rating_or_a_vote_of_very_many_takes_no_memory_of_their_square() -> None:
    from driftledger_check.compute.means import correlations
    from driftledger_check.compute.neighbours import votes

    dice = random.Random(1)
    values = [[float(dice.randrange(5)) for _ in range(20_000)] for _ in range(2)]
    assert correlations(*values) is not None
    with pytest.raises(MissingError, match="than the checker counts"):
        votes(np.zeros((10_000, 1_000), np.int64), 1_000)

"""Two programs, one score: what the checker finds is what driftledger stored, to the bit."""

import csv
import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.writing import write_score
from driftledger.commands.stages import to_score
from driftledger.core.errors import CoverageError
from driftledger.project.project import Project
from driftledger_check.compute import recompute, stored
from tests.support.checked import Checkout

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
        assert found.numbers == kept, files.place
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
    ended: set[str] = set()
    kept = []
    for each in records:
        if each["sample"] not in ended:
            kept.append(each)
        if each.get("image", "") is None:
            ended.add(each["sample"])
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
    return {**plain, **more, "bootstrap": {"resamples": dice.choice([100, 130]), "confidence": dice.choice([0.9, 0.95])}}


def _rated(folder: Path, dice: random.Random) -> None:
    """A sheet of ratings as a spreadsheet saves it."""
    with (folder / "ratings.csv").open("w", encoding="utf-8-sig", newline="") as out:
        writer = csv.writer(out, delimiter=dice.choice(",;\t"))
        writer.writerow(["Dataset", "sample", "model", "description", "rater", "rating", "note"])
        for model in ("blind", "regions_medium"):
            for line in (folder / f"data/redraws/shapes/{model}/painter/records.jsonl").read_text().splitlines():
                each = json.loads(line)
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
        both = {key: (found.numbers.get(key, "-"), stands.get(key, "-")) for key in {*found.numbers, *stands}}
        assert {key: each for key, each in both.items() if each[0] != each[1]} == {}, files.place
        made.add(name)
    assert len(made) >= len(BENCHMARKS) - 1

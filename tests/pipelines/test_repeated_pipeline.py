"""``dvc repro`` with three repeats where there was one: what is asked again, what stays, and what is shown."""

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import fmean, pstdev, variance
from typing import Any

import pytest
from scipy import stats

from tests.conftest import REPRO, Checkout
from tests.tracking.dump import dump

pytestmark = pytest.mark.slow

REPEATS, SAMPLES, T = 3, 8, 2
CHAINS = "data/chains/my_images/regions_medium/painter"
SCORE = "reports/scores/genception/my_images/regions_medium/painter/layout"
REDRAWN = "reports/scores/fidelity/my_images/regions_medium/painter/layout"
GC = f"gc_at_{T}"


def repeated(params: dict[str, Any]) -> None:
    params["genception"]["repeats"] = REPEATS
    params["fidelity"]["repeats"] = REPEATS
    params["run"]["fidelity"] = ["my_images"]


def calls(root: Path) -> dict[str, tuple[Any, ...]]:
    """Key → all that the store keeps of the call, and how often it was made."""
    with closing(sqlite3.connect(root / ".driftledger" / "calls.db")) as db:
        db.row_factory = sqlite3.Row
        return {row["key"]: tuple(row) for row in db.execute("SELECT * FROM calls")}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def score(root: Path, folder: str = SCORE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / folder / "score.json").read_text(encoding="utf-8"))
    return found


def plain(metrics: dict[str, float]) -> dict[str, float]:
    """Without intervals and deviations."""
    return {key: value for key, value in metrics.items() if not key.endswith(("_low", "_high", "_std"))}


def interval(values: dict[str, list[float]]) -> tuple[float, float]:
    """Of the mean over categories of the mean of each, from Welch's test of SciPy: it compares two means with the
    degrees of freedom that the mean of both has, and with twice the standard error."""
    one, other = values.values()
    test = stats.ttest_ind(one, [-value for value in other], equal_var=False)
    difference = test.confidence_interval(0.95)
    return difference.low / 2, difference.high / 2


def chain_of(records: list[dict[str, Any]], repeat: int) -> Iterator[dict[str, Any]]:
    return (record for record in records if record.get("repeat", 0) == repeat)


def test_from_one_chain_per_image_to_three_and_back(evaluated: Checkout) -> None:
    root = evaluated.root
    before, outputs, asked = score(root), evaluated.outputs(), calls(root)
    assert len(asked) == SAMPLES * T * 2
    records = lines(root / CHAINS / "records.jsonl")

    evaluated.params(repeated)
    evaluated.commit("three of each")
    evaluated.run(*REPRO)
    stored = calls(root)
    assert {key: stored[key] for key in asked} == asked, "what the only chain asked was not asked again"
    several = lines(root / CHAINS / "records.jsonl")
    assert list(chain_of(several, 0)) == records
    for repeat in range(1, REPEATS):
        ours = list(chain_of(several, repeat))
        assert len(ours) == SAMPLES * T
        assert all((root / CHAINS / record["image"]).is_file() for record in ours)
        assert all(record["image"].startswith(f"repeats/{repeat}/") for record in ours)
    seeds = {(record["sample"], record["t"], record["seed"]) for record in several}
    assert len(seeds) == SAMPLES * T * REPEATS
    after = evaluated.outputs()
    images = {path: content for path, content in outputs.items() if path.startswith(f"{CHAINS}/images/")}
    assert len(images) == SAMPLES * T
    assert {path: after[path] for path in images} == images

    assert_scored(root, before)
    assert_shown_in_mlflow(evaluated)
    audit = evaluated.run("driftledger", "audit", "regions_medium/painter/layout", "--full").stdout
    assert f"{GC} = {score(root)['metrics'][GC]!r}" in audit

    evaluated.params(lambda params: params["genception"].update(repeats=1))
    evaluated.params(lambda params: params["run"].update(fidelity=[]))
    evaluated.params(lambda params: params["fidelity"].update(repeats=1))
    evaluated.repro()
    assert calls(root) == stored, "nothing is asked at all on the way back"
    back = {path: content for path, content in evaluated.outputs().items() if path in outputs}
    assert back | {"dvc.lock": b""} == outputs | {"dvc.lock": b""}, "but that the lock has heard of MLflow since"


def assert_scored(root: Path, before: dict[str, Any]) -> None:
    found, rows = score(root), lines(root / SCORE / "rows.jsonl")
    each = found["groups"]["repeat"]
    assert list(each) == [str(repeat) for repeat in range(REPEATS)]
    assert each["0"] == plain(before["metrics"]), "the number of the only chain stands"
    alone = [each[str(repeat)][GC] for repeat in range(REPEATS)]
    assert len(set(alone)) > 1, "chains differ by their seeds"
    assert found["metrics"][GC] == pytest.approx(fmean(alone), rel=1e-12)
    assert found["metrics"][f"{GC}_std"] == pytest.approx(pstdev(alone), rel=1e-9)
    by_category: dict[str, list[float]] = {}
    spread = 0.0
    for row in rows:
        values = [repeat["values"]["gc"][T - 1] for repeat in row["repeats"]]
        by_category.setdefault(row["group"], []).append(fmean(values))
        spread += variance(values)
    assert spread > 0
    ends = found["metrics"][f"{GC}_low"], found["metrics"][f"{GC}_high"]
    assert ends == pytest.approx(interval(by_category), rel=1e-9)
    assert all(math.isfinite(end) for end in ends)
    assert (found["scored"], found["total"]) == (SAMPLES * REPEATS, SAMPLES * REPEATS)
    assert score(root, REDRAWN)["groups"]["repeat"].keys() == each.keys()


def assert_shown_in_mlflow(checkout: Checkout) -> None:
    [run] = dump(f"sqlite:///{checkout.root}/mlflow.db", "driftledger")["runs"]
    history: dict[str, dict[int, float]] = {}
    for key, step, value in run["metrics"]:
        history.setdefault(key, {})[step] = value
    for folder, benchmark, key in ((SCORE, "genception", GC), (REDRAWN, "fidelity", "ssim")):
        found, place = score(checkout.root, folder), f"{benchmark}.my_images"
        alone = {repeat: found["groups"]["repeat"][str(repeat)][key] for repeat in range(REPEATS)}
        assert history[f"over repeats/{key}.{place}"] == alone, "one step for each repeat"
        assert history[f"{key}.{place}"] == {0: found["metrics"][key]}
        for end in ("low", "high", "std"):
            assert history[f"uncertainty/{key}_{end}.{place}"] == {0: found["metrics"][f"{key}_{end}"]}

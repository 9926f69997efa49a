"""``dvc repro`` with TRAC and fidelity: what runs again, what does not, and what is shown."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import REPRO, SCORES, Checkout, make_checkout
from tests.tracking.dump import dump

pytestmark = pytest.mark.slow

MODEL = "regions_medium"
TRAC = f"trac@beetles-{MODEL}"
DESCRIBE = f"describe@beetles-{MODEL}"


def with_descriptions(params: dict[str, Any]) -> None:
    params["run"] |= {"datasets": ["my_images", "beetles"], "trac": ["beetles"], "fidelity": ["my_images"]}
    params["run"] |= {"genception": [], "descriptions": ["plain", "shown"], "text_encoders": ["tfidf", "words"]}
    params["datasets"]["beetles"] = {"provider": "beetles", "support_per_label": 4, "test_per_label": 2}
    prompt = params["descriptions"]["features_by_words"]["prompt"]
    shown = {"choose": "similar_image", "encoder": "layout", "shots": [1]}
    params["descriptions"]["plain"] = {"prompt": prompt, "max_tokens": [60, 5]}
    params["descriptions"]["shown"] = {"prompt": prompt, "demonstrations": shown}
    params["encoders"]["words"] = {"provider": "tfidf"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("described"))
    checkout.params(with_descriptions)
    checkout.commit("descriptions")
    checkout.repro()
    checkout.commit("scores")
    return checkout


@pytest.fixture
def described(made: Checkout, tmp_path: Path) -> Checkout:
    """To be changed, and not in MLflow yet."""
    return made.copy(tmp_path / "checkout")


def score(root: Path, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "reports/scores" / path / "score.json").read_text(encoding="utf-8"))
    return found


def test_from_the_labelled_set_to_the_tables(described: Checkout) -> None:
    root = described.root
    found = score(root, f"trac/beetles/{MODEL}/plain/tfidf")
    assert found["metrics"]["top1"] > 5 * found["metrics"]["chance"]
    by_length = {row["max_tokens"]: row for row in found["groups"]["condition"].values()}
    assert found["inputs"]["protocol"]["max_tokens"] == [60, 5]
    assert by_length.keys() == {60, 5}
    few_words = by_length[5]
    assert few_words["top1"] < found["metrics"]["top1"] / 3
    assert few_words["words"] == 5
    shown = score(root, f"trac/beetles/{MODEL}/shown/words")
    assert sorted(row["shots"] for row in shown["groups"]["condition"].values()) == [0, 1]
    faithful = score(root, f"fidelity/my_images/{MODEL}/painter/layout")
    assert faithful["metrics"]["ssim"] > 0
    assert "no text tower" in faithful["absent"]["clip_s"]
    board = (root / "reports/leaderboard.md").read_text(encoding="utf-8")
    assert "trac on beetles" in board
    assert "fidelity on my_images" in board
    Image.open(root / "reports/chains.png").verify()
    said = described.run("driftledger", "audit", f"{MODEL}/painter/layout", "--full").stdout
    assert "trac on beetles" in said
    assert "fidelity on my_images" in said

    described.run("driftledger", "track")
    [run] = dump(f"sqlite:///{root}/mlflow.db", "driftledger")["runs"]
    of = {trace["name"]: trace["spans"] for trace in run["traces"]}
    assert [step[0] for step in of["redrawing"]] == ["redrawing", "describe 1", "redraw 1"]
    whole, asked, found = of["description"]
    assert found[0].startswith("nearest by ")
    assert whole[4]["description"] == asked[4]["description"]
    assert {"label", "taken for", "by class mean", "nearest"} <= whole[4].keys()

    before = described.outputs()
    assert described.repro() == ["resolve"]
    assert described.outputs() == before


def test_a_change_runs_what_it_concerns_and_nothing_else(described: Checkout) -> None:
    described.params(lambda params: params["encoders"]["words"].update(ngrams=3))
    ran = described.repro(*SCORES)
    assert [name for name in ran if "@" in name] == [f"{TRAC}-plain-words", f"{TRAC}-shown-words"]

    described.params(lambda params: params["encoders"]["layout"].update(batch_size=7))
    ran = described.repro(*SCORES)
    concerned = {f"{DESCRIBE}-shown", f"fidelity@my_images-{MODEL}-painter-layout"}  # by examples, and by the encoder
    assert {name for name in ran if "@" in name} - {f"{TRAC}-shown-tfidf", f"{TRAC}-shown-words"} == concerned

    described.params(lambda params: params["trac"].update(min_coverage=0.5))
    assert {name.partition("@")[0] for name in described.repro()} <= {"resolve", "trac", "correlation", "report"}


def test_people_rate_descriptions_and_the_scores_say_how_that_agrees(described: Checkout) -> None:
    missing = described.run("driftledger", "ratings", "sheet", "my_images", check=False)
    assert missing.returncode == 2
    assert "fidelity.ratings in params.yaml names no file" in missing.stderr
    described.params(lambda params: params["fidelity"].update(ratings="ratings.csv"))
    said = described.run("driftledger", "ratings", "sheet", "my_images", "--samples", "5", "--rater", "anna").stdout
    assert said.startswith("ratings.csv: 5 descriptions to rate, 0 rated")
    assert "Completely Faithful" in said
    sheet = described.root / "ratings.csv"
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for rating, row in enumerate(rows, 1):
        row["rating"] = str(rating)
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ran = described.repro(*SCORES)
    assert [name for name in ran if "@" in name] == [f"fidelity@my_images-{MODEL}-painter-layout"]
    found = score(described.root, f"fidelity/my_images/{MODEL}/painter/layout")
    assert found["metrics"]["human"] == 3.0
    assert found["groups"]["agreement"]["ssim"]["n"] == 5
    assert found["details"]["ratings"] == {"raters": 1, "stale": 0, "used": 5}


def test_trac_over_unlabelled_images_is_one_sentence(checkout: Checkout) -> None:
    def unlabelled(params: dict[str, Any]) -> None:
        params["run"] |= {"trac": ["my_images"], "descriptions": ["features"]}

    checkout.params(unlabelled)
    done = checkout.run(*REPRO, "pipelines/trac/dvc.yaml:describe", check=False)
    assert done.returncode != 0
    assert "dataset my_images has no support and test set of labelled samples, which TRAC needs" in done.stderr
    assert not (checkout.root / "data/descriptions").exists()

"""A benchmark that somebody else adds is a folder and an entry point: everything else works with it."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import mlflow
import pytest

from tests.conftest import REPOSITORY, Checkout, draw, shapes_only

pytestmark = pytest.mark.slow

A, B = "regions_medium/painter/layout", "blind/painter/layout"
IMAGES = 8
MODELS = ("regions_medium", "blind")


def selecting_words(params: dict[str, Any]) -> None:
    shapes_only(params)
    params["run"] |= {"genception": [], "words": ["my_images"], "models": ["regions_medium", "blind"]}
    params["words"] = {
        "prompt": "Describe it.",
        "min_coverage": 0.9,
        "confidence": 0.95,
    }


def install(site: Path) -> None:
    """What an installed distribution is: a package, and beside it the entry points that it names."""
    about = site / "driftledger_words-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: driftledger-words\nVersion: 1.0\n", encoding="utf-8")
    entry = "[driftledger.benchmarks]\nwords = tests.words.spec:Words\n"
    (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    shutil.copytree(REPOSITORY / "tests" / "words", site / "tests" / "words")
    (site / "tests" / "__init__.py").touch()


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, dict[str, Any]]:
    """A checkout that selects words alone, and what ``plan`` says before anything is asked."""
    folder = tmp_path_factory.mktemp("words")
    install(folder / "site")
    (folder / "checkout").mkdir()
    checkout = Checkout(folder / "checkout", folder / "state")
    checkout.fill()
    checkout.env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder / "site"), os.environ.get("PYTHONPATH"))))
    for number in range(IMAGES):
        draw(checkout.root / "my_images" / f"{number}.png", number)
    checkout.params(selecting_words)
    checkout.commit("words")
    checkout.repro("data")
    return checkout, json.loads(checkout.run("driftledger", "plan", "--json").stdout)


@pytest.fixture(scope="module")
def words(planned: tuple[Checkout, dict[str, Any]]) -> Checkout:
    """The same, evaluated and committed."""
    checkout = planned[0]
    checkout.run("dvc", "repro")
    checkout.commit("evaluated")
    return checkout


def score_files(checkout: Checkout) -> dict[str, Path]:
    """Model → its score file."""
    return {model: checkout.root / f"reports/scores/{model}/words/my_images/score.json" for model in MODELS}


def scores(checkout: Checkout) -> dict[str, float]:
    """Model → its mean number of words, as the score files have it."""
    return {model: json.loads(file.read_bytes())["metrics"]["words"] for model, file in score_files(checkout).items()}


def test_its_calls_are_planned(planned: tuple[Checkout, dict[str, Any]]) -> None:
    to_make = {name: each["to_make"] for name, each in planned[1].items()}
    assert to_make == {"models.regions_medium": IMAGES, "models.blind": IMAGES, "generators.painter": 0}


def test_it_is_collected_and_scored(words: Checkout) -> None:
    means = {}
    for model in MODELS:
        records = words.root / f"data/records/{model}/words/my_images/records.jsonl"
        lines = records.read_text(encoding="utf-8").splitlines()
        counts = [len(json.loads(line)["text"].split()) for line in lines]
        assert len(counts) == IMAGES
        means[model] = sum(counts) / IMAGES
    assert scores(words) == means
    assert means["regions_medium"] != means["blind"]


def test_mlflow_has_it(words: Checkout) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{words.root / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("driftledger")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert {run.data.params["model"]: run.data.metrics["words/my_images"] for run in runs} == scores(words)


def test_the_leaderboard_shows_it(words: Checkout) -> None:
    table = (words.root / "reports" / "leaderboard.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if "regions_medium" in line or "blind" in line]
    for model, value in scores(words).items():
        assert any(model in row and f"{value:.1f}" in row for row in rows), table


def test_audit_leads_back_from_its_number(words: Checkout) -> None:
    found = json.loads(words.run("driftledger", "audit", f"{A}:words/my_images/words", "--json").stdout)
    text = json.dumps(found)
    assert "the mean number of words of a description" in text
    assert "data/records/regions_medium/words/my_images" in text
    assert repr(scores(words)["regions_medium"]) in text


def test_two_models_are_compared(words: Checkout) -> None:
    found = json.loads(words.run("driftledger", "compare", A, B, "--json").stdout)
    [pair] = found["pairs"]
    [metric] = pair["metrics"]
    assert (pair["benchmark"], metric["metric"], metric["common"]) == ("words", "words", IMAGES)
    assert found["comparable"]
    assert metric["difference"] == pytest.approx(scores(words)["blind"] - scores(words)["regions_medium"])


def test_a_falsified_number_is_found(words: Checkout, tmp_path: Path) -> None:
    said = words.run("driftledger", "verify", A).stdout.splitlines()[-2]
    assert "all holds" in said
    made_up = words.copy(tmp_path / "checkout")
    file = score_files(made_up)["regions_medium"]
    content = json.loads(file.read_bytes())
    content["metrics"]["words"] += 1
    file.write_text(json.dumps(content), encoding="utf-8")
    made_up.run("dvc", "commit", "--force")
    done = made_up.run("driftledger", "verify", A, check=False)
    assert done.returncode == 1
    assert "words" in done.stdout


def test_its_calls_are_made_again(words: Checkout) -> None:
    said = words.run("driftledger", "verify", A, "--regenerate", "2").stdout
    assert "all holds" in said.splitlines()[-2]

"""DVC's own views of the default selection fit a terminal, and say in plain words what an experiment changed."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import METRICS, Score
from driftledger.benchmarks.writing import dvc_metrics
from driftledger.commands.resolve import resolve
from driftledger.core.files import write_json
from driftledger.project.project import Project
from driftledger.reports.report import write_plots
from tests.conftest import REPOSITORY, Checkout
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import genception_score
from tests.support.question_ledgers import question_score

pytestmark = pytest.mark.slow

TERMINAL = 200
"""Columns."""

MADE: Mapping[str, Callable[..., Score]] = {
    "genception": genception_score,
    "trac": trac_score,
    "fidelity": fidelity_score,
    **{name: lambda name=name, **changes: question_score(name, **changes) for name in ("mm_sap", "mm_vet", "mme")},
}


def scores_of(project: Project) -> list[Score]:
    """A hand-written score for each that is selected, with a value for every metric of its table but those that the
    embedded encoder cannot give."""
    made = []
    for number, (spec, keys) in enumerate(project.selected.scores):
        score = MADE[spec.name]()
        named = [re.sub(r"\{(\w+)\}", lambda found: "5" if found[1] == "t" else found[1], m.key) for m in spec.metrics]
        metrics = {key: 100.0 / (number + 3) for key in named if key not in score.absent}
        made.append(score.model_copy(update={"keys": dict(keys), "metrics": metrics}))
    return made


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository's own settings and pipelines, committed, with scores as if all of it had been evaluated."""
    folder = tmp_path_factory.mktemp("viewed")
    (folder / "checkout").mkdir()
    checkout = Checkout(folder / "checkout", folder / "state")
    checkout.fill()
    project = Project(checkout.root)
    resolve(project)
    scores = scores_of(project)
    for score in scores:
        spec = benchmark(score.benchmark)
        write_json(checkout.root / spec.scores.at(score.keys) / METRICS, dvc_metrics(spec, score))
    write_plots(project.paths.plots, scores)
    for template in (REPOSITORY / ".dvc" / "plots").glob("*.json"):
        target = checkout.root / ".dvc" / "plots" / template.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(template.read_bytes())
    checkout.commit("all scores")
    return checkout


def shown(checkout: Checkout, *arguments: str) -> list[str]:
    """The lines that a command prints, of which none is wider than a terminal."""
    lines = checkout.run("dvc", *arguments, COLUMNS=str(TERMINAL)).stdout.splitlines()
    assert max(map(len, lines)) <= TERMINAL
    return lines


def test_metrics_have_a_row_per_score(viewed: Checkout) -> None:
    head, *rows = shown(viewed, "metrics", "show")
    selected = Project(viewed.root).selected.scores
    assert len(rows) == len(selected) == 42
    assert head.split() == [
        *("Path", "answer_accuracy", "answer_rate", "coverage", "gc_at_5", "score", "ssim", "top1", "total")
    ]
    paths = {row.split()[0] for row in rows}
    assert paths == {f"{spec.scores.at(keys)}/metrics.json" for spec, keys in selected}


def test_numbers_alone_are_metrics(viewed: Checkout) -> None:
    for spec, keys in Project(viewed.root).selected.scores:
        content = json.loads((viewed.root / spec.scores.at(keys) / METRICS).read_bytes())
        assert 1 < len(content) <= 10
        assert all(isinstance(value, float | int) for value in content.values())


def test_plots_are_of_models_side_by_side(viewed: Checkout) -> None:
    shown(viewed, "plots", "show")
    plots: dict[str, Any] = json.loads(viewed.run("dvc", "plots", "show", "--json").stdout)
    assert "errors" not in plots
    drawn = {name: plot["content"] for name, [plot] in plots["data"].items()}
    folder, models = "reports/plots", 6
    steps = {"genception/similarity": 2, "genception/gc": 2, "trac/by_length_top1": 4, "trac/vote": 4}
    expected = {f"{folder}/{name}.json": models * count for name, count in steps.items()}
    points = {name: plot["data"]["values"] for name, plot in drawn.items()}
    assert {name: len(rows) for name, rows in points.items()} == expected | {f"{folder}/mm_sap/scores.json": models}
    for plot in drawn.values():
        assert plot["spec"]["encoding"]["color"]["field"] == "model"
    [row, *_] = points[f"{folder}/mm_sap/scores.json"]
    axes = drawn[f"{folder}/mm_sap/scores.json"]["spec"]["encoding"]
    assert (axes["x"]["field"], axes["y"]["field"]) == ("known_knowns", "known_unknowns")
    assert {"known_knowns", "known_unknowns", "model"} <= row.keys()


def test_an_experiment_is_told_by_what_it_changed(viewed: Checkout, tmp_path: Path) -> None:
    checkout = viewed.copy(tmp_path / "checkout")

    def change(params: dict[str, Any]) -> None:
        params["genception"]["iterations"] = 3
        params["models"]["regions_fine"]["detail"] = "medium"

    checkout.params(change)
    resolve(Project(checkout.root))
    changed = [line.split()[:4] for line in shown(checkout, "params", "diff")]
    assert ["params.yaml", "genception.iterations", "5", "3"] in changed
    assert ["data/resolved.json", "settings.models.regions_fine.detail", "fine", "medium"] in changed
    [path] = checkout.root.glob("reports/scores/genception/*/regions_fine/*/*/metrics.json")
    write_json(path, {"gc_at_3": 0.5, "coverage": 1.0})
    assert any(line.split()[1:4] == ["gc_at_3", "-", "0.5"] for line in shown(checkout, "metrics", "diff"))
    table = "\n".join(
        shown(checkout, "exp", "show", "--no-pager", "--only-changed", "--drop", "^(data/|reports/|named)")
    )
    for said in ("genception.iterations", "settings.models.regions_fine.detail", "fine", "medium"):
        assert said in table

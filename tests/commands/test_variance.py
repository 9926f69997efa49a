"""Where variance comes from, what a run can detect and what it takes to detect more, by the scores in a folder."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from driftledger.benchmarks.score import ROWS, SCORE
from driftledger.commands import stages
from driftledger.commands.design import design, designed
from driftledger.commands.variance import least_detectable, stored_scores, variance
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.registry import OURS
from driftledger.core.terminal import show
from driftledger.project.project import Project
from driftledger.reports.variance import variance_found, write_variance
from tests.benchmarks.test_crossed import chains
from tests.conftest import draw
from tests.support.params import default_params

MODELS, GENERATORS = ("regions_fine", "regions_coarse"), ("painter", "size")
UNITS = [f"{category}{number}" for category in "ab" for number in range(6)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Twelve drawn images, two models that are 0.3 apart, two generators, one encoder; and their scores."""
    monkeypatch.setitem(OURS["generators"], "size", "tests.support.fakes:SizeGenerator")
    for number, unit in enumerate(UNITS):
        draw(tmp_path / "my_images" / unit[0] / f"{unit}.png", number, (20 + number, 30))
    params = default_params()
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "trac": [], "fidelity": []}
    params["run"] |= {"question_sets": [], "mm_sap": [], "mm_vet": [], "mme": []}
    params["run"] |= {"models": [*MODELS, "blind"], "generators": list(GENERATORS)}
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(tmp_path / "my_images")}}
    params["generators"] |= {"size": {"provider": "size"}}
    params["genception"] |= {"iterations": 2, "generate_prompt": "draw {description}", "cross_check": []}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    rng = np.random.default_rng(4)
    for place, model in enumerate((*MODELS, "blind")):
        for generator in GENERATORS:
            values = dict(zip(UNITS, (0.8 - 0.3 * place + 0.05 * rng.normal(size=12)).tolist(), strict=True))
            score, rows = chains(model, generator, "layout", values)
            score = score.model_copy(update={"keys": {**score.keys, "dataset": "my_images"}})
            folder = tmp_path / "reports/scores/genception/my_images" / model / generator / "layout"
            write_json(folder / SCORE, score)
            write_jsonl(folder / ROWS, [row.model_copy(update={"group": row.unit[0]}) for row in rows])
    return Project(tmp_path)


ALL = {"benchmark": None, "metric": None}


def test_variance_of_what_is_selected_without_controls(project, capsys):
    show(variance(project, (), **ALL, in_json=False))
    said = capsys.readouterr().out
    assert "GC@2 of genception on my_images comes from" in said
    [found] = json.loads(str(variance(project, (), **ALL, in_json=True)))
    assert found["levels"] == {"model": list(MODELS), "generator": list(GENERATORS)}
    assert (found["samples"], found["categories"], found["repeats"]) == (12, 2, 1)
    by_term = {tuple(each["of"]): each for each in found["components"]}
    assert by_term["model",]["variance"] == pytest.approx(0.3**2 / 2, rel=0.3)
    noise = by_term["model", "generator", "sample"]
    assert noise["low"] < noise["variance"] < noise["high"]
    assert noise["variance"] == pytest.approx(0.05**2, rel=0.7)
    assert found["minimum_detectable_difference"] < 0.1


def test_runs_are_named_with_stars(project):
    assert len(stored_scores(project, ["*/painter/layout"])) == 3
    assert len(stored_scores(project, ["regions_*/*/*", "regions_fine/painter/layout"])) == 4
    found = variance_found(stored_scores(project, ["*/painter/*"]))
    assert found.crossed.levels == {"model": ("blind", "regions_coarse", "regions_fine")}
    for run in ("regions_fine", "../../x/y", "regions_fine/painter/.."):
        with pytest.raises(ConfigError, match="names no run"):
            stored_scores(project, [run])
    with pytest.raises(ConfigError, match="no stored score is of a run 'nobody/painter/layout'"):
        stored_scores(project, ["nobody/painter/layout"])


def test_what_cannot_be_decomposed_is_said(project):
    with pytest.raises(LedgerError, match="nothing varies over one score"):
        variance(project, ["regions_fine/painter/layout"], **ALL, in_json=False)
    with pytest.raises(LedgerError, match="no metric 'gc_at_7' whose values rows hold"):
        variance(project, (), benchmark="genception", metric="gc_at_7", in_json=False)
    with pytest.raises(LedgerError, match="no score is stored; run 'dvc repro'"):
        variance(project, (), benchmark="mme", metric=None, in_json=False)


def test_a_design_says_how_many_images_and_what_they_ask(project, capsys):
    made = designed(project, (), detect=0.02, power=0.8, **ALL)
    assert made.per_image is None  # the dataset is not built
    stages.dataset(project, "my_images")
    made = designed(project, (), detect=0.02, power=0.8, **ALL)
    assert [each.generators for each in made.options] == [1, 2, 3, 4]
    images = [each.images for each in made.options]
    assert all(count % 2 == 0 for count in images)
    assert images == sorted(images, reverse=True)
    assert made.options[0].least < images[0] < made.options[0].most
    assert made.per_image.calls == pytest.approx(2 + 2)  # T describes, T draws
    assert made.calls(made.options[1]) == pytest.approx(4 * images[1] * 2 * 2)
    show(design(project, (), detect=0.02, power=0.8, **ALL, in_json=False))
    assert "To find a difference of 0.02 in GC@2 of genception on my_images" in capsys.readouterr().out
    told = json.loads(str(design(project, (), detect=0.02, power=0.8, **ALL, in_json=True)))
    assert told["options"][0]["images"] == images[0]
    for wrong in ({"detect": 0.0, "power": 0.8}, {"detect": 0.1, "power": 1.0}):
        with pytest.raises(ConfigError, match="must be"):
            designed(project, (), **wrong, **ALL)


def test_a_plan_says_what_a_run_of_its_size_can_show(project):
    [before] = least_detectable(project)
    assert "12 samples show a difference of 0.0" in before
    stages.dataset(project, "my_images")
    assert list(least_detectable(project)) == [before]
    for number in range(100):
        draw(project.root / "my_images" / "a" / f"more{number}.png", number, (40, 30 + number))
    stages.dataset(project, "my_images")
    [more] = least_detectable(project)
    assert "112 samples show" in more


def test_the_report_has_tables_numbers_and_a_figure(project, tmp_path):
    write_variance(tmp_path / "out", stored_scores(project, ()))
    text = (tmp_path / "out/variance.md").read_text(encoding="utf-8")
    assert "## GenCeption on my_images" in text
    assert "Without the controls blind." in text
    assert "| model × generator × sample |" in text
    figure = (tmp_path / "out/variance.svg").read_text(encoding="utf-8")
    assert "GenCeption, my_images" in figure
    assert len(json.loads((tmp_path / "out/variance.json").read_bytes())) == 1
    write_variance(tmp_path / "none", [])
    assert "No scores tell" in (tmp_path / "none/variance.svg").read_text(encoding="utf-8")

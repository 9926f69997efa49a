"""What neural scores say of a checkpoint that was trained and of one that was hardly trained."""

import shutil

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.core.files import read_json
from driftledger.project.presets import apply_preset
from driftledger.project.project import Project
from tests.conftest import REPOSITORY
from tests.support.evaluation import build, evaluate
from tests.support.params import DEFAULT

pytestmark = pytest.mark.slow

MODELS = ["trio_llava_early", "trio_llava_final"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The preset ``neural`` with fewer models, evaluated in one process without DVC."""
    root = tmp_path_factory.mktemp("neural")
    shutil.copytree(REPOSITORY / "trio", root / "trio", ignore=shutil.ignore_patterns("lessons"))
    shutil.copy(DEFAULT, root)
    apply_preset(root, "neural")
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params["run"]["models"] = MODELS
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    made = Project(root)
    build(made)
    evaluate(made)
    return made


def metrics(project: Project, name: str, model: str, generator: str, encoder: str) -> dict[str, float]:
    keys = {"dataset": "arrangements", "model": model, "generator": generator, "encoder": encoder}
    return read_json(project.root / benchmark(name).scores.at(keys) / "score.json", Score).metrics


@pytest.mark.parametrize("generator", ["trio_sd_1", "trio_sd_2"])
@pytest.mark.parametrize("encoder", ["layout", "trio_clip"])
def test_the_metrics_rank_the_trained_model_above_the_untrained(project: Project, generator: str, encoder: str) -> None:
    early, final = (metrics(project, "genception", model, generator, encoder) for model in MODELS)
    for t in (1, 2, 3):
        assert final[f"gc_at_{t}_low"] > early[f"gc_at_{t}_high"]
    distance = {"layout": "frechet_layout", "trio_clip": "frechet_open_clip"}[encoder]
    assert final[f"{distance}_at_3"] < early[f"{distance}_at_3"]


def test_fidelity_through_a_clip_that_reads(project: Project) -> None:
    early, final = (metrics(project, "fidelity", model, "trio_sd_2", "trio_clip") for model in MODELS)
    assert final["clip_s"] > early["clip_s"]
    assert final["clip_s_i"] > early["clip_s_i"]

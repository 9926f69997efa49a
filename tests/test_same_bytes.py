"""The default run, whole, as if on other processors: every output is the same file."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.machines import BLAS_KERNELS, NUMPY_LEVELS, OLDEST, environment

pytestmark = pytest.mark.slow

DEFAULT_RUN = """
from pathlib import Path
from driftledger import stages
from driftledger.project import Project
from tests.evaluation import build, evaluate

project = Project(Path.cwd())
build(project)
evaluate(project)
stages.report(project)
"""

SELECTED = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))["run"]
MODELS, QUESTION_SETS = SELECTED["models"], SELECTED["question_sets"]

SCENES = 13
"""One of each theme, where many runs are compared; questions are answered in whole numbers."""
DIGITS = {"support_per_label": 10, "test_per_label": 5}
"""The same."""
FEWER = ["regions_medium", "regions_fine", "random"]
"""Models, there: the others compute nothing that these do not."""

LEVELS = [*NUMPY_LEVELS.items(), ("the oldest of both", OLDEST), *list(BLAS_KERNELS.items())[-3:]]


def outputs_of_default_run(folder: Path, machine: dict[str, str], scenes: int | None = None) -> dict[str, bytes]:
    folder.mkdir()
    params = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    if scenes:
        params["run"]["models"] = FEWER
        params["datasets"]["digits"] |= DIGITS
        for name in QUESTION_SETS:
            params["question_sets"][name]["count"] = scenes
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    env = environment(machine) | {"PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-c", DEFAULT_RUN], cwd=folder, env=env, check=True, timeout=300)
    files = [file for top in ("data", "reports") for file in sorted((folder / top).rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return outputs_of_default_run(tmp_path_factory.mktemp("here") / "run", {})


@pytest.fixture(scope="module")
def fewer_questions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return outputs_of_default_run(tmp_path_factory.mktemp("fewer") / "run", {}, SCENES)


@pytest.mark.parametrize("machine", [machine for _, machine in LEVELS], ids=[name for name, _ in LEVELS])
def test_default_run_gives_the_same_bytes(
    machine: dict[str, str], fewer_questions: dict[str, bytes], tmp_path: Path
) -> None:
    here, there = fewer_questions, outputs_of_default_run(tmp_path / "run", machine, SCENES)
    assert there.keys() == here.keys()
    assert [name for name, content in here.items() if there[name] != content] == []
    assert len(
        [name for name in here if name.startswith(("data/datasets/photos", "data/chains")) and name.endswith(".png")]
    ) == (21 + len(FEWER) * 5 * 21)


def test_at_least_four_levels_were_emulated() -> None:
    assert len(LEVELS) >= 4


def test_the_more_a_model_tells_the_more_survives(here: dict[str, bytes]) -> None:
    drifts = [content for name, content in here.items() if "/genception/" in name and name.endswith("layout.json")]
    scores = [json.loads(content) for content in drifts]
    metrics = {score["model"]: score["metrics"] for score in scores}
    order = [metrics[model] for model in ("regions_fine", "regions_medium", "regions_coarse", "blind")]
    for t in (1, 2, 3, 4, 5):
        for better, worse in pairwise(order):
            assert better[f"gc_at_{t}_low"] > worse[f"gc_at_{t}_high"]


def test_what_is_committed_is_what_this_machine_computes(here: dict[str, bytes]) -> None:
    committed = {name: content for name, content in here.items() if name.startswith("reports/")}
    assert len(committed) == 2 * len(MODELS) * (3 + len(QUESTION_SETS)) + 5
    for name, content in committed.items():
        assert (REPOSITORY / name).read_bytes() == content, f"{name}: run 'make run' and commit what it writes"

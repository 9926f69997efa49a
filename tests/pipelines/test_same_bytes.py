"""The default run in small, as if on other processors: every output is the same file."""

import os
import subprocess
import sys

import pytest
import yaml
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from tests.conftest import REPOSITORY
from tests.support.params import default_params

pytestmark = pytest.mark.slow

DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
"""Features beyond numpy's baseline that this CPU has, in ascending order; a baseline one cannot be
disabled."""

OLD = {
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
NEWER = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_NUM_THREADS": "2",
}
MACHINES = {
    "an old one": OLD | {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)},
    "one without the last features": NEWER
    | {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED[1:])},
}
"""OpenBLAS kernels and numpy's features, as other processors have them."""


DEFAULT_RUN = """
from pathlib import Path
from driftledger.commands import stages
from driftledger.project.project import Project
from tests.support.evaluation import build, evaluate

project = Project(Path.cwd())
build(project)
evaluate(project)
stages.report(project)
"""

SCENES = 13
"""One of each theme."""
DIGITS = {"support_per_label": 10, "test_per_label": 5}
"""The same."""
ITERATIONS, PERMUTATIONS, LENGTHS = 2, 2, [200, 10]
"""What comes later is computed by the same code as what comes first, of images as different as the
first ones."""
MODELS = ["regions_fine", "random"]
"""The others compute nothing that these do not."""


def outputs_of_default_run(folder, machine):
    folder.mkdir()
    params = default_params()
    params["run"]["models"] = MODELS
    params["datasets"]["digits"] |= DIGITS
    params["genception"]["iterations"] = ITERATIONS
    params["mm_sap"]["permutations"] = PERMUTATIONS
    params["descriptions"]["features_by_words"]["max_tokens"] = LENGTHS
    for name in params["run"]["question_sets"]:
        params["question_sets"][name]["count"] = SCENES
    (folder / "params.yaml").write_text(
        yaml.safe_dump(params, sort_keys=False), encoding="utf-8"
    )
    emulation = ("OPENBLAS_", "NPY_", "OMP_", "MKL_")
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(emulation)
    } | machine
    env |= {"PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY / "src", REPOSITORY)))}
    subprocess.run(
        [sys.executable, "-c", DEFAULT_RUN],
        cwd=folder,
        env=env,
        check=True,
        timeout=1800,
    )
    files = [
        file
        for top in ("data", "reports")
        for file in sorted((folder / top).rglob("*"))
        if file.is_file()
    ]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return outputs_of_default_run(tmp_path_factory.mktemp("here") / "run", {})


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_default_run_gives_the_same_bytes(machine, here, tmp_path):
    there = outputs_of_default_run(tmp_path / "run", machine)
    assert there.keys() == here.keys()
    assert [name for name, content in here.items() if there[name] != content] == []
    assert len(
        [
            name
            for name in here
            if name.startswith(("data/datasets/photos", "data/records"))
            and "/fidelity/" not in name
            and name.endswith(".png")
        ]
    ) == (21 + len(MODELS) * ITERATIONS * 21)

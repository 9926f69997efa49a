"""Further checkouts of a repository: they repeat no call, and show their runs in its one MLflow."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Checkout

pytestmark = pytest.mark.slow

STAGES = (
    "resolve",
    "pipelines/genception/dvc.yaml:chain@my_images-regions_medium-painter",
    "pipelines/genception/dvc.yaml:genception@my_images-regions_medium-painter-layout",
    "track",
)
"""What another number of iterations changes, but for the report."""
CHAIN = ("driftledger", "stage", "genception", "chain", "my_images", "regions_medium", "painter")


def calls(root: Path) -> tuple[int, int]:
    """How many are stored, and how often they were made in all."""
    with closing(sqlite3.connect(root / ".driftledger" / "calls.db")) as db:
        stored, made = db.execute("SELECT count(*), max(rowid) FROM calls").fetchone()
        return stored, made


def runs(root: Path) -> list[str]:
    with closing(sqlite3.connect(root / "mlflow.db")) as db:
        return [
            name
            for (name,) in db.execute("SELECT name FROM runs JOIN tags USING (run_uuid) WHERE key = 'mlflow.runType'")
        ]


def test_an_experiment_and_a_worktree_go_on_from_the_main_checkout(evaluated: Checkout, tmp_path: Path) -> None:
    evaluated.commit("results")
    before = calls(evaluated.root)
    assert before == (8 * 2 * 2, 8 * 2 * 2)
    evaluated.run("dvc", "exp", "run", "--temp", "--set-param", "genception.iterations=3", "--single-item", *STAGES)
    after = calls(evaluated.root)
    assert after == (8 * 3 * 2, 8 * 3 * 2)
    assert runs(evaluated.root) == ["regions_medium · painter · layout"]
    assert len(list((evaluated.root / "mlartifacts").iterdir())) > 0

    evaluated.git("worktree", "add", "--quiet", str(tmp_path / "further"))
    further = Checkout(tmp_path / "further", evaluated.state)
    further.run("driftledger", "stage", "dataset", "my_images")
    further.run(*CHAIN)
    assert calls(evaluated.root) == after
    assert not (further.root / ".driftledger" / "calls.db").exists()
    mine, theirs = (each.root / "data/chains/my_images/regions_medium/painter" for each in (further, evaluated))
    drawn = [
        {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.png")}
        for folder in (mine, theirs)
    ]
    assert drawn[0] == drawn[1]

"""``init`` in somebody's repository: their stages, params and MLflow are untouched, ours run beside
them."""

import json
import sqlite3
from collections import Counter

import pytest
import yaml

from tests.conftest import Checkout, draw, stages_run

THEIRS = {
    "dvc.yaml": (
        "stages:\n  train:\n    cmd: cp params.yaml model.txt\n    params: [lr]\n    outs: "
        "[model.txt]\n  score:\n    cmd: wc -c model.txt > metrics.txt\n    deps: [model.txt]\n   "
        " metrics: [metrics.txt]\n"
    ),
    "params.yaml": "lr: 0.1\n",
    "etl.py": "print()\n",
    "MLproject": "name: theirs\n",
    ".dvc/config": "",
    ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n",
    ".gitignore": "/mlflow.db\n",
}
OURS = "evaluation"


def theirs(root):
    """Return name → bytes of their files, without those of Git and of DVC's work."""
    left_out = f"{OURS}/", ".git/", ".dvc/tmp/"
    files = {
        path.relative_to(root).as_posix(): path
        for path in root.rglob("*")
        if path.is_file()
    }
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if not name.startswith(left_out)
    }


@pytest.mark.slow
def test_nothing_of_theirs_is_touched_and_both_run(tmp_path):
    root = tmp_path / "theirs"
    top, own = (
        Checkout(root, tmp_path / "state"),
        Checkout(root / OURS, tmp_path / "state"),
    )
    for name, text in THEIRS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    with sqlite3.connect(root / "mlflow.db") as database:
        database.execute("create table experiments (name text)")
    top.git("init", "--quiet")
    for name, value in (("user.name", "tests"), ("user.email", "tests@localhost")):
        top.git("config", name, value)
    assert stages_run(top.run("dvc", "repro").stdout) == ["train", "score"]
    top.commit("theirs")
    before = theirs(root)

    for number in range(2):
        draw(root / OURS / "photos" / f"{number}.png", number)
    said = top.run(
        "driftledger", "init", OURS, "--images", f"{OURS}/photos", "--preset", "minimal"
    ).stdout
    assert f"{OURS} is a project now" in said
    assert f"  cd {OURS}" in said
    top.commit("evaluation")
    ran = stages_run(own.run("dvc", "repro").stdout)
    assert {"resolve", "data", "report", "track"} < {*ran}
    assert not {"train", "score"} & {*ran}
    drawn = [
        path
        for path in (root / OURS / "data/records").rglob("*")
        if path.suffix == ".png"
    ]
    # also store and cache; drawings with the same bytes are one file
    alike = Counter(path.read_bytes() for path in drawn)
    for path in drawn:
        links = 2 + alike[path.read_bytes()]
        assert (path.stat().st_nlink, path.stat().st_mode & 0o222) == (links, 0)
    audited = json.loads(
        own.run("driftledger", "audit", "regions_fine/painter/layout", "--json").stdout
    )
    assert audited
    assert own.run("driftledger", "upgrade", "--check").stdout == ""
    assert (
        "every file is as driftledger writes it"
        in own.run("driftledger", "upgrade").stdout
    )
    assert (root / OURS / "mlflow.db").is_file()
    assert ".driftledger" not in top.git(
        "status", "--porcelain", "--untracked-files=all"
    )
    top.commit("evaluated")

    assert stages_run(top.run("dvc", "repro").stdout) == []
    assert theirs(root) == before
    assert OURS not in top.run("dvc", "status").stdout
    top.params(lambda params: params.update(lr=0.2))
    assert stages_run(top.run("dvc", "repro").stdout) == ["train", "score"]
    assert yaml.safe_load((root / OURS / "params.yaml").read_text(encoding="utf-8"))[
        "run"
    ]["datasets"] == ["photos"]
    assert stages_run(own.run("dvc", "repro").stdout) == ["resolve"]

"""What a command imports: its start is most of what a short one takes."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import Checkout
from tests.support.params import default_params

RUN = "import sys; from driftledger.cli import main; sys.argv = ['driftledger', *sys.argv[1:]]\n"
TELL = "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"

MODELS = frozenset({"pydantic", "numpy", "PIL", "yaml", "importlib.metadata", "filelock"})
"""What it takes to read settings and records."""

PAGES = frozenset({"jinja2", "matplotlib", "pandas", "pyarrow"})
LARGE = PAGES | {"mlflow", "sqlalchemy", "torch", "sklearn", "skimage", "datasets", "requests", "git"}


def loaded(folder: Path, *arguments: str, code: int = 0) -> set[str]:
    """All modules that are loaded when the command ends."""
    done = subprocess.run([sys.executable, "-c", RUN + TELL, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr[-2000:]
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_is_told_without_any_settings_or_benchmarks(option: str, tmp_path: Path) -> None:
    found = loaded(tmp_path, option)
    assert "driftledger.cli" in found
    assert not found & (LARGE | MODELS | {"scipy", "dvc", "pygit2"})
    assert not [name for name in found if name.startswith("driftledger.benchmarks.") and name.endswith(".spec")]
    assert {name for name in found if name.startswith(("driftledger.project", "driftledger.commands."))} == {
        "driftledger.commands.people"
    }


def test_a_stage_starts_with_settings_alone(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(default_params()))
    found = loaded(tmp_path, "stage", "score", "nobody", code=2)
    assert "driftledger.project.settings" in found
    assert not found & (LARGE | {"scipy", "dvc", "pygit2", "rich.table"})
    assert not [name for name in found if name.startswith(("driftledger.reports", "driftledger.tracking.store"))]


@pytest.mark.slow
def test_whoever_asks_of_an_evaluated_checkout_waits_for_no_mlflow(finished: Checkout) -> None:
    root = finished.root
    selected = yaml.safe_load((root / "params.yaml").read_text())["run"]
    run = "/".join(selected[key][0] for key in ("models", "generators", "encoders"))
    assert not loaded(root, "audit", run) & (LARGE | {"scipy", "dvc"})
    assert not loaded(root, "compare", run, run, "--anyway") & LARGE
    assert not loaded(root, "plan") & (LARGE | {"scipy.special"})
    assert not loaded(root, "verify", run) & {"mlflow", "sqlalchemy", "torch", "requests", "matplotlib.pyplot"}

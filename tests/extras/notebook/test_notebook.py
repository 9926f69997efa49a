"""The notebook in ``examples/`` and the page on Python run as they stand, where a project is around
them."""

import doctest
import time

import nbclient
import nbformat
import pytest

from tests.conftest import REPOSITORY

NOTEBOOK = REPOSITORY / "examples" / "own_images.ipynb"
SCORERS = REPOSITORY / "examples" / "mlflow_scorers.ipynb"
PAGE = REPOSITORY / "docs" / "python.md"
SECONDS = 60


@pytest.mark.parametrize("path", [NOTEBOOK, SCORERS])
def test_a_notebook_is_in_git_without_what_came_of_it(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell for cell in code if cell.outputs or cell.execution_count] == []
    assert "/home" not in path.read_text(encoding="utf-8")


@pytest.fixture
def own_settings(tmp_path, monkeypatch):
    for name in (
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
    ):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.mark.slow
def test_the_notebook_on_mlflow_goes_from_an_app_to_a_version(
    own_settings, tmp_path, monkeypatch
):
    monkeypatch.setenv("DRIFTLEDGER_STORE", str(tmp_path / "calls"))
    done = nbclient.NotebookClient(
        nbformat.read(SCORERS, as_version=4),
        timeout=SECONDS,
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert '"generator": "painter"' in done.cells[-1].outputs[0].text


@pytest.mark.slow
def test_the_notebook_goes_from_own_images_to_a_table_and_pictures(
    own_settings, evaluated
):
    folder = evaluated.root / "examples"
    folder.mkdir(exist_ok=True)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    began = time.monotonic()
    done = nbclient.NotebookClient(
        notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}
    ).execute()
    assert time.monotonic() - began < SECONDS
    shown = {
        cell.id: [output.data for output in cell.outputs if "data" in output]
        for cell in done.cells
        if cell.cell_type == "code"
    }
    [look], [chains], [runs], [scores] = (
        shown[name] for name in ("look", "chains", "project", "scores")
    )
    assert "GC@3" in look["text/html"]
    assert chains["text/html"].count('src="data:image/webp;base64,') == 8
    assert shown["metric"][0]["text/plain"] == "np.True_"
    assert "regions_medium" in runs["text/html"]
    assert "GC@2" in scores["text/html"]


@pytest.mark.slow
def test_what_the_page_on_python_says_is_so(finished, monkeypatch):
    monkeypatch.chdir(finished.root)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    result = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS, verbose=False
    )
    assert result.failed == 0
    assert result.attempted > 20

"""Projects that the tests share: each is evaluated once for all processes of a session, and never changed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.acceptance.checkout import Checkout, init, with_images

EVALUATED = "DRIFTLEDGER_EVALUATED"

Make = Callable[[Path], Checkout]


def pytest_configure() -> None:
    os.environ.update(DVC_NO_ANALYTICS="1", MLFLOW_DISABLE_TELEMETRY="true", OMP_NUM_THREADS="1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the default run as slow, unless it is there already."""
    for item in items:
        ours = item.path.is_relative_to(Path(__file__).parent)
        if ours and "evaluated" in getattr(item, "fixturenames", ()) and EVALUATED not in os.environ:
            item.add_marker(pytest.mark.slow)


def shared(factory: pytest.TempPathFactory, name: str, make: Make) -> Checkout:
    """The project that ``make`` makes in a folder, made by whoever of the session's processes comes first."""
    top = factory.getbasetemp()
    folder = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / name
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "finished").exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            (folder / "finished").touch()
    return Checkout(folder / "project", folder / "state")


def _default(folder: Path) -> Checkout:
    project = init(folder, "--preset", "default")
    project.driftledger("run")
    project.commit("the default run")
    return project


def _small(folder: Path) -> Checkout:
    project = with_images(folder, 4)
    project.params(lambda params: params["genception"].update(iterations=2))
    project.driftledger("run")
    project.commit("a small run")
    return project


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The default project with all its results, for tests that only read files."""
    if named := os.environ.get(EVALUATED):
        return Checkout(Path(named).resolve(), tmp_path_factory.mktemp("state"))
    return shared(tmp_path_factory, "default", _default)


@pytest.fixture(scope="session")
def evaluated_copy(evaluated: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A committed copy of it, for tests that run commands which change none of its results."""
    copied = evaluated.copy(tmp_path_factory.mktemp("copy"))
    copied.commit("results")
    return copied


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Four drawn images, two embedded models, two iterations; evaluated, committed, and to be copied."""
    return shared(tmp_path_factory, "small", _small)

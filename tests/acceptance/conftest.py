"""Projects that the tests share: each is evaluated once for all processes of a session, and never
changed."""

import os
from pathlib import Path

import pytest

from tests.acceptance.checkout import Checkout, init, made_once, with_images

EVALUATED = "DRIFTLEDGER_EVALUATED"


def pytest_configure():
    os.environ.update(
        DVC_NO_ANALYTICS="1", MLFLOW_DISABLE_TELEMETRY="true", OMP_NUM_THREADS="1"
    )


def pytest_collection_modifyitems(items):
    """Mark tests that need the default run as slow, unless its results are given."""
    for item in items:
        ours = item.path.is_relative_to(Path(__file__).parent)
        if (
            ours
            and "evaluated" in getattr(item, "fixturenames", ())
            and EVALUATED not in os.environ
        ):
            item.add_marker(pytest.mark.slow)


def _shared(folder):
    return Checkout(folder / "project", folder / "state")


def _default(folder):
    project = init(folder, "--preset", "default")
    project.driftledger("run")
    project.commit("the default run")
    return project


def _small(folder):
    project = with_images(folder, 4)
    project.params(lambda params: params["genception"].update(iterations=2))
    project.driftledger("run")
    project.commit("a small run")
    return project


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory):
    """Return the evaluated default project, for tests that only read files."""
    if named := os.environ.get(EVALUATED):
        return Checkout(Path(named).resolve(), tmp_path_factory.mktemp("state"))
    return _shared(made_once(tmp_path_factory, "default", _default))


@pytest.fixture(scope="session")
def evaluated_copy(evaluated, tmp_path_factory):
    """Copy and commit that project, for commands that change none of its results."""
    copied = evaluated.copy(tmp_path_factory.mktemp("copy"))
    copied.commit("results")
    return copied


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Evaluate two models on four drawn images in two iterations, to be copied."""
    return _shared(made_once(tmp_path_factory, "small", _small))

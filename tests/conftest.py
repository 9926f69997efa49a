"""What all tests share: drawn images, and whole checkouts to run DVC in."""

import atexit
import gc
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from driftledger.benchmarks.registry import benchmark_names
from tests.acceptance.checkout import Folder, draw, made_once
from tests.extras import MISSING
from tests.sentence import sentence as sentence
from tests.support.params import DEFAULT

REPOSITORY = Path(__file__).parent.parent
EXTRAS = Path(__file__).parent / "extras"
TRACKED = ("dvc.yaml", "MLproject", ".dvcignore", ".gitignore")
DVC_CONFIG = """\
[core]
    analytics = false
    check_update = false
    autostage = false
"""
"""This repository's own, without the remote that a user gives it."""


def pytest_configure():
    settings.register_profile(
        "few",
        derandomize=True,
        max_examples=20,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("few")
    # with it, each command that tests run compiles all sources again
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # tests run beside each other: with more, they wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.update(
        DVC_NO_ANALYTICS="1",
        HF_HUB_OFFLINE="1",
        MLFLOW_DISABLE_TELEMETRY="true",
        NO_PROXY="127.0.0.1,localhost",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep Python from looking for garbage in what exists once all tests are collected.

    It holds thousands of tests and torch, and each full collection walks through it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # libraries that look for leaks at the end find none
        atexit.register(gc.unfreeze)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Search only files that hold an example for doctests."""
    collectors = yield
    if b">>> " in file_path.read_bytes():
        return collectors
    return [each for each in collectors if not isinstance(each, DoctestModule)]


# as a shell leaves it for what it starts with &
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = [f"extras/{folder}" for folder in MISSING]


def pytest_terminal_summary(terminalreporter):
    """Name the folders of tests that were left out."""
    for folder, libraries in MISSING.items():
        terminalreporter.write_line(
            f"SKIPPED tests/extras/{folder}: {', '.join(libraries)} not installed"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests of optional libraries as slow, and put files with slow tests first.

    No worker is then left alone with a long file at the end. Of the files that need the default
    run, one goes first and the others last, so that no worker waits while another makes it.
    """
    for item in items:
        if EXTRAS in item.path.parents:
            item.add_marker("slow")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    acceptance = [
        item
        for item in items
        if item.path.parent.name == "acceptance" and item.get_closest_marker("slow")
    ]
    default = list(
        dict.fromkeys(
            item.path
            for item in acceptance
            if "evaluated" in getattr(item, "fixturenames", ())
        )
    )
    items.sort(key=lambda item: (item.path not in slow, item.path in default[1:]))


@pytest.fixture(scope="module", autouse=True)
def _no_search_for_garbage_of_other_files():
    """Keep Python from looking for garbage in what earlier files imported and made."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Keep caches of checkouts and files in a folder of this session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


class Checkout(Folder):
    """A Git repository with a copy of the project."""

    def __init__(self, root, state):
        super().__init__(root, state)
        self.state = state

    def fill(self):
        """Make the repository."""
        for name in TRACKED:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, self.root / name)
        shutil.copy(DEFAULT, self.root)
        (self.root / ".dvc").mkdir()
        (self.root / ".dvc" / "config").write_text(DVC_CONFIG, encoding="utf-8")
        self.git("init", "--quiet")

    def copy(self, root):
        """Copy the checkout to another folder, without its MLflow, which knows its place."""
        shutil.copytree(self.root, root, symlinks=True)
        other = Checkout(root, self.state)
        other.env = dict(self.env)
        for store in other.root.glob("mlflow.db*"):
            store.unlink()
        return other

    def repro(self, *targets, **more):
        """Evaluate up to the report, or up to ``targets``, and return the stages that ran.

        MLflow is left out: ``track`` always runs, and takes longer than a small change.
        """
        return stages_run(
            self.run("dvc", "repro", *(targets or ("report",)), **more).stdout
        )

    def outputs(self):
        """Return path → bytes of ``dvc.lock`` and of all that stages wrote."""
        files = [
            *(self.root / "data").rglob("*"),
            *(self.root / "reports").rglob("*"),
            self.root / "dvc.lock",
        ]
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(files)
            if file.is_file()
        }


def stages_run(output):
    """Return the stages that ``dvc repro`` says it has run."""
    return re.findall(r"Running stage '([^']+)'", output)


def shapes_only(params):
    """Select drawn images, two iterations, one model and GenCeption alone."""
    run = params["run"]
    run |= {name: [] for name in benchmark_names() if name in run}
    run |= {
        "datasets": ["my_images"],
        "genception": ["my_images"],
        "models": ["regions_medium"],
        "question_sets": [],
    }
    params["genception"]["iterations"] = 2


def make_checkout(folder):
    root = folder / "checkout"
    root.mkdir()
    made = Checkout(root, folder / "state")
    made.fill()
    for number in range(8):
        draw(
            root
            / "my_images"
            / ("round" if number % 2 else "square")
            / f"{number}.png",
            number,
        )
    made.params(shapes_only)
    made.commit("a project")
    return made


@pytest.fixture
def checkout(tmp_path):
    """Make a committed checkout of one model and eight drawn images in two categories."""
    return make_checkout(tmp_path)


def _make_evaluated(folder):
    make_checkout(folder).repro()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """Make that checkout after ``dvc repro`` up to the report, to be copied."""
    folder = made_once(tmp_path_factory, "evaluated", _make_evaluated)
    return Checkout(folder / "checkout", folder / "state")


@pytest.fixture
def evaluated(pristine, tmp_path):
    """Copy the evaluated checkout, to be changed; MLflow has not seen it."""
    return pristine.copy(tmp_path / "checkout")


@pytest.fixture(scope="session")
def finished(pristine, tmp_path_factory):
    """Copy the evaluated checkout and run all of ``dvc repro``, for tests that only look."""
    made = pristine.copy(tmp_path_factory.mktemp("finished") / "checkout")
    made.run("dvc", "repro")
    return made


@pytest.fixture
def published(finished, tmp_path):
    """Copy the finished checkout, to be changed: its run is in the ledger and in an MLflow."""
    return finished.copy(tmp_path / "checkout")

from pathlib import Path

import pytest

from lab.mutations.nearest import Nearest
from tests.conftest import REPOSITORY
from tests.lab.mutations.small import FILES, write

PARTS = "src/driftledger/metrics/parts.py"


def near(root: Path, files: dict[str, str], path: str = PARTS, most: int = 9) -> list[str]:
    return Nearest(write(root, FILES | files)).tests(path, most)


def test_its_own_test_comes_first_then_its_room_and_then_others_by_distance(tmp_path: Path) -> None:
    files = {
        "tests/test_cli.py": "import driftledger.cli\n",
        "tests/aside/test_aside.py": "from driftledger.metrics import parts\n",
        "tests/other/test_parts.py": "from tests.test_cli import larger\n",
    }
    own, source = "tests/metrics/test_parts.py", "tests/metrics/test_source.py"
    every = [own, source, "tests/aside/test_aside.py", "tests/test_cli.py", "tests/other/test_parts.py"]
    assert near(tmp_path, files) == every
    assert near(tmp_path, files, most=2) == [own, source]


def test_a_test_that_imports_little_else_comes_before_one_that_imports_much(tmp_path: Path) -> None:
    files = {
        "tests/a/test_much.py": "import driftledger.metrics.parts, driftledger.cli\n",
        "tests/a/test_only.py": "import driftledger.metrics.parts\n",
    }
    assert near(tmp_path, files)[2:] == ["tests/a/test_only.py", "tests/a/test_much.py"]


@pytest.mark.parametrize(
    "line",
    [
        "from driftledger.metrics.parts import larger",
        "from driftledger.metrics import parts",
        "def test(): import driftledger.metrics.parts",
        "USED = 'driftledger.metrics.parts:larger'",
        "from . import helper",
        "from .helper import larger",
        "from tests.far import helper",
        "RUN = ['driftledger', 'audit']",
        "RUN = ['dvc', 'repro']",
    ],
)
def test_whatever_way_a_test_names_it(line: str, tmp_path: Path) -> None:
    helper = {"tests/far/__init__.py": "", "tests/far/helper.py": "from driftledger.metrics.parts import larger\n"}
    assert "tests/far/test_it.py" in near(tmp_path, helper | {"tests/far/test_it.py": f"{line}\n"})


def test_what_leads_elsewhere_is_not_near(tmp_path: Path) -> None:
    files = {"src/driftledger/metrics/other.py": "", "tests/far/test_it.py": "from driftledger.metrics import other\n"}
    assert "tests/far/test_it.py" not in near(tmp_path, files)
    assert near(tmp_path, files, "src/driftledger/metrics/other.py") == ["tests/far/test_it.py"]


def test_fixtures_and_modules_that_are_imported_by_name_lead_on(tmp_path: Path) -> None:
    files = {
        "tests/far/conftest.py": "import driftledger.lazy\n",
        "tests/far/test_it.py": "",
        "tests/test_elsewhere.py": "",
        "src/driftledger/lazy/__init__.py": "def __getattr__(name): ...\n",
        "src/driftledger/lazy/one.py": "import driftledger.metrics.parts\n",
    }
    assert near(tmp_path, files)[2:] == ["tests/far/test_it.py"]


def test_examples_in_docstrings_are_the_first_of_its_tests(tmp_path: Path) -> None:
    assert near(tmp_path, {PARTS: '"""\n>>> 1\n1\n"""\n'}, most=1) == [PARTS, "tests/metrics/test_parts.py"]


def test_real_modules_have_their_own_tests_first() -> None:
    nearest = Nearest(REPOSITORY)
    assert nearest.tests("src/driftledger/collect/batches.py", 1) == ["tests/collect/test_batches.py"]

"""What is and is not part of the version of somebody's code."""

import sys

import pytest

from driftledger.core import code_digest as module
from driftledger.core.errors import ConfigError
from tests.support.cases import cases, each_case

CODE = '''"""A model."""
import digested_tools
TABLE = "table.json"
NAMES = ["", "a"]
__version__ = "1"
def answer(x):
    """Say it."""
    return f"{x}" + digested_tools.end
'''

FILES = {
    "digested_model.py": CODE,
    "digested_tools.py": "end = '.'\n",
    "table.json": "{}",
    "unrelated.py": "x = 1\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def digest():
    module._digests.cache_clear()
    return module.code_digest("digested_model:Model")


@each_case(cases(__file__, "digests"))
def test_what_changes_a_digest(case, folder):
    before, file = digest(), folder / case["file"]
    text = file.read_text()
    assert case["old"] in text
    file.write_text(text.replace(case["old"], case["new"]))
    assert (digest() != before) is case["changes"]


def test_imports_inside_functions_and_relative_ones_count(tmp_path, monkeypatch):
    package = tmp_path / "site-packages/theirs/inner"
    package.mkdir(parents=True)
    for name in ("../__init__.py", "__init__.py"):
        (package / name).touch()
    (package / "model.py").write_text("def f():\n    from ..tools import g\n")
    (package / "../tools.py").write_text("def g(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    module._digests.cache_clear()
    names = [name for name, _ in module._digests("theirs.inner.model")]
    assert names == ["theirs", "theirs.inner", "theirs.inner.model", "theirs.tools"]


def test_code_that_comes_with_driftledger_is_left_out(folder):
    (folder / "digested_model.py").write_text("from driftledger.core import files\n")
    digest()
    assert [name for name, _ in module._digests("digested_model")] == ["digested_model"]
    names = {*dict(module._digests("driftledger_demo.generators.painter"))}
    assert "driftledger.core.types" not in names
    assert "driftledger_demo.vocabulary" in names


def test_code_in_no_file_and_code_that_is_not_python(folder):
    with pytest.raises(ConfigError, match="is in no file here"):
        module.code_digest("no_such_module_anywhere:Model")
    (folder / "digested_model.py").write_text("def (:\n")
    with pytest.raises(ConfigError, match="cannot be read as Python"):
        digest()
    assert "no_such_module_anywhere" not in sys.modules

"""What is and is not part of the version of somebody's code."""

import sys

import pytest

from driftledger.core import code_digest as module
from driftledger.core.errors import ConfigError

CODE = '''"""A model."""
import digested_tools
TABLE = "table.json"
__version__ = "1"
def answer(x):
    """Say it."""
    return f"{x}" + digested_tools.end
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "digested_model.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "digested_tools.py").write_text("end = '.'\n", encoding="utf-8")
    (tmp_path / "table.json").write_text("{}", encoding="utf-8")
    (tmp_path / "unrelated.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def digest():
    module._digests.cache_clear()
    return module.code_digest("digested_model:Model")


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("digested_model.py", "return f", "return 'so ' + f", True),
        ("digested_model.py", "    return f", "    # a comment\n    return f", False),
        ("digested_model.py", "A model.", "Another docstring.", False),
        ("digested_model.py", '__version__ = "1"', '__version__ = "2"', False),
        ("digested_model.py", "Say it.", "Tell it.", False),
        ("digested_model.py", 'f"{x}"', 'f"{x!r}"', True),
        ("digested_tools.py", "'.'", "'!'", True),
        ("table.json", "{}", "[]", True),
        ("unrelated.py", "1", "2", False),
    ],
)
def test_what_changes_a_digest(folder, file, old, new, changes):
    before, text = digest(), (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    assert (digest() != before) is changes


def test_an_empty_text_in_a_list_counts(folder):
    (folder / "digested_model.py").write_text('x = ["", "a"]\n', encoding="utf-8")
    before = digest()
    (folder / "digested_model.py").write_text('x = ["a"]\n', encoding="utf-8")
    assert digest() != before


def test_imports_inside_functions_and_relative_ones_count(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "theirs" / "inner"
    package.mkdir(parents=True)
    for name in ("../__init__.py", "__init__.py"):
        (package / name).touch()
    (package / "model.py").write_text(
        "def f():\n    from ..tools import g\n", encoding="utf-8"
    )
    (package / "../tools.py").write_text("def g(): pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    module._digests.cache_clear()
    names = [name for name, _ in module._digests("theirs.inner.model")]
    assert names == ["theirs", "theirs.inner", "theirs.inner.model", "theirs.tools"]


def test_code_that_comes_with_driftledger_is_left_out(folder):
    (folder / "digested_model.py").write_text(
        "from driftledger.core import files\n", encoding="utf-8"
    )
    digest()
    assert [name for name, _ in module._digests("digested_model")] == ["digested_model"]
    assert "driftledger.core.types" not in dict(
        module._digests("driftledger_demo.generators.painter")
    )
    assert "driftledger_demo.vocabulary" in dict(
        module._digests("driftledger_demo.generators.painter")
    )


def test_code_in_no_file_and_code_that_is_not_python(folder):
    with pytest.raises(ConfigError, match="is in no file here"):
        module.code_digest("no_such_module_anywhere:Model")
    (folder / "digested_model.py").write_text("def (:\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be read as Python"):
        digest()
    assert "no_such_module_anywhere" not in sys.modules

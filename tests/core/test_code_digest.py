"""Which code a digest stands for, and what leaves it as it is."""

import ast
import json
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.canonical import sha256_of
from driftledger.core.code_digest import code_digest, module_digests
from driftledger.core.errors import ConfigError
from driftledger.core.registry import providers

PRINT_DIGESTS = """
import json, sys
from driftledger.core.code_digest import module_digests
print(json.dumps(module_digests(sys.argv[1])))
"""


def write(folder: Path, **files: str) -> Path:
    """Python files by dotted name, e.g. ``pkg.__init__``."""
    for name, text in files.items():
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> str:
    """A process of its own, since what is read is kept for as long as a process lives."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def digests(folder: Path, target: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(run(folder, "-c", PRINT_DIGESTS, target))
    return found


def closure(folder: Path, target: str) -> list[str]:
    return sorted(digests(folder, target))


def test_imports_are_followed_through_packages_and_functions_and_nothing_is_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "pkg.__init__": "raise SystemExit",
            "pkg.start": "import pkg.plain\nfrom pkg.inner import attribute\nfrom . import beside\nraise SystemExit",
            "pkg.plain": "def late():\n    from pkg.inner.deep import name",
            "pkg.beside": "from .inner.up import here",
            "pkg.inner.__init__": "import pkg.from_package",
            "pkg.inner.deep": "class A:\n    def f(self):\n        import pkg.plain, pkg.in_method",
            "pkg.inner.up": "from .. import above\nfrom ..above import name\nhere = 1",
            "pkg.from_package": "import pkg.start",
            "pkg.in_method": "",
            "pkg.above": "from pkg.space.module import *",
            "pkg.space.module": "try:\n    import pkg.gone\nexcept ImportError:\n    pass",
            "pkg.nobody": "",
            "pkg.inner.nobody": "",
        },
    )
    assert closure(tmp_path, "pkg.start") == [
        "pkg",
        "pkg.above",
        "pkg.beside",
        "pkg.from_package",
        "pkg.in_method",
        "pkg.inner",
        "pkg.inner.deep",
        "pkg.inner.up",
        "pkg.plain",
        "pkg.space.module",
        "pkg.start",
    ]


def test_what_is_imported_for_type_checking_or_named_in_a_string_is_left_out(tmp_path: Path) -> None:
    start = """
import typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkg.types import A
if typing.TYPE_CHECKING:
    import pkg.more_types
else:
    import pkg.otherwise
TABLE = {"provider": "pkg.provider:Provider", "module": "pkg.provider"}
"""
    names = ("__init__", "types", "more_types", "otherwise", "provider")
    write(tmp_path, **{"pkg.start": start}, **{f"pkg.{name}": "" for name in names})
    assert closure(tmp_path, "pkg.start:TABLE") == ["pkg", "pkg.otherwise", "pkg.start"]


def test_other_distributions_are_left_out(tmp_path: Path) -> None:
    start = "import json, numpy, driftledger.core.types\nfrom driftledger.core import seeds"
    write(tmp_path, **{"pkg.__init__": "", "pkg.start": start})
    assert closure(tmp_path, "pkg.start") == ["pkg", "pkg.start"]


def test_a_single_file_stands_for_the_modules_beside_it_that_it_imports(tmp_path: Path) -> None:
    write(tmp_path, my_models="import my_tools, datasets.load", my_tools="import kit.part", unused="")
    write(tmp_path, **{"kit.__init__": "", "kit.part": "", "kit.other": "", "datasets.load": ""})
    assert closure(tmp_path, "my_models:Mine") == ["kit", "kit.part", "my_models", "my_tools"]  # a folder is no package


def test_installed_code_stands_for_its_own_package_alone(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    write(installed, **{"pkg.__init__": "", "pkg.start": "import other, pkg.part", "pkg.part": "", "other": ""})
    assert closure(installed, "pkg.start") == ["pkg", "pkg.part", "pkg.start"]


SOURCE = '''
"""Why it exists."""

from typing import ClassVar

__version__ = "1"


class Painter:
    """Paints."""

    side: ClassVar[int] = 4
    """In pixels."""

    def paint(self, prompt: str, *, dark: bool = False) -> str:
        """The picture."""
        return f"{prompt!r:>{self.side}} {'dark' if dark else ''}" + "end"
'''


def in_one_file(folder: Path, source: str) -> str:
    """The digest of a module, under a name that no other source has."""
    name = f"painter_{sha256_of(source)}"
    (folder / f"{name}.py").write_bytes(source.encode())
    return module_digests(name)[name]


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("4\n", "4  # small\n"),
        ('"""Why it exists."""', '"""Why it is there."""\n\n\n# A comment.'),
        ('    """Paints."""\n', ""),
        ("In pixels", "In Pixeln, größer"),
        ('        """The picture."""\n', '        """What is painted."""\n        "and how"\n'),
        ('"end"', "u'end'"),
        ("return f", "return \\\n            f"),
        ('__version__ = "1"', '__version__ = "2"'),
        ("\n", "\r\n"),
        ("self, prompt: str, *,", "self,\n        prompt: str,\n        *,\n       "),
    ],
)
def test_what_cannot_change_a_result_leaves_the_digest_alone(importable: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert in_one_file(importable, SOURCE.replace(old, new)) == in_one_file(importable, SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= 4", "= 5"),
        ("= 4", "= 4.0"),
        ("= 4", "= None"),
        ('"end"', '"END"'),
        ('"end"', 'b"end"'),
        ("'dark' if dark else ''", "'' if dark else 'dark'"),
        ("else ''", "else 'light'"),
        ("prompt!r", "prompt!s"),
        (":>{", ":<{"),
        ("dark: bool = False", "dark: bool = True"),
        ("*, ", ""),
        ("ClassVar[int]", "ClassVar[float]"),
        ("class Painter", "@final\nclass Painter"),
        ("return f", "yield f"),
        ('+ "end"', '- "end"'),
        ('__version__ = "1"', "__all__ = []"),
        ("        return", "        prompt = ''\n        return"),
    ],
)
def test_whatever_else_is_changed_gives_another_digest(importable: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert in_one_file(importable, SOURCE.replace(old, new)) != in_one_file(importable, SOURCE)


EVERY_KIND = """
async def f(a, /, *b: int, c=None, **d) -> list:
    async with a as (x, *y):
        return {**d, "ж": [b[1:, ...], -1, 1e-9, 2j, b"\\0", "\\U0001fae9", await x]}
match f:
    case {"a": 1, **rest} | [A(b=2), *_] if (n := rest): del n
    case None: pass
try:
    lambda x, *, y=1: (yield)
except* OSError as error:
    raise ValueError(f"{error!r:{8}}{{" f"" "x") from None
"""


def test_every_python_gives_the_same_digest(importable: Path) -> None:
    """Python 3.11, 3.12 and 3.13 gave this one, where ``ast.dump`` has three texts."""
    expected = "b9ce35f7a0f9d9bd9cc4d1f20c27db6dd5bc6b50f41a0a429a7c5e10ab45f7f7"
    assert in_one_file(importable, SOURCE + EVERY_KIND) == expected


def test_a_change_anywhere_in_the_closure_changes_the_digest(tmp_path: Path) -> None:
    files = {"pkg.__init__": "", "pkg.start": "import pkg.part", "pkg.part": "x = 1", "pkg.other": "y = 1"}
    before = digests(write(tmp_path, **files), "pkg.start")
    other = digests(write(tmp_path, **files | {"pkg.other": "y = 2"}), "pkg.start")
    changed = digests(write(tmp_path, **files | {"pkg.part": "x = 2"}), "pkg.start")
    assert other == before
    assert {name for name in before if changed[name] != before[name]} == {"pkg.part"}


def test_a_data_file_that_a_module_names_counts_by_its_bytes(tmp_path: Path) -> None:
    read = "from importlib.resources import files\n"
    start = f"{read}A = files(__package__) / 'photos.json'\nB = 'tables/words.txt'\nC = 'part.py'\nD = 'gone.json'"
    write(tmp_path, **{"pkg.__init__": "'''other.json'''", "pkg.start": start, "pkg.part": ""})
    (tmp_path / "pkg" / "tables").mkdir()
    for name in ("photos.json", "tables/words.txt", "other.json", "tables/other.txt"):
        (tmp_path / "pkg" / name).write_text(name)
    before = digests(tmp_path, "pkg.start")
    assert sorted(before) == ["pkg", "pkg.start", "pkg/photos.json", "pkg/tables/words.txt"]
    (tmp_path / "pkg" / "photos.json").write_text("[]")
    after = digests(tmp_path, "pkg.start")
    assert {name for name in before if after[name] != before[name]} == {"pkg/photos.json"}


def test_a_compiled_module_counts_by_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, **{"pkg.__init__": "", "pkg.start": "from pkg import fast"})
    compiled = tmp_path / "pkg" / f"fast{EXTENSION_SUFFIXES[0]}"
    compiled.write_bytes(b"\x7fELF 1")
    before = digests(tmp_path, "pkg.start")
    compiled.write_bytes(b"\x7fELF 2")
    assert sorted(before) == ["pkg", "pkg.fast", "pkg.start"]
    assert digests(tmp_path, "pkg.start")["pkg.fast"] != before["pkg.fast"]


def test_a_script_has_the_digest_that_it_has_when_it_is_imported(tmp_path: Path) -> None:
    script = "import my_tools\nfrom driftledger.core.code_digest import code_digest\nprint(code_digest(__name__))"
    write(tmp_path, script=script, my_tools="")
    as_script = run(tmp_path, "script.py")
    assert as_script == run(tmp_path, "-c", "import script") == run(tmp_path, "-m", "script")


def test_code_in_no_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    ask = "from driftledger.core.code_digest import code_digest\ntry:\n    code_digest(__name__)\n"
    said = run(tmp_path, "-c", f"{ask}except Exception as error:\n    print(type(error).__name__, error)")
    assert said.startswith("ConfigError the code of '__main__' is in no file here")
    for target in ("driftledger.core.gone", "no_such_package.module:Name", "sys"):
        with pytest.raises(ConfigError, match=f"'{target.partition(':')[0]}' is in no file here"):
            code_digest(target)


def test_a_file_that_is_not_python_is_named(importable: Path) -> None:
    write(importable, not_python_at_all="def f(:")
    with pytest.raises(ConfigError, match=r"not_python_at_all\.py cannot be read as Python \(invalid syntax"):
        code_digest("not_python_at_all")


def test_a_digest_is_of_the_module_and_several_have_one_together() -> None:
    one, two = "driftledger.core.seeds", "driftledger.core.yaml_text"
    assert code_digest(f"{one}:derive_seed") == code_digest(one) != code_digest(two)
    assert code_digest(one, two) == code_digest(two, one) != code_digest(one)
    assert code_digest(one, "driftledger.core.canonical") == code_digest(one)  # which it imports


def test_a_provider_counts_with_its_data_and_what_it_imports() -> None:
    names = module_digests("driftledger.demo.datasets.photos:Photos").keys()
    photos = {"driftledger.demo.datasets.photos", "driftledger/demo/datasets/photos.json"}
    assert photos | {"driftledger.data.datasets.base"} <= names


@pytest.mark.parametrize("section", ["models", "generators", "encoders"])
def test_no_component_depends_on_the_table_that_lists_it(section: str) -> None:
    for target in providers(section).values():
        names = module_digests(target).keys()
        assert {"driftledger", "driftledger.components.base", target.partition(":")[0]} <= names
        assert "driftledger.core.registry" not in names


def test_a_file_is_read_once(importable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def parse(data: bytes) -> Any:
        parsed.append(data)
        return real(data)

    real = ast.parse
    write(importable, **{"read_once.a": "from . import b", "read_once.b": "import sys"})
    monkeypatch.setattr("driftledger.core.code_digest.ast.parse", parse)
    for target in ("read_once.a", "read_once.b", "read_once.a:A"):
        code_digest(target)
    assert sorted(parsed) == [b"from . import b", b"import sys"]

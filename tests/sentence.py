"""Run a command, or read settings, and compare what is written with the sentences of a case.

The fixture ``sentence`` runs one case; ``tests/cases/README.md`` lists the keys of a case.
"""

import json
import re
import shlex
import sys
from contextlib import contextmanager
from functools import reduce
from operator import getitem

import pytest
import yaml
from PIL import Image
from pydantic import ValidationError

from driftledger import cli
from driftledger.core.errors import DriftledgerError
from driftledger.core.files import load_yaml
from driftledger.core.strict import explain
from tests.acceptance.checkout import draw
from tests.support.params import default_params


def run(monkeypatch, *arguments):
    """Run ``driftledger`` in this process and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["driftledger", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    code = stop.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def write_files(root, files):
    """Write the files of a case: text, an image, or bytes as hexadecimal digits."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == "DRAWN":
            draw(path, 0)
        elif content == "DARK":
            xray = Image.new("I;16", (8, 4))
            xray.putpixel((0, 0), 4095)
            xray.save(path)
        elif isinstance(content, dict):
            path.write_bytes(bytes.fromhex(content["hex"]))
        else:
            path.write_bytes(content.encode())


def edit(params, case):
    """Set and drop values of ``params`` by their dotted names."""
    for name, value in case.get("set", {}).items():
        *above, last = name.split(".")
        reduce(getitem, above, params)[last] = value
    for name in case.get("drop", []):
        *above, last = name.split(".")
        del reduce(getitem, above, params)[last]


def tree(root):
    """Return the content of each file and link, without what tools keep for themselves."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith((".git/", ".dvc/tmp", ".dvc/cache", ".driftledger")):
            continue
        found[name] = ""
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def matches(pattern, text, search=re.search):
    """Match text with a sentence in which ``…`` stands for any text of a line."""
    return search(".*".join(map(re.escape, pattern.split("…"))), text) is not None


@contextmanager
def refused(case, kind="DataError"):
    """Expect an error: of the kind of the case or this one, and the sentence that it ``says``."""
    with pytest.raises((DriftledgerError, ValidationError)) as caught:
        yield caught
    error = caught.value
    assert type(error).__name__ == case.get("error", kind)
    text = str(error)
    if isinstance(error, ValidationError):
        text = explain(error, "params.yaml")
    search = re.fullmatch if case.get("whole") else re.search
    assert matches(case["says"], text, search), (case["says"], text)
    assert "\n" not in text
    assert "secret" not in text
    assert len(text) < case.get("shorter_than", 450)


@pytest.fixture
def sentence(tmp_path, monkeypatch, capsys):
    """Run a case in a folder of its own, or in ``root``; return its output."""

    def check(case, root=tmp_path / "here"):
        case = json.loads(json.dumps(case).replace("HERE", str(root)))
        root.mkdir(exist_ok=True)
        monkeypatch.chdir(root)
        monkeypatch.setenv("COLUMNS", "10000")  # lines are not broken
        write_files(root, case.get("files", {}))
        if "set" in case or "drop" in case:
            path = root / "params.yaml"
            params = load_yaml(path.read_text()) if path.exists() else default_params()
            edit(params, case)
            path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        for command in case.get("before", []):
            assert run(monkeypatch, *shlex.split(command)) == 0
        capsys.readouterr()
        before = tree(root)
        code = run(monkeypatch, *shlex.split(case.get("command", "stage resolve")))
        output = capsys.readouterr()
        assert code == case.get("code", 2)
        assert "Traceback" not in output.err
        text = output.err if code else output.out
        if code == 2:
            assert output.out == ""
            assert tree(root) == before
        assert code == 0 or case.get("says") or case.get("lines")
        for pattern in case.get("says", []):
            assert matches(pattern, text), (pattern, text)
        if "lines" in case:
            for line, pattern in zip(text.splitlines(), case["lines"], strict=True):
                assert matches(pattern, line, re.fullmatch), (pattern, line)
        for word in case.get("silent", []):
            assert word not in output.out + output.err
        return output

    return check

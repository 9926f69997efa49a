"""The studies' commands stand beside the package, which knows nothing of them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY


def asked(*arguments: str, cwd: Path = REPOSITORY) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def commands() -> dict[str, str]:
    stages = yaml.safe_load((REPOSITORY / "trio" / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    every = {name: stage["cmd"] for name, stage in stages.items()}
    return {
        f"{name}, {number}": command
        for name, given in every.items()
        for number, command in enumerate([given] if isinstance(given, str) else given, 1)
    }


@pytest.mark.parametrize("command", commands().values(), ids=list(commands()))
def test_every_stage_of_the_trio_has_its_command(command: str) -> None:
    program, *arguments = command.split()
    assert program == "python"
    assert asked(*arguments[1:], "--help").returncode == 0


def test_the_package_imports_nothing_that_stands_beside_it() -> None:
    for file in (REPOSITORY / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {"lab", "perf", "tests"}, file

"""The checker's own distribution agrees with the package that it comes from."""

import tomllib
from importlib import import_module
from typing import Any

from tests.conftest import REPOSITORY


def project(path: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((REPOSITORY / path).read_text(encoding="utf-8"))["project"]
    return found


def test_its_version_and_requirements_are_the_packages() -> None:
    whole, alone = project("pyproject.toml"), project("src/driftledger_check/pyproject.toml")
    assert alone["version"] == whole["version"]
    assert alone["requires-python"] == whole["requires-python"]
    assert set(alone["dependencies"]) < set(whole["dependencies"])
    assert len(alone["dependencies"]) == 2


def test_its_command_is_there() -> None:
    [(name, place)] = project("src/driftledger_check/pyproject.toml")["scripts"].items()
    module, _, function = place.partition(":")
    assert name == "driftledger-check"
    assert callable(getattr(import_module(module), function))

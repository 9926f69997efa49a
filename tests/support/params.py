"""The settings that tests start from: a file of their own, for ``params.yaml`` at the top is the
user's to change."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from driftledger.project.settings import Settings, parse_settings

DEFAULT = Path(__file__).with_name("params.yaml")
"""To be copied where a test needs a whole file, comments and all."""


@cache
def _params() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(default_text())
    return loaded


def default_text() -> str:
    """Return the text of the file, with its comments."""
    return DEFAULT.read_text(encoding="utf-8")


def default_params() -> dict[str, Any]:
    """Return the content of the file, for the caller to change."""
    return deepcopy(_params())


def default_settings() -> Settings:
    """Return the settings in the file."""
    return parse_settings(default_params(), "params.yaml")

"""Paths as they were typed: a command runs in the project's top folder."""

import os
from pathlib import Path

from driftledger.core.paths import project_above

_came_from = Path()
"""The folder in which the command was typed."""


def begin(*, in_project: bool) -> None:
    """Note the folder in which a command was typed, and go to its project's top folder."""
    global _came_from
    _came_from = Path.cwd()
    if in_project:
        os.chdir(project_above(_came_from))


def from_here(text: str) -> Path:
    """Read a path that is relative to the folder in which the command was given."""
    path = Path(text)
    return path if path.is_absolute() else Path(os.path.relpath(_came_from / path))


def name_or_path(text: str) -> str:
    """Read a name, or the path of an existing file or folder."""
    return str(from_here(text)) if (_came_from / text).exists() else text

"""The package as people get it: built into a wheel and installed into an empty environment, by uv.

What ``make install-all`` has installed is in uv's cache, so that nothing is downloaded; elsewhere
uv asks the package index, and where neither has what is needed, the test is skipped.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from PIL import Image

from driftledger_demo.datasets.photos import manifest
from tests.conftest import REPOSITORY

_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "VIRTUAL_ENV")
}
"""As it is before tests move caches into folders of their own: uv's cache stays where it is."""
_UNREACHABLE = (
    "network was disabled",
    "error sending request",
    "Failed to fetch",
    "dns error",
    "Connect",
)
"""What uv says where a package is neither in its cache nor to be had."""
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
"""What it takes to build a wheel."""


def build(source: Path, folder: Path) -> tuple[Path, Path]:
    """Source distribution and wheel, the wheel made from the former, as ``python -m build`` does
    it."""
    _uv(
        "build",
        "--quiet",
        "--python",
        sys.executable,
        "--out-dir",
        str(folder),
        str(source),
    )
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


def build_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel and return its path."""
    return build(source, folder)[1]


def new_environment(folder: Path, python: str = sys.executable) -> Path:
    """Make an empty environment and return its folder of programs."""
    _uv("venv", "--quiet", "--python", python, str(folder))
    return folder / "bin"


def newest_python() -> str:
    """Return the newest installed Python of those that ``pyproject.toml`` names, pyenv's included,
    as ``.ci/run`` does."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    about = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    minors = re.findall(r":: Python :: 3\.(\d+)", about)
    for minor in sorted(map(int, minors), reverse=True):
        installed = sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python3"))
        for file in (shutil.which(f"python3.{minor}"), *installed):
            if file and _run([str(file), "--version"]).returncode == 0:
                return str(file)
    return sys.executable


def install(programs: Path, wheel: Path, extra: str = "") -> None:
    """Install the wheel with what it depends on, in the versions that are pinned."""
    pinned = ("--constraint", str(REPOSITORY / "requirements-dev.txt"))
    _uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        str(programs / "python"),
        *pinned,
        f"{wheel}{extra}",
    )


def photograph(folder: Path, count: int, size: tuple[int, int] | None = None) -> None:
    """Put photographs of scikit-image's and scikit-learn's wheels into a new folder, as they are or
    smaller."""
    folder.mkdir(parents=True)
    for photo in manifest().photos[:count]:
        library = manifest().libraries[photo.package].distribution
        file = Path(
            str(
                metadata.distribution(library).locate_file(
                    f"{photo.package}/{photo.file}"
                )
            )
        )
        if size is None:
            shutil.copy(file, folder / f"{photo.id}{file.suffix}")
        else:
            with Image.open(file) as image:
                image.convert("RGB").resize(size).save(folder / f"{photo.id}.png")


def copy_source(folder: Path) -> Path:
    """Copy the files that a wheel is built from, to be changed."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(
                REPOSITORY / name,
                folder / name,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        else:
            shutil.copy(REPOSITORY / name, folder / name)
    return folder


def _uv(*arguments: str) -> None:
    program = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if program is None:
        pytest.skip("uv is not installed")
    failure = ""
    for network in (["--offline"], []):
        done = _run([program, *arguments, *network])
        if done.returncode == 0:
            return
        failure = done.stderr
    if any(said in failure for said in _UNREACHABLE):
        pytest.skip(
            f"neither uv's cache nor a package index has what is needed: {failure[-300:]}"
        )
    raise AssertionError(f"uv {' '.join(arguments)} failed:\n{failure}")


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=_ENVIRONMENT,
        cwd=REPOSITORY.anchor,
        timeout=600,
    )

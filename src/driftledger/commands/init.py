"""``driftledger init``: a folder becomes a project of its own, in a Git repository that may hold much else.

Everything is checked before anything is written. Images are given to DVC before there is a pipeline, and
``params.yaml`` is written last, so that after a kill or on a full disk the same command goes on.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pygit2

from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.core.names import is_relative_path, leads_out
from driftledger.core.shortening import shortened
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.ledger.lock import LOCK
from driftledger.project.first_params import FirstParams, Images, first_params, name_of
from driftledger.project.scaffold import (
    PIPELINE,
    RULES,
    Generated,
    generated,
    read_written,
    rules,
    with_rules,
)
from driftledger.project.settings import PARAMS

START, MINIMAL = "start", "minimal"
"""The presets that are selected where none is asked for."""

_DVC = {".dvc/config": "", ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n"}
"""What makes a folder a DVC project, also below another one, as 'dvc init --subdir' does."""
_FIRST = (*_DVC, *RULES)
_SECONDS = 3600


class _Folder(NamedTuple):
    """A folder of images, and whether DVC is to keep it."""

    images: Images
    add: bool
    said: str


def init(
    folder: Path,
    *,
    images: Path | None = None,
    preset: str | None = None,
    minimal: bool = False,
    force: bool = False,
) -> list[str]:
    """Make a folder a project, and say what was done and what comes next.

    Args:
        images: a folder of images that becomes a dataset.
        preset: what is selected.
        minimal: whether little is selected.
        force: whether what is there already is overwritten.

    Raises:
        ConfigError: the folder holds something else, or what is to be selected is not there; nothing is written.
        DataError: the folder of images holds none.
    """
    root = folder.resolve()
    place = _shown(root)
    if root.exists() and not root.is_dir():
        raise ConfigError(f"{place} is a file; name a folder for the project")
    if images is not None and preset is not None:
        raise ConfigError("--images and --preset each say what is evaluated; take one, and change run in params.yaml")
    is_ours = _is_ours(root / PIPELINE)
    if (images is not None or preset is not None or minimal) and is_ours and (root / PARAMS).exists() and not force:
        raise ConfigError(
            f"{place} is a project already; change what run selects in its {PARAMS}, or --force writes that anew"
        )
    top = _top(root)
    _refuse_ignored(root, top)
    data = None if images is None else _images(root, top or root, images)
    first = first_params(root, preset or (MINIMAL if minimal else START), data and data.images, minimal=minimal)
    files = generated()
    if not force:
        _refuse_others(root, files)
    contents = _contents(root, files, first, force=force)
    if not contents and top is not None:
        return [f"{place} is a project already; 'driftledger upgrade' brings its files up to date", *_next(root)]
    said = [f"{place} is a project now"]
    for path in [path for path in contents if path in _FIRST]:
        _write(root / path, contents.pop(path))
    with _repository(root, is_new=top is None):
        if data is not None and data.add:
            _run(sys.executable, "-m", "dvc", "add", "--", data.images.path, cwd=root)
        for path, text in contents.items():
            _write(root / path, text)
    said += [] if top else ["with a Git repository of its own"]
    said += [] if data is None else [f"the dataset {data.images.name}: {data.said}"]
    return [*said, *_next(root)]


def _contents(root: Path, files: list[Generated], first: FirstParams, *, force: bool) -> dict[str, str]:
    """Path → text of all that is to be written, in that order."""
    found = {path: text for path, text in _DVC.items() if not _is(root / path)}
    for path, wanted in rules().items():
        own = _text(root / path)
        if (text := with_rules(own, wanted)) != own:
            found[path] = text
    new = {each.path: each.text for each in files} | {PARAMS: first.text}
    found |= {
        path: text for path, text in new.items() if _text(root / path) != text and (force or not _is(root / path))
    }
    found |= {PARAMS: found.pop(PARAMS)} if PARAMS in found else {}
    for path in (*_DVC, *RULES, *new):
        if leads_out(root / path, root) or (root / path).is_dir():
            raise ConfigError(
                f"{_shown(root / path)} is a folder or leads elsewhere; move it away, or name another folder"
            )
    return found


def _refuse_others(root: Path, files: list[Generated]) -> None:
    """Refuse a folder that holds what is not ours where our files are to be."""
    others = [each.path for each in files if _is(root / each.path) and not _fits(root, each)]
    if not _is_ours(root / PIPELINE):
        others += [name for name in (PARAMS, LOCK) if _is(root / name)]
    if others:
        raise ConfigError(
            f"{_shown(root)} holds {', '.join(others)} of something else; give the project a folder of its own, as in "
            "'driftledger init evaluation', or --force overwrites them"
        )


def _refuse_ignored(root: Path, top: Path | None) -> None:
    """Refuse a folder that the Git repository around it ignores: DVC runs no pipeline there."""
    if top is not None and top != root and _repository_at(top).path_is_ignored(f"{root.relative_to(top).as_posix()}/"):
        raise ConfigError(
            f"{_shown(root)} is ignored by the Git repository {_shown(top)}, and DVC runs nothing there; 'git init' in "
            "it gives the project a repository of its own, or name another folder"
        )


def _fits(root: Path, each: Generated) -> bool:
    return _is_ours(root / each.path) or _text(root / each.path) == each.text


def _is_ours(file: Path) -> bool:
    return read_written(_text(file)).noted is not None


def _is(path: Path) -> bool:
    """Whether there is something, be it a link that leads nowhere."""
    return os.path.lexists(path)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode(errors="surrogateescape"))


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="surrogateescape") if file.is_file() else ""


def _images(root: Path, top: Path, given: Path) -> _Folder:
    """The dataset that a folder becomes.

    Raises:
        ConfigError: it is no folder, holds the project, or has a name that settings cannot hold.
        DataError: it holds no images.
    """
    place = Path(os.path.normpath(given.absolute()))
    place = place.parent.resolve() / place.name
    shown = for_line(str(given))
    if not place.is_dir():
        raise ConfigError(f"--images: {shown} is no folder; name one with images")
    if root.is_relative_to(place):
        raise ConfigError(f"--images: {shown} would hold the project itself; put the images into a folder below it")
    next(ImageFolder(path=place).items())
    inside = place.is_relative_to(root) and not leads_out(place, root)
    is_near = place.is_relative_to(top) and not leads_out(place, top)
    path = Path(os.path.relpath(place, root) if inside or is_near else place).as_posix()
    if not is_relative_path(path.replace("../", "").lstrip("/")):
        raise ConfigError(f"--images: {shown} has characters in its name that settings cannot hold; rename it")
    images = Images(name_of(place.name), path)
    if not inside:
        where = "lies outside the project" if is_near else "lies outside the repository"
        return _Folder(images, False, f"{path} {where}, and DVC does not keep it")
    if _in_git(top, place):
        return _Folder(images, False, f"Git keeps {path}")
    if any(_is(each.with_name(f"{each.name}.dvc")) for each in (place, *place.parents) if each.is_relative_to(root)):
        return _Folder(images, False, f"DVC keeps {path} already")
    return _Folder(images, True, f"DVC keeps {path} now; commit {path}.dvc")


def _in_git(top: Path, folder: Path) -> bool:
    """Whether Git tracks something in a folder."""
    if not _is(top / ".git"):
        return False
    start = f"{folder.relative_to(top).as_posix()}/"
    return any(entry.path.startswith(start) for entry in _repository_at(top).index)


def _repository_at(top: Path) -> pygit2.Repository:
    try:
        return pygit2.Repository(str(top))
    except pygit2.GitError as error:
        raise ConfigError(f"the Git repository of {_shown(top)} cannot be read ({for_line(str(error))})") from None


def _top(root: Path) -> Path | None:
    """The top folder of the Git checkout that a folder lies in, or is to lie in."""
    return next((each for each in (root, *root.parents) if _is(each / ".git")), None)


@contextmanager
def _repository(root: Path, *, is_new: bool) -> Iterator[None]:
    """A Git repository where there is none, which goes again when the block fails."""
    if is_new:
        root.mkdir(parents=True, exist_ok=True)
        _run("git", "init", "--quiet", cwd=root)
    try:
        yield
    except BaseException:
        if is_new:
            shutil.rmtree(root / ".git", ignore_errors=True)
        raise


def _run(*command: str, cwd: Path) -> None:
    """Run a program; ConfigError says why it failed."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError:
        raise ConfigError(f"{command[0]} is not installed, and a project needs it") from None
    if done.returncode:
        why = for_line(done.stderr.decode(errors="replace"))
        raise ConfigError(f"'{' '.join(command[-4:])}' fails ({shortened(why, 500)}); mend that and run this again")


def _shown(path: Path) -> str:
    """A path as a person may type it."""
    near = Path(os.path.relpath(path))
    return for_line(str(path if near.parts[:1] == ("..",) else "this folder" if near == Path() else near))


def _next(root: Path) -> list[str]:
    here = os.path.relpath(root)
    enter = [] if here == "." else [f"  cd {for_line(here)}"]
    return ["next:", *enter, "  driftledger run", "  driftledger report --open"]

"""``init``, ``upgrade``, ``preset``, ``models``, ``new``: begin a project, select in it, write something of your own.

``init`` checks everything before it writes anything. It gives images to DVC before there is a pipeline, and writes
``params.yaml`` last, so that after a kill or on a full disk the same command goes on.
"""

import keyword
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from difflib import unified_diff
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

import pygit2
from rich.console import Group
from rich.table import Table
from rich.text import Text

from driftledger.benchmarks.descriptions import Description
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_bytes, write_text
from driftledger.core.paths import leads_out
from driftledger.core.strict import is_relative_path
from driftledger.core.terminal import HEAD, QUIET, line, table
from driftledger.core.text import for_line, shortened
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.ledger.lock import LOCK
from driftledger.project.catalogue import SECTIONS, catalogue
from driftledger.project.presets import Images, first_params, name_of, presets_in_words
from driftledger.project.project import Project
from driftledger.project.scaffold import PIPELINE, RULES, generated, is_ours, rules, with_rules
from driftledger.project.settings import PARAMS

_DVC = {".dvc/config": "", ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n"}
"""What makes a folder a DVC project, also below another one, as 'dvc init --subdir' does."""
_MODULE = re.compile(r"[a-z][a-z0-9_]{0,29}")
"""The name of a module; short enough that no line of a template grows too long."""
KINDS: Mapping[str, str] = {
    "model": "run.models",
    "generator": "run.generators",
    "encoder": "run.encoders",
    "dataset": "run.datasets and in the list of each benchmark that goes over it",
    "question_set": "run.question_sets and in run.{protocol}",
}
"""What ``new`` can write, and where ``params.yaml`` selects an entry of it."""


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
        force: whether existing files are overwritten.

    Raises:
        ConfigError: the folder holds something else, or what is to be selected is missing; nothing is written.
        DataError: the folder of images holds none.
    """
    root = folder.resolve()
    place = _shown(root)
    if root.exists() and not root.is_dir():
        raise ConfigError(f"{place} is a file; name a folder for the project")
    if images is not None and preset is not None:
        raise ConfigError("--images and --preset each say what is evaluated; take one, and change run in params.yaml")
    is_project = is_ours(_text(root / PIPELINE)) and (root / PARAMS).exists()
    if (images is not None or preset is not None or minimal) and is_project and not force:
        raise ConfigError(
            f"{place} is a project already; change what run selects in its {PARAMS}, or --force writes that again"
        )
    top = next((each for each in (root, *root.parents) if os.path.lexists(each / ".git")), None)
    if top not in (None, root) and _git(top).path_is_ignored(f"{root.relative_to(top).as_posix()}/"):
        raise ConfigError(
            f"{place} is ignored by the Git repository {_shown(top)}, and DVC runs nothing there; 'git init' in it "
            "gives the project a repository of its own, or name another folder"
        )
    data, keeps, told = (None, False, "") if images is None else _dataset(root, top or root, images)
    params = first_params(root, preset or ("minimal" if minimal else "start"), data, minimal=minimal)
    texts = {path: text for path, text in _DVC.items() if not os.path.lexists(root / path)}
    texts |= _with_our_rules(root)
    new = generated() | {PARAMS: params}
    _refuse_others(root, new, force=force)
    for path, text in new.items():
        if _text(root / path) != text and (force or not os.path.lexists(root / path)):
            texts[path] = text
    if not texts and top is not None:
        return [f"{place} is a project already; 'driftledger upgrade' brings its files up to date", *_next(root)]
    for path in (path for path in (*_DVC, *RULES) if path in texts):
        _write(root / path, texts.pop(path))
    try:
        if top is None:
            root.mkdir(parents=True, exist_ok=True)
            _run("git", "init", "--quiet", cwd=root)
        if data is not None and keeps:
            _run(sys.executable, "-m", "dvc", "add", "--", data.path, cwd=root)
        for path, text in texts.items():
            _write(root / path, text)
    except BaseException:
        if top is None:
            shutil.rmtree(root / ".git", ignore_errors=True)
        raise
    sentences = [f"{place} is a project now", *([] if top else ["with a Git repository of its own"])]
    return [*sentences, *([] if data is None else [f"the dataset {data.name}: {told}"]), *_next(root)]


def _with_our_rules(root: Path) -> dict[str, str]:
    """The files of rules for Git and DVC that lack some of ours, with these added."""
    texts = {name: with_rules(_text(root / name), wanted) for name, wanted in rules().items()}
    return {name: text for name, text in texts.items() if text != _text(root / name)}


def _refuse_others(root: Path, new: Mapping[str, str], *, force: bool) -> None:
    """Refuse a folder that holds something else where our files are to be, and links that lead out of it."""
    others = [
        path
        for path, text in new.items()
        if path != PARAMS and os.path.lexists(root / path) and not is_ours(own := _text(root / path)) and own != text
    ]
    if not is_ours(_text(root / PIPELINE)):
        others += [name for name in (PARAMS, LOCK) if os.path.lexists(root / name)]
    if others and not force:
        raise ConfigError(
            f"{_shown(root)} holds {', '.join(others)} of something else; give the project a folder of its own, as in "
            "'driftledger init evaluation', or --force overwrites them"
        )
    for path in (*_DVC, *RULES, *new):
        if leads_out(root / path, root) or (root / path).is_dir():
            raise ConfigError(
                f"{_shown(root / path)} is a folder or leads elsewhere; move it away, or name another folder"
            )


def _dataset(root: Path, top: Path, given: Path) -> tuple[Images, bool, str]:
    """Return the dataset that a folder becomes, whether DVC is to keep it, and who keeps it in words.

    Raises:
        ConfigError: it is no folder, holds the project, or has a name that settings cannot hold.
        DataError: it holds no images.
    """
    place = Path(os.path.normpath(given.absolute()))
    place = place.parent.resolve() / place.name
    shown = for_line(str(given))
    if not place.is_dir():
        raise ConfigError(f"--images: {shown} is not a folder; name one with images")
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
        return (
            images,
            False,
            f"{path} lies outside the {'project' if is_near else 'repository'}, and DVC does not keep it",
        )
    start = f"{place.relative_to(top).as_posix()}/"
    if os.path.lexists(top / ".git") and any(entry.path.startswith(start) for entry in _git(top).index):
        return images, False, f"Git keeps {path}"
    around = [each for each in (place, *place.parents) if each.is_relative_to(root)]
    if any(os.path.lexists(each.with_name(f"{each.name}.dvc")) for each in around):
        return images, False, f"DVC keeps {path} already"
    return images, True, f"DVC keeps {path} now; commit {path}.dvc"


def upgrade(project: Project, *, check: bool = False) -> list[str]:
    """Write the package's files again where they differ, and say what changed, or which would with ``check``.

    Raises:
        ConfigError: this is no project, or a file has changes that are not committed; nothing is written.
    """
    root = project.root
    if not ((root / PARAMS).is_file() and (root / ".dvc").is_dir()):
        raise ConfigError("this folder is not a project; run this in its top folder, or 'driftledger init' first")
    texts = {path: text for path, text in generated().items() if _text(root / path) != text} | _with_our_rules(root)
    if check:
        return [f"{path} differs from what driftledger writes" for path in texts]
    changed = _uncommitted(root)
    for path in texts:
        if leads_out(root / path, root):
            raise ConfigError(f"{path} leads out of the project; put a file there instead of a link")
        if path in changed and path not in RULES:
            raise ConfigError(f"{path} has changes that are not committed; commit them, since it is written again")
    told = list[str]()
    for path, text in texts.items():
        old = _text(root / path)
        told += unified_diff(old.splitlines(), text.splitlines(), f"a/{path}", f"b/{path}", lineterm="") if old else []
        _write(root / path, text)
    told += [f"{path}: written again" for path in texts]
    return told or ["every file is as driftledger writes it"]


def _uncommitted(root: Path) -> set[str]:
    """Paths of tracked files that differ from the last commit; none without a repository."""
    repository = pygit2.discover_repository(str(root))
    if repository is None:
        return set()
    git = pygit2.Repository(repository)
    below = root.resolve().relative_to(Path(git.workdir).resolve())
    status = {Path(path): flags for path, flags in git.status(untracked_files="no").items()}
    return {
        path.relative_to(below).as_posix() for path, flags in status.items() if flags and path.is_relative_to(below)
    }


def presets_table(root: Path) -> Table:
    """Describe every preset, and what it needs."""
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style=HEAD, no_wrap=True)
    shown.add_column(overflow="fold")
    for each in presets_in_words(root):
        needs = [Text.assemble(("needs ", QUIET), line(each.needs))] if each.needs else []
        shown.add_row(line(each.name), Group(line(each.what), *needs))
    return shown


def models_table(project: Project, section: str) -> Table:
    """List what can be selected in a section: the catalogue, and the project's own entries where there is one.

    Raises:
        ConfigError: there is no such section.
    """
    if section not in SECTIONS:
        raise ConfigError(unknown_name("section", section, SECTIONS))
    has_project = (project.root / PARAMS).is_file()
    entries = project.settings.entries(section) if has_project else dict(catalogue(section))
    selected = project.settings.named(section) if has_project else ()
    shown = table("name", "provider", "settings", "")
    for name, entry in entries.items():
        if isinstance(entry, Description):
            provider, settings = "", {"prompt": entry.prompt}
        else:
            provider, settings = entry.provider, entry.settings()
        first = [settings[key] for key in ("model", "path", "prompt") if isinstance(settings.get(key), str)]
        prices = settings.get("prices")
        words = [*first, *([f"prices {canonical_json(prices)}"] if prices else [])]
        shown.add_row(*map(line, (name, provider, ", ".join(words), "selected" if name in selected else "")))
    return shown


def new(folder: Path, kind: str, name: str, *, package: bool = False) -> list[str]:
    """Write ``NAME.py`` and ``tests/test_NAME.py`` into a folder, or a package with both.

    Args:
        kind: one of :data:`KINDS`.
        name: of the module; the class is named after it.
        package: whether it becomes a folder of that name that pip installs, with an entry point.

    Returns:
        Lines that say what was written, and what to put into ``params.yaml``.

    Raises:
        ConfigError: there is no such kind, the name cannot be a module's, or something of that name exists;
            nothing is written.
    """
    if kind not in KINDS:
        raise ConfigError(unknown_name("kind", kind, KINDS))
    if not _MODULE.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r:.80} cannot be a module; use up to 30 of a-z 0-9 _, a letter first")
    if find_spec(name) is not None:
        raise ConfigError(f"{name!r} is what an installed module is called; choose another name")
    top = folder / name if package else folder
    module = top / "src" / name / "__init__.py" if package else top / f"{name}.py"
    test = f"test_{kind if kind in ('dataset', 'question_set') else 'component'}"
    templates = {module: f"{kind}.py", top / "tests" / f"test_{name}.py": f"{test}.py"}
    templates |= {top / "pyproject.toml": "pyproject.toml"} if package else {}
    for file in (top, *templates) if package else templates:
        if os.path.lexists(file):
            raise ConfigError(f"{file.relative_to(folder)} is there already; choose another name, or move it away")
    source = files("driftledger") / "templates" / "new"
    texts = {file: (source / f"{name}.txt").read_text(encoding="utf-8") for file, name in templates.items()}
    own = texts[module]
    title = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    words = {
        "name": name,
        "Class": f"My{title}" if re.search(rf"\b{title}\b", own) else title,  # the file may use that name
        "distribution": name.replace("_", "-"),
        "section": f"{kind}s",
        "folder": 'Path(__file__).parent.parent / "src"' if package else "Path(__file__).parent.parent",
    }
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, Template(text).substitute(words))
    written = [str(file.relative_to(folder)) for file in templates]
    asked_by = re.search(r'^    protocol: Literal\["(\w+)"\]$', own, re.MULTILINE)
    protocol = asked_by[1] if asked_by else ""
    provider = name if package else f"{name}:{words['Class']}"
    return [
        f"written: {', '.join(written)}",
        *([f"install it: pip install --editable ./{name}"] if package else []),
        f"try it: python -m pytest {written[1]}",
        "for params.yaml:",
        "",
        f"{kind}s:",
        f"  {name}:",
        f"    provider: {provider}",
        *([f"    protocol: {protocol}"] if protocol else []),
        "",
        f"and its name in {KINDS[kind].format(protocol=protocol)}",
    ]


def _git(top: Path) -> pygit2.Repository:
    try:
        return pygit2.Repository(str(top))
    except pygit2.GitError as error:
        raise ConfigError(f"the Git repository of {_shown(top)} cannot be read ({for_line(str(error))})") from None


def _run(*command: str, cwd: Path) -> None:
    """Run a program; ConfigError says why it failed."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError(f"{command[0]} is not installed, and a project needs it") from None
    if done.returncode:
        why = shortened(done.stderr.decode(errors="replace"), 500)
        raise ConfigError(f"'{' '.join(command[-4:])}' fails ({why}); correct that and run this again")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode(errors="surrogateescape"))


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="surrogateescape") if file.is_file() else ""


def _shown(path: Path) -> str:
    """A path as a person may type it."""
    near = Path(os.path.relpath(path))
    return for_line(str(path if near.parts[:1] == ("..",) else "this folder" if near == Path() else near))


def _next(root: Path) -> list[str]:
    here = os.path.relpath(root)
    enter = [] if here == "." else [f"  cd {for_line(here)}"]
    return ["next:", *enter, "  driftledger run", "  driftledger report --open"]

"""``init``, ``add``, ``models``, ``upgrade``, ``new``: begin a project, select in it, write
something of your own.

``init`` checks everything before it writes anything. It gives images to DVC before there is a
pipeline, and writes ``params.yaml`` last, so that after a kill or on a full disk the same command
goes on.
"""

import keyword
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

from rich.table import Table
from rich.text import Text

from driftledger.commands.terminal import HEAD, line, table
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, DriftledgerError, first_few, unknown_name
from driftledger.core.files import write_bytes, write_text
from driftledger.core.grouping import grouped
from driftledger.core.paths import top_of
from driftledger.core.registry import EXTRAS, provider_class
from driftledger.core.strict import is_relative_path
from driftledger.core.text import for_line, shortened
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.records import blank_notes
from driftledger.ledger.lock import LOCK
from driftledger.project.catalogue import SECTIONS, catalogue, name_of, selectable
from driftledger.project.presets import NOTHING, OWN, Chosen, first_params, with_entry
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS

PIPELINE = "dvc.yaml"
RULES = (".gitignore", ".dvcignore", ".gitattributes")
"""Files that are the user's, and must hold some lines of ours."""
_HEADER = "# Written by driftledger"
_TEMPLATES = OWN / "templates"
_DVC = {
    ".dvc/config": "[cache]\n    type = hardlink,copy\n",
    ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n",
}
"""What makes a folder a DVC project, also below another one, as 'dvc init --subdir' does. An image
has one copy: only where hard links come first, DVC takes the call store's file into its cache."""
_MODULE = re.compile(r"[a-z][a-z0-9_]{0,29}")
"""The name of a module; short enough that no line of a template grows too long."""
COMPONENTS = ("models", "generators", "encoders")
KINDS: Mapping[str, str] = {
    "model": "run.models",
    "generator": "run.generators",
    "encoder": "run.encoders",
    "dataset": "run.datasets and in the list of each benchmark that goes over it",
    "question_set": "run.question_sets and in run.mme",
}
"""What ``new`` can write, and where ``params.yaml`` selects an entry of it."""


def init(
    folder: Path,
    *,
    images: Path | None = None,
    questions: Path | None = None,
    benchmark: str | None = None,
    preset: str | None = None,
    chosen: Chosen = NOTHING,
    force: bool = False,
) -> list[str]:
    """Make a folder a project, and say what was done and what comes next.

    Args:
        images: a folder of images that becomes a dataset.
        questions: a file that becomes a question set; without images, nothing is drawn.
        benchmark: what asks the questions; MME where none is named.
        preset: what is selected.
        chosen: components in place of the preset's.
        force: whether existing files are overwritten.

    Raises:
        ConfigError: the folder holds something else, or what is to be selected is missing; nothing
            is written.
        DataError: the folder of images holds none.
    """
    if benchmark and questions is None:
        raise ConfigError("--benchmark asks the questions of a file; name that by --questions")
    root = folder.resolve()
    near = Path(os.path.relpath(root))
    is_begun = is_ours(_text(root / PIPELINE))
    place = for_line(
        str(root if near.parts[:1] == ("..",) else "this folder" if near == Path() else near)
    )
    if is_begun and (root / PARAMS).exists() and not force:
        if any((images, questions, preset, chosen)):
            raise ConfigError(
                f"{place} is a project already; 'driftledger add' selects more in its {PARAMS}, "
                "or --force writes that again"
            )
        return [
            f"{place} is a project already; 'driftledger upgrade' brings its files up to date",
            *_next(root),
        ]
    top = top_of(root)
    path, is_kept = ("", False) if images is None else _images(root, top or root, images)
    data = dict[str, Any]()
    if images is not None:
        data["datasets"] = {name_of(Path(path).name): {"provider": "image_folder", "path": path}}
    if questions is not None:
        if not questions.is_file():
            raise ConfigError(f"{for_line(str(questions))} is not a file; name one of questions")
        path_of_set = _in_settings(root, top or root, questions)
        entry = {"provider": "table", "protocol": benchmark or "mme", "path": path_of_set}
        data["question_sets"] = {name_of(questions.stem): entry}
    texts = generated() | {PARAMS: first_params(root, preset or "start", data, chosen)}
    existing = (
        []
        if is_begun or force
        else [name for name in (*texts, LOCK) if os.path.lexists(root / name)]
    )
    if others := [name for name in existing if _text(root / name) != texts.get(name)]:
        raise ConfigError(
            f"{place} holds {', '.join(others)} of something else; give the project a folder of "
            "its own, as in 'driftledger init evaluation', or --force overwrites them"
        )
    checkpoints = []
    for written in (entry for entries in chosen.values() for entry in entries.values()):
        own = os.path.relpath((written or {}).get("path") or root, root)
        if is_relative_path(own) and (root / own).exists():
            checkpoints.append(f"/{own}")
    first = {name: text for name, text in _DVC.items() if not os.path.lexists(root / name)}
    for name, text in (first | _with_our_rules(root, checkpoints)).items():
        _write(root / name, text)
    if top is None:
        _run("git", "init", "--quiet", cwd=root)
    if is_kept:
        _run(sys.executable, "-m", "dvc", "add", "--", path, cwd=root)
    for name, text in texts.items():
        _write(root / name, text)
    keeper = f"DVC keeps {path} now; commit {path}.dvc" if is_kept else f"{path}, where it is"
    sentences = [
        f"{place} is a project now",
        *([] if top else ["with a Git repository of its own"]),
    ]
    if images is not None:
        sentences.append(f"the dataset {', '.join(data['datasets'])}: {keeper}")
        dataset = ImageFolder(path=images.resolve())
        read, unread = dataset.files()
        if unread:
            sentences.append(f"left out, not an image that is read: {first_few([*unread])}")
        sentences += blank_notes(dataset.blank(), len(read), "images")
    sentences += [f"Git ignores {for_line(each)}" for each in checkpoints]
    if chosen or preset not in (None, "minimal"):
        project = Project(root, own_code=True)
        sentences += needs(
            project, {section: project.settings.named(section) for section in COMPONENTS}
        )
        if judge := project.settings.judge:
            sentences.append(f"{judge} grades the answers; run.judge in {PARAMS} names another")
    else:
        sentences += [
            "what it selects is a demonstration: a toy describer and a toy painter, which only "
            "understand each other",
            "'driftledger models' lists real ones; driftledger init --force --model M --generator "
            "G --encoder E",
        ]
    return [*sentences, *_next(root)]


def add(
    project: Project, section: str, given: str, *, only: bool, base_url: str | None, key: str | None
) -> list[str]:
    """Select one more model, generator or encoder in ``params.yaml``, and say what it needs.

    Args:
        only: whether it is selected alone, in place of the others.

    Raises:
        ConfigError: it is unknown, or cannot understand the others; nothing is written.
    """
    name, entry = selectable(section, given, base_url, key)
    write_text(project.root / PARAMS, with_entry(project.root, section, name, entry, only=only))
    return [
        f"{PARAMS} selects {name}",
        *needs(Project(project.root, own_code=True), {section: [name]}),
    ]


def needs(project: Project, named: Mapping[str, Sequence[str]]) -> list[str]:
    """Say what components still need on this machine, a line each."""
    sentences = []
    for section, name in ((section, name) for section, names in named.items() for name in names):
        missing, notes = project.settings.build(section, name).readiness()
        entry = project.settings.entry(section, name)
        about = entry.about
        notes += (
            [f"retired on {entry.retired}, so that its service refuses it"] if entry.retired else []
        )
        notes += (
            [f"{about.memory:g} GB of memory for its weights"] if about and about.memory else []
        )
        sentences += [
            f"{section}.{name}: {each}"
            for each in (*(f"missing: {each}" for each in missing), *notes)
        ]
    return sentences


def generated() -> dict[str, str]:
    """Every file that the package writes for a project: its path and its text."""
    head = (
        f"{_HEADER}: 'driftledger upgrade' writes it again, and 'git diff' shows what that "
        "changes.\n"
    )
    texts = {
        name: head + (_TEMPLATES / name).read_text(encoding="utf-8")
        for name in (PIPELINE, "MLproject")
    }
    plots = sorted((_TEMPLATES / "plots").iterdir())
    return texts | {f".dvc/plots/{file.name}": file.read_text(encoding="utf-8") for file in plots}


def is_ours(text: str) -> bool:
    """Whether some version of the package wrote the file."""
    return text.startswith(_HEADER)


def _with_our_rules(root: Path, checkpoints: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of rules for Git and DVC that lack some of ours, with these at the end.

    Args:
        checkpoints: further rules for Git.
    """
    texts = {}
    for name in RULES:
        wanted = (_TEMPLATES / name.removeprefix(".")).read_text(encoding="utf-8")
        if name == ".gitignore":
            wanted += "".join(f"{each}\n" for each in checkpoints)
        text = _text(root / name)
        own = {each.strip() for each in text.splitlines()}
        missing = [
            each for each in wanted.splitlines() if each not in own and not each.startswith("#")
        ]
        if missing:
            texts[name] = "\n".join([text.removesuffix("\n"), *missing, ""]) if text else wanted
    return texts


def _in_settings(root: Path, top: Path, given: Path) -> str:
    """Return the path of data as settings have it.

    Raises:
        ConfigError: settings cannot hold it.
    """
    place = given.resolve()
    path = Path(os.path.relpath(place, root) if place.is_relative_to(top) else place).as_posix()
    if not is_relative_path(path.replace("../", "").lstrip("/")):
        what = f"{for_line(str(given))} has characters in its name that settings cannot hold"
        raise ConfigError(f"{what}; rename it")
    return path


def _images(root: Path, top: Path, given: Path) -> tuple[str, bool]:
    """Return the path of images as settings have it, and whether DVC is to keep them: Git does not,
    nor DVC already.

    Raises:
        ConfigError: it is not a folder, holds the project, or has a name that settings cannot hold.
        DataError: it holds no images.
    """
    place = given.resolve()
    shown = for_line(str(given))
    if not place.is_dir():
        raise ConfigError(f"--images: {shown} is not a folder; name one with images")
    if root.is_relative_to(place):
        raise ConfigError(
            f"--images: {shown} would hold the project itself; put the images into a folder below "
            "it"
        )
    next(ImageFolder(path=place).items())
    path = _in_settings(root, top, given)
    if not place.is_relative_to(root):
        return path, False
    in_git = os.path.lexists(top / ".git") and _run("git", "ls-files", "--", str(place), cwd=top)
    return path, not (
        in_git or any(Path(f"{each}.dvc").is_file() for each in (place, *place.parents))
    )


def upgrade(project: Project, *, check: bool = False) -> list[str]:
    """Write the package's files again where they differ, and say which these are, or would be with
    ``check``.

    Raises:
        ConfigError: this is not a project, or a file has changes that are not committed; nothing is
            written.
    """
    root = project.root
    if not ((root / PARAMS).is_file() and (root / ".dvc").is_dir()):
        raise ConfigError(
            "this folder is not a project; run this in its top folder, or 'driftledger init' first"
        )
    texts = {path: text for path, text in generated().items() if _text(root / path) != text}
    if texts and not check and top_of(root) is not None:
        status = _run("git", "status", "--porcelain", "--", *texts, cwd=root).splitlines()
        if changed := [each[3:] for each in status if not each.startswith("??")]:
            raise ConfigError(
                f"{changed[0]} has changes that are not committed; commit them, since it is "
                "written again"
            )
    texts |= _with_our_rules(root)
    if check:
        return [f"{path} differs from what driftledger writes" for path in texts]
    for path, text in texts.items():
        _write(root / path, text)
    return [f"{path}: written again; 'git diff' shows the changes" for path in texts] or [
        "every file is as driftledger writes it"
    ]


def catalogue_rows(words: str = "") -> list[Json]:
    """List the catalogue: what each entry needs and costs, and when that was checked; what is
    retired is last.

    Args:
        words: a section of ``params.yaml``, or a part of a name, a provider or a model; without it,
            every component.

    Raises:
        ConfigError: nothing matches.
    """
    rows = list[Json]()
    for section in [words] if words in SECTIONS else COMPONENTS:
        for name, entry in catalogue(section).items():
            fields = {"about": None} | entry.model_dump(mode="json")
            named = [
                fields[key]
                for key in ("model", "path", "prompt")
                if isinstance(fields.get(key), str)
            ]
            what = "/".join(filter(None, (fields.get("provider"), *named[:1])))
            row: Json = {
                "section": section,
                "name": name,
                "is": what,
                "needs": _needed(section, fields),
            }
            row |= {key: fields.get(key) for key in ("prices", "retired")}
            rows.append(row | {"checked": (fields["about"] or {}).get("checked")})
    found = [
        row
        for row in rows
        if words.lower() in f"{row['section']} {row['name']} {row['is']}".lower()
    ]
    if not found:
        raise ConfigError(unknown_name("name", words, [row["name"] for row in rows]))
    return sorted(found, key=lambda row: row["retired"] is not None)


def catalogue_table(rows: Sequence[Json]) -> Table:
    """Lay the catalogue out: a line for each entry where there is room, else with the name alone on
    the first one."""
    shown = table("", "needs", "$ per M tokens", "checked", "retired")
    longest = max(len(row["name"]) for row in rows)
    for section, entries in grouped(rows, lambda row: str(row["section"])).items():
        shown.add_row(line(f"{section}:", HEAD))
        for row in entries:
            prices = row["prices"] or {}
            price = " / ".join(f"{prices[key]:g}" for key in ("input", "output") if key in prices)
            price += f"{prices['image']:g} an image" if "image" in prices else ""
            name = Text(f"{row['name']:{longest}}  {row['is']}")
            shown.add_row(
                name, *map(line, (row["needs"], price, row["checked"] or "", row["retired"] or ""))
            )
    return shown


def _needed(section: str, fields: Mapping[str, Any]) -> str:
    """What an entry needs: an extra, the key of a service, memory."""
    with suppress(DriftledgerError, KeyError):
        kind: Any = provider_class(section, fields["provider"])
        key = fields.get(
            "api_key_env", getattr(kind.model_fields.get("api_key_env"), "default", None)
        )
        memory = (fields["about"] or {}).get("memory")
        extra = getattr(kind, "extra", None) or EXTRAS.get(getattr(kind, "library", ""))
        return ", ".join(
            filter(None, (key or (f"[{extra}]" if extra else None), memory and f"{memory:g} GB"))
        )
    return ""


def new(folder: Path, kind: str, name: str) -> list[str]:
    """Write ``NAME.py`` and ``tests/test_NAME.py`` into a folder.

    Args:
        kind: one of :data:`KINDS`.
        name: of the module; the class is named after it.

    Returns:
        Lines that say what was written, and what to put into ``params.yaml``.

    Raises:
        ConfigError: the kind does not exist, the name cannot be a module's, or something of that
            name exists; nothing is written.
    """
    if kind not in KINDS:
        raise ConfigError(unknown_name("kind", kind, KINDS))
    if not _MODULE.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r:.80} cannot be a module; use up to 30 of a-z 0-9 _, a letter first"
        )
    if find_spec(name) is not None:
        raise ConfigError(f"{name!r} is what an installed module is called; choose another name")
    module = folder / f"{name}.py"
    test = f"test_{kind if kind in ('dataset', 'question_set') else 'component'}"
    templates = {module: f"{kind}.py", folder / "tests" / f"test_{name}.py": f"{test}.py"}
    for file in templates:
        if os.path.lexists(file):
            raise ConfigError(
                f"{file.relative_to(folder)} is there already; choose another name, or move it away"
            )
    texts = {
        file: (_TEMPLATES / "new" / f"{name}.txt").read_text(encoding="utf-8")
        for file, name in templates.items()
    }
    own = texts[module]
    title = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    words = {
        "name": name,
        # the file may use that name
        "Class": f"My{title}" if re.search(rf"\b{title}\b", own) else title,
    }
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, Template(text).substitute(words))
    written = [str(file.relative_to(folder)) for file in templates]
    return [
        f"written: {', '.join(written)}",
        f"try it: python -m pytest {written[1]}",
        "for params.yaml:",
        "",
        f"{kind}s:",
        f"  {name}:",
        f"    provider: {name}:{words['Class']}",
        *(["    protocol: mme"] if kind == "question_set" else []),
        "",
        f"and its name in {KINDS[kind]}",
    ]


def _run(*command: str, cwd: Path) -> str:
    """Run a program, and return what it prints; ConfigError says why it failed."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError(f"{command[0]} is not installed, and a project needs it") from None
    if done.returncode:
        why = shortened(done.stderr.decode(errors="replace"), 500)
        raise ConfigError(
            f"'{' '.join(command[-4:])}' fails ({why}); correct that and run this again"
        )
    return done.stdout.decode(errors="replace")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode(errors="surrogateescape"))


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="surrogateescape") if file.is_file() else ""


def _next(root: Path) -> list[str]:
    here = os.path.relpath(root)
    enter = [] if here == "." else [f"  cd {for_line(here)}"]
    commit = '  git add . && git commit -m "Select models"'
    return ["next:", *enter, "  driftledger plan", commit, "  driftledger run", "  driftledger ui"]

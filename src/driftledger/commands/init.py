"""``init`` and ``upgrade``: make a folder a project.

``init`` checks everything before it writes anything. It gives images to DVC before there is a
pipeline, and writes ``params.yaml`` last, so that after a kill or on a full disk the same command
goes on.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.benchmarks.registry import question_rules
from driftledger.commands.models import COMPONENTS, needs
from driftledger.core.canonical import Json
from driftledger.core.errors import (
    ConfigError,
    DataError,
    DriftledgerError,
    first_few,
)
from driftledger.core.files import write_bytes
from driftledger.core.paths import top_of
from driftledger.core.strict import is_relative_path
from driftledger.core.text import for_line, shortened
from driftledger.data.build import build_questions, id_problem
from driftledger.data.datasets.decode import losses
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import loss_notes, notes_of
from driftledger.project.catalogue import name_of
from driftledger.project.presets import (
    ENCODER,
    NOTHING,
    ON_ENCODER,
    OWN,
    Chosen,
    first_params,
)
from driftledger.project.project import LOCK, Project
from driftledger.project.settings import PARAMS

PIPELINE = "dvc.yaml"
RULES = (".gitignore", ".dvcignore", ".gitattributes")
"""Files of the user that need some lines of ours."""
_HEADER = "# Written by driftledger"
_TEMPLATES = OWN / "templates"
_DVC = {
    ".dvc/config": "[cache]\n    type = hardlink,copy\n",
    ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n",
}
"""Files that make a folder a DVC project, also below another one, as 'dvc init --subdir' does. Hard
links come first, so that an image has one copy: DVC links the call store's file into its cache."""


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
        preset: what is selected; None is what fits the chosen models, or a demonstration.
        chosen: components in place of the preset's.
        force: whether existing files are overwritten.

    Raises:
        ConfigError: the folder holds something else, or what is to be selected is missing; nothing
            is written.
        DataError: the folder of images holds none, or two of one name.
    """
    root = folder.resolve()
    if root.exists() and not root.is_dir():
        raise ConfigError(f"{_shown(root)} is not a folder; name another")
    if benchmark and questions is None:
        raise ConfigError(
            "--benchmark asks the questions of a file; name that by --questions"
        )
    is_begun = is_ours(_text(root / PIPELINE))
    if is_begun and (root / PARAMS).exists() and not force:
        return _begun(root, any((images, questions, preset, chosen)))
    is_new = top_of(root) is None
    top = top_of(root) or root
    data = _data(root, top, images, questions, benchmark)
    texts = generated() | {PARAMS: first_params(root, preset, data, chosen)}
    question_notes = []
    if questions is not None:
        question_notes = _question_notes(data["question_sets"], questions)
    if not (is_begun or force):
        _refuse_others(root, texts)
    checkpoints = _checkpoints(root, chosen)
    path_for_dvc = ""
    if images is not None and _is_for_dvc(root, top, images):
        [entry] = data["datasets"].values()
        path_for_dvc = entry["path"]
    _write_project(root, texts, checkpoints, path_for_dvc)
    sentences = [f"{_shown(root)} is a project now"]
    if is_new:
        sentences.append("with a Git repository of its own")
    if images is not None:
        sentences += _image_notes(data["datasets"], images, bool(path_for_dvc))
    sentences += question_notes
    sentences += [f"Git ignores {for_line(path)}" for path in checkpoints]
    is_chosen = bool(chosen) or preset not in (None, "minimal")
    return [*sentences, *_component_notes(root, is_chosen), *_next(root)]


def _begun(root: Path, is_more_wanted: bool) -> list[str]:
    """Say what to do with a folder that is a project already.

    Raises:
        ConfigError: something is to be selected, which ``init`` does in a new project alone.
    """
    place = _shown(root)
    if is_more_wanted:
        raise ConfigError(
            f"{place} is a project already; 'driftledger add' selects more in its {PARAMS}, or "
            "--force writes that again"
        )
    return [
        f"{place} is a project already; 'driftledger upgrade' brings its files up to date",
        *_next(root),
    ]


def _data(
    root: Path,
    top: Path,
    images: Path | None,
    questions: Path | None,
    benchmark: str | None,
) -> Json:
    """Return the entries of data for ``params.yaml``, by section and name.

    Raises:
        ConfigError: a path is not what it should be, or settings cannot hold it.
        DataError: the folder of images holds none, or two of one name.
    """
    data = {}
    if images is not None:
        _check_images(root, images)
        path = _in_settings(root, top, images)
        entry = {"provider": "image_folder", "path": path}
        data["datasets"] = {name_of(Path(path).name): entry}
    if questions is not None:
        if not questions.is_file():
            raise ConfigError(
                f"{for_line(str(questions))} is not a file; name one of questions"
            )
        path = _in_settings(root, top, questions)
        protocol = benchmark or "mme"
        entry = {"provider": "table", "protocol": protocol, "path": path}
        data["question_sets"] = {name_of(questions.stem): entry}
    return data


def _refuse_others(root: Path, texts: Mapping[str, str]) -> None:
    """Raise ConfigError if a file of something else has the name of one of these."""
    others = []
    for name in (*texts, LOCK):
        if os.path.lexists(root / name) and _text(root / name) != texts.get(name):
            others.append(name)
    if others:
        raise ConfigError(
            f"{_shown(root)} holds {', '.join(others)} of something else; give the project a "
            "folder of its own, as in 'driftledger init evaluation', or --force overwrites them"
        )


def _checkpoints(root: Path, chosen: Chosen) -> list[str]:
    """List the chosen checkpoints that are below the project, as rules for Git."""
    rules = []
    for entries in chosen.values():
        for entry in entries.values():
            path = os.path.relpath((entry or {}).get("path") or root, root)
            if is_relative_path(path) and (root / path).exists():
                rules.append(f"/{path}")
    return rules


def _write_project(
    root: Path,
    texts: Mapping[str, str],
    checkpoints: Sequence[str],
    path_for_dvc: str,
) -> None:
    """Write all files of a project, ``params.yaml`` last.

    Args:
        checkpoints: further rules for Git.
        path_for_dvc: the path of images that DVC is to keep; empty for none.
    """
    root.mkdir(parents=True, exist_ok=True)
    if top_of(root) is None:  # first: without Git, nothing else is written
        run_program("git", "init", "--quiet", cwd=root)
    for name, text in _DVC.items():
        if not os.path.lexists(root / name):
            _write(root / name, text)
    for name, text in _with_our_rules(root, checkpoints).items():
        _write(root / name, text)
    if path_for_dvc:
        # without links: the files stay the user's, to be written over
        add = ("dvc", "add", "--no-relink", "--", path_for_dvc)
        run_program(sys.executable, "-m", *add, cwd=root)
    for name, text in texts.items():
        _write(root / name, text)


def _image_notes(entries: Json, images: Path, is_kept: bool) -> list[str]:
    """Say which dataset the images are, who keeps them, and what is lost when they are read."""
    [(name, entry)] = entries.items()
    path = entry["path"]
    keeper = f"{path}, where it is"
    if is_kept:
        keeper = f"DVC keeps {path} now; commit {path}.dvc"
    notes = [f"the dataset {name}: {keeper}"]
    dataset = ImageFolder(path=images.resolve())
    _, unread = dataset.files()
    if unread:
        notes.append(
            f"left out, since their format is not read: {first_few([*unread])}"
        )
    noted = [*dataset.noted()]
    return [*notes, *loss_notes(losses(noted), len(noted), "images")]


def _component_notes(root: Path, is_chosen: bool) -> list[str]:
    """Say what the selected components need, and what is a demonstration unless they are chosen."""
    project = Project(root, own_code=True)
    notes = []
    for section in COMPONENTS:
        notes += needs(project, section, project.settings.named(section))
    if project.settings.run.encoders == (ENCODER,):
        notes.append(ON_ENCODER)
    judge = project.settings.judge
    if is_chosen and judge:
        notes.append(
            f"{judge} grades the answers; to choose another, set run.judge in {PARAMS}"
        )
    if not is_chosen:
        notes += [
            "what it selects is a demonstration: a toy describer and a toy painter, which only "
            "understand each other",
            "'driftledger models' lists real ones; driftledger init --force --model M",
        ]
    return notes


def generated() -> dict[str, str]:
    """Return every file that the package writes for a project: its path and its text."""
    head = f"{_HEADER}: 'driftledger upgrade' writes it again, and 'git diff' shows what that "
    texts = {}
    for name in (PIPELINE, "MLproject"):
        texts[name] = f"{head}changes.\n" + _text(_TEMPLATES / name)
    for file in sorted((_TEMPLATES / "plots").iterdir()):
        texts[f".dvc/plots/{file.name}"] = _text(file)
    return texts


def is_ours(text: str) -> bool:
    """Return True if some version of the package wrote the file."""
    return text.startswith(_HEADER)


def _with_our_rules(root: Path, checkpoints: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of rules for Git and DVC, with those of ours that they lack.

    Args:
        checkpoints: further rules for Git.
    """
    texts = {}
    for name in RULES:
        wanted = _text(_TEMPLATES / name.removeprefix("."))
        if name == ".gitignore":
            wanted += "".join(f"{each}\n" for each in checkpoints)
        text = _text(root / name)
        present = {rule.strip() for rule in text.splitlines()}
        missing = []
        for rule in wanted.splitlines():
            if rule not in present and not rule.startswith("#"):
                missing.append(rule)
        if missing and text:
            texts[name] = "\n".join([text.removesuffix("\n"), *missing, ""])
        elif missing:
            texts[name] = wanted
    return texts


def _shown(root: Path) -> str:
    """Return a folder's path from the current folder; in full if it is not below it."""
    near = Path(os.path.relpath(root))
    if near == Path():
        return "this folder"
    return for_line(str(root if near.parts[0] == ".." else near))


def _in_settings(root: Path, top: Path, data: Path) -> str:
    """Return the path to write into the settings for a file or folder of data.

    Raises:
        ConfigError: settings cannot hold it.
    """
    place = data.resolve()
    path = place.as_posix()
    if place.is_relative_to(top):
        path = Path(os.path.relpath(place, root)).as_posix()
    if not is_relative_path(path.replace("../", "").lstrip("/")):
        what = f"{for_line(str(data))} has characters in its name that settings cannot hold"
        raise ConfigError(f"{what}; rename it")
    return path


def _check_images(root: Path, images: Path) -> None:
    """Check that a folder can be a dataset.

    Raises:
        ConfigError: it is not a folder, or holds the project.
        DataError: it holds no images, or two of one name.
    """
    place = images.resolve()
    name = for_line(str(images))
    if not place.is_dir():
        raise ConfigError(f"--images: {name} is not a folder; name one with images")
    if root.is_relative_to(place):
        raise ConfigError(
            f"--images: {name} would hold the project itself; put the images into a folder below "
            "it"
        )
    names = dict[str, str]()
    for item in ImageFolder(path=place).items():
        if problem := id_problem(item.id, item.name, names):
            raise DataError(f"{name_of(place.name)}: {problem}")


def _is_for_dvc(root: Path, top: Path, images: Path) -> bool:
    """Return True if DVC is to keep images: below the project, and kept by neither Git nor DVC."""
    place = images.resolve()
    if not place.is_relative_to(root):
        return False
    in_git = os.path.lexists(top / ".git") and run_program(
        "git", "ls-files", "--", str(place), cwd=top
    )
    in_dvc = any(Path(f"{path}.dvc").is_file() for path in (place, *place.parents))
    return not (in_git or in_dvc)


def _question_notes(entries: Json, questions: Path) -> list[str]:
    """Say what is lost of a question set, and that Git would take its images.

    Raises:
        ConfigError, DataError: it cannot be read, for the reason that ``plan`` would give.
    """
    [(name, entry)] = entries.items()
    table = QuestionTable(protocol=entry["protocol"], path=questions.resolve())
    try:
        with TemporaryDirectory() as folder:
            target = Path(folder) / name
            card = build_questions(name, table, question_rules(table), target)
    except DriftledgerError as error:
        error.args += (
            "'init' without --questions makes a project whose params.yaml can describe the table",
        )
        raise
    notes = notes_of(card, card.questions, "questions' images")
    return [
        *(f"question set {name}: {note}" for note in notes),
        f"'git add' takes the images of {name} that are below this folder; 'dvc add --no-relink "
        "FOLDER' before gives a folder of them to DVC",
    ]


def upgrade(project: Project, *, check: bool = False) -> list[str]:
    """Write generated files again where they differ, and list them.

    With ``check``, they are only listed.

    Raises:
        ConfigError: this is not a project, or a file has changes that are not committed; nothing
            is written.
    """
    root = project.root
    if not ((root / PARAMS).is_file() and (root / ".dvc").is_dir()):
        raise ConfigError(
            "this folder is not a project; run this in its top folder, or 'driftledger init' first"
        )
    texts = {}
    for path, text in generated().items():
        if _text(root / path) != text:
            texts[path] = text
    if texts and not check and top_of(root) is not None:
        for status in run_program(
            "git", "status", "--porcelain", "--", *texts, cwd=root
        ).splitlines():
            if not status.startswith("??"):
                raise ConfigError(
                    f"{status[3:]} has changes that are not committed; commit them, since it is "
                    "written again"
                )
    texts |= _with_our_rules(root)
    if check:
        return [f"{path} differs from what driftledger writes" for path in texts]
    lines = []
    for path, text in texts.items():
        _write(root / path, text)
        lines.append(f"{path}: written again; 'git diff' shows the changes")
    return lines or ["every file is as driftledger writes it"]


def run_program(*command: str, cwd: Path) -> str:
    """Run a program and return its output; ConfigError says why it failed."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError(
            f"{command[0]} is not installed, and a project needs it"
        ) from None
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
    """List the commands that come next."""
    commands = ["driftledger plan", 'git add . && git commit -m "Select models"']
    commands += ["driftledger run", "driftledger ui"]
    path = os.path.relpath(root)
    if path != ".":
        commands.insert(0, f"cd {for_line(path)}")
    return ["next:", *(f"  {command}" for command in commands)]

"""A project as version 1.0.0 left it, in ``golden/project_1_0.tar.xz``.

``python -m tests.acceptance.stability --first`` made it of ``tests/cases/acceptance/project_1_0``;
a release of 1.x never does. It holds drawn images, questions, two embedded models and a service,
which answers while the project is made and never again: a call made later fails.
"""

import shutil
import tarfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.checkout import Checkout, draw, init
from tests.acceptance.places import GOLDEN, REPOSITORY
from tests.acceptance.service import Service, send

FILE = GOLDEN / "project_1_0.tar.xz"
SOURCES = REPOSITORY / "tests/cases/acceptance/project_1_0"
SCENES = REPOSITORY / "src/driftledger_demo/data/drawings/images"
"""What its questions are about: the embedded describers' answers to shipped ones are recorded."""
PORT = 18754
RUN = "eyes/hands/layout"
BUNDLE = "score.zip"
NOT_KEPT = {"hooks", "tmp", "mlflow.db", "mlartifacts", "features", "locks"}
ANSWERS = {b"option's letter": "B", b"yes or no": "Yes"}


class Eyes(Service):
    """Describes, draws and answers questions."""

    def _serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        for words, text in ANSWERS.items():
            if words in body:
                choice = {"index": 0, "message": {"role": "assistant", "content": text}}
                send(request, {"model": "eyes", "choices": [choice]})
                return
        super()._serve(request, body)


def select(params: dict[str, Any]) -> None:
    """Set what ``settings.yaml`` has."""
    text = (SOURCES / "settings.yaml").read_text(encoding="utf-8")
    for name, content in yaml.safe_load(text).items():
        params[name] = params.get(name, {}) | content


def make(folder: Path) -> None:
    """Make the project in ``folder``, evaluate it, write its bundle, and write :data:`FILE`."""
    for number, category in enumerate(("square", "round") * 2):
        path = folder / "project/photos" / category / f"{number}.png"
        draw(path, number, (40, 30))
    project = init(folder, "--preset", "default", "--images", "project/photos")
    shutil.copytree(SOURCES, project.root, dirs_exist_ok=True)
    (project.root / "scenes").mkdir()
    for name in ("0000.png", "0001.png"):
        shutil.copy(SCENES / name, project.root / "scenes")
    project.params(select)
    project.commit("questions and settings")
    project.env["EYES_KEY"] = "sk-eyes"
    with Eyes(PORT):
        project.driftledger("run")
    project.driftledger("bundle", RUN, "-o", BUNDLE)
    with tarfile.open(FILE, "w:xz", preset=9) as archive:
        archive.add(project.root, "project", filter=_kept)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if NOT_KEPT & {*Path(member.name).parts} else member


def unpack(folder: Path) -> Checkout:
    """Return the project in ``folder``, its results committed, with a key and no service."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    project = Checkout(folder / "project", folder / "state")
    project.env["EYES_KEY"] = "sk-eyes"
    project.commit("results of 1.0.0")
    return project

"""Projects in which the tests run commands, as a user does."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock
from PIL import Image, ImageDraw

from tests.acceptance import own_code
from tests.acceptance.places import REPOSITORY, STAGES_RUN, record_files, score_files
from tests.acceptance.warm import programs

TIMEOUT = 1800.0
"""Of a command, in seconds."""
NOT_COPIED = (".venv", "mlflow.db*", "mlartifacts", "__pycache__", "rwlock")
"""MLflow's store holds the place of the checkout that it belongs to, so a copy gets one of its own.
"""
Done = subprocess.CompletedProcess[str]


class Folder:
    """A folder in which commands run as a user runs them.

    What DVC, Git and others keep for it outside is in ``state``.
    """

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.env = os.environ | {
            "ACCEPTANCE_KEY": "sk-acceptance",
            "COLUMNS": "1000",
            "DVC_GLOBAL_CONFIG_DIR": str(state / "global"),
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(state / "site"),
            "GIT_AUTHOR_EMAIL": "tests@localhost",
            "GIT_AUTHOR_NAME": "tests",
            "GIT_COMMITTER_EMAIL": "tests@localhost",
            "GIT_COMMITTER_NAME": "tests",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HF_HUB_OFFLINE": "1",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "NO_PROXY": "127.0.0.1,localhost",
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), os.environ["PATH"]]
            ),
            "XDG_CACHE_HOME": str(state / "cache"),
        }
        self.on_path(REPOSITORY / "src")
        for name in (
            "DRIFTLEDGER_STORE",
            "MLFLOW_EXPERIMENT_ID",
            "MLFLOW_RUN_ID",
            "MLFLOW_TRACKING_URI",
        ):
            self.env.pop(name, None)

    def on_path(self, folder: Path) -> None:
        """Let commands import from ``folder`` first."""
        self.env["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(folder), self.env.get("PYTHONPATH")))
        )

    def run(self, *command: str, check: bool = True, **more: str) -> Done:
        """Run a command to its end, with ``more`` in its environment.

        Args:
            check: whether it must end with 0.
        """
        path = os.pathsep.join([programs(), self.env["PATH"]])
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.env | {"PATH": path} | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert not check or done.returncode == 0, (
            f"{command} failed:\n{done.stdout}\n{done.stderr}"
        )
        return done

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments).stdout

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--allow-empty", "--message", message)

    def params(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change ``params.yaml``."""
        path = self.root / "params.yaml"
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


class Checkout(Folder):
    """A folder with a project."""

    def copy(self, folder: Path) -> "Checkout":
        """Copy the project into ``folder``, without its MLflow."""
        shutil.copytree(
            self.root,
            folder / "project",
            symlinks=True,
            ignore=shutil.ignore_patterns(*NOT_COPIED),
        )
        other = Checkout(folder / "project", folder / "state")
        other.env["PYTHONPATH"] = self.env["PYTHONPATH"]
        return other

    def driftledger(self, *arguments: str, check: bool = True) -> Done:
        return self.run("driftledger", *arguments, check=check)

    def repro(self) -> set[str]:
        """Run ``dvc repro`` and return the stages that it ran."""
        return set(STAGES_RUN.findall(self.run("dvc", "repro").stdout))

    def results(self) -> dict[str, str]:
        """Return the SHA-256 of each lock, record file and score."""
        paths = [
            *self.root.rglob("dvc.lock"),
            *record_files(self.root),
            *score_files(self.root),
        ]
        return {
            str(path.relative_to(self.root)): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in paths
        }


def init(folder: Path, *arguments: str) -> Checkout:
    """Make a project by ``driftledger init`` in ``folder/project``, and commit it."""
    folder.mkdir(parents=True, exist_ok=True)
    top = Checkout(folder, folder / "state")
    top.driftledger("init", "project", *arguments)
    project = Checkout(folder / "project", folder / "state")
    project.commit("a project")
    return project


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]
) -> Path:
    """Fill a folder once for all processes of a session, to be copied, and return it.

    Nothing may run in it, since others may be copying it.
    """
    top = factory.getbasetemp()
    folder = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / name
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)  # a maker that failed
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


def draw(path: Path, number: int, size: tuple[int, int] = (96, 72)) -> Path:
    """Draw an image with a few shapes, different for every number."""
    image = Image.new("RGB", size, (40 * number % 256, 90, 200 - 30 * number % 200))
    pen, left = ImageDraw.Draw(image), 5 + 7 * number % 40
    pen.ellipse((left, 10, left + 30, 40), fill=(230, 60 * number % 256, 30))
    pen.rectangle(
        (10 + 5 * number % 50, 45, 60 + 3 * number % 30, 65),
        fill=(20, 160, 50 * number % 256),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    return path


def with_images(
    folder: Path, count: int, categories: tuple[str, ...] = ("square", "round")
) -> Checkout:
    """Make a project of GenCeption alone with a dataset ``photos`` of drawn images."""
    for number in range(count):
        draw(
            folder
            / "project"
            / "photos"
            / categories[number % len(categories)]
            / f"{number}.png",
            number,
        )
    return init(folder, "--preset", "minimal", "--images", "project/photos")


def described_by(
    folder: Path,
    models: dict[str, str],
    hands: str,
    images: int = 3,
    iterations: int = 1,
) -> Checkout:
    """Make a project whose models (name → address) and generator are services."""
    pytest.importorskip("openai")
    checkout = with_images(folder, images, ("drawn",))
    own_code.write(checkout.root, hues=own_code.ENCODER)

    def entry(name: str, address: str, **more: str) -> dict[str, Any]:
        common = {"api_key_env": "ACCEPTANCE_KEY", "limits": {"attempts": 2}}
        return {"model": name, "base_url": address, **common, **more}

    def select(params: dict[str, Any]) -> None:
        params["run"] |= {
            "models": [*models],
            "generators": ["hands"],
            "encoders": ["hues"],
        }
        params["models"] = {
            name: entry(name, address, provider="openai")
            for name, address in models.items()
        }
        images = entry("hands", hands, provider="openai_images", image_size="64x64")
        params["generators"] = {"hands": images}
        params["encoders"] = {"hues": {"provider": "hues:hues"}}
        params["genception"] |= {"iterations": iterations, "text_encoder": None}

    checkout.params(select)
    checkout.commit("services describe and draw")
    return checkout

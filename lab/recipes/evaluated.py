"""A recipe's checkpoints, evaluated as anybody's are: in a project of their own, by ``init`` and ``run``."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pygit2
import yaml

from driftledger.commands.init import init
from driftledger.commands.run import REPRO
from driftledger.core.errors import StoreError
from driftledger.core.files import write_text
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from lab.trio.settings import FOLDER

PRESET = "neural"
_REPORT = "report"
_SAID = 2000
"""Characters of what a run that fails said last."""


def evaluated(folder: Path, checkout: Path, name: str, params: Mapping[str, Mapping[str, Any]]) -> Project:
    """Evaluate what the preset ``neural`` selects, but for what ``params`` says otherwise; what is there already stays.

    Args:
        folder: that the project is in, by its name; it is made where it is missing.
        checkout: where ``lab`` and ``trio/`` are.
        params: section → keys that it gets, or gets anew.

    Raises:
        StoreError: the run fails.
    """
    root = folder / name
    if not (root / PARAMS).is_file():
        pygit2.init_repository(root)  # of its own: the one around it ignores the folder
        init(root, preset=PRESET)
        (root / FOLDER).symlink_to(checkout / FOLDER)
    chosen = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))
    for section, keys in params.items():
        chosen.setdefault(section, {}).update(keys)
    write_text(root / PARAMS, yaml.safe_dump(chosen, sort_keys=False))
    found = os.pathsep.join(filter(None, (str(checkout), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        (sys.executable, "-P", "-m", REPRO, _REPORT),
        cwd=root,
        env=os.environ | {"PYTHONPATH": found},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StoreError(f"the run in {root} failed: {(done.stdout + done.stderr)[-_SAID:]}")
    return Project(root)

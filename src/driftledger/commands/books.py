"""Pull with DVC before the work, and write ``dvc.lock`` after it.

DVC is used as a library. It writes the whole of ``dvc.lock`` for each name, so the names are those
of groups of stages.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field

from driftledger.benchmarks.base.stage import DATASET, QUESTION_SET, RECORDS_OF, SCORES
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, StoreError, first_few
from driftledger.core.files import Record, read_json, write_json
from driftledger.core.paths import STATE
from driftledger.core.text import for_line, say
from driftledger.project.project import LOCK, NOTED_SETTINGS, RESOLVED

REPORTS = "reports"
"""Folder with the outputs of ``report`` and ``track``, and with the scores."""
_NOTED = f"{STATE}/books.json"
_BUSY = 30.0
"""Seconds to wait for another command of DVC."""


class Books(Record):
    """The state of a checkout after ``driftledger run`` has written ``dvc.lock``."""

    lock: str = ""
    """SHA-256 of ``dvc.lock`` and of what ``resolve`` wrote."""
    outs: dict[str, str] = Field(default_factory=dict)
    """Output → digest of the names, sizes and times of its files."""


def noted_books(root: Path) -> Books:
    """Read what the last run noted; a new clone has no note."""
    try:
        return read_json(root / _NOTED, Books)
    except StoreError:
        return Books()


def note_books(root: Path, books: Books) -> None:
    """Note the state of a checkout; on a full disk the next run looks at all files."""
    with suppress(OSError):
        write_json(root / _NOTED, books)


def outputs_of(models: Collection[str]) -> list[str]:
    """List the outputs of the stages before the report."""
    outs = [DATASET.out({}), QUESTION_SET.out({})]
    for model in models:
        outs += [RECORDS_OF.format(model=model), f"{SCORES}/{model}"]
    return outs


def lock_digest(root: Path) -> str:
    """Return a digest of ``dvc.lock`` and of what ``resolve`` wrote."""
    digests = []
    for name in (LOCK, RESOLVED, NOTED_SETTINGS):
        file = root / name
        digests.append(sha256_file(file) if file.is_file() else "")
    return sha256_of(digests)


def facts_of(root: Path, out: str) -> str:
    """Return a digest of the names, sizes and times of the files of an output.

    Files below ``reports/scores`` do not belong to the report.
    """
    facts = []
    scores = str(root / SCORES) if out == REPORTS else ""
    folders = [str(root / out)]
    while folders:
        above = folders.pop()
        with (
            suppress(NotADirectoryError, FileNotFoundError),
            os.scandir(above) as files,
        ):
            for file in files:
                if file.is_dir(follow_symlinks=False):
                    if file.path != scores:
                        folders.append(file.path)
                    continue
                state = file.stat(follow_symlinks=False)
                name = os.path.relpath(file.path, root)
                facts.append([name, state.st_size, state.st_mtime_ns])
    return sha256_of(sorted(facts))


def setting_of_dvc(root: Path, name: str) -> str:
    """Return a core setting of DVC in the checkout, such as the default remote.

    It is empty if there is none.

    Raises:
        ConfigError: DVC's configuration cannot be read.
    """
    config = ConfigParser(strict=False, interpolation=None)
    files = [root / ".dvc" / name for name in ("config", "config.local")]
    try:
        config.read(files, encoding="utf-8")
    except (ConfigParserError, UnicodeDecodeError) as error:
        problem = for_line(str(error))
        raise ConfigError(
            f"DVC's settings in {files[0]} cannot be read: {problem}"
        ) from None
    return config.get("core", name, fallback="")


def pull(root: Path, stages: Sequence[str]) -> None:
    """Fetch the outputs of stages from DVC's default remote, as far as it has them."""

    def fetch(repo: Any) -> None:
        repo.pull([_address(root, stage) for stage in stages], allow_missing=True)

    try:
        _with_dvc(root, fetch, waits=True)
    except Exception as error:  # of any of the libraries that reach remotes
        say(for_line(f"DVC's remote does not give {first_few(stages)}: {error}"))


def commit(root: Path, stages: Sequence[str], *, waits: bool) -> None:
    """Write into ``dvc.lock`` what these stages have read and written, as it is now.

    Args:
        stages: of one that goes over models, its name stands for all of them.
        waits: whether to wait for another command of DVC.

    Raises:
        ConfigError: an output is missing, or DVC cannot write; what was written before stays.
    """

    def write(repo: Any) -> None:
        for stage in stages:
            repo.commit(_address(root, stage), force=True)

    _with_dvc(root, write, waits=waits)


def _address(root: Path, stage: str) -> str:
    return f"{os.path.relpath(root)}/dvc.yaml:{stage}"


def _with_dvc(root: Path, work: Callable[[Any], None], *, waits: bool) -> None:
    """Let DVC do ``work``, once no other command of DVC works in this checkout.

    Raises:
        ConfigError: it fails, or another command works for more than half a minute.
    """
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    own = logging.getLogger("dvc")
    own.handlers = [logging.StreamHandler(sys.stdout)]  # with the text of the stages
    own.propagate = False
    deadline = time.monotonic() + _BUSY * waits
    is_waiting = False
    while True:
        try:
            with Repo(str(root)) as repo:
                work(repo)
            return
        except LockError as error:
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"another command of DVC works here: {error}"
                ) from None
            if not is_waiting:
                say("waiting: another command of DVC works here")
                is_waiting = True
            time.sleep(0.2)
        except DvcException as error:
            raise ConfigError(f"DVC says: {error}") from None

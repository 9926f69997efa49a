"""``python -P -m driftledger.repro [ARGUMENT]...``: what ``dvc repro [ARGUMENT]...`` does, in one process.

What is in DVC's remote is pulled, where there is one.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn


class _EndedError(BaseException):
    """A signal asks this process to end."""


def main(arguments: Sequence[str]) -> int:
    """DVC's exit code."""
    gc.disable()
    from dvc.cli import main as dvc

    from driftledger.repro.dvc_internals import replaced, unknown

    gc.freeze()
    gc.enable()
    asked = ["repro", *_pull(), *arguments]
    sys.argv = [str(Path(sys.executable).with_name("dvc")), *asked]  # which DVC notes in its locks
    if changed := unknown():
        print(f"DVC has changed ({', '.join(changed)}): its own 'dvc repro' runs", file=sys.stderr, flush=True)
        return int(dvc(asked))
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored by who has started it, no child would say how it ended
    try:
        with replaced():
            return int(dvc(asked))
    except _EndedError:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        raise


def _end(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one is enough; what is noted is written now
    raise _EndedError


def _pull() -> list[str]:
    """What others have pushed is pulled, where there is a remote to pull it from."""
    from dvc.config import Config, ConfigError

    try:
        return ["--pull"] if Config.from_cwd()["core"].get("remote") else []
    except ConfigError:
        return []  # of which DVC tells


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""DVC's lock file after a kill.

DVC empties ``.dvc/tmp/rwlock`` before it writes it, so that a kill in between leaves a file that every later
``dvc repro`` refuses to read (treeverse/dvc#7615).
"""

import json
from pathlib import Path

from filelock import FileLock, Timeout


def clear(root: Path) -> list[str]:
    """Remove DVC's lock file if it cannot be read and nobody holds it; a sentence on what was removed."""
    file = root / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(file.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError:
        try:
            with FileLock(file.with_name("rwlock.lock"), timeout=5):  # which DVC holds for milliseconds
                file.unlink(missing_ok=True)
        except Timeout:
            return []
        return [".dvc/tmp/rwlock is removed: a 'dvc' that was killed left it unreadable"]
    return []

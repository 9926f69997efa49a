"""Git, run by somebody whose name no machine has to know."""

import subprocess
from pathlib import Path


def git(folder: Path | str, *arguments: str) -> str:
    """Run Git in a folder and return its output."""
    author = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    command = ["git", *author, *arguments]
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout

"""How far a command that reads a checkout may go: to what the reader names, and to nothing that the checkout names."""

from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from driftledger.core.canonical import sha256_bytes


class Reach(NamedTuple):
    """What the reader of a checkout allows."""

    remote: str | None = None
    """A DVC remote to fetch from: its address, or its name in the reader's own DVC configuration."""
    trust: bool = False
    """Whether the checkout is the reader's own: its DVC configuration holds, its MLflow is asked, and components may
    run the code of their checkpoints."""


HERE = Reach()
"""To what is here, and what the environment names."""


def own_folder(root: Path) -> Path:
    """Where the reader keeps what was read in the checkout at ``root``: never in the checkout, whose maker could have
    put it there."""
    return user_cache_path("driftledger") / sha256_bytes(str(root.resolve()).encode())[:16]

"""Addresses of MLflow stores: which one is used, and how it is shown without the credentials in it."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.core.paths import main_checkout

if TYPE_CHECKING:
    from driftledger.project.settings import Tracking

VARIABLE = "MLFLOW_TRACKING_URI"
"""Names a store, whatever ``params.yaml`` says."""

PORT = 5000
"""Where ``driftledger ui`` serves MLflow's pages on this machine."""

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^?]*)(\?.*)?")


def tracking_uri(tracking: "Tracking") -> str:
    """The address of the store; a relative SQLite file lies in the main checkout, for all worktrees of a repository."""
    uri = os.environ.get(VARIABLE) or tracking.uri
    here, match = Path.cwd(), _SQLITE.fullmatch(uri)
    if match is None or not match[2] or match[2].startswith((":", "/")) or (main := main_checkout(here)) == here:
        return uri
    return f"{match[1]}{main / match[2]}{match[3] or ''}"


def sqlite_file(uri: str) -> Path | None:
    """The file behind ``sqlite:///…``; None for any other address."""
    match = _SQLITE.fullmatch(uri)
    return Path(match[2]) if match else None


def is_server(uri: str) -> bool:
    """Whether the address is that of an MLflow server."""
    return uri.startswith(("http://", "https://"))


def without_credentials(text: str) -> str:
    """The text without ``user:password@`` and queries in the addresses that it holds."""
    return re.sub(r"\?\S*", "", re.sub(r"//\S*@", "//", text))

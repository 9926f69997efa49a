"""Addresses of MLflow stores: which one is meant, and how people are shown it, without credentials that it may hold."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.core.checkouts import main_checkout

if TYPE_CHECKING:
    from driftledger.project.settings import Tracking

NAMED = "MLFLOW_TRACKING_URI"
"""Where the user names a store, whatever a project says."""

PORT = 5000
"""Of this machine: where MLflow's own pages are served."""

_RELATIVE = re.compile(r"(sqlite(?:\+\w+)?:///)([^/:?][^:?]*)(\?.*)?")


def tracking_uri(tracking: "Tracking") -> str:
    """Where MLflow is: ``MLFLOW_TRACKING_URI``, or what params say."""
    return anchored(os.environ.get(NAMED) or tracking.uri)


def artifact_store(tracking: "Tracking") -> str | None:
    """Where a new experiment's files go: ``MLFLOW_DEFAULT_ARTIFACT_ROOT``, or what params say."""
    return os.environ.get("MLFLOW_DEFAULT_ARTIFACT_ROOT") or tracking.artifacts


def anchored(tracking_uri: str) -> str:
    """The address, of one file for all checkouts of a repository: a relative one is meant from the main checkout on."""
    relative, here = _RELATIVE.fullmatch(tracking_uri), Path.cwd()
    if relative is None or (main := main_checkout(here)) == here:
        return tracking_uri
    scheme, file, query = relative.groups(default="")
    return f"{scheme}{main / file}{query}"


def without_credentials(address: str) -> str:
    """``address``, or any text that holds one, without ``user:password@`` and without a query."""
    return re.sub(r"\?\S*", "", re.sub(r"//\S*@", "//", address))


def credentials_in(address: str) -> str:
    """``user:password``; empty where there are none."""
    found = re.search(r"//(\S*)@", address)
    return found.group(1) if found else ""


def cannot_be_used(tracking_uri: str, reason: str, mend: str = "") -> str:
    """One sentence: which store, why, and what to do.

    Args:
        mend: what to do about this reason; what to do about any where it is left out.
    """
    if tracking_uri.startswith("sqlite"):
        mend = mend or "mend that, move the file out of the way, or set MLFLOW_TRACKING_URI"
    else:
        mend = mend or "start the server or set MLFLOW_TRACKING_URI right"
    return (
        f"the MLflow store {without_credentials(tracking_uri)} cannot be used: {reason}; "
        f"the scores are safe in reports/scores and in DVC: {mend}, then run 'driftledger track'"
    )

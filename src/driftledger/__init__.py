"""Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from driftledger.public import *  # noqa: F403  # for whoever reads types


def __getattr__(name: str) -> Any:
    return import_module("driftledger.public").exported(name)


def __dir__() -> list[str]:
    exported: list[str] = import_module("driftledger.public").names()
    return exported

"""What an audit asks of MLflow, as plain values: the ledger is read with or without it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol


class LoggedRun(NamedTuple):
    """A finished run in MLflow."""

    run_id: str
    name: str
    fingerprint: str
    current: bool
    started: str
    """ISO 8601, in UTC."""
    generator: str | None
    """The generator's catalogue name, of runs that have one."""
    address: str
    """Where MLflow is, without credentials."""
    evidence: Callable[[], Mapping[str, Any]]
    """Downloads ``evidence.json`` as it is, of whatever version of this program; empty where there is none."""
    files: Callable[[], list[str]]
    """Lists the run's artifacts, ``packages.txt`` and ``dirty.patch`` among them."""


class LoggedRuns(Protocol):
    """The runs of one experiment. Every method raises LedgerError where MLflow cannot be asked."""

    def find(self, run: str) -> LoggedRun | None:
        """By id, name, ``model/generator/encoder`` or the start of a fingerprint; of several the current or newest."""

    def every(self) -> Iterator[LoggedRun]:
        """All of them, newest first."""

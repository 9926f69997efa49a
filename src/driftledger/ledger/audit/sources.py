"""All that may know about a score, opened when it is asked: the working tree, Git, DVC's cache, MLflow.

None of them has to be there. A fresh clone has no MLflow, a machine that sees only the MLflow server has no lock and no
history; an audit says which of them it went by, and what that proves.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.paths import Combination
from driftledger.ledger.audit.history import LedgerHistory, LockedScore, outs_of
from driftledger.ledger.audit.summary import read_summary
from driftledger.ledger.lineage import Evidence, folders_behind, is_score, read_all_evidence, read_evidence
from driftledger.ledger.lock import locks_here
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.reach import HERE, Reach, own_folder
from driftledger.ledger.objects.remembered import Remembered

T = TypeVar("T")

_NOT_NAMED = (
    "no MLflow store was named; set MLFLOW_TRACKING_URI, or ask the one of params.yaml with --trust, where this "
    "checkout is your own"
)
FINGERPRINT_START = re.compile(r"[0-9a-f]{8,64}")


class LoggedRun(NamedTuple):
    """A finished run in MLflow, as plain values."""

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


class Sources(ExitStack):
    """A context, which ends what it has opened.

    Args:
        selected: what the runs of ``params.yaml`` are evaluated on.
        combinations: the runs of ``params.yaml``.
        mlflow: None where it is not to be asked.
        reach: how far to go for bytes.
    """

    def __init__(
        self,
        root: Path,
        selected: Selected | None = None,
        combinations: Sequence[Combination] = (),
        *,
        mlflow: LoggedRuns | None = None,
        reach: Reach = HERE,
    ) -> None:
        super().__init__()
        self.root = root
        self.selected = selected or Selected()
        self.combinations = combinations
        self.why_not = _NOT_NAMED if mlflow is None else None
        """Why MLflow says nothing; None where it was asked, or was not needed."""
        self.asked = False
        """Whether MLflow answered."""
        self._mlflow, self._reach = mlflow, reach

    @cached_property
    def outs(self) -> dict[str, str]:
        """Path → MD5 of every output that ``dvc.lock`` has now; empty where there is none."""
        return {path: md5 for lock in locks_here(self.root).values() for path, md5 in outs_of(lock).items()}

    @property
    def scores(self) -> Iterator[LockedScore]:
        """The scores that ``dvc.lock`` has now, committed or not."""
        for path, md5 in self.outs.items():
            file = self.root / path
            if is_score(path) and file.is_file() and (facts := read_summary(file.read_bytes())):
                yield LockedScore(path, md5, facts, folders_behind(path, self.outs))

    @cached_property
    def remembered(self) -> Remembered:
        return self.enter_context(Remembered(own_folder(self.root) / "audit.db"))

    @cached_property
    def history(self) -> LedgerHistory | None:
        """None where there is no Git."""
        git = Git.around(self.root)
        return None if git is None else LedgerHistory(git, self.remembered)

    @property
    def unread(self) -> str:
        """What is to be known of scores in Git's history that this version does not read; empty if there are none."""
        return "" if self.history is None else self.history.unread

    @cached_property
    def contents(self) -> Contents:
        return Contents(self.root, self._reach)

    @cached_property
    def current(self) -> list[Evidence]:
        """The runs that ``params.yaml`` selects, as far as their evidence is complete."""
        try:
            return read_all_evidence(self.root, self.selected, self.combinations)
        except DriftledgerError:
            return [each for each in map(self.complete, self.combinations) if each is not None]

    def complete(self, combination: Combination) -> Evidence | None:
        """The evidence of a run in the working tree; None where it is incomplete."""
        try:
            return read_evidence(self.root, self.selected, combination)
        except DriftledgerError:
            return None

    def ask_mlflow(self, question: Callable[[LoggedRuns], T]) -> T | None:
        """The answer, or None where MLflow cannot be asked, with ``why_not`` saying why."""
        if self._mlflow is None or (self.why_not and not self.asked):
            return None
        try:
            answer = question(self._mlflow)
        except LedgerError as error:
            self.why_not = str(error)
            return None
        self.asked = True
        return answer

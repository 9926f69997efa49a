"""All that may know about a score, opened when it is asked: the working tree, Git, DVC's cache, MLflow.

None of them has to be there. A fresh clone has no MLflow, a machine that sees only the MLflow server has no lock and no
history; an audit says which of them it went by, and what that proves.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.paths import Combination, Paths
from driftledger.ledger.audit.history import LedgerHistory, outs_of
from driftledger.ledger.audit.images import Images
from driftledger.ledger.audit.logged import LoggedRuns
from driftledger.ledger.lineage import Evidence, read_all_evidence, read_evidence
from driftledger.ledger.lock import locks_here
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.remembered import Remembered

T = TypeVar("T")

NOT_NAMED = "no MLflow store was named"


class Sources:
    """A context, which ends what it has opened.

    Args:
        selected: what the runs of ``params.yaml`` are evaluated on.
        combinations: the runs of ``params.yaml``.
        mlflow: None where it is not to be asked.
        why_not: why not.
    """

    def __init__(
        self,
        root: Path,
        selected: Selected | None = None,
        combinations: Sequence[Combination] = (),
        *,
        mlflow: LoggedRuns | None = None,
        why_not: str = NOT_NAMED,
    ) -> None:
        self.root = root
        self.selected = selected or Selected()
        self.combinations = combinations
        self.why_not: str | None = why_not if mlflow is None else None
        """Why MLflow says nothing; None where it was asked, or was not needed."""
        self.asked = False
        """Whether MLflow answered."""
        self._mlflow = mlflow
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    @cached_property
    def outs(self) -> dict[str, str]:
        """Path → MD5 of every output that ``dvc.lock`` has now; empty where there is none."""
        return {path: md5 for lock in locks_here(self.root).values() for path, md5 in outs_of(lock).items()}

    @cached_property
    def remembered(self) -> Remembered:
        return self._open.enter_context(Remembered(Paths(self.root).state / "audit.db"))

    @cached_property
    def history(self) -> LedgerHistory | None:
        """None where there is no Git."""
        git = Git.around(self.root)
        return None if git is None else LedgerHistory(git, self.remembered)

    @cached_property
    def contents(self) -> Contents:
        return Contents(self.root)

    @cached_property
    def images(self) -> Images:
        return Images(self.root, self.outs, self.contents)

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

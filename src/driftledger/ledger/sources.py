"""The scores of a project: selected, or published in Git's history."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

from driftledger.benchmarks.base.stage import SCORES
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import (
    DriftledgerError,
    EarlierFormatError,
    LedgerError,
    first_few,
)
from driftledger.ledger.lineage import Lineage, Published, Run, published_in, read_runs
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import CommitTree
from driftledger.ledger.published import mlflow_state, read_published
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.project import Combination, Project
from driftledger.scoring.metric import Metric
from driftledger.scoring.number import Number, NumberName
from driftledger.scoring.score import ROWS, SCORE

RUN_OF_MLFLOW = re.compile("[0-9a-f]{32}")


class NumberTarget(NamedTuple):
    """A number of a score file, or an end of one."""

    lineage: Lineage
    number: Number
    value: float
    end: str = ""
    """``low``, ``high`` or ``std``; empty for the value."""

    @property
    def own_name(self) -> str:
        """Its name in its score: ``gc_at_5``, ``category/cats/gc_at_5_low``."""
        return str(NumberName(*self.number.place, end=self.end))

    @property
    def name(self) -> str:
        """Its name in a run: benchmark and data, then its own name."""
        return f"{self.lineage.place}/{self.own_name}"

    @property
    def names(self) -> set[str]:
        """All names that find it, also its name in MLflow."""
        alias = NumberName(*self.number.place, end=self.end)
        if self.metric is not None and self.metric.alias:
            alias = alias._replace(metric=self.metric.alias)
        return {self.own_name, self.name, f"{alias}/{self.lineage.score.on}"}

    @property
    def metric(self) -> Metric | None:
        """The row of its benchmark's table, if one has it."""
        return self.lineage.spec.metrics.get(self.number.metric)

    @property
    def title(self) -> str:
        """The name in tables: ``GC@5``."""
        if self.end:
            return self.own_name
        return self.lineage.spec.metrics.title(self.number)

    @property
    def interval(self) -> ConfidenceInterval | None:
        """Its interval, if it has one."""
        return None if self.end else self.number.interval


def numbers_of(lineage: Lineage) -> Iterator[NumberTarget]:
    """Yield all numbers of a score that have a value, each with its ends."""
    for number in lineage.score.by_place.values():
        ends = {
            "": number.value,
            "low": number.low,
            "high": number.high,
            "std": number.std,
        }
        for end, value in ends.items():
            if value is not None:
                yield NumberTarget(lineage, number, value=value, end=end)


class RunTarget(NamedTuple):
    """A run, or the one score file or number of it that was asked for."""

    run: Run
    lineage: Lineage | None = None
    number: NumberTarget | None = None
    source: Literal["dvc.lock", "git"] = "dvc.lock"
    """The source: the working tree or a commit."""


class Sources:
    """The sources of the scores in a project."""

    def __init__(self, project: Project) -> None:
        self.root = project.root
        self.contents = Contents(project.root, trust=project.own_code)
        self.git = self.contents.git
        self.selected = project.selected
        self.combinations = project.combinations
        self.incomplete = ""
        """Why :attr:`current` leaves out a run, after a semicolon; empty if it leaves out none."""

    @cached_property
    def current(self) -> list[Run]:
        """The selected runs that are complete."""
        try:
            return self.runs(self.combinations)
        except DriftledgerError as error:
            self.incomplete = f"; {error}"
            runs = []
            for combination in self.combinations:
                with suppress(DriftledgerError):
                    runs += self.runs([combination])
            return runs

    @property
    def lineages(self) -> list[tuple[Run, Lineage]]:
        """Every score once, with the first run that shows it."""
        scores: dict[str, tuple[Run, Lineage]] = {}
        for run in self.current:
            for lineage in run.lineages:
                scores.setdefault(lineage.score_path, (run, lineage))
        return list(scores.values())

    def runs(self, combinations: Sequence[Combination]) -> list[Run]:
        """Read runs; errors as in :func:`~driftledger.ledger.lineage.read_runs`."""
        return read_runs(self.root, self.selected, combinations, self.contents.here)

    def find(self, text: str) -> RunTarget | None:
        """Find a run by its name, its id in MLflow, or its fingerprint.

        A name is ``model/generator/encoder``; eight digits of a fingerprint are enough.

        One that is not here but published is read from the newest commit that has its scores.

        Raises:
            LedgerError: its scores are incomplete, or several runs begin so.
        """
        for combination in self.combinations:
            if text in (str(combination), combination.path):
                return RunTarget(self.runs([combination])[0])
        if RUN_OF_MLFLOW.fullmatch(text):
            text = mlflow_state(self.contents.here).runs.get(text, text)
        if not re.fullmatch("[0-9a-f]{8,64}", text):
            return None
        known: list[Run | Published] = [*self.current, *read_published(self.root)]
        matches = [run for run in known if run.fingerprint.startswith(text)]
        if len({run.fingerprint for run in matches}) > 1:
            raise LedgerError(
                f"several runs have a fingerprint that begins with {text}; give more of it"
            )
        for run in matches:
            if isinstance(run, Run):
                return RunTarget(run)
            former = self._from_git(run)
            if former is not None:
                return RunTarget(former, source="git")
        if matches and self.git is not None and self.git.is_shallow:
            raise LedgerError(
                f"the run {text} is published, but its commit is not in this shallow clone; run "
                "'git fetch --unshallow'"
            )
        return None

    def at(self, reference: str, name: str) -> Run:
        """Read the run of a name as a commit has it: ``main``, a tag, ``HEAD~3``.

        Raises:
            LedgerError: there is no such commit, or it has no such run.
        """
        commit = self.git.commit(reference) if self.git else None
        if self.git is None or commit is None:
            advice = "name a branch, a tag or HEAD~N of this repository"
            if self.git and self.git.is_shallow:
                advice = "this clone is shallow: run 'git fetch --unshallow'"
            raise LedgerError(f"no commit {reference!r:.100} here; {advice}")
        tree = CommitTree(self.git, commit)
        names = []
        for published in published_in(tree):
            if not _has_scores(tree, published):
                continue
            if name not in (published.combination.path, str(published.combination)):
                names.append(published.combination.path)
            elif run := self._read(published, tree):
                return run
        raise LedgerError(
            f"commit {commit[:12]} has no published run {name!r:.200}; it has "
            f"{first_few(sorted(names)) or 'none'}"
        )

    def former(self) -> Iterator[tuple[Run, Lineage]]:
        """Yield every score of published runs that only Git has, once each."""
        seen = [lineage.score for _, lineage in self.lineages]
        for run in self._former_runs(None):
            for lineage in run.lineages:
                if lineage.score not in seen:
                    seen.append(lineage.score)
                    yield run, lineage

    def versions(self, combination: Combination) -> Iterator[Run]:
        """Yield every run of a combination: the selected one, and those that only Git has."""
        yield from (run for run in self.current if run.combination == combination)
        yield from self._former_runs(combination)

    def _former_runs(self, combination: Combination | None) -> Iterator[Run]:
        here = {run.fingerprint for run in self.current}
        for published in read_published(self.root):
            is_meant = combination in (None, published.combination)
            if is_meant and published.fingerprint not in here:
                former = None
                with suppress(EarlierFormatError):  # which its own version reads
                    former = self._from_git(published)
                if former is not None:
                    yield former

    @cached_property
    def _states(self) -> list[CommitTree]:
        """The newest commit that has each state of the scores in Git's history."""
        git = self.git
        if git is None:
            return []
        return [CommitTree(git, commit) for _, commit in git.ever_at(SCORES)]

    def _from_git(self, published: Published) -> Run | None:
        """Read a published run from the newest commit that has all of its scores."""
        for tree in self._states:
            if _has_scores(tree, published):
                return self._read(published, tree)
        return None

    def _read(self, published: Published, tree: CommitTree) -> Run | None:
        """Read a published run from a commit; None if it has no scores there.

        Raises:
            EarlierFormatError: its scores are not in the format of this version.
        """
        selected = []
        for score in published.scores:
            selected.append((benchmark(score.benchmark), score.keys))
        try:
            runs = read_runs(self.root, selected, [published.combination], tree)
        except EarlierFormatError:
            raise EarlierFormatError(
                f"{published.combination.path} in commit {tree.commit[:12]} was scored by an "
                "earlier driftledger; check that commit out, and use the version that wrote it"
            ) from None
        return runs[0] if runs else None

    def nearest(self, text: str) -> str:
        """Name the runs nearest to a text, as the end of a sentence."""
        paths = [combination.path for combination in self.combinations]
        return f"; nearest: {nearest(text, paths)}{self.incomplete}"


def nearest(text: str, names: Iterable[str]) -> str:
    """List the names nearest to a text; all of them if they are few."""
    return ", ".join(get_close_matches(text[:200], names, n=8, cutoff=0.0)) or "none"


def _has_scores(tree: CommitTree, published: Published) -> bool:
    """Return True if a commit has every score of a published run as it was published."""
    for score in published.scores:
        for name, sha256 in ((SCORE, score.score), (ROWS, score.rows)):
            data = tree.read(f"{score.path}/{name}") or b""
            if sha256_bytes(data) != sha256:
                return False
    return True


def find_run(sources: Sources, text: str) -> Run:
    """Find a run; names and errors as of :func:`find_source`."""
    return find_source(sources, text).run


def find_source(sources: Sources, text: str) -> RunTarget:
    """Find a run by its name or fingerprint, or as a commit has it by ``REF:RUN``.

    Raises:
        LedgerError: it does not exist, or is incomplete.
    """
    if target := sources.find(text):
        return target
    reference, colon, name = text.rpartition(":")
    if colon:
        return RunTarget(sources.at(reference, name), source="git")
    raise LedgerError(
        f"no run {text!r:.300} is selected in params.yaml or published{sources.nearest(text)}"
    )


def find_number(lineages: Sequence[Lineage], name: str) -> NumberTarget:
    """Find a number by its name.

    It is ``gc_at_5``, ``gc_at_5/photos`` as in MLflow, or ``genception/photos/gc_at_5``.

    Raises:
        LedgerError: no score file has it, or several have.
    """
    numbers: dict[str, list[NumberTarget]] = {}
    for number in chain.from_iterable(map(numbers_of, lineages)):
        for known in number.names:
            numbers.setdefault(known, []).append(number)
    if name not in numbers:
        raise LedgerError(
            f"no metric is called {name!r:.100}; nearest: {nearest(name, numbers)}"
        )
    matches = numbers[name]
    if len(matches) > 1 and "/" not in name:
        names = first_few([number.name for number in matches])
        raise LedgerError(
            f"{len(matches)} score files have a {name!r:.100}; name one: {names}"
        )
    return matches[0]

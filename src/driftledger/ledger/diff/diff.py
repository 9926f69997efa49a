"""What changed between two Git revisions, or between one and the workspace: versions, selection, data and scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.base import ROLES, SECTIONS
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.score import Score
from driftledger.components.card import ComponentCard
from driftledger.core.errors import LedgerError, StoreError
from driftledger.ledger.changes import Change, changes, component_changes
from driftledger.ledger.code import is_dirty
from driftledger.ledger.diff.data_changes import DataChange, data_changes
from driftledger.ledger.diff.moved import Readings, moved_between, reads
from driftledger.ledger.diff.revision import Snapshot, revision, workspace
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import Git

_CATALOGUES = ("models", "generators", "encoders", "datasets", "question_sets")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CommitSummary(_Frozen):
    """One commit: its hash and the first line of what it says."""

    commit: str
    subject: str


class ComponentChange(_Frozen):
    """A component that scores stand on, in another version; None where there is, or was, none of that name."""

    section: str
    name: str
    old: str | None
    """Fingerprint."""
    new: str | None
    changes: list[Change]
    """The settings, versions and parts of the identity that made it another."""


class ScoreChange(_Frozen):
    """A score file whose numbers are not what they were, or that is there at one of both only."""

    path: str
    benchmark: str
    on: str
    became: str
    """``added``, ``removed`` or ``changed``."""
    headline: list[Change]
    metrics: list[Change]
    """All of them, those of the headline included."""


class ProjectDiff(_Frozen):
    """What changed from one state of a project to another. Names and texts in it are untrusted."""

    old: str
    new: str
    commits: list[CommitSummary]
    """Those that lead to the new state and are not in the old one."""
    left: list[CommitSummary]
    """Those of the old state that the new one does not have."""
    dirty: bool
    """Whether the new state is the workspace with uncommitted changes."""
    selection: list[Change]
    """Of ``run:``; a list's change holds what was taken out and what was put in."""
    protocols: list[Change]
    """Prompts, T, lengths, intervals and all else in ``params.yaml`` that is neither selection nor catalogue."""
    catalogues: list[Change]
    """Entries that are selected from, whether they are or not."""
    components: list[ComponentChange]
    data: list[DataChange]
    scores: list[ScoreChange]
    readings: list[Readings]
    """Answers that are read or graded otherwise, of what both states have."""
    untold: list[str]
    """What could not be told, and why."""

    @property
    def empty(self) -> bool:
        """Whether nothing changed that a score could depend on."""
        told = (self.selection, self.protocols, self.catalogues, self.components, self.data, self.scores)
        return not any(told) and not any(each.moved for each in self.readings)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return self.model_dump(mode="json")


def diff(root: Path, old: str, new: str | None = None) -> ProjectDiff:
    """What changed from revision ``old`` to ``new``, or to the workspace. Nothing is checked out, and nothing written.

    Scores and components are those that each state's ``dvc.lock`` has. Samples and answers are compared where
    DVC's cache has them; answers are fetched from the remote where it has not.

    Raises:
        LedgerError: there is no such revision, or its ``params.yaml`` or ``dvc.lock`` is damaged.
    """
    then, now = revision(root, old), workspace(root) if new is None else revision(root, new)
    contents = Contents(root)
    settings = list(changes(then.params, now.params))
    readings = _readings(contents, then, now)
    return ProjectDiff(
        old=_named(then),
        new=_named(now),
        commits=_commits(root, then.commit, now.commit),
        left=_commits(root, now.commit, then.commit),
        dirty=now.commit is None and is_dirty(root),
        selection=list(_selection(then.params.get("run"), now.params.get("run"))),
        protocols=[each for each in settings if each.key.partition(".")[0] not in ("run", *_CATALOGUES)],
        catalogues=[each for each in settings if each.key.partition(".")[0] in _CATALOGUES],
        components=list(_components(then, now)),
        data=list(data_changes(contents, then, now)),
        scores=list(_scores(then, now)),
        readings=readings.found,
        untold=[*then.scores.unread, *now.scores.unread, *readings.untold],
    )


def _named(state: Snapshot) -> str:
    return state.name if state.commit is None else f"{state.name} ({state.commit[:12]})"


def _commits(root: Path, since: str | None, until: str | None) -> list[CommitSummary]:
    """Those that lead to ``until`` and not to ``since``; None is HEAD."""
    git = Git.around(root)
    if git is None:
        return []
    subjects = git.subjects(*(each or git.heads()[0] for each in (since, until)))
    return [CommitSummary(commit=commit, subject=subject) for commit, subject in subjects]


def _selection(old: Any, new: Any) -> Iterator[Change]:
    """Lists by what left them and what came; one that was only put in another order is shown whole."""
    for change in changes(old or {}, new or {}, "run"):
        was, now = change.old, change.new
        if isinstance(was, list) and isinstance(now, list):
            gone, come = [each for each in was if each not in now], [each for each in now if each not in was]
            yield Change(key=change.key, old=gone or None, new=come or None) if gone or come else change
        else:
            yield change


def _components(then: Snapshot, now: Snapshot) -> Iterator[ComponentChange]:
    old, new = _cards(then), _cards(now)
    for place in sorted(old.keys() | new.keys()):
        was, is_now = old.get(place, {}), new.get(place, {})
        gone = [card for fingerprint, card in sorted(was.items()) if fingerprint not in is_now]
        come = [card for fingerprint, card in sorted(is_now.items()) if fingerprint not in was]
        for index in range(max(len(gone), len(come))):
            one, two = (side[index] if index < len(side) else None for side in (gone, come))
            yield ComponentChange(
                section=place[0],
                name=place[1],
                old=one and one.fingerprint,
                new=two and two.fingerprint,
                changes=component_changes(one, two) if one and two else [],
            )


def _cards(state: Snapshot) -> dict[tuple[str, str], dict[str, ComponentCard]]:
    """Section and name → fingerprint → card: scores of one state may stand on several versions."""
    found: dict[tuple[str, str], dict[str, ComponentCard]] = {}
    for score in state.scores.read.values():
        for role, card in score.components.items():
            found.setdefault((SECTIONS[ROLES[role]], card.name), {})[card.fingerprint] = card
    return found


def _scores(then: Snapshot, now: Snapshot) -> Iterator[ScoreChange]:
    old, new = then.scores.read, now.scores.read
    for path in sorted(old.keys() | new.keys()):
        was, is_now = old.get(path), new.get(path)
        score = is_now or was
        assert score is not None
        metrics = list(changes(was.metrics if was else {}, is_now.metrics if is_now else {}))
        if was and is_now and not metrics:
            continue
        names = _headlines(was) | _headlines(is_now)
        yield ScoreChange(
            path=path,
            benchmark=score.benchmark,
            on=score.on,
            became="added" if was is None else "removed" if is_now is None else "changed",
            headline=[each for each in metrics if each.key in names],
            metrics=metrics,
        )


def _headlines(score: Score | None) -> set[str]:
    return set() if score is None else set(benchmark(score.benchmark).headlines(score))


class _Told(NamedTuple):
    found: list[Readings]
    untold: list[str]


def _readings(contents: Contents, then: Snapshot, now: Snapshot) -> _Told:
    """Of every grading that both states have; equal MD5s of two revisions need no look."""
    told = _Told([], [])
    # several benchmarks may have a stage of one name
    for stage in dict.fromkeys(stage.name for spec in benchmarks() for stage in spec.collects if reads(stage)):
        old, new = then.data(stage), now.data(stage)
        for name in sorted(old.keys() & new.keys()):
            if now.commit is not None and old[name].md5 == new[name].md5:
                continue
            try:
                told.found.append(moved_between(contents, then, now, old[name].path, name))
            except (LedgerError, StoreError) as error:
                told.untold.append(str(error))
    return told

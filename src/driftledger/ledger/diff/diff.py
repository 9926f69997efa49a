"""What changed between two Git revisions, or between one and the workspace: versions, selection, data and scores."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from driftledger.benchmarks.base import SCORES, SECTIONS, Stage, kind_of
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.score import SCORE
from driftledger.benchmarks.tables import NOTHING
from driftledger.components.card import ComponentCard
from driftledger.core.changes import Change, changes
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.core.terminal import HEAD, figure, line, lines, table
from driftledger.ledger.changes import component_changes
from driftledger.ledger.code import is_dirty
from driftledger.ledger.diff.folders import DataChange, Readings, data_changes, readings_between
from driftledger.ledger.diff.revision import Snapshot, snapshot
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.reach import HERE, Reach

_CATALOGUES = ("models", "generators", "encoders", "datasets", "question_sets")

MOST = 20
"""Of anything, beyond which a number stands for the rest in a text: JSON has them all."""


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


def diff(root: Path, old: str, new: str | None = None, reach: Reach = HERE) -> ProjectDiff:
    """What changed from revision ``old`` to ``new``, or to the workspace. Nothing is checked out, and nothing written.

    Scores and components are those that each state's ``dvc.lock`` has. Samples and answers are compared where
    DVC's cache has them; answers are fetched from the remote that ``reach`` allows where it has not.

    Raises:
        LedgerError: there is no such revision, or its ``params.yaml`` or ``dvc.lock`` is damaged.
    """
    then, now = snapshot(root, old), snapshot(root, new)
    contents = Contents(root, reach)
    settings = list(changes(then.params, now.params))
    untold = [*then.scores.unread, *now.scores.unread]
    readings = list(_readings(contents, then, now, untold))
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
        readings=readings,
        untold=untold,
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
            found.setdefault((SECTIONS[kind_of(role)], card.name), {})[card.fingerprint] = card
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
        names = {key for each in (was, is_now) if each for key in benchmark(each.benchmark).headlines(each)}
        yield ScoreChange(
            path=path,
            benchmark=score.benchmark,
            on=score.on,
            became="added" if was is None else "removed" if is_now is None else "changed",
            headline=[each for each in metrics if each.key in names],
            metrics=metrics,
        )


def _readings(contents: Contents, then: Snapshot, now: Snapshot, untold: list[str]) -> Iterator[Readings]:
    """Of every grading that both states have; equal MD5s of two revisions need no look."""
    # several benchmarks may have a stage of one name
    for stage in dict.fromkeys(stage.name for spec in benchmarks() for stage in spec.collects if _reads(stage)):
        old, new = then.data(stage), now.data(stage)
        for name in sorted(old.keys() & new.keys()):
            if now.commit is not None and old[name].md5 == new[name].md5:
                continue
            try:
                yield readings_between(contents, then, now, old[name].path)
            except (LedgerError, StoreError) as error:
                untold.append(str(error))


def _reads(stage: Stage) -> bool:
    """Whether a stage's records hold what was read in others."""
    return stage.record is not None and stage.record.reading is not CollectedRecord.reading


def as_text(difference: ProjectDiff) -> Group:
    """Section by section, those that changed; a line per change, in which untrusted text is inert."""
    sections: dict[str, Sequence[str | Table]] = {
        "commits": _tell_commits(difference.commits),
        "commits that are not in the new state": _tell_commits(difference.left),
        "selection": [_tell_selected(change) for change in difference.selection],
        "protocols": [str(change) for change in difference.protocols],
        "catalogues": [str(change) for change in difference.catalogues],
        "components": [told for each in difference.components for told in _tell_component(each)],
        "data": [told for each in difference.data for told in _tell_data(each)],
        "scores": [_scores_table(difference.scores)] if difference.scores else [],
        "answers read otherwise": [told for each in difference.readings if each.moved for told in _tell_reading(each)],
        "not told": difference.untold,
    }
    changed = " with uncommitted changes" if difference.dirty else ""
    blocks: list[RenderableType] = [line(f"from {difference.old} to {difference.new}{changed}")]
    if difference.empty:
        blocks.append("nothing changed that scores depend on")
    for name, found in sections.items():
        if found:
            told = (lines([each]) if isinstance(each, str) else each for each in found)
            blocks += ["", line(f"{name}:", HEAD), *(Padding(each, (0, 0, 0, 2)) for each in told)]
    return Group(*blocks)


def _tell_commits(commits: Sequence[CommitSummary]) -> list[str]:
    more = [f"and {len(commits) - MOST} more"] if len(commits) > MOST else []
    return [f"{each.commit[:12]} {each.subject}" for each in commits[:MOST]] + more


def _tell_selected(change: Change) -> str:
    if not isinstance(change.old, list | None) or not isinstance(change.new, list | None):
        return str(change)
    gone, come = (change.old or []), (change.new or [])
    if gone and sorted(map(str, gone)) == sorted(map(str, come)):
        return str(change)
    return f"{change.key}: {', '.join([*(f'− {each}' for each in gone), *(f'+ {each}' for each in come)])}"


def _tell_component(each: ComponentChange) -> Iterator[str]:
    yield f"{each.section}.{each.name}: {_short(each.old)} → {_short(each.new)}"
    yield from (f"  {change}" for change in each.changes)


def _tell_data(each: DataChange) -> Iterator[str]:
    yield f"{each.kind.replace('_', ' ')} {each.name}: {_short(each.old)} → {_short(each.new)}"
    of = {word: getattr(each, word) for word in ("added", "removed", "replaced", "altered")}
    yield from (f"  {len(ids)} {word}: {first_few(ids, MOST)}" for word, ids in of.items() if ids)
    if each.untold:
        yield f"  which entries is not known: {each.untold}"
    elif each.old and each.new and not any(of.values()):
        yield "  the same entries, written otherwise"


def _scores_table(changed: Sequence[ScoreChange]) -> Table:
    """The headlines that changed; of a score in which none did, how many numbers."""
    made = table("score", "", "metric", "was", "is", "change", numbers=["was", "is", "change"])
    for each in changed:
        spec = benchmark(each.benchmark)
        place = each.path.removeprefix(f"{SCORES}/").removesuffix(f"/{SCORE}")
        for change in each.headline or [Change(key=f"{len(each.metrics)} others")]:
            metric = spec.metric(change.key)
            digits = 2 if metric is None else metric.digits
            told = [NOTHING if value is None else figure(value, digits) for value in (change.old, change.new)]
            step = "" if NOTHING in told else f"{change.new - change.old:+.{digits}f}"
            made.add_row(
                *map(line, [place, each.became, metric.named(change.key) if metric else change.key, *told, step])
            )
            place = ""
    return made


def _tell_reading(each: Readings) -> Iterator[str]:
    changed = f", {'; '.join(map(str, each.protocol))}" if each.protocol else ""
    yield f"{each.folder.partition('/')[2]}: {len(each.moved)} of {each.read} moved{changed}"
    yield from (f"  {moved.record}: {moved.before} → {moved.now}" for moved in each.moved[:MOST])
    if len(each.moved) > MOST:
        yield f"  and {len(each.moved) - MOST} more"


def _short(digest: str | None) -> str:
    return "nothing" if digest is None else digest[:12]

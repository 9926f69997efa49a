"""What changed between two revisions, for people; untrusted text in it is inert."""

from collections.abc import Iterator, Sequence

from driftledger.core.errors import first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.changes import Change, shown
from driftledger.ledger.diff.data_changes import DataChange
from driftledger.ledger.diff.diff import CommitSummary, ComponentChange, ProjectDiff, ScoreChange
from driftledger.ledger.diff.moved import as_lines

MOST = 20
"""Of anything, beyond which a number stands for the rest: JSON has them all."""


def as_text(difference: ProjectDiff) -> str:
    """Section by section, those that changed; a line per change."""
    sections = {
        "commits": _commits(difference.commits),
        "commits that are not in the new state": _commits(difference.left),
        "selection": [_selected(change) for change in difference.selection],
        "protocols": [str(change) for change in difference.protocols],
        "catalogues": [str(change) for change in difference.catalogues],
        "components": [line for each in difference.components for line in _component(each)],
        "data": [line for each in difference.data for line in _data(each)],
        "scores": [line for each in difference.scores for line in _score(each)],
        "answers read otherwise": list(as_lines([each for each in difference.readings if each.moved], MOST)),
        "not told": difference.untold,
    }
    changed = " with uncommitted changes" if difference.dirty else ""
    lines = [f"from {for_line(difference.old)} to {for_line(difference.new)}{changed}"]
    if difference.empty:
        lines += ["nothing changed that scores depend on"]
    for name, found in sections.items():
        if found:
            lines += ["", f"{name}:", *(_indented(line) for line in found)]
    return "\n".join(lines)


def _indented(line: str) -> str:
    """Two spaces, and those that the line begins with."""
    return " " * (2 + len(line) - len(line.lstrip(" "))) + for_line(line)


def _commits(commits: Sequence[CommitSummary]) -> list[str]:
    more = [f"and {len(commits) - MOST} more"] if len(commits) > MOST else []
    return [f"{each.commit[:12]} {each.subject}" for each in commits[:MOST]] + more


def _selected(change: Change) -> str:
    if not isinstance(change.old, list | None) or not isinstance(change.new, list | None):
        return str(change)
    gone, come = (change.old or []), (change.new or [])
    if gone and sorted(map(str, gone)) == sorted(map(str, come)):
        return str(change)
    return f"{change.key}: {', '.join([*(f'− {each}' for each in gone), *(f'+ {each}' for each in come)])}"


def _component(each: ComponentChange) -> Iterator[str]:
    yield f"{each.section}.{each.name}: {_short(each.old)} → {_short(each.new)}"
    yield from (f"  {change}" for change in each.changes)


def _data(each: DataChange) -> Iterator[str]:
    yield f"{each.kind.replace('_', ' ')} {each.name}: {_short(each.old)} → {_short(each.new)}"
    of = {word: getattr(each, word) for word in ("added", "removed", "replaced", "altered")}
    yield from (f"  {len(ids)} {word}: {first_few(ids, MOST)}" for word, ids in of.items() if ids)
    if each.untold:
        yield f"  which entries is not known: {each.untold}"
    elif each.old and each.new and not any(of.values()):
        yield "  the same entries, written otherwise"


def _score(each: ScoreChange) -> Iterator[str]:
    yield f"{each.path}: {each.became}, {len(each.metrics)} metrics"
    for change in each.headline:
        step = ""
        if isinstance(change.old, float | int) and isinstance(change.new, float | int):
            step = f" ({change.new - change.old:+.4f})"
        yield f"  {change.key}: {_number(change.old)} → {_number(change.new)}{step}"


def _number(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else shown(value)


def _short(digest: str | None) -> str:
    return "nothing" if digest is None else digest[:12]

"""The places of an image in the whole ledger, now and in the past, with the scores that depend on each."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from driftledger.core.errors import DriftledgerError
from driftledger.ledger.audit.history import LedgerHistory, State
from driftledger.ledger.audit.images import ImageHash, Images, ImageUse
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import ScoreSummary, read_summary
from driftledger.ledger.lineage import folders_behind, is_score


class UsingScore(NamedTuple):
    """A score that was made with a folder."""

    path: str
    facts: ScoreSummary


class ImagePlace(NamedTuple):
    """One place of an image in the ledger, and the scores that depend on it."""

    use: ImageUse
    current: bool
    """Whether ``dvc.lock`` still has it."""
    scores: list[UsingScore]


class Places(NamedTuple):
    """Where an image stands, and where nobody could look for it, and why."""

    found: list[ImagePlace]
    unknown: list[str]


def find_places(sources: Sources, image: ImageHash, *, everywhere: bool = False) -> Places:
    """Where an image stands now; if it stands nowhere, or ``everywhere`` is asked, also where it ever stood."""
    places = Places([], [])
    _look(sources, image, sources.outs, True, _scores_here(sources), places)
    history = sources.history
    if history is None or (places.found and not everywhere):
        return places
    seen = set(sources.outs.items())
    for state in reversed(history.states):
        outs = {path: md5 for path, md5 in history.outs(state).items() if (path, md5) not in seen}
        seen |= outs.items()
        _look(sources, image, outs, False, _scores_then(history, state), places)
    return places


def _look(
    sources: Sources,
    image: ImageHash,
    outs: Mapping[str, str],
    current: bool,
    scores: Iterator[tuple[UsingScore, dict[str, str]]],
    places: Places,
) -> None:
    """Add what is found in these versions of folders; ``scores`` says which there are and which folders are behind."""
    read: list[tuple[UsingScore, dict[str, str]]] = []
    for folder, md5 in outs.items():
        if not Images.lists_images(folder):
            continue
        try:
            uses = sources.images.uses(image, folder, md5)
        except DriftledgerError as error:
            places.unknown.append(str(error))
            continue
        if uses:
            read += scores  # once, and only if any are wanted
        hanging = [score for score, behind in read if behind.get(folder) == md5]
        places.found.extend(ImagePlace(use, current, hanging) for use in uses)


def _scores_here(sources: Sources) -> Iterator[tuple[UsingScore, dict[str, str]]]:
    for path in sources.outs:
        file = sources.root / path
        if is_score(path) and file.is_file() and (facts := read_summary(file.read_bytes())):
            yield UsingScore(path, facts), folders_behind(path, sources.outs)


def _scores_then(history: LedgerHistory, state: State) -> Iterator[tuple[UsingScore, dict[str, str]]]:
    outs = history.outs(state)
    for path, blob in history.score_files(state).items():
        stored = history.stored(blob)
        if stored.facts is not None and outs.get(path) == stored.md5:
            yield UsingScore(path, stored.facts), folders_behind(path, outs)

"""The calls behind stages that are as they were when they were last counted, so that counting them takes no walk.

To put the keys of calls together takes all that is asked, some ten thousand questions, orders and images. As long as
nothing changes that they follow from, they are the same calls, and it is enough to look whether each is still stored,
with the result that it had, and its image whole; as long as nobody has written to the store, it is.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from driftledger.collect.database import select_by_key
from driftledger.collect.objects import whole_image
from driftledger.collect.plan import by_component
from driftledger.core.canonical import sha256_of
from driftledger.core.file_states import FileState, files_in, own_code
from driftledger.ledger.lock import LockEntry
from driftledger.ledger.objects.remembered import Remembered

FILE = "plan.db"
"""In the folder of the checkout's state."""

_KIND = "calls"


class KnownCalls(BaseModel):
    """The calls of some stages, all of which were stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    follows_from: str
    """A hash of all that says which calls they are."""
    calls: dict[str, list[str]]
    """Fingerprint of a component → the digests of what it was asked."""
    images: list[str]
    """The hashes of what was drawn."""
    results: str
    """A hash of what the store held for them."""
    store: list[FileState]
    """Inode, size and time of the files of the store when it held that."""

    @classmethod
    def of(cls, folder: Path, follows_from: str, found: Mapping[str, tuple[str, str | None]]) -> Self:
        """The calls that were found in the store of a folder: digest → fingerprint, and the hash of an image."""
        calls = by_component(found)
        images = sorted({image for _, image in found.values() if image is not None})
        store = _store(folder)  # before it is read: what is written meanwhile is looked at the next time
        results = _results(folder, [*found])
        return cls(follows_from=follows_from, calls=calls, images=images, results=results, store=store)

    def still_stored(self, folder: Path) -> Self | None:
        """These calls with the state of the store now, if the store of a folder holds for each what it held."""
        if not all(whole_image(folder, each) for each in self.images):
            return None
        store = _store(folder)
        if store == self.store:
            return self
        digests = [digest for some in self.calls.values() for digest in some]
        try:
            held = _results(folder, digests)
        except sqlite3.Error:  # of which the store says more
            return None
        return self.model_copy(update={"store": store}) if held == self.results else None


def recall(remembered: Remembered, name: str) -> KnownCalls | None:
    """What was kept under a name."""
    try:
        return KnownCalls.model_validate(remembered.get(_KIND, name))
    except ValidationError:  # nothing, or of another version
        return None


def keep(remembered: Remembered, name: str, known: KnownCalls) -> None:
    """Keep calls in the place of what was kept under that name."""
    remembered.keep(_KIND, name, known.model_dump(mode="json"))


def what_calls_follow_from(entries: Iterable[LockEntry], folders: Iterable[Path]) -> str:
    """A hash of what says which calls stages make: their lock entries, which are of the settings, the components and
    the data of now, the files that they are made from, and all code here.

    Args:
        folders: of the data, and of what the stages wrote; their images are in their lists.
    """
    return sha256_of(
        [[each.model_dump(mode="json") for each in entries], [files_in(each) for each in folders], own_code()]
    )


def _store(folder: Path) -> list[FileState]:
    """The state of the files that the store of a folder is written to."""
    found = []
    for name in ("calls.db", "calls.db-wal"):
        with suppress(FileNotFoundError):
            state = FileState.of(folder / name)
            found += [state] * (state.size > 0)
    return found


def _results(folder: Path, digests: Sequence[str]) -> str:
    hashed = sha256()
    for key, result in sorted(_rows(folder, sorted(digests))):
        hashed.update(f"{key}\n{result}\n".encode())
    return hashed.hexdigest()


def _rows(folder: Path, digests: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the store holds, which is only read."""
    address = f"{(folder / 'calls.db').absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as store:
        yield from select_by_key(store, "SELECT key, result FROM calls", digests)

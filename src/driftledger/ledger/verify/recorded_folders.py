"""Recorded outputs at paths, for code that reads folders; in a temporary place, so the workspace stays as it is."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.core.errors import LedgerError
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents


class Folders:
    """Folders and files of exactly the recorded bytes, each set up once."""

    def __init__(self, contents: Contents, top: Path, absent: Iterable[LockedFile]) -> None:
        self._contents, self._top = contents, top
        self._absent = {locked.md5 for locked in absent}
        self._there: dict[str, Path] = {}

    def __call__(self, locked: LockedFile) -> Path:
        """Where its bytes are, to be read and not written to.

        Raises:
            LedgerError: they are not at hand.
        """
        if locked.md5 in self._absent:
            reason = f" ({self._contents.unfetched})" if self._contents.unfetched else ""
            raise LedgerError(f"{locked.path} (md5 {locked.md5}) is neither in a cache nor on a remote{reason}")
        if locked.md5 not in self._there:
            target = self._top / str(len(self._there))
            self._contents.materialise(locked, target)
            self._there[locked.md5] = target
        return self._there[locked.md5]


@contextmanager
def recorded(contents: Contents, outputs: Iterable[LockedFile]) -> Iterator[Folders]:
    """The bytes of these outputs, fetched from the remote where they are not here, as long as the context lasts."""
    wanted = list({locked.md5: locked for locked in outputs}.values())
    absent = contents.fetch(wanted)
    with TemporaryDirectory(prefix="driftledger-") as top:
        yield Folders(contents, Path(top), absent)

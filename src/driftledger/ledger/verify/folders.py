"""The folders behind a score, read as they were recorded: by MD5, wherever the bytes are."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from pydantic import ValidationError

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents, beneath

R = TypeVar("R", bound=Record)


class Folder:
    """One output of a stage, file by file. What cannot be read in it is noted as a finding."""

    def __init__(self, locked: LockedFile, contents: Contents, result: VerifyResult) -> None:
        self.path = locked.path
        self.result = result
        self._contents = contents
        self._names: dict[str, str] | None
        try:
            self._names = contents.manifest(locked)
        except LedgerError:  # which the check of bytes names; what stands at its path may still say more
            self._names = None

    @property
    def names(self) -> frozenset[str]:
        """Every file in it, relative to it."""
        return frozenset(self._contents.folder_here(self.path) if self._names is None else self._names)

    def file(self, name: str) -> Path | None:
        """A file of the folder: with the locked bytes if they can be had, else the one at its path, if any."""
        near = beneath(self.path, name)
        md5 = (self._names or {}).get(name)
        found = self._contents.path(md5, near) if md5 else None
        here = self._contents.root / near
        return found or (here if here.is_file() else None)

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """The lines of a JSONL file; none where it cannot be read."""
        file = self.file(name)
        try:
            return _read_rows(file, kind) if file else []
        except StoreError as error:
            self._note(file, name, error)
            return []

    def card(self, name: str, kind: type[R]) -> R | None:
        """The one record of a JSON file; None where it cannot be read."""
        file = self.file(name)
        try:
            return read_json(file, kind) if file else None
        except StoreError as error:
            self._note(file, name, error)
            return None

    def sha256(self, name: str) -> str | None:
        """Hex SHA-256 of a file; None where it cannot be had."""
        file = self.file(name)
        return sha256_file(file) if file else None

    def add(self, name: str, what: str) -> None:
        """Note that something about a file of the folder does not hold."""
        self.result.findings.append(Finding("bytes", beneath(self.path, name), for_line(what)))

    def _note(self, file: Path | None, name: str, error: StoreError) -> None:
        self.add(name, str(error).replace(str(file), name))

    def check_images(self, images: Sequence[tuple[str, str, str]], others: frozenset[str]) -> None:
        """Every image is the one in its record, and none is there without a record.

        Args:
            images: whose it is, its file, and its SHA-256 by the record.
            others: the files beside the images.
        """
        for whose, name, recorded in images:
            found = self.sha256(name)
            self.result.checked["images"] += 1
            if found is None:
                what = f"{whose} has this image, which is not to be had"
                self.result.findings.append(Finding("missing", beneath(self.path, name), for_line(what)))
            elif found != recorded:
                self.add(name, f"{whose} has an image with sha256 {recorded}, and this one has {found}")
        for name in sorted(self.names - {name for _, name, _ in images} - others):
            self.add(name, "no record has this file")


def _read_rows(file: Path, kind: type[R]) -> list[R]:
    """:func:`read_jsonl`, in a third of the time where all is well; it has the words for when it is not."""
    lines = file.read_bytes().removesuffix(b"\n").split(b"\n")
    try:
        return [kind.model_validate_json(line) for line in lines if lines != [b""]]
    except ValidationError:
        return read_jsonl(file, kind)


class Recorded:
    """Folders of exactly the recorded bytes in a temporary place, for code that reads folders; each set up once."""

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
def recorded(contents: Contents, outputs: Iterable[LockedFile]) -> Iterator[Recorded]:
    """The bytes of these outputs, fetched from the remote where they are not here, as long as the context lasts."""
    absent = contents.fetch(list({locked.md5: locked for locked in outputs}.values()))
    with TemporaryDirectory(prefix="driftledger-") as top:
        yield Recorded(contents, Path(top), absent)

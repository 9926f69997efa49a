"""Files of a project, in its folder or in a commit."""

import json
from pathlib import Path
from typing import TypeAlias

from pathspec import GitIgnoreSpec
from pydantic import TypeAdapter

from driftledger.core.canonical import md5_bytes, md5_file
from driftledger.core.files import LARGEST_TEXT, MANY_VALUES, load_json, read_regular
from driftledger.core.strict import Md5, RelativePath

DIR = ".dir"
"""The ending of the MD5 of a folder."""
Listing: TypeAlias = dict[str, str]
"""Path of each file below a folder, relative to it → MD5."""
_LISTING = TypeAdapter(dict[RelativePath, Md5])


class Workspace:
    """The files of a checkout as they are now.

    No link that leads out of it is followed, unless it is trusted.

    Paths are relative to its top folder.
    """

    def __init__(self, root: Path, *, trust: bool = False) -> None:
        self.root = root
        self._trust = trust
        self._top = root.resolve()
        self.known = Listing()
        """Known MD5s, by the keys of :attr:`md5s`: these files need not be read."""
        self.md5s = Listing()
        """Inode, size and times of each file that was read → its MD5."""
        ignored = self.read(".dvcignore") or b""
        self._ignored = GitIgnoreSpec.from_lines(
            ignored.decode(errors="replace").splitlines()
        )

    def here(self, path: str | Path) -> Path | None:
        """Return the file at a path, if it is below the top folder, links resolved."""
        file = self.root / path
        try:
            is_here = file.is_file() and (
                self._trust or file.resolve().is_relative_to(self._top)
            )
        except (OSError, ValueError):  # a NUL in its name
            return None
        return file if is_here else None

    def md5(self, file: Path) -> str:
        """Return the MD5 of a file; a file with several names is read once."""
        facts = file.stat()
        place = f"{facts.st_dev}-{facts.st_ino}"
        key = f"{place}-{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ctime_ns}"
        if key not in self.md5s:
            self.md5s[key] = self.known.get(key) or md5_file(file)
        return self.md5s[key]

    def read(self, path: str) -> bytes | None:
        """Read a file; None if it is missing or too large."""
        file = self.here(path)
        try:
            return None if file is None else read_regular(file)
        except (OSError, ValueError):
            return None

    def listing(self, folder: str) -> Listing:
        """Return path relative to a folder → MD5 of every file below it.

        Those that ``.dvcignore`` names are left out.
        """
        top = self.root / folder
        listing = {}
        for file in sorted(top.rglob("*")):
            is_ignored = self._ignored.match_file(
                file.relative_to(self.root).as_posix()
            )
            if self.here(file) and not is_ignored:
                listing[file.relative_to(top).as_posix()] = self.md5(file)
        return listing


def listing_bytes(files: Listing) -> bytes:
    """Return DVC's list of a folder's files, by path and MD5."""
    return json.dumps(
        [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
    ).encode()


def listing_md5(files: Listing) -> str:
    """Return the MD5 by which DVC knows a folder of these files.

    >>> listing_md5({"b.txt": "0" * 32, "a.txt": "1" * 32})
    '03bff49e298d673a6d85d12d3fb2add0.dir'
    """
    return md5_bytes(listing_bytes(files)) + DIR


def parse_listing(data: bytes) -> Listing | None:
    """Parse a listing of DVC: path → MD5; None if it is no listing or leads out."""
    try:
        rows = load_json(data, LARGEST_TEXT, values=MANY_VALUES)
        files = _LISTING.validate_python({row["relpath"]: row["md5"] for row in rows})
    except (ValueError, TypeError, KeyError):
        return None
    return files if len(files) == len(rows) else None

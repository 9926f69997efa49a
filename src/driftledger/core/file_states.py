"""Whether files may have changed, by what a folder says of them: names, sizes and times, as DVC and make judge."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import driftledger
from driftledger.core.canonical import sha256_of


class FileState(NamedTuple):
    """Equal to another where nothing has written to the file between, or put another into its place."""

    device: int
    inode: int
    size: int
    written_ns: int

    @classmethod
    def of(cls, file: Path) -> Self:
        """
        Raises:
            OSError: there is no such file.
        """
        stat = file.stat()
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def files_in(folder: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of every file that lies in a folder."""
    with os.scandir(folder) as inside:
        files = [(each.name, each.stat()) for each in inside if each.is_file()]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in files)


@cache
def own_code() -> str:
    """A hash of what the folders of this package say: another one as soon as a file of its code or data is another."""
    every = (folder for folder, _, _ in os.walk(Path(driftledger.__file__).parent))
    return sha256_of([[each, files_in(Path(each))] for each in sorted(every) if not each.endswith("__pycache__")])

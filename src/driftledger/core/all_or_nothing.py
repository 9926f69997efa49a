"""Several files written together: where one cannot be written, all are as they were."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driftledger.core.files import write_bytes


@contextmanager
def all_or_nothing() -> Iterator[Callable[[Path, str], None]]:
    """Gives what writes a file; all that it wrote is taken back when the block fails."""
    before: dict[Path, bytes | None] = {}
    folders: list[Path] = []

    def write(path: Path, text: str) -> None:
        folders.extend(each for each in reversed(path.parents) if not each.exists())
        before[path] = path.read_bytes() if path.exists() else None
        write_bytes(path, text.encode(errors="surrogateescape"))

    try:
        yield write
    except BaseException:
        for path, data in reversed(before.items()):
            with suppress(OSError):
                path.unlink(missing_ok=True) if data is None else write_bytes(path, data)
        for folder in reversed(folders):
            with suppress(OSError):  # something else is in it by now
                folder.rmdir()
        raise

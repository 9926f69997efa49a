"""Lines that wait on disk, so that memory does not grow with their number."""

from tempfile import SpooledTemporaryFile

_IN_MEMORY = 2**16
"""Bytes up to which there is no file."""


class Spill:
    """Lines by the place that each was given. The file has no name, and is gone with the process."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # it is closed with this object

    def add(self, line: bytes) -> int:
        """Where ``line``, which holds no line break, is from now on; OSError where the disk is full."""
        place = self._file.seek(0, 2)
        self._file.write(line + b"\n")
        return place

    def at(self, place: int) -> bytes:
        """The line there."""
        self._file.seek(place)
        return self._file.readline()[:-1]

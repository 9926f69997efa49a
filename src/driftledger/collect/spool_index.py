"""Where finished calls stand in spools, without what they gave: that is read when it is asked for."""

from pathlib import Path
from typing import NamedTuple

_OFFSET_BITS = 48


class _Place(NamedTuple):
    folder: Path
    offset: int


class Index:
    """Where each finished call stands in some spools: by key, as one number each, so that a million take 200 MB."""

    def __init__(self) -> None:
        self._folders: list[Path] = []
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add_folder(self, folder: Path) -> int:
        """Its number, for :meth:`add`."""
        self._folders.append(folder)
        return len(self._folders) - 1

    def add(self, key: bytes, number: int, offset: int) -> None:
        self._places[key] = number << _OFFSET_BITS | offset

    def find(self, digest: str) -> _Place | None:
        place = self._places.get(bytes.fromhex(digest))
        if place is None:
            return None
        return _Place(self._folders[place >> _OFFSET_BITS], place & (1 << _OFFSET_BITS) - 1)

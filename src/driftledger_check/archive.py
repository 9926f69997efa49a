"""The one form of ZIP file that a bundle has, written and read.

Members are stored in the order of their names, without compression, comments, dates, extra fields or gaps, so that the
same members are the same bytes, and every byte of the file is accounted for: :class:`Archive` writes each header once
more and compares. What no header says cannot be hidden, what is not compressed cannot swell, and nothing is ever
unpacked: members are read in memory, one when it is asked for.
"""

import re
import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

BYTES = 0xFFFF_0000
"""Of a bundle: what fits a ZIP file without its 64-bit form. A larger run is bundled without its images."""
MEMBERS = 65_000
"""For the same reason; a chain of five drawings for 10,000 photographs has 60,000."""
MEMBER_BYTES = 512_000_000
"""Of one member, which is read as a whole: features of 100,000 images, 1,024 numbers each, have 410 MB."""
LIST_BYTES = 32_000_000
"""Of the list of members at a ZIP file's end."""

_LOCAL_SIGNATURE = b"PK\3\4"
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION, _UTF8, _STORED, _MIDNIGHT, _1980 = 20, 0x800, 0, 0, 0x21
_UNIX = 3 << 8 | _VERSION
_REGULAR = (stat.S_IFREG | 0o644) << 16
_LONGEST = 255
_DRIVE = re.compile(r"[A-Za-z]:")


class ArchiveError(ValueError):
    """Not a file that :func:`write` wrote; its text says why, as a phrase after the file's name."""


def name_problem(name: str) -> str:
    """Why a relative path is not one that a bundle may name; empty where it is."""
    parts = name.split("/")
    if "\\" in name or any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in name):
        return "has control characters or backslashes"
    if "" in parts or "." in parts or ".." in parts or _DRIVE.match(name):
        return "leads out of its folder, or says more than where in it"
    if any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST for part in parts):
        return f"has a part of more than {_LONGEST} bytes"
    return ""


class _Member(NamedTuple):
    name: bytes
    crc: int
    size: int
    offset: int

    @property
    def local(self) -> bytes:
        fields = (_VERSION, _UTF8, _STORED, _MIDNIGHT, _1980, self.crc, self.size, self.size, len(self.name), 0)
        return _LOCAL.pack(_LOCAL_SIGNATURE, *fields) + self.name

    @property
    def central(self) -> bytes:
        fields = (_UNIX, _VERSION, _UTF8, _STORED, _MIDNIGHT, _1980, self.crc, self.size, self.size, len(self.name))
        return _CENTRAL.pack(b"PK\1\2", *fields, 0, 0, 0, 0, _REGULAR, self.offset) + self.name


def write(file: BinaryIO, members: Mapping[str, Callable[[], bytes]]) -> None:
    """Write members, each made when its turn comes.

    Raises:
        ArchiveError: a name is none that a bundle may have, or they are too many or too large.
    """
    if len(members) > MEMBERS:
        raise ArchiveError(f"has {len(members):,} members, and no more than {MEMBERS:,} fit")
    written, offset = list[_Member](), 0
    for name in sorted(members, key=str.encode):
        if problem := name_problem(name):
            raise ArchiveError(f"cannot hold {name[:80]!r}, which {problem}")
        data = members[name]()
        if len(data) > MEMBER_BYTES or offset + len(data) > BYTES:
            raise ArchiveError(f"cannot hold {name}: members have up to {MEMBER_BYTES:,} bytes, and all {BYTES:,}")
        member = _Member(name.encode(), zlib.crc32(data), len(data), offset)
        offset += file.write(member.local) + file.write(data)
        written.append(member)
    central = b"".join(member.central for member in written)
    file.write(central + _end(len(written), len(central), offset))


def _end(members: int, size: int, offset: int) -> bytes:
    return _END.pack(b"PK\5\6", 0, 0, members, members, size, offset, 0)


class Archive:
    """A bundle's file, of which nothing is believed: it must be what :func:`write` makes of its members.

    Raises:
        ArchiveError: it is not in the one form.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: dict[str, _Member] = {}
        length, offset, last = file.seek(0, 2), 0, b""
        if length > BYTES + LIST_BYTES or self._at(0, 4) != _LOCAL_SIGNATURE:
            raise ArchiveError("is not a bundle: it does not begin as one, or is larger than any")
        while self._at(offset, 4) == _LOCAL_SIGNATURE:
            header = self._at(offset, _LOCAL.size)
            _, _, _, _, _, _, crc, _, size, name_length, _ = _LOCAL.unpack(header)
            member = _Member(self._at(offset + _LOCAL.size, name_length), crc, size, offset)
            name = _decoded(member.name)
            if problem := name_problem(name):
                raise ArchiveError(f"holds a member {name[:80]!r}, which {problem}")
            if self._at(offset, len(member.local)) != member.local:
                raise ArchiveError(f"holds {name} encrypted, compressed or otherwise than a bundle stores it")
            if member.name <= last:
                raise ArchiveError(f"holds {name} twice, or out of its order")
            if size > MEMBER_BYTES or len(self._members) == MEMBERS:
                raise ArchiveError(f"holds {name} with {size:,} bytes, or more members than are read")
            self._members[name] = member
            offset, last = offset + len(member.local) + size, member.name
        central = b"".join(member.central for member in self._members.values())
        rest = central + _end(len(self._members), len(central), offset)
        if length != offset + len(rest) or self._at(offset, len(rest)) != rest:
            raise ArchiveError("does not end as a bundle: its list of members differs, or something is beside it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    @property
    def names(self) -> list[str]:
        """Of all members, in their order."""
        return list(self._members)

    def size(self, name: str) -> int:
        """How many bytes a member has; KeyError where there is none of that name."""
        return self._members[name].size

    def read(self, name: str) -> bytes:
        """A member's bytes; KeyError where there is none of that name.

        Raises:
            ArchiveError: they are not those of its checksum.
        """
        member = self._members[name]
        data = self._at(member.offset + len(member.local), member.size)
        if zlib.crc32(data) != member.crc:
            raise ArchiveError(f"holds {name} with other bytes than its checksum is of")
        return data

    def _at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise ArchiveError("ends before its members do")
        return data


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ArchiveError(f"holds a member {name[:80]!r}, whose name is not UTF-8") from None

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
from typing import BinaryIO, NamedTuple

BYTES = 0xFFFF_0000
"""Of all members: what fits a ZIP file without its 64-bit form. A larger run is bundled without its images."""
MEMBERS = 65_000
"""For the same reason; a chain of five drawings for 10,000 photographs has 60,000."""
MEMBER_BYTES = 512_000_000
"""Of one member, which is read as a whole: features of 100,000 images, 1,024 numbers each, have 410 MB."""

_LOCAL_SIGNATURE = b"PK\3\4"
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION, _UTF8, _STORED, _MIDNIGHT, _1980 = 20, 0x800, 0, 0, 0x21
_UNIX = 3 << 8 | _VERSION
_REGULAR = (stat.S_IFREG | 0o644) << 16
_PART = r"(?!\.\.?(?:/|$))[^/\\\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]{1,255}"
_NAME = re.compile(f"(?![A-Za-z]:){_PART}(?:/{_PART})*")
"""A relative path without control characters that stays in its folder, also where backslashes and drives count."""


class BundleError(ValueError):
    """Not a bundle; its text says why, as a phrase after the file's name."""


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


def check_name(name: str) -> None:
    """Raise BundleError for a path that a bundle must not hold."""
    if not _NAME.fullmatch(name):
        raise BundleError(f"names a file {name[:80]!r}, which is not a plain path in a folder")


def write(file: BinaryIO, members: Mapping[str, Callable[[], bytes]]) -> None:
    """Write members, each made when its turn comes.

    Raises:
        BundleError: a name is none that a bundle may have, or they are too many or too large.
    """
    written, offset = list[_Member](), 0
    for name in sorted(members, key=str.encode):
        check_name(name)
        data = members[name]()
        if len(data) > MEMBER_BYTES or offset + len(data) > BYTES or len(members) > MEMBERS:
            raise BundleError(
                f"cannot hold {name}: {MEMBERS:,} members fit, of {MEMBER_BYTES:,} bytes, {BYTES:,} in all"
            )
        member = _Member(name.encode(), zlib.crc32(data), len(data), offset)
        offset += file.write(member.local) + file.write(data)
        written.append(member)
    file.write(_end(written, offset))


def _end(members: list[_Member], offset: int) -> bytes:
    """The list of members at a ZIP file's end."""
    central = b"".join(member.central for member in members)
    return central + _END.pack(b"PK\5\6", 0, 0, len(members), len(members), len(central), offset, 0)


class Archive:
    """A bundle's file, of which nothing is believed: it must be what :func:`write` makes of its members.

    Raises:
        BundleError: it is not in the one form.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: dict[str, _Member] = {}
        self.sizes: dict[str, int] = {}
        """Name → bytes of every member, in their order."""
        length, offset, last = file.seek(0, 2), 0, b""
        if self._at(0, 4) != _LOCAL_SIGNATURE:
            raise BundleError("is not a bundle: it does not begin as one")
        while self._at(offset, 4) == _LOCAL_SIGNATURE:
            *_, crc, _, size, name_length, _ = _LOCAL.unpack(self._at(offset, _LOCAL.size))
            member = _Member(self._at(offset + _LOCAL.size, name_length), crc, size, offset)
            name = member.name.decode(errors="replace")
            check_name(name)
            if self._at(offset, len(member.local)) != member.local:
                raise BundleError(f"holds {name} encrypted, compressed or otherwise than a bundle stores it")
            if member.name <= last:
                raise BundleError(f"holds {name} twice, or out of its order")
            if size > MEMBER_BYTES or offset + size > BYTES or len(self._members) == MEMBERS:
                raise BundleError(f"holds {name} with {size:,} bytes, or more members than are read")
            self._members[name], self.sizes[name] = member, size
            offset, last = offset + len(member.local) + size, member.name
        rest = _end([*self._members.values()], offset)
        if length != offset + len(rest) or self._at(offset, len(rest)) != rest:
            raise BundleError("does not end as a bundle: its list of members differs, or something is beside it")

    def read(self, name: str) -> bytes:
        """A member's bytes; KeyError where there is none of that name.

        Raises:
            BundleError: they are not those of its checksum.
        """
        member = self._members[name]
        data = self._at(member.offset + len(member.local), member.size)
        if zlib.crc32(data) != member.crc:
            raise BundleError(f"holds {name} with other bytes than its checksum is of")
        return data

    def _at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise BundleError("ends before its members do")
        return data

"""The one form of ZIP file that a bundle has.

Members are stored in the order of their names, without compression, comments, dates, extra fields
or gaps, so that the same members are the same bytes. :class:`Archive` writes each header again and
compares, so that no byte of the file is hidden. Nothing is compressed, so nothing can swell, and
nothing is unpacked to disk: a member is read into memory when it is needed.
"""

import io
import re
import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

BYTES = 0xFFFF_0000
"""The most bytes of all members: as many as fit a ZIP file without its 64-bit form.

A larger run is bundled without its images.
"""
MEMBERS = 65_000
"""The most members, for the same reason; five drawings each of 10,000 photographs are 60,000."""
MEMBER_BYTES = 512_000_000
"""The most bytes of a member, which is read at once: 100,000 images × 1,024 features: 410 MB."""

_LOCAL_SIGNATURE = b"PK\3\4"
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 20
_UTF8_NAMES = 0x800
_STORED = 0
_MIDNIGHT = 0
_FIRST_DAY = 0x21  # 1 January 1980
_COMMON = (
    _VERSION,
    _UTF8_NAMES,
    _STORED,
    _MIDNIGHT,
    _FIRST_DAY,
)  # fields of both headers
_UNIX = 3 << 8 | _VERSION
_REGULAR_FILE = (stat.S_IFREG | 0o644) << 16
_PART = r"(?!\.\.?(?:/|$))[^/\\\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]{1,255}"
_NAME = re.compile(f"(?![A-Za-z]:){_PART}(?:/{_PART})*")
"""A relative path without control characters that stays in its folder, on Windows too."""


_CUT_SHORT = "ends before its members do: fetch it again"
_PACKED = (
    "another program packed it: if the bundle is a file inside, unpack that; else get the file "
    "that 'driftledger bundle' wrote"
)
_BEGINNINGS = (
    (rb"$", "is empty: fetch it again"),
    (
        rb"version https://git-lfs",
        "is a pointer of Git LFS and not the file behind it: 'git lfs pull' fetches that",
    ),
    (
        rb"outs:",
        "is a pointer of DVC and not the file behind it: 'dvc pull' fetches it",
    ),
    (
        rb"(?i:\s*<(!doctype|html|head|\?xml|!--))",
        "is a web page: fetch the file that it links to",
    ),
    (
        rb"\x1f\x8b|\x28\xb5\x2f\xfd|\xfd7zXZ|7z\xbc\xaf|BZh|Rar!",
        "is packed once more: unpack it, and give the file inside",
    ),
    (rb"PK\x05\x06", "is a ZIP file that holds nothing"),
    (rb"(?!PK\x03\x04)", "is not a bundle: it does not begin as one"),
)
"""Beginnings of files that people take for bundles, and what to do about each."""


class BundleError(ValueError):
    """Raised for a file that is not a bundle.

    The text is a phrase that follows the name of the file.
    """


class _Member(NamedTuple):
    name: bytes
    crc: int
    size: int
    offset: int

    @property
    def local(self) -> bytes:
        """The header before the bytes of the member."""
        fields = (
            *_COMMON,
            self.crc,
            self.size,
            self.size,
            len(self.name),
            0,
        )
        return _LOCAL.pack(_LOCAL_SIGNATURE, *fields) + self.name

    @property
    def central(self) -> bytes:
        """The entry in the list at the end of the file."""
        fields = (
            _UNIX,
            *_COMMON,
            self.crc,
            self.size,
            self.size,
            len(self.name),
        )
        rest = (0, 0, 0, 0, _REGULAR_FILE, self.offset)
        return _CENTRAL.pack(b"PK\1\2", *fields, *rest) + self.name


def check_name(name: str) -> None:
    """Raise BundleError for a path that a bundle must not hold."""
    if not _NAME.fullmatch(name):
        raise BundleError(
            f"names a file {name[:80]!r}, which is not a plain path in a folder"
        )


def write(file: BinaryIO, members: Mapping[str, Callable[[], bytes]]) -> None:
    """Write members; each is made when its turn comes.

    Raises:
        BundleError: a bundle cannot have such a name, or so many members or bytes.
    """
    written = []
    offset = 0
    for name in sorted(members, key=str.encode):
        check_name(name)
        data = members[name]()
        if (
            len(data) > MEMBER_BYTES
            or offset + len(data) > BYTES
            or len(members) > MEMBERS
        ):
            limits = (
                f"{MEMBERS:,} members fit, of {MEMBER_BYTES:,} bytes, {BYTES:,} in all"
            )
            raise BundleError(f"cannot hold {name}: {limits}")
        member = _Member(
            name.encode(),
            zlib.crc32(data),
            size=len(data),
            offset=offset,
        )
        offset += file.write(member.local) + file.write(data)
        written.append(member)
    file.write(_end(written, offset))


def _end(members: list[_Member], offset: int) -> bytes:
    """Return the end of a ZIP file: the list of its members and the record after it."""
    central = b"".join(member.central for member in members)
    count = len(members)
    return central + _END.pack(
        b"PK\5\6",
        0,
        0,
        count,
        count,
        len(central),
        offset,
        0,
    )


class Archive:
    """The file of a bundle, which is not trusted.

    It must be what :func:`write` makes of its members.

    Raises:
        BundleError: it is not in the one form.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: dict[str, _Member] = {}
        self.sizes: dict[str, int] = {}
        """Name → bytes of every member, in their order."""
        length = file.seek(0, io.SEEK_END)
        offset = 0
        last = b""
        file.seek(0)
        begin = file.read(64)
        for pattern, reason in _BEGINNINGS:
            if re.match(pattern, begin):
                raise BundleError(reason)
        while self._at(offset, 4) == _LOCAL_SIGNATURE:
            *_, crc, _, size, name_length, _ = _LOCAL.unpack(
                self._at(offset, _LOCAL.size)
            )
            raw_name = self._at(offset + _LOCAL.size, name_length)
            member = _Member(raw_name, crc, size=size, offset=offset)
            name = raw_name.decode(errors="replace")
            if name.endswith((".zip", "/")):
                raise BundleError(f"holds {name[:80]!r}: {_PACKED}")
            check_name(name)
            if self._at(offset, len(member.local)) != member.local:
                how = "encrypted, compressed or otherwise than a bundle stores it"
                raise BundleError(f"holds {name} {how}: {_PACKED}")
            if raw_name <= last:
                raise BundleError(f"holds {name} twice, or out of its order")
            if (
                size > MEMBER_BYTES
                or offset + size > BYTES
                or len(self._members) == MEMBERS
            ):
                raise BundleError(
                    f"holds {name} with {size:,} bytes, or more members than are read"
                )
            self._members[name] = member
            self.sizes[name] = size
            offset += len(member.local) + size
            last = raw_name
        end = _end([*self._members.values()], offset)
        if length < offset + len(end):
            raise BundleError(_CUT_SHORT)
        if length > offset + len(end) or self._at(offset, len(end)) != end:
            problem = "its list of members differs, or more bytes follow it"
            raise BundleError(f"does not end as a bundle: {problem}")

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; KeyError if there is no such member.

        Raises:
            BundleError: they are not those of its checksum.
        """
        member = self._members[name]
        data = self._at(member.offset + len(member.local), member.size)
        if zlib.crc32(data) != member.crc:
            raise BundleError(f"holds {name} with bytes that do not fit its checksum")
        return data

    def _at(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes at an offset, or raise BundleError."""
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise BundleError(_CUT_SHORT)
        return data

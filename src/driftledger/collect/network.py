"""Whether a folder is on a network file system, where SQLite must not keep a database that several processes write.

In WAL mode they share memory, which no network file system shares between machines, and the locks of many are not to be
relied on: a database there is damaged sooner or later, without a word.
"""

import os
import re
from pathlib import Path

from driftledger.core.errors import StoreError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "lustre", "gpfs", "mmfs", "beegfs", "fhgfs", "beegfs_nodev", "fhgfs_nodev", "panfs", "wekafs"),
        *("ceph", "glusterfs", "orangefs", "pvfs2", "ocfs2", "gfs2", "daos", "quobyte", "vastnfs"),
        *("cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "davfs"),
    }
)
"""Types as Linux names them; beneath FUSE they are called ``fuse.<name>``."""
_BY_FUSE = frozenset(
    {
        *("sshfs", "ceph", "ceph-fuse", "glusterfs", "beegfs", "daos", "dfuse", "quobyte", "cvmfs2", "davfs2"),
        *("s3fs", "goofys", "gcsfuse", "mount-s3", "mountpoint-s3", "rclone", "blobfuse", "blobfuse2", "juicefs"),
        *("geesefs", "seaweedfs", "moosefs", "mfs", "lizardfs", "curvefs", "alluxio-fuse"),
    }
)
_ROOTS = frozenset({"9p"})
"""Types that, mounted at ``/``, are how a sandbox shows a disk of its own machine."""


def refuse_network(folder: Path) -> None:
    """Refuse a folder for the call store that is on a network file system; where the system does not tell, none is.

    Raises:
        StoreError: it is on one.
    """
    kind = network_type_of(folder)
    if kind is not None:
        raise StoreError(
            f"the call store {folder} is on a network file system ({kind}), where SQLite loses calls; name a folder on "
            "a local disk as store: in params.yaml or in DRIFTLEDGER_STORE, or let each process write a spool there "
            "('driftledger collect --shard i/n --into spool/') and 'driftledger merge spool/*' where a local disk is"
        )


def network_type_of(folder: Path) -> str | None:
    """The type of the network file system that a folder is on; None where it is on none or the system does not say."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # not Linux
        return None
    return network_type(Path(os.path.realpath(folder)), mounts)


def network_type(folder: Path, mounts: str) -> str | None:
    """The type of the network file system that a folder is on, or None.

    Args:
        folder: absolute and without links; it need not exist.
        mounts: the text of ``/proc/self/mountinfo``; of mounts at one place the last counts.
    """
    kinds = dict(_mount(line) for line in mounts.splitlines() if " - " in line)
    place = next((str(each) for each in (folder, *folder.parents) if str(each) in kinds), None)
    if place is None:
        return None
    kind = kinds[place]
    is_network = kind.removeprefix("fuse.") in _BY_FUSE if kind.startswith("fuse.") else kind in _NETWORK
    return kind if is_network and not (place == "/" and kind in _ROOTS) else None


def _mount(line: str) -> tuple[str, str]:
    """Where something is mounted, and its type."""
    before, _, after = line.partition(" - ")
    return _unescaped(before.split(" ")[4]), after.split(" ")[0]


def _unescaped(text: str) -> str:
    r"""Blanks, tabs, line ends and backslashes stand as ``\040`` and the like."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)

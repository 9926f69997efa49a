from pathlib import Path

import pytest

from driftledger.collect import network
from driftledger.collect.network import network_type, refuse_network
from driftledger.core.errors import StoreError

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /home rw,relatime shared:1 master:2 - nfs4 filer:/home rw,vers=4.2
41 40 0:51 / /home/here rw - xfs /dev/sdb rw
42 27 0:52 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw
43 27 0:53 / /gpfs rw - gpfs gpfs rw
44 27 0:54 / /mnt/a\040b rw - fuse.sshfs me@there: rw
45 27 0:55 / /mnt/zip rw - fuse.archivemount archive rw
46 27 0:56 / /mnt/twice rw - nfs filer:/old rw
47 27 0:57 / /mnt/twice rw - tmpfs tmpfs rw
48 27 0:58 / /mnt/c rw - 9p C: rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/me/repository/.driftledger", "nfs4"),
        ("/home/here/repository", None),
        ("/homestead/me", None),
        ("/scratch/me", "lustre"),
        ("/gpfs", "gpfs"),
        ("/mnt/a b/repository", "fuse.sshfs"),
        ("/mnt/zip/repository", None),
        ("/mnt/twice/repository", None),
        ("/mnt/c/repository", "9p"),
        ("/tmp/repository", None),
    ],
)
def test_the_nearest_mount_decides(folder: str, kind: str | None) -> None:
    assert network_type(Path(folder), MOUNTS) == kind


def test_a_sandbox_may_be_on_9p_as_a_whole() -> None:
    assert network_type(Path("/work"), "1 0 0:1 / / rw - 9p root rw") is None


def test_what_nobody_tells_is_not_refused() -> None:
    assert network_type(Path("/work"), "") is None
    assert network_type(Path("/work"), "no mount at all") is None


def test_a_refusal_names_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_network(tmp_path)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / {tmp_path.resolve()} rw - beegfs there rw\n", encoding="utf-8")
    monkeypatch.setattr(network, "_MOUNTS", mounts)
    link = tmp_path.parent / f"{tmp_path.name}_link"
    link.symlink_to(tmp_path / "not_there_yet")
    with pytest.raises(StoreError, match=r"network file system \(beegfs\).* --shard i/n --into spool/"):
        refuse_network(link)
    monkeypatch.setattr(network, "_MOUNTS", tmp_path / "no_linux")
    refuse_network(link)

"""What DVC keeps of a folder, the list of its files, whose MD5 is the folder's; and how both come from a remote into
a cache, by MD5: no commit has to be checked out for it."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.limits import LARGEST_TEXT, load_json
from driftledger.core.names import Md5, RelativePath
from driftledger.core.shortening import shortened
from driftledger.ledger.lock import LockedFile

FOLDER = ".dir"
"""What the MD5 of a folder ends in."""
_FILES = TypeAdapter(dict[RelativePath, Md5])


def parse_manifest(data: bytes) -> dict[str, str] | None:
    """Relative path → MD5; None where ``data`` is no manifest, or names files outside of the folder."""
    try:
        rows = load_json(data, LARGEST_TEXT)
        files = _FILES.validate_python({row["relpath"]: row["md5"] for row in rows})
    except (ValueError, TypeError, KeyError):
        return None
    return files if len(files) == len(rows) else None


def manifest_md5(files: dict[str, str]) -> str:
    """The MD5 that DVC knows a folder of these files by.

    >>> manifest_md5({"b.txt": "0" * 32, "a.txt": "1" * 32})
    '03bff49e298d673a6d85d12d3fb2add0.dir'
    """
    rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
    return md5_bytes(json.dumps(rows, sort_keys=True).encode()) + FOLDER


def opened(root: Path) -> Any:
    """DVC's own view of a checkout, with all that its configuration names: for the reader's own checkout alone.

    Raises:
        LedgerError: DVC cannot open it.
    """
    from dvc.exceptions import DvcException  # which takes a while to import
    from dvc.repo import Repo

    try:
        return Repo(str(root))
    except DvcException as error:
        raise LedgerError(f"DVC cannot open {root} ({shortened(str(error))}); mend .dvc/config") from None


def own_settings() -> dict[str, Any]:
    """DVC's settings of this user and this machine, whatever lies in the working directory.

    Raises:
        LedgerError: DVC cannot read them.
    """
    from dvc.config import Config, ConfigError

    try:
        return dict(Config())
    except ConfigError as error:
        raise LedgerError(f"your own DVC configuration cannot be read ({shortened(str(error))}); mend it") from None


_NAMED = "named by the reader"
"""A remote that the reader names by its address."""


@contextmanager
def throwaway(remote: str, cache: Path) -> Iterator[Any]:
    """A repository of DVC's for as long as the context lasts, which knows one remote and fetches into ``cache``.

    Args:
        remote: a name in the reader's own DVC configuration, or an address.
    """
    from dvc.repo import Repo

    settings: dict[str, Any] = {"core": {"remote": remote, "no_scm": True}, "cache": {"dir": str(cache)}}
    if remote not in own_settings()["remote"]:
        address = remote if "://" in remote else str(Path(remote).expanduser().absolute())
        settings["core"]["remote"] = _NAMED  # an address has capitals, and DVC makes names small
        settings["remote"] = {_NAMED: {"url": address}}
    with TemporaryDirectory(prefix="driftledger-") as top:
        (Path(top) / ".dvc").mkdir()
        yield Repo(top, config=settings)


class Pulled(NamedTuple):
    """What came of asking a remote."""

    manifests: dict[str, dict[str, str]]
    """MD5 of a folder → its files, also of a folder that DVC left out since the remote has not all of them."""
    reason: str | None = None
    """Why the remote could not be asked; None where it could, whatever it has."""


def pull(repo: Any, absent: Iterable[LockedFile]) -> Pulled:
    """Fetch outputs from the default remote in one transfer, each file checked as it comes in.

    Args:
        repo: DVC's ``Repo``.
    """
    from dvc.config import NoRemoteError
    from dvc_data.hashfile.hash_info import HashInfo

    cache, manifests = repo.cache.local, dict[str, dict[str, str]]()
    asked = [each.md5 for each in absent]
    try:
        remote = repo.cloud.get_remote_odb()
        manifests = _manifests((cache, remote), [md5 for md5 in asked if HashInfo("md5", md5).isdir])
        # DVC takes no folder for its files: it is asked for both.
        wanted = {*asked, *(md5 for files in manifests.values() for md5 in files.values())}
        infos = {HashInfo("md5", md5) for md5 in wanted}
        repo.cloud.transfer(remote, cache, infos, cache_odb=cache, verify=True)
    except NoRemoteError:
        return Pulled(manifests, "no default DVC remote is set; see 'dvc remote add --default'")
    except Exception as error:  # of whatever library speaks the remote's protocol, some of which share no base
        return Pulled(manifests, f"{type(error).__name__}: {shortened(str(error))}")
    return Pulled(manifests)


def _manifests(stores: Iterable[Any], folders: list[str]) -> dict[str, dict[str, str]]:
    """The manifests of these folders, those that a store has whole."""
    from concurrent.futures import ThreadPoolExecutor

    def manifest(md5: str) -> dict[str, str] | None:
        for store in stores:
            try:
                files = parse_manifest(store.fs.cat_file(store.oid_to_path(md5)))
            except FileNotFoundError:
                continue
            if files is not None and manifest_md5(files) == md5:
                return files
        return None

    with ThreadPoolExecutor(8) as pool:
        found = pool.map(manifest, folders)
        return {md5: files for md5, files in zip(folders, found, strict=True) if files is not None}

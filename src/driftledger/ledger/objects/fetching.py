"""How the files of DVC's outputs come from a remote into a cache, by MD5: no commit has to be checked out for it."""

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from driftledger.core.errors import LedgerError
from driftledger.core.text import shortened
from driftledger.ledger.objects.files import listing_md5, parse_listing

_NAMED = "named by the reader"
"""A remote that the reader names by its address."""


class Pulled(NamedTuple):
    """What came of asking a remote."""

    listings: dict[str, dict[str, str]]
    """MD5 of an output → its files."""
    reason: str | None = None
    """Why the remote could not be asked; None where it could, whatever it has."""


def dvc_settings(checkout: Path | None) -> dict[str, Any]:
    """DVC's settings of this user and this machine, and those of a checkout, which must be the reader's own.

    Raises:
        LedgerError: DVC cannot read them.
    """
    from dvc.config import Config, ConfigError

    try:
        return dict(Config(None if checkout is None else str(checkout / ".dvc")))
    except ConfigError as error:
        raise LedgerError(f"DVC's configuration cannot be read ({shortened(str(error))}); edit it") from None


def pull(settings: dict[str, Any], remote: str | None, outputs: Collection[str], cache: Path) -> Pulled:
    """Fetch outputs into ``cache`` in one transfer, each file checked as it comes in.

    Args:
        settings: of :func:`dvc_settings`.
        remote: a name in these settings, or an address; None for their default.
        outputs: their MD5s.
    """
    from dvc.repo import Repo
    from dvc_data.hashfile.hash_info import HashInfo

    name, remotes = remote or settings["core"].get("remote"), settings["remote"]
    if name is None:
        return Pulled({}, "no default DVC remote is set; see 'dvc remote add --default'")
    if name not in remotes:
        address = name if "://" in name else str(Path(name).expanduser().absolute())
        name, remotes = _NAMED, {_NAMED: {"url": address}}  # an address has capitals, and DVC makes names small
    config = {"core": {"remote": name, "no_scm": True}, "cache": {"dir": str(cache)}, "remote": {name: remotes[name]}}
    listings = dict[str, dict[str, str]]()
    with TemporaryDirectory(prefix="driftledger-") as top:
        (Path(top) / ".dvc").mkdir()
        repo = Repo(top, config=config)
        try:
            source, target = repo.cloud.get_remote_odb(), repo.cache.local
            for md5 in outputs:
                files = _listing(source, md5)
                if files is not None:
                    listings[md5] = files
            # DVC does not fetch the files of a folder with its listing: it is asked for both.
            wanted = {*outputs, *(md5 for files in listings.values() for md5 in files.values())}
            infos = {HashInfo("md5", md5) for md5 in wanted}
            repo.cloud.transfer(source, target, infos, cache_odb=target, verify=True)
        except Exception as error:  # of whatever library speaks the remote's protocol, some of which share no base
            return Pulled(listings, f"{type(error).__name__}: {shortened(str(error))}")
    return Pulled(listings)


def _listing(source: Any, md5: str) -> dict[str, str] | None:
    try:
        files = parse_listing(source.fs.cat_file(source.oid_to_path(md5)))
    except FileNotFoundError:
        return None
    return files if files is not None and listing_md5(files) == md5 else None

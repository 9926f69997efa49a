"""Data that DVC keeps, as a source of data in MLflow.

MLflow imports this module with ``mlflow.data``, so DVC is imported when data is loaded. What MLflow
stores may come from anybody: each field is checked when it is read, and the address is only
compared with that of the working folder.
"""

import re
import subprocess
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any

with warnings.catch_warnings():
    # if nothing has imported MLflow before, it looks for our class before that is there
    warnings.filterwarnings("ignore", "Failure attempting to register dataset")
    from mlflow.data import dataset_source_registry
    from mlflow.data.dataset_source import DatasetSource
from mlflow.exceptions import MlflowException

if TYPE_CHECKING:
    from mlflow.data.meta_dataset import MetaDataset

_FORMS = {
    "repo": r"(?!-)(?!.*::).+",
    "path": r"(?![-/])(?!(.*/)?\.{0,2}(/|$)).+",
    "md5": r"[0-9a-f]{32}(\.dir)?",
    "rev": r"([0-9a-f]{40})?",
}
"""Field of a source → what it looks like, in printable characters."""
_SECRETS = re.compile(r"(^|(?<=://))(?!git@[^@/]*[:/])[^/]*@|\?.*")
"""Users, passwords and queries of an address; the user git, whom all share, is kept."""
_FORM = re.compile(r"^(\w+://)?(git@)?|:|(\.git)?/*$")
"""What differs between ``https://host/path`` and ``git@host:path.git``."""
_NOTES = ("--", "*.dvc", "*dvc.lock")
"""The files in which DVC notes digests."""


@dataclass(frozen=True)
class DVCDatasetSource(DatasetSource):
    """A file or folder that DVC keeps, as a commit has it.

    Raises:
        MlflowException: a field is not what it should be.
    """

    repo: str
    """The address of Git's origin without users and passwords, or else Git's top folder."""
    path: str
    """Relative to Git's top folder."""
    md5: str
    """DVC's digest of the path, or of the output that it lies in."""
    rev: str | None = None
    """The SHA of a commit that has the data; None if there was none yet."""

    def __post_init__(self) -> None:
        for name in _FORMS:
            _check(name, getattr(self, name))

    @staticmethod
    def _get_source_type() -> str:
        return "dvc"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as MLflow stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, source_dict: dict[Any, Any]) -> "DVCDatasetSource":
        """Return the source of these fields."""
        try:
            return cls(**source_dict)
        except TypeError:
            raise MlflowException.invalid_parameter_value(
                f"a source of type dvc has the fields {', '.join(_FORMS)}, not {source_dict!r:.200}"
            ) from None

    def load(self, dst_path: str | None = None, repo: str | None = None) -> str:
        """Bring the data to a new path, and return that.

        It comes from the repository around the working folder, or else from its origin: from DVC's
        cache, from the working folder's default remote, or from those that the commit names; data
        that DVC imported can also come from where the repository says that it is from.

        Args:
            dst_path: the new path; by default in a new temporary folder.
            repo: the address or folder of another repository. DVC follows the configuration that is
                there, which can name any server.

        Raises:
            MlflowException: it is the data of another repository, or not what the run used.
        """
        place, rev = (repo, self.rev) if repo else self._own_place()
        config = None if repo else _remote_here()
        from dvc.exceptions import DvcException
        from dvc_data.index import DataIndexDirError
        from pygit2 import GitError

        name = PurePosixPath(self.path).name
        target = Path(dst_path or Path(mkdtemp(prefix="dvc-"), name))
        if target.exists():
            raise MlflowException.invalid_parameter_value(f"{target} exists already")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # beside it, so that the data appears there in one step
            with TemporaryDirectory(prefix="dvc-", dir=target.parent) as temporary:
                data = Path(temporary, name)
                self._bring(place, rev, data, config)
                data.rename(target)
        except (
            DvcException,
            DataIndexDirError,
            GitError,
            ImportError,
            OSError,
            RecursionError,
        ) as error:
            # of a clone, DVC says why in the cause, with the password of the address
            reasons = ": ".join(map(str, filter(None, (error, error.__cause__))))
            reason = re.sub(r"//[^/\s]*@", "//", reasons)
            raise MlflowException(
                f"{self.path} cannot be loaded: {reason}; 'dvc push' shares what others lack"
            ) from None
        return str(target)

    def _bring(
        self, place: str, rev: str | None, data: Path, config: dict[str, Any] | None
    ) -> None:
        """Write the data of a commit to a path, and compare it with the digests.

        Args:
            config: settings of DVC that win over those of the commit.
        """
        from dvc.api import DVCFileSystem
        from dvc_data.hashfile.hash import file_md5

        path = PurePosixPath(self.path)
        files = DVCFileSystem(place, rev=rev, subrepos=True, config=config)
        infos = [files.info(str(folder)) for folder in (path, *path.parents)]
        if self.md5 not in [_digest(info)[0] for info in infos]:
            other = f"{path} is not what the run used, md5 {self.md5}"
            if rev:
                raise MlflowException(f"{other}, in commit {rev}")
            raise MlflowException(
                f"{other}; no commit here has that, get newer ones from Git"
            )
        found = files.find(self.path, detail=True)
        for name in found:
            _check("path", name)
        files.get(self.path, str(data), recursive=True)
        for name, info in found.items():
            file = data / PurePosixPath(name).relative_to(path)
            digest, kind = _digest(info)
            if not digest or file_md5(str(file), name=kind) != digest:
                raise MlflowException(f"{name} is not what DVC has noted")

    def _own_place(self) -> tuple[str, str | None]:
        """Return the working folder's repository, or its origin, and a commit with the data."""
        top, _, origin = _repository(Path.cwd())
        if _plain(self.repo) not in (_plain(top), _plain(origin)):
            raise MlflowException.invalid_parameter_value(
                f"{self.path} is in the repository {self.repo}, not in that of the working folder; "
                "load(repo=…) names a repository that you trust"
            )
        if self.rev and _git(top, "branch", "--all", "--contains", self.rev):
            return top, self.rev
        if self.rev and origin:
            return origin, self.rev
        # the first that has it by now, or else what is not committed
        commits = ("--branches", "--remotes", "--format=%H", "--no-show-signature")
        search = (*commits, "--no-textconv", f"-S{self.md5}", *_NOTES)
        return top, [None, *_git(top, "log", *search)][-1]


# MLflow's annotation says an instance, and it means the class
dataset_source_registry.register_dataset_source(DVCDatasetSource)  # type: ignore[arg-type]


def dvc_dataset(path: str | Path, name: str | None = None) -> "MetaDataset":
    """Describe data that DVC keeps, for ``mlflow.log_input``.

    Args:
        path: a file or folder that DVC keeps, or in such a folder.
        name: by default the last part of the path.

    Raises:
        DvcException: DVC does not keep it.
        MlflowException: Git keeps it, or it has changed since DVC noted it.
    """
    from dvc.repo import Repo
    from mlflow.data.meta_dataset import MetaDataset

    place = Path(path).absolute()
    repo = Repo(str(place.parent))
    [out] = repo.find_outs_by_path(str(place), strict=False)
    if out.exists and not place.exists():
        raise MlflowException(
            f"{path} does not exist, and {out} does; correct the path"
        )
    if not out.use_cache:
        raise MlflowException(
            f"Git keeps {path}, not DVC (cache: false); name data that DVC keeps"
        )
    for change in out.workspace_status().values():
        raise MlflowException(
            f"{path} is {change} since DVC noted it; run 'dvc add' or 'dvc commit' first, or "
            "'dvc checkout' to get back what it was"
        )
    source = source_of(place.parent, place.name, out.hash_info.value)
    return MetaDataset(source, name or place.name, source.md5)  # type: ignore[abstract]


def source_of(folder: Path, path: str, md5: str) -> DVCDatasetSource:
    """Return the source of data below a folder of a checkout.

    It names the last commit if DVC's files there have the digest, and else none:
    :meth:`DVCDatasetSource.load` finds a later one by the digest.
    """
    top, prefix, origin = _repository(folder)
    rev = None
    if _git(top, "grep", "-l", md5, "HEAD", *_NOTES):
        [rev] = _git(top, "rev-parse", "HEAD")
    repo = _SECRETS.sub("", origin or top)
    # MLflow's abstract methods that are missing would make a source of text alone
    return DVCDatasetSource(repo, f"{prefix}{path}", md5, rev)  # type: ignore[abstract]


def _digest(info: dict[str, Any]) -> tuple[str, str]:
    """Return the digest that DVC notes of a file or folder, empty if none, and its kind.

    DVC before 3.0 has another kind, which takes all line ends of texts as one.
    """
    noted = info.get("dvc_info", {})
    kind = "md5-dos2unix" if "md5-dos2unix" in noted else "md5"
    return noted.get(kind, ""), kind


def _remote_here() -> dict[str, Any]:
    """Return the default remote of the working folder; older commits may have another or none."""
    from dvc.repo import Repo

    with Repo(uninitialized=True) as repo:
        config = repo.config
    name = config["core"].get("remote")
    if name not in config["remote"]:
        return {}
    return {"core": {"remote": name}, "remote": {name: config["remote"][name]}}


def _repository(folder: Path) -> tuple[str, str, str]:
    """Return Git's top folder, the path from there to a folder, and the address of the origin.

    Outside Git it is the folder itself.
    """
    place = _git(folder, "rev-parse", "--show-toplevel", "--show-prefix")
    top, prefix = place or [str(folder), ""]
    [origin, *_] = [*_git(folder, "config", "remote.origin.url"), ""]
    local = Path(top, origin)
    if origin and local.is_dir():  # Git keeps the .. of 'git clone ../project'
        origin = str(local.resolve())
    return top, prefix, origin


def _git(folder: str | Path, *arguments: str) -> list[str]:
    """Return the lines that Git prints in a folder; none if it fails.

    Raises:
        MlflowException: the folder is another user's, so that Git does not read it.
    """
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if "safe.directory" in done.stderr:
        raise MlflowException(" ".join(done.stderr.split()))
    return done.stdout.splitlines()


def _plain(address: str) -> str:
    """Return host and path of an address; data is never fetched from one that is only alike."""
    return _FORM.sub("/", _SECRETS.sub("", address)).strip("/")


def _check(name: str, value: Any) -> None:
    """Raise MlflowException if a value is not what a field of this name should be."""
    text = "" if value is None else value
    is_text = isinstance(text, str) and text.isprintable()
    if not is_text or not re.fullmatch(_FORMS[name], text):
        raise MlflowException.invalid_parameter_value(
            f"the {name} of a source of type dvc cannot be {value!r}"
        )

"""DVC as a source of data in MLflow: what is logged, what is loaded again, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from dvc.repo import Repo
from mlflow import MlflowClient
from mlflow.data import get_source
from mlflow.entities import Dataset
from mlflow.exceptions import MlflowException

from driftledger.core.canonical import md5_bytes
from driftledger.dvc_source import DVCDatasetSource, source_of
from driftledger.mlflow import dvc_dataset
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case
from tests.support.git import git
from tests.support.loopback import OnLoopback

TRAIN = {"1.txt": "one\n", "sub/2 ü [a].txt": "two\n"}
MORE = {**TRAIN, "3.txt": "three\n"}
NOBODYS = "0" * 32 + ".dir"


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)  # a link into DVC's cache
        (folder / name).write_text(text, encoding="utf-8")


def read(folder):
    """Return path → text of the files of a folder, or the text of a file."""
    folder = Path(folder)
    if folder.is_file():
        return folder.read_text(encoding="utf-8")
    files = {}
    for file in folder.rglob("*"):
        if file.is_file():
            name = file.relative_to(folder).as_posix()
            files[name] = file.read_text(encoding="utf-8")
    return files


def add(root, *paths):
    with Repo(str(root)) as repo:
        repo.add([str(root / path) for path in paths])


def commit(root, push=True):
    """Commit all, and return the commit."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "data")
    if push:
        with Repo(str(root)) as repo:
            repo.push()
    return git(root, "rev-parse", "HEAD").strip()


def configure(root, remote, name="store"):
    text = f"[core]\n    remote = {name}\n['remote \"{name}\"']\n    url = {remote}\n"
    (root / ".dvc/config").write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A repository with a remote, and a commit that has data."""
    folder = tmp_path_factory.mktemp("dvc")
    with pytest.MonkeyPatch.context() as patched:
        outside(patched, folder)
        root = folder / "origin"
        root.mkdir()
        git(root, "init", "--quiet", "--initial-branch", "main")
        Repo.init(str(root)).close()
        write(root / "data/train", TRAIN)
        write(root, {"labels.csv": "1,a\n"})
        add(root, "data/train", "labels.csv")
        configure(root, folder / "remote")
        commit(root)
    return folder


def outside(patched, folder):
    patched.setenv("DVC_SITE_CACHE_DIR", str(folder / "site"))
    patched.setenv("DVC_GLOBAL_CONFIG_DIR", str(folder / "global"))
    patched.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def origin(made, tmp_path, monkeypatch):
    """A copy of it, which is the working folder."""
    outside(monkeypatch, tmp_path)
    for name in ("origin", "remote"):
        shutil.copytree(made / name, tmp_path / name, symlinks=True)
    configure(tmp_path / "origin", tmp_path / "remote")
    commit(tmp_path / "origin", push=False)
    monkeypatch.chdir(tmp_path / "origin")
    return tmp_path / "origin"


def clone(origin, name="clone"):
    """Clone a repository beside it, without what DVC keeps."""
    git(origin, "clone", "--quiet", ".", f"../{name}")
    return origin.parent / name


def stored(source, source_type="dvc"):
    """Return a source as MLflow gives it back."""
    return get_source(Dataset("data", "1", source_type, json.dumps(source)))


def test_the_example_s_input_is_loaded_in_a_clone_and_from_an_older_commit(
    origin, store, monkeypatch
):
    """In a repository that is not ours; the script loads it once itself."""
    script = REPOSITORY / "examples/train_on_dvc_data.py"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 10
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"MLFLOW_TRACKING_URI": store.uri},
    )
    assert read(done.stdout.splitlines()[-1]) == TRAIN
    [run] = MlflowClient(store.uri).search_runs(["0"])
    [data] = run.inputs.dataset_inputs
    assert data.tags[0].value == "training"
    assert data.dataset.name == "train"
    source = get_source(data)
    assert source.to_dict() == {
        "repo": str(origin),
        "path": "data/train",
        "md5": data.dataset.digest,
        "rev": git(origin, "rev-parse", "HEAD").strip(),
    }
    write(origin / "data/train", MORE)
    add(origin, "data/train")
    commit(origin)
    for folder in (origin, clone(origin)):
        monkeypatch.chdir(folder)
        assert read(source.load()) == TRAIN
    monkeypatch.chdir(origin.parent)
    assert read(source.load(repo=str(origin))) == TRAIN


def test_a_part_of_what_dvc_keeps_is_loaded_alone(origin, tmp_path):
    part = dvc_dataset("data/train/sub")
    assert part.name == "sub"
    assert dvc_dataset(Path("labels.csv"), name="labels").name == "labels"
    target = tmp_path / "new/here"
    assert part.source.load(str(target)) == str(target)
    assert read(target) == {"2 ü [a].txt": "two\n"}
    assert [*target.parent.iterdir()] == [target]
    with pytest.raises(MlflowException, match="here exists already"):
        part.source.load(str(target))
    file = dvc_dataset("data/train/1.txt").source
    assert read(file.load()) == "one\n"


def test_data_that_no_commit_has_is_found_once_one_has(origin, monkeypatch):
    write(origin / "data/train", MORE)
    add(origin, "data/train")
    source = dvc_dataset("data/train").source
    assert source.rev is None
    assert read(source.load()) == MORE
    commit(origin)
    write(origin / "data/train", {"4.txt": "four\n"})
    add(origin, "data/train")
    commit(origin)
    for folder in (origin, clone(origin)):
        monkeypatch.chdir(folder)
        assert read(source.load()) == MORE


def test_a_commit_that_a_clone_lacks_comes_from_its_origin(origin, monkeypatch):
    copied = clone(origin)
    write(origin / "data/train", MORE)
    add(origin, "data/train")
    commit(origin)
    source = dvc_dataset("data/train").source
    monkeypatch.chdir(copied)
    assert read(source.load()) == MORE


def test_a_project_in_a_folder_of_a_repository(origin, monkeypatch):
    root = origin / "ml"
    root.mkdir()
    Repo.init(str(root), subdir=True).close()
    write(root / "train", TRAIN)
    add(root, "train")
    commit(origin, push=False)
    monkeypatch.chdir(root)
    source = dvc_dataset("train").source
    assert (source.path, len(source.rev or "")) == ("ml/train", 40)
    assert read(source.load()) == TRAIN


def test_data_of_dvc_before_3_0(origin):
    """Its digest takes all line ends of a text as one."""
    text = b"1,a\r\n2,b\r\n"
    md5 = md5_bytes(text.replace(b"\r\n", b"\n"))
    kept = origin / ".dvc/cache" / md5[:2] / md5[2:]
    kept.parent.mkdir(parents=True)
    for path in (kept, origin / "old.csv"):
        path.write_bytes(text)
    note = f"outs:\n- md5: {md5}\n  size: {len(text)}\n  path: old.csv\n"
    (origin / "old.csv.dvc").write_text(note, encoding="utf-8")
    (origin / ".gitignore").write_text("old.csv\nlabels.csv\n", encoding="utf-8")
    commit(origin, push=False)
    source = dvc_dataset("old.csv").source
    assert Path(source.load()).read_bytes() == text
    kept.chmod(0o600)
    kept.write_bytes(b"1,a\n")
    with pytest.raises(MlflowException, match=r"old\.csv is not what DVC has noted"):
        source.load()


def test_a_file_that_git_keeps_is_a_sentence(origin):
    write(origin, {"metrics.json": "{}"})
    note = f"outs:\n- md5: {md5_bytes(b'{}')}\n  hash: md5\n  path: metrics.json\n  cache: false\n"
    (origin / "metrics.json.dvc").write_text(note, encoding="utf-8")
    with pytest.raises(MlflowException, match=r"Git keeps metrics\.json, not DVC"):
        dvc_dataset("metrics.json")


@pytest.mark.parametrize("before", ["", "nowhere"])
def test_a_remote_that_is_newer_than_the_data(origin, tmp_path, monkeypatch, before):
    """The commit has no default remote yet, or one that has moved."""
    text = ""
    if before:
        configure(origin, tmp_path / before, name=before)
        text = (origin / ".dvc/config").read_text(encoding="utf-8")
    (origin / ".dvc/config").write_text(text, encoding="utf-8")
    commit(origin, push=False)
    source = dvc_dataset("data/train").source
    configure(origin, tmp_path / "remote")
    commit(origin)
    folder = clone(origin)
    monkeypatch.chdir(folder)
    assert read(source.load()) == TRAIN
    git(folder, "branch", "--quiet", "--remotes", "--delete", "origin/main")
    git(folder, "checkout", "--quiet", "--orphan", "new")
    git(folder, "commit", "--quiet", "--message", "all")
    git(folder, "branch", "--quiet", "-D", "main")
    assert read(source.load()) == TRAIN, "from the origin"


def test_a_repository_of_another_user_is_a_sentence(origin, monkeypatch):
    source = dvc_dataset("data/train").source
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    for function in (source.load, lambda: dvc_dataset("data/train")):
        with pytest.raises(MlflowException, match=r"safe\.directory") as error:
            function()
        assert "\n" not in str(error.value)


def test_a_remote_that_needs_another_package_is_a_sentence(origin, tmp_path):
    configure(origin, "webhdfs://host/store")
    commit(origin, push=False)
    source = dvc_dataset("data/train").source
    shutil.rmtree(origin / ".dvc/cache")
    with pytest.raises(MlflowException, match=r"cannot be loaded: .*'dvc-webhdfs'"):
        source.load(str(tmp_path / "data"))


def test_data_that_differs_from_what_dvc_noted_is_not_logged(origin):
    write(origin / "data/train", {"1.txt": "edited\n"})
    with pytest.raises(MlflowException, match="is modified since DVC noted it; run"):
        dvc_dataset("data/train")
    with pytest.raises(
        MlflowException, match=r"4\.txt does not exist, and .*train does"
    ):
        dvc_dataset("data/train/4.txt")
    shutil.rmtree(origin / "data/train")
    with pytest.raises(MlflowException, match="is deleted since DVC noted it; run"):
        dvc_dataset("data/train")


def test_bytes_that_dvc_did_not_note_are_not_loaded(origin, tmp_path, monkeypatch):
    source = dvc_dataset("labels.csv").source
    for folder in (origin / ".dvc/cache", tmp_path / "remote"):
        [file] = folder.rglob(source.md5[2:])
        file.chmod(0o600)
        file.write_text("1,b\n", encoding="utf-8")
    target = tmp_path / "loaded.csv"
    with pytest.raises(MlflowException, match=r"labels\.csv is not what DVC has noted"):
        source.load(str(target))
    assert not target.exists()


def test_data_appears_in_one_step(origin, tmp_path, monkeypatch):
    """A process that is killed leaves no path that looks whole; two file systems do not matter."""
    source = dvc_dataset("data/train").source
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    target = tmp_path / "data"
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", None)
        patched.setattr(shutil, "copytree", None)
        assert source.load(str(target)) == str(target)
    assert read(target) == TRAIN


def test_an_origin_that_fails_shows_no_password(origin, monkeypatch):
    copied = clone(origin)
    address = "https://anna:secret@127.0.0.1:9/o/r.git"
    git(copied, "remote", "set-url", "origin", address)
    monkeypatch.chdir(copied)
    source = DVCDatasetSource("https://127.0.0.1:9/o/r", "data", "0" * 32, "1" * 40)
    with pytest.raises(
        MlflowException, match=r"https://127\.0\.0\.1:9/o/r\.git"
    ) as error:
        source.load()
    assert "secret" not in "".join(traceback.format_exception(error.value))


def test_another_digest_is_a_sentence(origin, tmp_path):
    fields = dvc_dataset("data/train").source.to_dict()
    source = stored({**fields, "md5": NOBODYS})
    with pytest.raises(MlflowException, match=r"is not what the run used, md5 0{32}"):
        source.load(str(tmp_path / "data"))
    assert not (tmp_path / "data").exists()
    with pytest.raises(MlflowException, match="no commit here has that"):
        stored({**fields, "md5": NOBODYS, "rev": None}).load()


# What comes from others.


@each_case(cases(__file__, "dvc_fields"))
def test_a_field_that_is_none_is_refused_when_it_is_read(case):
    fields = {"repo": "https://host/o/r", "path": "data", "md5": "0" * 32, "rev": None}
    assert stored(fields).to_dict() == fields
    with pytest.raises(MlflowException, match="of a source of type dvc cannot be") as e:
        stored({**fields, **case["fields"]})
    assert str(e.value).count("\n") == 0


@pytest.mark.parametrize("fields", [None, [1], {}, {"repo": "a"}, {"load": "x"}])
def test_other_fields_are_refused_when_they_are_read(fields):
    says = "a source of type dvc has the fields repo, path, md5, rev, not "
    with pytest.raises(MlflowException, match=says):
        stored(fields)


@each_case(cases(__file__, "dvc_addresses"))
def test_addresses_are_stored_without_secrets_and_compared(case, tmp_path, monkeypatch):
    """Behind one that is equal, the working folder is read, which has no data here."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "remote", "add", "origin", case["origin"])
    assert source_of(tmp_path, "data", "0" * 32).repo == case["stored"]
    monkeypatch.chdir(tmp_path)
    for address in case["same"]:
        source = DVCDatasetSource(address, "data", "0" * 32)
        with pytest.raises(MlflowException, match=r"^data cannot be loaded: "):
            source.load()
    for address in case["other"]:
        source = DVCDatasetSource(address, "data", "0" * 32, "1" * 40)
        with pytest.raises(MlflowException, match="not in that of the working folder"):
            source.load()


@contextmanager
def counted():
    """Yield the address of a server, and the list of what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_POST = do_GET  # noqa: N815

        def log_message(self, *arguments):
            pass

    with OnLoopback(Handler) as server:
        yield server.address, asked


def hostile(origin, address):
    """Make a repository like it, whose configuration names a server.

    Return it, and a source of data that is noted only there.
    """
    other = clone(origin, "hostile")
    configure(other, f"{address}/store", name="other")
    text = f"outs:\n- md5: {NOBODYS}\n  hash: md5\n  path: evil\n"
    (other / "evil.dvc").write_text(text, encoding="utf-8")
    rev = commit(other, push=False)
    source = {"repo": str(other), "path": "evil", "md5": NOBODYS, "rev": rev}
    return other, stored(source)


def test_a_configuration_behind_an_address_connects_nowhere(origin, tmp_path):
    with counted() as (address, asked):
        other, source = hostile(origin, address)
        target = tmp_path / "data"
        with pytest.raises(MlflowException, match=r"load\(repo=…\) names a repository"):
            source.load(str(target))
        assert not asked
        assert not target.exists()
        with pytest.raises(MlflowException, match=r"cannot be loaded: .*'dvc push'"):
            source.load(str(target), repo=str(other))
        assert asked  # whoever names it follows it


def test_a_commit_that_is_on_no_branch_connects_nowhere(origin):
    """As a pull request from a fork that was fetched: it is here, and is nobody's of here."""
    with counted() as (address, asked):
        other, source = hostile(origin, address)
        git(origin, "fetch", "--quiet", str(other), "HEAD:refs/pull/5/head")
        for rev in (source.rev, None):
            fields = {**source.to_dict(), "repo": str(origin), "rev": rev}
            with pytest.raises(MlflowException, match=r"^evil cannot be loaded: "):
                stored(fields).load()
        assert not asked


@each_case(cases(__file__, "dvc_transports"))
def test_an_address_runs_and_connects_nothing(case, origin, tmp_path):
    fields = dvc_dataset("data/train").source.to_dict()
    mark = tmp_path / "ran"
    with counted() as (address, asked):
        repo = case["repo"].format(mark=mark, address=address, root=origin.parent)
        for rev in (None, fields["rev"]):
            with pytest.raises(MlflowException):
                stored({**fields, "repo": repo, "rev": rev}).load()
        assert not asked
    assert not mark.exists()


@pytest.mark.parametrize("name", ["../../out.txt", "{tmp}/out.txt", "a\u202eb"])
def test_a_listing_that_leads_out_writes_nothing(origin, tmp_path, name):
    known = md5_bytes(b"one\n")  # of a file that can be copied
    rows = [{"md5": known, "relpath": name.format(tmp=tmp_path)}]
    listing = json.dumps(rows).encode()
    md5 = f"{md5_bytes(listing)}.dir"
    kept = origin / f".dvc/cache/files/md5/{md5[:2]}/{md5[2:]}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(listing)
    text = f"outs:\n- md5: {md5}\n  hash: md5\n  path: evil\n"
    (origin / "evil.dvc").write_text(text, encoding="utf-8")
    rev = commit(origin, push=False)
    source = DVCDatasetSource(str(origin), "evil", md5, rev)
    with pytest.raises(MlflowException) as error:
        source.load(str(tmp_path / "loaded"))
    assert "\n" not in str(error.value)
    assert not [*tmp_path.rglob("out.txt"), *tmp_path.rglob("loaded")]


LOADED = """\
import sys
sys.modules["dvc"] = None
import mlflow.data
from mlflow.data.dataset_source_registry import get_registered_sources
types = [source._get_source_type() for source in get_registered_sources()]
print("dvc" in types, *[name for name in sys.modules if name.startswith("driftledger")])
"""


def test_mlflow_loads_neither_our_rooms_nor_dvc():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOADED],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "driftledger", "driftledger.dvc_source"]


@pytest.mark.parametrize("module", ["mlflow", "dvc_source"])
def test_mlflow_knows_the_type_where_our_names_come_first(module):
    code = f"from driftledger.{module} import DVCDatasetSource\n{LOADED}"
    command = [sys.executable, "-c", code.replace('sys.modules["dvc"] = None', "")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True ")
    assert "dvc_source" not in done.stderr

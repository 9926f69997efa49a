"""Which bytes a checkpoint's name stands for."""

import re
import sqlite3
from contextlib import closing

import pytest

from driftledger.components import checkpoints as module
from driftledger.components.checkpoints import forget_sha256, remembered_sha256
from driftledger.components.encoders import (
    INCEPTION_ADDRESS,
    INCEPTION_FILE,
    Inception,
)
from driftledger.components.transformers import Transformers
from driftledger.core.errors import ConfigError
from driftledger.data.hub import find_source

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(
        module, "user_cache_path", lambda name: tmp_path / "cache" / name
    )


@pytest.fixture
def reads(monkeypatch):
    """The files that were really read."""
    read: list[str] = []
    real = module.sha256_file
    monkeypatch.setattr(
        module, "sha256_file", lambda path: (read.append(path.name), real(path))[1]
    )
    return read


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tiny"
    (made / "unet").mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "unet" / "model.safetensors").write_bytes(b"weights")
    (made / "README.md").write_text("about")
    (made / ".cache").mkdir()
    (made / ".cache" / "x").write_text("x")
    return made


def weights(folder):
    return Transformers(path=str(folder)).weights()


def test_a_large_file_is_read_once(folder, reads):
    file = folder / "unet" / "model.safetensors"
    assert len({remembered_sha256(file) for _ in range(3)}) == 1
    assert reads == ["model.safetensors"]


def test_a_folder_is_what_its_loadable_files_hold(folder, tmp_path):
    identity = weights(folder)
    assert identity["files"] == 2
    (folder / "README.md").write_text("another text")
    assert weights(folder) == identity
    moved = folder.rename(tmp_path / "elsewhere")
    assert weights(moved) == identity
    (moved / "unet" / "model.safetensors").rename(moved / "unet" / "other.safetensors")
    assert weights(moved) != identity


def test_what_a_link_leads_to_counts_as_what_stands_there(folder, tmp_path):
    """A folder, which loaders follow, and files, as in the hub's own cache."""
    identity = weights(folder)
    elsewhere = (folder / "unet").rename(tmp_path / "elsewhere")
    (folder / "unet").symlink_to(elsewhere)
    blob = (elsewhere / "model.safetensors").rename(tmp_path / "blob")
    (elsewhere / "model.safetensors").symlink_to(blob)
    assert weights(folder) == identity
    blob.write_bytes(b"WEIGHTS")
    assert weights(folder) != identity


@pytest.mark.parametrize(
    ("links", "says"),
    [
        ({"one": ".", "two": "."}, "is a link to a folder that is read already"),
        ({"unet/up": "..", "unet/on": ".."}, "is a link to a folder that is read"),
        ({"usr": "/"}, "holds over 50 files and folders|is read already"),
        ({"other": "unet"}, ""),
    ],
    ids=str,
)
def test_links_of_a_checkpoint_end(folder, links, says, monkeypatch):
    monkeypatch.setattr(module, "_MOST_FILES", 50)
    for name, target in links.items():
        (folder / name).symlink_to(target, target_is_directory=True)
    if not says:
        assert weights(folder)["files"] == 3
        return
    with pytest.raises(ConfigError, match=says):
        weights(folder)


def test_a_commit_is_taken_at_its_word():
    source = find_source("someone/something", COMMIT)
    assert (source.location, source.commit) == ("someone/something", COMMIT)
    assert Transformers(path="someone/something", revision=COMMIT).weights() == {
        "repository": "someone/something",
        "commit": COMMIT,
    }


def test_a_branch_is_found_in_the_hubs_cache_without_a_network(tmp_path, monkeypatch):
    kept = tmp_path / "hub" / "models--someone--something"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text(COMMIT)
    (kept / "snapshots" / COMMIT).mkdir(parents=True)
    (kept / "snapshots" / COMMIT / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert find_source("someone/something", "main").commit == COMMIT


@pytest.mark.parametrize(
    ("path", "revision", "said"),
    [
        (
            "no/such",
            None,
            "'no/such' is not a folder here; correct path, or set revision if it is on the hub",
        ),
        (
            "no/such-thing",
            "main",
            "'no/such-thing' at 'main' is not a folder here and not reachable on the hub",
        ),
        ("{folder}", "main", "is a folder here, which has no revision"),
        ("{empty}", None, "holds no files"),
        ("a//b", "main", "not reachable on the hub"),
        (
            "~nosuch-user/x",
            None,
            "'~nosuch-user/x' cannot be reached (Could not determine home directory",
        ),
        (
            "~nosuch\0user/x",
            "main",
            "cannot be reached (embedded null byte); correct path",
        ),
        ("a" * 300, "main", "cannot be reached ([Errno 36] File name too long"),
    ],
)
def test_a_name_that_stands_for_nothing_is_one_sentence(
    path, revision, said, folder, tmp_path
):
    (tmp_path / "empty").mkdir()
    path = path.format(folder=folder, empty=tmp_path / "empty")
    with pytest.raises(ConfigError) as error:
        _ = Transformers(path=path, revision=revision).source
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("has", [None, "no files", "another file"])
def test_inception_says_where_its_file_is_had(has, tmp_path):
    if has:
        (tmp_path / "weights").mkdir()
    if has == "another file":
        (tmp_path / "weights" / "x.pt").touch()
    place = f"weights' holds no {INCEPTION_FILE}; download it there from {INCEPTION_ADDRESS}"
    with pytest.raises(ConfigError, match=re.escape(place)):
        Inception(path=str(tmp_path / "weights")).weights()


def test_a_check_believes_no_memory_and_a_broken_one_stops_nothing(folder, tmp_path):
    file, database = (
        folder / "config.json",
        tmp_path / "cache" / "driftledger" / "sha256.db",
    )
    honest = remembered_sha256(file)
    with closing(sqlite3.connect(database)) as memory, memory:
        memory.execute("UPDATE files SET sha256 = 'forged'")
    assert remembered_sha256(file) == "forged"
    forget_sha256()
    assert remembered_sha256(file) == honest
    database.write_bytes(b"no database")
    assert remembered_sha256(file) == honest

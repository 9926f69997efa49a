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
from driftledger.core import canonical
from driftledger.core.errors import ConfigError
from driftledger.data.hub import find_source
from tests.sentence import refused, write_files
from tests.support.cases import cases, each_case

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(
        module, "user_cache_path", lambda name: tmp_path / "cache" / name
    )


@pytest.fixture
def reads(monkeypatch):
    """The files that were really read."""
    names = []

    def sha256_file(path):
        names.append(path.name)
        return canonical.sha256_file(path)

    monkeypatch.setattr(module, "sha256_file", sha256_file)
    return names


@pytest.fixture
def folder(tmp_path):
    files = {"config.json": "{}", "README.md": "about", ".cache/x": "x"}
    write_files(tmp_path / "tiny", files | {"unet/model.safetensors": "weights"})
    return tmp_path / "tiny"


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


@each_case(cases(__file__, "links"))
def test_links_of_a_checkpoint_end(case, folder, monkeypatch):
    monkeypatch.setattr(module, "_MOST_FILES", 50)
    for name, target in case["links"].items():
        (folder / name).symlink_to(target)
    if "says" in case:
        with pytest.raises(ConfigError, match=case["says"]):
            weights(folder)
    else:
        assert weights(folder)["files"] == 3


def test_a_commit_is_taken_at_its_word():
    source = find_source("someone/something", COMMIT)
    assert (source.location, source.commit) == ("someone/something", COMMIT)
    assert Transformers(path="someone/something", revision=COMMIT).weights() == {
        "repository": "someone/something",
        "commit": COMMIT,
    }


def test_a_branch_is_found_in_the_hubs_cache_without_a_network(tmp_path, monkeypatch):
    files = {"refs/main": COMMIT, f"snapshots/{COMMIT}/config.json": "{}"}
    write_files(tmp_path / "hub" / "models--someone--something", files)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert find_source("someone/something", "main").commit == COMMIT


@each_case(cases(__file__, "checkpoints"))
def test_a_name_that_stands_for_nothing_is_one_sentence(case, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    path = case["path"].replace("HERE", str(tmp_path))
    with refused(case, "ConfigError"):
        Transformers(path=path, revision=case.get("revision")).weights()


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
    file = folder / "config.json"
    database = tmp_path / "cache" / "driftledger" / "sha256.db"
    honest = remembered_sha256(file)
    with closing(sqlite3.connect(database)) as memory, memory:
        memory.execute("UPDATE files SET sha256 = 'forged'")
    assert remembered_sha256(file) == "forged"
    forget_sha256()
    assert remembered_sha256(file) == honest
    database.write_bytes(b"no database")
    assert remembered_sha256(file) == honest

"""DVC's configuration in a checkout names remotes, credentials, programs and folders: none of them is the reader's."""

import shutil
from pathlib import Path

import pytest
import yaml

from .conftest import Listener, Stranger

CHAINS = "data/chains/my_images/regions_medium/painter"


def lose_the_data(stranger: Stranger) -> None:
    """As in a clone: Git's files, and nothing of DVC's."""
    shutil.rmtree(stranger.root / ".dvc" / "cache", ignore_errors=True)
    for folder in ("datasets", "chains"):
        shutil.rmtree(stranger.root / "data" / folder)


def configure(stranger: Stranger, sections: str, file: str = "config") -> None:
    """What DVC is to go by, in Git or in a file that comes with an archive of the checkout."""
    core = "[core]\n    analytics = false\n    remote = store\n"
    (stranger.root / ".dvc" / file).write_text(core + sections, encoding="utf-8")


def bucket(stranger: Stranger, listener: Listener) -> str:
    """A remote whose credentials come from a program, as an AWS configuration in the repository has it."""
    (stranger.root / "aws").write_text(f"[default]\ncredential_process = {stranger.touch}\n", encoding="utf-8")
    return (
        "['remote \"store\"']\n    url = s3://bucket/store\n"
        f"    endpointurl = {listener.address}\n    configpath = ../aws\n    region = us-east-1\n"
    )


@pytest.mark.parametrize("file", ["config", "config.local"])
def test_the_credential_process_of_a_remote(stranger: Stranger, listener: Listener, file: str) -> None:
    pytest.importorskip("dvc_s3")
    lose_the_data(stranger)
    configure(stranger, bucket(stranger, listener), file)
    said = stranger.read_by_all()
    assert not stranger.mark.exists()
    assert listener.came == []
    assert "the remote could not be asked: none is asked without --remote URL, or --trust" in said


def test_a_remote_is_not_asked_unless_the_reader_names_it(stranger: Stranger, listener: Listener) -> None:
    lose_the_data(stranger)
    configure(stranger, f"['remote \"store\"']\n    url = {listener.address}/store\n")
    stranger.read_by_all()
    assert listener.came == []
    stranger.read("verify", "--remote", f"{listener.address}/other")
    assert {each.split("/")[1] for each in listener.came} == {"other"}


def test_environment_files_of_the_checkout_name_nothing(stranger: Stranger, listener: Listener) -> None:
    lose_the_data(stranger)
    text = f"MLFLOW_TRACKING_URI={listener.address}\nAWS_CONFIG_FILE=aws\nDVC_GLOBAL_CONFIG_DIR=dvc\n"
    for name in (".env", ".flaskenv", ".envrc"):
        (stranger.root / name).write_text(text, encoding="utf-8")
    (stranger.root / "dvc").mkdir()
    (stranger.root / "dvc" / "config").write_text(bucket(stranger, listener), encoding="utf-8")
    stranger.read_by_all()
    assert listener.came == []
    assert not stranger.mark.exists()


@pytest.mark.parametrize("how", ["cache.dir", "a link to the cache", "a link to its objects", "a link to .dvc"])
def test_a_cache_elsewhere_is_not_read(stranger: Stranger, tmp_path: Path, how: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    cache = stranger.root / ".dvc" / "cache"
    shutil.copytree(cache, elsewhere)
    lose_the_data(stranger)
    if how == "cache.dir":
        configure(stranger, f"[cache]\n    dir = {elsewhere}\n")
    elif how == "a link to the cache":
        cache.symlink_to(elsewhere)
    elif how == "a link to its objects":
        (cache / "files").mkdir(parents=True)
        (cache / "files" / "md5").symlink_to(elsewhere / "files" / "md5")
    else:
        elsewhere.rename(tmp_path / "cache-of-dvc")
        (stranger.root / ".dvc").rename(elsewhere)
        (tmp_path / "cache-of-dvc").rename(elsewhere / "cache")
        (stranger.root / ".dvc").symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    assert "data/datasets/my_images: no folder with md5" in stranger.read("verify")
    assert sorted(elsewhere.rglob("*")) == before


def test_an_object_that_is_a_link_is_not_read(stranger: Stranger, tmp_path: Path) -> None:
    objects = stranger.root / ".dvc" / "cache" / "files" / "md5"
    elsewhere = tmp_path / "elsewhere"
    for number, path in enumerate(sorted(each for each in objects.rglob("*") if each.is_file())):
        elsewhere.mkdir(exist_ok=True)
        path.rename(elsewhere / str(number))
        path.symlink_to(elsewhere / str(number))
    for folder in ("datasets", "chains"):
        shutil.rmtree(stranger.root / "data" / folder)
    assert "no folder with md5" in stranger.read("verify")


def test_a_file_of_the_workspace_that_is_a_link_out_is_not_read(stranger: Stranger, tmp_path: Path) -> None:
    shutil.rmtree(stranger.root / ".dvc" / "cache")
    picture = next((stranger.root / CHAINS / "images").rglob("1.png"))
    secret = tmp_path / "secret"
    secret.write_bytes(b"another")
    picture.unlink()
    picture.symlink_to(secret)
    said = stranger.read("verify")
    assert picture.relative_to(stranger.root).as_posix() in said or "which of its files differ" in said
    assert "b32d73e56ec99bc5ec8f83871cde708a" not in said  # of what the reader alone may know


@pytest.mark.parametrize("where", ["object", "file"])
def test_what_can_never_be_read_is_not_opened(stranger: Stranger, fifo: Path, where: str) -> None:
    path = next((stranger.root / CHAINS / "images").rglob("1.png"))
    if where == "object":
        path = next((stranger.root / ".dvc" / "cache" / "files" / "md5").glob("*/*"))
    path.unlink()
    fifo.rename(path)
    assert stranger.read("verify")


def test_an_md5_is_no_path(stranger: Stranger, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    lock = yaml.safe_load((stranger.root / "dvc.lock").read_text(encoding="utf-8"))
    checkouts = []
    for number, md5 in enumerate(("../../../../../secret", "ab/../../../../../../secret", "/etc/passwd", "", "a")):
        checkouts.append(stranger.again(str(number)))
        lock["stages"]["dataset@my_images"]["outs"][0]["md5"] = md5
        (checkouts[-1].root / "dvc.lock").write_text(yaml.safe_dump(lock), encoding="utf-8")
    for said in stranger.read_in_turn(checkouts, [("verify",)]):
        assert said
        assert "5ebe2294ecd0e0f08eab7690d2a6ee69" not in said


@pytest.mark.parametrize("name", ["store", "The Store"])
def test_the_reader_fetches_by_naming_a_remote(stranger: Stranger, tmp_path: Path, name: str) -> None:
    """Whatever its letters: DVC makes those of a remote's name small, and an address must stay as it is."""
    store = tmp_path / name
    shutil.copytree(stranger.root / ".dvc" / "cache", store)
    lose_the_data(stranger)
    before = stranger.files()
    assert "all holds" not in stranger.read("verify")
    assert "all holds" in stranger.read("verify", "--remote", str(store))
    assert stranger.files() == before
    shutil.rmtree(store)
    assert "all holds" in stranger.read("verify")  # from the reader's own cache


def test_the_readers_own_dvc_cache_is_read(stranger: Stranger, tmp_path: Path) -> None:
    shutil.copytree(stranger.root / ".dvc" / "cache", tmp_path / "shared")
    lose_the_data(stranger)
    own = Path(stranger.env["DVC_GLOBAL_CONFIG_DIR"])
    own.mkdir(parents=True)
    (own / "config").write_text(f"[cache]\n    dir = {tmp_path / 'shared'}\n", encoding="utf-8")
    assert "all holds" in stranger.read("verify")


def test_with_trust_the_checkouts_own_remote_is_asked(stranger: Stranger, tmp_path: Path) -> None:
    shutil.copytree(stranger.root / ".dvc" / "cache", tmp_path / "store")
    lose_the_data(stranger)
    configure(stranger, f"['remote \"store\"']\n    url = {tmp_path / 'store'}\n")
    assert "all holds" in stranger.read("verify", "--trust")
    assert (stranger.root / ".dvc" / "cache" / "files").is_dir()

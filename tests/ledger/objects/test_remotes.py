"""A clone, or a checkout whose cache is lost, with nothing but a DVC remote: one fetch, and everything verifies."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftledger.benchmarks.registry import benchmarks
from driftledger.ledger.lock import LockedFile, read_lock
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.reach import Reach
from driftledger.ledger.verify.bytes_check import check_bytes
from driftledger.ledger.verify.links import check_links
from tests.ledger.verify.conftest import CHAINS, MODEL, Ledger, places

CHAIN = f"chain@my_images-{MODEL}-painter"
PICTURE = f"{CHAINS}/images/round_1/2.png"


def dvc(ledger: Ledger, *arguments: str) -> None:
    command = [sys.executable, "-m", "dvc", arguments[0], "--quiet", *arguments[1:]]
    subprocess.run(command, cwd=ledger.root, check=True)


def trusting(ledger: Ledger) -> Contents:
    """As for one's own checkout, whose remote is asked."""
    return Contents(ledger.root, Reach(trust=True))


def push(ledger: Ledger) -> None:
    listed = [sys.executable, "-m", "dvc", "stage", "list", "--all", "--name-only"]
    stages = subprocess.run(listed, cwd=ledger.root, check=True, capture_output=True, text=True).stdout.split()
    not_cached = {"resolve", "report", "correlation", "track", *(spec.scores.name for spec in benchmarks())}
    dvc(ledger, "push", *(each for each in stages if each.rpartition(":")[2].partition("@")[0] not in not_cached))


def lose_everything(ledger: Ledger) -> None:
    """As in a fresh clone: what Git has is there, and nothing else."""
    shutil.rmtree(ledger.root / ".dvc" / "cache")
    for folder in (ledger.root / "data").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


def fetched_once_holds(ledger: Ledger) -> None:
    lose_everything(ledger)
    contents, evidence = trusting(ledger), [ledger.evidence]
    report = check_bytes(ledger.root, evidence, contents) + check_links(evidence, contents)
    assert (report.findings, contents.unfetched) == ([], None)
    assert report.checked["files"] > 100
    assert not (ledger.root / "data" / "chains").exists()  # a look writes nothing where people work
    (ledger.root / ".dvc" / "config").write_text("", encoding="utf-8")
    assert check_bytes(ledger.root, evidence, ledger.contents).holds  # without asking the remote again


@pytest.fixture
def folder(ledger: Ledger, tmp_path: Path) -> Path:
    """A folder as the remote, with all that was written."""
    dvc(ledger, "remote", "add", "--default", "store", str(tmp_path / "store"))
    push(ledger)
    return tmp_path / "store"


def stored(folder: Path, md5: str) -> Path:
    return folder / "files" / "md5" / md5[:2] / md5[2:]


def test_a_folder_as_the_remote(ledger: Ledger, folder: Path) -> None:
    assert folder.is_dir()
    fetched_once_holds(ledger)


def test_what_the_remote_lacks_is_named_and_the_rest_holds(ledger: Ledger, folder: Path) -> None:
    md5 = ledger.contents.md5_of(ledger.root / PICTURE)
    stored(folder, md5).unlink()
    lose_everything(ledger)
    report = check_bytes(ledger.root, [ledger.evidence], trusting(ledger))
    assert places(report.findings) == [f"missing {PICTURE}"]
    assert (
        f"no file with md5 {md5} is here or in DVC's cache, and the remote does not have it" in report.findings[0].what
    )


def test_what_is_damaged_in_the_remote_does_not_come_into_the_cache(ledger: Ledger, folder: Path) -> None:
    md5 = ledger.contents.md5_of(ledger.root / PICTURE)
    stored(folder, md5).chmod(0o644)
    stored(folder, md5).write_bytes(b"damaged")
    lose_everything(ledger)
    report = check_bytes(ledger.root, [ledger.evidence], trusting(ledger))
    assert places(report.findings) == [f"missing {PICTURE}"]
    assert ledger.contents.cached(md5) is None


def test_only_what_is_not_at_hand_is_fetched(ledger: Ledger, folder: Path) -> None:
    chain = read_lock(ledger.root)[CHAIN].out(CHAINS)
    shutil.rmtree(ledger.root / ".dvc" / "cache")
    assert ledger.contents.fetch([chain]) == []
    assert not (ledger.root / ".dvc" / "cache").exists()
    shutil.rmtree(ledger.root / CHAINS)
    assert folder.is_dir()
    assert trusting(ledger).fetch([chain]) == []
    ledger.contents.materialise(chain, ledger.root / "there")
    assert len([*(ledger.root / "there").rglob("*.png")]) == 16


def everything(ledger: Ledger) -> list[LockedFile]:
    return [out for stage in read_lock(ledger.root).values() for out in stage.outs]


def unfetched(ledger: Ledger) -> tuple[int, str]:
    contents = trusting(ledger)
    return len(contents.fetch(everything(ledger))), contents.unfetched or ""


def test_that_a_remote_cannot_be_asked_is_a_reason_and_no_error(ledger: Ledger) -> None:
    lose_everything(ledger)
    folders = sum(out.md5.endswith(".dir") for out in everything(ledger))
    assert unfetched(ledger) == (folders, "no default DVC remote is set; see 'dvc remote add --default'")
    dvc(ledger, "remote", "add", "--default", "store", "gs://nobody/store")
    count, reason = unfetched(ledger)
    assert count == folders
    assert "requires 'dvc-gs' to be installed" in reason


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an S3 server on this machine, with an empty bucket called ``ledger``."""
    pytest.importorskip("dvc_s3")
    server = pytest.importorskip("moto.moto_server.threaded_moto_server").ThreadedMotoServer(
        "127.0.0.1", 0, verbose=False
    )
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    pytest.importorskip("boto3").client("s3", endpoint_url=address).create_bucket(Bucket="ledger")
    yield address
    server.stop()


def test_s3_as_the_remote(ledger: Ledger, bucket: str) -> None:
    dvc(ledger, "remote", "add", "--default", "store", "s3://ledger/store")
    dvc(ledger, "remote", "modify", "store", "endpointurl", bucket)
    push(ledger)
    fetched_once_holds(ledger)

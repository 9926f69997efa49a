"""Two colleagues, one bucket, one MLflow server on one PostgreSQL: what one has run the other has,
and asks nothing.

All of it is real but the bucket, which is moto's S3 over HTTP; credentials stand in environments
alone.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.conftest import Checkout, stages_run
from tests.support.mlflow_server import mlflow_server
from tests.support.real_server import free_port

pytestmark = pytest.mark.slow

SECRET, REGION = "in-the-environment-alone", "eu-north-1"
KEYS = {
    "AWS_ACCESS_KEY_ID": "team",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_DEFAULT_REGION": REGION,
}
BUCKET = "team"
RUN = "regions_medium/painter/layout"


class Bucket(NamedTuple):
    """An S3 on this machine."""

    address: str
    client: Any

    def holds(self, prefix):
        """How many objects are below it."""
        return sum(
            1
            for _ in self.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get(
                "Contents", ()
            )
        )


class Team(NamedTuple):
    """A has run and pushed; B has cloned and pulled."""

    a: Checkout
    b: Checkout
    bucket: Bucket


@pytest.fixture(scope="module")
def bucket():
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {
            "aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": SECRET,
            "region_name": REGION,
        }
        client = boto3.client(
            "s3", endpoint_url=(address := f"http://{host}:{port}"), **keys
        )
        client.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield Bucket(address, client)
    finally:
        server.stop()


@pytest.fixture(scope="module")
def postgres():
    """The address of a database of Debian's PostgreSQL; the tests are skipped where there is
    none."""
    programs = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda found: int(found.parent.name),
    )
    if not programs:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    user, port = (
        "postgres" if os.geteuid() == 0 else None,
        free_port(),
    )  # root may not run it
    with tempfile.TemporaryDirectory(
        prefix="driftledger-postgres-", ignore_cleanup_errors=True
    ) as folder:
        (password := Path(folder, "password")).write_text(SECRET, encoding="utf-8")

        def program(name, *arguments):
            command = [programs[-1] / name, f"--pgdata={folder}/data", *arguments]
            subprocess.run(
                command, cwd=folder, user=user, stdout=subprocess.DEVNULL, check=True
            )

        if user:
            for path in (folder, password):
                shutil.chown(path, user)
        secure = (f"--pwfile={password}", "--auth=scram-sha-256", "--username=team")
        program("initdb", *secure, "--encoding=UTF8", "--no-locale", "--no-sync")
        options = (
            f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        )
        program("pg_ctl", "start", f"--log={folder}/log", f"--options={options}")
        yield f"postgresql+psycopg://team:{SECRET}@127.0.0.1:{port}/postgres"
        program("pg_ctl", "stop", "--mode=immediate")


@pytest.fixture(scope="module")
def mlflow(bucket, postgres, tmp_path_factory):
    """A server that keeps runs in PostgreSQL and artifacts in the bucket; who asks it needs no
    key."""
    keys = KEYS | {"MLFLOW_S3_ENDPOINT_URL": bucket.address}
    folder = tmp_path_factory.mktemp("mlflow")
    with mlflow_server(folder, postgres, f"s3://{BUCKET}/mlflow", keys) as address:
        yield address


@pytest.fixture(scope="module")
def team(pristine, bucket, mlflow, tmp_path_factory):
    folder = tmp_path_factory.mktemp("team")
    a = pristine.copy(folder / "a")
    a.env |= KEYS | {"MLFLOW_TRACKING_URI": mlflow}
    with (a.root / ".gitignore").open("a", encoding="utf-8") as ignored:
        ignored.write("/my_images/\n")
    a.git("rm", "-r", "--cached", "--quiet", "my_images")
    a.run("dvc", "remote", "add", "--default", "team", f"s3://{BUCKET}/dvc")
    a.run("dvc", "remote", "modify", "team", "endpointurl", bucket.address)
    a.commit("results")
    assert "1 runs created" in a.run("dvc", "repro").stdout
    a.run("dvc", "push")
    a.commit("a published run")
    a.git("clone", "--quiet", str(a.root), str(folder / "b"))
    b = Checkout(folder / "b", folder / "state-of-b")
    b.env |= KEYS | {"MLFLOW_TRACKING_URI": mlflow}
    b.run("dvc", "pull")
    return Team(a, b, bucket)


def test_what_one_has_run_the_other_has(team):
    a, b, bucket = team
    assert not (b.root / "my_images").exists()
    outputs = a.outputs()
    # which is in no repository: a clone fills an MLflow of its own
    del outputs["reports/tracked.json"]
    assert b.outputs() == outputs
    assert "all holds" in b.run("driftledger", "verify", RUN).stdout
    again = b.run("dvc", "repro")
    assert stages_run(again.stdout) == ["resolve", "track"]
    assert "0 runs created, 1 unchanged" in again.stdout
    assert "datasets.my_images is not on this machine" in again.stderr
    assert b.git("status", "--short") == ""
    planned = json.loads(b.run("driftledger", "plan", "--json").stdout)
    # as the records say
    assert [
        (each["stored"], each["to_make"]) for each in planned["calls"].values()
    ] == [(16, 0)] * 2
    assert bucket.holds("dvc/") > 50
    assert bucket.holds("mlflow/") > 10
    for clone in (a, b):
        assert clone.run("git", "grep", "--quiet", SECRET, check=False).returncode == 1
        assert SECRET not in (clone.root / ".dvc" / "config").read_text(
            encoding="utf-8"
        )


def test_scores_are_computed_anew_where_no_image_is(team, tmp_path):
    b = team.b.copy(tmp_path / "b")
    b.params(lambda params: params["genception"].update(confidence=0.9))
    assert b.repro() == ["resolve", "score@regions_medium", "report"]
    (b.root / "data/datasets/my_images/inputs.json").unlink()
    said = b.run("driftledger", "stage", "data", check=False)
    assert said.returncode == 2
    assert said.stderr.startswith(
        "driftledger: the image folder 'my_images' is missing; set path to"
    )
    assert "'dvc pull'" in said.stderr
    assert said.stderr.count("\n") == 1

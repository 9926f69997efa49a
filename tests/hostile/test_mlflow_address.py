"""A checkout names an MLflow server: no reader asks it, and no command sends it what belongs to another."""

import sqlite3
from pathlib import Path

import pytest

from .conftest import RUN, Listener, Stranger

SECRETS = {
    "a token": {"MLFLOW_TRACKING_TOKEN": "secret"},
    "a password": {"MLFLOW_TRACKING_USERNAME": "reader", "MLFLOW_TRACKING_PASSWORD": "secret"},
}
QUESTIONS = (
    ("audit", RUN),
    ("audit", "nobody"),
    ("audit", "--model", "regions_medium"),
    ("verify", "nobody"),
    ("compare", "nobody", RUN),
)
"""What Git and DVC alone cannot answer."""


def name(stranger: Stranger, uri: str) -> None:
    stranger.params(lambda params: params["tracking"].update(uri=uri))


@pytest.mark.parametrize("secret", [{}, *SECRETS.values()], ids=["nothing", *SECRETS])
def test_readers_do_not_ask_the_server_that_a_checkout_names(
    stranger: Stranger, listener: Listener, secret: dict[str, str]
) -> None:
    name(stranger, listener.address)
    for said in stranger.read_by_all(*QUESTIONS, **secret).split("nobody")[1:]:
        assert "MLflow was not asked: no MLflow store was named; set MLFLOW_TRACKING_URI" in said
    assert listener.came == []


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_no_secret_goes_to_a_host_that_the_environment_does_not_name(
    stranger: Stranger, listener: Listener, secret: dict[str, str]
) -> None:
    name(stranger, listener.address)
    for said in stranger.read_in_turn([stranger], [("track",), ("ui",), ("audit", "nobody", "--trust")], **secret):
        assert f"MLFLOW_TRACKING_URI={listener.address}" in said
        assert "secret" not in said
    assert listener.came == []


def test_nor_does_the_password_that_mlflow_keeps_in_a_file(stranger: Stranger, listener: Listener) -> None:
    name(stranger, listener.address)
    kept = Path(stranger.env["HOME"]) / ".mlflow" / "credentials"
    kept.parent.mkdir(parents=True)
    kept.write_text("[mlflow]\nmlflow_tracking_username = reader\nmlflow_tracking_password = secret\n", "utf-8")
    assert "MLFLOW_TRACKING_URI" in stranger.read("track")
    assert listener.came == []


def test_the_server_that_the_environment_names_gets_it(stranger: Stranger, listener: Listener) -> None:
    name(stranger, "http://127.0.0.1:9")
    stranger.read("audit", "nobody", MLFLOW_TRACKING_URI=listener.address, MLFLOW_TRACKING_TOKEN="secret")
    assert listener.came
    assert {each.partition(" ")[2] for each in listener.came} == {"Bearer secret"}


def test_a_store_in_the_checkout_is_not_opened_by_a_reader(stranger: Stranger, listener: Listener) -> None:
    """It could say that artifacts lie on the stranger's host, to which MLflow would send its token."""
    stranger.run("driftledger", "track")
    with sqlite3.connect(stranger.root / "mlflow.db") as database:
        database.execute(
            "UPDATE runs SET artifact_uri = ?", (f"{listener.address}/api/2.0/mlflow-artifacts/artifacts",)
        )
        [run] = database.execute("SELECT run_uuid FROM runs").fetchone()
    database.close()
    stranger.read_by_all(("audit", run), ("verify", run), ("audit", RUN), MLFLOW_TRACKING_TOKEN="secret")
    assert listener.came == []


def test_with_trust_the_checkouts_own_store_is_asked(stranger: Stranger) -> None:
    stranger.run("driftledger", "track")
    with sqlite3.connect(stranger.root / "mlflow.db") as database:
        [run] = database.execute("SELECT run_uuid FROM runs").fetchone()
    database.close()
    assert "there is no run" in stranger.read("audit", run)
    assert "GC@2 on my_images" in stranger.read("audit", run, "--trust")
    assert "all holds" in stranger.read("verify", run, "--trust")

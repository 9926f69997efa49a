"""MLflow's pages in a real browser, from its home to the scores and to a chain with its pictures; and the command that
serves them."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from driftledger.core.errors import ConfigError, LedgerError
from driftledger.project.settings import Tracking
from driftledger.tracking.ui import pages, serve, where_to_look
from tests.conftest import Checkout

from .contents import EXPERIMENT, run
from .stores import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SECONDS = 60_000
"""In milliseconds, how long a page may take on a machine that does much else."""


def tracking(store: Store) -> Tracking:
    return Tracking(uri=store.uri, experiment=EXPERIMENT, traces="none")


def test_the_end_of_a_run_says_where_to_look(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    page = f"http://127.0.0.1:5000/#/experiments/{mlflow_store.experiment_id()}/evaluation-runs"
    assert where_to_look(tracking(mlflow_store)) == f"scores: 'driftledger ui', then {page}"


def test_without_a_run_there_is_nothing_to_open(mlflow_store: Store) -> None:
    with pytest.raises(LedgerError, match="no experiment 'drift of meaning' yet; run 'driftledger track'"):
        pages(tracking(mlflow_store))


def test_the_address_of_a_server_is_told_without_its_password(
    mlflow_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from driftledger.tracking import ui

    mlflow_store.push([run("f1")])
    client = mlflow_store.client()
    monkeypatch.setattr(ui.connection, "connect", lambda uri, *, create: client)
    server = Tracking(uri="https://ada:secret@mlflow.example/", experiment=EXPERIMENT, traces="none")
    for line in (*pages(server), where_to_look(server), *serve(server, 5000)):
        assert "https://mlflow.example/#/experiments/" in line
        assert "secret" not in line


def test_a_taken_port_is_one_sentence(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} of 127.0.0.1 .*; choose another with --port"):
            list(serve(tracking(mlflow_store), port))


def test_a_server_that_ends_by_itself_is_one_sentence(mlflow_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow_store.push([run("f1")])
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(LedgerError, match="MLflow does not start; 'mlflow ui --port"):
        list(serve(tracking(mlflow_store), _free_port()))


def _free_port() -> int:
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.fixture(scope="module")
def served(finished: Checkout) -> Iterator[list[str]]:
    """What ``driftledger ui`` says of the evaluated checkout; it is ended with all its children."""
    port = _free_port()
    command = [sys.executable, "-c", "from driftledger.cli import main; main()", "ui", "--port", str(port)]
    environment = finished.env | {"PYTHONUNBUFFERED": "1"}
    started = subprocess.Popen(
        command, cwd=finished.root, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert started.stdout is not None
    try:
        yield [started.stdout.readline().strip() for _ in range(3)]
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(timeout=60)
        with closing(socket.socket()) as asked:
            assert asked.connect_ex(("127.0.0.1", port)) != 0, "a server is left"


def _opened(browser: "Browser", address: str) -> "Page":
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(SECONDS)
    page.goto(address)
    return page


@pytest.mark.slow
def test_from_its_home_mlflow_leads_to_the_scores_and_to_a_chain_with_its_pictures(
    served: list[str], finished: Checkout, browser: "Browser"
) -> None:
    page = _opened(browser, served[0].removeprefix("scores: ").partition("#")[0])
    page.get_by_role("link", name="driftledger", exact=True).first.click()
    page.get_by_role("button", name="Got it").click()  # what MLflow wants to say of itself
    page.get_by_role("link", name="Evaluation runs").click()
    page.get_by_text("regions_medium · painter").first.wait_for()
    columns = [title for title in page.get_by_role("columnheader").all_inner_texts() if "my_images" in title]
    assert columns[:2] == ["gc_at_2.genception.my_images", "similarity_at_2.genception.my_images"]
    [file] = (finished.root / "reports" / "scores").rglob("metrics.json")
    score = json.loads(file.read_text())["gc_at_2"]
    assert str(score)[:6] in page.get_by_role("row").filter(has_text="regions_medium").first.inner_text()
    page.get_by_role("link", name="Traces").click()
    page.get_by_text(re.compile("^(round|square)")).first.click()
    page.get_by_text("describe 2").first.wait_for()
    page.locator("img[src^='blob:']").first.wait_for()


@pytest.mark.slow
def test_the_leaderboard_opens_by_its_link(served: list[str], browser: "Browser") -> None:
    page = _opened(browser, served[1].partition(": ")[2])
    page.get_by_text("at a glance").wait_for()
    assert page.get_by_text("gc_at_2.genception.my_images").count() >= 1
    assert page.get_by_text("regions_medium").count() >= 1

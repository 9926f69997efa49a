"""A checkout of somebody else: who reads it runs, asks and writes nothing that it names.

The configuration of Git and of DVC, the settings, modules beside them, and files where we keep ours
may all be hostile. Each case makes a copy of one project hostile; all copies of a kind are then
read in one process.
"""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
import typer

from driftledger.cli import app
from driftledger.collect.store import CallStore
from tests.hostile.conftest import Stranger, read_in_turn
from tests.ledger.conftest import MODEL
from tests.support.cases import cases
from tests.support.forging import Below, forge

RUN = f"{MODEL}/painter/layout"
REPORT = ("report", "--out", "../site")
READERS = (
    *(
        ("verify",),
        ("audit", RUN),
        ("compare", RUN, RUN),
        ("models",),
        ("plan", "--local"),
    ),
    *(("bundle", RUN, "-o", "../out.zip"), ("check", "../out.zip")),
    REPORT,
)


CASES = cases(__file__, "checkouts")
"""What makes a checkout hostile, by edits of ``tests/support/forging.py`` and Git's commands, what
is said about it, and what is never said."""


def attack(stranger, edits, **names):
    """Make the edits of a case to a checkout."""
    for edit in edits:
        if "git" in edit:
            stranger.git(*(word.format(**names) for word in edit["git"]))
        elif "relock" in edit:
            stranger.relock()
        elif "view" in edit:
            a_view_without_end(stranger.root / ".driftledger")
        else:
            forge(Below(stranger.root), [edit], **names)


def a_view_without_end(state):
    """Put a call store there whose calls are computed, for ever."""
    state.mkdir(exist_ok=True)
    with CallStore(state):
        pass
    with closing(sqlite3.connect(state / "calls.db")) as db:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(calls)")]
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS "
        db.execute("DROP TABLE calls")
        db.execute(f"CREATE VIEW calls AS {endless}{', i AS '.join(columns)} FROM n")
        db.commit()


def test_every_command_that_reads_others_is_tried():
    options = {
        command.name: {option.name for option in command.params}
        for command in typer.main.get_group(app).commands.values()
    }
    reading = {name for name in options if options[name] & {"trust", "local"}}
    assert {command for command, *_ in READERS} == reading | {"check", "models"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "git", "dvc", "components", "state"])
def test_who_reads_a_checkout_runs_asks_and_writes_nothing(
    kind, original, listener, tmp_path
):
    attacks = [case for case in CASES if case["kind"] == kind]
    assert attacks
    strangers = []
    before = []
    for number, case in enumerate(attacks):
        stranger = Stranger(tmp_path / str(number) / "checkout")
        strangers.append(stranger)
        shutil.copytree(original.root, stranger.root, symlinks=True)
        blob = stranger.git("rev-parse", "HEAD:params.yaml")
        attack(
            stranger,
            case["edits"],
            host=listener.address,
            mark=str(stranger.mark),
            object=f"{blob[:2]}/{blob[2:]}",
            parent=str(stranger.root.parent),
            private=str(stranger.private),
            touch=stranger.touch,
        )
        stranger.mark.unlink(missing_ok=True)  # setting the trap may spring it
        before.append(stranger.files())
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gs").write_text("#!/bin/sh\ntouch ../mark\n")  # of each checkout
    (programs / "gs").chmod(0o755)
    secrets = {
        "PATH": os.pathsep.join([str(programs), *os.environ["PATH"].split(os.pathsep)]),
        "MLFLOW_TRACKING_TOKEN": "secret",
        "HF_ENDPOINT": listener.address,
        "HF_HUB_OFFLINE": "0",
    }
    commands = list(READERS)
    if kind not in ("components", "state"):
        commands.remove(REPORT)  # verify writes it
    if kind == "components":
        commands.append(("verify", "--regenerate", "1"))
    if kind == "files":
        commands = [("verify",), ("audit", RUN), ("plan", "--local"), REPORT]
    texts = read_in_turn(strangers, commands, tmp_path / "reader", secrets)
    for case, stranger, files, text in zip(
        attacks, strangers, before, texts, strict=True
    ):
        what = case["what"]
        assert not stranger.mark.exists(), what
        assert not list(stranger.private.iterdir()), what
        assert stranger.files() == files, what
        assert case["says"] in text, what
        assert case.get("never", "Traceback") not in text, what
        assert "Traceback" not in text, what
    assert listener.requests == []

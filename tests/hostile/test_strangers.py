"""A checkout of somebody else: who reads it runs, asks and writes nothing that it names.

The configuration of Git and of DVC, the settings, modules beside them, and files where we keep ours
may all be hostile. Each case makes a copy of one project hostile; all copies of a kind are then
read in one process.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

import pytest
import typer
import yaml

from driftledger.cli import app
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_file
from tests.hostile.conftest import Stranger, read_in_turn
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL
from tests.support.server import Server

RECORDS = f"{CHAINS}/records.jsonl"
RUN = f"{MODEL}/painter/layout"
READERS = (
    *(
        ("verify",),
        ("audit", RUN),
        ("compare", RUN, RUN),
        ("models",),
        ("plan", "--local"),
    ),
    *(("bundle", RUN, "-o", "../out.zip"), ("check", "../out.zip")),
    *(("report", "--out", "../site"), ("export", "csv", RUN, "-o", "../csv")),
)


class Case(NamedTuple):
    """What makes a checkout hostile, and what is said about it."""

    attack: Callable[[Stranger, Server], object]
    says: str = "all holds"
    never: str = "Traceback (most recent call last)"


def git_setting(name):
    return Case(lambda stranger, _: stranger.git("config", name, stranger.touch))


def stale(stranger):
    """Make Git look into a file, because its time has changed."""
    os.utime(stranger.root / "params.yaml", (1, 1))


def git_filter(kind):
    """A filter that Git runs on whatever it cannot tell by its time alone."""

    def attack(stranger, _):
        stranger.git("config", f"filter.theirs.{kind}", stranger.touch)
        (stranger.root / ".git/info").mkdir(exist_ok=True)
        (stranger.root / ".git/info/attributes").write_text("* filter=theirs\n")
        stale(stranger)

    return Case(attack)


def git_hooks(stranger, _):
    (stranger.root / ".git/hooks").mkdir(exist_ok=True)
    for name in (
        "post-index-change",
        "post-checkout",
        "fsmonitor-watchman",
        "reference-transaction",
    ):
        shutil.copy(stranger.touch, stranger.root / ".git/hooks" / name)
    stale(stranger)


def git_promisor(stranger, _):
    """A partial clone; Git fetches its missing objects by a program."""
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{stranger.touch}",
        "protocol.ext.allow": "always",
    }
    for name, value in settings.items():
        stranger.git("config", name, value)
    blob = stranger.git("rev-parse", "HEAD:params.yaml")
    (stranger.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    stale(stranger)


def git_submodule(stranger, _):
    """A repository in the repository, with a filter of its own."""
    inner = stranger.root / "inner"
    inner.mkdir()
    for command in (
        ("init", "--quiet"),
        ("config", "user.name", "t"),
        ("config", "user.email", "t@localhost"),
    ):
        stranger.git("-C", "inner", *command)
    (inner / "a").write_text("a")
    stranger.git("-C", "inner", "add", "a")
    stranger.git("-C", "inner", "commit", "--quiet", "--message", "a")
    (stranger.root / ".gitmodules").write_text(
        '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n'
    )
    stranger.commit("inner")
    stranger.git("-C", "inner", "config", "filter.theirs.clean", stranger.touch)
    (inner / ".git/info").mkdir(exist_ok=True)
    (inner / ".git/info/attributes").write_text("* filter=theirs\n")
    os.utime(inner / "a", (1, 1))


def git_elsewhere(stranger, listener):
    """A ``.git`` that is a file, which names a repository in another place."""
    git_filter("clean").attack(stranger, listener)
    git_setting("core.fsmonitor").attack(stranger, listener)
    (stranger.root / ".git").rename(stranger.root.parent / "there")
    (stranger.root / ".git").write_text(f"gitdir: {stranger.root.parent / 'there'}\n")


def git_borrowed(stranger, listener):
    """Objects that lie in another repository, which says by a program what it has."""
    there = stranger.root.parent / "there.git"
    stranger.git("clone", "--quiet", "--bare", ".", str(there))
    (stranger.root / ".git/objects/info").mkdir(exist_ok=True)
    (stranger.root / ".git/objects/info/alternates").write_text(
        f"{there / 'objects'}\n"
    )
    stranger.git("config", "core.alternateRefsCommand", stranger.touch)
    git_filter("clean").attack(stranger, listener)


def dvc_config(sections, file="config"):
    """A clone whose DVC configuration names what the stranger wants."""

    def attack(stranger, listener):
        stranger.lose_the_data()
        stranger.git("config", "credential.helper", stranger.touch)
        (stranger.root / "aws").write_text(
            f"[default]\ncredential_process = {stranger.touch}\n"
        )
        text = sections.format(
            host=listener.address, elsewhere=stranger.root.parent / "elsewhere"
        )
        (stranger.root / ".dvc" / file).write_text(
            f"[core]\n    remote = store\n{text}"
        )

    return attack


BUCKET = """['remote "store"']
    url = s3://bucket/store
    endpointurl = {host}
    configpath = ../aws
    region = us-east-1
"""


def moved(path, config=""):
    """The reader's own files, to which a link in the checkout leads; or the configuration."""

    def attack(stranger, _):
        elsewhere = stranger.root.parent / "elsewhere"
        for name in ("datasets", "questions", "records"):
            shutil.rmtree(stranger.root / "data" / name)
        (stranger.root / path).rename(elsewhere)
        if config:
            (stranger.root / ".dvc/config").write_text(
                config.format(elsewhere=elsewhere)
            )
        else:
            (stranger.root / path).symlink_to(elsewhere)

    return Case(attack, "--trust")


def environment_files(stranger, listener):
    text = (
        f"MLFLOW_TRACKING_URI={listener.address}\n"
        "AWS_CONFIG_FILE=aws\nDVC_GLOBAL_CONFIG_DIR=dvc\n"
    )
    dvc_config("")(stranger, listener)
    for name in (".env", ".flaskenv", ".envrc"):
        (stranger.root / name).write_text(text)
    (stranger.root / "dvc").mkdir()
    (stranger.root / "dvc/config").write_text(BUCKET.format(host=listener.address))


def never_read(path, says):
    """A pipe in place of a file: whoever opens it waits for ever."""

    def attack(stranger, _):
        file = next(
            each for each in sorted((stranger.root / path).rglob("*")) if each.is_file()
        )
        file.unlink()
        os.mkfifo(file)

    return Case(attack, says)


def md5(value):
    def attack(stranger, _):
        (stranger.root.parent / "secret").write_text("secret")
        lock = yaml.safe_load((stranger.root / "dvc.lock").read_text())
        lock["stages"]["data"]["outs"][0]["md5"] = value
        (stranger.root / "dvc.lock").write_text(yaml.safe_dump(lock))

    return Case(attack, "dvc.lock", never="5ebe2294ecd0e0f08eab7690d2a6ee69")


def module(stranger, *names):
    """Put modules of the stranger's where Python might look."""
    for folder in (stranger.root, stranger.root / "src", stranger.root / "data"):
        folder.mkdir(exist_ok=True)
        for name in names:
            text = (
                f"from pathlib import Path\nPath({str(stranger.mark)!r}).touch()\nclass Theirs: "
                "pass\n"
            )
            (folder / f"{name}.py").write_text(text)


def params(stranger, **sections):
    content = yaml.safe_load((stranger.root / "params.yaml").read_text())
    for section, entries in sections.items():
        content[section] = content.get(section, {}) | entries
    (stranger.root / "params.yaml").write_text(yaml.safe_dump(content))


def provider(name):
    """A provider that the settings and the records name."""

    def attack(stranger, _):
        module(stranger, "theirs")
        entry = {"provider": name}
        params(
            stranger,
            models={MODEL: entry},
            generators={"painter": entry},
            encoders={"layout": entry},
        )
        for path in (f"{GENCEPTION}/score.json", f"{CHAINS}/components.json"):
            stranger.edit(
                path,
                lambda content: [
                    card.update(entry) for card in content["components"].values()
                ],
            )

    return Case(
        attack, "components.json" if ":" in name else f"provider {name!r} is unknown"
    )


def weights(stranger, _):
    """An encoder from a branch of somebody's repository: the hub would be asked for it, with the
    reader's token."""
    entry = {
        "provider": "clip",
        "path": "someone/model",
        "revision": "main",
        "device": "cpu",
    }
    params(stranger, encoders={"layout": entry})


def server(stranger, listener):
    params(stranger, tracking={"uri": listener.address})


def state_link(path):
    """A link out of the checkout where we might keep our state."""

    def attack(stranger, _):
        shutil.rmtree(stranger.root / path, ignore_errors=True)
        (stranger.root / path).parent.mkdir(parents=True, exist_ok=True)
        (stranger.root / path).symlink_to(
            stranger.private / ("theirs.db" if path.endswith(".db") else "")
        )

    return Case(attack)


def store(stranger, _):
    content = yaml.safe_load((stranger.root / "params.yaml").read_text())
    (stranger.root / "params.yaml").write_text(
        yaml.safe_dump(content | {"store": str(stranger.private / "store")})
    )


def never_ends(path, says, *, pipe=False):
    """A file of the checkout that is a pipe, or a link to a device without an end."""

    def attack(stranger, _):
        file = stranger.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if pipe:
            os.mkfifo(file)
        else:
            file.symlink_to("/dev/zero")

    return Case(attack, says)


def a_view_without_end(stranger, _):
    """A call store whose calls are computed, for ever."""
    (stranger.root / ".driftledger").mkdir(exist_ok=True)
    with CallStore(stranger.root / ".driftledger"):
        pass
    with closing(sqlite3.connect(stranger.root / ".driftledger/calls.db")) as db:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(calls)")]
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS "
        db.execute("DROP TABLE calls")
        db.execute(f"CREATE VIEW calls AS {endless}{', i AS '.join(columns)} FROM n")
        db.commit()


def outside(stranger, _):
    """Settings that are a link to a file of the reader's."""
    (stranger.root / "params.yaml").rename(stranger.root.parent / "theirs.yaml")
    (stranger.root / "params.yaml").symlink_to(stranger.root.parent / "theirs.yaml")


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n%%EOF\n"


def picture(stranger, _):
    """A drawing that Pillow would give to Ghostscript, under the name of a PNG."""
    rows = [
        json.loads(row) for row in (stranger.root / RECORDS).read_text().splitlines()
    ]
    place = [row["step"] for row in rows].index(2)
    drawing = stranger.root / CHAINS / rows[place]["results"][1]["file"]
    drawing.write_bytes(EPS)
    stranger.edit(
        RECORDS,
        lambda row: row["results"][1].update(sha256=sha256_file(drawing)),
        place,
    )
    stranger.relock()


FILES = {
    "params.yaml": "params.yaml cannot be read: ",
    "dvc.lock": "dvc.lock cannot be read: ",
    "data/resolved.json": "",
    f"ledger/{'0' * 64}.json": "",
    ".git/index": "index in it is not a regular file",
    ".git/config": "config in it is not a regular file",
    ".gitattributes": "",
    ".driftledger/calls.db": "calls.db is not a regular file; move it away",
    ".driftledger/calls.db-journal": "calls.db-journal is not a regular file; move it away",
    f"{GENCEPTION}/score.json": "",
}
"""Files that commands read, and what is said of one that is none."""


KINDS: dict[str, dict[str, Case]] = {
    "files": {
        **{f"link {path}": never_ends(path, says) for path, says in FILES.items()},
        **{
            f"pipe {path}": never_ends(path, says, pipe=True)
            for path, says in FILES.items()
        },
        "a view without an end": Case(
            a_view_without_end, "is not a call store of driftledger's"
        ),
        "settings outside": Case(outside, "params.yaml cannot be read: a link out of"),
    },
    "git": {
        **{
            name: git_setting(name)
            for name in (
                "core.fsmonitor",
                "diff.external",
                "core.sshCommand",
                "core.pager",
            )
        },
        **{
            f"filter {kind}": git_filter(kind)
            for kind in ("clean", "process", "smudge")
        },
        "hooks": Case(git_hooks),
        "promisor": Case(git_promisor),
        "submodule": Case(git_submodule),
        "elsewhere": Case(git_elsewhere),
        "borrowed": Case(git_borrowed),
    },
    "dvc": {
        "bucket": Case(dvc_config(BUCKET), "--trust"),
        "bucket in config.local": Case(dvc_config(BUCKET, "config.local"), "--trust"),
        "remote": Case(
            dvc_config("['remote \"store\"']\n    url = {host}/store\n"), "--trust"
        ),
        "environment files": Case(environment_files, "--trust"),
        "cache.dir": moved(".dvc/cache", "[cache]\n    dir = {elsewhere}\n"),
        **{
            f"link to {path}": moved(path)
            for path in (".dvc/cache", ".dvc/cache/files/md5", ".dvc")
        },
        "pipe in the cache": never_read(".dvc/cache/files/md5", "all holds"),
        "pipe in the records": never_read(
            f"{CHAINS}/images", "it is not in its folder"
        ),
        **{
            f"md5 {value}": md5(value)
            for value in (
                "../../../../../secret",
                "ab/../../../../../secret",
                "/etc/passwd",
            )
        },
        "md5 empty": md5(""),
    },
    "components": {
        **{
            name: provider(name)
            for name in (
                "theirs:Theirs",
                "theirs",
                "../theirs",
                "src.theirs:Theirs",
                "os:system",
            )
        },
        "modules": Case(
            lambda stranger, _: module(
                stranger, "numpy", "yaml", "sitecustomize", "dvc", "mlflow"
            )
        ),
        "weights": Case(weights),
        "picture": Case(picture, "it is no PNG, JPEG or WebP that can be read"),
    },
    "state": {
        "server": Case(server),
        "store": Case(store),
        **{
            f"link {path}": state_link(path)
            for path in (".driftledger", ".driftledger/audit.db", ".dvc/tmp")
        },
    },
}


def test_every_command_that_reads_others_is_tried():
    options = {
        command.name: {option.name for option in command.params}
        for command in typer.main.get_group(app).commands.values()
    }
    reading = {name for name in options if options[name] & {"trust", "local"}}
    assert {command for command, *_ in READERS} == reading | {"check", "models"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_who_reads_a_checkout_runs_asks_and_writes_nothing(
    kind, original, listener, tmp_path
):
    strangers = {
        name: Stranger(tmp_path / str(number) / "checkout")
        for number, name in enumerate(KINDS[kind])
    }
    for name, stranger in strangers.items():
        shutil.copytree(original.root, stranger.root, symlinks=True)
        KINDS[kind][name].attack(stranger, listener)
        stranger.mark.unlink(missing_ok=True)  # setting the trap may spring it
    before = {name: stranger.files() for name, stranger in strangers.items()}
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
    # verify writes it
    commands = [
        each
        for each in READERS
        if each[0] != "report" or kind in ("components", "state")
    ]
    commands += [("verify", "--regenerate", "1")] if kind == "components" else []
    if kind == "files":
        commands = [
            ("verify",),
            ("audit", RUN),
            ("plan", "--local"),
            ("report", "--out", "../site"),
        ]
    said = read_in_turn(
        list(strangers.values()), commands, tmp_path / "reader", secrets
    )
    for (name, stranger), text in zip(strangers.items(), said, strict=True):
        case = KINDS[kind][name]
        assert not stranger.mark.exists(), name
        assert not list(stranger.private.iterdir()), name
        assert stranger.files() == before[name], name
        if kind == "git":
            print(name, "=====", text)
        assert case.says in text, name
        assert case.never not in text, name
        assert "Traceback" not in text, name
    assert listener.requests == []

"""``publish``: what a checkpoint says, that each follows the one before, and what stands in its way."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from driftledger import cli
from driftledger.commands import publish as publishing
from driftledger.commands import verify as verifying
from driftledger.commands.publish import publish
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.ledger.attest import attest as attesting
from driftledger.ledger.attest.attest import read, read_all
from driftledger.ledger.attest.checkpoints import root_of
from driftledger.ledger.attest.signing import readers_allowed_signers
from driftledger.ledger.log.chain import check
from driftledger.ledger.log.lines import rows_of
from driftledger.project.project import Project
from driftledger_check import merkle
from driftledger_check.dsse import Attestation
from tests.conftest import REPOSITORY
from tests.support.chained import grow, put, repository, signing_with, whose, wrong
from tests.support.git import commit, git, no_git_but_ours
from tests.support.signers import Authority, make_key, serving, trusting

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")


@pytest.fixture(scope="module")
def alice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys"), "alice")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "one")


@pytest.fixture
def project(tmp_path: Path, alice: Path) -> Project:
    return repository(tmp_path / "checkout", 5, alice)


def checkpoint(project: Project, n: int) -> Attestation:
    return read(project.root / "attestations" / f"checkpoint-{n}.json")


def test_a_checkpoint_says_how_many_lines_and_which(project: Project) -> None:
    told = publish(project)
    made = checkpoint(project, 5)
    rows, data = rows_of(project.paths.ledger.read_bytes()), project.paths.ledger.read_bytes()
    assert made.envelope.statement.subject == {"ledger.jsonl": sha256_bytes(data)}
    said = made.envelope.statement.predicate
    head = git(project.root, "rev-parse", "HEAD")
    assert said == {"n": 5, "root": root_of(rows), "previous": None, "commit": head}
    assert told.startswith(f"attestations/checkpoint-5.json: 5 new lines of 5, signed by {made.envelope.key}")
    assert merkle.line_holds(merkle.line_proof(rows, 3), rows[2])
    assert merkle.line_proof(rows, 3)["root"] == said["root"]


def test_each_checkpoint_names_the_one_before(project: Project) -> None:
    publish(project)
    grow(project, 2)
    assert "2 new lines of 7" in publish(project)
    before = checkpoint(project, 5).envelope.payload
    assert checkpoint(project, 7).envelope.statement.predicate["previous"] == sha256_bytes(before)
    assert wrong(whose(project)) == []


def test_nothing_new_is_said_and_writes_nothing(project: Project) -> None:
    publish(project)
    data = (project.root / "attestations" / "checkpoint-5.json").read_bytes()
    assert publish(project).startswith("nothing is new since attestations/checkpoint-5.json, signed by SHA256:")
    assert publish(project, unsigned=True).startswith("nothing is new")
    assert (project.root / "attestations" / "checkpoint-5.json").read_bytes() == data
    assert len(read_all(project.root).kept) == 1


def test_the_repositorys_own_ledger_is_read_as_ever_and_can_be_published(tmp_path: Path, alice: Path) -> None:
    project = repository(tmp_path / "checkout", 1, alice)
    git(project.root, "checkout", "--quiet", "--orphan", "again")
    put(project.root, (REPOSITORY / "ledger.jsonl").read_bytes())
    git(project.root, "branch", "--quiet", "-D", "main")
    publish(project)
    commit(project.root)
    assert wrong(whose(project, allowed_signers=trusting(tmp_path / "allowed", alice))) == []


# --- who signs


def test_no_key_is_one_sentence_and_unsigned_only_when_asked(tmp_path: Path) -> None:
    project = repository(tmp_path / "checkout", 3)
    with pytest.raises(LedgerError, match=r"Git names no SSH key .*gpg\.format ssh.*--unsigned") as caught:
        publish(project)
    assert "\n" not in str(caught.value)
    assert not (project.root / "attestations").exists()
    assert "unsigned, without a timestamp" in publish(project, unsigned=True)
    assert checkpoint(project, 3).envelope.signature is None
    assert whose(project).told[-1].startswith("ledger: by this clone's history back to commit ")


def test_an_unsigned_checkpoint_is_signed_later(project: Project, alice: Path, tmp_path: Path) -> None:
    publish(project, unsigned=True)
    payload = checkpoint(project, 5).envelope.payload
    assert "no new line, now signed by SHA256:" in publish(project)
    assert checkpoint(project, 5).envelope.payload == payload
    assert wrong(whose(project, allowed_signers=trusting(tmp_path / "allowed", alice))) == []


def test_a_key_can_stand_in_the_configuration_and_sign_by_an_agent(
    project: Project, alice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone := tmp_path / "alone.pub").write_bytes(alice.read_bytes())  # whose private half only the agent has
    said = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    agent = dict(re.findall(r"^(SSH_\w+)=([^;]+);", said, re.MULTILINE))
    monkeypatch.setenv("SSH_AUTH_SOCK", agent["SSH_AUTH_SOCK"])
    try:
        for key in (str(alone), alice.read_text(encoding="utf-8").strip(), f"key::{alice.read_text().strip()}"):
            git(project.root, "config", "user.signingkey", key)
            with pytest.raises(LedgerError, match=r"ssh-keygen does not sign with .*ssh-add -L.*--unsigned"):
                publish(project)  # an agent without keys
        subprocess.run(["ssh-add", "-q", alice.with_suffix("")], check=True, capture_output=True)
        for key in (str(alone), alice.read_text(encoding="utf-8").strip()):
            git(project.root, "config", "user.signingkey", key)
            assert "signed by SHA256:" in publish(project)
            grow(project, 1)
    finally:
        os.kill(int(agent["SSH_AGENT_PID"]), 15)
    allowed = trusting(tmp_path / "allowed", alice)
    assert "signed by alice@example.org" in whose(project, allowed_signers=allowed).told[-1]


def test_no_ssh_keygen_is_one_sentence(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(LedgerError, match=r"ssh-keygen cannot be run .*install OpenSSH.*--unsigned"):
        publish(project)
    assert read_all(project.root).kept == []
    publish(project, unsigned=True)


def test_a_reader_without_ssh_keygen_is_told_that_it_was_not_checked(
    project: Project, alice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(project)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = whose(project)
    assert [each.why for each in found.result.skipped if "ssh-keygen cannot be run here" in each.why]
    assert found.told[-1].startswith("ledger: by this clone's history")
    asked = whose(project, allowed_signers=trusting(tmp_path / "allowed", alice))
    assert wrong(asked)  # whoever asks for a signature is not told that there is one


def test_the_readers_own_git_configuration_says_whom_they_trust(
    project: Project, alice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(project)
    assert "whom nobody here vouches for" in whose(project).told[-1]
    (tmp_path / "gitconfig").write_text(f'[gpg "ssh"]\n\tallowedSignersFile = {tmp_path / "allowed"}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    trusting(tmp_path / "allowed", alice)
    assert readers_allowed_signers() == tmp_path / "allowed"
    assert "signed by alice@example.org (SHA256:" in whose(project).told[-1]


# --- what stands in the way


def test_a_ledger_that_does_not_hold_is_not_signed(project: Project) -> None:
    publish(project)
    commit(project.root)
    data = project.paths.ledger.read_bytes()
    for broken in (data.replace(b'"n":3', b'"n":9'), b"".join(data.splitlines(keepends=True)[:4]), b""):
        project.paths.ledger.write_bytes(broken)
        with pytest.raises(LedgerError, match=r"^nothing is signed: ledger\.jsonl"):
            publish(project)
    project.paths.ledger.write_bytes(data)
    path = project.root / "attestations" / "checkpoint-5.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LedgerError, match=r"^nothing is signed: attestations/checkpoint-5\.json is not the JSON"):
        publish(project)


def test_an_empty_ledger_has_nothing_to_sign(project: Project, tmp_path: Path) -> None:
    bare = Project(tmp_path / "bare")
    bare.root.mkdir()
    with pytest.raises(LedgerError, match="has no line yet; 'driftledger track' writes it"):
        publish(bare, unsigned=True)


def test_a_full_disk_is_one_sentence_and_leaves_what_was(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    publish(project)
    grow(project, 1)
    monkeypatch.setattr(attesting, "write_bytes", full)
    with pytest.raises(LedgerError, match=r"checkpoint-6\.json cannot be written \(No space left on device\)"):
        publish(project)
    monkeypatch.undo()
    assert [each.n for each in read_all(project.root).kept] == [5]


KILLED = """
import os, sys
from pathlib import Path
from driftledger.commands.publish import publish
from driftledger.project.project import Project
replace = Path.replace
def killed(self, target):
    if sys.argv[2] == "after":
        replace(self, target)
    os._exit(9)
Path.replace = killed
publish(Project(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_leaves_no_half_checkpoint(project: Project, when: str) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(project.root), when], check=False).returncode == 9
    assert len(read_all(project.root).kept) == (when == "after")
    assert read_all(project.root).wrong == {}
    assert publish(project).startswith("nothing is new" if when == "after" else "attestations/checkpoint-5.json")
    assert wrong(whose(project)) == []


# --- when


def test_a_timestamp_says_when_and_by_whom(project: Project, authority: Authority, alice: Path, tmp_path: Path) -> None:
    with authority.serving() as address:
        assert publish(project, [address]).count(", timestamped by 1;") == 1
        assert publish(project, [address]).startswith("nothing is new")
    allowed = trusting(tmp_path / "allowed", alice)
    found = whose(project, allowed_signers=allowed, authorities=authority.roots)
    assert wrong(found) == [] == found.result.skipped
    assert "signed by alice@example.org" in found.told[-1]
    assert "Z by CN=Test Time" in found.told[-1]
    without = whose(project, allowed_signers=allowed)
    assert "at a time that nobody vouches for" in without.told[-1]
    assert "name certificates with --authorities" in without.result.skipped[0].why


def test_openssl_itself_verifies_the_timestamp(project: Project, authority: Authority, tmp_path: Path) -> None:
    with authority.serving() as address:
        publish(project, [address])
    made = checkpoint(project, 5)
    (tmp_path / "token.tsr").write_bytes(made.stamps[0].token)
    command = ["openssl", "ts", "-verify", "-digest", made.envelope.sha256, "-in", str(tmp_path / "token.tsr")]
    subprocess.run([*command, "-CAfile", str(authority.roots)], check=True, capture_output=True)


def test_a_key_that_has_expired_since_counts_where_a_timestamp_shows_when(
    project: Project, authority: Authority, alice: Path, tmp_path: Path
) -> None:
    with authority.serving() as address:
        publish(project, [address])
    until = f"{datetime.now() + timedelta(seconds=1):%Y%m%d%H%M%S}"
    expired = trusting(tmp_path / "allowed", alice, options=f'namespaces="driftledger",valid-before="{until}"')
    time.sleep(2.1)
    [finding, none] = wrong(whose(project, allowed_signers=expired))
    assert "whom allowed does not name for driftledger at that time" in finding
    assert "no checkpoint of this ledger is signed by anyone whom allowed names" in none
    assert wrong(whose(project, allowed_signers=expired, authorities=authority.roots)) == []


def test_a_second_authority_is_added_later(project: Project, authority: Authority, tmp_path: Path) -> None:
    publish(project)
    other = Authority(tmp_path / "other", "Other Time")
    with authority.serving() as one, other.serving() as two:
        assert "no new line, now signed by" in publish(project, [one])
        assert "timestamped by 2" in publish(project, [one, two])
    assert len(checkpoint(project, 5).stamps) == 2


class Refusing(BaseHTTPRequestHandler):
    answer: tuple[int, bytes] = (500, b"")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.answer[0])
        self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(self.answer[1])

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("code", "data", "said"),
    [
        (500, b"", "does not answer"),
        (302, b"", "does not answer"),
        (200, b"<html>", "gives no timestamp"),
        (200, b"\x30\x03\x02\x01\x02", "gives no timestamp"),
        (200, b"\0" * 200_000, "answers more than 100,000 bytes"),
    ],
)
def test_a_dead_or_odd_authority_is_one_sentence_and_nothing_is_written(
    project: Project, code: int, data: bytes, said: str
) -> None:
    handler = type("Handler", (Refusing,), {"answer": (code, data)})
    with serving(handler) as address, pytest.raises(LedgerError, match=said) as caught:
        publish(project, [address])
    assert "\n" not in str(caught.value)
    assert read_all(project.root).kept == []


def test_nobody_at_the_address(project: Project) -> None:
    with pytest.raises(LedgerError, match=r"does not answer \(.*refused.*\); nothing is written.*--timestamp"):
        publish(project, ["http://127.0.0.1:9/"])
    with pytest.raises(ConfigError, match="http or https address"):
        publish(project, ["file:///etc/passwd"])


def test_authorities_are_named_by_options_or_for_good_by_the_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[tuple[object, ...]] = []
    monkeypatch.setattr(publishing, "publish", lambda _, urls, *, unsigned: given.append((*urls, unsigned)) or "done")
    monkeypatch.setattr(
        publishing, "preregister", lambda _, runs, urls, *, unsigned: given.append((runs, *urls, unsigned)) or "plan"
    )
    monkeypatch.setenv("DRIFTLEDGER_TIMESTAMP", "https://one.example https://two.example")
    for arguments in (
        ["publish"],
        ["publish", "--timestamp", "https://other.example", "--unsigned"],
        ["preregister", "--runs", "3"],
    ):
        monkeypatch.setattr(sys, "argv", ["driftledger", *arguments])
        with pytest.raises(SystemExit, match="0"):
            cli.main()
    assert given == [
        ("https://one.example", "https://two.example", False),
        ("https://other.example", True),
        (3, "https://one.example", "https://two.example", False),
    ]
    assert capsys.readouterr().out == "done\ndone\nplan\n"


def test_the_command_says_it_and_json_has_it(
    project: Project, alice: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def verified(project: Project) -> verifying.Verified:
        return verifying.Verified(["ledger.jsonl"], {"ledger": check(project.paths.ledger, project.root, [])})

    monkeypatch.setattr(verifying, "verify_ledger", verified)
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(sys, "argv", ["driftledger", "publish"])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    kept = (tmp_path / "kept.json", project.root / "attestations" / "checkpoint-5.json")
    kept[0].write_bytes(kept[1].read_bytes())
    commit(project.root)
    signing_with(project.root, alice)
    capsys.readouterr()
    allowed = trusting(tmp_path / "allowed", alice)
    given = ["--since", str(kept[0]), "--allowed-signers", str(allowed), "--json"]
    monkeypatch.setattr(sys, "argv", ["driftledger", "verify", "--ledger", *given])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    told = json.loads(capsys.readouterr().out)["told"]
    assert told[0].startswith("nothing was changed or removed since kept.json: 5 lines, signed by alice@example.org")
    assert told[-1].startswith("ledger: to line 5 by attestations/checkpoint-5.json, signed by alice@example.org")

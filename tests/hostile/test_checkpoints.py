"""Ledgers, checkpoints and repositories of somebody who wants more to be believed than is so.

Each attack is found, or the test says that nothing in the checkout finds it.
"""

import base64
import json
import os
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from driftledger.commands.publish import publish
from driftledger.commands.verify import Verified, by_whose_history
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.terminal import show
from driftledger.ledger.attest import attest, timestamps
from driftledger.ledger.attest.attest import read, write
from driftledger.ledger.attest.check import Trust
from driftledger.ledger.attest.checkpoints import checkpoint, root_of
from driftledger.ledger.attest.signing import sign
from driftledger.ledger.log.chain import check, note
from driftledger.ledger.log.lines import Noted, PublishedCode, rows_of
from driftledger.project.project import Project
from driftledger_check import merkle
from driftledger_check.dsse import REPRODUCTION, Attestation, Stamp, Statement, parse_attestation
from driftledger_check.strict_json import canonical
from tests.support.chained import chained, chained_anew, grow, put, repository, run, signing_with, whose, wrong
from tests.support.git import commit, git, no_git_but_ours
from tests.support.signers import Authority, make_key, trusting

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")


class Readers(NamedTuple):
    """What the reader has of their own."""

    kept: Path
    """The checkpoint over 5 lines, as its owner published it."""
    allowed: Path
    """Which names its owner."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("alice", "mallory"):
        make_key(folder, name)
    return folder


@pytest.fixture
def project(tmp_path: Path, keys: Path) -> Project:
    """Alice's, with checkpoints over 5 and over 8 lines."""
    made = repository(tmp_path / "checkout", 5, keys / "alice.pub")
    publish(made)
    grow(made, 3)
    publish(made)
    commit(made.root)
    return made


@pytest.fixture
def readers(project: Project, keys: Path, tmp_path: Path) -> Readers:
    (tmp_path / "kept.json").write_bytes((project.root / "attestations" / "checkpoint-5.json").read_bytes())
    return Readers(tmp_path / "kept.json", trusting(tmp_path / "allowed", keys / "alice.pub"))


def file(project: Project, n: int) -> Path:
    return project.root / "attestations" / f"checkpoint-{n}.json"


def change(path: Path, *where: str | int, new: Any) -> None:
    """Change one value of an attestation, whose bytes stay canonical."""
    value = inner = json.loads(path.read_bytes())
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = new
    path.write_bytes(canonical(value) + b"\n")


def forge(project: Project, n: int, key: Path | None, previous: bytes | None = None, /, **predicate: object) -> Path:
    """A checkpoint over the first ``n`` lines as they are now, with other members, signed by whoever."""
    rows = rows_of(project.paths.ledger.read_bytes())[:n]
    statement = checkpoint(rows, previous, None)
    payload = statement._replace(predicate={**statement.predicate, **predicate}).to_bytes()
    envelope = sign(payload, str(key)) if key else read(file(project, n)).envelope._replace(payload=payload)
    return write(project.root, "checkpoint", n, Attestation(envelope))


def test_what_is_as_it_was_published_holds(project: Project, readers: Readers) -> None:
    found = whose(project, since=readers.kept, allowed_signers=readers.allowed)
    assert wrong(found) == []
    assert found.told[0].startswith("nothing was changed or removed since kept.json: 5 lines, signed by alice@")
    assert found.told[-1].startswith("ledger: to line 8 by attestations/checkpoint-8.json, signed by alice@")


# --- a ledger that was written again


def test_a_ledger_chained_anew_with_a_fresh_history_is_not_found_without_a_checkpoint(project: Project) -> None:
    """Nothing in such a checkout finds it: it holds by its own history, and that is what is said."""
    forged = chained_anew(project, dropped=3)
    assert check(forged.paths.ledger, forged.root, []).holds
    assert len(rows_of(forged.paths.ledger.read_bytes())) == 5
    assert b'"dirty":true' not in forged.paths.ledger.read_bytes()
    found = whose(forged)
    head = git(forged.root, "rev-parse", "HEAD")
    assert wrong(found) == []
    assert found.told == [f"ledger: by this clone's history back to commit {head[:12]}, unsigned"]


def test_it_is_found_by_a_checkpoint_that_somebody_kept(project: Project, readers: Readers) -> None:
    forged = chained_anew(project, dropped=3)
    [finding] = wrong(whose(forged, since=readers.kept))
    assert finding.startswith("bytes: ledger.jsonl: the checkpoint kept.json that you kept was over other lines than")
    assert whose(forged, since=readers.kept).told[-1].endswith("unsigned")


def test_it_is_found_by_asking_for_its_owners_signature(project: Project, readers: Readers) -> None:
    forged = chained_anew(project, dropped=3)
    [finding] = wrong(whose(forged, allowed_signers=readers.allowed))
    assert finding == ("missing: attestations: no checkpoint of this ledger is signed by anyone whom allowed names")


@pytest.mark.parametrize("n", [5, 8])
def test_its_owners_checkpoints_do_not_fit_it(project: Project, n: int) -> None:
    forged = chained_anew(project, dropped=3)
    (forged.root / "attestations").mkdir()
    file(forged, n).write_bytes(file(project, n).read_bytes())
    assert f"bytes: attestations/checkpoint-{n}.json: was over " in wrong(whose(forged))[0]


def test_lines_that_were_cut_off_are_missing(project: Project, readers: Readers) -> None:
    put(project.root, b"".join(project.paths.ledger.read_bytes().splitlines(keepends=True)[:4]))
    found = wrong(whose(project, since=readers.kept))
    assert (
        "missing: ledger.jsonl: the checkpoint kept.json that you kept was over 5 lines, and there are 4" in found[-1]
    )
    assert [each for each in found if "checkpoint-8.json: was over 8 lines, and there are 4" in each]


def test_no_checkpoint_is_made_over_what_was_written_again(project: Project) -> None:
    git(project.root, "checkout", "--quiet", "--orphan", "fresh")
    put(project.root, chained([run(number) for number in range(2, 12)]))
    git(project.root, "branch", "--quiet", "-D", "main")
    with pytest.raises(LedgerError, match=r"nothing is signed: attestations/checkpoint-5\.json was over other lines"):
        publish(project)


# --- somebody else's signature


def test_a_checkpoint_by_another_key_is_not_its_owners(project: Project, readers: Readers, keys: Path) -> None:
    before = read(file(project, 5)).envelope.payload
    forge(project, 8, keys / "mallory.pub", before)
    found = whose(project, allowed_signers=readers.allowed)
    [finding] = wrong(found)
    assert "checkpoint-8.json: is signed by SHA256:" in finding
    assert "does not name for driftledger" in finding
    assert found.told[-1].startswith("ledger: to line 5 by attestations/checkpoint-5.json, signed by alice@")
    assert "3 more lines: by this clone's history" in found.told[-1]
    [skipped] = found.result.skipped
    assert skipped == ("ledger.jsonl", "no checkpoint by anyone whom allowed names reaches the lines after 5")


def test_a_rest_forged_after_its_owners_last_checkpoint_is_not_covered(project: Project, readers: Readers) -> None:
    """Lines after the last one that was signed hold by the clone's history, and that is said."""
    file(project, 8).unlink()
    git(project.root, "checkout", "--quiet", "--orphan", "fresh")
    put(project.root, chained([run(number) for number in (1, 2, 3, 4, 5, 16, 17)]))
    git(project.root, "branch", "--quiet", "-D", "main")
    found = whose(project, since=readers.kept, allowed_signers=readers.allowed)
    assert wrong(found) == []
    assert found.result.skipped[0].why.endswith("reaches the lines after 5")
    assert re.search(r"to line 5 by .*; 2 more lines: by this clone's history back to .*, unsigned", found.told[-1])


def test_somebody_elses_reproduction_needs_no_signature_of_the_owners(
    project: Project, readers: Readers, keys: Path
) -> None:
    statement = Statement(REPRODUCTION, {"score.zip": "1" * 64}, {"reproduced": True})
    made = Attestation(sign(statement.to_bytes(), str(keys / "mallory.pub")))

    def make(n: int, _: object) -> Noted:
        write(project.root, "reproduction", n, made)
        code = PublishedCode(commit=None, dirty=False)
        digest = sha256_bytes(made.envelope.payload)
        return Noted(kind="reproduction", name="run 1", subject_sha256=digest, code=code)

    note(project.paths.ledger, project.paths.state / "lock", make)
    found = whose(project, allowed_signers=readers.allowed)
    assert wrong(found) == []
    assert "reproduction-9.json" in found.result.skipped[0].where
    assert "whom allowed does not name" in found.result.skipped[0].why
    (project.root / "attestations" / "reproduction-9.json").unlink()
    assert wrong(whose(project)) == ["missing: ledger.jsonl line 9: notes a reproduction that is not in attestations"]


def test_a_whole_ledger_by_another_key_is_nobodys(project: Project, readers: Readers, keys: Path) -> None:
    forged = chained_anew(project, dropped=3)
    signing_with(forged.root, keys / "mallory.pub")
    publish(forged)
    assert len(wrong(whose(forged, allowed_signers=readers.allowed))) == 2
    assert "whom nobody here vouches for" in whose(forged).told[-1]


@pytest.mark.parametrize(
    "options",
    ['namespaces="git"', 'namespaces="driftledger",valid-before="20200101"', 'valid-after="20990101"'],
)
def test_a_key_that_the_reader_trusts_for_something_else_or_no_longer(
    project: Project, keys: Path, tmp_path: Path, options: str
) -> None:
    allowed = trusting(tmp_path / "others", keys / "alice.pub", options=options)
    found = wrong(whose(project, allowed_signers=allowed))
    assert sum("does not name for driftledger at that time" in each for each in found) == 2
    assert "no checkpoint of this ledger" in found[-1]


def test_an_unsigned_checkpoint_is_no_signature(project: Project, readers: Readers) -> None:
    for n in (5, 8):
        change(file(project, n), "envelope", "signatures", new=[])
    assert "no checkpoint of this ledger" in wrong(whose(project, allowed_signers=readers.allowed))[0]
    assert "unsigned, attestations/checkpoint-8.json included" in whose(project).told[-1]


def test_a_missing_list_of_whom_to_trust_is_said(project: Project, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"--allowed-signers: .* is not a file"):
        whose(project, allowed_signers=tmp_path / "nothing")


# --- an envelope that is not as it was signed


def test_a_swapped_payload_is_found(project: Project) -> None:
    other = json.loads(file(project, 5).read_bytes())["envelope"]["payload"]
    change(file(project, 8), "envelope", "payload", new=other)
    found = wrong(whose(project))
    assert any(
        "checkpoint-8.json: its signature by SHA256:" in each and "is not of these bytes" in each for each in found
    )


def test_a_payload_that_says_more_is_found(project: Project) -> None:
    said = read(file(project, 5)).envelope.payload
    forge(project, 8, None, said, commit="0" * 40)
    assert "checkpoint-8.json: its signature by SHA256:" in wrong(whose(project))[0]


def test_two_signatures_are_no_envelope(project: Project, keys: Path) -> None:
    first = json.loads(file(project, 8).read_bytes())["envelope"]["signatures"]
    second = sign(read(file(project, 8)).envelope.payload, str(keys / "mallory.pub")).to_dict()["signatures"]
    change(file(project, 8), "envelope", "signatures", new=second + first)
    assert "bytes: attestations/checkpoint-8.json: is an envelope with more than one signature" in wrong(whose(project))


def test_base64_with_other_bits_is_no_envelope(project: Project) -> None:
    change(file(project, 8), "envelope", "signatures", 0, "sig", new="U1NIU0lHAAAAAf==")
    assert "checkpoint-8.json: holds a signature that is not canonical base64" in wrong(whose(project))[0]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"schema":1,"schema":1}', b"0" * 5_000_000]
)
def test_what_is_no_attestation_is_named(project: Project, data: bytes) -> None:
    file(project, 8).write_bytes(data)
    assert wrong(whose(project))[0].startswith("bytes: attestations/checkpoint-8.json: ")


def test_more_files_than_anybody_signs_are_not_looked_at(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attest, "_MOST", 1)
    assert wrong(whose(project)) == ["bytes: attestations: holds 2 files, and at most 1 are read"]
    with pytest.raises(LedgerError, match="nothing is signed"):
        publish(project)


def test_a_link_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_bytes(file(project, 8).read_bytes())
    file(project, 8).unlink()
    file(project, 8).symlink_to(tmp_path / "elsewhere.json")
    assert "checkpoint-8.json: is not a file called <kind>-<n>.json" in wrong(whose(project))[0]


def test_names_and_authorities_are_shown_inert(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.root / "attestations" / "\x1b[31m.json").write_bytes(b"{}")
    change(file(project, 8), "timestamps", new=[{"authority": "\x1b[31m", "token": base64.b64encode(b"x").decode()}])
    show(by_whose_history(project, Verified(["ledger.jsonl"], {}), Trust()).as_table())
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\\x1b[31m.json: is not a file called" in shown


# --- checkpoints in other places


def test_an_older_checkpoint_in_the_place_of_a_newer_one(project: Project) -> None:
    file(project, 8).write_bytes(file(project, 5).read_bytes())
    assert wrong(whose(project)) == ["bytes: attestations/checkpoint-8.json: is no checkpoint of its number"]


def test_an_older_state_of_all_is_found_by_the_newer_checkpoint_alone(project: Project, tmp_path: Path) -> None:
    """Played back whole, signatures and all: only who has kept the newer checkpoint sees it."""
    (kept := tmp_path / "newer.json").write_bytes(file(project, 8).read_bytes())
    git(project.root, "checkout", "--quiet", "--orphan", "fresh")
    file(project, 8).unlink()
    put(project.root, b"".join(project.paths.ledger.read_bytes().splitlines(keepends=True)[:5]))
    git(project.root, "branch", "--quiet", "-D", "main")
    assert wrong(whose(project)) == []
    [finding] = wrong(whose(project, since=kept))
    assert finding.startswith("missing: ledger.jsonl: the checkpoint newer.json that you kept was over 8 lines")


def test_a_checkpoint_that_was_removed_is_missed_by_the_next(project: Project) -> None:
    file(project, 5).unlink()
    assert "checkpoint-8.json: does not follow the checkpoint before it here" in wrong(whose(project))[0]


def test_a_checkpoint_that_was_put_in_is_found(project: Project, keys: Path) -> None:
    forge(project, 6, keys / "mallory.pub", read(file(project, 5)).envelope.payload)
    assert "checkpoint-8.json: does not follow the checkpoint before it here" in wrong(whose(project))[0]


def test_another_projects_checkpoint_is_none_of_this_ledger(tmp_path: Path, project: Project, keys: Path) -> None:
    other = repository(tmp_path / "other", 9, keys / "alice.pub")
    git(other.root, "checkout", "--quiet", "--orphan", "fresh")
    put(other.root, chained([run(number) for number in range(20, 28)]))
    git(other.root, "branch", "--quiet", "-D", "main")
    publish(other)
    file(project, 8).write_bytes(file(other, 8).read_bytes())
    assert "checkpoint-8.json: was over other lines than the first 8 are" in wrong(whose(project))[0]


@pytest.mark.parametrize(
    "predicate",
    [
        {"n": 7},
        {"n": True},
        {"n": 8.0},
        {"n": 0},
        {"root": "0" * 64},
        {"root": "x"},
        {"previous": "0" * 64},
        {"more": 1},
    ],
)
def test_a_predicate_that_is_none_is_found_though_its_owner_signed_it(
    project: Project, keys: Path, predicate: dict[str, object]
) -> None:
    forge(project, 8, keys / "alice.pub", read(file(project, 5)).envelope.payload, **predicate)
    assert wrong(whose(project))[0].startswith("bytes: attestations/checkpoint-8.json: ")


def test_a_root_with_the_digest_of_other_bytes_is_found(project: Project, keys: Path) -> None:
    statement = read(file(project, 8)).envelope.statement
    payload = Statement(statement.predicate_type, {"ledger.jsonl": "0" * 64}, statement.predicate).to_bytes()
    write(project.root, "checkpoint", 8, Attestation(sign(payload, str(keys / "alice.pub"))))
    assert "holds the SHA-256 of other bytes than its Merkle root" in wrong(whose(project))[0]


@pytest.mark.parametrize("kind", ["plan", "score", "reproduction"])
def test_a_statement_of_another_kind_is_no_checkpoint(project: Project, keys: Path, tmp_path: Path, kind: str) -> None:
    statement = read(file(project, 8)).envelope.statement._replace(predicate_type=f"urn:driftledger:{kind}:1")
    made = Attestation(sign(statement.to_bytes(), str(keys / "alice.pub")))
    file(project, 8).write_bytes(made.to_bytes())
    assert "checkpoint-8.json: is not a statement of a checkpoint" in wrong(whose(project))[0]
    (tmp_path / "kept.json").write_bytes(made.to_bytes())
    with pytest.raises(LedgerError, match=r"--since: .* is no checkpoint of a ledger"):
        whose(project, since=tmp_path / "kept.json")


def test_a_forged_proof_that_one_ledger_goes_on_from_another_is_refused(project: Project) -> None:
    rows = rows_of(project.paths.ledger.read_bytes())
    other = rows_of(chained([run(number) for number in range(20, 28)]))
    leaves, theirs = ([merkle.leaf_hash(row) for row in each] for each in (rows, other))
    old, new = merkle.root(leaves[:5]), merkle.root(theirs)
    for proof in (merkle.consistency_proof(5, leaves), merkle.consistency_proof(5, theirs), [old], [new], []):
        assert not merkle.verify_consistency(5, 8, old, new, proof)
    assert root_of(rows[:5]) == old.hex()


# --- timestamps


def stamped(project: Project, authority: Authority) -> bytes:
    with authority.serving() as address:
        publish(project, [address])
    return read(file(project, 8)).stamps[0].token


def test_a_timestamp_of_another_envelope(project: Project, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    token = stamped(project, authority)
    change(file(project, 8), "timestamps", new=[])
    change(file(project, 5), "timestamps", new=[{"authority": "x", "token": base64.b64encode(token).decode()}])
    for trust in ({}, {"authorities": authority.roots}):
        assert "checkpoint-5.json: has a timestamp that is of another envelope" in wrong(whose(project, **trust))[0]


def test_a_timestamp_of_an_unknown_authority_says_nothing(project: Project, tmp_path: Path) -> None:
    """Its name may be the same: what counts are the reader's certificates."""
    stamped(project, Authority(tmp_path / "theirs", "Known Time"))
    known = Authority(tmp_path / "known", "Known Time")
    found = whose(project, authorities=known.roots)
    assert "it is by none of the authorities in --authorities" in found.result.skipped[0].why
    assert "at a time that nobody vouches for" in found.told[-1]
    assert "Known Time" not in found.told[-1]


def test_a_token_whose_time_was_changed(project: Project, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    token = stamped(project, authority)
    year = f"{datetime.now(UTC):%Y}".encode()
    earlier = token.replace(year, b"2020", 1)
    assert earlier != token
    change(file(project, 8), "timestamps", new=[{"authority": "x", "token": base64.b64encode(earlier).decode()}])
    found = whose(project, authorities=authority.roots)
    assert "it is by none of the authorities" in found.result.skipped[0].why
    assert "2020-" not in found.told[-1]


def test_a_timestamp_of_the_future(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path / "authority")
    stamped(project, authority)
    monkeypatch.setattr(timestamps, "_AHEAD", timedelta(hours=-1))
    found = wrong(whose(project, authorities=authority.roots))
    assert "checkpoint-8.json: has a timestamp that is of the future" in found[0]


def test_no_changed_byte_of_a_token_is_another_time_or_an_error(project: Project, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    token, envelope = stamped(project, authority), read(file(project, 8)).envelope
    trusted, dice = timestamps.read_authorities(authority.roots), random.Random(17)
    good = timestamps.check_stamp(envelope, Stamp("x", token), trusted)
    assert isinstance(good, timestamps.Stamped)
    for _ in range(2_000):
        at = dice.randrange(len(token))
        changed = token[:at] + bytes([dice.randrange(256)]) + token[at + 1 :]
        found = timestamps.check_stamp(envelope, Stamp("x", changed), trusted)
        assert found == good or not isinstance(found, timestamps.Stamped)


@pytest.mark.parametrize("token", [b"", b"x", b"\x30\x80", b"\x30\x03\x02\x01\x00"])
def test_a_token_that_is_none(project: Project, token: bytes) -> None:
    change(file(project, 8), "timestamps", new=[{"authority": "x", "token": base64.b64encode(token).decode()}])
    assert "checkpoint-8.json: has a timestamp that cannot be read" in wrong(whose(project))[0]


def test_an_authoritys_list_that_holds_none_is_said(project: Project, tmp_path: Path) -> None:
    (tmp_path / "roots.pem").write_text("none")
    for path in (tmp_path / "roots.pem", tmp_path / "nothing"):
        with pytest.raises(ConfigError, match="--authorities: "):
            whose(project, authorities=path)


# --- a stranger's configuration


def test_no_configuration_of_the_checkout_is_asked_whom_to_trust(
    project: Project, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its .git/config would trust Mallory, and verify by a program that leaves a mark and says yes."""
    forged = chained_anew(project, dropped=3)
    signing_with(forged.root, keys / "mallory.pub")
    publish(forged)
    mark = tmp_path / "mark"
    for name in ("evil", "ssh-keygen"):
        (program := forged.root / name).write_text(f"#!/bin/sh\ntouch {mark}\necho mallory\n", encoding="ascii")
        program.chmod(0o755)
    trusting(forged.root / "allowed_signers", keys / "mallory.pub")
    for setting, value in {
        "gpg.ssh.program": str(forged.root / "evil"),
        "gpg.ssh.allowedSignersFile": str(forged.root / "allowed_signers"),
        "gpg.ssh.defaultKeyCommand": str(forged.root / "evil"),
        "core.fsmonitor": str(forged.root / "evil"),
        "core.sshCommand": str(forged.root / "evil"),
    }.items():
        git(forged.root, "config", setting, value)
    monkeypatch.chdir(forged.root)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:.")
    found = whose(Project(Path.cwd()))
    assert "whom nobody here vouches for" in found.told[-1]
    assert wrong(whose(Project(Path.cwd()), allowed_signers=trusting(tmp_path / "mine", keys / "alice.pub")))
    assert not mark.exists()


def test_a_checkpoint_is_read_alike_by_both_programs(project: Project) -> None:
    """The checker's reader and this package's are one: what stands in the file is what was signed."""
    data = file(project, 8).read_bytes()
    assert parse_attestation(data) == read(file(project, 8))
    assert sha256_bytes(data) == sha256_bytes(parse_attestation(data).to_bytes())

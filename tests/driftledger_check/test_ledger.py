"""By whose word a run stands in the ledger, told from the bundle alone."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from driftledger.commands.publish import publish
from driftledger.ledger.attest.attest import attest
from driftledger.ledger.bundle.write import write_bundle
from driftledger.ledger.log import chain
from driftledger.project.project import Project
from driftledger_check.bundle import CHECKPOINT, MANIFEST, PROOF, STATEMENT
from driftledger_check.cli import check
from driftledger_check.dsse import PLAN, Statement
from driftledger_check.report import Report
from tests.conftest import Checkout
from tests.support.bundles import Forger, differing, evidence_of
from tests.support.signers import make_key, trusting


class Signed(NamedTuple):
    path: Path
    key: Path
    trusted: Path
    kept: Path
    """The checkpoint, as its owner has it."""


@pytest.fixture(scope="module")
def signed(released: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Signed:
    """A signed bundle of a run below a signed checkpoint."""
    top = tmp_path_factory.mktemp("signed")
    made = released.copy(top / "checkout")
    key = make_key(top, "ann")
    made.git("config", "gpg.format", "ssh")
    made.git("config", "user.signingkey", str(key))
    other = evidence_of(made).model_copy(update={"name": "another", "fingerprint": "1" * 64})
    chain.append(made.root / "ledger.jsonl", [other], made.root / ".driftledger" / "lock")
    made.commit("another run")
    publish(Project(made.root))
    [kept] = (made.root / "attestations").iterdir()
    write_bundle(Project(made.root), evidence_of(made), top / "score.zip", key=str(key))
    return Signed(top / "score.zip", key, trusting(top / "signers", key), kept)


@pytest.fixture
def forged(signed: Signed) -> Forger:
    return Forger(signed.path)


def unchecked(report: Report) -> list[str]:
    return [f"{each.where}: {each.what}" for each in report.groups["ledger"] if each.status == "not checkable"]


def test_who_is_trusted_vouches_for_line_and_bundle(signed: Signed) -> None:
    report = check(signed.path, allowed_signers=signed.trusted, checkpoint=signed.kept)
    assert differing(report) == []
    assert unchecked(report) == []
    assert {f"{STATEMENT}: signature", f"{CHECKPOINT}: signature", "the checkpoint that you kept: root"} <= {
        each.where for each in report.groups["ledger"]
    }


def test_nobody_is_trusted_by_default(signed: Signed) -> None:
    report = check(signed.path)
    assert differing(report) == []
    assert [each.partition(" are")[0].partition(" do not")[0] for each in unchecked(report)] == [
        f"{CHECKPOINT}: signature: your --allowed-signers",
        f"{STATEMENT}: signature: your --allowed-signers",
    ]


def test_a_key_that_is_not_trusted_vouches_for_nothing(signed: Signed, tmp_path: Path) -> None:
    other = trusting(tmp_path / "signers", make_key(tmp_path, "eve"))
    assert len(unchecked(check(signed.path, allowed_signers=other))) == 2


def test_a_bundle_that_was_changed_misses_its_statement(signed: Signed, forged: Forger, tmp_path: Path) -> None:
    forged.members["environment.json"] = b"{}"
    forged.rehash()
    path = forged.write(tmp_path / "x.zip")
    found = differing(check(path, allowed_signers=signed.trusted))
    assert [each.partition(":")[0] for each in found] == [STATEMENT]
    assert "subject" in found[0]


def test_the_statement_of_another_bundle(signed: Signed, forged: Forger, tmp_path: Path) -> None:
    forged.members[STATEMENT] = attest(Statement(PLAN, {MANIFEST: "0" * 64}, {}), str(signed.key)).to_bytes()
    found = differing(forged.check(tmp_path))
    assert len([each for each in found if each.startswith(f"{STATEMENT}: ")]) == 2


def test_a_signature_of_other_bytes(forged: Forger, tmp_path: Path) -> None:
    forged.json(
        STATEMENT,
        lambda said: said["envelope"].update(payload=json.loads(forged.members[CHECKPOINT])["envelope"]["payload"]),
    )
    forged.members[STATEMENT] += b"\n"
    assert any("its signature by SHA256:" in each for each in differing(forged.check(tmp_path)))


@pytest.mark.parametrize(
    "change",
    [{"n": 2}, {"n": 0}, {"n": "1"}, {"size": 1}, {"size": 3}, {"size": 10**30}, {"leaf": "0" * 64}, {"path": []},
     {"path": ["0" * 64]}, {"path": "0" * 64}, {"path": ["0" * 64] * 10_000}, {"root": "0" * 64}, {"more": 1}],
    ids=str,
)  # fmt: skip
def test_a_forged_proof(change: dict[str, object], forged: Forger, tmp_path: Path) -> None:
    forged.json(PROOF, lambda proof: proof.update(change))
    forged.rehash()
    assert any(each.startswith(f"{PROOF}: it is False") for each in differing(forged.check(tmp_path)))


def test_a_proof_that_holds_below_a_root_that_nobody_signed(signed: Signed, forged: Forger, tmp_path: Path) -> None:
    """The owner makes a tree of the one line, and keeps the checkpoint that was signed."""
    from driftledger_check.bundle import LINE
    from driftledger_check.merkle import line_proof
    from driftledger_check.strict_json import canonical

    forged.members[PROOF] = canonical(line_proof([forged.members[LINE]], 1))
    forged.rehash()
    path = forged.write(tmp_path / "x.zip")
    found = differing(check(path, allowed_signers=signed.trusted, checkpoint=signed.kept))
    assert {f"{CHECKPOINT}: n", f"{CHECKPOINT}: root"} <= {each.partition(": it is")[0] for each in found}


def test_the_checkpoint_of_another_ledger(signed: Signed, forged: Forger, tmp_path: Path) -> None:
    said = {"n": 2, "root": "0" * 64, "previous": None, "commit": None}
    other = attest(Statement("urn:driftledger:checkpoint:1", {"ledger.jsonl": "0" * 64}, said), str(signed.key))
    forged.members[CHECKPOINT] = other.to_bytes()
    forged.rehash()
    path = forged.write(tmp_path / "x.zip")
    found = differing(check(path, allowed_signers=signed.trusted))
    assert [each.partition(": it is")[0] for each in found] == [f"{CHECKPOINT}: root", f"{STATEMENT}: subject"]


def test_a_checkpoint_that_was_kept_of_another_length_is_not_compared(signed: Signed, tmp_path: Path) -> None:
    said = {"n": 1, "root": "0" * 64, "previous": None, "commit": None}
    statement = Statement("urn:driftledger:checkpoint:1", {"ledger.jsonl": "0" * 64}, said)
    (tmp_path / "kept.json").write_bytes(attest(statement, None).to_bytes())
    report = check(signed.path, allowed_signers=signed.trusted, checkpoint=tmp_path / "kept.json")
    assert differing(report) == []
    assert "verify --ledger --since" in unchecked(report)[0]

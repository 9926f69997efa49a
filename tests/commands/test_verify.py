"""What ``verify`` says of the lot by which calls were drawn, and of services that were asked again."""

from driftledger.commands.verify import Verified
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.verify.ask_again import AskedAgain
from driftledger.ledger.verify.regenerate import CallKind, Regenerated
from tests.support.terminal import printed

KIND = CallKind("genception: chain: draw", 105, 20)
AGAIN = Regenerated(77, [KIND], ["model gpt\x1b: a service does not answer twice the same"], VerifyResult())
ASKED = AskedAgain("mm_vet: answer", 12, 0.004, 0.3)


def test_the_head_tells_the_seed_what_is_never_made_again_and_what_is_proved() -> None:
    said = printed(Verified(["seer · brush · eye"], {}, AGAIN, [ASKED]).as_table()).splitlines()
    assert said[0] == "calls are drawn by lot, with seed 77; --seed draws the same ones again"
    assert said[1] == "cannot be made again: model gpt\\x1b: a service does not answer twice the same"
    [row] = [line for line in said if line.startswith("genception: chain: draw")]
    assert row.split()[-3:] == ["20", "105", "0.91"]
    told = " ".join(said)
    assert "mm_vet: answer: 12 calls were asked twice more" in told
    assert "p = 0.004" in told
    assert "30% exchanged answers" in told


def test_json_has_the_same() -> None:
    told = Verified(["seer · brush · eye"], {}, AGAIN, [ASKED]).to_dict()
    kinds = [KIND._asdict() | {"found_with": float(KIND.found_with)}]
    assert told["regenerated"] == {"seed": 77, "forged": 0.1, "never": AGAIN.never, "kinds": kinds}
    assert told["asked_again"] == [ASKED._asdict()]
    assert told["holds"]


def test_without_them_nothing_is_said_of_lots() -> None:
    plain = Verified(["seer · brush · eye"], {})
    assert printed(plain.as_table()).startswith("check")
    assert {"regenerated", "asked_again"}.isdisjoint(plain.to_dict())


def test_services_alone() -> None:
    said = printed(Verified(["seer · brush · eye"], {}, None, [ASKED]).as_table())
    assert said.startswith("mm_vet: answer: 12 calls")

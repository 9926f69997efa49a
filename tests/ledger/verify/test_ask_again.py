"""Services asked again: exchanged answers show, honest ones do not, and no key goes where it does not belong."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from driftledger.benchmarks.runner import RecordedCall
from driftledger.components.card import ComponentCard
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_bytes
from driftledger.core.types import ImageFile, Reply
from driftledger.demo.generators.painter import Painter
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.verify import ask_again as module
from driftledger.ledger.verify.ask_again import Services, _Answers, _asked, ask_again, doubt
from driftledger.ledger.verify.components import Unavailable
from driftledger.project.catalogue import CatalogueEntry
from tests.ledger.verify.conftest import CHAINS, Ledger, torn_png

WORDS = [f"word{number}" for number in range(200)]


def answer(call: int, dice: Random, own: int = 20) -> str:
    """Of a service that says mostly the same of a thing, and never in the same words."""
    about = Random(call).sample(WORDS, own)
    return " ".join(dice.sample(about, own - 5) + dice.sample(WORDS, 5))


def asked(count: int, forged: int, seed: int) -> list[_Answers]:
    dice = Random(seed)
    return [
        _Answers(answer(call + 1000 * (call < forged), dice), (answer(call, dice), answer(call, dice)))
        for call in range(count)
    ]


def test_p_of_honest_answers_is_spread_evenly() -> None:
    ps = [doubt(asked(12, 0, seed), seed)[0] for seed in range(40)]
    assert sum(p < 0.05 for p in ps) <= 6
    assert 0.35 < sum(ps) / len(ps) < 0.65


def test_exchanged_answers_show_as_often_as_is_told() -> None:
    _, detects = doubt(asked(20, 0, 1), 1)
    assert detects is not None
    assert detects <= 0.3
    forged = round(20 * detects)
    found = [doubt(asked(20, forged, seed), seed)[0] < 0.05 for seed in range(30)]
    assert sum(found) / len(found) > 0.6


def test_a_service_that_says_anything_tells_nothing() -> None:
    dice = Random(1)
    noise = [_Answers(*(lambda: (" ".join(dice.sample(WORDS, 5)), ("a", "b")))()) for _ in range(10)]
    assert doubt(noise, 1)[1] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "trust", "why"),
    [
        ({}, False, None),
        ({"api_key_env": "AWS_SECRET_ACCESS_KEY"}, False, None),  # which is not sent: the provider's own is
        ({"base_url": "http://127.0.0.1:9/v1", "api_key_env": "OPENAI_API_KEY"}, False, "nothing here says which key"),
        ({"base_url": "http://127.0.0.1:9/v1", "api_key_env": "OPENAI_API_KEY"}, True, "nothing here says which key"),
    ],
)
def test_no_key_goes_to_an_address_that_a_record_names(
    kept: Ledger, settings: dict[str, Any], trust: bool, why: str | None
) -> None:
    card = ComponentCard.of("seer", OpenAIChat.model_validate({"model": "vision-1", **settings}))
    found = Services.of(kept.project, trust=trust).get(card, "model")
    if why is None:
        assert isinstance(found, OpenAIChat)
        assert (found.base_url, found.api_key_env) == (None, "OPENAI_API_KEY")
    else:
        assert isinstance(found, Unavailable)
        assert why in found.why


@pytest.mark.slow
def test_servers_that_a_name_stands_for_are_those_of_ones_own_entry(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = ["http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"]
    given = {"model": "vision-1", "api_key_env": None, "base_url": urls}
    named = ComponentCard.of("seer", OpenAIChat.model_validate(given | {"service_name": "ours"}))
    listed = ComponentCard.of("seer", OpenAIChat.model_validate(given))
    entries: dict[str, CatalogueEntry] = {}
    monkeypatch.setattr(module, "catalogue", lambda _: entries)
    for card in (named, listed):
        assert isinstance(Services.of(kept.project).get(card, "model"), Unavailable)
    entries["plain"] = CatalogueEntry.model_validate({"provider": "openai", **given})
    entries["ours"] = CatalogueEntry.model_validate({"provider": "openai", "service_name": "ours", **given})
    for card in (named, listed):
        found = Services.of(kept.project).get(card, "model")
        assert isinstance(found, OpenAIChat)
        assert found.urls == tuple(urls if card is named else urls[:1])


@pytest.mark.slow
def test_some_calls_are_asked_twice_more(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    card = ComponentCard.of("seer", OpenAIChat(model="vision-1")).to_dict()
    ledger.change_json(f"{CHAINS}/components.json", lambda chain: chain["components"].update(model=card))
    made: list[int] = []

    def respond(_: OpenAIChat, conversations: Any) -> list[Reply]:
        made.append(len(conversations))
        return [Reply("nothing of the kind") for _ in conversations]

    monkeypatch.setattr(OpenAIChat, "respond", respond)
    [told], result = ask_again(ledger.project, [ledger.evidence], ledger.contents, 10, 1)
    assert made == [20]
    assert (told.name, told.calls) == ("genception: chain: describe", 10)
    assert told.p < 0.01
    assert result.holds
    assert result.checked == {"calls asked again": 10}


@pytest.mark.slow
def test_records_that_tell_of_no_call_are_asked_of_nobody(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    card = ComponentCard.of("seer", OpenAIChat(model="vision-1")).to_dict()
    ledger.change_json(f"{CHAINS}/components.json", lambda chain: chain["components"].update(model=card))
    rows = [row | {"t": 9} for row in ledger.rows(f"{CHAINS}/records.jsonl")]
    ledger.write_rows(f"{CHAINS}/records.jsonl", rows)
    called: list[object] = []
    monkeypatch.setattr(OpenAIChat, "respond", called.append)
    told, result = ask_again(ledger.project, [ledger.evidence], ledger.contents, 10, 1)
    assert (told, called) == ([], [])
    assert any("it cannot be put together" in each.why for each in result.skipped)


def test_an_answer_that_cannot_be_decoded_is_asked_of_nobody(tmp_path: Path) -> None:
    stored = ImageFile(tmp_path / "1.png", sha256_bytes(torn_png()))
    stored.path.write_bytes(torn_png())
    call = RecordedCall("draw", Painter(), "1.png", lambda: None, stored)  # type: ignore[arg-type,return-value]
    result = VerifyResult()
    assert _asked([call], result) == []
    [skipped] = result.skipped
    assert "SyntaxError: broken PNG file" in skipped.why

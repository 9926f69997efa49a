"""Calls made again from real records: what was changed is found, what cannot be made again is said, nothing is paid."""

import json
from typing import Any

import pytest
from PIL import Image

from driftledger.components.card import ComponentCard
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_bytes
from driftledger.core.images import png_bytes
from driftledger.demo.models.regions import Regions
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.verify import regenerate as regenerating
from driftledger.ledger.verify.regenerate import regenerate
from tests.ledger.verify.conftest import CHAINS, DESCRIPTIONS, GENCEPTION, MODEL, Ledger, places

pytestmark = pytest.mark.slow

EVERY = 10_000


def check(ledger: Ledger, count: int = EVERY, seed: int = 1) -> VerifyResult:
    return regenerate(ledger.project, ledger.evidence, ledger.contents, count, seed)


def test_everything_is_given_again(kept: Ledger) -> None:
    result = check(kept)
    data = kept.root / "data"
    rows = {path: len(path.read_bytes().splitlines()) for path in data.rglob("records.jsonl")}
    judged = rows.pop(data / f"grades/scenes_mm_vet/{MODEL}/records.jsonl")
    asked = sum(count for path, count in rows.items() if "grades" not in path.parts)
    drawn = sum(1 for folder in ("chains", "redraws") for _ in (data / folder).rglob("*.png"))
    assert result == VerifyResult(checked=result.checked)
    assert result.checked == {"calls": asked + drawn + judged}


def test_the_choice_hangs_on_the_seed_and_is_spread_over_all_kinds(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, str]] = []

    def note(call: Any) -> VerifyResult:
        made.append((call.kind, call.where))
        return VerifyResult()

    monkeypatch.setattr(regenerating, "make_again", note)
    chosen = []
    for seed in (1, 1, 2):
        made.clear()
        check(kept, 20, seed)
        chosen.append(sorted(made))
        kinds = [kind for kind, _ in made]
        assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(
            (
                *("chain: describe", "chain: draw", "redraw: describe", "redraw: draw", "answer", "grade"),
                *("describe", "describe: another length", "describe: examples", "witness: describe"),
            ),
            2,
        )
    assert chosen[0] == chosen[1] != chosen[2]


@pytest.mark.parametrize("number", [0, 60, -1])
def test_a_changed_description_is_found(ledger: Ledger, number: int) -> None:
    path = f"{DESCRIPTIONS}/records.jsonl"
    before = ledger.change_row(path, lambda row: row.update(description=row["description"] + "\x1b[31m!"), number)
    found = [finding for finding in check(ledger).findings if f": {before['sample']}" in finding.where]
    assert found[0].kind == "bytes"
    assert found[0].where.startswith(f"{path}: {before['sample']}, {before['max_tokens']} tokens")
    assert "\\x1b[31m!" in found[0].what
    assert "\x1b" not in found[0].what


def test_of_a_long_text_the_place_is_shown_where_it_differs(ledger: Ledger) -> None:
    path = f"{CHAINS}/records.jsonl"
    before = ledger.change_row(
        path, lambda row: row.update(description=f"{row['description'][:60]}ß{row['description'][60:]}")
    )
    text = before["description"]
    assert len(text) > 120
    [found] = [finding for finding in check(ledger).findings if finding.where.endswith("t=1: description")]
    stored, made = f"{text[40:60]}ß{text[60:99]}", text[40:100]
    assert found.what == f"{' '.join(stored.split())!r} is stored, regions now says {' '.join(made.split())!r}"


def test_a_changed_answer_and_what_a_judge_said(ledger: Ledger) -> None:
    answers, grades = (f"data/{what}/scenes_mm_vet/{MODEL}" for what in ("answers", "grades"))
    ledger.change_row(f"{grades}/records.jsonl", lambda row: row["replies"][0].update(text="0.3"), number=5)
    ledger.change_row(f"{answers}/records.jsonl", lambda row: row.update(text="seventeen"), number=9)
    found = places(check(ledger).findings)
    assert any(place.startswith(f"bytes {grades}/records.jsonl: ") for place in found)
    assert any(place.startswith(f"bytes {answers}/records.jsonl: ") for place in found)


def test_a_changed_image_is_found_even_where_its_record_was_changed_with_it(ledger: Ledger) -> None:
    records = [json.loads(line) for line in (ledger.root / CHAINS / "records.jsonl").read_text().splitlines()]
    image = records[1]["image"]
    data = png_bytes(Image.new("RGB", (64, 48), "red"))
    ledger.write(f"{CHAINS}/{image}", data)
    assert places(check(ledger).findings) == [f"bytes {CHAINS}/{image}"]
    ledger.change_row(f"{CHAINS}/records.jsonl", lambda row: row.update(image_sha256=sha256_bytes(data)), number=1)
    result = check(ledger)
    assert f"bytes {CHAINS}/{image}" in places(result.findings)
    assert "painter now draws" in result.findings[0].what


def test_records_that_tell_of_no_call(ledger: Ledger) -> None:
    ledger.change_row(f"{CHAINS}/records.jsonl", lambda row: row.update(sample="nobody"))
    [finding, *_] = check(ledger).findings
    assert finding.kind == "bytes"
    assert "KeyError" in finding.what


def test_another_version_is_skipped(ledger: Ledger) -> None:
    ledger.change_json(f"{CHAINS}/components.json", lambda card: card["components"]["generator"].update(version="99"))
    result = check(ledger)
    assert result.holds
    assert [(each.where, each.why) for each in result.skipped] == [
        (CHAINS, "generator painter: its provider is of version 1 here, and was of version 99")
    ]


def test_a_service_is_never_called(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    service = OpenAIChat.model_validate({"model": "vision-1", "base_url": "http://127.0.0.1:9", "api_key_env": None})
    called: list[object] = []
    monkeypatch.setattr(OpenAIChat, "connect", called.append)
    monkeypatch.setattr(OpenAIChat, "respond", lambda *arguments: called.append(arguments))
    card = ComponentCard.of("seer", service).to_dict()
    ledger.change_json(f"{CHAINS}/components.json", lambda chain: chain["components"].update(model=card))
    said = {"model": {"vision-1-0301": 16}}
    ledger.change_score(GENCEPTION, lambda score: score.update(served=said))
    result = check(ledger)
    assert result.holds
    assert [(each.where, each.why) for each in result.skipped] == [
        (CHAINS, "model seer: a service does not answer twice the same; it said it was vision-1-0301")
    ]
    assert not called


def test_a_component_that_does_not_repeat_itself_is_not_asked(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Regions, "unrepeatable", "in bfloat16, the company changes what comes out")
    result = check(kept)
    assert result.holds
    models = ("regions_fine", MODEL, "regions_coarse")
    assert {each.why for each in result.skipped} == {
        f"model {model}: in bfloat16, the company changes what comes out" for model in models
    }
    assert result.checked["calls"] > 0

"""Calls made again from real records: what was changed is found, what cannot be made again is said, nothing is paid."""

import json
import math
from collections import Counter
from typing import Any

import pytest
from PIL import Image
from scipy.stats import hypergeom

from driftledger.benchmarks.runner import RecordedCall
from driftledger.components.card import ComponentCard
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.core.canonical import sha256_bytes
from driftledger.core.images import png_bytes
from driftledger.demo.generators.painter import Painter
from driftledger.demo.models.regions import Regions
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.verify import regenerate as regenerating
from driftledger.ledger.verify.regenerate import CallKind, Pool, draw_lots, own_seed, regenerate
from tests.ledger.verify.conftest import CHAINS, DESCRIPTIONS, GENCEPTION, MODEL, Ledger, places, torn_png

pytestmark = pytest.mark.slow

EVERY = 10_000


def check(ledger: Ledger, count: int = EVERY, seed: int = 1) -> VerifyResult:
    return regenerate(ledger.project, [ledger.evidence], ledger.contents, count, seed).result


def test_everything_is_given_again(kept: Ledger) -> None:
    result = check(kept)
    data = kept.root / "data"
    rows = {path: len(path.read_bytes().splitlines()) for path in data.rglob("records.jsonl")}
    judged = rows.pop(data / f"grades/scenes_mm_vet/{MODEL}/records.jsonl")
    asked = sum(count for path, count in rows.items() if "grades" not in path.parts)
    drawn = sum(1 for folder in ("chains", "redraws") for _ in (data / folder).rglob("*.png"))
    assert result == VerifyResult(checked=result.checked)
    assert result.checked == {"calls": asked + drawn + judged}


def test_a_seed_draws_the_same_calls_and_each_kind_has_its_share(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def note(call: Any) -> VerifyResult:
        made.append(call.where)
        return VerifyResult(checked=Counter(calls=1))

    monkeypatch.setattr(regenerating, "make_again", note)
    chosen = []
    for seed in (1, 1, 2):
        made.clear()
        again = regenerate(kept.project, [kept.evidence], kept.contents, 43, seed)
        chosen.append(sorted(made))
        assert sum(kind.compared for kind in again.kinds) == len(set(made)) == 43
        share = {kind.name: kind.compared for kind in again.kinds}
        for kind in ("describe", "draw"):  # two iterations: the first counts twice, the second once
            assert 4 <= share.pop(f"genception: chain: {kind}") <= 6
        assert set(share) == {
            *("fidelity: redraw: describe", "fidelity: redraw: draw", "genception: witness: describe"),
            *("mm_sap: answer", "mm_vet: answer", "mm_vet: grade", "mme: answer"),
            *("trac: describe", "trac: describe: another length", "trac: describe: examples"),
        }
        assert set(share.values()) <= {2, 3, 4}
    assert chosen[0] == chosen[1] != chosen[2]


def pools_of(**sizes: int) -> dict[str, Pool]:
    calls = {
        kind: [RecordedCall(kind, Painter(), f"{kind} {number}", lambda: None, "") for number in range(size)]  # type: ignore[arg-type,return-value]
        for kind, size in sizes.items()
    }
    pools = {kind: Pool() for kind in sizes}
    for kind, pool in pools.items():
        pool.add(calls[kind], 1)
    return pools


@pytest.mark.parametrize(("calls", "drawn"), [(105, 20), (21, 4), (30, 30), (7, 1), (3, 0)])
def test_the_probability_told_is_the_share_of_lots_that_find_a_forgery(calls: int, drawn: int) -> None:
    """Counted by lot, and by SciPy's hypergeometric distribution."""
    forged = math.ceil(calls / 10)
    told = float(CallKind("draw", calls, drawn).found_with)
    assert told == pytest.approx(1 - hypergeom.pmf(0, calls, forged, drawn))
    pools, bad = pools_of(draw=calls), {f"draw {number}" for number in range(forged)}
    lots = [draw_lots(pools, drawn, seed) for seed in range(2000)]
    found = sum(any(call.where in bad for _, call in lot) for lot in lots) / len(lots)
    assert found == pytest.approx(told, abs=0.04)


def test_of_105_drawings_20_find_a_tenth_with_probability_0_89() -> None:
    assert math.floor(100 * CallKind("draw", 105, 20).found_with) == 91  # 11 of 105 are the first tenth or more
    assert float(CallKind("draw", 100, 20).found_with) == pytest.approx(0.905, abs=0.001)


def test_lots_draw_each_call_once_and_all_where_there_are_fewer() -> None:
    pools = pools_of(answer=3, draw=5)
    wheres = [call.where for _, call in draw_lots(pools, 100, 1)]
    assert len(wheres) == len(set(wheres)) == 8
    assert draw_lots({}, 5, 1) == []


def test_nobody_foresees_the_seed() -> None:
    seeds = {own_seed() for _ in range(50)}
    assert len(seeds) == 50
    assert max(seeds).bit_length() > 55


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
    ledger.change_score(GENCEPTION, lambda score: score.update(served=said) or score["components"].update(model=card))
    again = regenerate(ledger.project, [ledger.evidence], ledger.contents, EVERY, 1)
    assert again.result.holds
    assert again.never == ["model seer: a service does not answer twice the same"]
    assert [(each.where, each.why) for each in again.result.skipped] == [
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


def test_a_call_with_an_image_that_cannot_be_decoded_is_found(ledger: Ledger) -> None:
    path = next(path for path in sorted((ledger.root / CHAINS / "images").rglob("*.png")))
    ledger.write(path.relative_to(ledger.root).as_posix(), torn_png())
    found = [each.what for each in check(ledger).findings]
    assert any(what.startswith("it cannot be made again from the records: SyntaxError: broken PNG") for what in found)

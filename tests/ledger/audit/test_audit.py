"""The audit is read in a terminal, and half of what it says was written by others."""

import json
import unicodedata
from pathlib import Path

import pytest

from driftledger.benchmarks.score import Score
from driftledger.ledger.audit.audit import as_json, as_tree
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import resolve_target
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import Evidence, read_evidence
from tests.support.audited import Audited, as_text, audited_in, version
from tests.support.ledgers import CHAINS, COMBINATION, SELECTED, component, genception_score, varied, write_ledger
from tests.support.terminal import printed

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x9b31m\r\n\u202eevil\u2066 [bold]markup[/bold] [link=http://x]y[/link] :smile: \x85 end"
)


def evidence_of(root: Path, score: Score | None = None) -> Evidence:
    write_ledger(root, score)
    return read_evidence(root, SELECTED, COMBINATION)


def test_every_link_from_the_score_to_the_commit_is_there(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path).model_copy(
        update={"code": CodeVersion(commit="c0ffee", dirty=False, untracked=[])}
    )
    lineage = evidence.lineages[0]
    score, cards = lineage.score, lineage.score.components
    text = as_text(evidence)
    for link in (
        f"seer · brush · eye, fingerprint {evidence.fingerprint}",
        "GC@2 = 0.7000 (95% interval 0.6500 to 0.7500), coverage 2/2",
        *(f"{name} = {value!r}" for name, value in score.metrics.items()),
        f"score file: reports/scores/genception/shapes/seer/brush/eye/score.json, md5 {lineage.score_file.md5}",
        f"encoder: eye, fingerprint {cards['encoder'].fingerprint}",
        f"generator: brush, fingerprint {cards['generator'].fingerprint}",
        f"model: seer, fingerprint {cards['model'].fingerprint}",
        "provider: brush_provider, version 3",
        'settings: {"batch_size":16,"longest_side":64}',
        f"records.jsonl: sha256 {score.inputs.records['chain']}",
        f"chain: data/chains/shapes/seer/brush, md5 {'2' * 32}.dir, 6 files",
        f"dataset: data/datasets/shapes, md5 {'1' * 32}.dir, 4 files",
        f"digest: {'d' * 64}",
        "describe prompt: Describe it.",
        "generate prompt: Draw: {description}",
        "iterations: 2",
        "dataset@shapes: driftledger stage dataset shapes",
        "chain@shapes-seer-brush: driftledger stage genception chain shapes seer brush",
        "genception@shapes-seer-brush-eye: driftledger stage genception genception shapes seer brush eye",
        "wrote: reports/scores/genception/shapes/seer/brush/eye/rows.jsonl, md5 ",
        "git commit c0ffee (clean)",
    ):
        assert link in text, link


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CodeVersion(commit="c0ffee", dirty=True, untracked=["a"]), "git commit c0ffee (with uncommitted changes)"),
        (CodeVersion(commit=None, dirty=False, untracked=[]), "code: not under Git"),
    ],
)
def test_the_state_of_the_code_is_said(tmp_path: Path, code: CodeVersion, said: str) -> None:
    assert said in as_text(evidence_of(tmp_path).model_copy(update={"code": code}))


def test_an_identity_is_shown_where_there_is_one(tmp_path: Path) -> None:
    plain = as_text(evidence_of(tmp_path / "plain"))
    pinned = varied(genception_score(), model=component("seer", identity={"served_model": "seer-2026", "commit": "ab"}))
    assert "identity" not in plain
    assert 'identity: {"commit":"ab","served_model":"seer-2026"}' in as_text(evidence_of(tmp_path / "pinned", pinned))


def hostile_score() -> Score:
    marked = {"settings": {"batch_size": 16, HOSTILE: HOSTILE}, "identity": {"served_model": HOSTILE}}
    return varied(
        genception_score(),
        model=component("seer", **marked),
        generator=component("brush", **marked, version=HOSTILE),
        encoder=component("eye", **marked, provider=HOSTILE),
        describe_prompt=HOSTILE,
        generate_prompt=HOSTILE + "{description}",
    )


def test_hostile_text_does_nothing_in_a_terminal(tmp_path: Path) -> None:
    text = as_text(evidence_of(tmp_path, hostile_score()))
    assert {letter for letter in text if unicodedata.category(letter) in ("Cc", "Zl", "Zp")} == {"\n"}
    assert not {"\u202e", "\u2066"} & set(text)
    assert "[bold]markup[/bold] [link=http://x]y[/link] :smile:" in text


def test_hostile_text_makes_no_line_of_its_own(tmp_path: Path) -> None:
    plain = varied(
        genception_score(),
        model=component("seer", identity={"served_model": "x"}),
        generator=component("brush", identity={"served_model": "x"}),
        encoder=component("eye", identity={"served_model": "x"}),
    )
    expected = as_text(evidence_of(tmp_path / "plain", plain)).splitlines()
    found = as_text(evidence_of(tmp_path / "hostile", hostile_score())).splitlines()
    assert len(found) == len(expected)


def test_hostile_evidence_comes_back_from_json_as_it_was(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path, hostile_score())
    text = evidence.model_dump_json(indent=2, by_alias=True)
    assert Evidence.model_validate_json(text) == evidence
    assert "\x1b" not in text


@pytest.mark.parametrize("length", [9_000, 30_000])
def test_a_long_prompt_stays_whole_and_on_its_line(tmp_path: Path, length: int) -> None:
    prompt = ("word " * length)[:length].strip()
    text = as_text(evidence_of(tmp_path, varied(genception_score(), describe_prompt=prompt)))
    assert any(line.endswith(f"describe prompt: {prompt}") for line in text.splitlines())


def is_inert(text: str) -> bool:
    text.encode()
    bad = {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")}
    return bad <= {"\n"} and not {"\u202e", "\u2066"} & set(text)


def hostile_ledger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    made = audited_in(folder, monkeypatch)
    marked = {"settings": {HOSTILE: HOSTILE}, "identity": {"served_model": HOSTILE}}
    made.produce(said=HOSTILE, generator=version("brush", **marked), model=version("seer", **marked))
    made.commit("hostile")
    return made


@pytest.mark.parametrize("target", ["seer/brush/eye", "SCORE", "seer/brush/eye:gc_at_2", "SAMPLE", "DRAWN"])
def test_every_tree_and_every_json_is_inert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    made = hostile_ledger(tmp_path, monkeypatch)
    files = {"SCORE": made.score_path, "SAMPLE": made.image("disc"), "DRAWN": made.image("disc", 2)}
    with made.sources() as sources:
        found = resolve_target(sources, str(files.get(target, target)))
        tree, text = printed(as_tree(found, sources)), as_json(found, sources)
    assert is_inert(tree)
    assert is_inert(text)
    if target != "SAMPLE":
        assert "[bold]markup[/bold] [link=http://x]y[/link] :smile:" in tree
        assert json.dumps(HOSTILE)[1:-1].encode().decode("unicode_escape") in _strings(json.loads(text))


def _strings(value: object) -> str:
    """Every text in some JSON, one after the other."""
    if isinstance(value, dict):
        return "".join(map(_strings, [*value, *value.values()]))
    return "".join(map(_strings, value)) if isinstance(value, list) else str(value)


def test_half_a_character_in_a_record_is_shown_as_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = audited_in(tmp_path, monkeypatch)
    made.produce()
    records = made.root / CHAINS / "records.jsonl"
    records.write_text(records.read_text().replace("a disc", "half \\ud800"))
    with made.sources() as sources:
        found = resolve_target(sources, str(made.image("disc", 1)))
        tree, text = printed(as_tree(found, sources)), as_json(found, sources)
    assert "description: half \\ud800" in tree
    assert is_inert(tree)
    assert json.loads(text)["places"][0]["entry"]["description"] == "half \ud800"


def test_json_of_a_run_is_its_evidence_with_more_beside_it(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path)
    with Sources(tmp_path, SELECTED, [COMBINATION]) as sources:
        said = json.loads(as_json(resolve_target(sources, "seer/brush/eye"), sources))
    assert said.pop("known_from") == "dvc.lock"
    assert said.pop("recorded") == {}
    assert len(said.pop("proof")) == 2
    assert Evidence.model_validate(said) == evidence

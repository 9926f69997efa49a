"""One version of a component with two codes: compare, audit and verify say so, and verify finds no fault in it."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.tree import Tree

from driftledger.benchmarks.runner import Caller
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import Scored
from driftledger.components.card import ComponentCard
from driftledger.core.code_digest import code_digest
from driftledger.core.files import read_jsonl
from driftledger.core.registry import provider_place
from driftledger.demo.encoders.layout import LayoutEncoder
from driftledger.demo.generators.painter import Painter
from driftledger.ledger.audit.tree import add_component
from driftledger.ledger.compare.compare import compare
from driftledger.ledger.compare.told import as_table
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify import recompute as recomputing
from driftledger.ledger.verify import regenerate as regenerating
from driftledger.ledger.verify.components import Components, Unavailable, at_hand, other_code
from driftledger.project.project import Project
from tests.support.compared_runs import chains, run
from tests.support.ledgers import component, genception_score, varied
from tests.support.terminal import printed

VALUES = {f"s{number}a": [0.5, 0.25 + number / 64] for number in range(8)}
OLD, NEW = "0" * 64, "1" * 64


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> ComponentCard:
    """The card of an encoder whose code is not its identity."""
    monkeypatch.setattr(LayoutEncoder, "code_is_identity", False)
    return ComponentCard.of("eye", LayoutEncoder())


def with_code(card: ComponentCard, digest: str) -> ComponentCard:
    return card.model_copy(update={"code": digest})


def test_compare_tells_of_two_codes_under_one_version(tmp_path: Path) -> None:
    scores = [varied(genception_score(), encoder=component("eye", code=code)) for code in (OLD, NEW)]
    a, b = (run(chains(tmp_path, name, VALUES, score)) for name, score in zip("ab", scores, strict=True))
    found = compare(a, b, Contents(tmp_path))
    said = f'encoder eye, code: "{OLD}" → "{NEW}", both of version 3'
    assert found.pairs[0].changed == [said]
    assert found.comparable  # the version stands for the code
    assert f"changed: {said}" in printed(as_table(found))


def test_compare_takes_another_code_for_another_component_where_code_is_the_identity(tmp_path: Path) -> None:
    changed = ({"identity": {"code": code}, "fingerprint": code} for code in (OLD, NEW))
    cards = [component("brush").model_copy(update=each) for each in changed]
    scores = [varied(genception_score(), generator=card) for card in cards]
    a, b = (run(chains(tmp_path, name, VALUES, score)) for name, score in zip("ab", scores, strict=True))
    [pair] = compare(a, b, Contents(tmp_path)).pairs
    assert pair.changed == [f'generator brush, identity.code: "{OLD}" → "{NEW}"']
    assert ("generator", "compared") in [(each.what, each.weight) for each in pair.differing]


def audited(card: ComponentCard) -> list[str]:
    tree = Tree("run")
    add_component(tree, "encoder", card)
    return [line.partition("code: ")[2] for line in printed(tree).splitlines() if "── code: " in line]


def test_audit_tells_the_code_and_whether_another_is_here() -> None:
    here = code_digest(provider_place("generators", "painter"))
    card = ComponentCard.of("painter", Painter())
    assert audited(card) == [here]
    assert audited(card.model_copy(update={"identity": {"code": OLD}})) == [f"{OLD}, and the code here is {here}"]
    clip = code_digest(provider_place("encoders", "clip"))
    assert audited(component("eye", provider="clip", code=OLD)) == [f"{OLD}, and the code here is {clip}"]
    assert audited(component("eye", code=OLD)) == [OLD]  # of a provider that is not known here
    assert audited(component("eye")) == []


def test_embedded_code_of_another_day_is_not_at_hand() -> None:
    card = ComponentCard.of("painter", Painter())
    older = card.model_copy(update={"identity": card.identity | {"code": OLD}, "fingerprint": "f" * 64})
    found = at_hand(older, None, "generator")
    assert isinstance(found, Unavailable)
    digests = f"digest {Painter().code_digest[:12]} here, {OLD[:12]} recorded"
    assert found.why == (
        f"generator painter: its code here is not the recorded one ({digests}), under one version {Painter.version}"
    )


def test_an_adapter_is_at_hand_with_other_code_which_is_told(adapter: ComponentCard) -> None:
    found = at_hand(with_code(adapter, OLD), None, "encoder")
    assert isinstance(found, LayoutEncoder)
    assert other_code(found, with_code(adapter, OLD)) == (
        f"encoder eye: its code here is not the recorded one (digest {found.code_digest[:12]} here, {OLD[:12]} "
        f"recorded), under one version {LayoutEncoder.version}"
    )
    assert other_code(found, adapter) is None
    assert other_code(found, adapter.model_copy(update={"code": None})) is None  # no code is recorded


def recomputed(root: Path, stored: Score, made: Score, monkeypatch: pytest.MonkeyPatch) -> VerifyResult:
    """The check of a score whose records give ``made``."""
    lineage = chains(root, "a", VALUES, stored)
    lineage = lineage.model_copy(update={"stages": {"genception@shapes": lineage.stages["score"]}})
    rows = read_jsonl(root / lineage.rows_file.path, Row)
    runner = SimpleNamespace(reread=lambda *_: None, score=lambda _: Scored(made, rows))
    monkeypatch.setattr(recomputing, "runner", lambda _: runner)
    monkeypatch.setattr(recomputing._Check, "_where", lambda *_: root)
    return recomputing.recompute(Project(root), [lineage], Contents(root), Components(None))


def test_verify_computes_with_other_code_of_one_version_and_says_so(
    tmp_path: Path, adapter: ComponentCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = varied(genception_score(), encoder=adapter)
    assert recomputed(tmp_path / "same", made, made, monkeypatch).skipped == []
    stored = varied(made, encoder=with_code(adapter, OLD))
    result = recomputed(tmp_path / "other", stored, made, monkeypatch)
    assert result.holds
    assert result.checked["scores"] == 1
    assert [(each.where, each.why) for each in result.skipped] == [
        ("a/genception/score.json", other_code(LayoutEncoder(), with_code(adapter, OLD)))
    ]


def test_verify_finds_what_else_of_the_encoder_is_not_what_it_was(
    tmp_path: Path, adapter: ComponentCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = varied(genception_score(), encoder=adapter)
    renamed = adapter.model_copy(update={"name": "other"})
    [finding] = recomputed(tmp_path, varied(made, encoder=renamed), made, monkeypatch).findings
    assert finding.where == "a/genception/score.json: components.encoder.name"
    drawn = varied(made, generator=with_code(component("brush"), OLD))
    found = recomputed(tmp_path, drawn, varied(drawn, generator=with_code(component("brush"), NEW)), monkeypatch)
    assert [each.where for each in found.findings] == ["a/genception/score.json: components.generator.code"]


def test_calls_made_again_by_other_code_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Painter, "code_is_identity", False)
    card, result = with_code(ComponentCard.of("brush", Painter()), OLD), VerifyResult()
    made = []

    def calls(component: Painter) -> Iterator[str]:
        made.append(component)
        yield "a call"

    caller = Caller("generator", card, "data/chains/x", calls)  # type: ignore[arg-type]
    lineage = SimpleNamespace(score=SimpleNamespace(served={}))
    given = list(regenerating._callable(caller, lineage, Components(None), result))  # type: ignore[arg-type]
    assert ([*map(str, given)], [type(each) for each in made]) == (["a call"], [Painter])
    assert [(each.where, each.why) for each in result.skipped] == [("data/chains/x", other_code(Painter(), card))]

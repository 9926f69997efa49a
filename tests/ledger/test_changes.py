"""What changed between two runs, worked out by hand."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_jsonl
from driftledger.ledger.compare import compare_with_changes
from driftledger.ledger.comparison import RUNS, Changes, Floor
from driftledger.ledger.gate import Gate, Verdict
from driftledger.ledger.lineage import CodeVersion, Folder, Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace, listing_md5
from driftledger.scoring.score import ROWS
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    COMBINATION,
    component,
    question_score,
    record,
    row,
    trac_score,
    varied,
)

DAYS = ("2026-11-26", "2026-12-03", "2026-11-26.2")


def folder(root, out, name, rows):
    write_jsonl(root / out / "in" / name, rows)
    md5 = listing_md5(Workspace(root).listing(out))
    return Folder(path=f"{out}/in", out=out, md5=md5)


def run(root, name, case, as_of):
    """The run of a side of a case: rows by unit, and texts of a chain by sample."""
    kind = case["benchmark"]
    score = trac_score() if kind == "trac" else question_score(kind)
    score = varied(score, records={"all": case.get("records", name)})
    if as_of:
        card = component("seer", identity={"as_of": as_of})
        dated = card.model_copy(update={"fingerprint": sha256_of(as_of)})
        score = varied(score, model=dated)
    rows = [row(unit, **told) for unit, told in case.get(name, {}).items()]
    records = []
    sides = [f"{name}_texts", "repeat_texts"] if name == "a" else [f"{name}_texts"]
    for repeat, side in enumerate(sides):
        for unit, texts in case.get(side, {}).items():
            for step, text in enumerate(texts, 1):
                outcome = "ok" if text else "refused"
                asked = 0 if case.get("stored") else repeat
                made = record(unit, outcome, text, step=step, repeat=asked)
                records.append(made.model_copy(update={"repeat": repeat}))
    collected = Folder(path="absent", out="absent", md5="0" * 32 + ".dir")
    if records:
        collected = folder(root, f"{name}-records", RECORDS, records)
    lineage = Lineage(
        score=score,
        folder=folder(root, f"{name}-scores", ROWS, rows),
        data=collected,
        collected={benchmark(kind).collects.name: collected},
        stages={},
    )
    return Run(
        name=name,
        combination=COMBINATION,
        fingerprint=sha256_of(name),
        lineages=[lineage],
        code=CodeVersion(commit=None, dirty=False),
    )


def changes_of(root, case):
    days = case.get("days", DAYS)
    sides = ["a", "b", "again"] if "again" in case else ["a", "b"]
    runs = [
        run(root, side, case, as_of=day) for side, day in zip(sides, days, strict=False)
    ]
    sources = SimpleNamespace(
        contents=Contents(root, trust=False), versions=lambda combination: runs
    )
    comparison = compare_with_changes(sources, runs[0], runs[1])
    [pair] = comparison.pairs
    return {each.of: each for each in pair.changes}


@each_case(cases(__file__, "changes"))
def test_changes_by_hand(case, tmp_path):
    found = changes_of(tmp_path, case)
    expected = {of: case[of] for of in ("answers", "descriptions") if of in case}
    assert found.keys() == expected.keys()
    for of, values in expected.items():
        plain = asdict(found[of])
        assert {key: plain[key] for key in values} == values
    if "furthest" in case:
        [*_, last] = found.values()
        keys = ("unit", "step", "a", "b", "a_text", "b_text")
        shown = [[getattr(each, key) for key in keys] for each in last.furthest]
        assert shown == case["furthest"]


def test_the_similarity_of_texts_is_their_share_of_common_words(tmp_path):
    case = {
        "benchmark": "genception",
        "a_texts": {"s1": ["red cup"], "s2": ["red cup"], "s3": ["dog"], "s4": [None]},
        "b_texts": {"s1": ["cup red"], "s2": ["two boats"], "s3": ["dog"], "s4": ["a"]},
    }
    found = changes_of(tmp_path, case)["descriptions"]
    assert [(each.unit, each.similarity) for each in found.furthest] == [
        ("s2", 0.0),
        ("s4", None),
        ("s1", pytest.approx(1.0)),
    ]
    assert found.similarity == pytest.approx(0.5)


@each_case(cases(__file__, "changed"))
def test_a_gate_by_hand(case):
    found = []
    if "changes" in case:
        values = {"of": "answers", **case["changes"]}
        if "floor" in values:
            values["floor"] = Floor(*values["floor"])
        found.append(Changes(**values))
    pair = SimpleNamespace(name="exam", changes=found)
    comparison = SimpleNamespace(
        pairs=[pair], only_a=["mme on my"], confidence=0.95, words=RUNS
    )
    judgement, lost = Gate("changed").judge(comparison)
    assert judgement.verdict is Verdict[case["verdict"]]
    assert case["says"] in judgement.says
    assert lost == (Verdict.UNKNOWN, "mme on my: only A has it")

"""What changed between two runs, worked out by hand."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS
from driftledger.commands.compare import changes_in_words
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_jsonl
from driftledger.ledger.changes import Changes, Floor, changes_between
from driftledger.ledger.gate import Gate, Verdict
from driftledger.ledger.lineage import CodeVersion, Folder, Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace, listing_md5
from driftledger.project.project import Project
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    COMBINATION,
    component,
    genception_score,
    question_score,
    record,
    row,
    trac_score,
    varied,
)

SCORES = {"genception": genception_score, "trac": trac_score}
KEYS = {"mme": "correct", "mm_vet": "total", "trac": "top1"}


def folder(root, out, name, rows):
    write_jsonl(root / out / "in" / name, rows)
    md5 = listing_md5(Workspace(root).listing(out))
    return Folder(path=f"{out}/in", out=out, md5=md5)


def run(root, name, case, as_of=None, score=None):
    """The run of a side of a case: rows by unit, and texts of a chain by sample."""
    kind = case["benchmark"]
    make = SCORES.get(kind, lambda: question_score(kind))
    score = varied(score or make(), records={"all": case.get("records", name)})
    if as_of:
        score = varied(score, model=component("seer", identity={"as_of": as_of}))
        card = score.components["model"]
        score.components["model"] = card.model_copy(
            update={"fingerprint": sha256_of(as_of)}
        )
    rows = []
    for unit, told in case.get(name, {}).items():
        extra = {key: each for key, each in told.items() if key != "worth"}
        if "read" in told:
            extra.setdefault("outcomes", ["ok"] * len(told["worth"]))
        if "taken" in told:
            extra["top1"] = extra.pop("taken")
        rows.append(row(unit, {KEYS.get(kind, "score"): told["worth"]}, **extra))
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


def changes_of(root, case, *, days=(None, None, None), score=None):
    a = run(root, "a", case, days[0], score)
    b = run(root, "b", case, days[1], score)
    versions = [a, b]
    if "again" in case:
        versions.append(run(root, "again", case, days[2]))
    sources = SimpleNamespace(
        contents=Contents(root, trust=False), versions=lambda combination: versions
    )
    [found] = changes_between(Project(root), sources, a, b)
    return {each.of: each for each in found}


@each_case(cases(__file__, "changes"))
def test_changes_by_hand(case, tmp_path):
    days = ("2026-11-26", "2026-12-03", "2026-11-26.2")
    found = changes_of(tmp_path, case, days=days)
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


@pytest.mark.parametrize(
    ("days", "is_floor"),
    [
        (("2026-11-26", "2026-12-03", "2026-11-26.2"), True),
        (("2026-11-26.2", "2026-12-03", "2026-11-26"), True),
        (("2026-11-26", "2026-12-03", "2026-11-27"), False),
        ((None, "2026-12-03", "2026-11-26"), False),
        (("2026-11-26", "2026-12-03", "2026-11-26"), False),
    ],
)
def test_only_a_second_asking_of_the_day_is_a_floor(days, is_floor, tmp_path):
    case = cases(__file__, "changes")[3]
    assert (
        changes_of(tmp_path, case, days=days)["answers"].floor is not None
    ) == is_floor


def test_texts_are_compared_by_the_text_encoder_of_the_score(tmp_path):
    case = {
        "benchmark": "genception",
        "a_texts": {"s1": ["red cup"], "s2": ["red cup"], "s3": ["dog"], "s4": [None]},
        "b_texts": {"s1": ["cup red"], "s2": ["two boats"], "s3": ["dog"], "s4": ["a"]},
    }
    reader = ComponentCard.of("tfidf", TfIdf())
    score = varied(genception_score(), text_encoder=reader)
    found = changes_of(tmp_path, case, score=score)["descriptions"]
    assert [(each.unit, each.similarity) for each in found.furthest] == [
        ("s2", 0.0),
        ("s4", None),
        ("s1", pytest.approx(1.0)),
    ]
    assert found.similarity == pytest.approx(0.5)


def test_records_of_the_same_bytes_need_not_be_here(tmp_path):
    found = changes_of(tmp_path, {"benchmark": "genception", "records": "same"})[
        "descriptions"
    ]
    assert (found.samples, found.changed, found.note) == (
        genception_score().total,
        0,
        "",
    )


@each_case(cases(__file__, "changed"))
def test_a_gate_by_hand(case):
    found = []
    if "changes" in case:
        values = {"of": "answers", **case["changes"]}
        if "floor" in values:
            values["floor"] = Floor(*values["floor"])
        found.append(Changes(**values))
    pair = SimpleNamespace(name="exam")
    comparison = SimpleNamespace(pairs=[pair], confidence=0.95)
    [judgement] = Gate("changed").judge(comparison, [found])
    assert judgement.verdict is Verdict[case["verdict"]]
    assert case["says"] in judgement.says


def test_changes_in_a_line():
    changes = Changes(
        "answers",
        samples=240,
        changed=73,
        share=73 / 240,
        low=0.25,
        high=0.36,
        transitions={"right → wrong": 41, "wrong → right": 32},
        p_value=0.35,
        floor=Floor(240, 7, 0.001),
    )
    assert changes_in_words(changes) == (
        "240 answers: 73 changed (30 %, 25 to 36): 41 right → wrong, 32 wrong → right; "
        "McNemar p = 0.35; noise floor 7 of 240"
    )

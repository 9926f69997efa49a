"""TRAC's scores of descriptions whose nearest neighbours can be seen by reading them."""

import pytest

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.trac.protocol import TracProtocol
from driftledger.benchmarks.trac.spec import Trac, TracSettings
from driftledger.core.errors import CoverageError, StoreError
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.by_hand import assert_holds, assert_score
from tests.support.cases import each_case, lines
from tests.support.fakes import ColourModel, LetterEncoder
from tests.support.labelled import Item, write_labelled
from tests.support.ledgers import record, trac_score
from tests.support.records import without, write_stage

CASES = lines("benchmarks/trac.jsonl")
KEYS = {
    "dataset": "birds",
    "model": "colour",
    "description": "features",
    "text_encoder": "tfidf",
}
PLAIN = CASES[0]
"""The case whose support and test set the others have where they say nothing else."""


def samples_of(case):
    """Return all samples of a case; a name that ends in ``*3`` stands for three samples."""
    support = case.get("support", PLAIN["support"])
    test = case.get("test", PLAIN["test"]) | case.get("also", {})
    found = []
    for key, (label, text, *outcome) in (support | test).items():
        split = "support" if key in support else "test"
        ended = outcome[0] if outcome else "ok" if text else "refused"
        name, _, times = key.partition("*")
        names = [f"{name}{n}" for n in range(int(times))] if times else [name]
        found += [(each, label, split, text, ended) for each in names]
    return found


def write_case(folder, case):
    items = []
    records = []
    twins = case.get("twins", {})
    colours = {}
    for name, label, split, text, outcome in samples_of(case):
        number = colours.setdefault(twins.get(name, name), len(colours))
        items.append(Item(name, label, split, (number, 0, 0)))
        for length, shots, instead in case.get("conditions", [[None, 0, None]]):
            said = record(
                name,
                outcome,
                instead or text,
                step=1 + (length or 0) + shots,
                split=split,
                served_model="m-1",
                max_tokens=length,
                shots=shots,
            )
            records.append(said)
    write_labelled(folder / "birds", items, **case.get("card", {}))
    if case.get("is_reversed"):
        records.reverse()
    asked = {
        "prompt": "?",
        "max_tokens": [None],
        "choose": None,
        "shots": [],
        "seed": 1,
    }
    asked |= case.get("protocol", {})
    protocol = TracProtocol.model_validate(asked).model_dump(mode="json")
    model = {"model": ("colour", ColourModel())}
    write_stage(folder / "said", Trac(), KEYS, records, model, protocol)


def scored(folder, case):
    given = Scoring(
        spec=Trac(),
        keys=KEYS,
        folders={"dataset": folder / "birds", "describe": folder / "said"},
        section=TracSettings.model_construct(
            confidence=0.9,
            sampled_classes=tuple(case.get("sampled", ())),
            min_coverage=case.get("min_coverage", 0.5),
            unread=case.get("unread", "worst"),
        ),
        seed=1,
        encoders={"text_encoder": LetterEncoder() if case.get("letters") else TfIdf()},
    )
    return Trac().score(given)


@each_case(CASES)
def test_a_score_by_hand(tmp_path, case):
    write_case(tmp_path, case)
    if "error" in case:
        with pytest.raises(CoverageError, match=case["error"]):
            scored(tmp_path, case)
        return
    score, rows = scored(tmp_path, case)
    assert_score(case, score, rows)
    if "conditions" in case:
        groups = [each.group for each in score.numbers if each.metric == "shots"]
        assert groups == case["groups"]
        assert_holds(Trac().facts(score), case["facts"])
        of_groups = Trac().lines[1:]
        for line, expected in zip(of_groups, case["lines"], strict=True):
            points = line.points(score).items()
            assert_holds({f"{at}": number.value for at, number in points}, expected)
    if "votes" in case:
        assert [number.t for number in score.over_t("vote")] == case["votes"]


def test_a_sample_without_a_record_is_named(tmp_path):
    write_case(tmp_path, PLAIN)
    without(tmp_path / "said", "a")
    with pytest.raises(
        StoreError,
        match=r"records\.jsonl lacks the record of a, step 1, repeat 0; run 'dvc repro'",
    ):
        scored(tmp_path, PLAIN)


def test_a_row_of_conditions_has_the_lowest_coverage_of_them():
    counts = {"l32, 0-shot/scored": 1, "l32, 0-shot/total": 1}
    counts |= {"l64, 0-shot/scored": 1, "l64, 0-shot/total": 2}
    numbers = {f"condition/{name}": count for name, count in counts.items()}
    score = trac_score("short", numbers=numbers)
    [table] = [each for each in Trac().tables([score]) if each.name == "conditions"]
    assert [row[-1].value for row in table.rows] == [0.5]


def test_a_table_with_examples_says_how_they_were_chosen():
    [table] = [
        each
        for each in Trac().tables([trac_score("shown")])
        if each.name == "conditions"
    ]
    assert (
        "by examples (SIIR through eye, described by narrator), as in Table 3"
        in table.title
    )

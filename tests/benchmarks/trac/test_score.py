"""TRAC's scores of descriptions whose nearest neighbours can be seen by reading them."""

import pytest

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.base.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.trac.protocol import TracProtocol
from driftledger.benchmarks.trac.spec import Trac, TracSettings
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError, StoreError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.types import Split
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.by_hand import assert_score
from tests.support.cases import each_case, lines
from tests.support.fakes import ColourModel, LetterEncoder
from tests.support.labelled import Item, write_labelled
from tests.support.ledgers import record, trac_score
from tests.support.records import without

CASES = lines("benchmarks/trac.jsonl")
PLAIN = CASES[0]
"""The case whose support and test set the others have where they say nothing else."""
Said = tuple[str, str, Split, str | None, str]
"""A sample, its label, its split, its description, and how the call ended."""


def samples_of(case):
    """Return all samples of a case; a name that ends in ``*3`` stands for three samples."""
    support = case.get("support", PLAIN["support"])
    found: list[Said] = []
    for key, given in (
        support | case.get("test", PLAIN["test"]) | case.get("also", {})
    ).items():
        label, text, *outcome = given
        ended = outcome[0] if outcome else "ok" if text else "refused"
        name, _, times = key.partition("*")
        for number in range(int(times or 1)):
            sample = f"{name}{number}" if times else name
            found.append(
                (sample, label, "support" if key in support else "test", text, ended)
            )
    return found


def write_case(folder, case):
    items = []
    records = []
    twins = case.get("twins", {})
    colours: dict[str, int] = {}
    for name, label, split, text, outcome in samples_of(case):
        number = colours.setdefault(twins.get(name, name), len(colours))
        items.append(Item(name, label, split, (number, 0, 0)))
        records.append(record(name, outcome, text, split=split, served_model="m-1"))
    write_labelled(folder / "birds", items, **case.get("card", {}))
    write_descriptions(folder / "said", records)


def write_descriptions(folder, records, **changes):
    folder.mkdir(exist_ok=True)
    write_jsonl(folder / RECORDS, records)
    asked = {
        "prompt": "?",
        "max_tokens": [None],
        "choose": None,
        "shots": [],
        "seed": 1,
    } | changes
    keys = {"dataset": "birds", "model": "colour", "description": "features"}
    about = {
        "benchmark": "trac",
        "stage": "describe",
        "keys": keys,
        "data_digest": "dd",
    }
    about |= {"components": {"model": ComponentCard.of("colour", ColourModel())}}
    protocol = TracProtocol.model_validate(asked).model_dump(mode="json")
    write_json(
        folder / CARD, CollectedCard.model_validate(about | {"protocol": protocol})
    )


def scored(folder, case):
    given = Scoring(
        spec=Trac(),
        keys={
            "dataset": "birds",
            "model": "colour",
            "description": "features",
            "text_encoder": "tfidf",
        },
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
    else:
        assert_score(case, *scored(tmp_path, case))


def test_a_sample_without_a_record_is_named(tmp_path):
    write_case(tmp_path, PLAIN)
    without(tmp_path / "said", "a")
    with pytest.raises(
        StoreError,
        match=r"records\.jsonl lacks the record of a, step 1, repeat 0; run 'dvc repro'",
    ):
        scored(tmp_path, PLAIN)


def test_conditions_and_the_headline(tmp_path):
    write_case(tmp_path, PLAIN)
    records = [
        record(
            name,
            text=text if (length, shots) == (30, 2) else "always the same",
            step=1 + length + shots,
            split=split,
            max_tokens=length,
            shots=shots,
        )
        for length in (30, 70)
        for shots in (0, 1, 2)
        for name, _, split, text, _ in samples_of(PLAIN)
    ]
    write_descriptions(
        tmp_path / "said", records, max_tokens=[30, 70], choose="random", shots=[1, 2]
    )
    found, _ = scored(tmp_path, PLAIN)
    names = [f"l{n}, {k}-shot" for n in (30, 70) for k in (0, 1, 2)]
    groups = [each.group for each in found.numbers if each.metric == "shots"]
    assert groups == names

    def values(metric):
        under = [found.find(metric, None, "condition", name) for name in names]
        return [number.value for number in under]

    assert values("max_tokens") == [30, 30, 30, 70, 70, 70]
    assert values("shots") == [0, 1, 2] * 2
    assert values("scored") == values("total") == [4] * 6
    third = pytest.approx(100 / 3)  # all say the same, and each class has two of six
    assert values("top1") == [third, third, 75.0, third, third, third]
    assert found.find("top1").value == 75.0
    assert Trac().facts(found)["examples"] == {"choose": "random", "shots": 2}
    assert Trac().facts(found)["length"] == 30
    [_, by_length, by_examples] = [
        {step: number.value for step, number in each.points(found).items()}
        for each in Trac().lines
    ]
    assert by_length == {30: third, 70: third}
    assert by_examples == {0: third, 1: third, 2: 75.0}


def test_the_largest_class_decides_how_many_vote_and_hashes_who_of_equals_is_first(
    tmp_path,
):
    """Four robins beside one wren: without the vote of four there is none in which all robins are
    heard.

    Of two equal support descriptions, the one whose id has the smaller hash counts, not the one
    whose name comes first.
    """
    first = min(("r1", "r2", "r3", "r4", "w1"), key=sha256_of)
    label = {
        "r1": "robin",
        "r2": "robin",
        "r3": "robin",
        "r4": "robin",
        "w1": "wren",
        "a": "robin",
    }
    items = [
        Item(name, of, "test" if name == "a" else "support", (1, 2, 3))
        for name, of in label.items()
    ]
    write_labelled(tmp_path / "birds", items)
    records = [record(each.id, text="a bird", split=each.split) for each in items]
    for order in (records, records[::-1]):
        write_descriptions(tmp_path / "said", order)
        found, [row] = scored(tmp_path, {"letters": True})
        assert [number.t for number in found.over_t("vote")] == [1, 2, 3, 4]
        assert row.extra["nearest"] == first


def test_a_row_of_conditions_has_the_lowest_coverage_of_them():
    conditions = {"l32, 0-shot": {"scored": 1, "total": 1}}
    conditions["l64, 0-shot"] = {"scored": 1, "total": 2}
    score = trac_score("short", groups={"condition": conditions})
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

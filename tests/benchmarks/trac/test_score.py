"""TRAC's scores of descriptions whose nearest neighbours can be seen by reading them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.benchmarks.trac.collect import TracProtocol
from driftledger.benchmarks.trac.score import retrieve
from driftledger.benchmarks.trac.spec import Trac, TracSettings
from driftledger.components.base import ComponentCard, Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError, StoreError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.types import Outcome
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.fakes import ColourModel, LetterEncoder
from tests.support.labelled import Item, write_labelled
from tests.support.ledgers import record, trac_score
from tests.support.records import without

SUPPORT = {
    "r1": ("robin", "a red breast and a brown back"),
    "r2": ("robin", "a red breast"),
    "w1": ("wren", "a short tail, held upright"),
    "w2": ("wren", "a tiny bird with a short tail"),
    "c1": ("crow", "black all over"),
    "c2": ("crow", "black feathers"),
}
TEST = {
    "a": ("robin", "its breast is red"),
    "b": ("wren", "an upright short tail"),
    "c": ("crow", "it is black, a crow perhaps"),
    "d": ("crow", "a red breast, says the wren"),  # wrong, and names another class
}


def write_case(
    folder: Path,
    test: Mapping[str, tuple[str, str | None]] = TEST,
    lost: Sequence[str] = (),
    more: Mapping[str, tuple[Outcome, str | None]] | None = None,
    **card: object,
) -> None:
    items, records = [], []
    rows = [(name, "support", *row) for name, row in SUPPORT.items()]
    rows += [(name, "test", *row) for name, row in test.items()]  # type: ignore[misc]
    for number, (name, split, label, text) in enumerate(rows):
        items.append(Item(name, label, split, (number, 0, 0)))  # type: ignore[arg-type]
        outcome = Outcome.REFUSED if text is None or name in lost else Outcome.OK
        outcome, said = (more or {}).get(name, (outcome, text if outcome is Outcome.OK else None))
        records.append(record(name, outcome, said, split=split, served_model="m-1"))
    write_labelled(folder / "birds", items, **card)
    write_descriptions(folder / "said", records)


def write_descriptions(folder: Path, records: Sequence[CollectedRecord], **changes: object) -> None:
    folder.mkdir(exist_ok=True)
    write_jsonl(folder / RECORDS, records)
    asked = {"prompt": "?", "max_tokens": [None], "choose": None, "shots": [], "seed": 1} | changes
    keys = {"dataset": "birds", "model": "colour", "description": "features"}
    about = {"benchmark": "trac", "stage": "describe", "keys": keys, "data_digest": "dd"}
    about |= {"components": {"model": ComponentCard.of("colour", ColourModel())}}
    protocol = TracProtocol.model_validate(asked).model_dump(mode="json")
    write_json(folder / CARD, CollectedCard.model_validate(about | {"protocol": protocol}))


def scored(
    folder: Path,
    min_coverage: float = 0.5,
    encoder: Encoder | None = None,
    sampled: tuple[str, ...] = (),
    unread: str = "worst",
) -> tuple[Score, dict[str, Row]]:
    given = ToScore(
        keys={
            "dataset": "birds",
            "model": "colour",
            "description": "features",
            "text_encoder": "tfidf",
        },
        folders={"dataset": folder / "birds", "describe": folder / "said"},
        section=TracSettings.model_construct(
            confidence=0.9, sampled_classes=sampled, min_coverage=min_coverage, unread=unread
        ),
        seed=1,
        encoders={"text_encoder": encoder or TfIdf()},
    )
    found, rows = Trac().score(given)
    return found, {row.unit: row for row in rows}


def test_accuracies_are_of_what_the_nearest_descriptions_say(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, rows = scored(tmp_path)
    assert {name: row.extra["top1"] for name, row in rows.items()} == {
        "a": "robin",
        "b": "wren",
        "c": "crow",
        "d": "robin",
    }
    assert (found.metrics["top1"], found.metrics["class_mean"]) == (75.0, 75.0)
    assert found.metrics["top1_low"] <= 75.0 <= found.metrics["top1_high"]
    assert [point.step for point in found.curves["vote"]] == [1, 2]  # two support samples per class
    assert found.curves["vote"][0].value == 75.0
    assert found.metrics["chance"] == pytest.approx(100 / 3)
    assert (found.scored, found.total, found.coverage) == (4, 4, 1.0)
    assert {label: row["top1"] for label, row in found.groups["class"].items()} == {
        "robin": 100,
        "wren": 100,
        "crow": 50,
    }
    assert found.groups["class"]["crow"]["test"] == 2
    assert [*Trac().notes([found])] == []  # there is but one condition


def test_of_sampled_classes_the_interval_is_over_classes(tmp_path: Path) -> None:
    """Two of four right in crow, one of one in robin and wren: deviations from 3/4 are −1/2, 1/4
    and 1/4."""
    write_case(tmp_path)
    fixed, _ = scored(tmp_path, sampled=("fish",))
    found, rows = scored(tmp_path, sampled=("birds",))
    assert {name: row.cluster for name, row in rows.items()} == {
        "a": "robin",
        "b": "wren",
        "c": "crow",
        "d": "crow",
    }
    variance = (1 / 4 / (1 - 1 / 2) + 2 * (1 / 16) / (1 - 1 / 4)) / 4**2
    shares, pairs = [1 / 2, 1 / 4, 1 / 4], [1 / 2, 1 / 12, 1 / 12]
    df = 1 / (sum(share**2 for share in shares) + sum(pairs) ** 2 - sum(pair**2 for pair in pairs))
    low, high = (100 * end for end in wilson(0.75, 0.75 * 0.25 / variance, stats.t.ppf(0.95, df)))
    assert (found.metrics["top1_low"], found.metrics["top1_high"]) == pytest.approx((low, high))
    assert found.metrics["top1"] == fixed.metrics["top1"] == 75.0
    assert fixed.metrics["top1_low"] == pytest.approx(
        100 * wilson(0.75, 4, stats.norm.ppf(0.95))[0]
    )


def wilson(share: float, n: float, quantile: float) -> tuple[float, float]:
    middle, part = share + quantile**2 / 2 / n, 1 + quantile**2 / n
    half = quantile * np.sqrt(share * (1 - share) / n + quantile**2 / 4 / n**2)
    return (middle - half) / part, (middle + half) / part


def test_over_a_single_sampled_class_there_is_no_interval(tmp_path: Path) -> None:
    write_case(tmp_path, {name: TEST[name] for name in "a"})
    found, _ = scored(tmp_path, sampled=("birds",))
    assert found.absent["top1 interval"] == "a single class shows no spread"
    assert "top1_low" not in found.metrics


@pytest.mark.parametrize(
    ("outcome", "text", "unread", "counted", "top1"),
    [
        (Outcome.EMPTY, None, "worst", 5, 60.0),
        (Outcome.REFUSED, None, "worst", 5, 60.0),
        (Outcome.FILTERED, None, "worst", 5, 60.0),
        (Outcome.TRUNCATED, None, "worst", 5, 60.0),  # cut inside its thoughts
        (Outcome.FAILED, None, "worst", 4, 75.0),
        (Outcome.TRUNCATED, "a short tail, held", "worst", 5, 80.0),
        (Outcome.EMPTY, None, "left_out", 4, 75.0),
        (Outcome.REFUSED, None, "left_out", 4, 75.0),
        (Outcome.FILTERED, None, "left_out", 4, 75.0),
        (Outcome.TRUNCATED, None, "left_out", 4, 75.0),
        (Outcome.FAILED, None, "left_out", 4, 75.0),
        (Outcome.EMPTY, None, None, 4, 75.0),  # a score made before there was the setting
    ],
)
def test_a_test_sample_that_the_model_did_not_describe_is_a_miss(
    tmp_path: Path, outcome: Outcome, text: str | None, unread: str, counted: int, top1: float
) -> None:
    """Of a to d three are right; e is of wren."""
    write_case(tmp_path, TEST | {"e": ("wren", None)}, more={"e": (outcome, text)})
    found, rows = scored(tmp_path, unread=unread)
    here = 4 + (text is not None)
    assert (found.scored, found.counted, found.total, found.coverage) == (
        here,
        counted,
        5,
        here / 5,
    )
    assert (found.metrics["top1"], found.metrics["class_mean"]) == (top1, top1)
    assert found.curves["vote"][0].value == top1
    assert found.outcomes == {"ok": 4, str(outcome): 1}
    assert rows["e"].outcome is outcome
    if text is None:
        missed = (
            {"nearest": None, "tied": 0, "top1": None, "class_mean": None} if counted == 5 else {}
        )
        assert rows["e"].extra == {"label": "wren", "scored": False} | missed
        assert rows["e"].values == ({"top1": [0.0], "class_mean": [0.0]} if counted == 5 else {})
        assert ("1 test samples have no description and count as misses" in found.flags) == (
            counted == 5
        )


def test_the_denominator_is_the_test_set(tmp_path: Path) -> None:
    """Equation 2, with three classes of 20 test images each.

    In letters, "aad" is nearest to the owl's "ad" by 3/√10, to "a" by 2/√5 and to the owl's sum
    "bbad" by 3/√30. So 14 robins are right by class mean alone; of the crow's 20, 5 have no
    description: 41 and 55 of 60 are right.
    """
    support = {"robin": ["a", "a", "a"], "owl": ["b", "b", "ad"], "crow": ["c", "c", "c"]}
    tests = {"robin": ["a"] * 6 + ["aad"] * 14, "owl": ["b"] * 20, "crow": ["c"] * 15 + [""] * 5}
    items, records = [], []
    for split, texts_of in (("support", support), ("test", tests)):
        for label, texts in texts_of.items():
            for number, text in enumerate(texts):
                name = f"{split}_{label}_{number}"
                items.append(Item(name, label, split, (len(items), 0, 0)))  # type: ignore[arg-type]
                records.append(record(name, "ok" if text else "empty", text or None, split=split))
    write_labelled(tmp_path / "birds", items)
    write_descriptions(tmp_path / "said", records)
    found, _ = scored(tmp_path, encoder=LetterEncoder())
    assert (found.metrics["class_mean"], found.metrics["top1"]) == pytest.approx(
        (100 * 55 / 60, 100 * 41 / 60)
    )
    assert (found.scored, found.counted, found.total) == (55, 60, 60)
    assert found.groups["class"]["crow"] == {
        "test": 20,
        "support": 3,
        "top1": 75.0,
        "class_mean": 75.0,
    }
    before, _ = scored(tmp_path, encoder=LetterEncoder(), unread="left_out")
    assert (before.metrics["class_mean"], before.metrics["top1"]) == pytest.approx(
        (100.0, 100 * 41 / 55)
    )
    assert (before.scored, before.counted, before.total) == (55, 55, 60)


def test_support_without_a_description_is_not_retrieved(tmp_path: Path) -> None:
    write_case(tmp_path, lost=["r2"])
    found, _ = scored(tmp_path)
    assert (found.scored, found.counted, found.groups["class"]["robin"]["support"]) == (4, 4, 1)
    assert "1 support samples have no description and cannot be retrieved" in found.flags


def test_too_little_coverage_takes_the_rank(tmp_path: Path) -> None:
    write_case(tmp_path, TEST | {"e": ("wren", None)})
    found, _ = scored(tmp_path, 0.9)
    assert [
        flag
        for flag in found.flags
        if flag.startswith("only 4 of 5 test samples of birds can be scored (e: ref")
    ]


@pytest.mark.parametrize(
    ("outcome", "unread", "counted", "what"),
    [
        (Outcome.REFUSED, "worst", 4, "count as misses"),
        (Outcome.FAILED, "worst", 3, "are not scored"),
        (Outcome.REFUSED, "left_out", 3, "are not scored"),
        (Outcome.FAILED, "left_out", 3, "are not scored"),
    ],
)
def test_a_class_that_lost_its_support(
    tmp_path: Path, outcome: Outcome, unread: str, counted: int, what: str
) -> None:
    """a and c are right, d is not, and b is of wren."""
    write_case(tmp_path, more={"w1": (Outcome.EMPTY, None), "w2": (outcome, None)})
    found, rows = scored(tmp_path, unread=unread)
    assert rows["b"].values == ({"top1": [0.0], "class_mean": [0.0]} if counted == 4 else {})
    assert rows["b"].extra["scored"] is False
    assert (found.scored, found.counted, found.total) == (3, counted, 4)
    assert found.metrics["top1"] == 100 * 2 / counted
    assert found.groups["class"].get("wren", {"support": 0})["support"] == 0
    assert f"no support description is left of wren; their test samples {what}" in found.flags


def test_without_any_support_there_is_no_score(tmp_path: Path) -> None:
    write_case(tmp_path, lost=list(SUPPORT))
    with pytest.raises(CoverageError, match="no description of the support set is left"):
        scored(tmp_path)


def test_ties_are_expectations(tmp_path: Path) -> None:
    """In letters, "ab" is as near to the robin's "a" as to the wren's and the owl's "b", and "b" to
    these two."""
    support = {"r1": ("robin", "a"), "w1": ("wren", "b"), "o1": ("owl", "b")}
    tests = {"t1": ("robin", "ab"), "t2": ("wren", "b"), "t3": ("robin", "a")}
    items, records = [], []
    for split, rows_of in (("support", support), ("test", tests)):
        for name, (label, text) in rows_of.items():
            items.append(Item(name, label, split, (len(items), 0, 0)))  # type: ignore[arg-type]
            records.append(record(name, text=text, split=split))
    write_labelled(tmp_path / "birds", items)
    write_descriptions(tmp_path / "said", records)
    found, rows = scored(tmp_path, encoder=LetterEncoder())
    worth = {name: row.values for name, row in rows.items()}
    for name, share in {"t1": 1 / 3, "t2": 1 / 2, "t3": 1.0}.items():
        assert worth[name] == {
            "top1": [pytest.approx(100 * share)],
            "class_mean": [pytest.approx(100 * share)],
        }
    assert {name: row.extra["tied"] for name, row in rows.items()} == {"t1": 3, "t2": 2, "t3": 1}
    assert found.metrics["top1"] == pytest.approx(100 * (1 / 3 + 1 / 2 + 1) / 3)
    assert found.metrics["ties"] == pytest.approx(200 / 3)
    assert (
        "66.7 % of the test samples are equally near to several classes: top1 is an expectation"
        in found.flags
    )
    assert found.groups["class"]["wren"]["top1"] == 50.0
    alike, _ = scored(tmp_path, encoder=LetterEncoder(), sampled=("birds",))
    assert alike.metrics["top1"] == found.metrics["top1"]
    assert alike.metrics["top1_low"] < alike.metrics["top1"] < alike.metrics["top1_high"]


def test_a_description_of_unknown_words_is_wrong_whatever_is_nearest(tmp_path: Path) -> None:
    write_case(tmp_path, TEST | {"e": ("robin", "unheard-of words")})
    found, rows = scored(tmp_path)
    assert [rows["e"].extra[name] for name in ("nearest", "top1", "class_mean")] == [
        None,
        None,
        None,
    ]
    assert rows["e"].values == {"top1": [0.0], "class_mean": [0.0]}
    assert found.metrics["top1"] == 60.0
    assert any(flag.startswith("the text encoder knows no word of 1 ") for flag in found.flags)


def test_images_in_both_sets_are_flagged_and_left_out_of_a_figure_of_their_own(
    tmp_path: Path,
) -> None:
    write_case(tmp_path, leaks={"a": "r1"})
    found, _ = scored(tmp_path)
    assert found.metrics["top1_without_leaks"] == pytest.approx(200 / 3)
    assert any(
        flag.startswith("1 test images are in the support set too (a)") for flag in found.flags
    )


def test_identical_descriptions_give_what_chance_gives(tmp_path: Path) -> None:
    items = [Item(f"s{n:03}", f"class {n % 4}", "support", (n, 0, 0)) for n in range(40)]
    items += [Item(f"t{n:03}", f"class {n % 4}", "test", (n, 1, 0)) for n in range(40)]
    write_labelled(tmp_path / "birds", items)
    records = [record(each.id, text="This is a photograph.", split=each.split) for each in items]
    write_descriptions(tmp_path / "said", records)
    found, rows = scored(tmp_path)
    assert found.metrics["top1"] == found.metrics["chance"] == 25.0
    assert len({row.extra["nearest"] for row in rows.values()}) == 1


def test_a_sample_without_a_record_is_named(tmp_path: Path) -> None:
    write_case(tmp_path)
    without(tmp_path / "said", "a")
    with pytest.raises(
        StoreError, match=r"records\.jsonl lacks the record of a, step 1, repeat 0; run 'dvc repro'"
    ):
        scored(tmp_path)


def test_conditions_and_the_headline(tmp_path: Path) -> None:
    write_case(tmp_path)
    items = [(name, "support", text) for name, (_, text) in SUPPORT.items()]
    items += [(name, "test", text) for name, (_, text) in TEST.items()]
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
        for name, split, text in items
    ]
    write_descriptions(
        tmp_path / "said", records, max_tokens=[30, 70], choose="random", shots=[1, 2]
    )
    found, _ = scored(tmp_path)
    conditions = found.groups["condition"]
    assert list(conditions) == [f"l{n}, {k}-shot" for n in (30, 70) for k in (0, 1, 2)]
    assert [(c["max_tokens"], c["shots"]) for c in conditions.values()] == [
        (n, k) for n in (30, 70) for k in (0, 1, 2)
    ]
    headline = conditions[found.details["headline"]]
    assert found.details["headline"] == "l30, 2-shot"
    assert found.metrics.items() <= headline.items()
    assert Trac().facts(found)["examples"] == {"choose": "random", "shots": 2}
    assert (headline["scored"], headline["total"]) == (4, 4)
    assert found.metrics["top1"] == 75.0
    fewer = [each["top1"] for each in conditions.values() if each["shots"] < 2]
    assert fewer == [pytest.approx(100 / 3)] * 4, "all say the same, and each class has two of six"
    sweeps = {
        name: [(p.step, p.value) for p in found.curves[name]]
        for name in found.curves
        if name != "vote"
    }
    assert sweeps == {
        "by_length/top1": [(n, conditions[f"l{n}, 0-shot"]["top1"]) for n in (30, 70)],
        "by_shots/top1": [(k, conditions[f"l30, {k}-shot"]["top1"]) for k in (0, 1, 2)],
    }


def test_descriptions_longer_than_the_encoder_reads_are_flagged(tmp_path: Path) -> None:
    write_case(tmp_path)
    found, _ = scored(tmp_path, encoder=LetterEncoder())
    assert "the text encoder read only the beginning of 9 of 10 descriptions" in found.flags


def test_the_largest_class_decides_how_many_vote_and_hashes_who_of_equals_is_first(
    tmp_path: Path,
) -> None:
    """Four robins beside one wren: without the vote of four there is none in which all robins are
    heard.

    Of two equal support descriptions, the one whose id has the smaller hash counts, not the one
    whose name comes first.
    """
    first, last = sorted(("r1", "r2", "r3", "r4", "w1"), key=sha256_of)[::4]
    label = {"r1": "robin", "r2": "robin", "r3": "robin", "r4": "robin", "w1": "wren", "a": "robin"}
    items = [
        Item(name, of, "test" if name == "a" else "support", (1, 2, 3))
        for name, of in label.items()
    ]
    write_labelled(tmp_path / "birds", items)
    records = [record(each.id, text="a bird", split=each.split) for each in items]
    for order in (records, records[::-1]):
        found = retrieve(order, label, LetterEncoder())
        assert found.votes.shape == (1, 4)
        assert (found.support[0], found.support[-1], found.nearest) == (first, last, [first])


def test_a_row_of_conditions_has_the_lowest_coverage_of_them() -> None:
    score = trac_score("short")
    conditions = {
        name: row | {"total": 1 + place}
        for place, (name, row) in enumerate(score.groups["condition"].items())
    }
    score = score.model_copy(update={"groups": score.groups | {"condition": conditions}})
    [table] = [each for each in Trac().tables([score]) if each.name == "conditions"]
    assert [row[-1].value for row in table.rows] == [0.5]


def test_a_table_with_examples_says_how_they_were_chosen() -> None:
    [table] = [each for each in Trac().tables([trac_score("shown")]) if each.name == "conditions"]
    assert "by examples (SIIR through eye, described by narrator), as in Table 3" in table.title

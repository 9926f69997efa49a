"""The hand-worked cases that driftledger's own metrics are held to, and what the checker may import."""

import hashlib
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from driftledger.metrics import drift_rate
from driftledger.metrics import intervals as of_driftledger
from driftledger_check.compute import mm_sap, mm_vet, mme, neighbours
from driftledger_check.compute.cycles import rate_ends, rate_of
from driftledger_check.compute.encoders import Picture, _layout, _tfidf
from driftledger_check.compute.frechet import frechet_distance
from driftledger_check.compute.genception import sentences
from driftledger_check.compute.intervals import Intervals, t_quantile
from driftledger_check.compute.means import correlations, cosines, gc_at, mean
from driftledger_check.compute.naming import Names
from driftledger_check.compute.ssim import ssim


def cases(name: str) -> Any:
    lines = (Path(__file__).parents[2] / f"metrics/cases/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", cases("drift"), ids=lambda case: case["name"])
def test_gc_at(case: Any) -> None:
    values = [np.nan if value is None else value for value in case["similarities"]]
    for t, expected in enumerate(case["gc"], 1):
        assert gc_at(values, t) == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


@pytest.mark.parametrize("case", cases("drift_rate"), ids=lambda case: case["name"])
def test_drift_rate(case: Any) -> None:
    rate, step = rate_of(case["means"]), case["step"]
    assert rate is not None
    assert rate / step == pytest.approx(case["expected"]["rate"], abs=1e-5)


@pytest.mark.parametrize("means", [[0.5, 0.6, 0.7], [0.9, 0.8, 0.7], [0.9, 0.85, 0.5], [0.9, 0.5, 0.5]])
def test_what_tells_no_drift_rate(means: list[float]) -> None:
    assert rate_of(means) is None


@pytest.mark.parametrize("n", [4, 5, 6, 7])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_equal_values_have_an_interval_where_driftledgers_do(n: int, confidence: float) -> None:
    found = Intervals.of({"confidence": confidence}).of_mean("m", [0.5] * n, ["all"] * n)
    ends = of_driftledger.mean_interval(np.full(n, 0.5), ["all"] * n, confidence).interval
    assert found == ({} if ends is None else {"m_low": ends.low, "m_high": ends.high})


def test_the_interval_of_a_drift_rate_is_driftledgers() -> None:
    dice, generations = np.random.default_rng(5), [2 * t for t in range(1, 7)]
    intervals = Intervals.of({"confidence": 0.9})
    for n in (2, 9, 30):
        chains = 0.5 * np.exp(-0.1 * np.array(generations)) + dice.normal(0.3, 0.01, (n, 6))
        curve = [mean(column) for column in chains.T.tolist()]
        ends = rate_ends(float(f"{(rate_of(curve) or 0) / 2:.6g}"), chains.tolist(), intervals)
        expected = drift_rate.rate_interval(chains, 2, 0.9)
        assert expected is not None
        assert [*ends.values()] == pytest.approx(expected, rel=2e-6)
    falling, rising = [7.0, 5.0, 4.2], [0.5, 0.6, 0.7]
    assert rate_ends(0.1, [falling], intervals) == {}
    assert rate_ends(0.1, [falling, rising], intervals) == {}


@pytest.mark.parametrize("case", cases("structural"), ids=lambda case: case["name"])
def test_ssim(case: Any) -> None:
    a, b = (np.full((16, 16), case[name], np.uint8) for name in "ab")
    assert ssim(a, b) == case["expected"]


def test_ssim_of_structure_is_that_of_scikit_image() -> None:
    from driftledger.metrics.structural import structural_similarity

    dice = np.random.default_rng(1)
    for shape in ((11, 11), (40, 23), (64, 64)):
        a, b = (dice.integers(0, 256, shape).astype(np.uint8) for _ in range(2))
        assert ssim(a, b) == structural_similarity(a, b)
        assert ssim(a, a) == 1.0


@pytest.mark.parametrize("case", cases("agreement"), ids=lambda case: case["name"])
def test_correlations(case: Any) -> None:
    found = correlations(case["human"], case["automatic"])
    kinds = ("spearman", "kendall", "pearson")
    assert (found and {name: found[name] for name in kinds}) == (
        None if case.get("spearman") is None else {name: case[name] for name in kinds}
    )


@pytest.mark.parametrize("case", cases("retrieval"), ids=lambda case: case["name"])
def test_retrieval(case: Any) -> None:
    known, query = np.array(case["support"], np.float32), np.array([case["query"]], np.float32)
    labels = list(dict.fromkeys(case["labels"]))
    classes = np.array([labels.index(each) for each in case["labels"]])
    ranked = neighbours.nearest(query, known, len(known))
    assert ranked[0].tolist() == case["nearest"]
    rounded = neighbours.rounded_cosines(query, known)[0, ranked[0]] / neighbours.STEPS
    assert rounded.tolist() == case["similarities"]
    assert [labels[at] for at in neighbours.votes(classes[ranked], len(labels))[0]] == case["votes"]
    sums = np.array([neighbours.column_sums(known[classes == number]) for number in range(len(labels))])
    assert labels[neighbours.rounded_cosines(query, sums)[0].argmax()] == case["class_mean"]


def test_ties_and_roundings_are_those_of_driftledger() -> None:
    from driftledger.metrics.neighbours import nearest

    dice = np.random.default_rng(5)
    for columns in (2, 3, 40):
        known, asked = (dice.integers(-3, 4, (n, columns)).astype(np.float32) / 7 for n in (60, 20))
        theirs = nearest(known, asked, 60)
        assert (neighbours.nearest(asked, known, 60) == theirs.indices).all()
        rounded = neighbours.rounded_cosines(asked, known)
        assert (np.take_along_axis(rounded, theirs.indices, axis=1) / neighbours.STEPS == theirs.similarities).all()


@pytest.mark.parametrize("case", cases("naming"))
def test_what_a_description_names(case: Any) -> None:
    if "others" in case:
        names = Names({case["label"]: case["others"]})
        assert all(names.named(f"This is a {name}.", case["label"])[0] for name in case["expected"])
        assert not names.named("Nothing of the kind.", case["label"])[0]
    elif "some" in case:
        assert Names({"1": case["some"]}).named(case["said"], "1")[0] is case["expected"]
    else:
        numbers = {label: str(number) for number, label in enumerate(case["names"])}
        names = Names({numbers[label]: some for label, some in case["names"].items()})
        assert names.named(case["said"], numbers[case["label"]]) == (case["own"], case["other"])


@pytest.mark.parametrize("case", cases("self_awareness"), ids=lambda case: case["name"])
def test_self_awareness(case: Any) -> None:
    subset, right, refusal, chosen = zip(*case["questions"], strict=True)
    chose, correct, declines, names = (np.array(each)[:, None] for each in (chosen, right, refusal, subset))
    found = mm_sap._measured(mm_sap._parts(chose, correct, declines, names, np.zeros((len(subset), 1), bool)))
    for name in ("score", "answer_rate", "answer_accuracy", "known_knowns", "known_unknowns"):
        expected = case["expected"][name]
        assert found.get(name) == (None if expected is None else pytest.approx(100 * float(Fraction(expected))))


@pytest.mark.parametrize("case", cases("capabilities"), ids=lambda case: case["name"])
def test_grades(case: Any) -> None:
    grades = [[None if grade is None else Fraction(repr(grade)) for grade in row] for row in case["grades"]]
    read = np.array([[grade is not None for grade in row] for row in grades])
    found = mm_vet._means("total", grades, read)
    mean, std, *_ = case["total"]
    assert found["total"] == pytest.approx(float(Fraction(mean)))
    assert found.get("total_std") == (None if std is None else pytest.approx(float(Fraction(std))))


@pytest.mark.parametrize("case", cases("yes_no"), ids=lambda case: case["name"])
def test_yes_and_no(case: Any) -> None:
    said = [answer for pair in case["images"] for answer in pair]
    read = np.array([answer in ("yes", "no") for answer, _ in said])
    right = np.array([answer == truth for answer, truth in said]) & read
    pairs = [[at, at + 1] for at in range(0, len(said), 2)]
    found = mme.Scores(right, read, pairs, ["one"] * len(said)).whole
    for name, unit in (("accuracy", 100), ("accuracy_plus", 100), ("score", 1)):
        expected = case["expected"][name]
        assert found.get(name) == (None if expected is None else pytest.approx(unit * float(Fraction(expected))))


def test_frechet_distance_of_a_shifted_set_is_its_shift() -> None:
    square = np.array([[0, 0], [0, 2], [2, 0], [2, 2]], np.float32)
    assert frechet_distance(square, square + np.array([3, 4], np.float32)) == 25.0
    assert frechet_distance(square, square) == 0.0


def test_equal_rows_have_a_cosine_of_exactly_one() -> None:
    rows = np.random.default_rng(3).normal(size=(20, 77)).astype(np.float32)
    assert cosines(rows, rows) == [1.0] * 20


def test_intervals_of_small_cases() -> None:
    """Worked by hand at a confidence of 1/2, where t is 1 with one degree of freedom."""
    half = Intervals(Fraction(1, 2))
    assert half.of_mean("x", [0.0, 1.0], ["one"] * 2) == {"x_low": 0.0, "x_high": 1.0}
    assert half.of_mean("x", [-1.0, 1.0, 4.0, 4.0], ["a", "a", "b", "b"]) == {"x_low": 1.5, "x_high": 2.5}
    beside_four = half.of_mean("x", [0.0, 0.0, 2.0, 2.0, 4.0, 4.0], ["a"] * 4 + ["b"] * 2)  # √(1/3 + 2/3) / 2
    assert beside_four == pytest.approx({"x_low": 2.0947266644459486, "x_high": 2.9052733355540514}, rel=1e-12)
    assert half.of_mean("x", [0.0, 1.0, 2.0], ["a", "a", "b"]) == {}
    assert half.of_ratio("x", [1, 1], [2, 2], ["a", "a"], 100.0) == {}
    assert half.of_ratio("x", [2, 2], [2, 2], ["a", "b"], 100.0) == pytest.approx({"x_low": 100 / 1.5, "x_high": 100.0})
    newcombe = Intervals(Fraction("0.95")).of_hits("x", 81, 263, 1.0)
    assert [round(end, 4) for end in newcombe.values()] == [0.2553, 0.3662]


@pytest.mark.parametrize("degrees", [1, 1.37, 2.5, 7.125, 15.0, 119, 413.3, 3000.7, math.inf])
@pytest.mark.parametrize("confidence", ["0.51", "0.9", "0.95", "0.999"])
def test_quantiles_are_the_other_programs(degrees: float, confidence: str) -> None:
    share = Fraction(confidence)
    assert t_quantile(1 - share, degrees) == pytest.approx(of_driftledger.t_quantile(float(share), degrees), rel=1e-12)


def test_sentences() -> None:
    assert sentences("A red car, 2.5 m long. Two boats!\n1. A mast") == [
        "A red car, 2.5 m long.",
        "Two boats!",
        "A mast",
    ]
    assert sentences("右边是红色的。左边!\n \n42.") == ["右边是红色的。", "左边!"]
    assert sentences("a" + " " * 200_000 + "b") == ["a" + " " * 200_000 + "b"]  # in linear time


def test_it_imports_nothing_but_numpy_and_pillow() -> None:
    code = (
        "import json, sys; before = {*sys.modules}; import driftledger_check.compute;"
        "print(json.dumps([name.partition('.')[0] for name in {*sys.modules} - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert {*json.loads(done.stdout)} - sys.stdlib_module_names <= {
        "numpy",
        "PIL",
        "driftledger_check",
        "cython_runtime",
    } | {name for name in json.loads(done.stdout) if name.startswith("_")}


class Loose:
    """A folder of images in memory."""

    path = "data/loose"

    def __init__(self, images: dict[str, Image.Image]) -> None:
        self._images = images

    def has(self, name: str) -> bool:
        return name in self._images

    def sha256(self, name: str) -> str:
        return hashlib.sha256(self._images[name].tobytes()).hexdigest()

    def json(self, name: str) -> Any:
        raise KeyError(name)

    def rows(self, name: str) -> Any:
        raise KeyError(name)

    def image(self, name: str) -> Image.Image:
        return self._images[name]


def test_layout_is_made_again_to_the_bit() -> None:
    from driftledger.demo.encoders.layout import LayoutEncoder

    dice = np.random.default_rng(2)
    sizes = [(1, 1), (7, 300), (64, 64), (333, 90), (640, 480)]
    images = {str(size): Image.fromarray(dice.integers(0, 256, (*size, 3)).astype(np.uint8)) for size in sizes}
    images |= {name: Image.new("RGB", (50, 40), name) for name in ("black", "white", "grey", "red")}
    folder = Loose(images)
    found = np.stack([_layout(Picture.of(folder, name)) for name in images])
    assert (found == LayoutEncoder().encode_images(list(images.values()))).all()


@pytest.mark.parametrize(("ngrams", "kept"), [(1, 10_000), (3, 12), (5, 40)])
def test_tfidf_is_made_again_to_the_bit(ngrams: int, kept: int) -> None:
    from driftledger.demo.encoders.tfidf import TfIdf

    corpus = [
        "A red disc, 26% of it.",
        "a RED ring: 2.5 by 3",
        "Übergroße Straße ß İ",
        "",
        "赤い丸 a_b x-y",
        "disc disc ring",
    ]
    asked = [*corpus, "nothing known here", "red disc ring 2.5 26% 3"]
    theirs = TfIdf(ngrams=ngrams, max_features=kept).fitted(corpus).encode_texts(asked)
    assert (_tfidf(asked, corpus, {"ngrams": ngrams, "max_features": kept}) == theirs).all()

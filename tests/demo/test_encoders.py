"""The encoders, against hand-worked cases and the libraries that they are held to."""

import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from driftledger.core.errors import DataError
from driftledger.core.types import PromptUsage
from driftledger.metrics.drift import cosine_similarity
from driftledger_demo.encoders.tfidf import WORD, TfIdf
from driftledger_demo.encoders.words import Words

CORPUS = ["A red car with 3 wheels.", "A dark-red car, 26% of the picture.", "a blue boat", "Two boats: 2.5 m"]
TEXTS = ["red-breasted bird", "robin", "truck", "A dark red ellipse, 20% by 30%.", "Größe: 写真 🐦\n\tend"]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("A car with 3 wheels", ["3", "a", "car", "wheels", "with"]),
        ("26% wide, 26 cars", ["26", "26%", "cars", "wide"]),
        ("100%. 2.5 m; 1,000 m", ["1,000", "100%", "2.5", "m"]),
        ("dark-red 4x4 of the 1960s", ["1960s", "4x4", "dark", "of", "red", "the"]),
        ("Größe: 写真!", ["größe", "写真"]),
    ],
)
def test_words_of_a_text(text: str, known: list[str]) -> None:
    assert [*(TfIdf().fitted([text])._weights or ())] == known


def test_tfidf_by_hand() -> None:
    """`car` in both texts weighs ln(3/3) + 1; `red` and `blue`, in one each, ln(3/2) + 1."""
    features = TfIdf().fitted(["red car", "blue car car"]).encode_texts(["red car", "blue car car", "green car", "…"])
    rare = math.log(1.5) + 1
    expected = [  # blue, car, red
        np.array([0, 1, rare]) / math.hypot(1, rare),
        np.array([rare, 2, 0]) / math.hypot(2, rare),
        np.array([0, 1, 0]),
        np.zeros(3),
    ]
    assert features == pytest.approx(np.array(expected), abs=1e-7)


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_tfidf_is_what_scikit_learn_gives(ngrams: int) -> None:
    library = TfidfVectorizer(token_pattern=WORD, ngram_range=(1, ngrams)).fit(CORPUS)
    features = TfIdf(ngrams=ngrams).fitted(CORPUS[::-1]).encode_texts([*CORPUS, "a boat of 3 cars", "zebra", ""])
    expected = library.transform([*CORPUS, "a boat of 3 cars", "zebra", ""]).toarray()
    assert np.abs(features - expected).max() < 1e-6


def test_fitting_is_no_setting() -> None:
    assert TfIdf().fitted(CORPUS).fingerprint == TfIdf().fingerprint != TfIdf(ngrams=2).fingerprint
    with pytest.raises(ValueError, match="fitted"):
        TfIdf().encode_texts(["a red car"])
    with pytest.raises(DataError, match="of its 2 texts none holds a word"):
        TfIdf().fitted(["…", ""])
    assert TfIdf().read_texts(["a red car " * 1000, ""]) == [PromptUsage(3000, 3000), PromptUsage(0, 0)]


def test_words_that_mean_alike_are_near() -> None:
    bird, robin, truck, *_ = Words().encode_texts(TEXTS)
    near, far = cosine_similarity(np.stack([bird, bird]), np.stack([robin, truck]))
    assert (near, far) == pytest.approx((0.1505, -0.0686), abs=1e-4)


def test_hostile_texts_are_text() -> None:
    features = Words().encode_texts(["<s>", "\ud800", "", "\x00\x1b[0m", " "])
    assert np.isfinite(features).all()
    assert [bool(row.any()) for row in features] == [True, True, False, True, True]

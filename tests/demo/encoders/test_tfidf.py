"""TF-IDF: what scikit-learn gives, and the rules by which a description falls into words."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from driftledger.components.base import library_versions
from driftledger.core.errors import DataError
from driftledger.core.registry import provider_class
from driftledger.core.types import PromptUsage
from driftledger_demo.encoders.tfidf import WORD, TfIdf

CORPUS = [
    "A red car with 3 wheels.",
    "A dark-red car, 26% of the picture.",
    "a blue boat",
    "Two boats: 2.5 m and 1,000 m",
]

texts = st.lists(st.text(st.sampled_from("ab3 .,%-é写")), min_size=1, max_size=8)


def words_of(text: str, **settings: int) -> list[str]:
    encoder = TfIdf(**settings).fitted([text])
    return sorted(encoder._vectorizer.vocabulary)


def test_the_registry_knows_it() -> None:
    assert provider_class("encoders", "tfidf") is TfIdf
    assert (TfIdf().reads, TfIdf().sees) == (True, False)
    assert TfIdf().identity() == library_versions("scikit-learn")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A car with 3 wheels", ["3", "a", "car", "wheels", "with"]),
        ("26% wide, 26 cars", ["26", "26%", "cars", "wide"]),
        ("100%. 2.5 m; 1,000 m", ["1,000", "100%", "2.5", "m"]),
        ("It is 3. 4 of 5, 6", ["3", "4", "5", "6", "is", "it", "of"]),
        ("dark-red 4x4 of the 1960s", ["1960s", "4x4", "dark", "of", "red", "the"]),
        ("Größe: 写真!", ["größe", "写真"]),
        ("red% [x]", ["red", "x"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_runs_of_words() -> None:
    assert words_of("a red car", ngrams=2) == ["a", "a red", "car", "red", "red car"]


def test_a_case_by_hand() -> None:
    """`car` in both texts weighs ln(3/3) + 1; `red` and `blue`, in one each, ln(3/2) + 1."""
    features = TfIdf().fitted(["red car", "blue car car"]).encode_texts(["red car", "blue car car", "green car"])
    rare = math.log(1.5) + 1
    expected = [  # blue, car, red
        np.array([0, 1, rare]) / math.hypot(1, rare),
        np.array([rare, 2, 0]) / math.hypot(2, rare),
        np.array([0, 1, 0]),
    ]
    assert features.dtype == np.float32
    assert features == pytest.approx(np.array(expected), abs=1e-7)


@given(texts, texts, st.integers(1, 3))
def test_it_is_what_scikit_learn_gives(corpus: list[str], asked: list[str], ngrams: int) -> None:
    library = TfidfVectorizer(token_pattern=WORD, ngram_range=(1, ngrams))
    try:
        library.fit(corpus)
    except ValueError:
        with pytest.raises(DataError, match="none holds a word"):
            TfIdf(ngrams=ngrams).fitted(corpus)
        return
    features = TfIdf(ngrams=ngrams).fitted(corpus).encode_texts(asked)
    assert np.abs(features - library.transform(asked).toarray()).max() < 1e-6
    lengths = np.linalg.norm(features.astype(np.float64), axis=1)
    assert all(length == 0 or length == pytest.approx(1, abs=1e-6) for length in lengths)


def test_what_is_not_known_is_zero() -> None:
    features = TfIdf().fitted(CORPUS).encode_texts(["zebra", "", "…"])
    assert features.shape[0] == 3
    assert not features.any()


def test_of_equally_frequent_words_the_first_are_known() -> None:
    corpus = ["b d", "a c", "b e", "e"]
    known = [sorted(TfIdf(max_features=most).fitted(corpus)._vectorizer.vocabulary) for most in (1, 2, 3, 4, 9)]
    assert known == [["b"], ["b", "e"], ["a", "b", "e"], ["a", "b", "c", "e"], ["a", "b", "c", "d", "e"]]


def test_the_order_of_the_corpus_does_not_count() -> None:
    together = TfIdf(ngrams=2).fitted(CORPUS).encode_texts(CORPUS)
    assert (TfIdf(ngrams=2).fitted(CORPUS[::-1]).encode_texts(CORPUS) == together).all()


def test_fitting_is_no_setting() -> None:
    plain = TfIdf(ngrams=2)
    one, other = plain.fitted(CORPUS), plain.fitted(["something else"])
    assert one.spec == other.spec == plain.spec
    assert one.fingerprint == plain.fingerprint != TfIdf().fingerprint
    assert one.encode_texts(["a red car"]).shape != other.encode_texts(["a red car"]).shape


@pytest.mark.parametrize("encoder", [TfIdf(), TfIdf().fitted(CORPUS).model_copy(update={"ngrams": 2})])
def test_without_a_corpus_it_knows_nothing(encoder: TfIdf) -> None:
    with pytest.raises(ValueError, match="fitted"):
        encoder.encode_texts(["a red car"])


@pytest.mark.parametrize("corpus", [[], [""], ["…", "?!", " \n"]])
def test_a_corpus_without_a_word_is_one_sentence(corpus: list[str]) -> None:
    with pytest.raises(DataError, match=f"of its {len(corpus)} texts none holds a word") as caught:
        TfIdf().fitted(corpus)
    assert "\n" not in str(caught.value)


def test_it_reads_everything() -> None:
    assert TfIdf().read_texts(["a red car " * 1000, ""]) == [PromptUsage(3000, 3000), PromptUsage(0, 0)]


def test_it_has_no_image_tower() -> None:
    with pytest.raises(NotImplementedError, match="tfidf"):
        TfIdf().encode_images([])


def test_scikit_learn_is_loaded_when_it_is_needed() -> None:
    code = (
        "import json, sys\nfrom driftledger_demo.encoders.tfidf import TfIdf\nTfIdf().fingerprint\nprint(json.dumps("
        "[name for name in sys.modules if name.partition('.')[0] in ('sklearn', 'scipy')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []

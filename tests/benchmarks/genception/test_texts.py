"""Descriptions compared: what is a sentence, what is left out, and controls that show the direction."""

import math

import numpy as np
import pytest
from driftledger.benchmarks.genception.records import WitnessRecord
from driftledger.benchmarks.genception.texts import Compared, compare_texts, sentences

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.components.base import Encoder
from driftledger.core.types import Outcome
from driftledger.demo.encoders.tfidf import TfIdf
from driftledger.demo.encoders.words import Words
from tests.support.fakes import LetterEncoder

TOLD = {
    "bird": ["A robin sits on a thin branch. Its breast is red.", "A small bird sits on a twig. Its chest is orange."],
    "road": [
        "Trucks drive on a wide motorway. The sky is grey.",
        "Lorries are on a road with many lanes. It is cloudy.",
    ],
    "meal": ["A bowl of soup stands on a table. Bread lies by it.", "Soup and bread are served on a wooden table."],
}
"""Sample → what one model says of it, and what another does."""


def chain(name: str, *texts: str | None) -> list[ChainRecord]:
    given = {"parent_sha256": "p", "seed": 1}
    return [
        ChainRecord(
            sample=name, t=t, outcome=Outcome.REFUSED if text is None else Outcome.OK, description=text, **given
        )
        for t, text in enumerate(texts, 1)
    ]


def witness(name: str, text: str | None, model: str = "other") -> WitnessRecord:
    outcome = Outcome.REFUSED if text is None else Outcome.OK
    return WitnessRecord(sample=name, model=model, outcome=outcome, description=text)


def compared(told: dict[str, list[str]], encoder: Encoder) -> Compared:
    """A chain from what is said first to what is said second, which also is what another model says at once."""
    chains = [record for name, texts in told.items() for record in chain(name, *texts)]
    return compare_texts(
        list(told), chains, [witness(name, texts[1]) for name, texts in told.items()], encoder, [2] * len(told)
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A red car, 2.5 m long. Two boats! Why?", ["A red car, 2.5 m long.", "Two boats!", "Why?"]),
        ("1. A mast\n2. A sail\n\n- waves", ["A mast", "A sail", "- waves"]),
        ("一只鸟。它是红色的！好", ["一只鸟。", "它是红色的！", "好"]),
        ("...\n42. \x1b[0m", ["\x1b[0m"]),
        ("", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize("encoder", [Words(), TfIdf(ngrams=2)], ids=["words", "tfidf"])
def test_identical_descriptions_have_one_and_those_of_other_images_clearly_less(encoder: Encoder) -> None:
    names = list(TOLD)
    shuffled = {
        name: [TOLD[name][0], TOLD[other][1]] for name, other in zip(names, [*names[1:], names[0]], strict=True)
    }
    same = compared({name: [texts[0]] * 2 for name, texts in TOLD.items()}, encoder)
    real, wrong = compared(TOLD, encoder), compared(shuffled, encoder)
    assert same.similarity[:, 1].tolist() == same.support.tolist() == [1.0] * 3
    for right, of_others in ((real.similarity[:, 1], wrong.similarity[:, 1]), (real.support, wrong.support)):
        assert right.mean() > of_others.mean() + 0.05
        assert right.max() < 1


def test_support_is_by_the_best_sentence_of_each_other_model() -> None:
    others = [witness("s", "zz. ab.", "one"), witness("s", "cd. cc", "two")]
    found = compare_texts(["s"], chain("s", "ab. cd."), others, LetterEncoder(), [1])
    # "ab.": 1 and 0; "cd.": 0 and 1
    assert found.support.tolist() == [0.5]


def test_what_is_not_there_is_left_out() -> None:
    chains = [*chain("a", "abc", None), *chain("b", None), *chain("c", "abc", "...")]
    witnesses = [witness("a", None), witness("a", "abc", "two"), witness("c", None)]
    found = compare_texts(["a", "b", "c", "d"], chains, witnesses, LetterEncoder(), [2] * 4)
    assert np.isnan(found.similarity).all(), "nothing is known of a text without a letter"
    assert [math.isnan(each) for each in found.support] == [False, True, True, True]
    assert found.support[0] == 1.0, "a refusal bears nothing out and takes nothing away"


def test_the_mean_goes_as_far_as_each_chain_does() -> None:
    chains = [*chain("long", "ab", "ab", "cd"), *chain("short", "ab", "ab"), *chain("one", "ab")]
    found = compare_texts(["long", "short", "one"], chains, [], LetterEncoder(), [3, 2, 1])
    assert found.per_sample["text_similarity_mean"].tolist()[:2] == [0.5, 1.0]
    assert math.isnan(found.per_sample["text_similarity_mean"][2])


def test_what_is_past_an_encoders_limit_is_counted() -> None:
    found = compare_texts(["s"], chain("s", "a b c", "a b"), [witness("s", "a b c d")], LetterEncoder(), [2])
    assert (found.cut, found.texts) == (2, 3)

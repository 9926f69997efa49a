"""Controls and the judge: what they say, which a table holds."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from sklearn.feature_extraction.text import TfidfVectorizer

from driftledger.benchmarks.base.parsing.refusal import is_refusal
from driftledger.components.contract import check_component
from driftledger.core import code_digest
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.registry import provider_class, providers
from driftledger.core.types import Conversation, Medium, Outcome, PromptUsage, Turn
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger_demo.encoders.tfidf import WORD, TfIdf
from driftledger_demo.encoders.words import Words
from driftledger_demo.generators.painter import MOST_SHAPES, Painter, read
from driftledger_demo.models.regions import Regions
from driftledger_demo.models.regions import model as describing
from driftledger_demo.models.rubric import Rubric
from driftledger_demo.question import CANNOT
from lab.answers import record, shipped_questions
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case
from tests.support.growth import grows_linearly

OURS = [
    (section, name)
    for section in ("models", "generators", "encoders")
    for name, place in providers(section).items()
    if place.startswith("driftledger_demo.")
]


@pytest.mark.parametrize(("section", "provider"), OURS)
def test_each_keeps_the_contract_that_anybodys_own_is_held_to(section, provider):
    """As the first of its entries in the catalogue sets it."""
    entries = [*catalogue(section).values()]
    providers = [getattr(entry, "provider", "") for entry in entries]
    settings = entries[providers.index(provider)].model_extra
    component = provider_class(section, provider).model_validate(settings)
    assert check_component(component) == []


def test_all_are_registered():
    names = (
        "regions blind always_refuse random_choice rubric painter layout tfidf words"
    )
    assert {name for _, name in OURS} == {*names.split()}


@each_case(cases(__file__, "controls"))
def test_controls_never_look(case):
    """Each is asked about two images, neither of which exists."""
    places = [Medium(Path("/nowhere/at/all.png"), digest) for digest in ("0", "1")]
    asked = [Conversation.ask(case["text"], place) for place in places]
    replies = provider_class("models", case["model"])().respond(asked)
    assert [reply.text for reply in replies] == [case["answer"]] * 2
    assert case["answer"] != CANNOT or is_refusal(CANNOT)


PROMPT = """Compare.

Question | Ground truth | Prediction | Correctness
--- | --- | --- | ---
What is x? | -1 <AND> -5 | x = 3 | 0.0

What is x? | {truth} | {prediction} | """
AGAIN = "\nPredict the correctness of the answer, 7 (digit): "


@each_case(cases(__file__, "grades"))
def test_grades(case):
    prompt = PROMPT.format_map(case)
    for text in (prompt, prompt + AGAIN):
        conversation = Conversation((Turn("user", (text,)),), max_tokens=1)
        [reply] = Rubric().respond([conversation])
        assert (reply.text, reply.outcome) == (case["grade"], Outcome.OK)


# What the describers answer, which is recorded, and what they describe, which they look at.


DESCRIBERS = {
    name: Regions.model_validate(entry.model_extra)
    for name, entry in catalogue("models").items()
    if isinstance(entry, CatalogueEntry) and entry.provider == "regions"
}
FINE = DESCRIBERS["regions_fine"]


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    asked = [*shipped_questions(tmp_path_factory.mktemp("pictures"))]
    assert len(asked) == 2 * (5 * 414 + 120 + 240)
    return asked


@pytest.mark.parametrize("name", DESCRIBERS)
def test_every_shipped_question_has_a_recorded_answer(name, questions, monkeypatch):
    monkeypatch.setattr(describing, "_description", lambda *_: "It shows shapes.")
    asked = [Conversation.ask(each.prompt, each.picture) for each in questions]
    replies = DESCRIBERS[name].respond(asked)
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    texts = [reply.text for reply in replies]
    assert all(texts)
    assert len({*texts[:5]}) > 1  # the orders of options


@pytest.mark.slow
def test_what_is_recorded_is_what_the_program_answers():
    try:
        recorded = record(REPOSITORY)
    except ConfigError:
        pytest.skip("a shallow clone")
    shipped = Path(describing.__file__).with_name("answers.json")
    assert shipped.read_text(encoding="utf-8") == recorded


@pytest.fixture
def drawn(tmp_path):
    image = Image.new("RGB", (200, 200), "blue")
    ImageDraw.Draw(image).ellipse((10, 10, 80, 80), fill="red")
    image.save(tmp_path / "drawn.png")
    return Medium(tmp_path / "drawn.png", "")


@pytest.mark.parametrize("of", ["picture", "wording", "settings"])
def test_another_question_is_a_failed_call(of, questions, drawn):
    model = FINE.model_copy(update={"refuses": False}) if of == "settings" else FINE
    picture = drawn if of == "picture" else questions[0].picture
    prompt = questions[0].prompt
    if of == "wording":
        prompt = prompt.replace("Answer with", "Reply with")
    [reply] = model.respond([Conversation.ask(prompt, picture)])
    assert (reply.text, reply.outcome) == ("", Outcome.FAILED)
    assert re.search("is recorded; .* run.seed 1 .* or select another", reply.error)


@pytest.mark.parametrize(
    "prompt",
    [
        "Describe the image.",
        "Answers, yes or no, are of no use: say all that is there.",
        "Describe the image in one sentence.",
        *(catalogue("descriptions")[name].prompt for name in ("features", "elements")),
    ],
)
def test_a_prompt_without_a_question_is_described(prompt, questions, drawn):
    for picture in (drawn, questions[0].picture):
        plain = Conversation.ask("Please describe it.", picture)
        expected, reply = FINE.respond([plain, Conversation.ask(prompt, picture)])
        assert reply == expected
        assert reply.text.startswith("A picture 100% as wide as tall on ")


def test_the_recorded_answers_are_part_of_the_describers_version():
    names = dict(code_digest._digests(Regions.__module__))
    assert "driftledger_demo/models/regions/answers.json" in names


# What the describer says of hand-drawn pictures, and what the painter makes of it.


def test_the_limit_counts_words(drawn):
    cut = {None: "ok", 1: "truncated", 5: "truncated", 10_000: "ok"}
    asked = [Conversation.ask("Describe it.", drawn, max_tokens=most) for most in cut]
    replies = Regions(detail="fine").respond(asked)
    words = replies[0].text.split()
    for reply, most in zip(replies, cut, strict=True):
        assert reply.outcome == cut[most]
        assert reply.text.split() == words[:most]


def paint(text, seed=1, size=256):
    [drawn] = Painter(longest_side=size).generate(
        [f"Generate an image: {text}"], [seed]
    )
    assert drawn.image is not None
    return np.asarray(drawn.image).astype(int)


@pytest.mark.parametrize(
    "text",
    [
        ". " * 500_000,
        "a red circle. " * 70_000,
        "A 99999999% by 99999999%, 9999999999999% across and 50% down, tilted 99999999 degrees "
        "red circle. " * 9000,
        "9" * 1_000_000,
        "A picture 999999999% as wide as tall. A red square, 0% by 0%, 0% across and 0% down.",
    ],
    ids=range(5),
)
def test_hostile_text_is_painted_within_bounds(text):
    assert max(paint(text, size=1024).shape[:2]) == 1024
    assert len(read(text).shapes) <= MOST_SHAPES
    assert grows_linearly(read, text)


# The encoders, against hand-worked cases and the libraries that they are held to.


CORPUS = [
    "A red car with 3 wheels.",
    "A dark-red car, 26% of the picture.",
    "a blue boat",
    "Two boats: 2.5 m",
]


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_tfidf_is_what_scikit_learn_gives(ngrams):
    library = TfidfVectorizer(token_pattern=WORD, ngram_range=(1, ngrams)).fit(CORPUS)
    texts = [*CORPUS, "a boat of 3 cars", "zebra", ""]
    features = TfIdf(ngrams=ngrams).fitted(CORPUS[::-1]).encode_texts(texts)
    assert np.abs(features - library.transform(texts).toarray()).max() < 1e-6


def test_fitting_is_no_setting():
    assert (
        TfIdf().fitted(CORPUS).fingerprint
        == TfIdf().fingerprint
        != TfIdf(ngrams=2).fingerprint
    )
    with pytest.raises(ValueError, match="fitted"):
        TfIdf().encode_texts(["a red car"])
    with pytest.raises(DataError, match="of its 2 texts none holds a word"):
        TfIdf().fitted(["…", ""])
    assert TfIdf().read_texts(["a red car " * 1000, ""]) == [
        PromptUsage(3000, 3000),
        PromptUsage(0, 0),
    ]


def test_hostile_texts_are_text():
    features = Words().encode_texts(["<s>", "\ud800", "", "\x00\x1b[0m", " "])
    assert np.isfinite(features).all()
    assert [bool(row.any()) for row in features] == [True, True, False, True, True]

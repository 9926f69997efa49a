"""What is asked of a model for TRAC: prompts, lengths and in-context examples."""

from dataclasses import replace

import pytest

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.descriptions import (
    Description,
    check_prefix,
)
from driftledger.benchmarks.base.records import (
    CARD,
    CollectedCard,
    stream_records,
)
from driftledger.benchmarks.trac.spec import Trac
from driftledger.core import errors
from driftledger.core.files import read_json
from driftledger.core.types import Conversation, Medium, Outcome
from driftledger.data.records import read_samples
from driftledger.ledger.rescoring import play
from driftledger_demo.encoders.tfidf import TfIdf
from tests.support.cases import cases, each_case
from tests.support.chains import collected as ask
from tests.support.fakes import HEARD, ColourModel, EchoModel, TableEncoder
from tests.support.labelled import Item, write_labelled
from tests.support.stores import assert_stored

PROMPT = "What are the main visual features for {category} in this image?"
FILLED = "What are the main visual features for bird in this image?"

ITEMS = [
    *(
        Item(f"support-{n}", f"class {n % 2}", "support", (10 * n, 40 + n % 2, 0))
        for n in range(6)
    ),
    *(
        Item(f"test-{n}", f"class {n % 2}", "test", (10 * n + 1, 40 + n % 2, 0))
        for n in range(4)
    ),
]
MODELS = {
    "plain": ColourModel(),
    "better": ColourModel(prefix="better"),
    "shy": EchoModel(refuses=4),
}
ENCODERS = {"table": TableEncoder(), "tfidf": TfIdf()}


@pytest.fixture(autouse=True)
def unheard():
    HEARD.clear()


@pytest.fixture
def folder(tmp_path):
    write_labelled(tmp_path / "birds", ITEMS)
    return tmp_path


def stage(folder, demonstrations=None, seed=7, **way):
    """The stage as a project makes it, of the dataset in ``folder/birds``."""
    asked = Description.model_validate(
        {"prompt": PROMPT, "demonstrations": demonstrations, **way}
    )
    components = {"model": ("plain", MODELS["plain"])}
    if shown := asked.demonstrations:
        if shown.encoder:
            components["example_encoder"] = shown.encoder, ENCODERS[shown.encoder]
        if shown.by:
            components["example_model"] = shown.by, MODELS[shown.by]
    given = Collecting(
        spec=Trac(),
        keys={"dataset": "birds", "model": "plain", "description": "features"},
        data=folder / "birds",
        components=components,
        seed=seed,
        description=asked,
    )
    return replace(given, protocol=Trac().protocol(given))


def collected(folder, collecting):
    return ask(collecting, folder / "store")


def drawn(*shots, by=None):
    return {"choose": "random", "shots": shots, "by": by}


def shown_in(record):
    return list(record.extra.get("demonstrations", []))


def shown_images(conversation):
    return [
        part.sha256
        for turn in conversation.turns
        for part in turn.parts
        if isinstance(part, Medium)
    ]


def test_the_prompt_names_the_general_category_and_every_sample_is_described_once(
    folder,
):
    records = collected(folder, stage(folder))
    assert [(record.unit, record.extra["split"]) for record in records] == [
        (item.id, item.split) for item in ITEMS
    ]
    assert records[1].text == "red10 green41 pixel pixel pixel pixel pixel"
    assert {turn.parts[-1] for heard in HEARD for turn in heard.turns} == {FILLED}
    assert len(HEARD) == len(ITEMS)
    HEARD.clear()
    assert collected(folder, stage(folder)) == records
    assert HEARD == [], "a second run asks nothing"


@each_case(cases(__file__, "refused"))
def test_what_cannot_be_asked_is_one_sentence(tmp_path, case):
    write_labelled(tmp_path / "birds", ITEMS, **case.get("card", {}))
    with pytest.raises(getattr(errors, case["error"]), match=case["says"]):
        collected(tmp_path, stage(tmp_path, case.get("demonstrations")))


def test_every_length_is_asked_for_and_what_was_cut_is_kept_and_flagged(folder):
    records = collected(folder, stage(folder, max_tokens=(2, 50)))
    assert [record.extra["max_tokens"] for record in records] == [2] * 10 + [50] * 10
    for cut in records[:10]:
        assert len((cut.text or "").split()) == 2
        assert cut.outcome is Outcome.TRUNCATED
    assert {heard.max_tokens for heard in HEARD} == {2, 50}


def test_the_beginning_of_a_reply_needs_a_model_that_goes_on_from_it():
    check_prefix(None, "plain", ColourModel())
    with pytest.raises(
        errors.ConfigError,
        match=r"models.plain cannot be given the beginning of its reply, 'It has'; take a",
    ):
        check_prefix("It has", "plain", ColourModel())


@pytest.mark.parametrize(("by", "tokens"), [(None, 50), ("better", 16_384)])
def test_examples_are_planned_as_long_as_they_may_be(folder, by, tokens):
    """The model's own descriptions keep the length that is asked for, those of another none; six
    bytes a token."""
    asked = stage(folder, drawn(2, by=by), max_tokens=(50,)).planned[-1].after[0][1]
    assert isinstance(asked, Conversation)
    assert [turn.parts for turn in asked.turns if turn.role == "assistant"] == [
        ("x" * 6 * tokens,)
    ] * 2


@pytest.mark.parametrize(
    ("choose", "encoder"),
    [("random", None), ("similar_image", "table"), ("similar_text", "tfidf")],
)
def test_examples_are_support_samples_and_never_what_is_asked_about(
    tmp_path, choose, encoder
):
    twin = Item(
        "support-twin", "class 0", "support", (1, 40, 0)
    )  # the same picture as test-0
    # which the model refuses to describe
    shy = Item("support-shy", "class 0", "support", (1, 40, 1))
    write_labelled(tmp_path / "birds", [*ITEMS, twin, shy])
    how = {"choose": choose, "shots": (1, 3), "encoder": encoder}
    records = collected(tmp_path, stage(tmp_path, how))
    samples = {sample.id: sample for sample in read_samples(tmp_path / "birds")}
    lengths = [
        (record.extra.get("shots", 0), len(shown_in(record))) for record in records
    ]
    assert lengths == [(0, 0)] * 12 + [(1, 1)] * 12 + [(3, 3)] * 12
    for record in records:
        shown = [samples[name] for name in shown_in(record)]
        assert {sample.split for sample in shown} <= {"support"}
        assert samples[record.unit].medium.sha256 not in {
            sample.medium.sha256 for sample in shown
        }
        assert len({sample.medium.sha256 for sample in shown}) == len(shown)
        assert "support-shy" not in shown_in(record)
    assert len(HEARD) > len(samples)
    assert all(asked not in before for *before, asked in map(shown_images, HEARD))


def test_the_most_similar_example_is_shown_last_with_its_description(folder):
    how = {"choose": "similar_image", "shots": (1, 2), "encoder": "table"}
    records = collected(folder, stage(folder, how))
    _, one, two = [shown_in(each) for each in records if each.unit == "test-3"]
    assert one == ["support-3"]
    assert len(two) == 2
    assert two[-1] == "support-3"
    asked = [each for each in HEARD if each.subject and each.subject.sample == "test-3"]
    [shown] = [each for each in asked if len(each.turns) == 3]
    assert [turn.role for turn in shown.turns] == ["user", "assistant", "user"]
    assert shown.turns[0].parts[1:] == shown.turns[2].parts[1:] == (FILLED,)
    assert shown.turns[1].parts == ("red30 green41 pixel pixel pixel pixel pixel",)


def test_a_picture_that_is_there_several_times_crowds_out_no_example(tmp_path):
    """Of four support samples three are one picture, so that the other one is the last of the most
    similar."""
    copies = [Item(f"copy-{n}", "class 0", "support", (10, 40, 0)) for n in range(3)]
    other, asked = (
        Item("other", "class 1", "support", (0, 90, 0)),
        Item("asked", "class 0", "test", (11, 40, 0)),
    )
    write_labelled(tmp_path / "birds", [*copies, other, asked])
    how = {"choose": "similar_image", "shots": (1,), "encoder": "table"}
    records = collected(tmp_path, stage(tmp_path, how))
    shown = {each.unit: shown_in(each) for each in records if shown_in(each)}
    nearest = {copy.id: ["other"] for copy in copies}
    assert shown == nearest | {"other": ["copy-0"], "asked": ["copy-0"]}


DRAWN = ["1 5", "3 5", "0 1", "2 0", "0 1", "4 0", "2 3", "4 3", "4 2", "3 2"]
"""The examples of each image, by the seed of these tests and the digests of all images."""


def test_random_examples_depend_on_the_seed_and_the_images_alone(folder):
    names = [shown_in(record) for record in collected(folder, stage(folder, drawn(2)))]
    assert [" ".join(name[-1] for name in some) for some in names if some] == DRAWN
    others = [
        shown_in(record)
        for record in collected(folder, stage(folder, drawn(2), seed=8))
    ]
    assert names != others


def test_examples_may_be_described_by_another_model(folder):
    asked = stage(folder, drawn(1, by="better"))
    records = collected(folder, asked)
    with_example = [heard for heard in HEARD if len(heard.turns) == 3]
    assert with_example
    for heard in with_example:
        assert str(heard.turns[1].parts[0]).startswith("better ")
    write_collected(folder / "out", asked, records)
    card = read_json(folder / "out" / CARD, CollectedCard)
    assert {role: each.name for role, each in card.components.items()} == {
        "model": "plain",
        "example_model": "better",
    }
    assert card.protocol == {
        "prompt": FILLED,
        "max_tokens": [None],
        "seed": 7,
        "choose": "random",
        "shots": [1],
    }
    written = [*stream_records(folder / "out")]
    assert written == records
    beforehand = [record.results[0].role for record in written if record.step == 0]
    assert beforehand == ["example_model"] * 6
    played = play(Trac(), folder / "out", folder / "birds", {}, keeps_calls=True)
    assert [*played.records] == records
    assert len(played.replay.calls) == len(written)
    assert_stored(folder / "store", played.replay.calls)

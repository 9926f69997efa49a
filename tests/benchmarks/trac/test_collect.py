"""What is asked of a model for TRAC: prompts, lengths and in-context examples."""

from pathlib import Path

import pytest
from driftledger.benchmarks.trac.examples import Examples

from driftledger.benchmarks.descriptions import Description, check_prefix, describe_key
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import write_collected
from driftledger.benchmarks.trac.collect import CollectDescriptions, DescribeProtocol, check_splits
from driftledger.benchmarks.trac.records import DescriptionRecord
from driftledger.collect.call import CallKey, NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.core.errors import ConfigError, CoverageError, DataError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger.data.records import DatasetCard, read_samples
from driftledger.demo.encoders.tfidf import TfIdf
from driftledger.project.asking import refuse_failures
from tests.support.chains import collected as ask
from tests.support.fakes import HEARD, ColourModel, TableEncoder
from tests.support.labelled import Item, write_labelled

PROMPT = "What are the main visual features for {category} in this image?"

ITEMS = [
    *(Item(f"support-{n}", f"class {n % 2}", "support", (10 * n, 40 + n % 2, 0)) for n in range(6)),
    *(Item(f"test-{n}", f"class {n % 2}", "test", (10 * n + 1, 40 + n % 2, 0)) for n in range(4)),
]


@pytest.fixture(autouse=True)
def unheard() -> None:
    HEARD.clear()


def protocol(
    card: DatasetCard,
    settings: Description | None = None,
    examples: Examples | None = None,
    model: ColourModel | None = None,
    seed: int = 7,
) -> DescribeProtocol:
    return DescribeProtocol(
        card, model or ColourModel(), "features", settings or Description(prompt=PROMPT), examples, seed
    )


def stage(folder: Path, asked: DescribeProtocol) -> CollectDescriptions:
    keys = {"dataset": "birds", "model": "plain", "description": "features"}
    return CollectDescriptions("trac", "describe", keys, asked, read_samples(folder))


def collected(folder: Path, asked: DescribeProtocol) -> list[DescriptionRecord]:
    return ask(stage(folder, asked), folder.parent / "store")


def shown_images(conversation: Conversation) -> list[str]:
    return [part.sha256 for turn in conversation.turns for part in turn.parts if isinstance(part, ImageFile)]


def test_the_prompt_names_the_general_category_and_every_sample_is_described_once(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    records = collected(tmp_path / "birds", protocol(card))
    assert [(record.sample, record.split) for record in records] == [(item.id, item.split) for item in ITEMS]
    assert [record.description for record in records][:2] == [
        "red0 green40 pixel pixel pixel pixel pixel",
        "red10 green41 pixel pixel pixel pixel pixel",
    ]
    texts = {turn.parts[-1] for heard in HEARD for turn in heard.turns}
    assert texts == {"What are the main visual features for bird in this image?"}
    assert len(HEARD) == len(ITEMS)


def test_a_prompt_about_a_category_needs_a_dataset_that_has_one(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS, general_category=None)
    with pytest.raises(ConfigError, match=r"descriptions.features asks about \{category\}, and datasets.birds"):
        collected(tmp_path / "birds", protocol(card))
    plain = protocol(card, Description(prompt="What is this?"))
    assert plain.prompt == "What is this?"


def test_a_dataset_without_splits_is_one_sentence(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS, labels={})
    with pytest.raises(DataError, match="birds has no support and test set"):
        check_splits(card)


def test_every_length_is_asked_for_and_what_was_cut_is_kept_and_flagged(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    records = collected(tmp_path / "birds", protocol(card, Description(prompt=PROMPT, max_tokens=(2, 50))))
    assert [record.max_tokens for record in records] == [2] * 10 + [50] * 10
    assert {(len((r.description or "").split()), r.outcome) for r in records if r.max_tokens == 2} == {
        (2, Outcome.TRUNCATED)
    }
    assert {heard.max_tokens for heard in HEARD} == {2, 50}


def test_the_beginning_of_a_reply_is_given_and_is_in_the_key(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    begun = protocol(card, Description(prompt=PROMPT, prefix="It has"))
    [sample, *_] = read_samples(tmp_path / "birds")
    asked, plain = begun.conversation(sample), protocol(card).conversation(sample)
    assert [turn.role for turn in asked.turns] == ["user", "assistant"]
    assert (asked.prefix, plain.prefix) == ("It has", "")
    assert begun.asked.model_dump()["prefix"] == "It has"
    assert "prefix" not in protocol(card).asked.model_dump()
    keys = {CallKey.of_conversation("m", "describe", each, {}).digest for each in (asked, plain)}
    prompt, image = begun.prompt, sample.image.sha256
    assert keys == {describe_key("m", prompt, image, None, prefix) for prefix in ("It has", None)}


def test_a_model_that_cannot_be_given_a_beginning_is_refused_in_one_sentence() -> None:
    check_prefix(None, "plain", ColourModel())
    with pytest.raises(ConfigError) as caught:
        check_prefix("It has", "plain", ColourModel())
    assert str(caught.value) == (
        "models.plain cannot be given the beginning of its reply, 'It has'; take a checkpoint, a server of vLLM's with "
        "`prefill: vllm`, or a description without prefix"
    )


@pytest.mark.parametrize("choose", ["random", "similar_image", "similar_text"])
def test_examples_are_support_samples_and_never_what_is_asked_about(tmp_path: Path, choose: str) -> None:
    twin = Item("support-twin", "class 0", "support", (1, 40, 0))  # the same picture as test-0
    card = write_labelled(tmp_path / "birds", [*ITEMS, twin])
    encoder = {"random": None, "similar_image": ("table", TableEncoder()), "similar_text": ("tfidf", TfIdf())}[choose]
    records = collected(
        tmp_path / "birds",
        protocol(card, examples=Examples(choose, (1, 3), encoder)),  # type: ignore[arg-type]
    )
    samples = {sample.id: sample for sample in read_samples(tmp_path / "birds")}
    pictures = {sample.image.sha256: sample for sample in samples.values() if sample.split == "support"}
    assert [(record.shots, len(record.demonstrations)) for record in records] == [(0, 0)] * 11 + [(1, 1)] * 11 + [
        (3, 3)
    ] * 11
    for record in records:
        shown = [samples[name] for name in record.demonstrations]
        assert {sample.split for sample in shown} <= {"support"}
        assert samples[record.sample].image.sha256 not in {sample.image.sha256 for sample in shown}
        assert len({sample.image.sha256 for sample in shown}) == len(shown)
    for heard in HEARD:
        *before, asked = shown_images(heard)
        assert asked not in before
        assert set(before) <= set(pictures)


def test_examples_are_shown_with_their_descriptions_the_most_similar_one_last(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    nearby = Examples("similar_image", (1, 2), ("table", TableEncoder()))
    records = collected(tmp_path / "birds", protocol(card, examples=nearby))
    few = {(record.sample, record.shots): record.demonstrations for record in records}
    assert few["test-3", 1] == ["support-3"]
    assert few["test-3", 2][-1] == "support-3"
    [conversation] = [
        heard for heard in HEARD if len(heard.turns) == 3 and heard.subject and heard.subject.sample == "test-3"
    ]
    assert [turn.role for turn in conversation.turns] == ["user", "assistant", "user"]
    prompt = "What are the main visual features for bird in this image?"
    assert conversation.turns[0].parts[1:] == (prompt,)
    assert conversation.turns[1].parts == ("red30 green41 pixel pixel pixel pixel pixel",)
    assert conversation.turns[2].parts[1:] == (prompt,)


DRAWN = [
    ["support-5", "support-2"],
    ["support-5", "support-3"],
    ["support-0", "support-3"],
    ["support-1", "support-4"],
    ["support-5", "support-1"],
    ["support-3", "support-4"],
    ["support-4", "support-0"],
    ["support-2", "support-1"],
    ["support-1", "support-2"],
    ["support-4", "support-5"],
]
"""The examples of each test image, by the seed of these tests."""


def test_random_examples_depend_on_the_seed_and_the_sample_alone(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    drawn = Examples("random", (2,))
    first = collected(tmp_path / "birds", protocol(card, examples=drawn))
    other_model = collected(tmp_path / "birds", protocol(card, examples=drawn, model=ColourModel(prefix="x")))
    other_seed = collected(tmp_path / "birds", protocol(card, examples=drawn, seed=8))
    chosen = [record.demonstrations for record in first]
    assert chosen == [record.demonstrations for record in other_model]
    assert chosen != [record.demonstrations for record in other_seed]
    assert [names for names in chosen if names] == DRAWN, "a seed draws other examples than it did"


def test_examples_may_be_described_by_another_model(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    given = Examples("random", (1,), by=("better", ColourModel(prefix="better")))
    asked = protocol(card, examples=given)
    records = collected(tmp_path / "birds", asked)
    told = {str(heard.turns[1].parts[0]).split()[0] for heard in HEARD if len(heard.turns) == 3}
    assert told == {"better"}
    write_collected(tmp_path / "out", stage(tmp_path / "birds", asked), records)
    written = read_json(tmp_path / "out" / CARD, CollectedCard)
    assert {role: card.name for role, card in written.components.items()} == {
        "model": "plain",
        "example_model": "better",
    }
    prompt = "What are the main visual features for bird in this image?"
    chosen = {"choose": "random", "shots": [1]}
    assert written.protocol == {"prompt": prompt, "max_tokens": [None], "seed": 7, **chosen}
    assert (written.data_digest, written.keys["description"]) == ("dd", "features")
    assert read_jsonl(tmp_path / "out" / RECORDS, DescriptionRecord) == records


def test_samples_that_were_refused_are_no_examples(tmp_path: Path) -> None:
    items = [*ITEMS, Item("support-shy", "class 0", "support", (1, 40, 1))]
    card = write_labelled(tmp_path / "birds", items)
    records = collected(tmp_path / "birds", protocol(card, examples=Examples("random", (5,))))
    assert "support-shy" not in {name for record in records for name in record.demonstrations}
    refused = [record for record in records if record.sample == "support-shy"]
    assert {record.outcome for record in refused} == {Outcome.REFUSED}


def test_too_many_examples_are_one_sentence(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    with pytest.raises(DataError, match=r"6 different support images .* 6 examples .* ask for fewer shots"):
        collected(tmp_path / "birds", protocol(card, examples=Examples("random", (6,))))


def test_too_many_failures_fail_the_stage(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", [*ITEMS[:9], ITEMS[9]._replace(colour=(1, 1, 2))])
    records = collected(tmp_path / "birds", protocol(card))
    found = stage(tmp_path / "birds", protocol(card)).failures(records)
    refuse_failures(found, "trac", 0.9)
    with pytest.raises(CoverageError, match=r"1 of 10 descriptions .* trac.min_coverage .*test-3: TimeoutError"):
        refuse_failures(found, "trac", 0.95)


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    first = collected(tmp_path / "birds", protocol(card, examples=Examples("random", (2,))))
    HEARD.clear()
    assert collected(tmp_path / "birds", protocol(card, examples=Examples("random", (2,)))) == first
    assert HEARD == []


def counted(folder: Path, asked: DescribeProtocol) -> dict[str, tuple[int, int]]:
    """Model → how many of its calls are stored, and how many there are to make at most."""
    with CallStore(folder.parent / "store") as store:
        plan = Plan(store)
        try:
            stage(folder, asked).run(plan.run)
        except NotStoredError as error:
            for each in error.rest:
                plan.add(*each)
        return {getattr(calls.component, "prefix", ""): (calls.stored, calls.to_make) for calls in plan.calls.values()}


def test_a_plan_counts_what_comes_after_the_first_descriptions_at_most(tmp_path: Path) -> None:
    card = write_labelled(tmp_path / "birds", ITEMS)
    plain = protocol(card, Description(prompt=PROMPT, max_tokens=(2, 50)))
    shown = protocol(card, plain.settings, Examples("random", (1, 2)))
    better = ColourModel(prefix="better")
    told = protocol(card, plain.settings, Examples("random", (1, 2), by=("better", better)))
    folder = tmp_path / "birds"
    assert counted(folder, plain) == {"": (0, 20)}
    assert counted(folder, shown) == {"": (0, 20 + 2 * 2 * 10)}
    assert counted(folder, told) == {"": (0, 20 + 2 * 2 * 10), "better": (0, 6)}
    collected(folder, plain)
    assert counted(folder, plain) == {"": (20, 0)}
    assert counted(folder, shown) == {"": (20, 40)}
    needs = counted(folder, told)
    assert needs[""] == (20, 40)
    assert 0 < needs["better"][1] <= 6
    collected(folder, told)
    after = counted(folder, told)
    assert after[""] == (60, 0)
    assert after["better"][1] == 0

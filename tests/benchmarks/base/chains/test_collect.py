"""Chains of images and descriptions: what is asked, what is recorded, and what is asked again."""

from collections import Counter
from dataclasses import replace
from io import BytesIO
from itertools import pairwise

import pytest
from PIL import Image

from driftledger.benchmarks.base.chains.records import asked_again
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
    stream_records,
)
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.store import CallStore
from driftledger.commands.collect import refuse_failures
from driftledger.components.base import Model
from driftledger.core.canonical import derive_seed, sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, write_jsonl
from driftledger.core.types import Medium, Outcome, PromptUsage, Result, Sample
from driftledger.ledger.rescoring import play
from tests.conftest import draw
from tests.support.cases import cases, each_case
from tests.support.chains import CARD as CHAIN_CARD
from tests.support.chains import chains, collected
from tests.support.fakes import SEEN, EchoModel, SizeGenerator
from tests.support.ledgers import iteration
from tests.support.records import facts
from tests.support.stores import assert_stored

ECHO = EchoModel()
SIZE = SizeGenerator()
SIZES = []
"""Of every image that a :class:`LotsModel` was shown."""


class LotsModel(Model):
    """Says the size of the image, and how often it has been asked."""

    provider = "lots"
    version = "1"
    temperature: float = 0.7
    seed: int | None = None

    def respond(self, conversations):
        replies = []
        for conversation in conversations:
            assert conversation.last_medium is not None
            SIZES.append(conversation.last_medium.open().size)
            width, height = SIZES[-1]
            replies.append(Result(f"{width}x{height} {len(SIZES)}"))
        return replies


@pytest.fixture
def samples(tmp_path):
    made = []
    for number in range(3):
        path = tmp_path / "d" / f"s{number}.png"
        draw(path, number, (20 + 10 * number, 30))
        made.append(Sample(path.stem, Medium(path, sha256_file(path))))
    return made


def run(samples, folder, model=ECHO, generator=SIZE, **asked):
    """Collect chains into a folder; return its records."""
    collecting = chains(samples, model, generator, **asked)
    write_collected(folder / "chain", collecting, collected(collecting, folder))
    return [*stream_records(folder / "chain")]


def test_each_iteration_starts_from_the_image_before(samples, tmp_path):
    records = run(samples, tmp_path)
    steps = [(f"s{n}", t) for n in range(3) for t in (1, 2, 3)]
    assert [(record.unit, record.step) for record in records] == steps
    sizes = [(record.text or "")[:5] for record in records[:3]]
    assert sizes == ["20x30", "21x30", "22x30"]
    assert records[0].extra["parent_sha256"] == samples[0].medium.sha256
    for before, after in pairwise(records[:3]):
        assert before.drawing is not None
        assert after.extra["parent_sha256"] == before.drawing.sha256
    for record in records:
        said, drawn = record.results
        assert (said.role, drawn.role) == ("model", "generator")
        assert sha256_file(tmp_path / "chain" / drawn.file) == drawn.sha256
        assert record.outcome is Outcome.OK
        assert said.served_model == "echo-2026"
        assert drawn.revised_prompt == f"revised Draw: {record.text}"


def test_the_card_says_what_the_records_stand_on(samples, tmp_path):
    run(samples, tmp_path)
    card = read_json(tmp_path / "chain" / CARD, CollectedCard)
    known = (card.benchmark, card.stage, card.data_digest)
    assert known == ("genception", "chain", "x")
    assert card.keys == {"dataset": "d", "model": "echo", "generator": "size"}
    components = {}
    for role, each in card.components.items():
        components[role] = (each.name, each.fingerprint)
    assert components == {
        "model": ("echo", ECHO.fingerprint),
        "generator": ("size", SIZE.fingerprint),
    }
    asked = {
        "describe_prompt": "Describe.",
        "generate_prompt": "Draw: {description}",
        "max_tokens": None,
    }
    assert card.protocol == asked | {"iterations": 3, "seed": 7}


def test_chains_of_a_group_stop_where_it_says(samples, tmp_path):
    mixed = [
        replace(sample, category="ocr" if sample.id == "s1" else "scene")
        for sample in samples
    ]
    card = CHAIN_CARD.model_copy(
        update={"groups": {"textual": ["ocr"], "visual": ["scene"]}}
    )
    asked = {"card": card, "iterations_by_group": {"textual": 1}}
    assert chains(mixed, ECHO, SIZE, **asked).calls == 2 * (3 + 1 + 3)
    records = run(mixed, tmp_path, **asked)
    assert Counter(record.unit for record in records) == {"s0": 3, "s1": 1, "s2": 3}
    protocol = read_json(tmp_path / "chain" / CARD, CollectedCard).protocol
    assert protocol["iterations_by_group"] == {"textual": 1}


def test_what_a_model_thinks_is_not_drawn(samples, tmp_path):
    class Thinks(EchoModel):
        def respond(self, conversations):
            thoughts = (
                "<think>\nIs it blue?\n</think>\n\n",
                "<think>\n\n</think>\n\n",
                "<think>",
            )
            replies = zip(thoughts, super().respond(conversations), strict=False)
            return [
                replace(reply, text=thought + reply.text) for thought, reply in replies
            ]

    def drawn(records):
        return [(each.text, each.drawing and each.drawing.sha256) for each in records]

    plain = run(samples, tmp_path / "plain")
    thinks = run(samples, tmp_path / "thinks", Thinks())
    assert drawn(thinks[:6]) == drawn(plain[:6])
    reasons = ["Is it blue?"] * 3 + [None] * 3 + [plain[6].text]
    assert [each.results[0].reasoning for each in thinks] == reasons
    end = thinks[6]
    assert (end.outcome, end.text, len(end.results)) == ("truncated", "", 1)
    assert facts(plain).reasoned() == []
    assert facts(thinks).reasoned() == [
        "4 of 7 replies held reasoning, which is left out of the answers"
    ]


def test_what_a_service_draws_is_kept_in_its_own_bytes(samples, tmp_path):
    class Drawer(SizeGenerator):
        def generate(self, prompts, seeds):
            given = []
            for each in super().generate(prompts, seeds):
                assert each.image is not None
                each.image.save(file := BytesIO(), "JPEG")
                given.append(replace(each, data=file.getvalue()))
            return given

    for record in run(samples, tmp_path, generator=Drawer()):
        assert record.drawing is not None
        assert record.drawing.file == f"images/{record.step}/{record.unit}.jpg"
        file = record.drawing.medium
        assert file is not None
        assert sha256_file(file.path) == file.sha256
        assert file.path.read_bytes().startswith(b"\xff\xd8\xff")
    with CallStore(tmp_path, writes=False) as store:
        assert store.database.count() == 18


@each_case(cases(__file__, "ends"))
def test_what_ends_a_chain_ends_no_other_and_stays(samples, tmp_path, case):
    model = EchoModel(**case.get("model", {}))
    generator = SizeGenerator(**case.get("generator", {}))
    records = run(samples, tmp_path, model, generator)
    assert Counter(record.unit for record in records) == case["steps"]
    [end] = [record for record in records if record.outcome is not Outcome.OK]
    found = [end.unit, end.step, end.outcome, end.error, end.text]
    assert found == case["end"]
    assert end.drawing is None
    assert GenCeption().failures(records).failed == []
    SEEN.clear()
    assert run(samples, tmp_path, model, generator) == records
    assert SEEN == []


def test_failed_calls_are_told_with_their_reasons_and_tried_again(samples, tmp_path):
    collecting = chains(samples, EchoModel(fails=31), SizeGenerator(), 2)
    for calls in (["20x30", "30x30", "40x30", "21x30", "31x30", "41x30"], ["31x30"]):
        SEEN.clear()
        failed, total, things = GenCeption().failures(collected(collecting, tmp_path))
        assert (failed, total, things) == (
            ["s1, step 2: TimeoutError: no answer"],
            3,
            "chains",
        )
        assert [size for batch in SEEN for size in batch] == calls


def test_what_the_calls_said_is_in_the_record(samples, tmp_path):
    [planned, *_] = chains(samples, ECHO, SIZE, 1).planned
    steps = planned.steps
    asked = next(steps)
    assert asked.conversation.subject == ("s0", 1, "d")  # type: ignore[union-attr]
    steps.send(Result(text="a disc", system_fingerprint="fp_a", note="halved"))
    drawn = Result(
        medium=samples[1].medium, system_fingerprint="fp_b", reading=PromptUsage(90, 75)
    )
    with pytest.raises(StopIteration) as stop:
        steps.send(drawn)
    [record] = stop.value.value
    assert [each.system_fingerprint for each in record.results] == ["fp_a", "fp_b"]
    assert (record.results[1].reading, facts([record]).noted()) == (
        PromptUsage(90, 75),
        ["halved (1 calls)"],
    )


def test_few_failed_calls_are_kept_as_outcomes():
    refused = [iteration(f"s{n}", 1, outcome=Outcome.REFUSED) for n in range(9)]
    failed = iteration("s", 1, outcome=Outcome.FAILED)
    found = GenCeption().failures([failed, *refused])
    refuse_failures(found, "genception", 0.9)
    says = "1 of 10 chains were ended by a failed call, and genception.min_coverage"
    with pytest.raises(CoverageError, match=says):
        refuse_failures(found, "genception", 0.95)


def test_a_description_cannot_reach_into_the_prompt(samples, tmp_path):
    drawn = "{description} {0} {x}"
    asked = chains(samples, ECHO, SIZE, 1, drawn)
    steps = asked.planned[0].steps
    next(steps)
    draw_call = steps.send(Result(text="{description.__class__}"))
    assert draw_call.prompt == "{description.__class__} {0} {x}"  # type: ignore[union-attr]


def test_a_text_is_drawn_first_and_then_described(tmp_path):
    file = tmp_path / "s.txt"
    file.write_text("20x30 to begin with")
    sample = Sample("s", Medium(file, sha256_file(file)))
    [planned] = chains([sample], ECHO, SIZE).planned
    assert [each.kind for each, _ in planned.calls] == ["generator", "model"] * 3
    assert planned.calls[0][1] == "Draw: 20x30 to begin with"
    records = run([sample], tmp_path)
    parent = sample.medium.sha256
    text = "20x30 to begin with"
    for record, width in zip(records, (21, 22, 23), strict=True):
        drawn, said = record.results
        assert (drawn.role, said.role) == ("generator", "model")
        assert drawn.revised_prompt == f"revised Draw: {text}"
        assert said.text.startswith(f"{width}x30 ")
        assert record.extra["parent_sha256"] == parent
        parent = drawn.sha256
        text = said.text
    [lost] = run([sample], tmp_path / "lost", generator=SizeGenerator(filters="20"))
    assert (lost.outcome, len(lost.results)) == ("filtered", 1)


def test_a_renamed_sample_is_not_drawn_again_and_twins_are_drawn_apart(
    samples, tmp_path
):
    def drawings(samples):
        collecting = chains(samples, ECHO, SIZE)
        records = collected(collecting, tmp_path)
        return {record.results[1].key: record.unit for record in records}

    twin = samples[0].medium
    before = drawings([*samples, Sample("twin", twin)])
    assert len(before) == 12
    names = ["a-twin", "moved-2", "moved-0", samples[1].id]
    media = [twin, samples[2].medium, twin, samples[1].medium]
    SEEN.clear()
    after = drawings([*map(Sample, names, media)])
    assert SEEN == []
    assert after.keys() == before.keys()
    assert {*after.values()} == {*names}


# Several chains of each sample: what differs between them, what is asked once for all, and where
# each is kept.


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_first_repeat_is_what_there_is_of_one(samples, tmp_path):
    run(samples, tmp_path / "one")
    records = run(samples, tmp_path / "three", repeats=3)
    one, three = files(tmp_path / "one/chain"), files(tmp_path / "three/chain")
    assert not any(name.startswith("repeats") for name in one)
    assert b"repeat" not in one[RECORDS] + one[CARD]
    images = one.keys() - {RECORDS, CARD}
    assert len(images) == 9
    assert {name: three[name] for name in images} == {
        name: one[name] for name in images
    }
    assert three[RECORDS].startswith(one[RECORDS])
    assert Counter(record.repeat for record in records) == {0: 9, 1: 9, 2: 9}
    card = read_json(tmp_path / "three/chain" / CARD, CollectedCard)
    assert card.protocol["repeats"] == 3


def test_each_repeat_draws_from_seeds_of_its_own_and_says_where_its_images_are(
    samples, tmp_path
):
    records = run(samples, tmp_path, repeats=2)
    digests = {sample.id: sample.medium.sha256 for sample in samples}
    for record in records:
        seed, drawn = record.extra["seed"], record.drawing
        assert drawn is not None
        digest = digests[record.unit]
        assert seed == derive_seed(7, digest, 0, record.step, record.repeat)
        where = "repeats/1" if record.repeat else "images"
        assert drawn.file == f"{where}/{record.step}/{record.unit}.png"
        with Image.open(tmp_path / "chain" / drawn.file) as image:
            assert image.convert("RGB").getpixel((0, 0)) == (seed % 256, 0, 0)
    assert len({record.extra["seed"] for record in records}) == len(records)
    assert "repeat" in records[-1].place
    assert len({record.place for record in records}) == len(records)


def test_more_repeats_ask_only_what_is_new(samples, tmp_path):
    """A model that says the same again is not asked again about the same image: the original."""
    run(samples, tmp_path)
    SEEN.clear()
    run(samples, tmp_path, repeats=3)
    widths = Counter(size for batch in SEEN for size in batch)
    assert widths == {f"{20 + 10 * n + t}x30": 2 for n in range(3) for t in (1, 2)}
    SEEN.clear()
    run(samples, tmp_path)
    run(samples, tmp_path, repeats=2)
    assert SEEN == []


def test_a_model_that_draws_lots_is_asked_again_for_each_repeat(samples, tmp_path):
    SIZES.clear()
    records = run(samples, tmp_path, LotsModel(), repeats=3)
    first = [each.text for each in records if (each.unit, each.step) == ("s0", 1)]
    assert len(first) == len(set(first)) == 3
    assert len(SIZES) == 27


@each_case(cases(__file__, "lots"))
def test_settings_say_which_models_draw_lots(case):
    assert asked_again(case["settings"], case["repeat"]) == case["asked"]


def followed(folder, *components):
    """The records that the protocols make of the results in a folder, and what was replayed."""
    known = dict(zip(("model", "generator"), components, strict=False))
    played = play(GenCeption(), folder / "chain", folder / "d", known, keeps_calls=True)
    return [*played.records], played.replay.calls


def test_records_follow_from_their_results_and_every_call_is_stored(samples, tmp_path):
    model = LotsModel()
    records = run(samples, tmp_path, model, repeats=2)
    again, calls = followed(tmp_path)
    assert [each.to_dict() for each in again] == [each.to_dict() for each in records]
    assert len(calls) == 36
    _, calls = followed(tmp_path, model, SIZE)
    assert_stored(tmp_path, calls)


def test_a_result_that_was_changed_makes_other_calls(samples, tmp_path):
    first, *others = run(samples, tmp_path, repeats=2)

    def forge(**change):
        results = [replace(each, **change) for each in first.results]
        forged = first.model_copy(update={"results": results})
        write_jsonl(tmp_path / "chain" / RECORDS, [forged, *others])

    says = "no record holds what was asked about s0, t="
    for change in ({"sha256": "f" * 64}, {"key": "f" * 64}):
        forge(**change)
        with pytest.raises(LookupError, match=says):
            followed(tmp_path)
    forge(text="forged")
    again, _ = followed(tmp_path)
    assert again[0].text == first.text, "the other repeat holds the same call"

from collections import Counter
from dataclasses import replace
from io import BytesIO
from itertools import pairwise

import pytest

from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import (
    CARD,
    CollectedCard,
    CollectedRecord,
    RecordedResult,
    stream_records,
)
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.store import CallStore
from driftledger.commands.collect import refuse_failures
from driftledger.core.canonical import derive_seed, sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json
from driftledger.core.types import (
    Medium,
    Outcome,
    PromptUsage,
    Result,
    Sample,
)
from tests.conftest import draw
from tests.support.chains import CARD as CHAIN_CARD
from tests.support.chains import chains, collected
from tests.support.fakes import SEEN, EchoModel, SizeGenerator
from tests.support.records import facts


@pytest.fixture
def samples(tmp_path):
    paths = [
        draw(tmp_path / f"{number}.png", number, (20 + 10 * number, 30))
        for number in range(3)
    ]
    return [
        Sample(f"s{number}", Medium(path, sha256_file(path)))
        for number, path in enumerate(paths)
    ]


def run(samples, folder, model, generator):
    collecting = chains(samples, model, generator)
    write_collected(
        folder / "chain", collecting, collected(collecting, folder / "store")
    )
    return [*stream_records(folder / "chain")]


def test_each_iteration_starts_from_the_image_before(samples, tmp_path):
    records = run(samples, tmp_path, EchoModel(), SizeGenerator())
    assert [(record.unit, record.step) for record in records] == [
        (f"s{n}", t) for n in range(3) for t in (1, 2, 3)
    ]
    assert [(record.text or "")[:5] for record in records[:3]] == [
        "20x30",
        "21x30",
        "22x30",
    ]
    digests = {sample.id: sample.medium.sha256 for sample in samples}
    assert records[0].extra["parent_sha256"] == digests["s0"]
    for before, after in pairwise(records[:3]):
        assert before.drawing is not None
        assert after.extra["parent_sha256"] == before.drawing.sha256
    for record in records:
        said, drawn = record.results
        assert (said.role, drawn.role) == ("model", "generator")
        assert drawn.file == f"images/{record.step}/{record.unit}.png"
        assert sha256_file(tmp_path / "chain" / drawn.file) == drawn.sha256
        assert record.outcome is Outcome.OK
        digest = digests[record.unit]
        assert record.extra["seed"] == derive_seed(7, digest, 0, record.step)
        assert said.served_model == "echo-2026"
        assert drawn.revised_prompt == f"revised Draw: {record.text}"


def test_the_card_says_what_the_records_stand_on(samples, tmp_path):
    run(samples, tmp_path, EchoModel(), SizeGenerator())
    card = read_json(tmp_path / "chain" / CARD, CollectedCard)
    assert (card.benchmark, card.stage, card.data_digest) == (
        "genception",
        "chain",
        "x",
    )
    assert card.keys == {"dataset": "d", "model": "echo", "generator": "size"}
    assert {
        role: (each.name, each.fingerprint) for role, each in card.components.items()
    } == {
        "model": ("echo", EchoModel().fingerprint),
        "generator": ("size", SizeGenerator().fingerprint),
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
    shorter = chains(
        mixed,
        EchoModel(),
        SizeGenerator(),
        card=card,
        iterations_by_group={"textual": 1},
    )
    assert shorter.calls == 2 * (3 + 1 + 3)
    write_collected(tmp_path / "chain", shorter, collected(shorter, tmp_path / "store"))
    records = [*stream_records(tmp_path / "chain")]
    assert Counter(record.unit for record in records) == {"s0": 3, "s1": 1, "s2": 3}
    assert read_json(tmp_path / "chain" / CARD, CollectedCard).protocol[
        "iterations_by_group"
    ] == {"textual": 1}


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

    plain = run(samples, tmp_path / "plain", EchoModel(), SizeGenerator())
    thinks = run(samples, tmp_path / "thinks", Thinks(), SizeGenerator())
    drawn = [(each.text, each.drawing and each.drawing.sha256) for each in plain]
    assert [
        (each.text, each.drawing and each.drawing.sha256) for each in thinks[:6]
    ] == drawn[:6]
    assert [each.results[0].reasoning for each in thinks] == ["Is it blue?"] * 3 + [
        None
    ] * 3 + [plain[6].text]
    assert (thinks[6].outcome, thinks[6].text, len(thinks[6].results)) == (
        "truncated",
        "",
        1,
    )
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

    for record in run(samples, tmp_path, EchoModel(), Drawer()):
        assert record.drawing is not None
        assert record.drawing.file == f"images/{record.step}/{record.unit}.jpg"
        file = record.drawing.medium
        assert file is not None
        assert sha256_file(file.path) == file.sha256
        assert file.path.read_bytes().startswith(b"\xff\xd8\xff")
    with CallStore(tmp_path / "store", writes=False) as store:
        assert store.database.count() == 18


@pytest.mark.parametrize(
    ("model", "outcome", "text"),
    [
        (EchoModel(refuses=31), Outcome.REFUSED, "I cannot help with that."),
        (EchoModel(stares=31), Outcome.TRUNCATED, ""),
    ],
)
def test_what_leaves_no_description_ends_its_chain_and_no_other_and_stays(
    samples, tmp_path, model, outcome, text
):
    records = run(samples, tmp_path, model, SizeGenerator())
    ends = [record for record in records if record.unit == "s1"]
    assert [
        (record.step, record.outcome, record.drawing is None) for record in ends
    ] == [
        (1, Outcome.OK, False),
        (2, outcome, True),
    ]
    assert ends[1].text == text
    assert len(records) == 3 + 2 + 3
    assert GenCeption().failures(records).failed == []
    SEEN.clear()
    assert run(samples, tmp_path, model, SizeGenerator()) == records
    assert SEEN == []


def test_a_filtered_image_ends_its_chain_with_the_description_kept(samples, tmp_path):
    records = run(samples, tmp_path, EchoModel(), SizeGenerator(filters="40x30"))
    [end] = [record for record in records if record.outcome is not Outcome.OK]
    assert (end.unit, end.step, end.outcome, end.error) == (
        "s2",
        1,
        Outcome.FILTERED,
        "content policy",
    )
    assert (end.text or "").startswith("40x30")


def test_failed_calls_are_told_with_their_reasons_and_tried_again(samples, tmp_path):
    collecting = chains(samples, EchoModel(fails=31), SizeGenerator(), 2)
    for calls in (["20x30", "30x30", "40x30", "21x30", "31x30", "41x30"], ["31x30"]):
        SEEN.clear()
        failed, total, things = GenCeption().failures(
            collected(collecting, tmp_path / "store")
        )
        assert (failed, total, things) == (
            ["s1, step 2: TimeoutError: no answer"],
            3,
            "chains",
        )
        assert [size for batch in SEEN for size in batch] == calls


def test_what_the_calls_said_is_in_the_record(samples, tmp_path):
    [planned, *_] = chains(samples, EchoModel(), SizeGenerator(), 1).planned
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
    def record(unit, outcome):
        return CollectedRecord(
            unit=unit,
            step=1,
            results=[RecordedResult(role="model", key="k", outcome=outcome)],
        )

    one_in_ten = [
        record("s", Outcome.FAILED),
        *(record(f"s{n}", Outcome.REFUSED) for n in range(9)),
    ]
    found = GenCeption().failures(one_in_ten)
    refuse_failures(found, "genception", 0.9)
    with pytest.raises(
        CoverageError,
        match=r"1 of 10 chains were ended by a failed call, and genception.min_coverage",
    ):
        refuse_failures(found, "genception", 0.95)


def test_a_description_cannot_reach_into_the_prompt(samples, tmp_path):
    drawn = "{description} {0} {x}"
    asked = chains(samples, EchoModel(), SizeGenerator(), 1, drawn)
    steps = asked.planned[0].steps
    next(steps)
    draw_call = steps.send(Result(text="{description.__class__}"))
    assert draw_call.prompt == "{description.__class__} {0} {x}"  # type: ignore[union-attr]


def test_a_text_is_drawn_first_and_then_described(tmp_path):
    file = tmp_path / "s.txt"
    file.write_text("20x30 to begin with")
    sample = Sample("s", Medium(file, sha256_file(file)))
    [planned] = chains([sample], EchoModel(), SizeGenerator()).planned
    assert [each.kind for each, _ in planned.calls] == ["generator", "model"] * 3
    assert planned.calls[0][1] == "Draw: 20x30 to begin with"
    records = run([sample], tmp_path, EchoModel(), SizeGenerator())
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
    [lost] = run([sample], tmp_path / "lost", EchoModel(), SizeGenerator(filters="20"))
    assert (lost.outcome, len(lost.results)) == ("filtered", 1)


def test_a_renamed_sample_is_not_drawn_again_and_twins_are_drawn_apart(
    samples, tmp_path
):
    def drawings(samples):
        collecting = chains(samples, EchoModel(), SizeGenerator())
        records = collected(collecting, tmp_path / "store")
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

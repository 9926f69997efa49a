"""Several chains of each sample: what differs between them, what is asked once for all, and where
each is kept."""

from collections import Counter
from dataclasses import replace
from typing import ClassVar

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
from driftledger.components.base import Model
from driftledger.core.canonical import derive_seed, sha256_file
from driftledger.core.files import read_json, write_jsonl
from driftledger.core.types import Medium, Result, Sample
from driftledger.ledger.rescoring import play
from tests.conftest import draw
from tests.support.chains import chains, collected
from tests.support.fakes import SEEN, EchoModel, SizeGenerator

SIZES: list[tuple[int, int]] = []
"""Of every image that a :class:`LotsModel` was shown."""


class LotsModel(Model):
    """Says the size of the image, and how often it has been asked."""

    provider: ClassVar[str] = "lots"
    version: ClassVar[str] = "1"
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
    (tmp_path / "d").mkdir()
    paths = [
        draw(tmp_path / "d" / f"s{number}.png", number, (20 + 10 * number, 30))
        for number in range(3)
    ]
    images = [Medium(path, sha256_file(path)) for path in paths]
    return [Sample(image.path.stem, image) for image in images]


def run(samples, folder, repeats, model=None):
    collecting = chains(samples, model or EchoModel(), SizeGenerator(), repeats=repeats)
    write_collected(
        folder / f"chain_{repeats}", collecting, collected(collecting, folder / "store")
    )
    return folder / f"chain_{repeats}"


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_first_repeat_is_what_there_is_of_one(samples, tmp_path):
    one, three = files(run(samples, tmp_path, 1)), files(run(samples, tmp_path, 3))
    assert not any(name.startswith("repeats") for name in one)
    assert b"repeat" not in one[RECORDS] + one[CARD]
    for name in one.keys() - {RECORDS, CARD}:
        assert three[name] == one[name]
    assert three[RECORDS].startswith(one[RECORDS])
    lines = Counter(record.repeat for record in stream_records(tmp_path / "chain_3"))
    assert lines == {0: 9, 1: 9, 2: 9}
    assert (
        read_json(tmp_path / "chain_3" / CARD, CollectedCard).protocol["repeats"] == 3
    )


def test_each_repeat_draws_from_seeds_of_its_own_and_says_where_its_images_are(
    samples, tmp_path
):
    folder = run(samples, tmp_path, 2)
    records = [*stream_records(folder)]
    digests = {sample.id: sample.medium.sha256 for sample in samples}
    for record in records:
        seed, drawn = record.extra["seed"], record.drawing
        assert drawn is not None
        digest = digests[record.unit]
        assert seed == derive_seed(7, digest, 0, record.step, record.repeat)
        where = "repeats/1" if record.repeat else "images"
        assert drawn.file == f"{where}/{record.step}/{record.unit}.png"
        with Image.open(folder / drawn.file) as image:
            assert image.convert("RGB").getpixel((0, 0)) == (seed % 256, 0, 0)
    assert len({record.extra["seed"] for record in records}) == len(records)


def test_more_repeats_ask_only_what_is_new(samples, tmp_path):
    """A model that says the same again is not asked again about the same image: the original."""
    run(samples, tmp_path, 1)
    SEEN.clear()
    run(samples, tmp_path, 3)
    widths = Counter(size for batch in SEEN for size in batch)
    assert widths == {f"{20 + 10 * n + t}x30": 2 for n in range(3) for t in (1, 2)}
    SEEN.clear()
    run(samples, tmp_path, 1)
    run(samples, tmp_path, 2)
    assert SEEN == []


def test_a_model_that_draws_lots_is_asked_anew_for_each_repeat(samples, tmp_path):
    SIZES.clear()
    records = [*stream_records(run(samples, tmp_path, 3, LotsModel()))]
    first = {
        record.repeat: record.text
        for record in records
        if (record.unit, record.step) == ("s0", 1)
    }
    assert len(set(first.values())) == 3
    assert len(SIZES) == 27


def test_which_models_draw_lots_is_told_by_their_settings():
    assert asked_again(LotsModel().model_dump(), 1) == 1
    assert asked_again(LotsModel().model_dump(), 0) is None
    assert asked_again(LotsModel(seed=3).model_dump(), 1) is None
    assert asked_again(LotsModel(temperature=0.0).model_dump(), 1) is None
    assert asked_again(EchoModel().model_dump(), 1) is None
    assert asked_again({"temperature": None, "seed": None}, 1) == 1, (
        "the service's own, which is seldom 0"
    )


def followed(folder, *components):
    """The records that the protocols make of the results in a folder, and what was replayed."""
    known = dict(zip(("model", "generator"), components, strict=False))
    data = folder.parent / "d"
    played = play(GenCeption(), folder, data, known, keeps_calls=True)
    return [*played.records], played.replay


def test_records_follow_from_their_results_and_every_call_is_stored(samples, tmp_path):
    model = LotsModel()
    folder = run(samples, tmp_path, 2, model)
    again, replay = followed(folder)
    assert [each.to_dict() for each in again] == [
        each.to_dict() for each in stream_records(folder)
    ]
    assert len(replay.calls) == 36
    _, replay = followed(folder, model, SizeGenerator())
    with CallStore(tmp_path / "store") as store:
        for digest, recorded in replay.calls.items():
            assert recorded.call.key == digest
            assert (found := store.find(digest)) is not None
            assert found.text == recorded.gave.text


def test_a_result_that_was_changed_makes_other_calls(samples, tmp_path):
    folder = run(samples, tmp_path, 2)
    first, *others = stream_records(folder)

    def forge(**change):
        results = [replace(each, **change) for each in first.results]
        write_jsonl(
            folder / RECORDS, [first.model_copy(update={"results": results}), *others]
        )

    for change in ({"sha256": "f" * 64}, {"key": "f" * 64}):
        forge(**change)
        with pytest.raises(
            LookupError, match="no record holds what was asked about s0, t="
        ):
            followed(folder)
    forge(text="forged")
    again, _ = followed(folder)
    assert again[0].text == first.text, "the other repeat holds the same call"


def test_a_record_says_which_repeat_it_is_of(samples, tmp_path):
    records = [*stream_records(run(samples, tmp_path, 2))]
    assert "repeat" in records[-1].place
    assert len({record.place for record in records}) == len(records)

"""Several chains of each sample: what differs between them, what is asked once for all, and where each is kept."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

from driftledger.benchmarks._chains.collect import CollectChains
from driftledger.benchmarks._chains.records import ChainRecord, asked_again, check_chains
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import write_collected
from driftledger.collect.call import Ask, Draw
from driftledger.collect.store import CallStore
from driftledger.components.base import Model
from driftledger.core.canonical import derive_seed, sha256_file
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import Conversation, ImageFile, Reply, Sample
from driftledger.data.records import SampleEntry
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

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        replies = []
        for conversation in conversations:
            assert conversation.last_image is not None
            SIZES.append(conversation.last_image.open().size)
            width, height = SIZES[-1]
            replies.append(Reply(f"{width}x{height} {len(SIZES)}"))
        return replies


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    (tmp_path / "d").mkdir()
    paths = [draw(tmp_path / "d" / f"s{number}.png", number, (20 + 10 * number, 30)) for number in range(3)]
    images = [ImageFile(path, sha256_file(path)) for path in paths]
    entries = [
        SampleEntry(id=each.path.stem, file=each.path.name, sha256=each.sha256, width=1, height=1) for each in images
    ]
    write_jsonl(tmp_path / "d/samples.jsonl", entries)
    return [Sample(image.path.stem, image) for image in images]


def stage(samples: list[Sample], repeats: int, model: Model | None = None) -> CollectChains:
    collecting = chains(samples, model or EchoModel(), SizeGenerator())
    asked = collecting.protocol.asked.model_copy(update={"repeats": repeats})
    return replace(collecting, protocol=replace(collecting.protocol, asked=asked))


def run(samples: list[Sample], folder: Path, repeats: int, model: Model | None = None) -> Path:
    collecting = stage(samples, repeats, model)
    write_collected(folder / f"chain_{repeats}", collecting, collected(collecting, folder / "store"))
    return folder / f"chain_{repeats}"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_first_repeat_is_what_there_is_of_one(samples: list[Sample], tmp_path: Path) -> None:
    one, three = files(run(samples, tmp_path, 1)), files(run(samples, tmp_path, 3))
    assert not any(name.startswith("repeats") for name in one)
    assert b"repeat" not in one[RECORDS] + one[CARD]
    for name in one.keys() - {RECORDS, CARD}:
        assert three[name] == one[name]
    assert three[RECORDS].startswith(one[RECORDS])
    lines = Counter(record.repeat for record in read_jsonl(tmp_path / "chain_3" / RECORDS, ChainRecord))
    assert lines == {0: 9, 1: 9, 2: 9}
    assert read_json(tmp_path / "chain_3" / CARD, CollectedCard).protocol["repeats"] == 3


def test_each_repeat_draws_from_seeds_of_its_own_and_says_where_its_images_are(
    samples: list[Sample], tmp_path: Path
) -> None:
    folder = run(samples, tmp_path, 2)
    records = read_jsonl(folder / RECORDS, ChainRecord)
    for record in records:
        assert record.seed == derive_seed(7, "d", record.sample, record.t, record.repeat)
        where = f"repeats/1/{record.sample}" if record.repeat else f"images/{record.sample}"
        assert record.image == f"{where}/{record.t}.png"
        with Image.open(folder / str(record.image)) as image:
            assert image.convert("RGB").getpixel((0, 0)) == (record.seed % 256, 0, 0)
    assert len({record.seed for record in records}) == len(records)


def test_more_repeats_ask_only_what_is_new(samples: list[Sample], tmp_path: Path) -> None:
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


def test_a_model_that_draws_lots_is_asked_anew_for_each_repeat(samples: list[Sample], tmp_path: Path) -> None:
    SIZES.clear()
    records = read_jsonl(run(samples, tmp_path, 3, LotsModel()) / RECORDS, ChainRecord)
    first = {record.repeat: record.description for record in records if (record.sample, record.t) == ("s0", 1)}
    assert len(set(first.values())) == 3
    assert len(SIZES) == 27


def test_which_models_draw_lots_is_told_by_their_settings() -> None:
    assert asked_again(LotsModel().model_dump(), 1) == 1
    assert asked_again(LotsModel().model_dump(), 0) is None
    assert asked_again(LotsModel(seed=3).model_dump(), 1) is None
    assert asked_again(LotsModel(temperature=0.0).model_dump(), 1) is None
    assert asked_again(EchoModel().model_dump(), 1) is None
    assert asked_again({"temperature": None, "seed": None}, 1) == 1, "the service's own, which is seldom 0"


def test_calls_of_every_repeat_can_be_made_again(samples: list[Sample], tmp_path: Path) -> None:
    model = LotsModel()
    folder = run(samples, tmp_path, 2, model)
    records = read_jsonl(folder / RECORDS, ChainRecord)
    folders = {"dataset": tmp_path / "d", "chain": folder}
    describer, drawer = list(runner("genception").callers({"chain": "data/records/lots"}, folders.__getitem__))[:2]
    described, drawn = list(describer.calls(model)), list(drawer.calls(SizeGenerator()))
    assert len(records) == len(described) == len(drawn) == 18
    with CallStore(tmp_path / "store") as store:
        for record, first, second in zip(records, described, drawn, strict=True):
            asked, painted = first.call(), second.call()
            assert isinstance(asked, Ask)
            assert isinstance(painted, Draw)
            assert first.moves == second.moves == 4 - record.t
            digests = [asked.key.digest, painted.key.digest]
            found = store.get(digests)
            assert found[digests[0]].text == record.description
            assert getattr(found[digests[1]].image, "sha256", None) == record.image_sha256


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seed": 5}, "its seed is not the one that follows from run.seed"),
        ({"repeat": 2}, "the card beside it tells of 2 repeats"),
        ({"parent_sha256": "f" * 64}, "its parent_sha256 is not that of the image at t = 2"),
        ({"image": "images/s2/3.png"}, "this is record 3 of its chain, or another's image"),
    ],
)
def test_links_hold_within_each_repeat(
    samples: list[Sample], tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    folder = run(samples, tmp_path, 2)
    records, card = read_jsonl(folder / RECORDS, ChainRecord), read_json(folder / CARD, CollectedCard)
    parents = {sample.id: sample.image.sha256 for sample in samples}
    assert list(check_chains(records, card, parents)) == []
    forged = [*records[:-1], records[-1].model_copy(update=change)]
    assert problem in {linked.problem for linked in check_chains(forged, card, parents)}
    assert "repeat" in records[-1].place
    assert len({record.place for record in records}) == len(records)


def test_a_chain_that_begins_with_a_text_asks_its_writer_first(samples: list[Sample], tmp_path: Path) -> None:
    writer = EchoModel(refuses=1)  # another version of it, whose first descriptions are as long as its own
    plain = stage(samples, 1)
    asked = plain.protocol.asked.model_copy(update={"writer": "people"})
    collecting = replace(plain, protocol=replace(plain.protocol, asked=asked, writer=writer))
    assert collecting.calls == plain.calls
    write_collected(tmp_path / "begun", collecting, collected(collecting, tmp_path / "store"))
    card = read_json(tmp_path / "begun" / CARD, CollectedCard)
    names = {role: each.name for role, each in card.components.items()}
    assert names == {"model": "echo", "generator": "size", "writer": "people"}
    assert (card.components["writer"].fingerprint, card.protocol["writer"]) == (writer.fingerprint, "people")
    folders = {"dataset": tmp_path / "d", "chain": tmp_path / "begun"}
    by_role = {each.role: each for each in runner("genception").callers({"chain": "p"}, folders.__getitem__)}
    said = {role: [call.call().context.t for call in by_role[role].calls(EchoModel())] for role in ("model", "writer")}
    assert said == {"model": [2, 3] * 3, "writer": [1] * 3}

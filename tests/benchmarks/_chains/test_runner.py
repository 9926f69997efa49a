"""The calls behind stored chains, put together to be made again: each asks what was asked then."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import write_collected
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_jsonl, write_jsonl
from driftledger.core.types import ImageFile, Sample
from driftledger.data.records import SampleEntry
from tests.conftest import draw
from tests.support.chains import chains, collected
from tests.support.fakes import EchoModel, SizeGenerator


def test_a_call_made_again_is_shown_the_image_before_and_draws_from_its_seed(tmp_path: Path) -> None:
    paths = [draw(tmp_path / "d" / name, number) for number, name in enumerate(("a.png", "b.png"))]
    images = [ImageFile(path, sha256_file(path)) for path in paths]
    entries = [
        SampleEntry(id=one.path.stem, file=one.path.name, sha256=one.sha256, width=1, height=1) for one in images
    ]
    write_jsonl(tmp_path / "d/samples.jsonl", entries)
    collecting = chains([Sample(image.path.stem, image) for image in images], EchoModel(), SizeGenerator())
    write_collected(tmp_path / "chain", collecting, collected(collecting, tmp_path / "store"))
    lineage: Any = SimpleNamespace(collected={"chain": SimpleNamespace(path="data/chains/d/echo/size")})
    folders = {"dataset": tmp_path / "d", "chain": tmp_path / "chain"}
    describer, drawer = list(runner("genception").callers(lineage, folders.__getitem__))[:2]
    records = read_jsonl(tmp_path / "chain" / RECORDS, ChainRecord)
    described, drawn = list(describer.calls(EchoModel())), list(drawer.calls(SizeGenerator()))
    assert len(records) == len(described) == len(drawn) == 6
    for record, first, second in zip(records, described, drawn, strict=True):
        asked: Any = first.call()
        assert asked.conversation.last_image.sha256 == record.parent_sha256
        assert first.gave == record.description
        again: Any = second.call()
        assert again.seed == record.seed
        assert isinstance(second.gave, ImageFile)
        assert second.gave.sha256 == record.image_sha256

"""Small files that become large ones: each is refused in a sentence, within a bounded memory."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from PIL import Image

from driftledger.core.errors import ConfigError, LedgerError, StoreError
from driftledger.core.files import (
    DEEPEST,
    LARGEST_JSON,
    LARGEST_YAML,
    Record,
    load_json,
    load_yaml,
    parse_jsonl,
    read_jsonl,
)
from driftledger.core.images import MOST_PIXELS, strangers_pixels
from driftledger.ledger.lock import parse_lock, parse_locks
from driftledger.ledger.objects.fetching import parse_manifest
from driftledger.project.settings import load_settings
from tests.support.memory import peak

LAUGHS = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
BOMB = f"a0: &a0 [lol, lol, lol]\n{LAUGHS}"
"""Half a kilobyte of aliases that stand for 10^9 words."""


class Line(Record):
    text: str = ""


def test_aliases_in_settings(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(BOMB)
    with pytest.raises(ConfigError, match=r"params\.yaml is not YAML: it holds more than 1,048,576 values") as caught:
        load_settings(tmp_path / "params.yaml")
    assert len(str(caught.value).splitlines()) == 1


def test_aliases_in_a_lock() -> None:
    lock = f"stages:\n  one:\n    cmd: x\n    params:\n      params.yaml: {{a: &a [1, 1], {_nested()}}}\n".encode()
    locks = parse_locks({"dvc.lock": lock})
    said = "it is not YAML (it holds more than 1,048,576 values, those that aliases repeat among them)"
    assert locks.damage == [("dvc.lock", "dvc.lock, line 5", said)]
    with pytest.raises(LedgerError, match=r"dvc\.lock is not a dvc\.lock \(it is not YAML \(it holds"):
        parse_lock(lock, "dvc.lock")


def _nested() -> str:
    names = ["a", *(f"b{n}" for n in range(9))]
    return ", ".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in pairwise(names))


YAML = {
    "aliases": (BOMB, "more than 1,048,576 values"),
    "merges": (
        "a: &a {x: 1}\nb0: &b0 {<<: *a}\n"
        + "".join(f"b{n}: &b{n} {{<<: [{', '.join([f'*b{n - 1}'] * 9)}]}}\n" for n in range(1, 9)),
        "more than 1,048,576 values",
    ),
    "itself": ("&a [*a]", "stands in what it repeats"),
    "itself below": ("a: &a\n  b: {c: *a}", "stands in what it repeats"),
    "itself as key": ("&a {? *a : 1}", "stands in what it repeats"),
    "[": ("[" * 100_000, "deeper than 64 levels"),
    "-": ("- " * 100_000 + "a", "deeper than 64 levels"),
    "{": ("{a: " * 100_000, "deeper than 64 levels"),
    "?": ("? " * 100_000, "deeper than 64 levels"),
    "long": ("a" * (LARGEST_YAML + 1), "characters, and up to 4,194,304 are read"),
    "many": ("[" + "a," * 1_100_000 + "]", "more than 1,048,576 values"),
}


def test_yaml(tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps([text for text, _ in YAML.values()]))
    said, memory = peak(
        "import json, sys, yaml\n"
        "from driftledger.core.files import load_yaml\n"
        "for text in json.load(open(sys.argv[1])):\n"
        "    try:\n        print('read', str(load_yaml(text))[:80])\n"
        "    except yaml.YAMLError as error:\n        print(' '.join(str(error).split()))\n",
        str(tmp_path / "texts.json"),
    )
    for name, line, (_, why) in zip(YAML, said, YAML.values(), strict=True):
        assert why in line, name
    assert memory < 300


def test_yaml_with_few_aliases_is_read() -> None:
    assert load_yaml("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\n") == {
        "a": {"x": [1, 2]},
        "b": {"x": [1, 2]},
        "c": {"x": [1, 2], "y": 3},
    }
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert load_yaml(deepest) == json.loads(deepest)
    with pytest.raises(yaml.YAMLError):
        load_yaml(f"[{deepest}]")


@pytest.mark.parametrize("levels", [DEEPEST + 1, 900, 100_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_deep_json(levels: int, start: str, end: str) -> None:
    text = start * levels + "1" + end * levels
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        load_json(text.encode())
    with pytest.raises(StoreError, match=r"rows, line 2 is not a Line of schema 2: it is nested deeper than 64 levels"):
        parse_jsonl(b'{"schema":2}\n{"text":%s,"schema":2}\n' % text.encode(), Line, "rows")
    assert parse_manifest(text.encode()) is None
    assert load_json(("[" * DEEPEST + "]" * DEEPEST).encode())


def test_a_long_line_of_records() -> None:
    line = b'{"schema":2,"text":"%s"}' % (b"x" * LARGEST_JSON)
    assert len(line) > LARGEST_JSON
    with pytest.raises(StoreError, match=r"it has 16,777,238 bytes, and up to 16,777,216 are read"):
        parse_jsonl(line, Line, "rows")


def test_a_large_file_of_records_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "rows.jsonl").open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(StoreError, match=r"rows\.jsonl is no file, or has more than 1024 MiB"):
        read_jsonl(tmp_path / "rows.jsonl", Line)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A PNG of 22 kB and 13,300² pixels, below Pillow's own limit."""
    path = tmp_path_factory.mktemp("bomb") / "large.png"
    Image.new("1", (13_300, 13_300)).save(path, optimize=True)
    assert path.stat().st_size < 30_000
    yield path
    path.unlink()


def test_ten_images_through_an_encoder_take_the_memory_of_one(tmp_path: Path) -> None:
    Image.new("1", (4_000, 4_000)).save(tmp_path / "large.png")
    _, memory = peak(
        "import sys\nfrom pathlib import Path\n"
        "from driftledger.collect.features import encode_images\nfrom driftledger.core.types import ImageFile\n"
        "from driftledger.demo.encoders.layout import LayoutEncoder\n"
        "encode_images(LayoutEncoder(), [ImageFile(Path(sys.argv[1]), str(number)) for number in range(10)])\n",
        str(tmp_path / "large.png"),
    )
    assert memory < 400, "one takes 48 MB, and its copies"


def test_an_image_of_a_stranger_is_refused_by_its_header(bomb: Path) -> None:
    said, memory = peak(
        "import sys\nfrom pathlib import Path\nfrom PIL import Image\n"
        "from driftledger.core.images import strangers_pixels\nfrom driftledger.core.types import ImageFile\n"
        "try:\n    with strangers_pixels():\n        ImageFile(Path(sys.argv[1]), '').open()\n"
        "except Image.DecompressionBombError as error:\n    print(error)\n",
        str(bomb),
    )
    assert "exceeds limit" in said[0]
    assert memory < 200


def test_the_limit_of_pixels_ends_with_its_block(recwarn: pytest.WarningsRecorder, tmp_path: Path) -> None:
    before = Image.MAX_IMAGE_PIXELS
    side = int(MOST_PIXELS**0.5)
    Image.new("1", (side, side)).save(tmp_path / "fine.png")
    with strangers_pixels(), Image.open(tmp_path / "fine.png") as opened:
        assert opened.size == (side, side)
    assert before == Image.MAX_IMAGE_PIXELS
    assert not recwarn.list

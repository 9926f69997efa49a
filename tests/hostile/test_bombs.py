"""Small files that become large ones: each is refused in a sentence, within a bounded memory."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from driftledger.core.errors import DriftledgerError, StoreError
from driftledger.core.files import (
    Record,
    load_json,
    load_yaml,
    read_jsonl,
)
from driftledger.ledger.bundles.reading import load
from driftledger.ledger.lock import parse_lock
from driftledger.ledger.objects.files import parse_listing
from driftledger.project.settings import load_settings
from tests.support.cases import cases, each_case

_TOLD = """
import pathlib, re
print(int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024)
"""


def peak(code, *arguments, most=4096):
    """What some code prints, a line each, and the most memory it held at once, in MiB.

    Args:
        most: MiB of addresses that it may ask for, so that what does not hold takes no machine
            down.
    """
    if sys.platform != "linux":
        pytest.skip("the most memory that was held is read in Linux's /proc")
    limited = (
        "import resource; "
        f"resource.setrlimit(resource.RLIMIT_AS, ({most << 20}, {most << 20}))\n"
    )
    process = [sys.executable, "-c", limited + code + _TOLD, *arguments]
    done = subprocess.run(
        process, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *said, last = done.stdout.splitlines()
    return said, float(last)


class Line(Record):
    text: str = ""


def text_of(case):
    """Join the parts of a case, each so many times; KEYS is so many members of an object."""
    text = ""
    for part, times in case["parts"]:
        if part == "KEYS":
            part, times = "".join(f'"k{n}":1,' for n in range(times)), 1
        text += part * times
    return text


def test_yaml(tmp_path):
    known = cases(__file__, "yaml")
    (tmp_path / "texts.json").write_text(json.dumps([text_of(case) for case in known]))
    said, memory = peak(
        f"import json, sys\nfrom {load_yaml.__module__} import load_yaml\n"
        "for text in json.load(open(sys.argv[1])):\n"
        "    try:\n        print('read', str(load_yaml(text))[:80])\n"
        "    except ValueError as error:\n        print(' '.join(str(error).split()))\n",
        str(tmp_path / "texts.json"),
    )
    for case, line in zip(known, said, strict=True):
        assert case["says"] in line, case["what"]
    assert memory < 300


def read_rows(data):
    Path("rows").write_bytes(data)
    read_jsonl(Path("rows"), Line, "rows")


def read_settings(data):
    Path("params.yaml").write_bytes(data)
    load_settings(Path("params.yaml"))


def read_listing(data):
    if parse_listing(data) is None:
        raise ValueError("not a listing")


LOADERS = {
    "json": load_json,
    "bundle": load,
    "yaml": load_yaml,
    "listing": read_listing,
    "lock": parse_lock,
    "rows": read_rows,
    "settings": read_settings,
}


@each_case(cases(__file__, "texts"))
def test_a_text_is_read_or_refused_in_bounded_time(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for loader in case["loaders"]:
        data, before = text_of(case).encode(), time.process_time()
        try:
            LOADERS[loader](data)
            answer = ""
        except (ValueError, DriftledgerError) as error:
            answer = " ".join(str(error).split())
        assert case["says"] in answer, loader
        assert bool(case["says"]) == bool(answer)
        assert len(answer) < 300
        assert time.process_time() - before < 2


def test_a_large_file(tmp_path):
    with (tmp_path / "rows.jsonl").open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(
        StoreError, match=r"rows\.jsonl, line 1 .* it has 33,554,432 bytes, and up to"
    ):
        read_jsonl(tmp_path / "rows.jsonl", Line)


def test_an_image_of_many_pixels(tmp_path):
    Image.new("1", (13_300, 13_300)).save(tmp_path / "large.png", optimize=True)
    assert (tmp_path / "large.png").stat().st_size < 30_000
    said, memory = peak(
        "import sys\nfrom pathlib import Path\nfrom driftledger.core.errors import "
        "DataError\nfrom driftledger.data.datasets.decode import decode\ntry:\n    "
        "decode(Path(sys.argv[1]).read_bytes(), 'x', 50_000_000)\nexcept DataError as error:\n    "
        "print(error)\n",
        str(tmp_path / "large.png"),
    )
    assert "x is 13300×13300 pixels, and max_pixels allows 50000000" in said[0]
    assert memory < 200

"""What somebody changes in a project or a bundle is found by ``verify`` or ``check``, which name
the file or score."""

import json
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.acceptance.numbers import read
from tests.acceptance.places import (
    RUN,
    dataset_images,
    images_of,
    record_files,
    score_files,
)

MODEL = RUN.partition("/")[0]
Edit = Callable[[Path], None]


def records(top):
    return next(
        path
        for path in record_files(top)
        if read(path.parent / "components.json")["keys"].get("model") == MODEL
    )


def card(top):
    return records(top).parent / "components.json"


def drawing(top):
    return images_of(records(top))[0]


def score(top):
    return next(
        path for path in score_files(top) if read(path)["keys"]["model"] == MODEL
    )


def rows(top):
    return score(top).parent / "rows.jsonl"


def dataset_image(top):
    return dataset_images(top)[0]


def leaderboard(top):
    return top / "reports/leaderboard.md"


def locked(top):
    """Each lock that holds records of the model, and the md5 that it has of them."""
    for path in sorted(top.rglob("dvc.lock")):
        for name, stage in yaml.safe_load(path.read_text(encoding="utf-8"))[
            "stages"
        ].items():
            yield from (
                (path, out["md5"])
                for out in stage.get("outs", ())
                if MODEL in name and out["path"].startswith("data/")
            )


def lock(top):
    return next(locked(top))[0]


def last_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def another_image(path):
    """Put the image that is most unlike in its place: a file of another size."""
    other = max(
        path.parent.parent.rglob("*.png"),
        key=lambda each: (each.read_bytes() != path.read_bytes(), str(each)),
    )
    shutil.copy(other, path)


def replace(pattern, by):
    def edit(path):
        text, count = re.subn(pattern, by, path.read_text(encoding="utf-8"), count=1)
        assert count == 1, f"{pattern} is not in {path}"
        path.write_text(text, encoding="utf-8")

    return edit


def another_md5(path):
    _, md5 = next(locked(path.parent))
    replace(md5, ("0" if md5[0] != "0" else "1") + md5[1:])(path)


class Forgery(NamedTuple):
    name: str
    file: Callable[[Path], Path]
    edit: Edit
    committed: bool = False
    """Whether DVC and Git take it over with ``dvc commit`` and ``git commit``, so that all of their
    hashes fit."""


SENTENCE = (r'("text":")A ', r"\g<1>B ")
TOP = (r'("metric": "gc",[^}]*"value": )0\.\d', r"\g<1>0.1")
VERSION = (r'"version": "\d"', '"version": "0"')
FORGERIES = (
    Forgery("a byte of an image", drawing, last_byte),
    Forgery("a swapped image", drawing, another_image),
    Forgery(
        "a swapped image that is committed", drawing, another_image, committed=True
    ),
    Forgery("the text of a record", records, replace(*SENTENCE)),
    Forgery("a number of a score", score, replace(*TOP)),
    Forgery(
        "a number of a score that is committed", score, replace(*TOP), committed=True
    ),
    Forgery("a number of a row", rows, replace(r'("similarity":\[)0\.\d', r"\g<1>0.1")),
    Forgery(
        "a number of a row that is committed",
        rows,
        replace(r'("similarity":\[)0\.\d', r"\g<1>0.1"),
        committed=True,
    ),
    Forgery("the md5 in a lock", lock, another_md5),
    Forgery("the version on a component's card", card, replace(*VERSION)),
    Forgery("an image of the dataset", dataset_image, last_byte),
    Forgery(
        "the leaderboard", leaderboard, replace(r"0\.\d{3}", "0.999"), committed=True
    ),
)


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_verify_finds_a_forgery(small, tmp_path, forgery):
    copied = small.copy(tmp_path)
    file = forgery.file(copied.root)
    forgery.edit(file)
    if forgery.committed:
        copied.run("dvc", "commit", "--force", "--quiet")
        copied.commit("nothing to see here")
    done = copied.driftledger("verify", RUN, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    places = [
        file,
        *(
            [score(copied.root), records(copied.root)]
            if forgery.committed or file.name == "dvc.lock"
            else []
        ),
    ]
    named = {
        str(path.relative_to(copied.root))
        for each in places
        for path in (each, each.parent)
    }
    assert any(name in done.stdout for name in named), done.stdout


def test_verify_finds_nothing_in_what_nobody_changed(small, tmp_path):
    copied = small.copy(tmp_path)
    assert copied.driftledger("verify").returncode == 0
    assert json.loads(copied.driftledger("verify", "--json").stdout)["holds"] is True


@pytest.fixture(scope="module")
def bundle(small, tmp_path_factory):
    """A bundle of a small run, and the project that it is from."""
    copied = small.copy(tmp_path_factory.mktemp("bundled"))
    copied.driftledger("track")
    copied.commit("published")
    file = copied.root.parent / "score.zip"
    copied.driftledger("bundle", RUN, "-o", str(file))
    return copied, file


BUNDLED = {
    "a record": ("records.jsonl", *SENTENCE),
    "a score": ("score.json", *TOP),
    "a card": ("components.json", *VERSION),
}


@pytest.mark.parametrize("forged", BUNDLED)
def test_check_finds_a_forgery_in_a_bundle(bundle, tmp_path, forged):
    checkout, file = bundle
    name, pattern, by = BUNDLED[forged]
    content = file.read_bytes()
    with zipfile.ZipFile(file) as opened:
        [item] = [
            each
            for each in opened.infolist()
            if each.filename.endswith(f"/{name}") and MODEL in each.filename
        ]
        old = opened.read(item)
    new = re.sub(pattern, by, old.decode(), count=1).encode()
    assert new != old
    assert len(new) == len(old)
    checksums = [struct.pack("<I", zlib.crc32(each)) for each in (old, new)]
    (tmp_path / "forged.zip").write_bytes(content.replace(old, new).replace(*checksums))
    done = checkout.driftledger("check", str(tmp_path / "forged.zip"), check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert item.filename.removeprefix("files/") in done.stdout


def test_check_finds_nothing_in_a_bundle_that_nobody_changed(bundle):
    checkout, file = bundle
    assert checkout.driftledger("check", str(file)).returncode == 0

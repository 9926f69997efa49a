"""What somebody changes in a project or a bundle is found by ``verify`` or ``check``, which name
the file or score."""

import json
import shutil
import struct
import zipfile
import zlib

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
from tests.support.cases import each_case, lines
from tests.support.forging import edited

MODEL = RUN.partition("/")[0]


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
    """Yield each lock with records of the model, and their MD5 in it."""
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


def another_image(path):
    """Replace an image by one of other bytes."""
    other = max(
        path.parent.parent.rglob("*.png"),
        key=lambda each: (each.read_bytes() != path.read_bytes(), str(each)),
    )
    shutil.copy(other, path)


def another_md5(path):
    _, md5 = next(locked(path.parent))
    edit(path, {"replace": [md5, ("0" if md5[0] != "0" else "1") + md5[1:]]})


def edit(path, how):
    path.write_bytes(edited(path.read_bytes(), how, path.name))


FILES = {
    "drawing": drawing,
    "records": records,
    "score": score,
    "rows": rows,
    "lock": lock,
    "card": card,
    "dataset image": dataset_image,
    "leaderboard": leaderboard,
}
EDITS = {"another image": another_image, "another md5": another_md5}
CASES = lines("acceptance/forgeries.jsonl")
"""A file of a project or a member of a bundle, and an edit of ``tests/support/forging.py``. DVC and
Git take over ``committed`` ones, so that all of their hashes fit."""


@each_case([case for case in CASES if "file" in case])
def test_verify_finds_a_forgery(small, tmp_path, case):
    copied = small.copy(tmp_path)
    file = FILES[case["file"]](copied.root)
    if case["edit"] in [*EDITS]:
        EDITS[case["edit"]](file)
    else:
        edit(file, case["edit"])
    places = [file]
    if "committed" in case:
        copied.run("dvc", "commit", "--force", "--quiet")
        copied.commit("nothing to see here")
    if "committed" in case or file.name == "dvc.lock":
        places += [score(copied.root), records(copied.root)]
    done = copied.driftledger("verify", RUN, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    paths = [path for place in places for path in (place, place.parent)]
    named = [str(path.relative_to(copied.root)) for path in paths]
    assert any(name in done.stdout for name in named), done.stdout


def test_verify_finds_nothing_in_what_nobody_changed(small, tmp_path):
    copied = small.copy(tmp_path)
    assert copied.driftledger("verify").returncode == 0
    assert json.loads(copied.driftledger("verify", "--json").stdout)["holds"] is True


@pytest.fixture(scope="module")
def bundle(small, tmp_path_factory):
    """Return the project of a small run, and its bundle."""
    copied = small.copy(tmp_path_factory.mktemp("bundled"))
    copied.driftledger("track")
    copied.commit("published")
    file = copied.root.parent / "score.zip"
    copied.driftledger("bundle", RUN, "-o", str(file))
    return copied, file


@each_case([case for case in CASES if "member" in case])
def test_check_finds_a_forgery_in_a_bundle(bundle, tmp_path, case):
    checkout, file = bundle
    content = file.read_bytes()
    with zipfile.ZipFile(file) as opened:
        [name] = [
            name
            for name in opened.namelist()
            if name.endswith(f"/{case['member']}") and MODEL in name
        ]
        old = opened.read(name)
    new = edited(old, case["edit"], name)
    assert len(new) == len(old)
    checksums = [struct.pack("<I", zlib.crc32(each)) for each in (old, new)]
    (tmp_path / "forged.zip").write_bytes(content.replace(old, new).replace(*checksums))
    done = checkout.driftledger("check", str(tmp_path / "forged.zip"), check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert name.removeprefix("files/") in done.stdout


def test_check_finds_nothing_in_a_bundle_that_nobody_changed(bundle):
    checkout, file = bundle
    assert checkout.driftledger("check", str(file)).returncode == 0

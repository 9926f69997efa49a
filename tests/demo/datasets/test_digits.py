"""The handwritten digits of scikit-learn as a labelled dataset."""

import json
import os
import subprocess
import sys
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError
from sklearn.datasets import load_digits

from driftledger.core.errors import DataError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain
from driftledger.data.datasets.base import SourceItem
from driftledger.data.datasets.build import build
from driftledger.data.records import SampleEntry
from driftledger.metrics.naming import class_names, leaks
from driftledger_demo.datasets import digits, installed
from driftledger_demo.datasets.digits import Digits, picture, scans


def rows(items: list[SourceItem], split: str) -> list[int]:
    return [int(item.id) for item in items if item.split == split]


def shown(item: SourceItem) -> bytes:
    return Image.open(BytesIO(item.read())).tobytes()


def test_the_default_set(tmp_path: Path) -> None:
    card = build("digits", Digits(), tmp_path / "digits")
    assert card.samples == 700
    assert card.general_category == "digit"
    assert card.labels == {str(digit): {"support": 50, "test": 20} for digit in range(10)}
    assert card.leaks == {}
    entries = read_jsonl(tmp_path / "digits" / "samples.jsonl", SampleEntry)
    assert {(entry.width, entry.height) for entry in entries} == {(32, 32)}
    assert not any(entry.notes for entry in entries)
    assert entries[0].source["row"] == "0"
    assert entries[0].source["licence"] == "CC BY 4.0"
    assert read_json(tmp_path / "digits" / "dataset.json", type(card)) == card


def test_the_scans_are_those_that_scikit_learn_loads() -> None:
    loaded = load_digits()
    assert [scan.label for scan in scans()] == [str(target) for target in loaded.target]
    assert np.array_equal([scan.levels for scan in scans()], loaded.data)
    assert [scan.row for scan in scans()] == list(range(1797))


def test_the_sets_come_from_both_ends_of_the_file() -> None:
    items = list(Digits().items())
    of_label = {str(digit): np.flatnonzero(load_digits().target == digit).tolist() for digit in range(10)}
    for label, every in of_label.items():
        mine = [item for item in items if item.label == label]
        assert rows(mine, "support") == every[:50]
        assert rows(mine, "test") == every[-20:]
    assert max(rows(items, "support")) < min(rows(items, "test"))


@pytest.mark.parametrize(("support", "test"), [(1, 1), (1, 173), (173, 1), (87, 87)])
def test_the_sets_are_disjoint_however_large(support: int, test: int) -> None:
    items = list(Digits(support_per_label=support, test_per_label=test).items())
    assert Counter((item.label, item.split) for item in items) == {
        (str(digit), split): count for digit in range(10) for split, count in (("support", support), ("test", test))
    }
    assert len({item.id for item in items}) == len(items)


def test_one_count_leaves_the_other_set_as_it_is() -> None:
    few, many = Digits(support_per_label=3, test_per_label=4), Digits(support_per_label=9, test_per_label=4)
    assert rows(list(few.items()), "test") == rows(list(many.items()), "test")
    assert set(rows(list(few.items()), "support")) < set(rows(list(many.items()), "support"))


def test_no_image_is_there_twice() -> None:
    items = list(Digits(support_per_label=87, test_per_label=87).items())
    assert len({shown(item) for item in items}) == len(items) == 1740


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"support_per_label": 0}, "d: support_per_label: Input should be greater than or equal to 1 (got 0)"),
        ({"test_per_label": 174}, "d: test_per_label: Input should be less than 174 (got 174)"),
        (
            {"support_per_label": 100, "test_per_label": 75},
            "d: support_per_label and test_per_label add up to 175, and there are 174 scans of the rarest digit; "
            "lower one of them",
        ),
        ({"per_label": 3}, "d: setting 'per_label' is unknown; "),
    ],
)
def test_wrong_settings_are_one_sentence(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Digits.model_validate(wrong)
    assert explain(caught.value, "d").startswith(said)


def test_ink_is_white_on_black() -> None:
    assert np.unique(np.asarray(picture((0,) * 64))).tolist() == [0]
    assert np.unique(np.asarray(picture((16,) * 64))).tolist() == [255]
    upper = np.asarray(picture((16,) * 32 + (0,) * 32))
    assert upper.shape == (32, 32, 3)
    assert upper[:12].min() > 240
    assert upper[20:].max() < 15


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('A handwritten digit "3", in white.', "3"),
        ("The number seven on black.", "7"),
        ("Two circles above each other and 8 lines.", None),
        ("An ellipse, 3% by 4%, 5% across and 6% down; a figure eight.", None),
        ("The number 10.", None),
    ],
)
def test_what_names_a_digit_and_what_only_counts(text: str, named: str | None) -> None:
    names = Digits().label_names
    found = [label for label in names if leaks([text], [label], {label: class_names(label, names[label])})[0].own]
    assert found == ([named] if named else [])


@pytest.mark.parametrize("content", [b"other bytes", None])
def test_another_file_than_the_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    monkeypatch.setattr(installed, "installed_path", lambda distribution, file: tmp_path / "file")
    scans.cache_clear()
    with pytest.raises(DataError) as caught:
        build("digits", Digits(), tmp_path / "digits")
    assert str(caught.value) == (
        "sklearn/datasets/data/digits.csv.gz is not the file that scikit-learn 1.9.1 carries; "
        "run: pip install --force-reinstall 'scikit-learn==1.9.1'"
    )
    assert not (tmp_path / "digits").exists()
    with pytest.raises(DataError):
        Digits().source_digest()


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "LIBRARY", "scikit-unlearn")
    with pytest.raises(DataError, match=r"run: pip install --force-reinstall 'scikit-unlearn==1\.9\.1'"):
        Digits().source_digest()


def test_reading_the_digits_imports_no_heavy_library() -> None:
    code = (
        "import json, sys; from driftledger_demo.datasets.digits import Digits; list(Digits().items());"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=dict(os.environ))
    assert not {"sklearn", "scipy", "skimage"} & set(json.loads(done.stdout))


def test_the_source_digest_sees_the_settings() -> None:
    digests = {Digits(support_per_label=count).source_digest() for count in (49, 50)}
    assert len(digests) == 2
    assert Digits().source_digest() in digests
    assert Digits().source()["kind"] == "digits"


def test_the_registry_finds_the_digits() -> None:
    assert provider_class("datasets", "digits") is Digits

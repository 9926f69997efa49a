"""The data that comes with the package or with libraries: how much there is, and that it is what is
known."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.build import build
from driftledger.data.records import read_questions
from driftledger_demo import installed
from driftledger_demo.datasets.digits import Digits, scans
from driftledger_demo.datasets.photos import Photos
from driftledger_demo.scenes import ScenePhotos, Scenes
from lab.scenes import draw
from tests.conftest import REPOSITORY
from tests.data.question_sets.sources import build_set
from tests.sentence import tree


@pytest.mark.parametrize(
    ("kind", "protocol", "questions"),
    [
        (Scenes, "mm_sap", 414),
        (Scenes, "mm_vet", 120),
        (Scenes, "mme", 240),
        (ScenePhotos, "mme", 240),
    ],
)
def test_question_sets_of_scenes(tmp_path, kind, protocol, questions):
    sets = []
    digests = set()
    for count in (3, 120):
        provider = kind(protocol=protocol, count=count)
        build_set("scenes", provider, tmp_path / f"{count}")
        sets.append(read_questions(tmp_path / f"{count}"))
        digests.add(provider.source_digest())
    few, every = sets
    assert len(digests) == 2
    assert len(every) == questions
    assert len({entry.image_sha256 for entry in every}) == 120
    first = [entry for entry in every if entry.image_id < "0003"]
    for entry, same in zip(few, first, strict=True):
        assert entry.id == same.id
        assert entry.question == same.question
        assert entry.answer == same.answer


@pytest.mark.slow
def test_what_is_shipped_can_be_drawn_again(tmp_path):
    try:
        draw("sets", tmp_path, REPOSITORY)
    except ConfigError:
        pytest.skip("a shallow clone")
    shipped = Path(installed.__file__).parent / "data"
    drawn = tree(tmp_path)
    assert len([name for name in drawn if "." in name]) == 2 * (120 + 3)
    assert drawn == tree(shipped)


def test_digits_come_from_both_ends_of_the_file(tmp_path):
    digits = Digits(support_per_label=25, test_per_label=10)
    card = build("digits", digits, tmp_path / "digits")
    assert card.leaks == {}
    rows = defaultdict(list)
    for item in digits.items():
        rows[item.label, item.split].append(int(item.id))
    known = load_digits()
    for digit in range(10):
        name = str(digit)
        every = np.flatnonzero(known.target == digit).tolist()
        assert card.labels[name] == {"support": 25, "test": 10}
        assert rows[name, "support"] == every[:25]
        assert rows[name, "test"] == every[-10:]
    assert len(rows) == 2 * len(card.labels) == 20
    assert np.array_equal([scan.levels for scan in scans()], known.data)


@pytest.mark.parametrize("provider", [Digits, Photos])
@pytest.mark.parametrize("content", [b"other bytes", None])
def test_another_file_than_the_known_one(tmp_path, monkeypatch, provider, content):
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    monkeypatch.setattr(
        installed, "installed_path", lambda distribution, file: tmp_path / "file"
    )
    scans.cache_clear()
    with pytest.raises(
        DataError,
        match=r"is not the file that .+; run: pip install --force-reinstall '.+==",
    ):
        build("some", provider(), tmp_path / "some")
    scans.cache_clear()

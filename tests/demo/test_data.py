"""The data that comes with the package or with libraries: how much there is, and that it is what is
known."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from driftledger.benchmarks.registry import question_rules
from driftledger.core.errors import ConfigError, DataError
from driftledger.data.build import build, build_questions
from driftledger.data.records import read_questions
from driftledger_demo import installed
from driftledger_demo.datasets.digits import Digits, scans
from driftledger_demo.datasets.photos import Photos
from driftledger_demo.scenes import ScenePhotos, Scenes
from lab.scenes import draw
from tests.conftest import REPOSITORY


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
    sets = {
        count: kind.model_validate({"protocol": protocol, "count": count})
        for count in (3, 120)
    }
    for count, provider in sets.items():
        build_questions(
            "scenes", provider, question_rules(provider), tmp_path / f"{count}"
        )
    few, every = (read_questions(tmp_path / f"{count}") for count in sets)
    assert len(every) == questions
    assert len({entry.image_sha256 for entry in every}) == 120
    assert [(each.id, each.question, each.answer) for each in few] == [
        (each.id, each.question, each.answer)
        for each in every
        if each.image_id < "0003"
    ]
    assert sets[3].source_digest() != sets[120].source_digest()


@pytest.mark.slow
def test_what_is_shipped_can_be_drawn_again(tmp_path):
    try:
        draw("sets", tmp_path, REPOSITORY)
    except ConfigError:
        pytest.skip("a shallow clone")
    shipped = Path(installed.__file__).parent / "data"
    drawn, kept = (
        {path.relative_to(top) for path in top.rglob("*.*")}
        for top in (tmp_path, shipped)
    )
    assert len(drawn) == 2 * (120 + 3)
    assert drawn == kept
    assert [
        path
        for path in drawn
        if (tmp_path / path).read_bytes() != (shipped / path).read_bytes()
    ] == []


def test_digits_come_from_both_ends_of_the_file(tmp_path):
    card = build(
        "digits", Digits(support_per_label=25, test_per_label=10), tmp_path / "digits"
    )
    assert card.labels == {
        str(digit): {"support": 25, "test": 10} for digit in range(10)
    }
    assert card.leaks == {}
    rows: dict[tuple[str | None, str | None], list[int]] = {}
    for item in Digits(support_per_label=25, test_per_label=10).items():
        rows.setdefault((item.label, item.split), []).append(int(item.id))
    for digit in range(10):
        every = np.flatnonzero(load_digits().target == digit).tolist()
        assert (rows[f"{digit}", "support"], rows[f"{digit}", "test"]) == (
            every[:25],
            every[-10:],
        )
    assert np.array_equal([scan.levels for scan in scans()], load_digits().data)


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

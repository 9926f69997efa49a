"""What encoders saw is kept by batch, and whatever becomes of the files, the numbers are right."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from driftledger.collect.feature_store import FeatureStore
from driftledger.core.types import Float32
from tests.support.full_disk import no_file_longer_than

FEATURES = np.array([[0.1, -2.0], [3.5, 1e-30]], np.float32)


class Maker:
    """Gives the features, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> Float32:
        self.asked += 1
        return FEATURES


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    return FeatureStore(tmp_path / "features")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_batch_is_made_once_and_found_to_the_bit(tmp_path: Path, store: FeatureStore, make: Maker) -> None:
    for each in (store, store, FeatureStore(tmp_path / "features")):
        found = each.get("encoder", "images", ["a", "b"], make)
        assert (found.dtype, found.tobytes()) == (np.float32, FEATURES.tobytes())
    assert make.asked == 1
    assert [path.suffix for path in files(tmp_path)] == [".npy"]


@pytest.mark.parametrize(
    ("encoder", "seen", "batch"),
    [
        ("another", "images", ["a", "b"]),
        ("encoder", "texts", ["a", "b"]),
        ("encoder", "images", ["b", "a"]),
        ("encoder", "images", ["a"]),
        ("encoder", "images", ["ab"]),
    ],
)
def test_anything_else_is_another_batch(store: FeatureStore, make: Maker, encoder: str, seen, batch) -> None:
    store.get("encoder", "images", ["a", "b"], make)
    store.get(encoder, seen, batch, make)
    assert make.asked == 2


def test_an_image_without_a_hash_is_not_kept(tmp_path: Path, store: FeatureStore, make: Maker) -> None:
    for _ in range(2):
        store.get("encoder", "images", ["a", ""], make)
    assert (make.asked, files(tmp_path)) == (2, [])
    store.get("encoder", "texts", [""], make)
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"x" * 500, None])
def test_a_damaged_file_is_made_anew(tmp_path: Path, store: FeatureStore, make: Maker, content: bytes | None) -> None:
    store.get("encoder", "images", ["a"], make)
    [path] = files(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:] if content is None else content)
    assert store.get("encoder", "images", ["a"], make).tobytes() == FEATURES.tobytes()
    assert (make.asked, path.read_bytes()) == (2, whole)


def test_several_at_once_find_the_same(tmp_path: Path, store: FeatureStore) -> None:
    many = np.arange(200_000, dtype=np.float32).reshape(1000, 200)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: store.get("encoder", "images", ["a"], lambda: many).tobytes(), range(40)))
    assert set(found) == {many.tobytes()}
    assert [path.suffix for path in files(tmp_path)] == [".npy"]


def test_where_nothing_can_be_written_nothing_is_lost(tmp_path: Path, make: Maker) -> None:
    (tmp_path / "features").write_text("a file where the folder should be")
    store = FeatureStore(tmp_path / "features")
    assert store.get("encoder", "images", ["a"], make).tobytes() == FEATURES.tobytes()


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, store: FeatureStore, make: Maker) -> None:
    with no_file_longer_than(8):
        assert store.get("encoder", "images", ["a"], make).tobytes() == FEATURES.tobytes()
    assert files(tmp_path) == []

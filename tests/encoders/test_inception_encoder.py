"""The FID's network: clean-fid's own features, from the published file or from one that the user vouches for."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
fid = pytest.importorskip("cleanfid.fid")

from cleanfid.inception_torchscript import InceptionV3W

from driftledger.canonical import sha256_file
from driftledger.encoders.inception import FILE, Inception
from driftledger.errors import ConfigError
from driftledger.registry import provider_class
from driftledger.types import Float32
from tests.checkpoints.inception import build_inception

pytestmark = [pytest.mark.neural, pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")]

SIZES = [(400, 310), (299, 299), (60, 90), (500, 20)]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_inception(tmp_path / "inception")


@pytest.fixture
def images() -> list[Image.Image]:
    numbers = np.random.default_rng(0)
    return [Image.fromarray(numbers.integers(0, 256, (h, w, 3), dtype=np.uint8)) for w, h in SIZES]


def encoder(folder: Path, **settings: object) -> Inception:
    return Inception.model_validate({"path": str(folder), "device": "cpu", "allow_pickle": True} | settings)


def relative(one: Float32, other: Float32) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def test_the_registry_knows_it():
    assert provider_class("encoders", "inception") is Inception
    assert Inception.frechet_name == "fid"


def test_a_batch_is_as_one_by_one_and_images_differ(folder: Path, images: list[Image.Image]):
    inception = encoder(folder)
    together = inception.encode_images(images)
    assert together.dtype == np.float32
    assert together.shape == (4, 2048)
    assert relative(np.concatenate([inception.encode_images([image]) for image in images]), together) < 1e-5
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    assert (unit @ unit.T - 2 * np.eye(4)).max() < 0.95


def test_it_is_what_clean_fid_gives_for_the_files(folder: Path, images: list[Image.Image], tmp_path: Path):
    files = [str(tmp_path / f"{number}.png") for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        image.save(file)
    network = InceptionV3W(str(folder), download=False).eval()
    cpu = torch.device("cpu")
    theirs = fid.get_files_features(files, network, num_workers=0, device=cpu, mode="clean", verbose=False)
    assert relative(encoder(folder).encode_images(images), theirs) < 1e-6


def test_images_are_resized_as_clean_fid_does_and_not_as_pillow_does(folder: Path, images: list[Image.Image]):
    whole = [image.resize((299, 299), Image.Resampling.BICUBIC) for image in images]
    assert relative(encoder(folder).encode_images(whole), encoder(folder).encode_images(images)) > 1e-4


def test_a_grey_image_is_taken_as_rgb(folder: Path, images: list[Image.Image]):
    grey = images[0].convert("L")
    assert (encoder(folder).encode_images([grey]) == encoder(folder).encode_images([grey.convert("RGB")])).all()


def test_another_file_than_the_published_one_needs_consent(
    folder: Path, images: list[Image.Image], monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(ConfigError, match=r"not the published file.*allow_pickle"):
        encoder(folder, allow_pickle=False).encode_images(images)
    monkeypatch.setattr("driftledger.encoders.inception.PUBLISHED", sha256_file(folder / FILE))
    assert encoder(folder, allow_pickle=False).encode_images(images).shape == (4, 2048)


def test_a_folder_without_the_file_is_one_sentence(tmp_path: Path, images: list[Image.Image]):
    (tmp_path / "other.pt").write_bytes(b"")
    with pytest.raises(ConfigError, match=f"holds no {FILE}"):
        encoder(tmp_path).encode_images(images)
    with pytest.raises(ConfigError, match=f"holds no {FILE}"):
        encoder(tmp_path).identity()


def test_a_broken_file_is_one_sentence(folder: Path, images: list[Image.Image]):
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-1000])
    with pytest.raises(ConfigError, match="cannot be loaded"):
        encoder(folder).encode_images(images)


def test_the_fingerprint_follows_the_file_and_nothing_else_in_the_folder(folder: Path, tmp_path: Path):
    before = encoder(folder).fingerprint
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    (moved / "beside").write_bytes(b"it")
    assert encoder(moved).fingerprint == before
    assert encoder(build_inception(tmp_path / "other", seed=1)).fingerprint != before


def test_reduced_precision_is_no_fid(folder: Path):
    with pytest.raises(ValueError, match="float32"):
        encoder(folder, dtype="bfloat16")


def test_it_has_no_text_tower(folder: Path):
    with pytest.raises(NotImplementedError, match="inception"):
        encoder(folder).encode_texts(["a"])

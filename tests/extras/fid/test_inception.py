"""The FID's network: clean-fid's own features, from the published file or from one that the user
vouches for."""

from functools import partial

import numpy as np
import pytest
import torch
from cleanfid import fid
from cleanfid.fid import frechet_distance as clean
from cleanfid.inception_torchscript import InceptionV3W
from PIL import Image

from driftledger.commands.plan import plan
from driftledger.components.encoders import INCEPTION_ADDRESS, INCEPTION_FILE, Inception
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.metrics.frechet import frechet_distance
from tests.extras.encoding import refused, relative, tiny
from tests.metrics.test_reference import features
from tests.support.small import changed, make_small

pytestmark = [pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")]

encoder = partial(tiny, Inception, allow_pickle=True)


@pytest.fixture
def folder(copied):
    return copied("inception")


def test_it_is_what_clean_fid_gives_for_the_files(folder, images, tmp_path):
    files = [str(tmp_path / f"{number}.png") for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        image.save(file)
    network = InceptionV3W(str(folder), download=False).eval()
    cpu = torch.device("cpu")
    theirs = fid.get_files_features(
        files, network, num_workers=0, device=cpu, mode="clean", verbose=False
    )
    assert relative(encoder(folder).encode_images(images), theirs) < 1e-6


def test_images_are_resized_as_clean_fid_does_and_not_as_pillow_does(folder, images):
    whole = [image.resize((299, 299), Image.Resampling.BICUBIC) for image in images]
    assert (
        relative(
            encoder(folder).encode_images(whole), encoder(folder).encode_images(images)
        )
        > 1e-4
    )


def test_the_published_file_needs_no_consent(folder, images, monkeypatch):
    monkeypatch.setattr(
        "driftledger.components.encoders.INCEPTION_SHA256",
        sha256_file(folder / INCEPTION_FILE),
    )
    assert encoder(folder, allow_pickle=False).encode_images(images).shape == (4, 2048)


def test_a_folder_without_the_file_is_one_sentence(tmp_path):
    (tmp_path / "other.pt").write_bytes(b"")
    refused(encoder(tmp_path), f"holds no {INCEPTION_FILE}")
    with pytest.raises(ConfigError, match=f"holds no {INCEPTION_FILE}"):
        encoder(tmp_path).identity()


def test_what_lies_beside_the_file_is_not_in_the_fingerprint(folder):
    before = encoder(folder).fingerprint
    (folder / "beside").write_bytes(b"it")
    assert encoder(folder).fingerprint == before


# The Fréchet distance is clean-fid's.


def test_frechet_distance_is_clean_fids():
    a, b = features(200, 16, 1), features(150, 16, 2)
    theirs = clean(
        a.mean(axis=0), np.cov(a, rowvar=False), b.mean(axis=0), np.cov(b, rowvar=False)
    )
    assert frechet_distance(a, b) == pytest.approx(float(theirs), rel=1e-5)


def test_a_plan_says_where_the_file_is_had(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_small(tmp_path)

    def change(params):
        params["run"] |= {"encoders": ["inception"], "self_retrieval": []}

    [missing] = plan(changed(tmp_path, change)).missing
    assert missing.startswith("encoders.inception: 'weights/inception' holds no ")
    assert missing.endswith(INCEPTION_ADDRESS)

"""What holds for every encoder with weights; what is particular to one provider is in a file of its own."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from driftledger.core.types import Float32, PromptUsage
from tests.extras.encoding import LONG, TEXTS, closest, refused, relative, tiny
from tests.extras.providers import PROVIDERS, READING, SAFETENSORS, Provider
from tests.support.checkpoints.inception import build_inception
from tests.support.checkpoints.weights import change_one_weight, drop_one_weight

pytestmark = [pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")]


@pytest.fixture(params=PROVIDERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def provider(name: str) -> Provider:
    return PROVIDERS[name]


@pytest.fixture
def folder(name: str, copied: Callable[[str], Path]) -> Path:
    return copied(name)


@pytest.fixture
def encoder(provider: Provider, folder: Path) -> Callable[..., Any]:
    return partial(tiny, provider.kind, folder, allow_pickle=provider.allow_pickle)


def towers(
    provider: Provider, encoder: Any, images: list[Image.Image]
) -> Iterator[tuple[Callable[..., Float32], list[Any]]]:
    """Each of an encoder's methods, and inputs for it."""
    if provider.frechet:
        yield encoder.encode_images, images
    if provider.limit:
        yield encoder.encode_texts, [*TEXTS, LONG]


def features(provider: Provider, encoder: Any, images: list[Image.Image]) -> Float32:
    return np.concatenate([encode(inputs) for encode, inputs in towers(provider, encoder, images)])


def test_a_batch_is_as_one_by_one_and_inputs_differ(provider: Provider, encoder, images: list[Image.Image]):
    some = list(towers(provider, encoder(), images))
    assert some
    for encode, inputs in some:
        together = encode(inputs)
        assert together.dtype == np.float32
        assert together.shape == (len(inputs), provider.width)
        assert relative(np.concatenate([encode([one]) for one in inputs]), together) < 1e-5
        assert closest(together) < 0.95


@pytest.mark.parametrize("name", READING)
def test_how_much_of_a_text_is_read(provider: Provider, encoder):
    limit = provider.limit
    tokens = {"a red cat": 3, "": 0, LONG: 200, "red " * limit: limit, "red " * (limit + 1): limit + 1}
    readings = encoder().read_texts([*tokens])
    assert readings == [PromptUsage(count, min(count, limit)) for count in tokens.values()]
    assert [reading.cut for reading in readings] == [False, False, True, False, True]


def test_the_fingerprint_follows_the_weights_and_not_the_folder(provider: Provider, encoder, folder: Path):
    before = encoder().fingerprint
    moved = folder.rename(folder.with_name("elsewhere"))
    assert encoder(path=str(moved)).fingerprint == before
    if provider.lacking:
        change_one_weight(moved)
    else:
        build_inception(moved, seed=1)
    assert encoder(path=str(moved)).fingerprint != before


def test_a_released_encoder_loads_again(
    provider: Provider, encoder, images: list[Image.Image], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gc.collect", lambda: 0)  # which takes long where so much is imported
    one = encoder()
    before, loaded = features(provider, one, images), one.loaded
    one.release()
    assert (features(provider, one, images) == before).all()
    assert one.loaded is not loaded


@pytest.mark.parametrize("name", SAFETENSORS)
def test_missing_weights_are_refused(provider: Provider, encoder, folder: Path):
    drop_one_weight(folder)
    refused(encoder(), f"cannot be loaded.*{provider.lacking}")


def test_a_broken_file_is_refused(provider: Provider, encoder, folder: Path):
    file = folder / provider.file
    file.write_bytes(file.read_bytes()[:-1000])
    refused(encoder(), "cannot be loaded")


def test_a_pickle_is_loaded_only_where_it_is_allowed(
    provider: Provider, encoder, folder: Path, images: list[Image.Image]
):
    safe = features(provider, encoder(), images)
    if provider.pickled != provider.file:
        torch.save(load_file(folder / provider.file), folder / provider.pickled)
        assert (features(provider, encoder(), images) == safe).all()
        (folder / provider.file).unlink()
    refused(encoder(allow_pickle=False), provider.refusal)
    assert (features(provider, encoder(allow_pickle=True), images) == safe).all()


@pytest.mark.parametrize(
    ("name", "other", "message"),
    [
        ("vit", "dinov2", "'dinov2' model, and vit reads vit"),
        ("dinov2", "vit", "'vit' model, and dinov2 reads dinov2 or dinov2_with_registers"),
        ("clip", "vit", "'vit' model, and clip reads clip"),
    ],
)
def test_another_kind_of_model_is_refused(provider: Provider, other: str, message: str, copied: Callable[[str], Path]):
    refused(tiny(provider.kind, copied(other)), message)

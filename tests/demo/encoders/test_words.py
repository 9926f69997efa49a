"""Static embeddings out of a wheel: what that library's own inference gives, and the same bits in whatever order."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from driftledger.components.card import ComponentCard
from driftledger.core.errors import ConfigError, MissingExtraError
from driftledger.core.registry import files_in_wheel, provider_class
from driftledger.core.types import PromptUsage
from driftledger.demo.encoders import words
from driftledger.demo.encoders.words import Words
from driftledger.metrics.drift import cosine_similarity

TEXTS = ["red-breasted bird", "robin", "truck", "A dark red ellipse, 20% by 30%.", "Größe: 写真 🐦\n\tend"]
WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"


def test_its_card_names_the_bytes_and_their_licence() -> None:
    assert provider_class("encoders", "words") is Words
    card = ComponentCard.of("words", Words())
    assert (Words().reads, Words().sees) == (True, False)
    assert card.identity["weights"]["l2_supercat_256.safetensors"] == WEIGHTS
    assert card.identity["licence"] == "MIT"
    assert "code" in card.identity


def test_other_bytes_are_another_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Words().fingerprint
    monkeypatch.setattr(words, "hashes", lambda paths: {path.name: "0" * 64 for path in paths})
    assert Words().fingerprint != before


def test_what_means_alike_is_near() -> None:
    bird, robin, truck, *_ = Words().encode_texts(TEXTS)
    near, far = cosine_similarity(np.stack([bird, bird]), np.stack([robin, truck]))
    assert (near, far) == pytest.approx((0.1505, -0.0686), abs=1e-4)


def test_the_librarys_own_inference_gives_the_same() -> None:
    """In another process: importing it sets up logging for all."""
    code = f"""
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.inference import WordLlamaInference
from driftledger.core.registry import files_in_wheel
from driftledger.demo.encoders.words import _TOKENIZER, _WEIGHTS, Words
weights, tokenizer = files_in_wheel("wordllama", _WEIGHTS, _TOKENIZER)
theirs = WordLlamaInference(load_file(weights)["embedding.weight"], Tokenizer.from_file(str(tokenizer)))
print(np.abs(theirs.embed({TEXTS!r}) - Words().encode_texts({TEXTS!r})).max())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-5


def test_sums_have_no_order() -> None:
    """Word order tells nothing, to the bit: the sums are exact, so that no processor's order of additions matters."""
    encoder = Words()
    ids = [number for [*numbers] in encoder._tokens(TEXTS) for number in numbers] * 50
    shuffled = np.random.default_rng(1).permutation(ids).tolist()
    assert np.array_equal(encoder._mean(ids), encoder._mean(shuffled))
    assert np.abs(encoder._embeddings).max() < 2**4, "as sums of fewer than 2^25 tokens are exact below 2^28 / 2^-24"


def test_hostile_texts_are_text() -> None:
    features = Words().encode_texts(["<s>", "</s><unk>", "\ud800", "", "\x00\x1b[0m", " "])
    assert np.isfinite(features).all()
    assert [bool(row.any()) for row in features] == [True, True, True, False, True, True]
    assert not np.array_equal(features[0], Words()._embeddings[1].astype(np.float32)), "a special token is spelled out"
    assert Words().read_texts(["", "robin"]) == [PromptUsage(0, 0), PromptUsage(2, 2)]


def test_a_missing_wheel_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        MissingExtraError, match=r"'no-such-wheel' is not installed; run: pip install 'driftledger\[ocr\]'"
    ):
        files_in_wheel("no-such-wheel", "a", extra="ocr")
    monkeypatch.setattr(words, "_WEIGHTS", "wordllama/weights/other.safetensors")
    with pytest.raises(ConfigError, match=r"wordllama has no file other\.safetensors"):
        Words().identity()


def test_nothing_of_the_library_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from driftledger.demo.encoders.words import Words; Words().encode_texts(['a']); "
        "sys.exit('wordllama' in sys.modules or 'requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

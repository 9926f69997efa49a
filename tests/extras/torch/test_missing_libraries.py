"""What components with torch weights say where torch, a library or room is missing."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from driftledger.components import checkpoints as module
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import MissingExtraError, OutOfMemoryError
from driftledger.project.settings import parse_settings
from tests.support.params import default_params

NEEDS = {
    ("models", "transformers"): ("transformers", "torch"),
    ("models", "vllm"): ("vllm", "vllm"),
    ("generators", "diffusers"): ("diffusers", "diffusers"),
    ("encoders", "vit"): ("transformers", "torch"),
    ("encoders", "dinov2"): ("transformers", "torch"),
    ("encoders", "clip"): ("transformers", "torch"),
    ("encoders", "dreamsim"): ("transformers", "torch"),
    ("encoders", "open_clip"): ("open_clip_torch", "open_clip"),
    ("encoders", "sentence"): ("sentence-transformers", "sentence"),
    ("encoders", "inception"): ("clean-fid", "fid"),
}
"""Provider → the distribution that its extra is for, and the extra."""


def built(section: str, provider: str, folder: Path) -> CheckpointComponent:
    params = default_params()
    params[section]["mine"] = {"provider": provider, "path": str(folder), "device": "cpu"}
    component = getattr(parse_settings(params, "params.yaml"), section.removesuffix("s"))("mine")
    assert isinstance(component, CheckpointComponent)
    return component


@pytest.mark.parametrize(("section", "provider"), NEEDS)
def test_a_missing_library_is_one_sentence_with_the_right_extra(
    section: str, provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution, extra = NEEDS[section, provider]

    def versions(*names: str) -> dict[str, str]:
        if distribution in names:
            raise PackageNotFoundError(distribution)
        return dict.fromkeys(names, "1")

    monkeypatch.setattr(module, "library_versions", versions)
    (tmp_path / "model_index.json").write_text('{"scheduler": [null, null]}')
    (tmp_path / "inception-2015-12-05.pt").write_bytes(b"x")
    with pytest.raises(MissingExtraError) as error:
        _ = built(section, provider, tmp_path).fingerprint
    assert str(error.value) == (
        f"the library {distribution!r} is not installed; run: pip install 'driftledger[{extra}]'"
    )


@pytest.mark.neural
@pytest.mark.parametrize("said", ["not enough memory: you tried to allocate 9 bytes", "can't allocate memory"])
def test_a_full_host_is_told_from_a_bug(said: str) -> None:
    pytest.importorskip("torch")
    with pytest.raises(OutOfMemoryError, match="tiny: out of memory"), module.memory_guard("tiny"):
        raise RuntimeError(f"[enforce fail] DefaultCPUAllocator: {said}")
    with pytest.raises(RuntimeError, match="shape"), module.memory_guard("tiny"):
        raise RuntimeError("shape mismatch")
